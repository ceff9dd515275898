//! Where a run of plain characters ends.

const PIECE: usize = 32;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The next quote, backslash or control character, eight bytes at a time.
#[inline]
pub(super) fn next_special(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let (words, end) = rest.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(from + at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    end.iter().position(is_special).map(|at| from + words.len() * 8 + at)
}

/// The same where there is likely none for long: what is said holds fewer of them than a line of JSON.
#[inline]
pub(super) fn distant_special(bytes: &[u8], from: usize) -> Option<usize> {
    let plain = plain_pieces(bytes.get(from..)?);
    next_special(bytes, from + plain)
}

/// How many bytes at the beginning are in pieces without anything special. Every byte of a piece is looked at, so
/// that the compiler looks at many with one instruction.
#[inline]
fn plain_pieces(bytes: &[u8]) -> usize {
    let (pieces, _) = bytes.as_chunks::<PIECE>();
    let is_plain = |piece: &&[u8; PIECE]| !piece.iter().fold(false, |found, byte| found | is_special(byte));
    pieces.iter().take_while(is_plain).count() * PIECE
}

#[inline]
fn is_special(byte: &u8) -> bool {
    (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\')
}

/// The high bit of every byte that is special; of those above the first one only perhaps. A quote is one above what a
/// control character is at most, once its second bit is turned.
#[inline]
pub(super) fn specials(word: u64) -> u64 {
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (quote_or_control | backslash) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_at_every_place() {
        for length in 0..80 {
            for at in 0..length {
                for byte in 0..=255_u8 {
                    let mut bytes = vec![b'a'; length];
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                    let expected = matches!(byte, b'"' | b'\\' | 0..0x20).then_some(at);
                    for next in [next_special, distant_special] {
                        assert_eq!(next(&bytes, 0), expected, "{byte} at {at} of {length}");
                        assert_eq!(next(&bytes, at), expected, "{byte} at {at} of {length}");
                        assert_eq!(next(&bytes, at + 1), None);
                    }
                }
            }
        }
    }
}
