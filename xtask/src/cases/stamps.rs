//! Stamps for cases: ids are given by the script, time steps by one second.

use jiff::{SignedDuration, Timestamp};
use offshoot_session::{EntryId, OperationId, Record, SessionHeader, SessionId, Stamps, TurnId};

#[derive(Debug)]
pub(crate) struct GivenIds {
    now: Timestamp,
    made: u32,
    next: Option<EntryId>,
}

impl Default for GivenIds {
    fn default() -> Self {
        let start = Timestamp::from_second(1_735_689_600).unwrap_or(Timestamp::UNIX_EPOCH);
        Self { now: start, made: 0, next: None }
    }
}

impl GivenIds {
    /// The entry made next has this id.
    pub(crate) fn next_entry(&mut self, id: &str) {
        self.next = Some(id.into());
    }

    pub(crate) fn header(&mut self, id: &str) -> Record {
        let opened_at = self.now();
        Record::opened(SessionHeader::new(id.into(), opened_at))
    }

    fn count(&mut self) -> u32 {
        self.made += 1;
        self.made
    }
}

impl Stamps for GivenIds {
    fn now(&mut self) -> Timestamp {
        let now = self.now;
        self.now += SignedDuration::from_secs(1);
        now
    }

    fn entry_id(&mut self) -> EntryId {
        match self.next.take() {
            Some(id) => id,
            None => format!("made{}", self.count()).into(),
        }
    }

    fn turn_id(&mut self) -> TurnId {
        format!("turn{}", self.count()).into()
    }

    fn operation_id(&mut self) -> OperationId {
        format!("op{}", self.count()).into()
    }

    fn session_id(&mut self) -> SessionId {
        format!("session{}", self.count()).into()
    }

    fn uuid(&mut self) -> String {
        format!("{:08x}-0000-4000-8000-000000000000", self.count())
    }
}
