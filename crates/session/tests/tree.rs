//! The tree as the fold of its records, drawn.

use offshoot_session::{
    Body, Change, Entry, EntryId, Fact, HeadMove, HeadName, Odd, Record, Rejected, SessionTree, Stamps,
    TitleSource,
};
use offshoot_testkit::{FixedStamps, draw, drawn, tree_of};

fn ids<'t>(entries: impl IntoIterator<Item = &'t std::sync::Arc<Entry>>) -> String {
    entries.into_iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn path(tree: &SessionTree, to: &str) -> String {
    ids(tree.path_to(Some(&to.into())))
}

fn entry(id: &str, parent: Option<&str>) -> Record {
    Record::entry(Entry {
        id: id.into(),
        parent: parent.map(Into::into),
        written_at: FixedStamps::start(),
        turn: None,
        body: Body::prompt(id),
    })
}

fn head_move(from: Option<&str>, to: Option<&str>) -> Record {
    Record::head_moved(HeadMove {
        head: HeadName::main(),
        moved_at: FixedStamps::start(),
        from: from.map(Into::into),
        to: to.map(Into::into),
    })
}

#[test]
fn a_batch_is_taken_whole_or_leaves_no_trace() {
    let mut tree = tree_of(TWO_BRANCHES);
    let before = draw(&tree);
    let log: Vec<Record> = tree.log().cloned().collect();
    let batch = [entry("u4", Some("a2")), head_move(Some("a3"), Some("u4")), entry("u5", Some("nowhere"))];
    assert_eq!(tree.extend(&batch), Err(Rejected::NotFound("nowhere".into())));
    assert_eq!(draw(&tree), before);
    assert!(tree.log().eq(&log));
    tree.extend(&batch[..2]).unwrap();
    assert_eq!(path(&tree, "u4"), "u1 a1 u2 a2 u4");
    tree.take_back_to(log.len());
    assert_eq!(draw(&tree), before);
}

const TWO_BRANCHES: &str = "
    u1 - a1 - u2 - a2
         a1 - u3 - a3*
";

#[test]
fn a_drawing_is_the_drawing_of_its_tree() {
    let tree = tree_of(TWO_BRANCHES);
    assert_eq!(draw(&tree), "u1 - a1 - u2 - a2\n     a1 - u3 - a3*\n");
    assert_eq!(draw(&tree_of(&draw(&tree))), draw(&tree));
}

/// the path to an entry runs from its root to it.
#[test]
fn a_path_goes_from_the_root_to_the_entry() {
    let tree = tree_of(TWO_BRANCHES);
    assert_eq!(path(&tree, "a2"), "u1 a1 u2 a2");
    assert_eq!(path(&tree, "a3"), "u1 a1 u3 a3");
    assert_eq!(path(&tree, "nobody"), "");
    assert!(tree.path_to(None).is_empty());
}

#[test]
fn branches_meet_at_their_fork_point() {
    let tree = tree_of("u1 - a1 - u2 - a2\n a1 - u3 - a3*\n u9 - a9");
    let fork = |one: &str, other: &str| {
        tree.fork_point(&one.into(), &other.into()).map(|entry| entry.id.as_str().to_owned())
    };
    assert_eq!(fork("a2", "a3").as_deref(), Some("a1"));
    assert_eq!(fork("a3", "u1").as_deref(), Some("u1"));
    assert_eq!(fork("a3", "a9"), None);
    assert!(tree.is_ancestor(&"a1".into(), &"a3".into()));
    assert!(!tree.is_ancestor(&"u2".into(), &"a3".into()));
}

/// children are ordered by time, oldest first.
/// the children of an entry are those directly below it.
#[test]
fn children_are_oldest_first_whatever_the_order_of_lines() {
    let mut records = drawn("u1 - a1\n u1 - a2");
    records.swap(2, 3);
    let (tree, oddities) = SessionTree::replay(records);
    assert!(oddities.is_empty());
    assert_eq!(ids(tree.children(Some(&"u1".into()))), "a1 a2");
}

/// an entry whose parent is missing is a root.
#[test]
fn an_entry_with_a_missing_parent_begins_a_tree() {
    let (tree, oddities) =
        SessionTree::replay([entry("u1", None), entry("u2", Some("gone")), entry("u3", Some("u2"))]);
    assert_eq!(draw(&tree), "u1\nu2 - u3\n");
    assert_eq!(path(&tree, "u3"), "u2 u3");
    assert!(matches!(&oddities[..], [odd] if matches!(&odd.what, Odd::MissingParent { .. })));
}

#[test]
fn a_parent_may_stand_behind_its_children() {
    let (tree, oddities) = SessionTree::replay([
        entry("u3", Some("u2")),
        entry("u2", Some("u1")),
        head_move(None, Some("u3")),
        entry("u1", None),
        entry("u4", Some("u3")),
    ]);
    assert_eq!(draw(&tree), "u1 - u2 - u3* - u4\n");
    assert_eq!(tree.depth(&"u4".into()), Some(3));
    assert!(oddities.is_empty(), "{oddities:?}");
}

/// pi walks for ever here (hazard pi-hz-007).
#[test]
fn a_cycle_is_survived_and_every_entry_comes_once() {
    let (tree, oddities) =
        SessionTree::replay([entry("C", Some("B")), entry("A", Some("B")), entry("B", Some("A"))]);
    assert_eq!(path(&tree, "A"), "B A");
    assert_eq!(path(&tree, "B"), "A B");
    assert_eq!(path(&tree, "C"), "A B C");
    assert_eq!(tree.walk().len(), 3);
    assert!(matches!(&oddities[..], [odd] if odd.what == Odd::Cycle("A".into())));

    let (alone, _) = SessionTree::replay([entry("A", Some("A"))]);
    assert_eq!(path(&alone, "A"), "A");
}

#[test]
fn writing_refuses_what_loading_forgives() {
    let mut tree = tree_of("u1 - a1*");
    let refused = |tree: &mut SessionTree, record: Record| tree.apply(&record).unwrap_err();
    assert_eq!(refused(&mut tree, entry("u1", None)), Rejected::IdTaken("u1".into()));
    assert_eq!(refused(&mut tree, entry("u2", Some("gone"))), Rejected::NotFound("gone".into()));
    assert_eq!(refused(&mut tree, entry("u2", Some("u2"))), Rejected::Cycle("u2".into()));
    assert_eq!(refused(&mut tree, head_move(Some("a1"), Some("gone"))), Rejected::NotFound("gone".into()));
    assert!(matches!(refused(&mut tree, head_move(Some("u1"), None)), Rejected::StaleHead { .. }));
    let label = Fact::Label { target: "gone".into(), label: Some("x".into()) };
    assert_eq!(
        refused(&mut tree, Record::marked(FixedStamps::start(), label)),
        Rejected::NotFound("gone".into())
    );
    assert_eq!(draw(&tree), "u1 - a1*\n");
}

#[test]
fn the_first_of_two_entries_with_one_id_counts() {
    let (tree, oddities) = SessionTree::replay([entry("u1", None), entry("u1", None)]);
    assert_eq!(tree.len(), 1);
    assert!(matches!(&oddities[..], [odd] if odd.what == Odd::DuplicateId("u1".into())));
}

/// one head says where the next message goes; it may be before the first entry.
/// pi and oh-my-pi forget where the head was (hazard pi-hz-002).
#[test]
fn a_head_move_survives_loading() {
    let mut records = drawn("u1 - a1*");
    records.push(head_move(Some("a1"), Some("u1")));
    let (tree, _) = SessionTree::replay(records.clone());
    assert_eq!(draw(&tree), "u1* - a1\n");

    records.push(head_move(Some("u1"), None));
    let (tree, _) = SessionTree::replay(records);
    assert_eq!(tree.main_head(), None);
}

#[test]
fn a_head_follows_its_turn_and_nothing_else() {
    let mut tree = tree_of("u1/t1 - a1/t1*");
    let write = |tree: &mut SessionTree, id: &str, parent: &str, turn: &str| {
        let record = Record::entry(Entry {
            id: id.into(),
            parent: Some(parent.into()),
            written_at: FixedStamps::start(),
            turn: Some(turn.into()),
            body: if id.starts_with('u') { Body::prompt(id) } else { Body::reply(id) },
        });
        tree.apply(&record).unwrap();
    };
    write(&mut tree, "u2", "a1", "t2");
    assert_eq!(draw(&tree), "u1 - a1* - u2\n", "a prompt alone does not move the head");
    tree.apply(&head_move(Some("a1"), Some("u2"))).unwrap();
    write(&mut tree, "a2", "u2", "t2");
    assert_eq!(draw(&tree), "u1 - a1 - u2 - a2*\n", "the turn carries the head along");
    tree.apply(&head_move(Some("a2"), Some("a1"))).unwrap();
    write(&mut tree, "a3", "a2", "t2");
    assert_eq!(draw(&tree), "u1 - a1* - u2 - a2 - a3\n", "a head that left stays where it was put");
}

#[test]
fn the_way_last_visited_is_remembered_at_every_fork() {
    let mut tree = tree_of(
        "u1 - a1 - u2 - a2 - u4
         a2 - u5
         a1 - u3 - a3*",
    );
    let leaf = |tree: &SessionTree, from: &str| tree.remembered_leaf(&from.into()).unwrap().id.to_string();
    assert_eq!(leaf(&tree, "u1"), "a3");
    assert_eq!(leaf(&tree, "u2"), "u5", "nobody was here: the newest");
    tree.apply(&head_move(Some("a3"), Some("u4"))).unwrap();
    tree.apply(&head_move(Some("u4"), Some("a3"))).unwrap();
    assert_eq!(leaf(&tree, "u2"), "u4");
    assert_eq!(leaf(&tree, "u1"), "a3");
}

#[test]
fn a_title_by_a_person_beats_an_automatic_one() {
    let mut tree = tree_of("u1*");
    let mut title = |text: &str, source| {
        let fact = Fact::Title { title: Some(text.to_owned()), source };
        tree.apply(&Record::marked(FixedStamps::start(), fact)).unwrap();
        tree.title().map(str::to_owned)
    };
    assert_eq!(title("auto", TitleSource::Auto).as_deref(), Some("auto"));
    assert_eq!(title("mine", TitleSource::User).as_deref(), Some("mine"));
    assert_eq!(title("auto 2", TitleSource::Auto).as_deref(), Some("mine"));
    assert_eq!(title("  ", TitleSource::User).as_deref(), Some("auto 2"), "blank clears");
}

#[test]
fn undo_hides_an_operation_and_all_below_it() {
    let mut stamps = FixedStamps::after(100);
    let before = tree_of("u1 - a1*");
    let step = stamps.operation_id();
    let records = [
        Record::marked(stamps.now(), Fact::Operation { name: "send".into() }),
        entry("u2", Some("a1")),
        head_move(Some("a1"), Some("u2")),
    ]
    .map(|record| record.in_operation(step.clone()));
    let mut tree = before.extended(&records).unwrap();
    tree.apply(&entry("a2", Some("u2"))).unwrap();
    let after = draw(&tree);

    tree.apply(&Record::marked(stamps.now(), Fact::Undone { operation: step.clone() })).unwrap();
    assert_eq!(draw(&tree), draw(&before));
    assert!(tree.operation(&step).unwrap().undone);
    assert_eq!(tree.log().count(), before.log().count() + 5, "nothing leaves the journal");

    assert_eq!(tree.apply(&entry("u2", None)), Err(Rejected::IdTaken("u2".into())), "redo may bring it back");

    tree.apply(&Record::marked(stamps.now(), Fact::Redone { operation: step })).unwrap();
    assert_eq!(draw(&tree), after);
}

/// a change gives a new tree; one that is being read stays as it is.
#[test]
fn a_snapshot_never_changes_under_its_reader() {
    let mut tree = tree_of("u1 - a1*");
    let snapshot = tree.clone();
    tree.apply(&entry("u2", Some("a1"))).unwrap();
    tree.apply(&head_move(Some("a1"), Some("u2"))).unwrap();
    assert_eq!(draw(&snapshot), "u1 - a1*\n");
    assert_eq!(draw(&tree), "u1 - a1 - u2*\n");
}

#[test]
fn unknown_records_stay_in_the_log() {
    let line = offshoot_session::RawLine::new(&b"{\"type\":\"tomorrow\"}\r\n"[..]);
    let (tree, _) = SessionTree::replay([Record::unknown(line.clone())]);
    assert!(tree.log().any(|record| record.change == Change::Unknown && record.source == Some(line.clone())));
    assert_eq!(line.content(), b"{\"type\":\"tomorrow\"}");
    let _: Option<&EntryId> = tree.main_head();
}

/// A file of another program may go back thousands of times, deep in its tree: the last move is what is remembered.
#[test]
fn after_many_short_moves_in_a_deep_tree_the_last_is_remembered() {
    let mut records = vec![entry("e0", None)];
    records.extend((1..30_000).map(|n| entry(&format!("e{n}"), Some(&format!("e{}", n - 1)))));
    for n in 0..20_000 {
        records.push(head_move(None, Some(&format!("e{}", 29_000 + n % 1_000))));
    }
    let (tree, _) = SessionTree::replay(records);
    assert_eq!(tree.remembered_leaf(&"e0".into()).unwrap().id.as_str(), "e29999");
    assert_eq!(tree.main_head().unwrap().as_str(), "e29999");
}
