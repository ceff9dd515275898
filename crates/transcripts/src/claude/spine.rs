//! How the lines of a long file hang together, from a few bytes of each.
//!
//! The number of a turn and the versions of a prompt depend on the whole way up. So of every line its id, its parent
//! and whether it is a prompt are taken, and of most lines nothing else is looked at: those that begin as the program
//! writes what the model, a tool or a person said, what it put beside that, and what it keeps for itself. Every other line
//! is read as the reader reads it.
//!
//! The file is taken to be written as the program writes JSON: no blanks around a colon, the parent first, and one
//! `uuid` in a line. Where something is not usual there is no spine, and the file has to be read for its shape.

mod answer;
mod names;
mod prompt;

use memchr::memmem::Finder;
use offshoot_session::outline::one_line;
use offshoot_session::{RawLine, Setting};

use self::answer::{Answer, answer};
use self::names::uuid_at;
pub(super) use self::names::{Packed, packed, written};
use self::prompt::prompt;
use super::draft::{Asides, Draft, ParentField, What, is_book};
use crate::dialect::{Family, sure_family_of};
use crate::lines::{Content, Line, is_joined};

/// Values behind this are looked at: `"uuid":"…"`, `"tool_use_id":"…"`, `"id":"…"`.
const ID: &[u8] = br#"id":""#;
/// Between a name and its text.
const NAMED_TEXT: &[u8] = br#"":""#;
const PARENT: &[u8] = br#"{"parentUuid":""#;
const NOT_BESIDE: &[u8] = br#"","isSidechain":false,"#;
const UUID_LENGTH: usize = 36;
/// Ids of calls are shorter.
const LONGEST_CALL: usize = 100;

/// The file is for a reading of its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unusual;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not in the chain of ids.
    Aside,
    /// In the chain, and no entry.
    Pass,
    Entry,
    Prompt,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Where the line begins.
    pub(super) offset: u64,
    pub(super) id: Option<Packed>,
    pub(super) parent: Option<Packed>,
    pub(super) kind: Kind,
}

/// What a line says about the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Title,
    PermissionMode,
    Mode,
    /// The program goes on here.
    Leaf(Option<Packed>),
    /// A prompt that has words.
    Words,
    /// An entry that says which session this is, where and when.
    Opening,
}

/// A part of a file, line by line.
#[derive(Debug, Default)]
pub struct Spine {
    pub(super) links: Vec<Link>,
    /// Lines that say something about the session, in their order.
    pub(super) told: Vec<(usize, Told)>,
    /// The line and a hash of every id of a call in it.
    pub(super) calls: Vec<(usize, u64)>,
    /// So many lines were not as they mostly are.
    pub(super) lines_read: usize,
    /// A prompt with words was read in this part. Only the first one of a file matters, so others need not be.
    has_words: bool,
}

/// Searches are prepared once.
#[derive(Debug)]
pub struct Skim {
    id: Finder<'static>,
    named_text: Finder<'static>,
}

impl Default for Skim {
    fn default() -> Self {
        Self { id: Finder::new(ID), named_text: Finder::new(NAMED_TEXT) }
    }
}

/// Whether a file that begins with these lines is one of Claude Code.
pub fn begins_like_ours(file_name: &str, lines: &[u8]) -> bool {
    matches!(sure_family_of(Some(file_name), lines), Some(Family::Claude))
}

impl Spine {
    /// `line` is whole, with its end.
    pub fn take(&mut self, skim: &Skim, line: &[u8], offset: u64) -> Result<(), Unusual> {
        if is_joined(line) {
            return Err(Unusual);
        }
        let calls = self.calls.len();
        if says_nothing(skim, line) {
            self.links.push(Link { offset, id: None, parent: None, kind: Kind::Aside });
            return Ok(());
        }
        let link = match self.quick(skim, line) {
            Some((id, parent, kind)) => Link { offset, id: Some(id), parent: Some(parent), kind },
            None => {
                self.calls.truncate(calls);
                self.calls_in(skim, line);
                self.lines_read += 1;
                self.slow(line, offset)?
            }
        };
        self.links.push(link);
        Ok(())
    }

    /// Id, parent and kind of a line that is as it mostly is.
    fn quick(&mut self, skim: &Skim, line: &[u8]) -> Option<(Packed, Packed, Kind)> {
        let parent = line.strip_prefix(PARENT)?;
        let rest = parent.get(UUID_LENGTH..)?.strip_prefix(NOT_BESIDE)?;
        let parent = uuid_at(parent)?;
        let leading = leading_type(rest)?;
        if let Leading::Type(b"user", said) = leading {
            let Some(Answer { call, uuid }) = answer(&skim.named_text, said) else {
                let id = self.has_words.then(|| prompt(&skim.named_text, rest))??;
                return Some((id, parent, Kind::Prompt));
            };
            self.calls.push((self.links.len(), hash(call)));
            // what the program keeps beside the answer may be another entry
            let is_alone = !skim.id.find_iter(uuid).any(|at| is_uuid(uuid.get(..at)));
            return is_alone.then_some((uuid_at(uuid)?, parent, Kind::Entry));
        }
        let (before, value) = self.calls_in(skim, line)?;
        let kind = match leading {
            Leading::Type(b"assistant" | b"system", _) => Kind::Entry,
            Leading::Type(b"progress", _) => Kind::Pass,
            Leading::Type(..) => return None,
            Leading::Message => before.ends_with(br#""type":"assistant","uu"#).then_some(Kind::Entry)?,
            // what a person said meanwhile
            Leading::Attachment(b"queued_command") => return None,
            Leading::Attachment(_) => {
                before.ends_with(br#""type":"attachment","uu"#).then_some(Kind::Entry)?
            }
        };
        Some((uuid_at(value)?, parent, kind))
    }

    /// Takes every id of a call. What is told is what stands around `uuid`, where there is one and no other.
    fn calls_in<'l>(&mut self, skim: &Skim, line: &'l [u8]) -> Option<(&'l [u8], &'l [u8])> {
        let at = self.links.len();
        let (mut own, mut uuids) = (None, 0);
        for found in skim.id.find_iter(line) {
            let (before, value) = line.split_at(found);
            let value = value.get(ID.len()..).unwrap_or_default();
            match before {
                _ if is_uuid(Some(before)) => {
                    uuids += 1;
                    own = Some((before, value));
                }
                [.., b't', b'o', b'o', b'l', b'_', b'u', b's', b'e', b'_'] | [.., b'"'] => {
                    self.calls.extend(call_hash(value).map(|hash| (at, hash)));
                }
                _ => {}
            }
        }
        own.filter(|_| uuids == 1)
    }

    /// Parts of a file, in their order.
    pub fn joined(parts: Vec<Self>) -> Self {
        let mut whole = Self::default();
        whole.links.reserve_exact(parts.iter().map(|part| part.links.len()).sum());
        whole.calls.reserve_exact(parts.iter().map(|part| part.calls.len()).sum());
        for part in parts {
            let before = whole.links.len();
            whole.lines_read += part.lines_read;
            whole.links.extend(part.links);
            whole.told.extend(part.told.into_iter().map(|(at, told)| (at + before, told)));
            whole.calls.extend(part.calls.into_iter().map(|(at, call)| (at + before, call)));
        }
        whole
    }

    fn slow(&mut self, line: &[u8], offset: u64) -> Result<Link, Unusual> {
        let aside = Link { offset, id: None, parent: None, kind: Kind::Aside };
        let (draft, project) = match Line::new(1, RawLine::new(line)).content {
            Content::Object(map) => (Draft::new(&map), Asides::of(&map).project),
            Content::Blank => return Ok(aside),
            Content::Unreadable(_) | Content::Torn => return Err(Unusual),
        };
        if draft.is_sidechain {
            return Err(Unusual);
        }
        let at = self.links.len();
        let mut tell = |told: Told| self.told.push((at, told));
        let kind = match &draft.what {
            // settings stand above such a prompt, and not behind it
            What::Entry { results, body } if body.is_prompt() && !results.is_empty() => return Err(Unusual),
            What::Entry { body, .. } => {
                let says_where = draft.session.is_some() && project.is_some();
                if says_where && draft.written_at.is_some() {
                    tell(Told::Opening);
                }
                if body.is_prompt() && !self.has_words && !one_line(body).is_empty() {
                    tell(Told::Words);
                    self.has_words = true;
                }
                if body.is_prompt() { Kind::Prompt } else { Kind::Entry }
            }
            What::Fact(_) => {
                tell(Told::Title);
                Kind::Pass
            }
            What::Setting(Setting::PermissionMode(_)) => {
                tell(Told::PermissionMode);
                Kind::Pass
            }
            What::Setting(_) => {
                tell(Told::Mode);
                Kind::Pass
            }
            What::Leaf(leaf) => {
                tell(Told::Leaf(leaf.as_ref().map(packed).transpose()?));
                Kind::Pass
            }
            // whether it is a title of this session is a question to all lines
            What::Summary { .. } => return Err(Unusual),
            What::Pass | What::CostSoFar(_) | What::Silent | What::Nameless => Kind::Pass,
        };
        let is_entry = draft.is_entry();
        let parent = match &draft.parent {
            ParentField::Of(parent) => Some(packed(parent)?),
            ParentField::Absent if is_entry => return Err(Unusual),
            ParentField::Root | ParentField::Absent => None,
        };
        match &draft.id {
            Some(id) => Ok(Link { id: Some(packed(id)?), parent, kind, ..aside }),
            None if is_entry => Err(Unusual),
            None => Ok(aside),
        }
    }
}

/// A line that the program keeps for itself, and that nothing can hang below.
fn says_nothing(skim: &Skim, line: &[u8]) -> bool {
    let kind = line.strip_prefix(br#"{"type":"#).and_then(short_text);
    kind.is_some_and(|(kind, _)| is_book(kind)) && !skim.id.find_iter(line).any(|at| is_uuid(line.get(..at)))
}

/// Whether `id":"` behind this belongs to a `uuid`.
fn is_uuid(before: Option<&[u8]>) -> bool {
    before.is_some_and(|before| before.ends_with(br#""uu"#))
}

enum Leading<'l> {
    /// The type and what stands behind it.
    Type(&'l [u8], &'l [u8]),
    /// A message comes before the type.
    Message,
    /// What the program put beside a message comes before the type, and is of this kind.
    Attachment(&'l [u8]),
}

/// Steps over names with short values until the type of the line, its message or an attachment comes.
fn leading_type(mut rest: &[u8]) -> Option<Leading<'_>> {
    loop {
        let (key, behind) = short_text(rest)?;
        let value = behind.strip_prefix(b":")?;
        let behind = match value {
            [b'{', ..] if key == b"message" => return Some(Leading::Message),
            [b'{', inside @ ..] if key == b"attachment" => {
                let (kind, _) = short_text(inside.strip_prefix(br#""type":"#)?)?;
                return Some(Leading::Attachment(kind));
            }
            [b'"', ..] => {
                let (text, behind) = short_text(value)?;
                if key == b"type" {
                    return Some(Leading::Type(text, behind));
                }
                behind
            }
            [b'{' | b'[', ..] | [] => return None,
            _ => value.get(memchr::memchr2(b',', b'}', value)?..)?,
        };
        rest = behind.strip_prefix(b",")?;
    }
}

/// A text without escapes, and what stands behind it.
fn short_text(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = rest.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    match rest.get(end)? {
        b'"' => Some((rest.get(..end)?, rest.get(end + 1..)?)),
        _ => None,
    }
}

fn call_hash(value: &[u8]) -> Option<u64> {
    let near = value.get(..=LONGEST_CALL).unwrap_or(value);
    let end = memchr::memchr(b'"', near)?;
    near.get(..end).map(hash)
}

/// Two that are the same by chance only lead to a longer reading.
pub(super) fn hash(call: &[u8]) -> u64 {
    call.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
