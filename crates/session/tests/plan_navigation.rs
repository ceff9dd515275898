//! Picking an entry of the tree.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::plan::{
    Navigation, NavigationRefused, SummaryChoice, SwitchRefused, WrittenSummary, branch_with_summary,
    plan_navigation,
};
use offshoot_session::{Body, BranchSummary, EntryId, FileLists, HeadName, SessionTree};
use offshoot_testkit::{FixedStamps, draw, tree_of};

const LINE: &str = r#"u1"first" - a1 - u2"second" - a2 - u3"third" - a3*"#;

const FORK: &str = r#"
    u1 - a1 - u2"left" - a2
         a1 - u3"right" - a3*
"#;

fn main_head() -> HeadName {
    HeadName::main()
}

fn summary(text: &str) -> WrittenSummary {
    WrittenSummary { summary: text.into(), ..WrittenSummary::default() }
}

fn pick(tree: &SessionTree, target: &str, choice: SummaryChoice) -> Navigation {
    plan_navigation(tree, &main_head(), &target.into(), choice, true).unwrap()
}

/// `to | words for the editor | common ancestor | what is left behind`
fn told(navigation: &Navigation) -> String {
    let Navigation::Move { to, editor_text, common_ancestor, to_summarize, .. } = navigation else {
        return "nothing to do".into();
    };
    let or_dash = |id: &Option<EntryId>| id.as_ref().map_or("-".to_owned(), EntryId::to_string);
    let left: Vec<&str> = to_summarize.iter().map(EntryId::as_str).collect();
    let text = editor_text.as_deref().unwrap_or("-");
    format!("{} | {text} | {} | {}", or_dash(to), or_dash(common_ancestor), left.join(" "))
}

#[track_caller]
fn check(drawing: &str, target: &str, expected: &str) {
    let tree = tree_of(drawing);
    let navigation = pick(&tree, target, SummaryChoice::NoSummary);
    assert_eq!(told(&navigation), expected);
    let Navigation::Move { to, .. } = &navigation else { return };
    let plan = navigation.clone().into_plan(&tree, &main_head(), None, &mut FixedStamps::after(100));
    let moved = plan.map_or(tree.clone(), |plan| tree.extended(&plan.records).unwrap());
    assert_eq!(moved.main_head(), to.as_ref());
    assert_eq!(moved.len(), tree.len(), "a move writes no entry");
}

/// R-066: to pick a prompt in the tree goes above it and gives its text back.
#[test]
fn picking_a_prompt_goes_before_it_and_gives_its_words_back() {
    check(LINE, "u2", "a1 | second | u2 | a2 u3 a3");
    check(LINE, "u1", "- | first | u1 | a1 u2 a2 u3 a3");
    check(FORK, "u2", "a1 | left | a1 | u3 a3");
}

/// R-067: to pick a message of an extension does the same.
#[test]
fn picking_words_of_an_extension_is_picking_a_prompt() {
    check(r#"u1 - a1 - x1"injected" - a2*"#, "x1", "a1 | injected | x1 | a2");
    check(r#"x1"injected" - a2*"#, "x1", "- | injected | x1 | a2");
}

/// R-068: to pick anything else goes to it.
#[test]
fn picking_anything_else_goes_to_it() {
    check(LINE, "a1", "a1 | - | a1 | u2 a2 u3 a3");
    check(FORK, "a2", "a2 | - | a1 | u3 a3");
    check("u1 - c1 - t1 - a1 - k1 - u2*", "t1", "t1 | - | t1 | a1 k1 u2");
    check("u1 - c1 - t1 - a1 - k1 - u2*", "k1", "k1 | - | k1 | u2");
    check("u1 - a1 - m1 - u2*", "m1", "m1 | - | m1 | u2");
    check("u1 - a1 - s1 - u2*", "s1", "s1 | - | s1 | u2");
}

#[test]
fn going_down_or_coming_from_before_the_first_entry_leaves_nothing_behind() {
    check("u1 - a1* - u2 - a2", "a2", "a2 | - | a1 | ");
    check("u1 - a1 - u2 - a2", "a2", "a2 | - | - | ");
}

#[test]
fn between_two_trees_everything_is_left_behind() {
    check("u1 - a1\n u2 - a2*", "a1", "a1 | - | - | u2 a2");
    check("u1 - a1\n u2 - a2*", "u1", "- | u1 | - | u2 a2");
}

/// R-072: to pick the place of the head changes nothing.
#[test]
fn picking_the_head_is_nothing_to_do() {
    check(LINE, "a3", "nothing to do");
    check("u1 - a1 - u2*", "u2", "nothing to do");
    check("u1 - a1* - u2", "u2", "a1 | u2 | a1 | ");
    let tree = tree_of("u1 - a1* - u2");
    let here = pick(&tree, "u2", SummaryChoice::NoSummary);
    assert_eq!(
        here.into_plan(&tree, &main_head(), None, &mut FixedStamps::after(100)),
        None,
        "no step either"
    );
}

#[track_caller]
fn check_with_summary(drawing: &str, target: &str, expected: &str) {
    let tree = tree_of(drawing);
    let navigation = pick(&tree, target, SummaryChoice::Summarize);
    assert!(matches!(&navigation, Navigation::Move { wants_summary: true, .. }));
    let plan =
        navigation.into_plan(&tree, &main_head(), Some(summary("tried")), &mut FixedStamps::after(100));
    let moved = tree.extended(&plan.unwrap().records).unwrap();
    let drawing = draw(&moved);
    let lines: Vec<&str> = drawing.lines().map(str::trim).collect();
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, expected);

    let at = moved.main_head().unwrap();
    let expected = BranchSummary {
        summary: "tried".into(),
        from: moved.parent(at).map(|parent| parent.id.clone()),
        left: tree.main_head().cloned(),
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: None,
    };
    assert_eq!(moved.entry(at).unwrap().body, Body::BranchSummary(expected));
}

/// R-070: the summary is below the new place, not at the end of what was left.
/// R-071: a move goes to the entry, below a new summary, or before the first entry.
#[test]
fn a_summary_hangs_below_the_new_place() {
    check_with_summary(
        LINE,
        "u2",
        r#"
        u1"first" - a1 - u2"second" - a2 - u3"third" - a3
        a1 - new2*
        "#,
    );
    check_with_summary(LINE, "u1", "u1\"first\" - a1 - u2\"second\" - a2 - u3\"third\" - a3\n new2*");
    check_with_summary(
        FORK,
        "a2",
        r#"
        u1 - a1 - u2"left" - a2 - new2*
        a1 - u3"right" - a3
        "#,
    );
}

#[test]
fn without_anything_to_summarise_no_summary_is_wanted() {
    let tree = tree_of("u1 - a1* - u2 - a2");
    let navigation =
        plan_navigation(&tree, &main_head(), &"a2".into(), SummaryChoice::Summarize, false).unwrap();
    assert!(matches!(navigation, Navigation::Move { wants_summary: false, .. }));
}

#[test]
fn what_cannot_be_done_is_said_before_anything_moves() {
    let tree = tree_of(LINE);
    let refused = |head: &HeadName, target: &str, has_model: bool| {
        plan_navigation(&tree, head, &target.into(), SummaryChoice::Summarize, has_model).unwrap_err()
    };
    assert_eq!(refused(&main_head(), "zz", true).to_string(), "entry `zz` does not exist");
    assert_eq!(refused(&main_head(), "a1", false), NavigationRefused::NoModel);
    assert_eq!(refused(&"worker".into(), "a1", true), NavigationRefused::UnknownHead("worker".into()));
}

#[test]
fn a_branch_with_summary_may_begin_before_the_first_entry() {
    let tree = tree_of("u1 - a1*");
    let branch = |at: Option<&EntryId>| {
        branch_with_summary(&tree, &main_head(), at, summary("tried"), &mut FixedStamps::after(100))
    };
    let plan = branch(None).unwrap();
    assert_eq!(draw(&tree.extended(&plan.records).unwrap()), "u1 - a1\nnew2*\n");
    let plan = branch(Some(&"u1".into())).unwrap();
    assert_eq!(draw(&tree.extended(&plan.records).unwrap()), "u1 - a1\nu1 - new2*\n");
    assert_eq!(branch(Some(&"zz".into())), Err(SwitchRefused::NotFound("zz".into())));
}
