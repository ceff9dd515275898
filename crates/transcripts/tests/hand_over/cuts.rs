//! Where a branch is cut, and what has no equal.

use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::{Block, Body, Compaction, FileLists};
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
