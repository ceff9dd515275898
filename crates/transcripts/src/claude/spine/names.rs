//! A UUID as the program writes it, in sixteen bytes. There are two in every line, so eight digits are taken at once.

use std::num::NonZeroU128;

use offshoot_session::EntryId;

use super::Unusual;

/// The id of a line.
pub(in super::super) type Packed = NonZeroU128;

/// The same byte eight times.
const EACH: u64 = 0x0101_0101_0101_0101;

pub(in super::super) fn packed(id: &EntryId) -> Result<Packed, Unusual> {
    let text = format!("{id}\"");
    uuid_at(text.as_bytes()).ok_or(Unusual)
}

/// A UUID in small letters that a quotation mark ends.
pub(super) fn uuid_at(text: &[u8]) -> Option<Packed> {
    let (first, rest) = text.split_first_chunk::<8>()?;
    let (second, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let (third, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let (fourth, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let (fifth, rest) = rest.strip_prefix(b"-")?.split_first_chunk::<4>()?;
    let (last, rest) = rest.split_first_chunk::<8>()?;
    if rest.first() != Some(&b'"') {
        return None;
    }
    let both = |one: &[u8; 4], other: &[u8; 4]| {
        u64::from(u32::from_be_bytes(*one)) << 32 | u64::from(u32::from_be_bytes(*other))
    };
    let digits = [
        eight(u64::from_be_bytes(*first))?,
        eight(both(second, third))?,
        eight(both(fourth, fifth))?,
        eight(u64::from_be_bytes(*last))?,
    ];
    NonZeroU128::new(digits.into_iter().fold(0, |packed, eight| packed << 32 | u128::from(eight)))
}

/// Eight hexadecimal digits in small letters, the first one in the highest byte.
fn eight(text: u64) -> Option<u32> {
    // letters have this bit, and their last four bits count from one
    let is_letter = text >> 6 & EACH;
    let values = (text & (0x0f * EACH)) + 9 * is_letter;
    let is_high = (values + 0x76 * EACH) >> 7 & EACH; // ten and more
    let is_too_high = (values + 0x70 * EACH) & (0x80 * EACH); // sixteen and more
    let written = values + 0x30 * EACH + 0x27 * is_high;
    if written != text || is_too_high != 0 {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    u32::try_from((fours | fours >> 16) & 0xffff_ffff).ok()
}

/// The id as the program writes it.
pub(in super::super) fn written(id: Packed) -> String {
    let hex = format!("{id:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_comes_back_as_it_was_written() {
        for uuid in ["01234567-89ab-cdef-0f1e-2d3c4b5a6978", "ffffffff-ffff-ffff-ffff-ffffffffffff"] {
            assert_eq!(packed(&EntryId::from(uuid)).map(written), Ok(uuid.to_owned()));
        }
    }

    #[test]
    fn of_all_bytes_only_small_hexadecimal_digits_are_taken() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                let mut text = *b"00000000";
                text[at] = byte;
                let value = char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
                assert_eq!(
                    eight(u64::from_be_bytes(text)),
                    value.map(|value| value << (28 - 4 * at)),
                    "{byte} at {at}"
                );
            }
        }
    }

    #[test]
    fn whatever_else_stands_there_is_no_uuid() {
        let good = *b"01234567-89ab-cdef-0f1e-2d3c4b5a6978\"";
        assert!(uuid_at(&good).is_some());
        for at in 0..good.len() {
            let mut bad = good;
            bad[at] = b'g';
            assert_eq!(uuid_at(&bad), None, "at {at}");
            assert_eq!(uuid_at(&good[..at]), None);
        }
        assert_eq!(uuid_at(b"00000000-0000-0000-0000-000000000000\""), None);
    }
}
