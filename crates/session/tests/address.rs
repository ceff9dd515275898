//! Points named as people type them.

use offshoot_session::address::{AddressError, ShortIds, active_branch, resolve, resolve_with, short_id};
use offshoot_session::{EntryId, Fact, Record, SessionTree};
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
    let found = match resolve(tree, text) {
        Ok(id) => id.to_string(),
        Err(error) => format!("error: {error}"),
    };
    assert_eq!(found, expected, "for {text:?}");
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
    check(&tree_of("u1"), "1", "error: no turn `#1` on the active branch, which is empty");
}

#[test]
fn a_message_is_counted_from_zero_without_settings() {
    let tree = tree_of("m1 - u1 - c1 - t1 - k1 - a1* - u2");
    check(&tree, "m:0", "u1");
    check(&tree, "m:2", "t1");
    check(&tree, "m:3", "a1");
    check(&tree, "m:4", "error: no message `m:4` on the active branch, which ends at `m:3`");
}

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
    assert_eq!(resolve(&tree_of("u1"), "head"), Err(AddressError::NoHead));
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

#[test]
fn other_programs_names_lead_to_entries() {
    let tree = tree_of("u1 - a1*");
    let alias = |text: &str| text.eq_ignore_ascii_case("6F2A-91").then(|| EntryId::from("a1"));
    assert_eq!(resolve_with(&tree, "6f2a-91", alias), Ok("a1".into()));
    assert!(resolve_with(&tree, "other", |_| Some("gone".into())).is_err(), "only into this tree");
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
