//! Points named as people type them.

use offshoot_session::address::{
    AddressError, Point, ShortIds, Want, active_branch, resolve_point, short_id,
};
use offshoot_session::{Fact, Record, SessionTree};
use offshoot_testkit::{FixedStamps, tree_of};

const TREE: &str = "
    u1 - c1 - t1 - a1 - u2[bad idea] - a2
                   a1 - u3 - a3[works] - u4 - a4*
";

fn named(tree: &SessionTree, at: &str, name: &str) -> SessionTree {
    let fact = Fact::BranchName { at: at.into(), name: Some(name.into()) };
    SessionTree::replay(tree.log().cloned().chain([Record::marked(FixedStamps::start(), fact)])).0
}

#[track_caller]
fn check(tree: &SessionTree, text: &str, expected: &str) {
    check_point(tree, Point::Exact(text.to_owned()), Want::End, expected);
}

#[track_caller]
fn check_point(tree: &SessionTree, point: Point, want: Want, expected: &str) {
    let found = match resolve_point(tree, &point, want) {
        Ok(id) => id.to_string(),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(found, expected, "for {point:?}, {want:?}");
}

/// What a text means where the end of a turn, a turn, a branch or a selection is wanted.
#[track_caller]
fn check_wants(tree: &SessionTree, text: &str, expected: [&str; 4]) {
    for (want, expected) in [Want::End, Want::Turn, Want::Branch, Want::Selection].into_iter().zip(expected) {
        check_point(tree, text.into(), want, expected);
    }
}

#[test]
fn a_number_is_a_turn_of_the_active_path() {
    let tree = tree_of(TREE);
    check(&tree, "#1", "u1");
    check(&tree, "2", "u3");
    check(&tree, " #3 ", "u4");
    check(&tree, "#0", "error: no turn `#0` on the active branch, which ends at `#3`");
    check(&tree, "4", "error: no turn `#4` on the active branch, which ends at `#3`");
    check(
        &tree,
        "99999999999999999999999",
        "error: no turn `#99999999999999999999999` on the active branch, which ends at `#3`",
    );
    let tree = named(&tree, "u3", "deadline");
    check(&tree, "9", "error: no turn `#9` on branch `deadline`, which ends at `#3`");
    check(&tree_of(""), "1", "error: no turn `#1` on the active branch, which is empty");
}

#[test]
fn a_message_is_counted_from_zero_without_settings() {
    let tree = tree_of("m1 - u1 - c1 - t1 - k1 - a1* - u2");
    check(&tree, "m:0", "u1");
    check(&tree, "m:2", "t1");
    check(&tree, "m:3", "a1");
    check(&tree, "m:4", "error: no message `m:4` on the active branch, which ends at `m:3`");
}

/// entries are found by id, by label and by the head.
#[test]
fn ids_labels_branches_and_the_head_are_points() {
    let tree = named(&tree_of(TREE), "u2", "counter");
    check(&tree, "t1", "t1");
    check(&tree, "T1", "t1");
    check(&tree, "head", "a4");
    check(&tree, "works", "a3");
    check(&tree, "Bad Idea", "u2");
    check(&tree, "counter", "a2");
    check(&tree, "nobody", "error: no entry, label or branch is called `nobody`");
    check(&tree, "", "error: no entry, label or branch is called ``");
    assert_eq!(resolve_point(&tree_of("u1"), &"head".into(), Want::End), Err(AddressError::NoHead));
}

#[test]
fn the_first_kind_that_fits_decides() {
    let tree = tree_of("u1 - 1234 - head[works] - x7[u1] - worksmore*");
    check(&tree, "1234", "error: no turn `#1234` on the active branch, which ends at `#4`");
    check(&tree, "id:1234", "1234");
    check(&tree, "head", "head");
    check(&tree, "u1", "u1");
    check(&tree, "works", "head");
    check(&tree, "worksm", "worksmore");
}

#[test]
fn the_beginning_of_an_id_must_fit_only_one() {
    let tree = tree_of("abc111 - abc112 - abd - ABE9 - xy*");
    check(&tree, "abd", "abd");
    check(&tree, "abc111", "abc111");
    check(&tree, "abe", "ABE9");
    check(&tree, "abc", "error: `abc` could be `abc111` or `abc112`");
    check(&tree, "ab", "error: `ab` is too short for the beginning of an id, which needs 3 characters");
    check(&tree, "id:x", "xy");
    check(&tree, "zz", "error: no entry, label or branch is called `zz`");
}

#[test]
fn several_fits_are_listed_up_to_five() {
    let tree = tree_of("u1[x] - u2[x] - u3[x] - u4[x] - u5[x] - u6[x] - u7[x]*");
    check(&tree, "x", "error: `x` could be `u1`, `u2`, `u3`, `u4`, `u5` and 2 more");
}

/// C21: a number, a label, a branch name and the id of a prompt address a turn.
#[test]
fn a_turn_address_means_the_end_of_its_answer() {
    let tree = named(&tree_of("u1 - a1 - u2[tried] - c2 - t2 - a2 - u3 - a3*"), "u2", "second");
    check_wants(&tree, "2", ["a2", "u2", "u2", "u2"]);
    check_wants(&tree, "u2", ["a2", "u2", "u2", "u2"]);
    check_wants(&tree, "id:u2", ["a2", "u2", "u2", "u2"]);
    check_wants(&tree, "tried", ["a2", "u2", "u2", "u2"]);
    check_wants(&tree, "second", ["a3", "u3", "u2", "u3"]);
}

/// C21: any other entry is meant exactly, and so is one that is named exactly.
#[test]
fn any_other_entry_is_meant_exactly() {
    let tree = tree_of("u1 - a1 - u2 - c2[half way] - t2 - a2*");
    check_wants(&tree, "c2", ["c2", "u2", "c2", "c2"]);
    check_wants(&tree, "half way", ["c2", "u2", "c2", "c2"]);
    check_wants(&tree, "m:2", ["u2", "u2", "u2", "u2"]);
    check_wants(&tree, "head", ["a2", "u2", "a2", "a2"]);
    check_point(&tree, Point::Exact("2".to_owned()), Want::End, "u2");
    check_point(&tree, Point::Entry("u2".into()), Want::End, "u2");
    check_point(&tree, Point::Entry("2".into()), Want::End, "error: no entry, label or branch is called `2`");
}

/// what stands behind an answer belongs to what follows. `m` changes the model, `z` clears, `s` and `k` sum up.
#[test]
fn a_turn_ends_before_what_belongs_to_the_next_one() {
    check_wants(&tree_of("u1 - a1 - m1 - u2 - a2*"), "1", ["a1", "u1", "u1", "u1"]);
    for behind in ["m1", "z1", "s1", "k1", "m1 - m2 - z1"] {
        check_wants(&tree_of(&format!("u1 - a1 - {behind}*")), "1", ["a1", "u1", "u1", "u1"]);
        check_wants(&tree_of(&format!("u1 - a1 - {behind} - u2 - a2*")), "1", ["a1", "u1", "u1", "u1"]);
    }
    check_wants(&tree_of("u1 - m1 - c1 - k1 - t1 - a1 - m2*"), "1", ["a1", "u1", "u1", "u1"]);
    check_wants(&tree_of("u1 - m1*"), "1", ["u1", "u1", "u1", "u1"]);
}

/// a head between a prompt and its answer does not take the answer away.
#[test]
fn a_turn_with_a_head_on_its_prompt_still_ends_with_its_answer() {
    check_wants(&tree_of("u1 - a1 - u2* - a2"), "2", ["a2", "u2", "u2", "u2"]);
    check_wants(&tree_of("u1 - a1 - u2 - a2\n u2 - u3 - a3*"), "2", ["a2", "u2", "u2", "u2"]);
    // Another model was chosen there, and nothing was sent yet.
    check_wants(&tree_of("u1 - a1 - u2 - a2\n u2 - m1 - m2*"), "2", ["a2", "u2", "u2", "u2"]);
    check_wants(&tree_of("u1 - m1 - a1\n m1 - m2*"), "1", ["a1", "u1", "u1", "u1"]);
}

/// C21: a number that the active path does not have names the only turn of that number.
#[test]
fn a_number_elsewhere_in_the_tree_is_found_where_it_is_unique() {
    let tree = tree_of("u1 - a1* - u2 - a2 - u3 - a3\n a1 - u4 - a4");
    check(&tree, "3", "u3");
    check(&tree, "2", "error: `#2` could be `u2` or `u4`");
    check(&tree, "4", "error: no turn `#4` on the active branch, which ends at `#1`");
}

#[test]
fn a_short_id_names_its_entry_alone() {
    let tree = tree_of("0198f3c2aa - 0198f3c2ab - 0198f3d000 - ab - 12345678x - äöüäöüäöü*");
    let short = ShortIds::of(&tree);
    for (id, expected) in [
        ("0198f3c2aa", "0198f3c2aa"),
        ("0198f3c2ab", "0198f3c2ab"),
        ("0198f3d000", "0198f3d"),
        ("ab", "ab"),
        ("12345678x", "12345678x"),
        ("äöüäöüäöü", "äöüäöü"),
    ] {
        assert_eq!(short.get(&id.into()), expected);
        assert_eq!(short_id(&tree, &id.into()), expected);
    }
    check(&tree, "0198f3d", "0198f3d000");
}

#[test]
fn the_active_branch_is_named_by_the_nearest_name_above_the_head() {
    let tree = tree_of(TREE);
    assert_eq!(active_branch(&tree), None);
    let tree = named(&named(&tree, "u1", "outer"), "u3", "inner");
    assert_eq!(active_branch(&tree), Some("inner"));
    assert_eq!(active_branch(&named(&tree, "u2", "elsewhere")), Some("inner"));
}
