//! Time from the clock, ids from chance.
//!
//! Ids are told apart by their first letters, so they begin with chance and not with time: an entry has 12 hex
//! digits, a session is a UUID. `OFFSHOOT_FIXED_STAMPS` makes them count from a given number instead, for tests
//! that compare what is printed.

use jiff::{SignedDuration, Timestamp};
use offshoot_api::StampCounter;
use offshoot_session::{EntryId, OperationId, SessionId, Stamps, TurnId};

#[derive(Debug)]
pub(crate) enum SystemStamps {
    Real,
    Fixed(StampCounter),
}

const FIXED: &str = "OFFSHOOT_FIXED_STAMPS";

/// Where this process was told to count from.
pub(crate) fn fixed_start() -> Option<StampCounter> {
    let start: u64 = std::env::var(FIXED).ok()?.parse().ok()?;
    Some(start.into())
}

/// The start of 2025.
const FIXED_START: i64 = 1_735_689_600;

impl SystemStamps {
    pub(crate) fn new() -> Self {
        Self::counting(fixed_start())
    }

    /// From this counter, where there is one.
    pub(crate) fn counting(counter: Option<StampCounter>) -> Self {
        counter.map_or(Self::Real, Self::Fixed)
    }

    fn bits(&mut self) -> u128 {
        match self {
            Self::Real => {
                let mut bytes = [0; 16];
                // Without chance there are still time and place; ids are checked against those that are taken.
                if getrandom::fill(&mut bytes).is_err() {
                    let now = Timestamp::now().as_nanosecond().unsigned_abs();
                    return now.rotate_left(64) ^ u128::from(std::process::id());
                }
                u128::from_le_bytes(bytes)
            }
            Self::Fixed(counter) => {
                // Spread, so that ids differ in their first letters as they do in life.
                u128::from(counter.advance()).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            }
        }
    }

    /// With a letter among its first six, so that neither it nor its short form is taken for a turn number.
    fn short(&mut self) -> String {
        loop {
            let id = format!("{:012x}", self.bits() >> 80);
            if id.bytes().take(6).any(|byte| byte.is_ascii_alphabetic()) {
                return id;
            }
        }
    }
}

impl Stamps for SystemStamps {
    fn now(&mut self) -> Timestamp {
        match self {
            Self::Real => Timestamp::now(),
            Self::Fixed(counter) => {
                let start = Timestamp::from_second(FIXED_START).unwrap_or(Timestamp::UNIX_EPOCH);
                start + SignedDuration::from_secs(i64::try_from(counter.current()).unwrap_or_default())
            }
        }
    }

    fn entry_id(&mut self) -> EntryId {
        self.short().into()
    }

    fn turn_id(&mut self) -> TurnId {
        self.short().into()
    }

    fn operation_id(&mut self) -> OperationId {
        self.short().into()
    }

    fn session_id(&mut self) -> SessionId {
        let bits = self.bits();
        let hex = format!("{bits:032x}");
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
        format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32)).into()
    }
}
