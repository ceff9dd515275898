//! What a person typed, seen without reading the words.
//!
//! ```text
//! "promptId":"…","type":"user","message":{"role":"user","content":[{"type":"text","text":"…"}]},"uuid":"…",…}
//! `- fields that say nothing of who speaks                                                                `- and again
//! ```
//!
//! Words that begin with a letter or a digit are neither a command nor a notice of the program. Every other line of
//! the user is left to the reader.

use memchr::memmem::Finder;

use super::answer::{CONTENTS, at_named_text};
use super::{Packed, UUID_LENGTH, short_text, uuid_at};

const BEGINNING: &[u8] = br#""message":{"role":"user","content":"#;
const END: &[u8] = br#"},"uuid"#;
const A_PERSON: &[u8] = br#""origin":{"kind":"human"}"#;
/// Fields with short texts that do not change whose words these are.
const FIELDS: [&[u8]; 11] = [
    b"cwd",
    b"entrypoint",
    b"gitBranch",
    b"permissionMode",
    b"promptId",
    b"sessionId",
    b"slug",
    b"timestamp",
    b"turnOrigin",
    b"userType",
    b"version",
];

/// The id of a prompt. `rest` stands behind the first two fields of its line. `None` where it may be something else.
pub(super) fn prompt(named_text: &Finder<'static>, rest: &[u8]) -> Option<Packed> {
    let content = up_to_the_message(rest)?.strip_prefix(BEGINNING)?;
    let (text, close) =
        CONTENTS.iter().find_map(|(open, close)| Some((content.strip_prefix(*open)?, *close)))?;
    let (before, uuid) = at_named_text(named_text, text)?;
    let words = before.strip_suffix(END)?.strip_suffix(close)?;
    if !words.first().copied().is_some_and(begins_words) {
        return None;
    }
    let id = uuid_at(uuid)?;
    is_all_harmless(uuid.get(UUID_LENGTH + 1..)?).then_some(id)
}

/// Whether words that begin with this byte begin with no blank, no escape, no `<` and no `[`.
fn begins_words(byte: u8) -> bool {
    // letters that some alphabets begin with; those left out also begin blanks
    byte.is_ascii_alphanumeric() || matches!(byte, 0xc3..=0xdf | 0xe4..=0xf4)
}

fn up_to_the_message(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        if let Some(behind) = rest.strip_prefix(br#""type":"user","#) {
            return Some(behind);
        }
        rest = behind_a_field(rest)?.strip_prefix(b",")?;
    }
}

/// Up to the end of the line.
fn is_all_harmless(mut rest: &[u8]) -> bool {
    while let Some(field) = rest.strip_prefix(b",") {
        let Some(behind) = behind_a_field(field) else { return false };
        rest = behind;
    }
    rest == b"}\n"
}

fn behind_a_field(rest: &[u8]) -> Option<&[u8]> {
    if let Some(behind) = rest.strip_prefix(A_PERSON) {
        return Some(behind);
    }
    let (key, behind) = short_text(rest)?;
    let (text, behind) = short_text(behind.strip_prefix(b":")?)?;
    let is_harmless = FIELDS.contains(&key) || (key == b"promptSource" && text != b"system");
    is_harmless.then_some(behind)
}
