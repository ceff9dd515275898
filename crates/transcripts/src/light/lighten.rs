//! A line without the rests of its long texts.
//!
//! A text is only cut where the bytes that are left out say the same whoever reads them: they are UTF-8, and their
//! escapes are those that a program has to write and no others. So two texts that are left out are the same exactly if
//! their bytes are, and nothing has to be unescaped to tell.

use std::borrow::Cow;

use super::marks::{MARK_BYTES, MARK_LENGTH, Marks};
use crate::dialect::{Family, sure_family_of};

/// So much of a long text stays, and a rest shorter than this is not worth a mark.
const KEPT: usize = 96;

/// A line of JSON without the rests of its long texts, appended to `light`. Where that is not JSON the line was not
/// either, and has to be taken as it is: its flaw is told by its column.
pub fn lighten(line: &[u8], marks: Marks, light: &mut Vec<u8>) {
    each_piece(line, |piece| match piece {
        Piece::Kept(bytes) => light.extend_from_slice(bytes),
        Piece::Rest(rest) => light.extend_from_slice(&marks.of(rest)),
    });
}

/// The same for the first line of a file that has a name. A rollout without an id is named by it, so it stays whole
/// unless it is surely a line of Claude Code.
pub fn lighten_first(line: &[u8], marks: Marks, light: &mut Vec<u8>) {
    match sure_family_of(None, line) {
        Some(Family::Claude) => lighten(line, marks, light),
        _ => light.extend_from_slice(line),
    }
}

pub(super) enum Piece<'l> {
    Kept(&'l [u8]),
    Rest(&'l [u8]),
}

/// The line in order.
pub(super) fn each_piece<'l>(line: &'l [u8], mut take: impl FnMut(Piece<'l>)) {
    let (mut kept_from, mut at) = (0, 0);
    let mut key: &[u8] = b"";
    while let Some(open) = line.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let start = at + open + 1;
        let Some(behind) = line.get(start..) else { break };
        let Some(Text { bytes: text, is_plain }) = Text::at(behind) else { break };
        at = start + text.len() + 1;
        let behind = line.get(at..).unwrap_or_default();
        if is_colon_next(behind) {
            key = text;
        } else if is_plain
            && text.len() >= 2 * KEPT
            && is_said(key)
            && let Some((from, to)) = rest_of(text)
        {
            take(Piece::Kept(line.get(kept_from..start + from).unwrap_or_default()));
            take(Piece::Rest(text.get(from..to).unwrap_or_default()));
            kept_from = start + to;
        }
    }
    take(Piece::Kept(line.get(kept_from..).unwrap_or_default()));
}

fn is_colon_next(behind: &[u8]) -> bool {
    behind.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Under these names stands what somebody said or a tool gave back. Anything else may be an id or a title.
fn is_said(key: &[u8]) -> bool {
    matches!(
        key,
        b"aggregated_output"
            | b"base64"
            | b"code"
            | b"command"
            | b"content"
            | b"data"
            | b"diff"
            | b"encrypted_content"
            | b"file_text"
            | b"formatted_output"
            | b"image_url"
            | b"input"
            | b"message"
            | b"newString"
            | b"new_str"
            | b"new_string"
            | b"oldString"
            | b"old_str"
            | b"old_string"
            | b"originalFile"
            | b"output"
            | b"patch"
            | b"prompt"
            | b"result"
            | b"signature"
            | b"stderr"
            | b"stdout"
            | b"text"
            | b"thinking"
            | b"unified_diff"
            | b"value"
    )
}

/// The inside of a text.
struct Text<'l> {
    bytes: &'l [u8],
    /// It has only escapes that a program has to write.
    is_plain: bool,
}

impl<'l> Text<'l> {
    /// Up to the quotation mark that ends it; `None` where it does not end.
    fn at(line: &'l [u8]) -> Option<Self> {
        let (mut at, mut is_plain) = (0, true);
        loop {
            at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
            match line.get(at..)? {
                [b'\\', b'n' | b'"' | b'\\' | b't' | b'r' | b'b' | b'f', ..] => at += 2,
                [b'\\', b'u', digits @ ..] => {
                    is_plain &= is_needed(digits.get(..4)?);
                    at += 2;
                }
                [b'\\', ..] => {
                    is_plain = false;
                    at += 2;
                }
                _ => return Some(Self { bytes: line.get(..at)?, is_plain }),
            }
        }
    }
}

/// Whether there is no other way to write this character: those below a blank that have no letter of their own.
fn is_needed(digits: &[u8]) -> bool {
    match digits {
        [b'0', b'0', b'0', b'8' | b'9' | b'a' | b'c' | b'd'] => false,
        [b'0', b'0', b'0' | b'1', b'0'..=b'9' | b'a'..=b'f'] => true,
        _ => false,
    }
}

/// The part of a long text that its mark stands for: from a whole character behind the beginning to the blanks at the
/// end.
fn rest_of(text: &[u8]) -> Option<(usize, usize)> {
    if matches!(first_letter(text)?, b'<' | b'[' | b'{') {
        return None;
    }
    let (from, to) = (first_cut(text)?, end_without_blanks(text));
    let rest = text.get(from..to).filter(|rest| rest.len() > MARK_LENGTH + KEPT)?;
    let said = std::str::from_utf8(rest).ok()?;
    let ends_plainly = match rest {
        [before @ .., b'f'] if is_escaping(before) => false,
        [before @ .., b'0', b'0', b'0' | b'1', _] if before.ends_with(b"\\u") => false,
        _ => said.chars().next_back().is_some_and(|last| !last.is_whitespace()),
    };
    // One that begins shortly before the cut would lose its end.
    let around = text.get(from.saturating_sub(LONGEST_LOOKED_FOR)..to)?;
    let has = |needle: &[u8]| memchr::memmem::find(around, needle).is_some();
    let is_looked_into = || has(MARK_BYTES) || LOOKED_FOR.iter().any(|needle| has(needle));
    // Without an early end the compiler looks at many bytes at once.
    let has_raw_controls = || rest.iter().fold(false, |found, byte| found | (*byte < 0x20));
    (ends_plainly && !has_raw_controls() && !is_looked_into()).then_some((from, to))
}

/// What readers look for in the midst of a text.
const LOOKED_FOR: [&[u8]; 2] = [b"Exit code: ", b"Process exited with code "];
/// With the number behind it.
const LONGEST_LOOKED_FOR: usize = 48;

pub(super) fn unescaped(rest: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(rest).ok()?;
    if memchr::memchr(b'\\', rest).is_some() {
        return serde_json::from_str(&format!("\"{text}\"")).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(text))
}

/// The first byte that is no blank; `None` where the beginning that stays has none.
fn first_letter(text: &[u8]) -> Option<u8> {
    let mut rest = text.get(..KEPT)?;
    loop {
        rest = match rest {
            [b' ', rest @ ..] => rest,
            [b'\\', b'n' | b'r' | b't', rest @ ..] => rest,
            [b'\\', ..] | [] => return None,
            [first, ..] => return first.is_ascii().then_some(*first),
        };
    }
}

/// Behind so many characters; an escape is one.
fn first_cut(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for _ in 0..KEPT {
        at += match text.get(at..)? {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => 1,
        };
        while text.get(at).is_some_and(|byte| (0x80..0xc0).contains(byte)) {
            at += 1;
        }
    }
    Some(at).filter(|at| *at < text.len())
}

fn end_without_blanks(text: &[u8]) -> usize {
    let mut end = text.len();
    loop {
        end = match text.get(..end).unwrap_or_default() {
            [.., b' '] => end - 1,
            [before @ .., b'n' | b'r' | b't'] if is_escaping(before) => end - 2,
            _ => return end,
        };
    }
}

/// Whether what follows is escaped: an odd number of backslashes.
fn is_escaping(before: &[u8]) -> bool {
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}
