//! What happens in a session, numbered, for whoever follows.
//!
//! The latest events are kept, so a follower that names the last event it saw misses nothing. A number is the epoch of the
//! engine process times 2^32 plus a count that only grows: a number from an earlier process, or from an earlier opening of
//! the session, is always smaller, and whoever comes with it is told to open the session again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream;
use jiff::Timestamp;
use offshoot_api::event::EventKind;
use offshoot_api::{ApiError, ErrorCode, Event, EventStream};
use offshoot_session::{SessionId, ToolCallId, TurnId};
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) struct Feed {
    session: SessionId,
    kept: VecDeque<Event>,
    /// How many are kept.
    room: usize,
    /// The number before the first event.
    start: u64,
    seq: u64,
    numbers: EventNumbers,
    followers: Vec<mpsc::Sender<Event>>,
}

/// The highest number that any session of this engine has given to an event.
#[derive(Clone, Debug)]
pub(crate) struct EventNumbers(Arc<AtomicU64>);

impl EventNumbers {
    pub(crate) fn of_epoch(epoch: u64) -> Self {
        Self(Arc::new(AtomicU64::new(epoch << 32)))
    }

    /// Whether they are those of an engine inside a command, which no other process sees.
    pub(crate) fn is_of_command(&self) -> bool {
        self.highest() >> 32 == 0
    }

    fn highest(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn given(&self, seq: u64) {
        self.0.fetch_max(seq, Ordering::Relaxed);
    }
}

/// Who an event is about: a turn, and the sub-agent within it.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) turn: Option<TurnId>,
    pub(crate) sub_agent: Option<ToolCallId>,
}

impl Feed {
    pub(crate) fn new(session: SessionId, numbers: &EventNumbers, room: usize) -> Self {
        let (start, numbers) = (numbers.highest(), numbers.clone());
        let (kept, followers) = (VecDeque::new(), Vec::new());
        Self { session, kept, room: room.max(1), start, seq: start, numbers, followers }
    }

    /// The number of the last event.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    pub(crate) fn is_followed(&self) -> bool {
        self.followers.iter().any(|follower| !follower.is_closed())
    }

    pub(crate) fn publish(&mut self, at: Timestamp, about: About, kind: EventKind) {
        self.seq += 1;
        self.numbers.given(self.seq);
        let event = Event {
            seq: self.seq,
            session: self.session.to_string(),
            turn: about.turn.map(|turn| turn.to_string()),
            sub_agent: about.sub_agent.map(|call| call.to_string()),
            at,
            kind,
        };
        // Who does not keep up is let go and told so: nobody else waits for it, and it can come back.
        self.followers.retain(|follower| follower.try_send(event.clone()).is_ok());
        if self.kept.len() >= self.room {
            self.kept.pop_front();
        }
        self.kept.push_back(event);
    }

    /// Events behind `after`; 0 is the beginning. What is asked for and no longer kept is `gone`.
    pub(crate) fn follow(&mut self, after: u64) -> Result<EventStream, ApiError> {
        let after = if after == 0 { self.start } else { after };
        let oldest = self.kept.front().map_or(self.seq, |event| event.seq - 1);
        if after < oldest || after > self.seq {
            return Err(gone());
        }
        let missed: VecDeque<Event> = self.kept.iter().filter(|event| event.seq > after).cloned().collect();
        let (sender, receiver) = mpsc::channel(self.room);
        self.followers.push(sender);
        Ok(Box::pin(stream::unfold(Some(Follower { missed, receiver }), next)))
    }
}

struct Follower {
    missed: VecDeque<Event>,
    receiver: mpsc::Receiver<Event>,
}

async fn next(follower: Option<Follower>) -> Option<(Result<Event, ApiError>, Option<Follower>)> {
    let mut follower = follower?;
    let event = match follower.missed.pop_front() {
        Some(event) => Some(event),
        None => follower.receiver.recv().await,
    };
    match event {
        Some(event) if matches!(event.kind, EventKind::Closed) => Some((Ok(event), None)),
        Some(event) => Some((Ok(event), Some(follower))),
        None => Some((Err(gone()), None)),
    }
}

fn gone() -> ApiError {
    ApiError::new(
        ErrorCode::Gone,
        "these events are no longer kept: open the session anew and follow from there",
    )
}
