//! Where a branch is cut, and what has no equal.

use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::{Block, Body, Compaction, ContextEdit, FileLists};
use offshoot_transcripts::{Fate, Loss, Target, ToolFate};
use serde_json::json;

use crate::conversation::{
    TARGETS, assert_calls_are_answered, call, handed_over, last, line_of, result, said, shell, told, tree_of,
};

#[test]
fn a_call_that_was_never_answered_is_left_out() {
    let tree = line_of(vec![
        Body::prompt("go"),
        said(vec![Block::Text("I look.".into()), shell("c1"), shell("c2")]),
        result("c1", "one"),
    ]);
    for target in TARGETS {
        let written = handed_over(target, &tree, &last(&tree));
        let again = tree_of(&written.bytes);
        assert_calls_are_answered(&again);
        assert_eq!(told(&again), ["> go", "< I look.", "! one"], "{target:?}");
        assert!(written.report.left_out.iter().any(|lost| lost.what == Loss::UnansweredCalls), "{target:?}");
    }
}

#[test]
fn a_result_that_came_late_stands_with_its_call() {
    let tree = line_of(vec![
        Body::prompt("go"),
        said(vec![shell("c1")]),
        Body::prompt("still there?"),
        result("c1", "late"),
        said(vec![Block::Text("Yes.".into())]),
    ]);
    for target in TARGETS {
        let again = tree_of(&handed_over(target, &tree, &last(&tree)).bytes);
        assert_calls_are_answered(&again);
        assert_eq!(told(&again), ["> go", "! late", "> still there?", "< Yes."], "{target:?}");
    }
}

#[test]
fn a_tool_without_an_equal_is_told_in_words() {
    let fetch = call("c1", "WebFetch", json!({ "url": "example.org" }));
    let tree = line_of(vec![
        Body::prompt("go"),
        said(vec![fetch, shell("c2")]),
        result("c1", "a page"),
        result("c2", "files"),
    ]);
    for target in TARGETS {
        let written = handed_over(target, &tree, &last(&tree));
        let again = tree_of(&written.bytes);
        assert_calls_are_answered(&again);
        let words = "< [Called the tool `WebFetch`]\n{\"url\":\"example.org\"}\n[Result]\na page";
        assert_eq!(told(&again), ["> go", words, "! files"], "{target:?}");
        let fate = ToolFate { tool: "WebFetch".into(), fate: Fate::Summarised, calls: 1 };
        assert!(written.report.tools.contains(&fate), "{:?}", written.report.tools);
    }
}

#[test]
fn thinking_without_a_signature_does_not_go_to_claude_code() {
    let thought = vec![Block::Thinking("hm".into()), Block::Text("Yes.".into())];
    let tree = line_of(vec![Body::prompt("go"), said(thought)]);
    let written = handed_over(Target::ClaudeCode, &tree, &last(&tree));
    assert!(!String::from_utf8_lossy(&written.bytes).contains("hm"));
    assert_eq!(written.report.left_out.first().map(|lost| lost.what), Some(Loss::Thinking));
}

#[test]
fn a_compaction_stands_before_what_it_kept() {
    let compaction = Compaction {
        summary: "They counted.".into(),
        first_kept: Some("00000002".into()),
        tokens_before: 50,
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: None,
        system: None,
    };
    let answer = |text: &str| said(vec![Block::Text(text.into())]);
    let tree = line_of(vec![
        Body::prompt("one"),
        answer("One."),
        Body::prompt("two"),
        answer("Two."),
        Body::Compaction(compaction),
        Body::prompt("three"),
    ]);
    for target in TARGETS {
        let again = tree_of(&handed_over(target, &tree, &last(&tree)).bytes);
        assert_eq!(told(&again), ["> one", "< One.", "> two", "< Two.", "> three"], "{target:?}");
        let read = context_of(&again, again.main_head(), &ContextOptions::default());
        let read: Vec<String> = read.messages.iter().map(|message| message.text()).collect();
        assert_eq!(read[1..], ["two", "Two.", "three"], "{target:?}");
        assert!(read[0].contains("They counted."), "{target:?}: {}", read[0]);
    }
}

/// The ids of a line are its places: `00000001` is the second entry.
fn edit(place: u8, words: Option<&str>) -> Body {
    let replacement = words.map(|words| vec![Block::Text(words.into())]);
    Body::ContextEdit(ContextEdit { target: format!("{place:08x}").as_str().into(), replacement })
}

#[test]
fn context_edits_are_applied_for_another_agent_and_counted_as_lost() {
    let tree = line_of(vec![
        Body::prompt("go"),
        said(vec![Block::Text("cut off".into())]),
        edit(1, None),
        said(vec![Block::Text("Far too long.".into()), shell("c1")]),
        result("c1", "secret"),
        edit(4, Some("hidden")),
        Body::prompt("and?"),
        said(vec![shell("c2")]),
        result("c2", "two"),
        edit(7, None),
        said(vec![Block::Text("Done.".into())]),
    ]);
    for target in TARGETS {
        let written = handed_over(target, &tree, &last(&tree));
        let again = tree_of(&written.bytes);
        assert_calls_are_answered(&again);
        let expected = ["> go", "< Far too long.", "! hidden", "> and?", "< Done."];
        assert_eq!(told(&again), expected, "{target:?}");
        let lost = written.report.left_out.iter().find(|lost| lost.what == Loss::ContextEdits);
        assert_eq!(lost.map(|lost| lost.count), Some(3), "{target:?}");
        let from = tree.entries().nth(2).expect("an edit").id.clone();
        let short = handed_over(target, &tree, &from);
        assert_eq!(told(&tree_of(&short.bytes)), ["> go"], "{target:?}");
    }
}

#[test]
fn an_edit_of_the_first_kept_message_does_not_move_the_compaction() {
    let compaction = Compaction {
        summary: "before".into(),
        first_kept: Some("00000001".into()),
        tokens_before: 7,
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: None,
        system: None,
    };
    let tree = line_of(vec![
        Body::prompt("old"),
        said(vec![Block::Text("cut off".into())]),
        Body::prompt("kept"),
        edit(1, None),
        Body::Compaction(compaction),
        Body::prompt("new"),
    ]);
    for target in TARGETS {
        let again = tree_of(&handed_over(target, &tree, &last(&tree)).bytes);
        let read = context_of(&again, again.main_head(), &ContextOptions::default());
        let texts: Vec<String> = read.messages.iter().map(|message| message.text()).collect();
        assert_eq!(texts.len(), 3, "{target:?}: {texts:?}");
        assert!(texts[0].contains("before"), "{target:?}: {texts:?}");
        assert_eq!(texts[1..], ["kept".to_owned(), "new".to_owned()], "{target:?}");
    }
}
