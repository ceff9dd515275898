//! A session out of a part of another one.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::plan::{
    BeforePrompt, Fork, ForkPosition, ForkRefused, ForkScope, NewSession, before_prompt, branched_session,
    fork_records,
};
use offshoot_session::{
    Body, BranchReason, Change, Entry, EntryId, Fact, HeadMove, HeadName, Missing, RawLine, Record,
    SessionTree, TitleSource,
};
use offshoot_testkit::{FixedStamps, draw, drawn, tree_of};

const TREE: &str = "
    u1 - a1[shared] - u2 - a2[left]
                      a1 - u3 - a3[right]*
";

fn branch(at: Option<&str>, position: ForkPosition) -> Fork {
    Fork { scope: ForkScope::Branch { at: at.map(Into::into), position } }
}

fn forked(tree: &SessionTree, fork: &Fork) -> Result<SessionTree, ForkRefused> {
    fork_records(tree, fork, &mut FixedStamps::after(100)).map(|session| opened(&session))
}

/// The new session, read as it would be from its journal.
fn opened(session: &NewSession) -> SessionTree {
    let tree = SessionTree::default().extended(&session.records).unwrap();
    assert_eq!(tree.header().unwrap().id, session.id);
    assert_eq!(tree.main_head(), session.head.as_ref());
    tree
}

fn marked(fact: Fact) -> Record {
    Record::marked(FixedStamps::start(), fact)
}

/// R-027: a child session holds all messages up to its branch point.
/// R-185: a copied branch is complete.
#[test]
fn a_fork_keeps_the_path_with_its_ids_and_labels() {
    let tree = tree_of(TREE);
    let copy = |at, position| draw(&forked(&tree, &branch(at, position)).unwrap());
    assert_eq!(copy(Some("a2"), ForkPosition::At), "u1 - a1[shared] - u2 - a2[left]*\n");
    assert_eq!(copy(Some("u3"), ForkPosition::Before), "u1 - a1[shared]*\n");
    assert_eq!(copy(None, ForkPosition::At), "u1 - a1[shared] - u3 - a3[right]*\n");
    assert_eq!(copy(None, ForkPosition::Before), "u1 - a1[shared] - u3*\n");
    assert_eq!(copy(Some("u1"), ForkPosition::Before), "", "nothing stands before the first");
}

#[test]
fn a_fork_tells_where_it_came_from() {
    let tree = tree_of(TREE);
    let copy = forked(&tree, &branch(Some("u3"), ForkPosition::Before)).unwrap();
    let header = copy.header().unwrap();
    let lineage = header.lineage.as_ref().unwrap();
    assert_ne!(header.id, "drawn".into());
    assert_eq!((lineage.parent.as_str(), &lineage.at), ("drawn", &Some("a1".into())));
    assert_eq!(lineage.reason, Some(BranchReason::Fork));
}

#[test]
fn names_come_along_and_steps_do_not() {
    let mut tree = tree_of(TREE);
    let bound = Fact::Bound {
        at: "a1".into(),
        agent_session: Some("agent-1".into()),
        provenance: offshoot_session::Provenance::Continued,
        last_message: None,
        agent: None,
        missing: Missing::default(),
        inherited: false,
        model: None,
    };
    for fact in [
        Fact::Title { title: Some("mine".into()), source: TitleSource::User },
        Fact::BranchName { at: "u3".into(), name: Some("right".into()) },
        Fact::BranchName { at: "u2".into(), name: Some("left".into()) },
        Fact::Checkpoint { at: "u3".into(), snapshot: "snap".into() },
        Fact::TurnEnded { turn: "elsewhere".into() },
        bound,
    ] {
        tree.apply(&marked(fact)).unwrap();
    }
    let step = [
        Fact::Operation { name: "label".into() },
        Fact::Label { target: "u1".into(), label: Some("x".into()) },
    ];
    for fact in step {
        tree.apply(&marked(fact).in_operation("op".into())).unwrap();
    }
    let copy = forked(&tree, &branch(None, ForkPosition::At)).unwrap();
    assert_eq!(copy.title(), Some("mine"));
    assert!(copy.title_is_by_user());
    assert_eq!(copy.branch_names(), [(&"u3".into(), "right")]);
    assert_eq!(copy.checkpoint(&"u3".into()), Some("snap"));
    assert_eq!(copy.label(&"u1".into()), Some("x"));
    assert_eq!(copy.binding(&"a1".into()), None);
    assert_eq!(copy.operations().count(), 0);
    assert!(!copy.turn_ended(&"elsewhere".into()));
}

#[test]
fn a_turn_that_ended_does_not_look_unfinished_in_the_copy() {
    let mut tree = tree_of("u1/t1 - a1/t1 - u2/t2 - a2/t2*");
    tree.apply(&marked(Fact::TurnEnded { turn: "t1".into() })).unwrap();
    let copy = forked(&tree, &branch(None, ForkPosition::At)).unwrap();
    assert!(copy.turn_ended(&"t1".into()));
    assert!(!copy.turn_ended(&"t2".into()));
}

#[test]
fn a_fork_of_the_tree_takes_every_branch_and_head() {
    let mut tree = tree_of(TREE);
    let placed =
        HeadMove { head: "worker".into(), moved_at: FixedStamps::start(), from: None, to: Some("a2".into()) };
    tree.apply(&Record::head_moved(placed)).unwrap();
    tree.apply(&marked(Fact::Archived { target: "u2".into(), archived: true })).unwrap();
    let copy = forked(&tree, &Fork { scope: ForkScope::Tree }).unwrap();
    assert_eq!(draw(&copy), draw(&tree));
    assert_eq!(copy.heads(), tree.heads());
    assert!(copy.is_archived(&"u2".into()));
}

#[test]
fn what_undo_hides_is_not_copied() {
    let mut tree = tree_of("u1 - a1*");
    let step = [
        marked(Fact::Operation { name: "send".into() }),
        Record::entry(Entry {
            id: "u2".into(),
            parent: Some("a1".into()),
            written_at: FixedStamps::start(),
            turn: None,
            body: Body::prompt("u2"),
        }),
    ];
    for record in step {
        tree.apply(&record.in_operation("op".into())).unwrap();
    }
    tree.apply(&marked(Fact::Undone { operation: "op".into() })).unwrap();
    assert_eq!(draw(&forked(&tree, &Fork { scope: ForkScope::Tree }).unwrap()), "u1 - a1*\n");
}

#[test]
fn only_a_message_can_be_forked_at() {
    let refused = |drawing: &str, at: Option<&str>| {
        forked(&tree_of(drawing), &branch(at, ForkPosition::At)).map(|tree| draw(&tree)).unwrap_err()
    };
    assert_eq!(refused("u1 - n1*", None), ForkRefused::NotAMessage("n1".into()));
    assert_eq!(refused("u1 - m1 - a1*", Some("m1")).to_string(), "entry `m1` is not a message");
    assert_eq!(refused("u1 - a1*", Some("zz")), ForkRefused::NotFound("zz".into()));
}

#[test]
fn before_the_first_entry_a_fork_is_empty() {
    let copy = forked(&tree_of("u1 - a1"), &branch(None, ForkPosition::At)).unwrap();
    assert!(copy.is_empty());
    assert_eq!(copy.header().unwrap().lineage.as_ref().unwrap().at, None);
}

/// The lines of a file whose entry `a1` hangs below something that is not in the tree.
fn with_lines() -> SessionTree {
    let mut records = drawn("u1 - a1 - u2*");
    for record in &mut records {
        if let Change::Entry(entry) = &record.change {
            record.source = Some(RawLine::new(format!("line of {}\n", entry.id).into_bytes()));
            if entry.id == "a1".into() {
                record.change = Change::Entry(std::sync::Arc::new(Entry {
                    parent: Some("removed".into()),
                    ..(**entry).clone()
                }));
            }
        }
    }
    SessionTree::replay(records).0
}

/// pi leaves `a1` below a parent that it did not copy, and its history ends there (hazard pi-hz-003).
#[test]
fn an_entry_whose_parent_is_not_copied_hangs_below_the_nearest_ancestor() {
    let tree = with_lines();
    let mut stamps = FixedStamps::after(100);
    let session = branched_session(&tree, Some(&"u2".into()), &mut stamps).unwrap();
    let copy = opened(&session);
    assert_eq!(draw(&copy), "a1 - u2*\n");
    let lines: Vec<(String, bool)> = session
        .records
        .iter()
        .filter_map(|record| record.as_entry().map(|entry| (entry.id.to_string(), record.source.is_some())))
        .collect();
    assert_eq!(
        lines,
        [("a1".to_owned(), false), ("u2".to_owned(), true)],
        "a line that names another parent stays"
    );
}

/// A cycle is a way like any other: each entry once, one below the other.
#[test]
fn a_way_through_a_cycle_becomes_a_line() {
    let entry = |id: &str, parent: &str| {
        Record::entry(Entry {
            id: id.into(),
            parent: Some(parent.into()),
            written_at: FixedStamps::start(),
            turn: None,
            body: Body::prompt(id),
        })
    };
    let (tree, _) = SessionTree::replay([entry("A", "B"), entry("B", "A")]);
    let copy = branched_session(&tree, Some(&"A".into()), &mut FixedStamps::after(100)).unwrap();
    assert_eq!(draw(&opened(&copy)), "B - A*\n");
    let copy = forked(&tree, &Fork { scope: ForkScope::Tree }).unwrap();
    assert_eq!(draw(&copy), draw(&tree));
}

/// R-057: a branch becomes a session of its own, on disk or in memory.
#[test]
fn any_entry_can_end_a_branched_session() {
    let tree = tree_of("u1 - a1 - m1 - u2*");
    let session = |leaf: Option<&EntryId>| branched_session(&tree, leaf, &mut FixedStamps::after(100));
    assert_eq!(draw(&opened(&session(Some(&"m1".into())).unwrap())), "u1 - a1 - m1*\n");
    assert_eq!(session(Some(&"zz".into())), Err(ForkRefused::NotFound("zz".into())));
    assert!(opened(&session(None).unwrap()).is_empty());
}

/// C21: the settings of a version are not above it.
#[test]
fn a_fork_before_a_prompt_begins_above_its_settings() {
    let tree = tree_of(r#"u1"first" - a1 - m1 - m2 - u2"second" - a2*"#);
    let before = |at: &str| before_prompt(&tree, &at.into());
    let second = before("u2").unwrap();
    let expected =
        BeforePrompt { prompt: "u2".into(), place: Some("a1".into()), editor_text: "second".to_owned() };
    assert_eq!(second, expected);
    let session = branched_session(&tree, second.place.as_ref(), &mut FixedStamps::after(100)).unwrap();
    assert_eq!(draw(&opened(&session)), "u1\"first\" - a1*\n");

    let first = before("u1").unwrap();
    assert_eq!((first.place.clone(), first.editor_text.as_str()), (None, "first"));
    let child = opened(&branched_session(&tree, None, &mut FixedStamps::after(100)).unwrap());
    assert!(child.is_empty());
    assert_eq!(child.header().unwrap().lineage.as_ref().unwrap().parent, "drawn");

    assert_eq!(before("a1"), Err(ForkRefused::InsideTurn("a1".into())));
    assert_eq!(before("m2"), Err(ForkRefused::NotAMessage("m2".into())));
    assert_eq!(before("zz"), Err(ForkRefused::NotFound("zz".into())));
}

#[test]
fn the_head_of_a_fork_is_its_main_head() {
    let copy = forked(&tree_of(TREE), &branch(Some("a2"), ForkPosition::At)).unwrap();
    assert_eq!(copy.heads(), [(HeadName::main(), Some(&"a2".into()))]);
}

/// A fork had its parent's title as one that a person gave, so a list had several sessions of one name.
#[test]
fn a_forked_session_is_named_after_its_parent() {
    let titled = |title: &str, source| {
        let mut tree = tree_of("u1 - a1*");
        tree.apply(&marked(Fact::Title { title: Some(title.into()), source })).unwrap();
        tree
    };
    let fork_of = |tree: &SessionTree| {
        let mut stamps = FixedStamps::after(100);
        let fork = branched_session(tree, Some(&"a1".into()), &mut stamps).unwrap();
        SessionTree::default().extended(&fork.records).unwrap()
    };
    let fork = fork_of(&titled("Parser (draft)", TitleSource::User));
    assert_eq!((fork.title(), fork.title_is_by_user()), (Some("Parser (draft) (fork)"), false));
    assert_eq!(fork_of(&fork).title(), Some("Parser (draft) (fork)"), "a fork of a fork");
    assert_eq!(fork_of(&tree_of("u1 - a1*")).title(), None);
}
