//! What a string with escapes says.

use super::special::specials;

/// Eight bytes are copied at a time, however few of them count: so much more room than text is needed.
pub(super) const SPARE: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unescaped {
    /// Of the text, with the closing quote.
    pub(super) taken: usize,
    /// Of the room.
    pub(super) written: usize,
}

/// Puts a string into the room, from anywhere behind its opening quote on. No escape is shorter than what it stands
/// for, so as much room as there is text, and [`SPARE`], is enough. `None`: it does not end, or not as JSON has it.
///
/// Bytes are looked at while they are copied. Where the next escape is cannot be foretold, and a wrong guess costs a
/// core more than eight bytes do; so there is one guess for each, and none about how long to copy.
pub(super) fn unescape(text: &[u8], room: &mut [u8]) -> Option<Unescaped> {
    let (mut taken, mut written) = (0, 0);
    loop {
        let rest = text.get(taken..)?;
        let bytes = rest.first_chunk::<8>().copied().unwrap_or_else(|| padded(rest));
        *room.get_mut(written..)?.first_chunk_mut::<8>()? = bytes;
        let found = specials(u64::from_le_bytes(bytes));
        if found == 0 {
            taken += 8;
            written += 8;
            continue;
        }
        let plain = found.trailing_zeros() as usize / 8;
        taken += plain;
        written += plain;
        match step(text.get(taken..)?, room.get_mut(written..)?)? {
            Step::End => return Some(Unescaped { taken: taken + 1, written }),
            Step::On(step) => {
                taken += step.taken;
                written += step.written;
            }
        }
    }
}

/// The last bytes, with control characters behind them, which are found where the text is not.
#[cold]
fn padded(rest: &[u8]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(rest).for_each(|(byte, last)| *byte = *last);
    bytes
}

enum Step {
    End,
    On(Unescaped),
}

/// One escape, or the quote at the end.
#[inline]
fn step(text: &[u8], room: &mut [u8]) -> Option<Step> {
    let [b'\\', letter, rest @ ..] = text else {
        return (text.first() == Some(&b'"')).then_some(Step::End); // control characters have to be escaped
    };
    if let Some(byte) = plain(*letter) {
        *room.first_mut()? = byte;
        return Some(Step::On(Unescaped { taken: 2, written: 1 }));
    }
    if *letter != b'u' {
        return None;
    }
    let first = hex(rest)?;
    if first < 0x80 {
        *room.first_mut()? = first as u8;
        return Some(Step::On(Unescaped { taken: 6, written: 1 }));
    }
    let (character, taken) = match first {
        0xd800..0xdc00 => (paired(first, rest.get(4..)?)?, 12),
        _ => (char::from_u32(first)?, 6),
    };
    let written = character.len_utf8();
    character.encode_utf8(room.get_mut(..written)?);
    Some(Step::On(Unescaped { taken, written }))
}

/// The character of a pair of surrogates, of which the second is yet to be read.
fn paired(first: u32, text: &[u8]) -> Option<char> {
    let second = hex(text.strip_prefix(b"\\u")?)?;
    let is_second = (0xdc00..0xe000).contains(&second);
    is_second.then(|| char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)))?
}

#[inline]
fn hex(text: &[u8]) -> Option<u32> {
    let mut number = 0;
    let mut worst = 0;
    for digit in text.first_chunk::<4>()? {
        let value = DIGITS[*digit as usize];
        worst |= value;
        number = number << 4 | u32::from(value);
    }
    (worst < 16).then_some(number)
}

/// What a letter behind a backslash stands for.
#[inline]
fn plain(letter: u8) -> Option<u8> {
    let byte = PLAIN[letter as usize];
    (byte != 0).then_some(byte)
}

const PLAIN: [u8; 256] = {
    let mut table = [0; 256];
    table[b'n' as usize] = b'\n';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b't' as usize] = b'\t';
    table[b'r' as usize] = b'\r';
    table[b'b' as usize] = 0x8;
    table[b'f' as usize] = 0xc;
    table
};

/// 16 and more are none.
const DIGITS: [u8; 256] = {
    let mut table = [0xf0; 256];
    let mut digit = 0;
    while digit < 16 {
        let letter = b"0123456789abcdef"[digit];
        table[letter as usize] = digit as u8;
        table[letter.to_ascii_uppercase() as usize] = digit as u8;
        digit += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[u8]) -> Option<(Vec<u8>, usize)> {
        let mut room = vec![0; text.len() + SPARE];
        let unescaped = unescape(text, &mut room)?;
        room.truncate(unescaped.written);
        Some((room, unescaped.taken))
    }

    /// Every escape, with every number of bytes before and behind it, so that it stands at every place of a word, within
    /// the last bytes too.
    #[test]
    fn every_escape_is_told_at_every_place() {
        let escapes: [(&str, &str); 12] = [
            ("\\n", "\n"),
            ("\\\"", "\""),
            ("\\\\", "\\"),
            ("\\/", "/"),
            ("\\t", "\t"),
            ("\\r", "\r"),
            ("\\b", "\u{8}"),
            ("\\f", "\u{c}"),
            ("\\u001b", "\u{1b}"),
            ("\\u00E9", "é"),
            ("\\u20aC", "€"),
            ("\\ud83d\\ude00", "😀"),
        ];
        for (escape, character) in escapes {
            for before in 0..20 {
                for behind in 0..20 {
                    let (before, behind) = ("a".repeat(before), "é".repeat(behind));
                    let text = format!("{before}{escape}{behind}{escape}\"");
                    let expected = format!("{before}{character}{behind}{character}");
                    let taken = text.len();
                    for beyond in ["", "\"", ",\"next\":1}", "\\"] {
                        let told = said(format!("{text}{beyond}").as_bytes());
                        assert_eq!(told, Some((expected.clone().into_bytes(), taken)), "{text}{beyond}");
                    }
                    assert_eq!(said(&text.as_bytes()[..taken - 1]), None, "{text} without an end");
                }
            }
        }
    }

    #[test]
    fn what_is_no_json_is_not_told() {
        let broken =
            ["\\x", "\\", "\\u", "\\u12", "\\u12g4", "\\ud83d", "\\ud83dx", "\\ud83d\\u0041", "\\ude00"];
        for text in broken.into_iter().chain(["\n", "\t", "\u{0}", "\u{1f}"]) {
            for before in 0..20 {
                let text = format!("{}{text}\"", "a".repeat(before));
                assert_eq!(said(text.as_bytes()), None, "{text}");
                assert_eq!(said(format!("{text} and more").as_bytes()), None, "{text}");
            }
        }
    }
}
