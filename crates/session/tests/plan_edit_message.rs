//! Editing replies and tool results.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::address::{Point, Want, resolve_point};
use offshoot_session::edited::{edited_messages, text_to_edit};
use offshoot_session::plan::{
    Child, Difference, EditRefused, EditedMessage, NewChild, edited_message, plan_child, plan_edit_message,
    plan_undo,
};
use offshoot_session::versions::{version_of, versions_of};
use offshoot_session::{
    Block, Body, BranchReason, Entry, EntryId, HeadName, ImageData, Model, Record, Reply, SessionTree,
    Signature, Stamps, Stop, ToolUse, Usage,
};
use offshoot_testkit::{FixedStamps, draw, tree_of};
use serde_json::json;

const TALK: &str = r#"u1"Why?" - a1"Because." - u2 - c1 - t1"42" - a2*"#;

fn edit(tree: &SessionTree, at: &str, text: &str) -> Result<(SessionTree, EntryId), EditRefused> {
    let EditedMessage { plan, entry } =
        plan_edit_message(tree, &HeadName::main(), &at.into(), text, &mut FixedStamps::after(100))?;
    Ok((tree.extended(&plan.records).unwrap(), entry))
}

fn resolved(tree: &SessionTree, text: &str, want: Want) -> EntryId {
    resolve_point(tree, &Point::from(text), want).unwrap()
}

/// R-062: a message of any role is edited where it is, by `m:n`; what followed the old one stays with it.
#[test]
fn an_edited_message_is_a_branch_next_to_the_old_one() {
    let tree = tree_of(TALK);
    let at = resolved(&tree, "m:1", Want::Selection);
    let (edited, entry) = edit(&tree, at.as_str(), "So.").unwrap();
    assert_eq!(draw(&edited), "u1\"Why?\" - a1\"Because.\" - u2 - c1 - t1 - a2\nu1 - new2\"So.\"*\n");
    assert!(edited_messages(&edited).contains(&entry));
    assert!(!edited_messages(&edited).contains(&EntryId::from("a1")), "the agent wrote it");

    let at = resolved(&tree, "m:4", Want::Selection);
    let (edited, entry) = edit(&tree, at.as_str(), "41").unwrap();
    assert_eq!(edited.parent(&entry).unwrap().id, "c1".into());
    let (Body::ToolResult(old), Body::ToolResult(new)) =
        (&tree.entry(&"t1".into()).unwrap().body, &edited.entry(&entry).unwrap().body)
    else {
        panic!("a tool result stays one")
    };
    assert_eq!((&new.call, &new.tool, new.failed), (&old.call, &old.tool, old.failed));
    assert_eq!(new.blocks, [Block::Text("41".into())]);
}

/// R-062: an edited reply is another answer to the same prompt, not a version of it (docs/decisions/0011).
#[test]
fn an_edited_reply_is_no_version_and_a_turn_means_the_answer_last_visited() {
    let tree = tree_of(TALK);
    let (edited, entry) = edit(&tree, "a1", "So.").unwrap();
    assert_eq!(version_of(&edited, &"u1".into()), None);
    assert_eq!(versions_of(&edited, &entry), Vec::<&std::sync::Arc<Entry>>::new());
    assert_eq!(resolved(&edited, "1", Want::End), entry, "the head is there");
    assert_eq!(resolved(&edited, "1", Want::Turn), "u1".into());
    assert_eq!(resolved(&edited, "a1", Want::End), "a1".into(), "the old answer has its id");

    let undo = plan_undo(&edited, &mut FixedStamps::after(200)).unwrap();
    let undone = edited.extended(&undo).unwrap();
    assert_eq!(draw(&undone), draw(&tree), "one step");
}

/// Thinking and calls led to the old text and to its results, and what it cost is counted there.
#[test]
fn an_edited_reply_keeps_its_model_and_images_and_nothing_that_belongs_to_the_old_text() {
    let image = Block::Image { media_type: "image/png".into(), data: ImageData::Inline("AAAA".into()) };
    let call = ToolUse { id: "call".into(), name: "read".into(), input: json!({}) };
    let model = Some(Model { provider: "p".into(), name: "m".into() });
    let old = Reply {
        blocks: vec![
            Block::Thinking("hm".into()),
            image.clone(),
            Block::Text("one".into()),
            Block::ToolUse(call),
            Block::Text("two".into()),
        ],
        model: model.clone(),
        usage: Some(Usage { output: 5, ..Usage::default() }),
        stop: Some(Stop::ToolUse),
        signatures: vec![Signature { block: 0, data: "of the old thinking".into() }],
        ..Reply::default()
    };
    let tree = tree_of("u1*");
    let written_at = FixedStamps::after(50).now();
    let reply =
        Entry { id: "r1".into(), parent: Some("u1".into()), written_at, turn: None, body: Body::Reply(old) };
    let tree = tree.extended([&Record::entry(reply)]).unwrap();
    let expected = Reply {
        blocks: vec![image, Block::Text("new".into())],
        model,
        usage: None,
        stop: Some(Stop::EndTurn),
        ..Reply::default()
    };
    assert_eq!(edited_message(&tree, &"r1".into(), "new"), Ok(Body::Reply(expected)));
}

/// R-062: what has no text cannot be edited.
#[test]
fn only_messages_with_text_are_edited() {
    let tree = tree_of("m1 - u1 - c1 - t1 - i1 - k1 - s1 - z1 - n1*");
    let refused = |at: &str, text: &str| edit(&tree, at, text).unwrap_err().to_string();
    for at in ["m1", "c1", "i1", "k1", "s1", "z1", "n1"] {
        assert_eq!(refused(at, "x"), format!("entry `{at}` has no text to edit"));
        assert_eq!(text_to_edit(&tree, &at.into()), None, "{at}");
    }
    assert_eq!(refused("u1", "x"), "entry `u1` has no text to edit", "a prompt is edited as a version");
    assert_eq!(text_to_edit(&tree, &"u1".into()).as_deref(), Some("u1"));
    let tree = tree_of(TALK);
    let refused = |at: &str, text: &str| edit(&tree, at, text).unwrap_err();
    assert_eq!(refused("a9", "x"), EditRefused::NotFound("a9".into()));
    assert_eq!(refused("a1", " \n"), EditRefused::Blank);
    assert_eq!(refused("a1", "Because."), EditRefused::Unchanged("a1".into()));
    assert_eq!(
        plan_edit_message(&tree, &"worker".into(), &"a1".into(), "x", &mut FixedStamps::default()),
        Err(EditRefused::UnknownHead("worker".into()))
    );
}

/// R-062: with the messages before it, in the same role, and no turn that waits for an answer.
#[test]
fn an_edited_message_can_begin_a_child_session() {
    let tree = tree_of(TALK);
    let (at, above) = ("a1".into(), "u1".into());
    let message = edited_message(&tree, &at, "So.").unwrap();
    let child = Child {
        difference: Difference::Edit { of: &at },
        above: Some(&above),
        settings: Vec::new(),
        message: Some(message),
    };
    let NewChild { session, message, turn } = plan_child(&tree, child, &mut FixedStamps::after(100));
    let child = SessionTree::default().extended(&session.records).unwrap();
    assert_eq!(draw(&child), "u1\"Why?\" - new2\"So.\"*\n");
    assert_eq!((child.main_head(), turn), (message.as_ref(), None));
    let lineage = child.header().unwrap().lineage.clone().unwrap();
    assert_eq!((&lineage.reason, lineage.message_index), (&Some(BranchReason::MessageEdit), Some(1)));
    assert_eq!(
        lineage.metadata,
        Some(json!({ "turn": 1, "role": "assistant", "old_text": "Because.", "new_text": "So." }))
    );
    assert_eq!(lineage.describe().as_deref(), Some("edited reply of #1"));
}
