//! Agents that the agent has started. Each is a tree of its own below a note, as those of imported sessions are.

use serde_json::{Map, Value};

use super::Turn;
use super::message::Speech;
use crate::agent::Speaker;
use crate::{Body, Entry, EntryId, Fact, Note, Record, Stamps, ToolCallId, ToolUse, TurnId};

/// A call of a tool, and the reply in which it stands.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) entry: EntryId,
    pub(super) tool_use: ToolUse,
}

impl Turn {
    /// The call that started the sub-agent whose turn this is; `None` for the turn itself and for any other.
    pub fn sub_agent_of_turn(&self, turn: &TurnId) -> Option<&ToolCallId> {
        self.sub_agents().find(|(_, speech)| speech.turn == *turn).map(|(call, _)| call)
    }

    /// The call that started the sub-agent that is writing this entry.
    pub fn sub_agent_writing(&self, entry: &EntryId) -> Option<&ToolCallId> {
        self.sub_agents()
            .find(|(_, speech)| speech.growing.as_ref().is_some_and(|growing| growing.entry == *entry))
            .map(|(call, _)| call)
    }

    fn sub_agents(&self) -> impl Iterator<Item = (&ToolCallId, &Speech)> {
        self.speeches.iter().filter_map(|(speaker, speech)| match speaker {
            Speaker::Agent => None,
            Speaker::SubAgent(call) => Some((call, speech)),
        })
    }

    /// The first that is heard of a sub-agent: its note, and its task where the call says it.
    pub(super) fn begin_sub_agent(
        &mut self,
        speaker: &Speaker,
        stamps: &mut dyn Stamps,
    ) -> Option<Vec<Record>> {
        let Speaker::SubAgent(call_id) = speaker else { return None };
        if self.speeches.contains_key(speaker) {
            return None;
        }
        let turn = stamps.turn_id();
        let call = self.calls.get(call_id);
        let input =
            |key: &str| call.and_then(|call| call.tool_use.input.get(key)?.as_str()).map(str::to_owned);
        let told = [
            ("call", Some(call_id.to_string())),
            ("entry", call.map(|call| call.entry.to_string())),
            ("kind", input("subagent_type")),
            ("description", input("description")),
        ];
        let data: Map<String, Value> = told
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), Value::String(value?))))
            .collect();
        let note = Body::Note(Note { kind: Note::SUB_AGENT.to_owned(), data: Some(Value::Object(data)) });
        let task = input("prompt").filter(|task| !task.trim().is_empty()).map(Body::prompt);
        let mut tip: Option<EntryId> = None;
        let mut records = Vec::new();
        for body in [Some(note), task].into_iter().flatten() {
            let id = stamps.entry_id();
            records.push(Record::entry(Entry {
                id: id.clone(),
                parent: tip.replace(id),
                written_at: stamps.now(),
                turn: Some(turn.clone()),
                body,
            }));
        }
        if let Some(tip) = tip {
            self.live.begin(turn.clone(), tip);
        }
        self.speeches.insert(speaker.clone(), Speech { turn, growing: None });
        Some(records)
    }

    /// Whatever it was saying is final, and it says no more. Nothing where it never spoke.
    pub(super) fn end_sub_agent(&mut self, speaker: &Speaker, stamps: &mut dyn Stamps) -> Vec<Record> {
        if *speaker == Speaker::Agent || !self.speeches.contains_key(speaker) {
            return Vec::new();
        }
        let mut records = self.settle(speaker, stamps);
        if let Some(speech) = self.speeches.get(speaker)
            && self.live.is_live(&speech.turn)
        {
            self.live.finish(&speech.turn);
            records.push(Record::marked(stamps.now(), Fact::TurnEnded { turn: speech.turn.clone() }));
        }
        records
    }
}
