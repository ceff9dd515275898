//! Clearing away what nobody answered.

use offshoot_session::plan::{plan_archive, plan_new_head, plan_prune, prunable};
use offshoot_session::{Block, Body, Change, Entry, Record, Reply, SessionTree, Stop};
use offshoot_testkit::{FixedStamps, draw, drawn, tree_of};

/// A drawn tree in which some replies stopped for a reason.
fn tree_with_stops(drawing: &str, stops: &[(&str, Stop)]) -> SessionTree {
    let with_stop = |record: Record| {
        let Change::Entry(entry) = &record.change else { return record };
        let Some((_, stop)) = stops.iter().find(|(id, _)| entry.id == (*id).into()) else { return record };
        let blocks: Vec<Block> = entry.body.blocks().to_vec();
        let body = Body::Reply(Reply { blocks, stop: Some(stop.clone()), ..Reply::default() });
        Record::entry(Entry { body, ..(**entry).clone() })
    };
    SessionTree::replay(drawn(drawing).into_iter().map(with_stop)).0
}

fn going(tree: &SessionTree) -> String {
    prunable(tree).iter().map(|id| id.as_str()).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(drawing: &str, expected: &str) {
    assert_eq!(going(&tree_of(drawing)), expected);
}

fn error() -> Stop {
    Stop::Error("overloaded".into())
}

#[test]
fn a_branch_without_an_answer_goes() {
    check("u1 - a1 - u2*\n u1 - u3\n u1 - u4 - a4 - u5", "u3 u5");
    check("u1 - a1 - u2\n u1 - a2*", "u2");
}

#[test]
fn the_way_to_the_head_stays() {
    check("u1 - u2*", "");
    check("u1 - u2* - u3", "u3");
}

#[test]
fn the_way_to_any_head_stays() {
    let tree = tree_of("u1 - a1*\n u1 - u2");
    let worker =
        plan_new_head(&tree, &"worker".into(), Some(&"u2".into()), &mut FixedStamps::after(100)).unwrap();
    assert_eq!(going(&tree.extended(&worker.records).unwrap()), "");
}

#[test]
fn a_late_answer_keeps_all_above_it() {
    check("u1 - a1*\n u1 - u2 - u3 - a3", "");
}

#[test]
fn settings_and_notes_go_with_their_branch() {
    check("u1 - a1 - m1*\n u1 - m2 - u2 - n2", "m2 u2 n2");
    check("u1 - a1 - m1\n u1 - a2*", "");
}

#[test]
fn a_reply_that_failed_is_no_answer() {
    let drawing = "u1 - a1*\n u1 - u2 - a2\n u1 - u3 - a3\n u1 - a4";
    let tree = tree_with_stops(drawing, &[("a2", error()), ("a3", Stop::Aborted), ("a4", error())]);
    assert_eq!(going(&tree), "u2 a2 u3 a3 a4");
    let tree = tree_with_stops("u1 - u2 - a2*", &[("a2", error())]);
    assert_eq!(going(&tree), "", "but it stays while one looks at it");
    let tree = tree_with_stops("u1 - a1 - a2\n u9*", &[("a1", error())]);
    assert_eq!(going(&tree), "", "and while the answer hangs below it");
    let tree = tree_with_stops("u1 - a1 - u2 - a2 - t2\n u9*", &[("a2", Stop::Aborted)]);
    assert_eq!(going(&tree), "u2 a2 t2", "and its tools go with it");
}

#[test]
fn a_reply_that_was_too_long_is_an_answer() {
    let tree = tree_with_stops("u1 - a1*\n u1 - u2 - a2", &[("a2", Stop::Length)]);
    assert_eq!(going(&tree), "");
}

#[test]
fn a_call_of_a_tool_is_no_answer_until_a_reply_follows() {
    check("u1* - a1\n u1 - u2 - c2", "u2 c2");
    check("u1* - a1\n u1 - u2 - c2 - t2", "u2 c2 t2");
    check("u1* - u2 - c2 - t2 - a2", "");
    let tree = tree_with_stops("u1* - a1\n u1 - u2 - a2", &[("a2", Stop::ToolUse)]);
    assert_eq!(going(&tree), "u2 a2");
}

#[test]
fn what_belongs_to_an_answer_stays_with_it() {
    check("u1 - a1 - t1 - m1\n u1 - a2*", "");
    check("u1 - a1 - t1 - u2 - m2\n u1 - a2*", "u2 m2");
}

/// old branches are removed only on request.
/// nothing is deleted on its own.
#[test]
fn pruning_archives_the_top_of_each_branch_once() {
    let tree = tree_of("u1 - a1*\n u1 - u2 - m2\n u1 - u3");
    let plan = plan_prune(&tree, &mut FixedStamps::after(100)).unwrap();
    let pruned = tree.extended(&plan.records).unwrap();
    assert!(pruned.is_archived(&"u2".into()));
    assert!(pruned.is_archived(&"u3".into()));
    assert!(!pruned.is_archived(&"m2".into()), "it is hidden with `u2`");
    assert_eq!(draw(&pruned), draw(&tree), "nothing leaves the tree");
    assert_eq!(going(&pruned), "");
    assert!(plan_prune(&pruned, &mut FixedStamps::after(200)).is_none());
}

#[test]
fn the_way_to_what_was_put_away_stays() {
    let tree = tree_of("u1 - a1*\n u1 - u2 - u3");
    let plan = plan_archive(&tree, &"u3".into(), true, &mut FixedStamps::after(100)).unwrap().unwrap();
    assert_eq!(going(&tree.extended(&plan.records).unwrap()), "");
}

#[test]
fn a_deep_tree_is_pruned_without_deep_calls() {
    let chain: String = (0..20_000).map(|at| format!(" - u{at}")).collect();
    let tree = tree_of(&format!("r{chain}\n r - u_ - a_*"));
    assert_eq!(prunable(&tree).len(), 20_000);
}
