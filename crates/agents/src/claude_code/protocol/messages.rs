//! The message that a speaker is writing.
//!
//! The CLI prints one line for each finished block, and stop reason and usage behind the last one. The last block is kept
//! back until they are known, so that its entry can carry them. A block is known not to be the last one when the next
//! one begins; a result of a tool that arrives earlier releases the call, and then `MessageEnded` alone carries them.

use offshoot_session::agent::{AgentEventKind, DeltaField};
use offshoot_session::{Body, EntryId, MessageKey, Reply, Stop, Usage};

#[derive(Debug, Default)]
pub(super) struct Writing {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    key: MessageKey,
    /// Its live text is streamed, so its end will be announced.
    is_streamed: bool,
    /// Live text was reported that no entry has confirmed.
    has_live: bool,
    held: Option<(EntryId, Reply)>,
    stop: Option<Stop>,
    usage: Option<Usage>,
    is_final: bool,
}

type Events = Vec<AgentEventKind>;

impl Writing {
    /// Whether a line of the stream is about this message. Older versions do not name it.
    pub(super) fn is_about(&self, message: Option<&str>) -> bool {
        match (&self.open, message) {
            (Some(open), Some(message)) => open.is_streamed && open.key.as_str() == message,
            (Some(open), None) => open.is_streamed,
            (None, _) => false,
        }
    }

    /// A stream begins. Whatever was open before it did not end, so its text is void.
    pub(super) fn begin(&mut self, key: MessageKey) -> Events {
        if self.open.as_ref().is_some_and(|open| open.key == key) {
            return Events::new();
        }
        let events = self.abandon();
        self.open = Some(Open::new(key, true));
        events
    }

    /// The next block begins, so the one before was not the last.
    pub(super) fn next_block(&mut self) -> Events {
        self.open.as_mut().and_then(|open| open.release(false)).into_iter().collect()
    }

    pub(super) fn delta(&mut self, part: u32, field: DeltaField, text: &str) -> Events {
        let Some(open) = &mut self.open else { return Events::new() };
        if text.is_empty() {
            return Events::new();
        }
        open.has_live = true;
        let (message, text) = (open.key.clone(), text.to_owned());
        vec![AgentEventKind::Delta { message, part, field, text }]
    }

    /// A finished block.
    pub(super) fn block(&mut self, key: MessageKey, id: EntryId, reply: Reply) -> Events {
        let mut events = if self.open.as_ref().is_some_and(|open| open.key == key) {
            self.next_block()
        } else {
            let events = self.abandon();
            self.open = Some(Open::new(key, false));
            events
        };
        if let Some(open) = &mut self.open {
            // Without a stream a line that has no stop reason has no final usage, and nothing more will be told.
            let waits = if open.is_streamed { !open.is_final } else { reply.stop.is_some() };
            open.held = Some((id, reply));
            if !waits {
                let is_last = open.is_streamed && open.is_final;
                events.extend(open.release(is_last));
            }
        }
        events
    }

    /// Stop reason and usage of a streamed message.
    pub(super) fn finished(&mut self, stop: Option<Stop>, usage: Option<Usage>) -> Events {
        let Some(open) = &mut self.open else { return Events::new() };
        open.stop = stop;
        open.usage = usage.filter(|usage| usage.context_tokens() != 0);
        open.is_final = true;
        open.release(true).into_iter().collect()
    }

    /// A streamed message is complete.
    pub(super) fn stopped(&mut self) -> Events {
        let Some(mut open) = self.open.take() else { return Events::new() };
        let mut events: Events = open.release(true).into_iter().collect();
        events.push(AgentEventKind::MessageEnded { message: open.key, stop: open.stop, usage: open.usage });
        events
    }

    /// The result of a tool arrives: its call has to be above it.
    pub(super) fn result(&mut self) -> Events {
        match &mut self.open {
            Some(open) if open.is_streamed => {
                let is_final = open.is_final;
                open.release(is_final).into_iter().collect()
            }
            Some(_) => self.stopped(),
            None => Events::new(),
        }
    }

    /// The message does not continue. Blocks that are finished stay; other live text is void.
    pub(super) fn abandon(&mut self) -> Events {
        let Some(open) = &mut self.open else { return Events::new() };
        let mut events: Events = open.release(true).into_iter().collect();
        if open.has_live {
            let message = open.key.clone();
            self.open = None;
            events.push(AgentEventKind::Discarded { message });
        } else {
            events.extend(self.stopped());
        }
        events
    }

    /// The process is gone: blocks that are finished stay, and the turn decides about live text.
    pub(super) fn cut(&mut self) -> Events {
        let Some(mut open) = self.open.take() else { return Events::new() };
        let mut events: Events = open.release(true).into_iter().collect();
        if !open.has_live {
            let (stop, usage) = (open.stop, open.usage);
            events.push(AgentEventKind::MessageEnded { message: open.key, stop, usage });
        }
        events
    }
}

impl Open {
    fn new(key: MessageKey, is_streamed: bool) -> Self {
        let (has_live, held, stop, usage, is_final) = (false, None, None, None, false);
        Self { key, is_streamed, has_live, held, stop, usage, is_final }
    }

    /// The entry that was kept back. Only the last one of a message carries its usage.
    fn release(&mut self, is_last: bool) -> Option<AgentEventKind> {
        let (id, mut reply) = self.held.take()?;
        self.has_live = false;
        if self.is_streamed {
            // They belong to one entry; `MessageEnded` has them only where no entry does.
            let stop = if is_last { self.stop.take() } else { None };
            reply.stop = stop.or(reply.stop);
            reply.usage = if is_last { self.usage.take() } else { None };
        } else if !is_last || reply.stop.is_none() {
            reply.usage = None;
        }
        let (id, message) = (Some(id), Some(self.key.clone()));
        Some(AgentEventKind::Entry { id, message, body: Body::Reply(reply) })
    }
}
