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
    Real(RandomBits),
    Fixed(StampCounter),
}

/// Random bits, read from the system in blocks: an append of 10,000 lines needs as many ids.
#[derive(Debug, Default)]
pub(crate) struct RandomBits {
    block: Vec<u8>,
}

const FIXED: &str = "OFFSHOOT_FIXED_STAMPS";

/// Where this process was told to count from.
pub(crate) fn fixed_start() -> Option<StampCounter> {
    let start: u64 = std::env::var(FIXED).ok()?.parse().ok()?;
    Some(start.into())
}

/// The start of 2025.
const FIXED_START: i64 = 1_735_689_600;

impl RandomBits {
    /// A process often needs a few ids only, so the first block is small.
    const FIRST: usize = 64;
    const NEXT: usize = 4096;

    fn next(&mut self) -> u128 {
        if self.block.is_empty() {
            let size = if self.block.capacity() == 0 { Self::FIRST } else { Self::NEXT };
            self.block.resize(size, 0);
            if getrandom::fill(&mut self.block).is_err() {
                self.block.clear();
            }
        }
        let rest = self.block.len().saturating_sub(size_of::<u128>());
        let bytes = self.block.get(rest..).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        self.block.truncate(rest);
        // Without randomness there are still time and process; ids are checked against those that exist.
        bytes.map_or_else(
            || {
                Timestamp::now().as_nanosecond().unsigned_abs().rotate_left(64)
                    ^ u128::from(std::process::id())
            },
            u128::from_le_bytes,
        )
    }
}

impl SystemStamps {
    pub(crate) fn new() -> Self {
        Self::counting(fixed_start())
    }

    /// From this counter, where there is one.
    pub(crate) fn counting(counter: Option<StampCounter>) -> Self {
        counter.map_or_else(|| Self::Real(RandomBits::default()), Self::Fixed)
    }

    fn bits(&mut self) -> u128 {
        match self {
            Self::Real(random) => random.next(),
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
            Self::Real(_) => Timestamp::now(),
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
        self.uuid().into()
    }

    fn uuid(&mut self) -> String {
        let bits = self.bits();
        let hex = format!("{bits:032x}");
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
        format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
    }
}
