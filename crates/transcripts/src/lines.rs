//! Bytes as lines of JSON. Every byte belongs to exactly one line, whatever it is.
//!
//! A program that is killed or raced may lose the newline between two lines (`…}{…`). A file that is read while it
//! grows has taken the first object by then, so the rule for every reader is: each object is a line of its own
//! ([`pieces`]), and lines are counted accordingly.

use memchr::memmem;
use offshoot_session::long_lines::skipped_length;
use offshoot_session::{RawLine, Watch};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::json::Map;

pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    pub(crate) raw: RawLine,
    pub(crate) content: Content,
    /// Some bytes are not UTF-8; the content shows them as `�`.
    pub(crate) is_lossy: bool,
    /// The newline behind it is lost: the next line begins where it ends.
    pub(crate) is_joined: bool,
}

pub(crate) enum Content {
    Blank,
    Object(Map),
    /// Not JSON or not an object, with the reason.
    Unreadable(String),
    /// The last line, which ends before it is JSON.
    Torn,
}

/// The bytes of a file, and who hears how far they are read.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'b> {
    pub bytes: &'b [u8],
    watch: Option<&'b Watch>,
}

impl<'b> Watched<'b> {
    pub fn by(watch: &'b Watch, bytes: &'b [u8]) -> Self {
        Self { bytes, watch: Some(watch) }
    }
}

impl<'b, B: AsRef<[u8]> + ?Sized> From<&'b B> for Watched<'b> {
    fn from(bytes: &'b B) -> Self {
        Self { bytes: bytes.as_ref(), watch: None }
    }
}

/// Whether a reading keeps the lines it was made from.
pub(crate) enum Sources {
    Kept,
    /// Every line but the first is told by this one, so that lines can still be counted.
    Counted(RawLine),
}

impl Sources {
    pub(crate) fn counted() -> Self {
        Self::Counted(RawLine::new(&b"\n"[..]))
    }

    /// A session without a name is called by its first line.
    pub(crate) fn of(&self, raw: RawLine, is_first: bool) -> RawLine {
        match self {
            Self::Counted(instead) if !is_first => instead.clone(),
            Self::Kept | Self::Counted(_) => raw,
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) fn lines<'b>(bytes: impl Into<Watched<'b>>) -> impl Iterator<Item = Line> {
    let Watched { bytes: mut rest, watch } = bytes.into();
    let mut number = 0;
    let mut line_end = 0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if line_end == 0 {
            line_end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        }
        let joined = rest.get(..line_end).and_then(joined_at);
        let (raw, behind) = rest.split_at(joined.unwrap_or(line_end));
        rest = behind;
        line_end -= raw.len();
        number += 1;
        if let Some(watch) = watch {
            watch.passed(raw.len());
        }
        Some(Line { is_joined: joined.is_some(), ..Line::new(number, RawLine::new(raw)) })
    })
}

/// The objects of a line whose newlines were lost, each with its offset; usually the line itself.
pub(crate) fn pieces(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let at = next?;
        let rest = line.get(at..)?;
        next = joined_at(rest).map(|length| at + length);
        Some((at, rest.get(..next.unwrap_or(line.len()) - at).unwrap_or_default()))
    })
}

/// Whether a newline was lost in this line.
pub fn is_joined(line: &[u8]) -> bool {
    joined_at(line).is_some()
}

/// Where the second object of a line begins. Outside of strings `}{` occurs nowhere else, and it is rare in strings, so
/// most lines are only searched for it.
fn joined_at(line: &[u8]) -> Option<usize> {
    memmem::find(line, b"}{")?;
    let text = json_text(line);
    let before = line.len() - line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start().len();
    let mut objects = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    objects.next()?.ok()?;
    let end = objects.byte_offset();
    (text.first() == Some(&b'{') && text.get(end) == Some(&b'{')).then_some(before + end)
}

impl Line {
    pub(crate) fn new(number: u64, raw: RawLine) -> Self {
        let is_torn = !raw.is_complete();
        let (content, is_lossy) = parse(raw.content(), is_torn);
        Self { number, raw, content, is_lossy, is_joined: false }
    }
}

/// The JSON text of a line, without its ending, blanks around it and a byte order mark.
pub(crate) fn json_text(content: &[u8]) -> &[u8] {
    content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content).trim_ascii()
}

/// The bytes of a line with another JSON text in the place of its own.
pub(crate) fn with_json_text(line: &RawLine, text: &str) -> Vec<u8> {
    let old = json_text(line.content());
    let content = line.content().strip_prefix(BYTE_ORDER_MARK).unwrap_or(line.content());
    let before = line.content().len() - content.trim_ascii_start().len();
    let (before, rest) = line.bytes().split_at(before);
    let behind = rest.get(old.len()..).unwrap_or_default();
    [before, text.as_bytes(), behind].concat()
}

fn parse(content: &[u8], is_torn: bool) -> (Content, bool) {
    let text = json_text(content);
    if text.is_empty() {
        return (Content::Blank, false);
    }
    if let Some(length) = skipped_length(text) {
        return (Content::Unreadable(format!("longer than 64 MiB ({length} bytes); skipped")), false);
    }
    let (parsed, is_lossy) = match std::str::from_utf8(text) {
        Ok(text) => (serde_json::from_str(text), false),
        Err(_) => (serde_json::from_str(&String::from_utf8_lossy(text)), true),
    };
    let content = match parsed {
        Ok(Value::Object(map)) => Content::Object(map),
        Ok(_) => Content::Unreadable("JSON, but not an object".to_owned()),
        Err(_) if is_torn => Content::Torn,
        Err(error) => Content::Unreadable(format!("not JSON at column {}", error.column())),
    };
    (content, is_lossy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line that was read: its bytes with `\n` as `$`, and `+` where its newline is lost.
    fn drawn(bytes: &str) -> Vec<String> {
        lines(bytes.as_bytes())
            .map(|line| {
                let text = String::from_utf8_lossy(line.raw.bytes()).replace('\n', "$");
                format!("{}{text}{}", line.number, if line.is_joined { "+" } else { "" })
            })
            .collect()
    }

    #[test]
    fn a_lost_newline_leaves_two_lines() {
        assert_eq!(drawn("{\"a\":1}{\"b\":2}\n{}\n"), ["1{\"a\":1}+", "2{\"b\":2}$", "3{}$"]);
        assert_eq!(drawn("{}{}{}"), ["1{}+", "2{}+", "3{}"]);
        assert_eq!(drawn("\u{feff} {}{}\n"), ["1\u{feff} {}+", "2{}$"]);
    }

    #[test]
    fn braces_in_strings_and_nested_objects_are_one_line() {
        for line in ["{\"a\":\"}{\"}$", "{\"a\":[{},{}]}$", "{} {}$", "[{}]{}$", "{\"a\":\"}{$", "}{}$"] {
            assert_eq!(drawn(&line.replace('$', "\n")), [format!("1{line}")]);
        }
    }

    #[test]
    fn what_follows_a_whole_object_may_be_torn() {
        assert_eq!(drawn("{}{\"a\":\n{}"), ["1{}+", "2{\"a\":$", "3{}"]);
    }

    #[test]
    fn pieces_are_the_lines_that_a_whole_reading_finds() {
        let line = "{\"a\":\"}{\"}{}{\"b\"";
        let found: Vec<(usize, &[u8])> = pieces(line.as_bytes()).collect();
        assert_eq!(found, [(0, &b"{\"a\":\"}{\"}"[..]), (10, b"{}"), (12, b"{\"b\"")]);
        assert_eq!(pieces(b"").collect::<Vec<_>>(), [(0, &b""[..])]);
    }
}
