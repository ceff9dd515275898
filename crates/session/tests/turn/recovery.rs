//! What a crash has left is given an end.

use offshoot_session::turn::{arrived_so_far, plan_recovery, unfinished_turns};
use offshoot_session::{Body, Entry, Fact, Interruption, Missing, Provenance, Record};
use offshoot_testkit::{FixedStamps, draw, tree_of};

fn draft(id: &str, turn: &str, text: &str) -> Entry {
    Entry {
        id: id.into(),
        parent: None,
        written_at: FixedStamps::start(),
        turn: Some(turn.into()),
        body: Body::reply(text),
    }
}

#[test]
fn what_had_arrived_comes_back_and_is_marked_interrupted() {
    let tree = tree_of("u1/t1 - a1/t1*");
    let left = [draft("d", "t1", "half a sen")];
    let records = plan_recovery(&tree, &left, &mut FixedStamps::after(100));
    let tree = tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - d\"half a sen\" - new1*\n");
    assert_eq!(tree.entry(&"new1".into()).unwrap().body, Body::Interrupted(Interruption::Crash));
    assert!(tree.turn_ended(&"t1".into()));
    assert!(plan_recovery(&tree, &left, &mut FixedStamps::after(200)).is_empty(), "once is enough");
}

/// While it is still being written it is seen and has no end.
#[test]
fn what_has_arrived_so_far_is_laid_below_the_turn() {
    let tree = tree_of("u1/t1 - a1/t1*");
    let left = [draft("d", "t1", "half a sen"), draft("lost", "t9", "nobody")];
    let records = arrived_so_far(&tree, unfinished_turns(&tree, &left), &left);
    let tree = tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - d\"half a sen\"*\n");
    assert!(!tree.turn_ended(&"t1".into()));
}

#[test]
fn a_prompt_that_nobody_has_begun_to_answer_can_still_be_answered() {
    let mut tree = tree_of("u1/t1*");
    assert!(unfinished_turns(&tree, &[]).is_empty());
    let fact = Fact::Bound {
        at: "u1".into(),
        agent_session: None,
        provenance: Provenance::Continued,
        last_message: None,
        agent: None,
        missing: Missing::default(),
        inherited: false,
    };
    tree.apply(&Record::marked(FixedStamps::start(), fact)).unwrap();
    assert_eq!(unfinished_turns(&tree, &[]).len(), 1, "an agent had taken it up");
}

#[test]
fn several_turns_each_have_their_own_end() {
    let tree = tree_of("u1/t1 - a1/t1\nu2/t2 - a2/t2*");
    let left = [draft("d2", "t2", "two"), draft("d1", "t1", "one"), draft("lost", "t9", "nobody")];
    let records = plan_recovery(&tree, &left, &mut FixedStamps::after(100));
    let tree = tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - d1\"one\" - new1\nu2 - a2 - d2\"two\" - new2*\n");
}
