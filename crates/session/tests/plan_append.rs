//! What a script brings, and where it goes.

#![expect(clippy::expect_used, reason = "what a helper does not get fails the test")]

use offshoot_session::SessionTree;
use offshoot_session::plan::{AppendSteps, ManyAppended, NotAppended, plan_append, plan_undo};
use offshoot_session::said::Said;
use offshoot_testkit::{FixedStamps, draw, tree_of};

const TREE: &str = "u1 - a1 - u2 - a2*";

fn said(lines: &[&str]) -> Vec<Said> {
    lines.iter().map(|line| Said::of(line.as_bytes()).expect("a line")).collect()
}

fn planned(lines: &[&str], steps: AppendSteps) -> Result<ManyAppended, NotAppended> {
    plan_append(&tree_of(TREE), said(lines), steps, &mut FixedStamps::after(200))
}

fn check(lines: &[&str], expected: &str) {
    for steps in [AppendSteps::Each, AppendSteps::One] {
        let appended = planned(lines, steps).expect("it fits");
        let tree = tree_of(TREE).extended(&appended.records).expect("a plan that fits");
        assert_eq!(draw(&tree), draw(&tree_of(expected)), "{steps:?}");
        assert_eq!(tree.main_head(), appended.entries.last(), "the head stands upon the last");
    }
}

fn undone(tree: &SessionTree) -> SessionTree {
    let records = plan_undo(tree, &mut FixedStamps::after(300)).expect("a step");
    tree.extended(&records).expect("a plan that fits")
}

const A3: &str = r#"{"role":"assistant","id":"a3","text":"a3"}"#;
const U3: &str = r#"{"role":"user","id":"u3","text":"u3"}"#;

/// R-015: what is appended goes below the head and takes it along.
#[test]
fn each_goes_below_the_one_before_it() {
    check(&[U3, A3], "u1 - a1 - u2 - a2 - u3 - a3*");
}

#[test]
fn a_parent_may_be_any_point_and_what_has_just_been_said() {
    check(&[r#"{"role":"user","id":"u3","text":"u3","parent":"a1"}"#], "u1 - a1 - u2 - a2\n a1 - u3*");
    check(&[r#"{"role":"user","id":"u3","text":"u3","parent":1}"#], "u1 - a1 - u2 - a2\n a1 - u3*");
    check(
        &[U3, A3, r#"{"role":"assistant","id":"a4","text":"a4","parent":"u3"}"#],
        "u1 - a1 - u2 - a2 - u3 - a3\n u3 - a4*",
    );
}

#[test]
fn steps_are_taken_back_one_by_one_or_all_at_once() {
    for (steps, left) in
        [(AppendSteps::Each, "u1 - a1 - u2 - a2 - u3*"), (AppendSteps::One, "u1 - a1 - u2 - a2*")]
    {
        let records = planned(&[U3, A3], steps).expect("it fits").records;
        let tree = tree_of(TREE).extended(&records).expect("a plan that fits");
        assert_eq!(draw(&undone(&tree)), draw(&tree_of(left)), "{steps:?}");
    }
}

#[test]
fn where_one_does_not_fit_the_steps_before_it_could_be_taken() {
    for (wrong, why) in [
        (r#"{"role":"user","id":"a1","text":"again"}"#, "id `a1` is taken"),
        (r#"{"role":"user","id":"u3","text":"again"}"#, "id `u3` is taken"),
        (
            r#"{"role":"user","text":"lost","parent":"nowhere"}"#,
            "no entry, label or branch is called `nowhere`",
        ),
    ] {
        let refused = planned(&[U3, wrong, A3], AppendSteps::Each).expect_err("it does not fit");
        assert_eq!((refused.to_string().as_str(), refused.index), (why, 1));
        let tree = tree_of(TREE).extended(&refused.before.records).expect("a plan that fits");
        assert_eq!(draw(&tree), draw(&tree_of("u1 - a1 - u2 - a2 - u3*")));
        let refused = planned(&[U3, wrong, A3], AppendSteps::One).expect_err("it does not fit");
        assert_eq!((*refused.before, refused.index), (ManyAppended::default(), 1));
    }
}

#[test]
fn nothing_is_no_step() {
    assert_eq!(planned(&[], AppendSteps::One), Ok(ManyAppended::default()));
}
