//! Bytes as lines of JSON. Every byte belongs to exactly one line, whatever it is.

use offshoot_session::{RawLine, Watch};
use serde_json::Value;

use crate::json::Map;

pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    pub(crate) raw: RawLine,
    pub(crate) content: Content,
    /// Some bytes are not UTF-8; the content shows them as `�`.
    pub(crate) is_lossy: bool,
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
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (raw, behind) = rest.split_at(end);
        rest = behind;
        number += 1;
        if let Some(watch) = watch {
            watch.passed(raw.len());
        }
        Some(Line::new(number, RawLine::new(raw)))
    })
}

impl Line {
    pub(crate) fn new(number: u64, raw: RawLine) -> Self {
        let is_torn = !raw.is_complete();
        let (content, is_lossy) = parse(raw.content(), is_torn);
        Self { number, raw, content, is_lossy }
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
