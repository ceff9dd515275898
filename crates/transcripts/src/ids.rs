//! Names for entries that have none in their file: the same file always gives the same names.

use std::collections::HashSet;

use offshoot_session::EntryId;

/// Eight hex digits from some seed, never one that is taken. The name found is taken from then on.
pub(crate) fn fresh_id(seeds: &[&[u8]], taken: &mut HashSet<EntryId>) -> EntryId {
    let mut hash = seeds.iter().fold(START, |hash, seed| absorb(absorb(hash, seed), &[0xff]));
    loop {
        let id = EntryId::from(format!("{:08x}", (hash ^ (hash >> 32)) as u32));
        if taken.insert(id.clone()) {
            return id;
        }
        hash = absorb(hash, b"again");
    }
}

// FNV-1a: short, without a dependency, and only meant to spread.
const START: u64 = 0xcbf2_9ce4_8422_2325;

fn absorb(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
