//! What a crash has left is given an end.

use offshoot_session::turn::{
    CaughtUp, CaughtUpEntry, CaughtUpTurns, TranscriptOf, Writer, plan_catch_up, unfinished_turns,
};
use offshoot_session::{Body, Entry, Fact, Interruption, Missing, Note, Provenance, Record, SessionTree};
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

fn plan_recovery(tree: &SessionTree, left: &[Entry]) -> Vec<Record> {
    offshoot_session::turn::plan_recovery(tree, left, &CaughtUpTurns::new())
}

fn shown_of_unfinished(tree: &SessionTree, left: &[Entry], writer: Writer) -> Vec<Record> {
    offshoot_session::turn::shown_of_unfinished(tree, left, &CaughtUpTurns::new(), writer)
}

#[test]
fn what_had_arrived_comes_back_and_is_marked_interrupted() {
    let tree = tree_of("u1/t1 - a1/t1*");
    let left = [draft("d", "t1", "half a sen")];
    let records = plan_recovery(&tree, &left);
    let tree = tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - d\"half a sen\" - t1-end*\n");
    assert_eq!(tree.entry(&"t1-end".into()).unwrap().body, Body::Interrupted(Interruption::Crash));
    assert!(tree.turn_ended(&"t1".into()));
    assert!(plan_recovery(&tree, &left).is_empty(), "once is enough");
}

/// While it is still being written it is seen and has no end.
#[test]
fn what_has_arrived_so_far_is_laid_below_the_turn() {
    let tree = tree_of("u1/t1 - a1/t1*");
    let left = [draft("d", "t1", "half a sen"), draft("lost", "t9", "nobody")];
    let records = shown_of_unfinished(&tree, &left, Writer::Alive);
    let tree = tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - d\"half a sen\"*\n");
    assert!(!tree.turn_ended(&"t1".into()));
}

#[test]
fn a_prompt_that_nobody_has_begun_to_answer_can_still_be_answered() {
    let mut tree = tree_of("u1/t1*");
    assert!(unfinished_turns(&tree, &[]).is_empty());
    tree.apply(&bound("u1", Some("built_in"), false)).unwrap();
    assert_eq!(unfinished_turns(&tree, &[]).len(), 1, "an agent had taken it up");
}

fn bound(at: &str, agent: Option<&str>, inherited: bool) -> Record {
    let fact = Fact::Bound {
        at: at.into(),
        agent_session: None,
        provenance: Provenance::Continued,
        last_message: None,
        agent: agent.map(str::to_owned),
        missing: Missing::default(),
        inherited,
        model: None,
    };
    Record::marked(FixedStamps::start(), fact)
}

/// Imported, copied, or read where another program keeps it: nobody of ours ran there, so nothing crashed there.
#[test]
fn what_was_answered_elsewhere_has_its_end_elsewhere() {
    let tree = tree_of("u1/t1 - a1/t1 - u2/t2 - a2/t2*");
    assert!(unfinished_turns(&tree, &[]).is_empty(), "imported");
    let copied = tree.extended(&[bound("u2", Some("built_in"), true)]).unwrap();
    assert!(unfinished_turns(&copied, &[]).is_empty(), "copied");
    let theirs = tree.extended(&[bound("u2", None, false)]).unwrap();
    assert!(unfinished_turns(&theirs, &[]).is_empty(), "theirs");
    let ours = tree.extended(&[bound("u2", Some("built_in"), false)]).unwrap();
    let found: Vec<String> =
        unfinished_turns(&ours, &[]).into_iter().map(|one| format!("{} {}", one.turn, one.tip)).collect();
    assert_eq!(found, ["t2 a2"]);
}

/// A sub-agent is a tree of its own, and ends with the turn that started it.
#[test]
fn a_sub_agent_of_a_turn_that_was_cut_off_is_ended_without_a_word_of_its_own() {
    let tree = tree_of("u1/t1 - a1/t1*");
    let data = serde_json::json!({ "call": "c1", "entry": "a1" });
    let note = Note { kind: Note::SUB_AGENT.to_owned(), data: Some(data) };
    let started = Entry { body: Body::Note(note), ..draft("n", "sub", "") };
    let said = Entry { parent: Some("n".into()), ..draft("s", "sub", "half") };
    let records = [Record::entry(started), Record::entry(said), bound("u1", Some("built_in"), false)];
    let tree = tree.extended(&records).unwrap();
    let ends = plan_recovery(&tree, &[]);
    let tree = tree.extended(&ends).unwrap();
    assert!(tree.turn_ended(&"t1".into()) && tree.turn_ended(&"sub".into()));
    let interrupted = tree.entries().filter(|entry| matches!(entry.body, Body::Interrupted(_)));
    assert_eq!(interrupted.count(), 1);
}

#[test]
fn several_turns_each_have_their_own_end() {
    let tree = tree_of("u1/t1 - a1/t1\nu2/t2 - a2/t2*");
    let left = [draft("d2", "t2", "two"), draft("d1", "t1", "one"), draft("lost", "t9", "nobody")];
    let records = plan_recovery(&tree, &left);
    let tree = tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - d1\"one\" - t1-end\nu2 - a2 - d2\"two\" - t2-end*\n");
}

/// Whoever looks and whoever writes later say the same, whatever the clock says.
#[test]
fn the_end_of_a_turn_follows_from_the_turn() {
    let tree = tree_of("u1/t1 - a1/t1*");
    let last = tree.entry(&"a1".into()).unwrap().written_at;
    let later = last + jiff::SignedDuration::from_secs(7);
    let left = [Entry { written_at: later, ..draft("d", "t1", "half a sen") }];
    let records = plan_recovery(&tree, &left);
    assert_eq!(records, shown_of_unfinished(&tree, &left, Writer::Gone));
    let tree = tree.extended(&records).unwrap();
    assert_eq!(tree.entry(&"t1-end".into()).unwrap().written_at, later);
}

#[test]
fn an_end_whose_id_is_taken_has_a_number() {
    let mut tree = tree_of("u1/t1 - a1/t1*");
    tree.apply(&Record::entry(Entry { turn: None, ..draft("t1-end", "", "mine") })).unwrap();
    let tree = tree.extended(&plan_recovery(&tree, &[draft("d", "t1", "half")])).unwrap();
    assert_eq!(tree.entry(&"t1-end-2".into()).unwrap().body, Body::Interrupted(Interruption::Crash));
}

fn caught_up(entries: &[(&str, Body)], is_complete: bool) -> CaughtUp {
    let written_at = FixedStamps::start() + jiff::SignedDuration::from_secs(60);
    let entry =
        |(id, body): &(&str, Body)| CaughtUpEntry { id: (*id).into(), written_at, body: body.clone() };
    CaughtUp { entries: entries.iter().map(entry).collect(), is_complete, is_running: false }
}

/// The agent finished its answer although nobody listened: its transcript has it.
#[test]
fn a_turn_whose_answer_is_complete_in_the_transcript_ends_as_done() {
    let tree = tree_of("u1/t1 - a1/t1*").extended(&[bound("u1", Some("claude-code"), false)]).unwrap();
    let left = [draft("d", "t1", "half a sen")];
    let transcript = caught_up(&[("a1", Body::reply("known")), ("a2", Body::reply("half a sentence"))], true);
    let turns = CaughtUpTurns::from([("t1".into(), transcript)]);
    let records = offshoot_session::turn::plan_recovery(&tree, &left, &turns);
    assert_eq!(records, offshoot_session::turn::shown_of_unfinished(&tree, &left, &turns, Writer::Gone));
    let tree = tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - a2\"half a sentence\"*\n");
    assert!(tree.turn_ended(&"t1".into()));
}

#[test]
fn an_answer_that_the_transcript_has_in_part_is_interrupted_behind_it() {
    let tree = tree_of("u1/t1*").extended(&[bound("u1", Some("claude-code"), false)]).unwrap();
    let turns = CaughtUpTurns::from([("t1".into(), caught_up(&[("a1", Body::reply("I look"))], false))]);
    let left = [draft("d", "t1", "something else")];
    let tree = tree.extended(&offshoot_session::turn::plan_recovery(&tree, &left, &turns)).unwrap();
    assert_eq!(draw(&tree), "u1 - a1\"I look\" - d\"something else\" - t1-end*\n");
}

#[test]
fn turns_that_were_held_in_the_agents_own_program_are_turns_of_the_branch() {
    let tree = tree_of("u1/t1 - a1/t1*");
    let bodies = [
        ("a1", Body::reply("known")),
        ("u2", Body::prompt("there")),
        ("a2", Body::reply("yes")),
        ("u3", Body::prompt("more")),
        ("a3", Body::reply("of course")),
    ];
    let (session, mut stamps) = ("s1".into(), FixedStamps::default());
    let of = TranscriptOf { agent: "claude-code", session: &session };
    let records = plan_catch_up(&tree, &"a1".into(), &caught_up(&bodies, true), of, &mut stamps);
    let tree = tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - u2\"there\" - a2\"yes\" - u3\"more\" - a3\"of course\"*\n");
    for prompt in ["u2", "u3"] {
        assert_eq!(tree.binding(&prompt.into()).unwrap().agent_session, Some("s1".into()));
        assert!(tree.turn_ended(tree.entry(&prompt.into()).unwrap().turn.as_ref().unwrap()));
    }
    let again = plan_catch_up(&tree, &"a3".into(), &caught_up(&bodies, true), of, &mut stamps);
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn a_turn_that_another_process_is_writing_has_no_end_yet() {
    let tree = tree_of("u1/t1*").extended(&[bound("u1", Some("claude-code"), false)]).unwrap();
    let transcript = CaughtUp { is_running: true, ..caught_up(&[("a1", Body::reply("I look"))], false) };
    let turns = CaughtUpTurns::from([("t1".into(), transcript)]);
    assert_eq!(offshoot_session::turn::plan_recovery(&tree, &[draft("d", "t1", "I")], &turns), []);
}

/// A task ended in the agent's own program, and the agent said so before the person asked for anything else.
#[test]
fn what_an_agent_said_by_itself_belongs_to_the_turn_above() {
    let tree = tree_of("u1/t1 - a1/t1*");
    let bodies =
        [("n1", Body::reply("It is done")), ("u2", Body::prompt("more")), ("a2", Body::reply("yes"))];
    let (session, mut stamps) = ("s1".into(), FixedStamps::default());
    let of = TranscriptOf { agent: "claude-code", session: &session };
    let records = plan_catch_up(&tree, &"a1".into(), &caught_up(&bodies, true), of, &mut stamps);
    let tree = tree.extended(&records).unwrap();
    assert_eq!(tree.entry(&"n1".into()).unwrap().turn, Some("t1".into()));
    assert_ne!(tree.entry(&"a2".into()).unwrap().turn, Some("t1".into()));
}
