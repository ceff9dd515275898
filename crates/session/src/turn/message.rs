//! What one speaker writes: text that grows, and entries that are final.
//!
//! Live text has an id of ours. A final reply of the same message replaces it: under that id where the agent has none of
//! its own. Everything else that is final is written at the tip of the turn at once, and the text that grows hangs below
//! it: agents report results of tools between the blocks of a message.

use super::sub_agents::Call;
use super::usage::spent;
use super::{Effect, Shown, Turn};
use crate::agent::{DeltaField, Speaker};
use crate::live::Delta;
use crate::{
    Block, Body, EntryId, MessageKey, Record, Reply, SessionTree, Stamps, Stop, ToolUse, TurnId, Usage,
};

/// What one speaker is writing.
#[derive(Clone, Debug)]
pub(super) struct Speech {
    pub(super) turn: TurnId,
    pub(super) growing: Option<Growing>,
}

/// A message of which no entry is final yet.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    message: MessageKey,
    part: u32,
    field: DeltaField,
    /// The id under which it is shown.
    pub(super) entry: EntryId,
}

/// Live text of a message.
pub(super) struct Growth {
    pub(super) message: MessageKey,
    pub(super) part: u32,
    pub(super) field: DeltaField,
    pub(super) text: String,
}

/// A final entry, by the agent's account.
pub(super) struct Written {
    pub(super) id: Option<EntryId>,
    pub(super) message: Option<MessageKey>,
    pub(super) body: Body,
}

impl Turn {
    /// Adds to a message. The first of a block shows the whole entry, the rest only what is added.
    pub(super) fn grow(&mut self, speaker: &Speaker, grown: Growth, stamps: &mut dyn Stamps) -> Vec<Effect> {
        let Growth { message, part, field, text } = grown;
        let mut effects = self.begin_speaker(speaker, stamps);
        if text.is_empty() || field == DeltaField::ToolInput {
            return effects;
        }
        effects.extend(self.settle_other_message(speaker, &message, stamps));
        let (turn, growing) = self.speech(speaker);
        // Text behind thinking is another block anyway.
        let is_next_block = growing.as_ref().is_some_and(|last| last.part != part && last.field == field);
        let delta = match (field, is_next_block) {
            (DeltaField::Text, false) => Delta::Words(&text),
            (DeltaField::Text, true) => Delta::Block(Block::Text(text.clone())),
            (DeltaField::Thinking, false) => Delta::Thinking(&text),
            (DeltaField::Thinking, true) => Delta::Block(Block::Thinking(text.clone())),
            (DeltaField::ToolInput, _) => return effects,
        };
        if self.live.extend(&turn, delta, stamps).is_err() {
            return effects;
        }
        let shown = match growing.filter(|_| !is_next_block).map(|growing| growing.entry) {
            Some(entry) => {
                self.set_growing(speaker, Some(Growing { message, part, field, entry: entry.clone() }));
                match field {
                    DeltaField::Thinking => Shown::Thinking { entry, text },
                    DeltaField::Text | DeltaField::ToolInput => Shown::Words { entry, text },
                }
            }
            None => {
                let Some(entry) = self.live.responses(&turn).pop() else { return effects };
                self.set_growing(speaker, Some(Growing { message, part, field, entry: entry.id.clone() }));
                Shown::Entry(Box::new(entry))
            }
        };
        effects.push(Effect::Show(shown));
        effects
    }

    /// A final entry. One that is in the tree already, by the agent's own id, is skipped.
    pub(super) fn write(
        &mut self,
        speaker: &Speaker,
        written: Written,
        tree: &SessionTree,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let Written { id, message, body } = written;
        let mut effects = self.begin_speaker(speaker, stamps);
        let is_reply = matches!(body, Body::Reply(_));
        if let Some(message) = message.as_ref().filter(|_| is_reply) {
            effects.extend(self.settle_other_message(speaker, message, stamps));
        }
        let (turn, growing) = self.speech(speaker);
        let confirms =
            is_reply && growing.as_ref().is_some_and(|growing| Some(&growing.message) == message.as_ref());
        if id.as_ref().is_some_and(|id| tree.is_id_taken(id)) {
            if let (true, Some(message)) = (confirms, message) {
                effects.extend(self.discard(speaker, &message));
            }
            return effects;
        }
        if !self.live.is_live(&turn) {
            return effects;
        }
        let body = self.completed(body);
        let usage = body.usage().copied();
        if let Body::Reply(reply) = &body
            && !reply.shows_something()
        {
            if let (true, Some(message)) = (confirms, message) {
                effects.extend(self.discard(speaker, &message));
            }
            effects.extend(self.count_without_entry(usage, stamps));
            return effects;
        }
        let model = match &body {
            Body::Reply(reply) => reply.model.clone(),
            _ => None,
        };
        let model = model.or_else(|| self.bound.model.clone());
        self.count(model.as_ref(), usage.as_ref());
        let calls: Vec<ToolUse> = match &body {
            Body::Reply(reply) => reply.tool_uses().cloned().collect(),
            _ => Vec::new(),
        };
        let records = if confirms {
            let (replaced, records) = self.confirm(speaker, id.clone(), body);
            effects.extend(replaced);
            records
        } else {
            self.live.write(&turn, id.clone(), body, stamps).into_iter().collect()
        };
        let Some(entry) = records.last().and_then(Record::as_entry).map(|entry| entry.id.clone()) else {
            return effects;
        };
        for tool_use in calls {
            self.calls.insert(tool_use.id.clone(), Call { entry: entry.clone(), tool_use });
        }
        self.remember_last(
            speaker,
            id.map(|id| id.to_string())
                .or_else(|| message.filter(|_| is_reply).map(|message| message.to_string())),
        );
        effects.push(Effect::Write(records));
        if !confirms {
            // It hangs below the new entry now.
            let moved = growing.and_then(|_| self.live.responses(&turn).pop());
            effects.extend(moved.map(|entry| Effect::Show(Shown::Entry(Box::new(entry)))));
        }
        effects
    }

    /// The message is complete. What no entry has confirmed is final now.
    pub(super) fn end_message(
        &mut self,
        speaker: &Speaker,
        message: &MessageKey,
        stop: Option<Stop>,
        usage: Option<Usage>,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let mut effects = self.begin_speaker(speaker, stamps);
        let (turn, growing) = self.speech(speaker);
        if growing.is_none_or(|growing| growing.message != *message) {
            effects.extend(self.count_without_entry(usage, stamps));
            return effects;
        }
        // The turn is live, or nothing would grow in it.
        let _ = self.live.amend(&turn, |reply| {
            reply.stop = stop.or(reply.stop.take());
            reply.usage = usage.or(reply.usage);
        });
        let records = self.settle(speaker, stamps);
        if records.iter().any(|record| record.as_entry().is_some()) {
            self.remember_last(speaker, Some(message.to_string()));
        }
        effects.extend(written(records));
        effects
    }

    /// What was shown of the message and is not confirmed is void.
    pub(super) fn discard(&mut self, speaker: &Speaker, message: &MessageKey) -> Vec<Effect> {
        let (turn, growing) = self.speech(speaker);
        if growing.is_none_or(|growing| growing.message != *message) {
            return Vec::new();
        }
        self.set_growing(speaker, None);
        let void = self.live.responses(&turn).pop();
        // The turn is live, or nothing would grow in it.
        let _ = self.live.discard(&turn);
        let Some(mut void) = void else { return Vec::new() };
        void.body = Body::Reply(Reply::default());
        vec![Effect::Show(Shown::Discarded(Box::new(void)))]
    }

    /// Text that grows in another message is final: its agent has begun this one.
    fn settle_other_message(
        &mut self,
        speaker: &Speaker,
        message: &MessageKey,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let (_, growing) = self.speech(speaker);
        match growing {
            Some(growing) if growing.message != *message => written(self.settle(speaker, stamps)),
            Some(_) | None => Vec::new(),
        }
    }

    /// The reply takes the place of the live text of its message.
    fn confirm(
        &mut self,
        speaker: &Speaker,
        id: Option<EntryId>,
        body: Body,
    ) -> (Option<Effect>, Vec<Record>) {
        let (turn, growing) = self.speech(speaker);
        self.set_growing(speaker, None);
        // The turn is live, or nothing would grow in it.
        let _ = self.live.replace_last(&turn, body);
        let replaced = id.zip(growing).map(|(entry, growing)| {
            let _ = self.live.name_last(&turn, entry.clone());
            Effect::Replace { live: growing.entry, entry }
        });
        (replaced, self.live.settle(&turn))
    }

    /// What the agent leaves out because we know it: the name of a tool, what a person has changed of its input, the model.
    fn completed(&mut self, mut body: Body) -> Body {
        match &mut body {
            Body::ToolResult(result) => {
                result.changed_input = self.changed_inputs.remove(&result.call).map(Box::new);
                if result.tool.is_empty() {
                    let call = self.calls.get(&result.call);
                    result.tool = call.map(|call| call.tool_use.name.clone()).unwrap_or_default();
                }
            }
            Body::Reply(reply) => reply.model = reply.model.take().or_else(|| self.bound.model.clone()),
            _ => {}
        }
        body
    }

    /// The last message by the agent's own name: a fork may begin there.
    fn remember_last(&mut self, speaker: &Speaker, name: Option<String>) {
        if *speaker == Speaker::Agent {
            self.bound.last_message = name.or_else(|| self.bound.last_message.take());
        }
    }

    pub(super) fn settle_all(&mut self, stamps: &mut dyn Stamps) -> Vec<Record> {
        let speakers: Vec<Speaker> = self.speeches.keys().cloned().collect();
        speakers.iter().flat_map(|speaker| self.settle(speaker, stamps)).collect()
    }

    /// The text that grows is final. A reply that shows nothing is no entry, but its usage counts.
    pub(super) fn settle(&mut self, speaker: &Speaker, stamps: &mut dyn Stamps) -> Vec<Record> {
        let (turn, _) = self.speech(speaker);
        self.set_growing(speaker, None);
        let mut records = Vec::new();
        if self.live.is_writing(&turn) {
            let reply = match self.live.responses(&turn).pop().map(|entry| entry.body) {
                Some(Body::Reply(reply)) => reply,
                _ => Reply::default(),
            };
            let model = reply.model.clone().or_else(|| self.bound.model.clone());
            self.count(model.as_ref(), reply.usage.as_ref());
            if reply.shows_something() {
                let _ = self.live.amend(&turn, |reply| reply.model = reply.model.take().or(model));
            } else {
                records.extend(reply.usage.map(|usage| spent(usage, model, stamps)));
                let _ = self.live.discard(&turn);
            }
        }
        records.extend(self.live.settle(&turn));
        records
    }

    pub(super) fn begin_speaker(&mut self, speaker: &Speaker, stamps: &mut dyn Stamps) -> Vec<Effect> {
        self.begin_sub_agent(speaker, stamps).into_iter().map(Effect::Write).collect()
    }

    pub(super) fn speech(&self, speaker: &Speaker) -> (TurnId, Option<Growing>) {
        match self.speeches.get(speaker) {
            Some(speech) => (speech.turn.clone(), speech.growing.clone()),
            None => (self.id.clone(), None),
        }
    }

    fn set_growing(&mut self, speaker: &Speaker, growing: Option<Growing>) {
        if let Some(speech) = self.speeches.get_mut(speaker) {
            speech.growing = growing;
        }
    }
}

pub(super) fn written(records: Vec<Record>) -> Vec<Effect> {
    if records.is_empty() { Vec::new() } else { vec![Effect::Write(records)] }
}
