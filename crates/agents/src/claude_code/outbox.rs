//! Events that wait until they are taken. Live text of one block is joined meanwhile, up to a limit; then the agent waits.

use std::collections::VecDeque;

use offshoot_session::agent::{AgentEvent, AgentEventKind, FromAgent};

const MOST_BYTES: usize = 1024 * 1024;
const MOST_EVENTS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<FromAgent>,
    /// Of live text that waits.
    bytes: usize,
}

impl Outbox {
    pub(super) fn push(&mut self, event: FromAgent) {
        self.bytes += live_text(&event).map_or(0, str::len);
        if let Some(event) = self.waiting.back_mut().map_or(Some(event.clone()), |last| joined(last, event)) {
            self.waiting.push_back(event);
        }
    }

    pub(super) fn pop(&mut self) -> Option<FromAgent> {
        let event = self.waiting.pop_front()?;
        self.bytes -= live_text(&event).map_or(0, str::len);
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes < MOST_BYTES && self.waiting.len() < MOST_EVENTS
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn live_text(event: &FromAgent) -> Option<&str> {
    match event {
        FromAgent::Turn(AgentEvent { kind: AgentEventKind::Delta { text, .. }, .. }) => Some(text),
        FromAgent::Turn(_) | FromAgent::Connection(_) => None,
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
    use offshoot_session::TurnId;

    use super::*;

    fn text(message: &str, text: &str) -> FromAgent {
        FromAgent::turn(TurnId::from("t"), AgentEventKind::text(message, text))
    }

    #[test]
    fn live_text_of_one_block_is_joined() {
        let mut outbox = Outbox::default();
        let started = FromAgent::turn(TurnId::from("t"), AgentEventKind::STARTED);
        for event in [started.clone(), text("m", "a"), text("m", "b"), text("n", "c")] {
            outbox.push(event);
        }
        let events: Vec<FromAgent> = std::iter::from_fn(|| outbox.pop()).collect();
        assert_eq!(events, [started, text("m", "ab"), text("n", "c")]);
        assert_eq!(outbox.bytes, 0);
        outbox.push(text("m", &"x".repeat(MOST_BYTES)));
        assert!(!outbox.has_room());
    }
}
