//! Which prompts are versions of each other (C20; R-003, R-007, R-009, R-038, R-043).

use offshoot_session::outline::{Outline, OutlineOptions};
use offshoot_session::versions::{
    AllVersions, active_version, edit_group, repeated_prompts, slot_place, version_of, versions_of,
};
use offshoot_session::{EntryId, Fact, HeadName, Record, SessionTree};
use offshoot_testkit::{FixedStamps, drawn, tree_of};

/// `u2 2/3 of u1`: each prompt with its number and its edit group; alone where it is the only one.
fn told(tree: &SessionTree) -> Vec<String> {
    let all = AllVersions::of(tree);
    let outline = Outline::of(tree, &OutlineOptions::default());
    let prompts = tree.entries().filter(|entry| entry.body.is_prompt());
    let told = prompts.map(|prompt| {
        let id = &prompt.id;
        let version = version_of(tree, id);
        assert_eq!(all.get(tree, id), version, "{id} counted with all others");
        assert_eq!(all.edit_group(tree, id), edit_group(tree, id).as_ref());
        if let Some(row) = outline.rows.iter().find(|row| row.entry == *id) {
            assert_eq!(row.version, version, "{id} in the outline");
        }
        match (version, edit_group(tree, id)) {
            (Some(version), Some(group)) => format!("{id} {}/{} of {group}", version.number, version.of),
            (None, _) | (_, None) => id.to_string(),
        }
    });
    told.collect()
}

fn archived(drawing: &str, at: &str) -> SessionTree {
    let fact = Fact::Archived { target: at.into(), archived: true };
    SessionTree::replay(drawn(drawing).into_iter().chain([Record::marked(FixedStamps::start(), fact)])).0
}

/// D13: whether a prompt repeats an earlier version is known for all prompts at once.
#[test]
fn a_prompt_is_repeated_where_an_earlier_version_in_sight_says_the_same() {
    let drawing = r#"u1"x" - a1 - u2"x" - a2
                     u3"x" - a3
                     u4"y"*
                     a1 - u5"z"
                     a1 - u6"z""#;
    let repeated = |tree: &SessionTree| {
        let mut ids: Vec<String> = repeated_prompts(tree).into_iter().map(ToString::to_string).collect();
        ids.sort();
        ids.join(" ")
    };
    assert_eq!(repeated(&tree_of(drawing)), "u3 u6", "elsewhere the same words are no repetition");
    assert_eq!(repeated(&archived(drawing, "u5")), "u3", "an archived version is not in sight");
}

/// R-005: a prompt with one version shows no version number.
#[test]
fn a_prompt_with_one_version_has_no_number() {
    assert_eq!(told(&tree_of("u1 - a1 - u2 - a2 - m1 - u3*")), ["u1", "u2", "u3"]);
}

#[test]
fn prompts_below_one_entry_are_versions() {
    let tree = tree_of("u1 - a1 - u2 - a2\n a1 - u3 - a3*\n u9");
    assert_eq!(told(&tree), ["u1 1/2 of u1", "u2 1/2 of u2", "u3 2/2 of u2", "u9 2/2 of u1"]);
}

/// The story of R-007: an edit with another model was a branch that `versions` and `prev` did not know.
#[test]
fn an_edit_with_other_settings_is_a_version() {
    let tree = tree_of("u1 - a1 - u2 - a2\n a1 - m1 - m2 - u3 - a3*\n m1 - u4");
    assert_eq!(told(&tree), ["u1", "u2 1/3 of u2", "u3 2/3 of u2", "u4 3/3 of u2"]);
    assert_eq!(slot_place(&tree, &"u3".into()), Some("a1".into()), "its settings belong to the version");
    let tree = tree_of("m1 - u1 - a1\n m2 - u2*\n u3");
    assert_eq!(told(&tree), ["u1 1/3 of u1", "u2 2/3 of u1", "u3 3/3 of u1"]);
}

/// Summaries, clears and notes are places of their own.
#[test]
fn what_is_not_a_setting_is_another_place() {
    let tree = tree_of("u1 - a1 - u2\n a1 - s1 - u3\n a1 - z1 - u4\n a1 - n1 - u5*");
    assert_eq!(told(&tree), ["u1", "u2", "u3", "u4", "u5"]);
}

/// C20: an orphan was version 2/2 of the first prompt in `show` and `versions`, and none in `tree`.
#[test]
fn orphans_are_not_versions_of_each_other() {
    let mut records = drawn("u1 - a1\n u2 - a2\n u3 - a3*");
    for record in &mut records {
        if let offshoot_session::Change::Entry(entry) = &mut record.change
            && (entry.id == EntryId::from("u2") || entry.id == EntryId::from("u3"))
        {
            std::sync::Arc::make_mut(entry).parent = Some("gone".into());
        }
    }
    let tree = SessionTree::replay(records).0;
    assert_eq!(told(&tree), ["u1", "u2", "u3"]);
}

#[test]
fn archived_versions_do_not_count_unless_one_is_asked_for() {
    let tree = archived("u1 - a1 - u2 - a2\n a1 - u3 - a3\n a1 - u4 - a4*", "u2");
    assert_eq!(told(&tree), ["u1", "u2 1/3 of u2", "u3 1/2 of u2", "u4 2/2 of u2"]);
    let with_settings = archived("u1 - a1 - m1 - u2 - a2\n a1 - u3 - a3\n a1 - u4 - a4*", "m1");
    assert_eq!(told(&with_settings), ["u1", "u2 1/3 of u2", "u3 1/2 of u2", "u4 2/2 of u2"]);
}

#[test]
fn the_version_shown_is_the_one_on_the_way_to_the_head() {
    let shown = |drawing: &str, at: &str| {
        let tree = tree_of(drawing);
        active_version(&tree, &HeadName::main(), &at.into()).map(|entry| entry.id.to_string())
    };
    assert_eq!(shown("u1 - a1 - u2 - a2*\n a1 - m1 - u3", "u3").as_deref(), Some("u2"));
    assert_eq!(shown("u1 - a1 - u2 - a2\n a1 - m1 - u3* - a3\n a1 - u4", "u2").as_deref(), Some("u3"));
    assert_eq!(shown("u1* - a1 - u2 - a2\n a1 - m1 - u3", "u2").as_deref(), Some("u3"), "the newest");
}

#[test]
fn wide_slots_are_counted_in_one_pass() {
    let lines: Vec<String> = (0..3000).map(|at| format!("a1 - m{at} - u{at}x")).collect();
    let tree = tree_of(&format!("u1 - a1*\n{}", lines.join("\n")));
    let all = AllVersions::of(&tree);
    assert_eq!(
        all.get(&tree, &"u2999x".into()).map(|version| (version.number, version.of)),
        Some((3000, 3000))
    );
    assert_eq!(versions_of(&tree, &"u0x".into()).len(), 3000);
}
