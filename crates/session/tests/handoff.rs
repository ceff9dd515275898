//! How an agent comes to know a branch.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::agent::Abilities;
use offshoot_session::handoff::{
    AgentSwitch, ContinuedSession, Handoff, HandoffAgent, branch_provenance, branch_session,
    continued_session, has_own_session, model_in_use, plan_handoff, plan_handoff_below, reconstruct,
    switch_agent, unseen_entries,
};
use offshoot_session::plan::fork::{Fork, ForkPosition, ForkScope, fork_records};
use offshoot_session::plan::{plan_redo, plan_send, plan_undo};
use offshoot_session::{
    AgentSessionId, Block, Body, Entry, EntryId, Fact, HeadName, Interruption, Missing, Model, Prompt,
    Provenance, Record, Reply, SessionHeader, SessionTree, Setting, ToolUse,
};
use offshoot_testkit::{FixedStamps, drawn};
use serde_json::json;

fn resumes() -> Abilities {
    Abilities { many_turns: true, resume: true, interrupt: true, ..Abilities::default() }
}

fn forks() -> Abilities {
    Abilities { fork_at_message: true, ..resumes() }
}

fn rebuilds() -> Abilities {
    Abilities { rebuilt_transcript: true, ..resumes() }
}

fn forgets() -> Abilities {
    Abilities { resume: false, ..resumes() }
}

/// A drawn tree whose header names the agent, and bindings `entry:session:message`.
fn tree(drawing: &str, bindings: &str) -> SessionTree {
    let mut records = drawn(drawing);
    let header =
        SessionHeader { agent: Some("agent".into()), ..SessionHeader::new("s".into(), FixedStamps::start()) };
    records[0] = Record::opened(header);
    for binding in bindings.split_whitespace() {
        let mut parts = binding.split(':');
        let (at, session, message) = (parts.next().unwrap(), parts.next().unwrap(), parts.next());
        let fact = Fact::Bound {
            at: at.into(),
            agent_session: Some(session.into()),
            provenance: Provenance::Continued,
            last_message: message.map(str::to_owned),
            agent: None,
            missing: Missing::default(),
            inherited: false,
            model: None,
        };
        records.push(Record::marked(FixedStamps::start(), fact));
    }
    let (tree, oddities) = SessionTree::replay(records);
    assert!(oddities.is_empty(), "{oddities:?}");
    tree
}

fn agent<'a>(name: &'a str, abilities: &'a Abilities, live: Option<&'a AgentSessionId>) -> HandoffAgent<'a> {
    HandoffAgent { name, abilities, live, new_session: None }
}

fn way(tree: &SessionTree, prompt: &str, can: &Abilities) -> String {
    way_with(tree, prompt, "agent", can, None)
}

fn way_with(tree: &SessionTree, prompt: &str, name: &str, can: &Abilities, live: Option<&str>) -> String {
    let live: Option<AgentSessionId> = live.map(Into::into);
    match plan_handoff(tree, &prompt.into(), &agent(name, can, live.as_ref())) {
        Handoff::New { .. } => "begin".into(),
        Handoff::Continue { session, .. } => format!("continue {session}"),
        Handoff::Fork { from, at, .. } => {
            format!("fork {from} at {}", at.unwrap_or("the end".into()))
        }
        Handoff::Rebuild { .. } => "rebuild".into(),
        Handoff::Replay { .. } => "replay".into(),
        Handoff::Stateless => "stateless".into(),
    }
}

#[test]
fn where_nothing_was_said_there_is_nothing_to_hand_over() {
    assert_eq!(way(&tree("u1*", ""), "u1", &resumes()), "begin");
    assert_eq!(way(&tree("m1 - u1*", ""), "u1", &resumes()), "begin", "a setting is not said");
}

/// an agent is reused only for the branch whose session it has open, else it resumes or starts.
#[test]
fn the_branch_that_ends_where_the_agents_session_ends_is_continued() {
    let tree = tree("u1/t1 - a1/t1 - u2/t2*", "u1:s1:m1");
    assert_eq!(way(&tree, "u2", &resumes()), "continue s1");
    assert_eq!(way_with(&tree, "u2", "agent", &forgets(), None), "replay", "its process is gone");
    assert_eq!(way_with(&tree, "u2", "agent", &forgets(), Some("s1")), "continue s1");
    assert_eq!(way_with(&tree, "u2", "agent", &forgets(), Some("s2")), "replay");
}

#[test]
fn a_version_of_an_old_prompt_forks_where_the_agent_can() {
    let tree = tree("u1/t1 - a1/t1 - u2/t2 - a2/t2\n a1 - u3/t3*", "u1:s1:m1 u2:s1:m2");
    assert_eq!(way(&tree, "u3", &forks()), "fork s1 at m1");
    assert_eq!(way(&tree, "u3", &rebuilds()), "rebuild");
    assert_eq!(way(&tree, "u3", &resumes()), "replay");
}

#[test]
fn in_the_middle_of_a_turn_no_message_can_be_named() {
    let tree = tree("u1/t1 - c1/t1 - t1/t1 - a1/t1\n c1 - u2/t2*", "u1:s1:m1");
    assert_eq!(way(&tree, "u2", &forks()), "replay");
}

/// An agent whose entries have its own ids can be resumed at any of its messages, but not at a call without a result.
/// a rewind tells the agent the message it resumes after.
#[test]
fn an_agent_with_ids_of_its_own_is_forked_at_the_entry_above_the_prompt() {
    let names = Abilities { entry_ids: true, rebuilt_transcript: true, ..forks() };
    let asked = |drawing: &str, bindings: &str, prompt: &str| way(&tree(drawing, bindings), prompt, &names);
    let edited = "u1/t1 - a1/t1 - u2/t2 - a2/t2\n a1 - u3/t3*";
    assert_eq!(asked(edited, "u1:s1 u2:s1", "u3"), "fork s1 at a1");
    assert_eq!(asked("u1/t1 - a1/t1 - u2/t2*", "u1:s1", "u2"), "continue s1");
    let first = "u1/t1 - a1/t1\nu2/t2*";
    assert_eq!(asked(first, "u1:s1", "u2"), "begin", "nothing is above the first prompt");
    let in_a_turn = |above: &str| format!("u1/t1 - a1/t1 - c1/t1 - t1/t1 - a2/t1\n {above} - u2/t2*");
    assert_eq!(asked(&in_a_turn("t1"), "u1:s1", "u2"), "fork s1 at t1");
    assert_eq!(asked(&in_a_turn("c1"), "u1:s1", "u2"), "fork s1 at a1", "the call has no result there");
    assert_eq!(asked(&in_a_turn("a1"), "u1:s1", "u2"), "fork s1 at a1");
    // Across two forks: the branch is bound to the session of its deepest turn.
    let twice = "u1/t1 - a1/t1 - u2/t2 - a2/t2\n a1 - u3/t3 - a3/t3 - u4/t4 - a4/t4\n a3 - u5/t5*";
    assert_eq!(asked(twice, "u1:s1 u2:s1 u3:s2 u4:s2", "u5"), "fork s2 at a3");
    let mixed = "u1/t1 - a1/t1 - s1 - u2/t2*";
    assert_eq!(asked(mixed, "u1:s1", "u2"), "rebuild", "the agent has not seen the summary");
}

/// An agent that takes messages without answering them keeps its session, and is sent what was put in beside it.
#[test]
fn what_was_put_in_beside_an_agent_is_sent_before_the_prompt() {
    let injects = Abilities { entry_ids: true, inject: true, rebuilt_transcript: true, ..forks() };
    let asked = |drawing: &str, bindings: &str, prompt: &str| {
        let tree = tree(drawing, bindings);
        let at_hand = agent("agent", &injects, None);
        let handoff = plan_handoff(&tree, &prompt.into(), &at_hand);
        let unseen = unseen_entries(&tree, &prompt.into(), &at_hand, &handoff);
        let unseen: Vec<_> = unseen.iter().map(|entry| entry.id.as_str()).collect();
        (way(&tree, prompt, &injects), unseen.join(" "))
    };
    let told = |way: &str, unseen: &str| (way.to_owned(), unseen.to_owned());
    let appended = "u1/t1 - a1/t1 - u2 - a2 - m1 - s1 - u3/t3*";
    assert_eq!(asked(appended, "u1:s1", "u3"), told("continue s1", "u2 a2 s1"));
    let version = "u1/t1 - a1/t1 - u2 - u3/t3 - a3/t3\n u2 - u4/t4*";
    assert_eq!(asked(version, "u1:s1 u3:s1", "u4"), told("fork s1 at a1", "u2"));
    let before = "u1/t1 - a1/t1 - u2 - u3/t3 - a3/t3 - u4/t4*";
    assert_eq!(asked(before, "u1:s1 u3:s1", "u4"), told("continue s1", ""), "it was sent before u3");
    let whole = "u1/t1 - a1/t1 - u2/t2 - a2/t2 - u3/t3*";
    assert_eq!(asked(whole, "u1:s1", "u3"), told("rebuild", ""), "another agent answered u2");
    let with_call = "u1/t1 - a1/t1 - c1 - t1 - u3/t3*";
    assert_eq!(asked(with_call, "u1:s1", "u3"), told("rebuild", ""), "a call is no message");
    assert_eq!(asked("u1 - a1 - u2/t2*", "", "u2"), told("rebuild", ""), "it has no session");
    assert_eq!(asked("u1/t1 - a1/t1 - m1 - u2/t2*", "u1:s1", "u2"), told("continue s1", ""));
}

/// A prompt that no agent has taken, because its program was missing or it was aborted while it was connected, has no
/// binding. The next prompt had the whole branch rebuilt for it: the agent lost its own session, with its thinking and
/// the cache of its model.
#[test]
fn a_prompt_that_no_agent_has_taken_does_not_cost_the_session() {
    let injects = Abilities { entry_ids: true, inject: true, rebuilt_transcript: true, ..forks() };
    let asked = |drawing: &str, bindings: &str, prompt: &str| {
        let tree = tree(drawing, bindings);
        let at_hand = agent("agent", &injects, None);
        let handoff = plan_handoff(&tree, &prompt.into(), &at_hand);
        let unseen = unseen_entries(&tree, &prompt.into(), &at_hand, &handoff);
        let unseen: Vec<_> = unseen.iter().map(|entry| entry.id.as_str()).collect();
        (way(&tree, prompt, &injects), handoff.provenance(), unseen.join(" "))
    };
    let natively = |way: &str, by, unseen: &str| (way.to_owned(), by, unseen.to_owned());
    let (continued, forked) = (Provenance::Continued, Provenance::ForkedAtMessage);
    let one = "u1/t1 - a1/t1 - u2/t2 - u3/t3*";
    assert_eq!(asked(one, "u1:s1", "u3"), natively("continue s1", continued, "u2"));
    let aborted = "u1/t1 - a1/t1 - u2/t2 - i1/t2 - u3/t3 - i2/t3 - m1 - u4/t4*";
    assert_eq!(asked(aborted, "u1:s1", "u4"), natively("continue s1", continued, "u2 u3"));
    let version = "u1/t1 - a1/t1 - u2/t2 - u3/t3 - a3/t3\n u2 - u4/t4*";
    assert_eq!(asked(version, "u1:s1 u3:s1", "u4"), natively("fork s1 at a1", forked, "u2"));
    let later = "u1/t1 - a1/t1 - u2/t2 - u3/t3 - a3/t3 - u4/t4*";
    assert_eq!(
        asked(later, "u1:s1 u3:s1", "u4"),
        natively("continue s1", continued, ""),
        "it was sent before u3"
    );
    let first = "u1/t1 - i1/t1 - u2/t2*";
    assert_eq!(asked(first, "", "u2"), natively("begin", continued, "u1"));
    let answered = "u1/t1 - a1/t1 - u2/t2 - a2/t2 - u3/t3*";
    assert_eq!(asked(answered, "u1:s1", "u3").0, "rebuild", "somebody has answered u2");
}

#[test]
fn a_session_with_unseen_entries_behind_it_is_known_as_such() {
    let injects = Abilities { entry_ids: true, inject: true, ..forks() };
    let tree = tree("u1/t1 - a1/t1 - u2*", "u1:s1");
    let continued =
        |below: &str| continued_session(&tree, Some(&below.into()), &agent("agent", &injects, None));
    let expected = |has_unseen: bool| {
        Some(ContinuedSession { session: "s1".into(), last: Some("a1".into()), has_unseen })
    };
    assert_eq!((continued("a1"), continued("u2")), (expected(false), expected(true)));
}

/// Before a prompt is written it is known how the agent would come to it.
#[test]
fn a_place_without_a_prompt_has_the_method_of_a_prompt_there() {
    let names = Abilities { entry_ids: true, rebuilt_transcript: true, ..forks() };
    let tree = tree("u1/t1 - a1/t1 - u2/t2 - a2/t2 - u3/t3\n a1 - u4/t4\n a1 - s1 - u5/t5*", "u1:s1 u2:s1");
    let at_hand = agent("agent", &names, None);
    for (prompt, above, is_own) in
        [("u1", None, false), ("u3", Some("a2"), true), ("u4", Some("a1"), true), ("u5", Some("s1"), false)]
    {
        let above: Option<EntryId> = above.map(Into::into);
        let below = plan_handoff_below(&tree, above.as_ref(), &at_hand);
        assert_eq!(below, plan_handoff(&tree, &prompt.into(), &at_hand), "{prompt}");
        assert_eq!(has_own_session(&tree, above.as_ref(), &at_hand), is_own, "{prompt}");
    }
}

#[test]
fn what_the_agent_has_not_heard_has_to_be_told() {
    assert_eq!(way(&tree("u1/t1 - a1/t1 - s1 - u2/t2*", "u1:s1:m1"), "u2", &forks()), "replay");
    assert_eq!(way(&tree("u1/t1 - a1/t1 - m1 - u2/t2*", "u1:s1:m1"), "u2", &forks()), "continue s1");
    assert_eq!(way(&tree("u1/t1 - a1/t1 - u2 - a2 - u3/t3*", "u1:s1:m1"), "u3", &rebuilds()), "rebuild");
}

/// What was read from the file of another program belongs to no turn, and neither does what a script appends.
#[test]
fn what_was_appended_below_an_agents_own_file_has_to_be_told() {
    assert_eq!(way(&tree("u1 - a1 - u2/t2*", "a1:s1:m1"), "u2", &resumes()), "continue s1");
    assert_eq!(way(&tree("u1 - a1 - a2 - u2/t2*", "a1:s1:m1"), "u2", &resumes()), "replay");
    assert_eq!(way(&tree("u1/t1 - a1/t1 - a2 - u2/t2*", "u1:s1:m1"), "u2", &resumes()), "replay");
    assert_eq!(way(&tree("u1 - a1 - n1 - u2/t2*", "a1:s1:m1"), "u2", &resumes()), "continue s1");
}

#[test]
fn another_agent_has_heard_nothing() {
    let tree = tree("u1/t1 - a1/t1 - u2/t2*", "u1:s1:m1");
    assert_eq!(way_with(&tree, "u2", "other", &forks(), Some("s1")), "replay");
}

#[test]
fn an_agent_that_was_chosen_on_the_way_is_the_one_whose_session_it_is() {
    let mut tree = tree("u1/t1 - a1/t1*", "u1:s1:m1");
    let entry = |id: &str, parent: &str, turn: Option<&str>, body| {
        Record::entry(Entry {
            id: id.into(),
            parent: Some(parent.into()),
            written_at: FixedStamps::start(),
            turn: turn.map(Into::into),
            body,
        })
    };
    let fact = Fact::Bound {
        at: "u2".into(),
        agent_session: Some("s2".into()),
        provenance: Provenance::ReplayedContext,
        last_message: None,
        agent: None,
        missing: Missing::default(),
        inherited: false,
        model: None,
    };
    for record in [
        entry("x", "a1", None, Body::Setting(Setting::Agent("other".into()))),
        entry("u2", "x", Some("t2"), Body::prompt("u2")),
        entry("u3", "u2", Some("t3"), Body::prompt("u3")),
        Record::marked(FixedStamps::start(), fact),
    ] {
        tree.apply(&record).unwrap();
    }
    assert_eq!(way_with(&tree, "u3", "other", &resumes(), None), "continue s2");
    assert_eq!(way_with(&tree, "u3", "agent", &resumes(), None), "replay");
    assert_eq!(branch_provenance(&tree, Some(&"u2".into())), Some(Provenance::ReplayedContext));
}

/// The agent may have gone on in the session that this one came from.
#[test]
fn an_inherited_session_is_forked_and_never_continued() {
    let mut origin = tree("u1/t1 - a1/t1 - u2/t2 - c2/t2 - a2/t2*", "u1:s1:m1 u2:s1:m2");
    for turn in ["t1", "t2"] {
        let ended = Fact::TurnEnded { turn: turn.into() };
        origin.apply(&Record::marked(FixedStamps::start(), ended)).unwrap();
    }
    let asked_at = |at: &str, can: &Abilities| {
        let scope = ForkScope::Branch { at: Some(at.into()), position: ForkPosition::At };
        let copy = fork_records(&origin, &Fork { scope }, &mut FixedStamps::after(100)).unwrap();
        let (mut copy, oddities) = SessionTree::replay(copy.records);
        assert!(oddities.is_empty(), "{oddities:?}");
        let prompt = Entry {
            id: "u3".into(),
            parent: Some(at.into()),
            written_at: FixedStamps::start(),
            turn: Some("t3".into()),
            body: Body::prompt("u3"),
        };
        copy.apply(&Record::entry(prompt)).unwrap();
        way(&copy, "u3", can)
    };
    assert_eq!(asked_at("a1", &forks()), "fork s1 at m1");
    assert_eq!(asked_at("a2", &forks()), "fork s1 at m2", "also where the origin would be continued");
    assert_eq!(asked_at("a2", &resumes()), "replay");
    assert_eq!(
        asked_at("c2", &forks()),
        "replay",
        "in the middle of a turn the agent knows more than the copy"
    );
}

/// the agent session in view is that of the branch, or none.
/// the deepest turn on the path that has a session names the one of the branch, also if that session has
/// continued elsewhere: then it is forked or its context replayed, which is another question.
#[test]
fn the_session_of_a_branch_is_that_of_its_deepest_bound_turn() {
    let tree = tree("u1/t1 - a1/t1 - u2/t2 - a2/t2 - u4 - a4\n a1 - u3/t3*", "u1:s1:m1 u2:s2:m2");
    let at = |entry: &str| branch_session(&tree, Some(&entry.into())).map(|session| session.to_string());
    assert_eq!(at("a2").as_deref(), Some("s2"));
    assert_eq!(at("a4").as_deref(), Some("s2"), "a turn without a session changes nothing");
    assert_eq!(at("a1").as_deref(), Some("s1"));
    assert_eq!(at("u3").as_deref(), Some("s1"), "also before the first answer below it");
    assert_eq!(branch_session(&tree, None), None);
    assert_eq!(way(&tree, "u4", &resumes()), "continue s2");
    assert_eq!(way(&tree, "u3", &resumes()), "continue s1", "nothing else was said in it");
}

/// a session that has continued on another branch is named, and not continued.
#[test]
fn a_session_that_has_continued_elsewhere_is_named_and_not_continued() {
    let tree = tree("u1/t1 - a1/t1 - u2/t2 - a2/t2\n a1 - u3/t3*", "u1:s1:m1 u2:s1:m2");
    assert_eq!(branch_session(&tree, Some(&"u3".into())), Some("s1".into()));
    assert_eq!(way(&tree, "u3", &resumes()), "replay");
    assert_eq!(way(&tree, "u3", &forks()), "fork s1 at m1");
}

#[test]
fn a_move_of_the_head_brings_the_agent_of_the_branch() {
    let (one, two): (AgentSessionId, AgentSessionId) = ("one".into(), "two".into());
    assert_eq!(switch_agent(Some(&one), Some(&one)), AgentSwitch::Stay);
    assert_eq!(switch_agent(Some(&one), Some(&two)), AgentSwitch::Resume(two.clone()));
    assert_eq!(switch_agent(None, Some(&two)), AgentSwitch::Resume(two));
    assert_eq!(switch_agent(Some(&one), None), AgentSwitch::LetGo);
}

/// a reconstructed context names its limits, prompts, files, tools and interruptions.
/// it has the text of answers and the names of tools, not their results.
#[test]
fn a_branch_told_as_text_says_what_is_missing() {
    let call =
        ToolUse { id: "c".into(), name: "Edit".into(), input: json!({ "file_path": "a.rs", "old": "x" }) };
    let blocks = vec![Block::Thinking("hm".into()), Block::Text("I change it.".into()), Block::ToolUse(call)];
    let mut tree = tree("u0 - a0 - k1*", "");
    for (id, parent, body) in [
        (
            "u1",
            "k1",
            Body::Prompt(Prompt {
                blocks: vec![Block::Text("Change it".into())],
                attachments: vec!["plan.md".into(), "b.png".into()],
                said_at: None,
            }),
        ),
        ("a1", "u1", Body::Reply(Reply { blocks, ..Reply::default() })),
        ("i1", "a1", Body::Interrupted(Interruption::Wanted)),
    ] {
        let (written_at, turn) = (FixedStamps::start(), None);
        let entry = Entry { id: id.into(), parent: Some(parent.into()), written_at, turn, body };
        tree.apply(&Record::entry(entry)).unwrap();
    }
    let told = reconstruct(&tree.path_to(Some(&"i1".into())), &["old.csv".into()]);
    let said = told.text.split_once("branch point:\n\n").unwrap().1;
    let expected = "\
[Summary of the conversation so far]: k1
[User]: Change it
  (Attached files: plan.md, b.png)
[Assistant]: I change it.
  [Tool used: Edit]
    target: \"a.rs\"
[System: Response was interrupted]

Previously attached files: old.csv

Continue the conversation from here. The next message of the user follows.
";
    assert_eq!(said, expected);
    assert_eq!((told.missing.thoughts, told.missing.forgotten), (1, 1));
}

#[test]
fn behind_a_clearing_nothing_is_missing() {
    let drawing = "u1 - a1 - x - u2*";
    let mut records = drawn(drawing);
    for record in &mut records {
        if let offshoot_session::Change::Entry(entry) = &mut record.change
            && entry.id == "x".into()
        {
            *entry = std::sync::Arc::new(Entry { body: Body::Cleared, ..Entry::clone(entry) });
        }
    }
    let (tree, _) = SessionTree::replay(records);
    assert_eq!(way(&tree, "u2", &resumes()), "begin");
    assert_eq!(way(&tree, "u2", &rebuilds()), "begin");
    let fact = Fact::Bound {
        at: "u1".into(),
        agent_session: Some("s1".into()),
        provenance: Provenance::Continued,
        last_message: None,
        agent: None,
        missing: Missing::default(),
        inherited: false,
        model: None,
    };
    let bound = tree.extended(&[Record::marked(FixedStamps::start(), fact)]).unwrap();
    assert_eq!(branch_session(&bound, Some(&"a1".into())), Some("s1".into()));
    assert_eq!(branch_session(&bound, Some(&"u2".into())), None);
}

/// Where no agent is named, the binding says whose session it is; a later usual agent does not take it for its own.
#[test]
fn a_session_belongs_to_whom_it_was_bound() {
    let mut records = drawn("u1/t1 - a1/t1 - u2*");
    records[0] = Record::opened(SessionHeader::new("s".into(), FixedStamps::start()));
    let fact = Fact::Bound {
        at: "u1".into(),
        agent_session: Some("s1".into()),
        provenance: Provenance::Continued,
        last_message: None,
        agent: Some("agent".to_owned()),
        missing: Missing::default(),
        inherited: false,
        model: None,
    };
    records.push(Record::marked(FixedStamps::start(), fact));
    let (tree, _) = SessionTree::replay(records);
    assert_eq!(way_with(&tree, "u2", "agent", &resumes(), None), "continue s1");
    assert!(!way_with(&tree, "u2", "other", &resumes(), None).contains("s1"));
}

/// Two branches, the models of their last turns, and what the agent of another name used.
#[test]
fn the_model_of_a_branch_is_the_one_its_agent_named_last() {
    let (tree, _) = SessionTree::replay(drawn(
        "u1 - a1 - u2 - a2 - u3*
         a1 - u4",
    ));
    let bound = |at: &str, agent: &str, model: Option<&str>| {
        let fact = Fact::Bound {
            at: at.into(),
            agent_session: Some("s1".into()),
            provenance: Provenance::Continued,
            last_message: None,
            agent: Some(agent.to_owned()),
            missing: Missing::default(),
            inherited: false,
            model: model.map(|name| Model { provider: "anthropic".to_owned(), name: name.to_owned() }),
        };
        Record::marked(FixedStamps::start(), fact)
    };
    let bindings = [bound("u1", "agent", Some("opus[1m]")), bound("u2", "agent", Some("haiku"))];
    let tree = tree.extended(&bindings).unwrap();
    let tree = tree.extended(&[bound("u3", "agent", None), bound("u4", "other", Some("gpt"))]).unwrap();
    let model =
        |at: &str, agent: &str| model_in_use(&tree, Some(&at.into()), agent).map(|model| model.name.as_str());
    assert_eq!(model("u3", "agent"), Some("haiku"), "a binding without a model says nothing");
    assert_eq!(model("u4", "agent"), Some("opus[1m]"));
    assert_eq!(model("u3", "other"), None);
    assert_eq!(model_in_use(&tree, None, "agent"), None);
}

/// A turn is undone. Its agent has heard it all the same, so its session is not that of the branch any more until the turn
/// is done again.
#[test]
fn an_agent_remembers_what_was_undone() {
    let (mut tree, _) = SessionTree::replay(drawn("u1/t1 - a1/t1*"));
    let mut stamps = FixedStamps::after(100);
    let bound = |at: &EntryId| {
        let fact = Fact::Bound {
            at: at.clone(),
            agent_session: Some("s1".into()),
            provenance: Provenance::Continued,
            last_message: None,
            agent: Some("agent".to_owned()),
            missing: Missing::default(),
            inherited: false,
            model: None,
        };
        Record::marked(FixedStamps::start(), fact)
    };
    tree = tree.extended(&[bound(&"u1".into())]).unwrap();
    let before = tree.main_head().cloned();
    // How the next prompt would reach the agent.
    let next = |tree: &SessionTree| {
        let (parent, written_at) = (tree.main_head().cloned(), FixedStamps::start());
        let entry = Entry { id: "next".into(), parent, written_at, turn: None, body: Body::prompt("next") };
        way(&tree.extended(&[Record::entry(entry)]).unwrap(), "next", &resumes())
    };
    assert_eq!(next(&tree), "continue s1");
    let words = Prompt { blocks: vec![Block::Text("more".to_owned())], ..Prompt::default() };
    let sent = plan_send(&tree, &HeadName::main(), words, &mut stamps).unwrap();
    tree = tree.extended(&sent.plan.records).unwrap().extended(&[bound(&sent.prompt)]).unwrap();
    tree = tree.extended(&plan_undo(&tree, &mut stamps).unwrap()).unwrap();
    assert_eq!((tree.main_head(), next(&tree)), (before.as_ref(), "replay".to_owned()));
    tree = tree.extended(&plan_redo(&tree, &mut stamps).unwrap()).unwrap();
    assert_eq!(next(&tree), "continue s1");
}

/// A prompt with attachments; nothing else about it matters here.
fn attaching(id: &str, parent: &str, files: &[&str]) -> Record {
    let attachments = files.iter().map(|file| (*file).to_owned()).collect();
    let prompt = Prompt { blocks: vec![Block::Text(id.to_owned())], attachments, said_at: None };
    Record::entry(Entry {
        id: id.into(),
        parent: Some(parent.into()),
        written_at: FixedStamps::start(),
        turn: None,
        body: Body::Prompt(prompt),
    })
}

/// an edited prompt names the files of the version it replaces, whatever it attaches itself: the files of the new
/// version come with its own message. They were named instead of the old ones.
#[test]
fn a_new_version_names_the_files_of_the_old_one() {
    let told = |new: &[&str]| {
        let mut tree = tree("u1 - a1*", "");
        for record in [attaching("u2", "a1", &["old.csv", "b.png"]), attaching("u3", "a1", new)] {
            tree.apply(&record).unwrap();
        }
        let abilities = resumes();
        let at_hand = agent("agent", &abilities, None);
        match plan_handoff(&tree, &"u3".into(), &at_hand) {
            Handoff::Replay { text, .. } => text.text,
            other => panic!("{other:?}"),
        }
    };
    for new in [&["other.md"][..], &[], &["old.csv", "b.png"]] {
        let text = told(new);
        assert!(text.contains("\nPreviously attached files: old.csv, b.png\n"), "{new:?}: {text}");
        assert!(!text.contains("other.md"), "{text}");
    }
}

/// the first version replaces nothing.
#[test]
fn a_prompt_that_was_not_edited_names_no_earlier_files() {
    let mut tree = tree("u1 - a1*", "");
    tree.apply(&attaching("u2", "a1", &["new.md"])).unwrap();
    let abilities = resumes();
    let at_hand = agent("agent", &abilities, None);
    let handoff = plan_handoff(&tree, &"u2".into(), &at_hand);
    let Handoff::Replay { text: told, .. } = handoff else { panic!("{handoff:?}") };
    assert!(!told.text.contains("Previously attached"), "{}", told.text);
}
