//! Guards of a chat window with one session, and the text by which it tells a new session what was said.

use anyhow::{Context, Result, bail};
use offshoot_session::agent::AgentFailure;
use offshoot_session::guard::{
    Action, AgentState, Allowed, Place, RunningTurn, SessionState, may, turn_to_interrupt,
};
use offshoot_session::handoff::{AgentSwitch, branch_session, reconstruct, switch_agent};
use offshoot_session::status::words::{ChatWord, Talk};
use offshoot_session::status::{State, WaitingFor};
use offshoot_session::turn::{Effect, Phase, Turn};
use offshoot_session::{
    AgentSessionId, Block, Body, Entry, EntryId, Fact, HeadMove, HeadName, Interruption, Missing, Prompt,
    Provenance, Record, Reply, SessionTree, Stamps, ToolUse,
};
use serde_json::{Value, json};

use super::stamps::GivenIds;
use super::{Case, Kind, as_recorded, list, text};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        Kind {
            product: "agent-gui-plugin",
            kind: "guards",
            calls: "session::guard::may, session::turn::Turn, session::handoff::branch_session",
            run: guards,
            adjust: as_recorded,
        },
        Kind {
            product: "agent-gui-plugin",
            kind: "context-reconstruction",
            calls: "session::handoff::reconstruct",
            run: reconstruction,
            adjust: as_recorded,
        },
    ]
}

/// A session in the state that a case describes: one prompt, which is asked at the moment where something runs.
struct Scene {
    tree: SessionTree,
    stamps: GivenIds,
    state: State,
    talk: Talk,
    turns: Vec<RunningTurn>,
    agent: AgentState,
}

const PROMPT: &str = "prompt";
const TURN: &str = "turn";

fn guards(case: &Case) -> Result<Value> {
    let action = case.input.get("action").context("no action")?;
    let mut scene = Scene::of(case.input.get("state").context("no state")?, text(action, "current_text"))?;
    match text(action, "type") {
        "send" => scene.ask(Action::Send { words: text(action, "text"), place: Place::Here }),
        "edit" => {
            let at = EntryId::from(PROMPT);
            scene.ask(Action::Edit { at: &at, words: text(action, "text"), place: Place::Here })
        }
        "navigate" => scene.navigate(action),
        "abort" => scene.abort(),
        "turn_error" => Ok(scene.failed()),
        "switch_failed" => Ok(scene.failed()),
        other => bail!("unknown action `{other}`"),
    }
}

impl Scene {
    fn of(state: &Value, said: &str) -> Result<Self> {
        let (mut stamps, turn) = (GivenIds::default(), Some(TURN.into()));
        let mut records = vec![stamps.header("session")];
        let (id, written_at, body) = (EntryId::from(PROMPT), stamps.now(), Body::prompt(said));
        records.push(Record::entry(Entry { id: id.clone(), parent: None, written_at, turn, body }));
        let moved_at = stamps.now();
        records.push(Record::head_moved(HeadMove {
            head: HeadName::main(),
            moved_at,
            from: None,
            to: Some(id),
        }));
        let tree = SessionTree::default().extended(&records)?;

        let word = chat_word(text(state, "session_state"))?;
        let flag = |key: &str| state.get(key).and_then(Value::as_bool).unwrap_or_default();
        let waits_for = match (flag("pending_permission"), flag("pending_question")) {
            (true, _) => Some(WaitingFor::Permission),
            (false, true) => Some(WaitingFor::Question),
            (false, false) => None,
        };
        let phase = match (word, waits_for) {
            (ChatWord::Connecting, _) => Some(Phase::Connecting),
            (ChatWord::Processing, _) | (_, Some(_)) => Some(Phase::Running),
            (_, None) => None,
        };
        let agent = match word {
            ChatWord::Disconnected => AgentState::Missing,
            ChatWord::Error => AgentState::Broken,
            ChatWord::Connecting | ChatWord::Ready | ChatWord::Processing | ChatWord::WaitingForInput => {
                AgentState::Reachable
            }
        };
        let running = |phase| RunningTurn { turn: TURN.into(), prompt: PROMPT.into(), phase, waits_for };
        let talk = if word == ChatWord::WaitingForInput { Talk::Before } else { Talk::NotYet };
        let turns = phase.map(running).into_iter().collect();
        Ok(Self { tree, stamps, state: State::from(word), talk, turns, agent })
    }

    fn may(&self, action: Action<'_>) -> bool {
        let (tree, head, turns, agent) = (&self.tree, &HeadName::main(), &self.turns, self.agent);
        may(action, &SessionState { tree, head, turns, pending: &[], agent }) == Ok(Allowed::Now)
    }

    /// What begins a turn: it runs from the moment it may.
    fn ask(&self, action: Action<'_>) -> Result<Value> {
        if !self.may(action) {
            return Ok(json!({"allowed": false}));
        }
        let turn = Turn::begin("next".into(), PROMPT.into(), Provenance::Continued);
        Ok(json!({"allowed": true, "after": {"session_state": word(turn.state(), Talk::Running)}}))
    }

    fn navigate(&mut self, action: &Value) -> Result<Value> {
        let at = EntryId::from(PROMPT);
        if !self.may(Action::Version { at: &at }) {
            return Ok(json!({"allowed": false}));
        }
        let session = |key: &str| action.get(key).and_then(Value::as_str).map(AgentSessionId::from);
        if let Some(session) = session("leaf_session") {
            let provenance = Provenance::Continued;
            let (at, agent_session) = (at.clone(), Some(session));
            let (last_message, agent, missing) = (None, None, Missing::default());
            let fact = Fact::Bound {
                at,
                agent_session,
                provenance,
                last_message,
                agent,
                missing,
                inherited: false,
                model: None,
            };
            self.tree = self.tree.extended(&[Record::marked(self.stamps.now(), fact)])?;
        }
        let (at_hand, branch) = (session("active_session"), branch_session(&self.tree, Some(&at)));
        let (state, client) = match switch_agent(at_hand.as_ref(), branch.as_ref()) {
            AgentSwitch::Stay => (self.state, at_hand),
            AgentSwitch::Resume(session) => (State::Starting, Some(session)),
            AgentSwitch::LetGo => (self.state, None),
        };
        Ok(json!({"allowed": true, "after": {
            "session_state": word(state, self.talk),
            "session_id": branch.as_ref().map(AgentSessionId::as_str),
            "active_client": client.as_ref().map(AgentSessionId::as_str),
        }}))
    }

    fn abort(&mut self) -> Result<Value> {
        let (tree, head, turns, agent) = (&self.tree, &HeadName::main(), &self.turns, self.agent);
        if turn_to_interrupt(&SessionState { tree, head, turns, pending: &[], agent }).is_err() {
            return Ok(json!({"allowed": false}));
        }
        let mut turn = Turn::begin(TURN.into(), PROMPT.into(), Provenance::Continued);
        let tip = self.tree.main_head().cloned();
        turn.interrupt();
        let state = turn.state();
        // What is written comes when the agent has stopped.
        let effects = turn.give_up(AgentFailure::other("interrupted"), &mut self.stamps);
        let at_the_tip = effects.iter().any(|effect| match effect {
            Effect::Write(records) => records
                .iter()
                .filter_map(Record::as_entry)
                .any(|entry| entry.body == Body::Interrupted(Interruption::Wanted) && entry.parent == tip),
            _ => false,
        });
        let appended = at_the_tip.then_some("interrupted at cursor leaf");
        let after = json!({"session_state": word(state, Talk::Before), "appended": appended});
        Ok(json!({"allowed": true, "after": after}))
    }

    fn failed(&mut self) -> Value {
        let mut turn = Turn::begin(TURN.into(), PROMPT.into(), Provenance::Continued);
        turn.give_up(AgentFailure::other("failed"), &mut self.stamps);
        let session = branch_session(&self.tree, Some(&PROMPT.into()));
        json!({"allowed": true, "after": {
            "session_state": word(turn.state(), Talk::Before),
            "session_id": session.as_ref().map(AgentSessionId::as_str),
        }})
    }
}

fn chat_word(word: &str) -> Result<ChatWord> {
    Ok(match word {
        "Disconnected" => ChatWord::Disconnected,
        "Connecting" => ChatWord::Connecting,
        "Ready" => ChatWord::Ready,
        "Processing" => ChatWord::Processing,
        "WaitingForInput" => ChatWord::WaitingForInput,
        "Error" => ChatWord::Error,
        other => bail!("unknown state `{other}`"),
    })
}

fn word(state: State, talk: Talk) -> String {
    format!("{:?}", state.of_chat(talk))
}

fn reconstruction(case: &Case) -> Result<Value> {
    let mut stamps = GivenIds::default();
    let mut tree = SessionTree::default();
    let mut tip: Option<EntryId> = None;
    for message in list(&case.input, "messages") {
        let (id, written_at, turn) = (stamps.entry_id(), stamps.now(), None);
        let entry = Entry { id: id.clone(), parent: tip.replace(id), written_at, turn, body: body(message)? };
        tree = tree.extended(&[Record::entry(entry)])?;
    }
    let words = |value: &Value, key: &str| -> Vec<String> {
        list(value, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let told = reconstruct(&tree.path_to(tip.as_ref()), &words(&case.input, "original_attached_files"));
    let (mut contains, mut absent) = (words(&case.expected, "contains"), words(&case.expected, "absent"));
    contains.retain(|part| told.text.contains(part));
    absent.retain(|part| !told.text.contains(part));
    Ok(json!({"contains": contains, "absent": absent}))
}

fn body(message: &Value) -> Result<Body> {
    let said = Block::Text(text(message, "text").to_owned());
    let names = list(message, "attached").iter().filter_map(Value::as_str).map(str::to_owned);
    Ok(match text(message, "kind") {
        "user" => Body::Prompt(Prompt { blocks: vec![said], attachments: names.collect(), said_at: None }),
        "assistant" => {
            let calls = list(message, "tools").iter().map(|tool| {
                let input = tool.get("input").cloned().unwrap_or_default();
                Block::ToolUse(ToolUse { id: "call".into(), name: text(tool, "name").to_owned(), input })
            });
            Body::Reply(Reply { blocks: std::iter::once(said).chain(calls).collect(), ..Reply::default() })
        }
        "interrupted" => Body::Interrupted(Interruption::Wanted),
        other => bail!("unknown message `{other}`"),
    })
}
