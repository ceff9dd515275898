//! How a session begins, by which a copy that names no origin is known.
//!
//! Programs that fork without a word about it copy what was said with its times. One text alone may be a habit of the
//! person and a clock that stands still; two with their times are a copy.

use serde::{Deserialize, Serialize};

use super::{Role, Said};

const ENOUGH: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beginning {
    texts: u32,
    hash: u64,
}

impl Beginning {
    pub(super) fn hear(&mut self, said: &[Said]) {
        for one in said {
            let (false, Some(at)) = (self.texts >= ENOUGH, one.at) else { return };
            let role: u8 = match one.role {
                Role::User => 0,
                Role::Assistant => 1,
                Role::Tool | Role::Title => continue,
            };
            // programs tell milliseconds
            let moment = at.div_euclid(1_000).to_le_bytes();
            let bytes = moment.into_iter().chain([role]).chain(one.text.bytes());
            let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            self.hash = bytes.fold(self.hash ^ 0xcbf2_9ce4_8422_2325, add);
            self.texts += 1;
        }
    }

    pub(super) fn told(&self) -> Option<u64> {
        (self.texts == ENOUGH).then_some(self.hash)
    }
}
