//! Files that are one JSON document: the whole of it, or its first keys where only its beginning is known.

use std::borrow::Cow;

use crate::json::Map;
use crate::lines::json_text;

/// The first object of the bytes: the whole document, or the first line of a file of lines. Costs no more than
/// that object, unless bytes are not UTF-8.
pub(crate) fn first(bytes: &[u8]) -> Option<Map> {
    let text = json_text(bytes);
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    values.next()?.ok().or_else(|| first_of_repaired(text))
}

/// A byte that is not UTF-8 does not make it another file.
fn first_of_repaired(text: &[u8]) -> Option<Map> {
    match String::from_utf8_lossy(text) {
        Cow::Owned(text) => serde_json::Deserializer::from_str(&text).into_iter().next()?.ok(),
        Cow::Borrowed(_) => None,
    }
}

/// The document that the bytes are, with nothing behind it.
pub(crate) fn whole(bytes: &[u8]) -> Option<Map> {
    let text = json_text(bytes);
    match std::str::from_utf8(text) {
        Ok(text) => serde_json::from_str(text).ok(),
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(text)).ok(),
    }
}

/// A document that breaks off, written over several lines: none of them is JSON by itself.
pub(crate) fn is_torn(bytes: &[u8]) -> bool {
    let text = json_text(bytes);
    let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    first_line.trim_ascii() == b"{" && first(bytes).is_none()
}

/// The outermost keys of a document that may break off anywhere.
pub(crate) fn keys(bytes: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    let mut depth = 0_usize;
    let mut rest = json_text(bytes);
    let mut text: Option<&[u8]> = None;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'"' => {
                let end = end_of_text(rest);
                text = rest.get(..end);
                rest = rest.get(end + 1..).unwrap_or_default();
                continue;
            }
            b':' if depth == 1 => {
                keys.extend(text.take().map(|key| String::from_utf8_lossy(key).into_owned()));
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    keys
}

fn end_of_text(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
