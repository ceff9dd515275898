//! What may be done while a turn runs.

use offshoot_session::guard::{
    Action, AgentState, Allowed, Hint, Place, Refusal, RunningTurn, SessionState, may, turn_above,
    turn_to_interrupt,
};
use offshoot_session::pending::{Landing, LandingGone, PendingTurn};
use offshoot_session::status::WaitingFor;
use offshoot_session::turn::Phase;
use offshoot_session::{EntryId, HeadName};
use offshoot_testkit::tree_of;

/// A turn `t` runs below `u2`; `u3` is another branch.
const TREE: &str = "u1 - a1 - u2/t - a2/t*\n     a1 - u3 - a3";

fn running(phase: Phase, waits_for: Option<WaitingFor>) -> RunningTurn {
    RunningTurn { turn: "t".into(), prompt: "u2".into(), phase, waits_for }
}

fn check_in(drawing: &str, turn: RunningTurn, action: Action<'_>) -> Result<Allowed, Refusal> {
    let (tree, head) = (tree_of(drawing), HeadName::main());
    let turns = [turn];
    may(
        action,
        &SessionState { tree: &tree, head: &head, turns: &turns, pending: &[], agent: AgentState::Reachable },
    )
}

fn check(action: Action<'_>) -> Result<Allowed, Refusal> {
    check_in(TREE, running(Phase::Running, None), action)
}

fn refused() -> Result<Allowed, Refusal> {
    Err(Refusal::Running { turn: "t".into(), prompt: "u2".into() })
}

const NOW: Result<Allowed, Refusal> = Ok(Allowed::Now);

#[test]
fn looking_is_always_allowed() {
    assert_eq!(check(Action::Look), NOW);
}

/// R-120: a branch that is being answered cannot be edited or left.
#[test]
fn the_path_of_a_running_turn_is_not_changed_under_it() {
    let (above, own, below): (EntryId, EntryId, EntryId) = ("u1".into(), "u2".into(), "a2".into());
    for at in [&above, &own] {
        assert_eq!(check(Action::Edit { at, words: "new", place: Place::Here }), refused());
        assert_eq!(check(Action::Version { at }), refused());
    }
    assert_eq!(check(Action::Retry { at: &below, place: Place::Here }), refused());
    assert_eq!(check(Action::MoveHead), refused());
    assert_eq!(check(Action::Change), refused());
    assert_eq!(check(Action::MoveHead).unwrap_err().hint(), Some(Hint::AbortFirst));
}

#[test]
fn nothing_is_appended_to_an_answer_that_is_being_written() {
    let (above, own, other): (EntryId, EntryId, EntryId) = ("a1".into(), "a2".into(), "a3".into());
    for below in [None, Some(&above), Some(&own), Some(&other)] {
        assert_eq!(check(Action::Append { below }), refused(), "the head would leave it");
    }
    let away = "u1 - a1 - u2/t - a2/t\n     a1 - u3 - a3*";
    let elsewhere = |below| check_in(away, running(Phase::Running, None), Action::Append { below });
    assert_eq!(elsewhere(Some(&own)), refused());
    for below in [None, Some(&above), Some(&other)] {
        assert_eq!(elsewhere(below), NOW);
    }
}

#[test]
fn elsewhere_in_the_tree_everything_goes_on() {
    let other: EntryId = "u3".into();
    assert_eq!(check(Action::Edit { at: &other, words: "new", place: Place::Here }), NOW);
    assert_eq!(check(Action::Version { at: &other }), NOW);
    let away = "u1 - a1 - u2/t - a2/t\n     a1 - u3 - a3*";
    assert_eq!(check_in(away, running(Phase::Running, None), Action::MoveHead), NOW);
    assert_eq!(check_in(away, running(Phase::Running, None), Action::Change), NOW);
    let send = Action::Send { words: "more", place: Place::Here };
    assert_eq!(check_in(away, running(Phase::Running, None), send), NOW, "a second turn");
}

/// A11: a message for a point inside of a running turn waits for that turn, wherever the head is.
#[test]
fn a_point_knows_the_turn_that_is_being_answered_above_it() {
    let (tree, head) = (tree_of("u1 - a1 - u2/t - a2/t\n     a1 - u3 - a3*"), HeadName::main());
    let turns = [running(Phase::Running, None)];
    let agent = AgentState::Reachable;
    let state = SessionState { tree: &tree, head: &head, turns: &turns, pending: &[], agent };
    let above = |at: &str| turn_above(&at.into(), &state);
    assert_eq!((above("u2"), above("a2")), (Some("t".into()), Some("t".into())));
    assert_eq!((above("a1"), above("a3")), (None, None));
}

#[test]
fn beside_the_running_turn_another_one_starts_on_request() {
    let at: EntryId = "u2".into();
    assert_eq!(check(Action::Edit { at: &at, words: "new", place: Place::Beside }), NOW);
    assert_eq!(check(Action::Send { words: "more", place: Place::Beside }), NOW);
}

/// R-121: a message to a busy branch waits.
#[test]
fn what_is_sent_to_a_busy_branch_waits() {
    let send = Action::Send { words: "more", place: Place::Here };
    assert_eq!(check(send), Ok(Allowed::Queued { behind: "t".into() }));
}

#[test]
fn an_interrupted_turn_is_in_nobodys_way() {
    let turn = || running(Phase::Interrupting, None);
    assert_eq!(check_in(TREE, turn(), Action::MoveHead), NOW);
    assert_eq!(check_in(TREE, turn(), Action::Send { words: "more", place: Place::Here }), NOW);
}

fn interrupted(drawing: &str, turns: &[RunningTurn]) -> Result<String, Refusal> {
    let (tree, head) = (tree_of(drawing), HeadName::main());
    let state = SessionState { tree: &tree, head: &head, turns, pending: &[], agent: AgentState::Reachable };
    turn_to_interrupt(&state).map(|turn| turn.to_string())
}

/// Two turns run: `t` below `u2`, `v` below `u3`. The star is the head.
#[test]
fn whoever_names_no_turn_means_the_one_of_the_head() {
    let t = || running(Phase::Running, None);
    let v = || RunningTurn { turn: "v".into(), prompt: "u3".into(), ..running(Phase::Running, None) };
    let at = |head: &str| {
        let tree = "u1 - a1 - u2/t - a2/t\n     a1 - u3/v - a3/v\n     a1 - u4 - a4";
        tree.replace(head, &format!("{head}*"))
    };
    assert_eq!(interrupted(&at("a2"), &[]), Err(Refusal::NothingRuns));
    assert_eq!(interrupted(&at("a4"), &[t()]), Ok("t".into()), "the only one that runs");
    assert_eq!(interrupted(&at("a2/t"), &[t(), v()]), Ok("t".into()));
    assert_eq!(interrupted(&at("a3/v"), &[t(), v()]), Ok("v".into()));
    let refused = interrupted(&at("a4"), &[t(), v()]).unwrap_err();
    let words = "several turns run, and none of them on the branch of the head: #2 u2, #2 u3";
    assert_eq!((refused.to_string(), refused.hint()), (words.to_owned(), Some(Hint::SayTurn)));
    let stopped = running(Phase::Interrupting, None);
    assert_eq!(interrupted(&at("a4"), &[stopped.clone(), v()]), Ok("v".into()), "the other has stopped");
    assert_eq!(interrupted(&at("a2/t"), &[stopped]), Err(Refusal::NothingRuns));
}

#[test]
fn who_is_refused_hears_why() {
    let waiting = running(Phase::Running, Some(WaitingFor::Permission));
    let kind = WaitingFor::Permission;
    let expected = Refusal::Waiting { turn: "t".into(), prompt: "u2".into(), kind };
    assert_eq!(check_in(TREE, waiting, Action::MoveHead), Err(expected));
    let expected = Refusal::Connecting { turn: "t".into(), prompt: "u2".into() };
    assert_eq!(check_in(TREE, running(Phase::Connecting, None), Action::Change), Err(expected));
}

/// R-090: a blank edit is refused.
#[test]
fn blank_and_unchanged_text_is_refused_before_anything_else() {
    let at: EntryId = "u2".into();
    assert_eq!(check(Action::Send { words: " \n", place: Place::Here }), Err(Refusal::Blank));
    assert_eq!(check(Action::Edit { at: &at, words: "", place: Place::Here }), Err(Refusal::Blank));
    assert_eq!(
        check(Action::Edit { at: &at, words: "u2", place: Place::Here }),
        Err(Refusal::SameText { version: 1 })
    );
    assert_eq!(Refusal::SameText { version: 1 }.hint(), None);
}

#[test]
fn without_an_agent_nothing_is_sent() {
    let (tree, head) = (tree_of(TREE), HeadName::main());
    let with = |agent| {
        let state = SessionState { tree: &tree, head: &head, turns: &[], pending: &[], agent };
        may(Action::Send { words: "x", place: Place::Here }, &state)
    };
    assert_eq!(with(AgentState::Missing), Err(Refusal::NoAgent));
    assert_eq!(with(AgentState::Broken), Err(Refusal::AgentBroken));
}

/// A message waits for its hook. Its prompt will stand below `below`; the star is the head.
fn beside_pending(drawing: &str, landing: Landing, action: Action<'_>) -> Result<Allowed, Refusal> {
    let (tree, head) = (tree_of(drawing), HeadName::main());
    let pending = [PendingTurn::accept("p".into(), landing).asking_hooks()];
    let agent = AgentState::Reachable;
    may(action, &SessionState { tree: &tree, head: &head, turns: &[], pending: &pending, agent })
}

const PENDING: &str = "u1 - a1 - u2 - a2*\n     a1 - u3 - a3";

/// R-122.
#[test]
fn the_path_to_a_message_without_a_prompt_is_not_changed() {
    let landing = || Landing::Below(Some("a2".into()));
    let busy = || Err(Refusal::Preparing { turn: "p".into(), below: Some("a2".into()) });
    let (own, above, other): (EntryId, EntryId, EntryId) = ("u2".into(), "u1".into(), "u3".into());
    for at in [&own, &above] {
        assert_eq!(beside_pending(PENDING, landing(), Action::Version { at }), busy());
        assert_eq!(beside_pending(PENDING, landing(), Action::Retry { at, place: Place::Here }), busy());
        assert_eq!(beside_pending(PENDING, landing(), Action::Retry { at, place: Place::Beside }), NOW);
    }
    assert_eq!(beside_pending(PENDING, landing(), Action::Version { at: &other }), NOW);
    assert_eq!(beside_pending(PENDING, landing(), Action::MoveHead), busy());
    assert_eq!(beside_pending(PENDING, landing(), Action::Change), busy());
    assert_eq!(beside_pending(PENDING, landing(), Action::Append { below: None }), busy());
    assert_eq!(beside_pending(PENDING, landing(), Action::Look), NOW);
    let refusal = beside_pending(PENDING, landing(), Action::MoveHead).unwrap_err();
    assert_eq!((refusal.hint(), refusal.turn()), (Some(Hint::AbortFirst), Some(&"p".into())));
    let send = |place| Action::Send { words: "more", place };
    let behind = Ok(Allowed::Queued { behind: "p".into() });
    assert_eq!(beside_pending(PENDING, landing(), send(Place::Here)), behind);
    assert_eq!(beside_pending(PENDING, landing(), send(Place::Beside)), NOW);
}

/// R-122: a version lands above the head, so the head is free; a prompt that is about to be answered is as busy as one that
/// is being answered; the first message of a session holds its beginning.
#[test]
fn what_is_busy_follows_from_where_a_message_lands() {
    let version = Landing::version(&tree_of(PENDING), &"u2".into());
    assert_eq!(version, Landing::Version { of: "u2".into(), below: Some("a1".into()) });
    assert_eq!(beside_pending(PENDING, version.clone(), Action::MoveHead), NOW);
    let (one, two): (EntryId, EntryId) = ("u1".into(), "u2".into());
    assert!(beside_pending(PENDING, version.clone(), Action::Version { at: &one }).is_err());
    assert_eq!(beside_pending(PENDING, version, Action::Version { at: &two }), NOW);
    let unanswered = "u1 - a1 - u2/t*";
    let connecting = Err(Refusal::Connecting { turn: "p".into(), prompt: "u2".into() });
    assert_eq!(beside_pending(unanswered, Landing::Answer("u2".into()), Action::MoveHead), connecting);
    let send = Action::Send { words: "more", place: Place::Here };
    let behind = Ok(Allowed::Queued { behind: "p".into() });
    assert_eq!(beside_pending("", Landing::Below(None), send), behind);
    assert_eq!(beside_pending(PENDING, Landing::Below(None), send), NOW);
}

/// R-122: a message lands where it was sent or not at all.
#[test]
fn a_message_whose_place_is_gone_does_not_land() {
    let tree = tree_of(PENDING);
    for landing in [
        Landing::Below(None),
        Landing::Below(Some("a2".into())),
        Landing::version(&tree, &"u3".into()),
        Landing::Answer("u2".into()),
    ] {
        assert_eq!(landing.check(&tree), Ok(()));
    }
    assert_eq!(Landing::Below(Some("a2".into())).number(&tree), 3);
    let gone = Landing::Below(Some("a9".into())).check(&tree).unwrap_err();
    let words = "entry `a9` was undone before the message could be added below it; the message was not sent";
    assert_eq!((gone.to_string().as_str(), gone), (words, LandingGone::Below("a9".into())));
}

/// R-122: a message without a prompt can be interrupted like a turn.
#[test]
fn a_message_without_a_prompt_can_be_interrupted() {
    let (tree, head) = (tree_of(PENDING), HeadName::main());
    let here = PendingTurn::accept("p".into(), Landing::Below(Some("a2".into())));
    let there = PendingTurn::accept("q".into(), Landing::Below(Some("a3".into())));
    let meant = |pending: &[PendingTurn]| {
        let agent = AgentState::Reachable;
        turn_to_interrupt(&SessionState { tree: &tree, head: &head, turns: &[], pending, agent })
    };
    assert_eq!(meant(std::slice::from_ref(&there)), Ok("q".into()), "the only one");
    assert_eq!(meant(&[there.clone(), here]), Ok("p".into()), "the one of the head");
    let elsewhere = PendingTurn::accept("r".into(), Landing::Below(Some("a1".into())));
    let places = vec!["#3 below a3".to_owned(), "#2 below a1".to_owned()];
    assert_eq!(meant(&[there, elsewhere]), Err(Refusal::SeveralRun { places }));
}
