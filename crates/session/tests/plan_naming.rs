//! Labels, titles, names of branches, and what is put away.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::plan::{
    ArchiveRefused, NamingRefused, Plan, plan_archive, plan_branch_name, plan_label, plan_new_head,
    plan_rename,
};
use offshoot_session::{SessionTree, TitleSource};
use offshoot_testkit::{FixedStamps, draw, tree_of};

fn stamps() -> FixedStamps {
    FixedStamps::after(100)
}

fn after(tree: &SessionTree, plan: Option<Plan>) -> Option<SessionTree> {
    plan.map(|plan| tree.extended(&plan.records).unwrap())
}

fn labelled(tree: &SessionTree, target: &str, label: Option<&str>) -> Option<SessionTree> {
    after(tree, plan_label(tree, &target.into(), label, &mut stamps()).unwrap())
}

fn renamed(tree: &SessionTree, title: Option<&str>, source: TitleSource) -> Option<SessionTree> {
    after(tree, plan_rename(tree, title, source, &mut stamps()))
}

fn archived(tree: &SessionTree, target: &str, archived: bool) -> Option<SessionTree> {
    after(tree, plan_archive(tree, &target.into(), archived, &mut stamps()).unwrap())
}

/// the label of an entry is the one given last.
/// a label is set, changed and cleared, and moves no head.
/// In pi a label becomes the head and the next message hangs below it; here it is no node at all.
#[test]
fn a_label_moves_no_head_and_lengthens_no_path() {
    let tree = labelled(&tree_of("u1 - a1*"), "u1", Some(" works ")).unwrap();
    assert_eq!(draw(&tree), "u1[works] - a1*\n");
    assert_eq!(draw(&labelled(&tree, "u1", Some("better")).unwrap()), "u1[better] - a1*\n");
    assert_eq!(draw(&labelled(&tree, "u1", Some("  ")).unwrap()), "u1 - a1*\n");
    assert_eq!(draw(&labelled(&tree, "u1", None).unwrap()), "u1 - a1*\n");
}

#[test]
fn a_label_that_is_there_is_no_step() {
    let tree = tree_of("u1[works] - a1*");
    assert!(labelled(&tree, "u1", Some("works")).is_none());
    assert!(labelled(&tree, "a1", None).is_none());
    let refused = plan_label(&tree, &"zz".into(), Some("x"), &mut stamps());
    assert_eq!(refused, Err(NamingRefused::NotFound("zz".into())));
}

/// a branch can have a name.
#[test]
fn a_branch_gets_a_name() {
    let tree = tree_of("u1 - a1*");
    let named = |tree: &SessionTree, name: Option<&str>| {
        after(tree, plan_branch_name(tree, &"u1".into(), name, &mut stamps()).unwrap())
    };
    let tree = named(&tree, Some("deadline")).unwrap();
    assert_eq!(tree.branch_name(&"u1".into()), Some("deadline"));
    assert!(named(&tree, Some("deadline")).is_none());
    assert_eq!(named(&tree, None).unwrap().branch_name(&"u1".into()), None);
    let refused = plan_branch_name(&tree, &"zz".into(), Some("x"), &mut stamps());
    assert_eq!(refused, Err(NamingRefused::NotFound("zz".into())));
}

#[test]
fn a_title_by_a_person_stands_against_automatic_ones() {
    let tree = renamed(&tree_of("u1*"), Some("guess"), TitleSource::Auto).unwrap();
    assert!(renamed(&tree, Some("guess"), TitleSource::Auto).is_none());
    let mine = renamed(&tree, Some("guess"), TitleSource::User).unwrap();
    assert!(mine.title_is_by_user(), "the same words, now meant");
    assert!(renamed(&mine, Some("better guess"), TitleSource::Auto).is_none());
    let cleared = renamed(&mine, Some(" "), TitleSource::User).unwrap();
    assert_eq!((cleared.title(), cleared.title_is_by_user()), (Some("guess"), false));
    assert!(renamed(&cleared, None, TitleSource::User).is_none());
}

const TREE: &str = "
    u1 - a1 - u2 - a2 - u4
         a1 - u3 - a3*
";

#[test]
fn a_branch_is_put_away_once_and_comes_back() {
    let tree = tree_of(TREE);
    let away = archived(&tree, "u2", true).unwrap();
    assert!(away.is_archived(&"u2".into()));
    assert_eq!(draw(&away), draw(&tree), "still there");
    assert!(archived(&away, "u2", true).is_none());
    assert!(archived(&away, "u4", true).is_none(), "it is out of sight already");
    assert!(archived(&tree, "u2", false).is_none());
    assert!(!archived(&away, "u2", false).unwrap().is_archived(&"u2".into()));
}

#[test]
fn whatever_hides_an_entry_is_brought_back_with_it() {
    let tree = archived(&tree_of(TREE), "u4", true).unwrap();
    let tree = archived(&tree, "u2", true).unwrap();
    let tree = archived(&tree, "u4", false).unwrap();
    assert!(!tree.is_archived(&"u2".into()));
    assert!(!tree.is_archived(&"u4".into()));
}

#[test]
fn nobody_puts_away_the_branch_a_head_stands_on() {
    let tree = tree_of(TREE);
    let refused = |tree: &SessionTree, target: &str| {
        plan_archive(tree, &target.into(), true, &mut stamps()).unwrap_err().to_string()
    };
    assert_eq!(refused(&tree, "u3"), "head `main` stands at or below entry `u3`");
    let worker = plan_new_head(&tree, &"worker".into(), Some(&"a2".into()), &mut stamps()).unwrap();
    let tree = tree.extended(&worker.records).unwrap();
    assert_eq!(refused(&tree, "u2"), "head `worker` stands at or below entry `u2`");
    let unknown = plan_archive(&tree, &"zz".into(), true, &mut stamps());
    assert_eq!(unknown, Err(ArchiveRefused::NotFound("zz".into())));
}
