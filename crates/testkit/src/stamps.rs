//! Time that steps by one second from the start of 2025, and ids that count.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use offshoot_session::{EntryId, OperationId, SessionId, Stamps, TurnId};

#[derive(Clone, Debug)]
pub struct FixedStamps {
    now: Timestamp,
    made: u32,
}

impl Default for FixedStamps {
    fn default() -> Self {
        Self { now: Self::start(), made: 0 }
    }
}

impl FixedStamps {
    /// 2025-01-01T00:00:00Z
    pub fn start() -> Timestamp {
        Timestamp::from_second(1_735_689_600).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Continues behind what a drawn tree has used.
    pub fn after(seconds: i64) -> Self {
        Self { now: Self::start() + SignedDuration::from_secs(seconds), made: 0 }
    }

    fn next(&mut self) -> u32 {
        self.made += 1;
        self.made
    }
}

impl Stamps for FixedStamps {
    fn now(&mut self) -> Timestamp {
        let now = self.now;
        self.now += SignedDuration::from_secs(1);
        now
    }

    fn entry_id(&mut self) -> EntryId {
        format!("new{}", self.next()).into()
    }

    fn turn_id(&mut self) -> TurnId {
        format!("turn{}", self.next()).into()
    }

    fn operation_id(&mut self) -> OperationId {
        format!("op{}", self.next()).into()
    }

    fn session_id(&mut self) -> SessionId {
        format!("session{}", self.next()).into()
    }

    fn uuid(&mut self) -> String {
        format!("{:08x}-0000-4000-8000-000000000000", self.next())
    }
}

/// One clock and one row of ids for many, so that a test with several at work runs the same way each time.
#[derive(Clone, Debug, Default)]
pub struct SharedStamps(Arc<Mutex<FixedStamps>>);

impl SharedStamps {
    pub fn from(stamps: FixedStamps) -> Self {
        Self(Arc::new(Mutex::new(stamps)))
    }

    /// Taking one is a single step, so a thread that died here left nothing half done.
    fn take<T>(&self, one: impl FnOnce(&mut FixedStamps) -> T) -> T {
        one(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Stamps for SharedStamps {
    fn now(&mut self) -> Timestamp {
        self.take(Stamps::now)
    }

    fn entry_id(&mut self) -> EntryId {
        self.take(Stamps::entry_id)
    }

    fn turn_id(&mut self) -> TurnId {
        self.take(Stamps::turn_id)
    }

    fn operation_id(&mut self) -> OperationId {
        self.take(Stamps::operation_id)
    }

    fn session_id(&mut self) -> SessionId {
        self.take(Stamps::session_id)
    }

    fn uuid(&mut self) -> String {
        self.take(Stamps::uuid)
    }
}
