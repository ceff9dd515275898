//! The marks that stand in the place of what was left out.
//!
//! A conversation may hold what looks like a mark: somebody showed one, or talks about this file. So a mark says by a
//! key that nobody has seen that it was made here: a character, the digits of the text's hash, the digits of their
//! keyed hash, and the character again.

/// Of the private use area of Unicode: programs hardly write it.
pub(super) const MARK: char = '\u{f8ff}';
pub(super) const MARK_BYTES: &[u8] = "\u{f8ff}".as_bytes();
/// Of one hash.
const DIGITS: usize = 16;
const NAME: usize = 2 * DIGITS;
pub(super) const MARK_LENGTH: usize = 2 * MARK_BYTES.len() + NAME + DIGITS;

/// Makes marks, and knows its own again.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    key: u64,
}

impl Marks {
    /// The key should be another one for each file, and not to be guessed.
    pub fn keyed(key: u64) -> Self {
        Self { key }
    }

    pub(super) fn of(self, rest: &[u8]) -> [u8; MARK_LENGTH] {
        let mut name = [0; NAME];
        let hashes = [hash(rest, 0x9e37_79b9_7f4a_7c15), hash(rest, 0x2545_f491_4f6c_dd1d)];
        name.iter_mut().zip(hashes.into_iter().flat_map(digits)).for_each(|(to, from)| *to = from);
        let mut mark = [0; MARK_LENGTH];
        let inside = name.into_iter().chain(self.seal(&name));
        let bytes = MARK_BYTES.iter().copied().chain(inside).chain(MARK_BYTES.iter().copied());
        mark.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        mark
    }

    /// The mark at the beginning of a text.
    pub(super) fn first_in(self, text: &str) -> Option<&str> {
        let mark = text.get(..MARK_LENGTH)?;
        let inside = mark.strip_prefix(MARK)?.strip_suffix(MARK)?;
        let (name, seal) = inside.as_bytes().split_at_checked(NAME)?;
        self.seal(name).eq(seal.iter().copied()).then_some(mark)
    }

    fn seal(self, name: &[u8]) -> impl Iterator<Item = u8> {
        digits(hash(name, self.key))
    }
}

fn digits(number: u64) -> impl Iterator<Item = u8> {
    (0..DIGITS).map(move |at| hex(number >> (4 * at)))
}

fn hex(number: u64) -> u8 {
    let digit = (number & 15) as u8;
    if digit < 10 { b'0' + digit } else { b'a' + (digit - 10) }
}

fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut hash = seed ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    for word in words.iter().chain([&last]) {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 29;
    }
    hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53) ^ (hash >> 32)
}
