//! Left and right between the versions of a prompt.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::plan::{VersionRefused, VersionStep, plan_archive, plan_version};
use offshoot_session::versions::{active_version, turn_prompt, versions_of};
use offshoot_session::{HeadName, SessionTree};
use offshoot_testkit::{FixedStamps, tree_of};

const TREE: &str = "
    u1 - a1 - u2 - a2 - u5 - a5
                   a2 - u6 - a6
         a1 - u3 - a3*
         a1 - m4 - u7
         a1 - u4
";

fn step(tree: &SessionTree, at: &str, step: VersionStep) -> Option<SessionTree> {
    let plan = plan_version(tree, &HeadName::main(), &at.into(), step, &mut FixedStamps::after(100)).unwrap();
    plan.map(|plan| tree.extended(&plan.records).unwrap())
}

fn head_after(tree: &SessionTree, at: &str, by: VersionStep) -> Option<String> {
    step(tree, at, by).map(|tree| tree.main_head().unwrap().to_string())
}

#[test]
fn versions_are_the_prompts_at_one_place() {
    let tree = tree_of(TREE);
    let versions = |id: &str| -> Vec<String> {
        versions_of(&tree, &id.into()).into_iter().map(|entry| entry.id.to_string()).collect()
    };
    assert_eq!(versions("u3"), ["u2", "u3", "u7", "u4"]);
    assert_eq!(versions("u7"), versions("u3"), "the model it was sent to belongs to the version");
    assert_eq!(versions("u1"), ["u1"]);
    assert!(versions("a1").is_empty());
    assert!(versions("nobody").is_empty());
}

#[test]
fn an_archived_version_is_passed_over() {
    let tree = tree_of(TREE);
    let plan = plan_archive(&tree, &"u2".into(), true, &mut FixedStamps::after(100)).unwrap().unwrap();
    let tree = tree.extended(&plan.records).unwrap();
    assert_eq!(head_after(&tree, "u3", VersionStep::Previous), None);
    assert_eq!(versions_of(&tree, &"u2".into()).len(), 4, "unless it is the one asked for");
}

#[test]
fn the_version_shown_is_above_the_head_or_was_last_visited() {
    let tree = tree_of(TREE);
    let shown = |tree: &SessionTree, id: &str| {
        active_version(tree, &HeadName::main(), &id.into()).map(|entry| entry.id.to_string())
    };
    assert_eq!(shown(&tree, "u2").as_deref(), Some("u3"));
    assert_eq!(shown(&tree, "u5").as_deref(), Some("u6"), "nobody was here: the newest");
    let tree = step(&tree, "u5", VersionStep::To(0)).unwrap();
    let tree = step(&tree, "u2", VersionStep::To(2)).unwrap();
    assert_eq!(shown(&tree, "u6").as_deref(), Some("u5"));
    assert_eq!(shown(&tree, "u2").as_deref(), Some("u7"));
}

#[test]
fn the_arrows_go_to_the_place_last_visited_below_the_version() {
    let tree = tree_of(TREE);
    assert_eq!(head_after(&tree, "u3", VersionStep::Next).as_deref(), Some("u7"));
    assert_eq!(head_after(&tree, "u7", VersionStep::Next).as_deref(), Some("u4"));
    assert_eq!(head_after(&tree, "u3", VersionStep::Previous).as_deref(), Some("a6"));
    let tree = step(&tree, "u5", VersionStep::To(0)).unwrap();
    let tree = step(&tree, "u2", VersionStep::Next).unwrap();
    assert_eq!(head_after(&tree, "u3", VersionStep::Previous).as_deref(), Some("a5"));
}

/// the arrows stop at the first and the last version.
/// a prompt with versions shows which one it is, and the arrows end at both ends.
#[test]
fn there_is_nothing_beyond_the_ends() {
    let tree = tree_of(TREE);
    assert_eq!(head_after(&tree, "u2", VersionStep::Previous), None);
    assert_eq!(head_after(&tree, "u4", VersionStep::Next), None);
    assert_eq!(head_after(&tree, "u2", VersionStep::To(99)).as_deref(), Some("u4"), "the last one");
    assert_eq!(head_after(&tree, "u2", VersionStep::To(1)), None, "the head is below it already");
}

#[test]
fn only_prompts_have_versions() {
    let tree = tree_of(TREE);
    let refused = |at: &str, head: &HeadName| {
        plan_version(&tree, head, &at.into(), VersionStep::Next, &mut FixedStamps::after(100)).unwrap_err()
    };
    assert_eq!(refused("u9", &HeadName::main()), VersionRefused::NotFound("u9".into()));
    assert_eq!(refused("a1", &HeadName::main()), VersionRefused::NotAPrompt("a1".into()));
    assert_eq!(refused("u2", &"worker".into()), VersionRefused::UnknownHead("worker".into()));
}

#[test]
fn an_entry_belongs_to_the_nearest_prompt_above() {
    let tree = tree_of("m1 - u1 - c1 - t1 - u2 - a2*");
    let prompt = |id: &str| turn_prompt(&tree, &id.into()).map(|entry| entry.id.to_string());
    assert_eq!(prompt("t1").as_deref(), Some("u1"));
    assert_eq!(prompt("u2").as_deref(), Some("u2"));
    assert_eq!(prompt("m1"), None);
}
