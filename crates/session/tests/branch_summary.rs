//! What is left behind when a head moves, drawn.

mod redrawn;

use offshoot_session::branch_summary::{
    BranchPreparation, collect_left_behind, prepare_branch_summary, summarized,
};
use offshoot_session::{Block, Body, BranchSummary, FileLists, Reply, SessionTree, ToolUse};
use offshoot_testkit::tree_of;
use redrawn::{keeps, redrawn};
use serde_json::json;

/// `common ancestor: entries left behind`
fn left_behind(from: Option<&str>, to: &str) -> String {
    let tree = redrawn(TREE, &[("k1", keeps("u2"))]);
    let left = collect_left_behind(&tree, from.map(Into::into).as_ref(), &to.into());
    let ids: Vec<&str> = left.entries.iter().map(|entry| entry.id.as_str()).collect();
    let ancestor = left.common_ancestor.map_or("nothing".to_owned(), |id| id.to_string());
    format!("{ancestor}: {}", ids.join(" "))
}

fn prepare(tree: &SessionTree, budget: i64) -> BranchPreparation {
    prepare_branch_summary(&tree.path_to(tree.entries().last().map(|entry| &entry.id)), budget)
}

/// Everything in a drawing says its id, two letters, so a message is one token.
fn taken(drawing: &str, budget: i64) -> String {
    let preparation = prepare(&tree_of(drawing), budget);
    let ids = preparation.messages.iter().map(|message| message.entry.id.as_str());
    format!("{} = {}", ids.collect::<Vec<_>>().join(" "), preparation.total_tokens)
}

fn calls(name: &str, path: &str) -> Body {
    let call = ToolUse { id: "call".into(), name: name.into(), input: json!({ "path": path }) };
    Body::Reply(Reply { blocks: vec![Block::ToolUse(call)], ..Reply::default() })
}

fn nested(read: &str, modified: &str, from_extension: bool) -> Body {
    Body::BranchSummary(BranchSummary {
        summary: "earlier".into(),
        from: None,
        left: None,
        files: FileLists { read: vec![read.into()], modified: vec![modified.into()] },
        details: None,
        from_extension,
        usage: None,
    })
}

const TREE: &str = "
    u1 - a1 - u2 - a2 - k1 - u3 - a3
         a1 - u4 - a4
    u9 - a9
";

#[test]
fn the_way_from_the_fork_to_the_old_tip_is_left_behind() {
    assert_eq!(left_behind(Some("a4"), "a3"), "a1: u4 a4");
    assert_eq!(left_behind(Some("a3"), "a4"), "a1: u2 a2 k1 u3 a3", "a compaction does not stop it");
    assert_eq!(left_behind(Some("a3"), "u4"), "a1: u2 a2 k1 u3 a3");
}

#[test]
fn going_back_leaves_all_below_the_target() {
    assert_eq!(left_behind(Some("a4"), "u1"), "u1: a1 u4 a4");
    assert_eq!(left_behind(Some("a1"), "a4"), "a1: ", "going on leaves nothing");
    assert_eq!(left_behind(Some("a4"), "a4"), "a4: ");
}

#[test]
fn another_root_shares_nothing() {
    assert_eq!(left_behind(Some("a4"), "a9"), "nothing: u1 a1 u4 a4");
    assert_eq!(left_behind(None, "a9"), "nothing: ");
    assert_eq!(left_behind(Some("nobody"), "a9"), "nothing: ");
}

#[test]
fn the_newest_messages_are_taken_first() {
    let talk = "u1 - a1 - m1 - u2 - a2";
    assert_eq!(taken(talk, 0), "u1 a1 u2 a2 = 4");
    assert_eq!(taken(talk, 4), "u1 a1 u2 a2 = 4");
    assert_eq!(taken(talk, 3), "a1 u2 a2 = 3");
    assert_eq!(taken("u1", 0), "u1 = 1");
}

#[test]
fn results_of_tools_are_left_out() {
    assert_eq!(taken("u1 - c1 - t1 - a1", 0), "u1 c1 a1 = 4", "the call is two tokens");
}

#[test]
fn a_summary_is_taken_while_a_tenth_of_the_budget_is_free() {
    let long = "w".repeat(40);
    let drawing = format!("u0 - k1\"{long}\" - u1\"{long}\" - u2\"{long}\"");
    assert_eq!(taken(&drawing, 23), "k1 u1 u2 = 30", "20 of 23 used: it is taken and ends the walk");
    assert_eq!(taken(&drawing, 22), "u1 u2 = 20", "20 of 22 used: no room");
    assert_eq!(taken(&drawing.replace("k1", "s1"), 23), "s1 u1 u2 = 30");
    assert_eq!(taken(&drawing.replace("k1", "x1"), 23), "u1 u2 = 20", "only summaries are that important");
}

#[test]
fn files_come_from_calls_that_were_walked_and_from_all_nested_summaries() {
    let tree = redrawn(
        "s1 - s2 - a1 - a2 - u1 - a3",
        &[
            ("s1", nested("old", "mod", false)),
            ("s2", nested("theirs", "theirs", true)),
            ("a1", calls("read", "unseen")),
            ("a2", calls("edit", "b")),
            ("a3", calls("read", "a")),
        ],
    );
    let all = prepare(&tree, 0).files;
    assert_eq!((all.read.join(" "), all.modified.join(" ")), ("a old unseen".into(), "b mod".into()));
    let some = prepare(&tree, 6).files;
    assert_eq!((some.read.join(" "), some.modified.join(" ")), ("a old".into(), "b mod".into()));
}

#[test]
fn the_summary_remembers_where_it_came_from() {
    let tree = redrawn("u1 - a1", &[("a1", calls("edit", "b"))]);
    let summary = summarized(&prepare(&tree, 0), "tried b", Some("u0".into()), Some("a1".into()));
    assert_eq!((summary.from, summary.left), (Some("u0".into()), Some("a1".into())));
    assert_eq!(summary.files.modified, ["b"]);
    assert!(summary.summary.starts_with("tried b") && summary.summary.ends_with("Files changed:\nb"));
}
