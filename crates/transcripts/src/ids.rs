//! Names for entries that have none in their file: the same file always gives the same names.

use std::collections::HashSet;

use offshoot_session::EntryId;

/// Eight hex digits from some seed, never one that is taken. The name found is taken from then on.
pub(crate) fn fresh_id(seeds: &[&[u8]], taken: &mut HashSet<EntryId>) -> EntryId {
    fresh_id_where(seeds, |id| taken.insert(id.clone()))
}

/// The same; `take` tells whether an id was free.
pub(crate) fn fresh_id_where(seeds: &[&[u8]], mut take: impl FnMut(&EntryId) -> bool) -> EntryId {
    let mut hash = seeds.iter().fold(START, |hash, seed| absorb(absorb(hash, seed), &[0xff]));
    loop {
        let id = EntryId::from(format!("{:08x}", (hash ^ (hash >> 32)) as u32));
        if take(&id) {
            return id;
        }
        hash = absorb(hash, b"again");
    }
}

/// A UUID from some seed, of the version that leaves its bits to whoever makes it. The same seed gives the same one.
pub(crate) fn uuid_from(seeds: &[&[u8]]) -> String {
    let absorbed = |start: u64| seeds.iter().fold(start, |hash, seed| absorb(absorb(hash, seed), &[0xff]));
    let bits = u128::from(spread(absorbed(START))) << 64 | u128::from(spread(absorbed(!START)));
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

pub(crate) fn is_uuid(text: &str) -> bool {
    let mut groups = text.split('-');
    let lengths = [8, 4, 4, 4, 12];
    lengths.iter().all(|length| {
        groups
            .next()
            .is_some_and(|group| group.len() == *length && group.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }) && groups.next().is_none()
}

/// Seeds that differ in one letter shall differ everywhere.
fn spread(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

// FNV-1a: short, without a dependency, and only meant to spread.
const START: u64 = 0xcbf2_9ce4_8422_2325;

fn absorb(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
