//! To begin a session is a step that can be taken back.

use offshoot_session::plan::{
    BeginningRefused, NewSession, NothingToUndo, OtherSide, born, branched_session, other_side, plan_forked,
    plan_label, plan_redo, plan_undo, plan_undo_beginning,
};
use offshoot_session::{OperationId, Record, SessionHeader, SessionTree, Stamps};
use offshoot_testkit::{FixedStamps, draw, tree_of};

fn begun(stamps: &mut FixedStamps) -> SessionTree {
    let header = SessionHeader::new(stamps.session_id(), stamps.now());
    let mut records = vec![Record::opened(header)];
    born(&mut records, "new session", "op1".into(), stamps);
    SessionTree::replay(records).0
}

#[test]
fn a_beginning_is_taken_back_and_taken_again() {
    let mut stamps = FixedStamps::default();
    let tree = begun(&mut stamps);
    assert!(!tree.is_taken_back());
    assert_eq!(tree.began(), Some(&OperationId::from("op1")));
    let back = tree.extended(&plan_undo(&tree, &mut stamps).unwrap()).unwrap();
    assert!(back.is_taken_back());
    assert_eq!(plan_undo(&back, &mut stamps), Err(NothingToUndo));
    let again = back.extended(&plan_redo(&back, &mut stamps).unwrap()).unwrap();
    assert!(!again.is_taken_back());
}

#[test]
fn a_session_that_does_not_say_how_it_began_is_always_there() {
    let tree = tree_of("u1 - a1*");
    assert!(!tree.is_taken_back());
    assert_eq!(tree.began(), None);
}

#[test]
fn both_sessions_of_a_fork_know_the_other() {
    let mut stamps = FixedStamps::default();
    let origin = tree_of("u1 - a1 - u2 - a2*");
    let NewSession { id, mut records, .. } =
        branched_session(&origin, Some(&"a1".into()), &mut stamps).unwrap();
    let step = plan_forked(&id, &mut stamps);
    born(&mut records, "fork", step.operation.clone(), &mut stamps);
    let (child, oddities) = SessionTree::replay(records);
    assert_eq!(oddities, []);
    assert_eq!(draw(&child), draw(&tree_of("u1 - a1*")));
    let origin_id = origin.header().unwrap().id.clone();
    let origin = origin.extended(&step.records).unwrap();
    assert_eq!(other_side(&origin, &step.operation), Some(OtherSide::Child(id.clone())));
    assert_eq!(other_side(&child, &step.operation), Some(OtherSide::Origin(origin_id)));

    let undone = plan_undo_beginning(&child, &step.operation, &mut stamps).unwrap();
    let taken_back = child.extended(&undone).unwrap();
    assert!(taken_back.is_taken_back());
    assert_eq!(plan_undo_beginning(&taken_back, &step.operation, &mut stamps), Ok(Vec::new()));

    let label = plan_label(&child, &"u1".into(), Some("works"), &mut stamps).unwrap().unwrap();
    let gone_on = child.extended(&label.records).unwrap();
    assert_eq!(
        plan_undo_beginning(&gone_on, &step.operation, &mut stamps),
        Err(BeginningRefused::HasGoneOn(id))
    );
}
