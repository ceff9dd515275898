//! Events that wait until they are taken. Live text of one block is joined meanwhile, up to a limit; then the agent waits.
//!
//! An event weighs as much as the lines from which it was made, so that what waits is bounded in bytes. A block that the
//! protocol keeps back comes out with a later line; what was read until then is added to that event.

use std::collections::VecDeque;

use offshoot_session::agent::{AgentEventKind, FromAgent};

/// Lines of so many bytes may wait, and one more line.
const MOST_BYTES: usize = 64 * 1024 * 1024;
const MOST_EVENTS: usize = 64;

/// Fewer of the events that are lighter fill the channel to the receiver than would exceed [`MOST_BYTES`].
const HEAVY: usize = MOST_BYTES / crate::EVENTS_AHEAD;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Weighed>,
    /// The weight of all that wait.
    bytes: usize,
    /// Bytes of lines without an event so far.
    read: usize,
}

#[derive(Debug)]
struct Weighed {
    event: FromAgent,
    bytes: usize,
}

impl Outbox {
    /// A line of so many bytes was read. Its events follow.
    pub(super) fn read(&mut self, bytes: usize) {
        self.read += bytes;
    }

    pub(super) fn push(&mut self, event: FromAgent) {
        let bytes = std::mem::take(&mut self.read);
        self.bytes += bytes;
        let event = match self.waiting.back_mut() {
            Some(last) => match joined(&mut last.event, event) {
                Some(event) => event,
                None => {
                    last.bytes += bytes;
                    return;
                }
            },
            None => event,
        };
        self.waiting.push_back(Weighed { event, bytes });
    }

    pub(super) fn pop(&mut self) -> Option<FromAgent> {
        let Weighed { event, bytes } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the receiver has to have taken all others before it gets the next one.
    pub(super) fn is_next_heavy(&self) -> bool {
        self.waiting.front().is_some_and(|next| next.bytes > HEAVY)
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes < MOST_BYTES && self.waiting.len() < MOST_EVENTS
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Appends live text to that of the same block. `Some`: it is an event of its own.
fn joined(last: &mut FromAgent, event: FromAgent) -> Option<FromAgent> {
    let (FromAgent::Turn(before), FromAgent::Turn(after)) = (last, &event) else { return Some(event) };
    let is_same = before.turn == after.turn && before.speaker == after.speaker;
    match (&mut before.kind, &after.kind) {
        (
            AgentEventKind::Delta { message, part, field, text },
            AgentEventKind::Delta { message: of, part: number, field: what, text: more },
        ) if is_same && message == of && part == number && field == what => {
            text.push_str(more);
            None
        }
        _ => Some(event),
    }
}

#[cfg(test)]
mod tests {
    use offshoot_session::{Block, Body, Reply, TurnId};

    use super::*;

    fn text(message: &str, text: &str) -> FromAgent {
        FromAgent::turn(TurnId::from("t"), AgentEventKind::text(message, text))
    }

    fn entry(text: String) -> FromAgent {
        let body = Body::Reply(Reply { blocks: vec![Block::Text(text)], ..Reply::default() });
        FromAgent::turn(TurnId::from("t"), AgentEventKind::Entry { id: None, message: None, body })
    }

    #[test]
    fn live_text_of_one_block_is_joined() {
        let mut outbox = Outbox::default();
        let started = FromAgent::turn(TurnId::from("t"), AgentEventKind::STARTED);
        for event in [started.clone(), text("m", "a"), text("m", "b"), text("n", "c")] {
            outbox.read(10);
            outbox.push(event);
        }
        assert_eq!(outbox.bytes, 40);
        let events: Vec<FromAgent> = std::iter::from_fn(|| outbox.pop()).collect();
        assert_eq!(events, [started, text("m", "ab"), text("n", "c")]);
        assert_eq!(outbox.bytes, 0);
    }

    /// The output is not read.
    #[test]
    fn what_waits_is_bounded_in_bytes() {
        for (line, at_most) in [(1024 * 1024, MOST_BYTES), (MOST_BYTES - 1, 2 * MOST_BYTES)] {
            let mut outbox = Outbox::default();
            let mut waiting = 0;
            while outbox.has_room() {
                outbox.read(line);
                outbox.push(entry("x".to_owned()));
                waiting += line;
            }
            assert!(waiting <= at_most, "{waiting} bytes of lines of {line} wait");
            assert!(outbox.is_next_heavy());
        }
    }

    /// A block that is kept back comes out with the short line behind it.
    #[test]
    fn an_event_weighs_as_much_as_all_that_was_read_for_it() {
        let mut outbox = Outbox::default();
        outbox.read(MOST_BYTES);
        assert!(outbox.has_room(), "nothing waits, so nobody would make room");
        outbox.read(100);
        outbox.push(entry("x".to_owned()));
        assert!(!outbox.has_room());
        assert!(outbox.pop().is_some() && outbox.has_room());
    }
}
