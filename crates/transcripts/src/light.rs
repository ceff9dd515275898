//! The shape of a long file of lines: the same lines, without what is long in them.
//!
//! What makes a session long are long texts, and its tree does not depend on them. [`lighten`] leaves the beginning
//! of a long text and puts a mark in the place of the rest; such a file is read by the ordinary readers, so its tree
//! is the tree of the whole file. [`Rests`] of the true line then put the rests back into an entry that was read
//! so. Readers may cut a text, trim it or join it with others: the mark goes where the rest would have gone.
//!
//! Only texts under names of what was said are touched. Those that a reader looks into are left whole: those that
//! begin like a tag, an object or a list. So is a text that has the character of the mark in it, or that ends in blanks
//! which are not ASCII.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use offshoot_session::{Block, Body, Entry, ImageData, Stop};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::lines::json_text;

/// So much of a long text stays, and a rest shorter than this is not worth a mark.
const KEPT: usize = 96;
/// Of the private use area of Unicode: no program writes it.
const MARK: char = '\u{f8ff}';
const MARK_BYTES: &[u8] = "\u{f8ff}".as_bytes();
/// A mark, 32 digits, and the mark again.
const MARK_LENGTH: usize = 2 * MARK_BYTES.len() + 32;

/// A line of JSON without the rests of its long texts, appended to `light`. What is not JSON stays as it is.
pub fn lighten(line: &[u8], light: &mut Vec<u8>) {
    let before = light.len();
    each_piece(line, |piece| match piece {
        Piece::Kept(bytes) => light.extend_from_slice(bytes),
        Piece::Rest(rest) => light.extend_from_slice(&mark_of(&rest)),
    });
    let is_shorter = light.len() - before < line.len();
    let lightened = light.get(before..).map(json_text).unwrap_or_default();
    // Where a line is damaged is told by its column.
    if is_shorter && serde_json::from_slice::<IgnoredAny>(lightened).is_err() {
        light.truncate(before);
        light.extend_from_slice(line);
    }
}

/// The same for the first line of a file that has a name. A rollout without an id is named by it, so it stays whole
/// unless it is a line of Claude Code.
pub fn lighten_first(line: &[u8], light: &mut Vec<u8>) {
    match memchr::memmem::find(line, br#""parentUuid":"#) {
        Some(_) => lighten(line, light),
        None => light.extend_from_slice(line),
    }
}

/// What [`lighten`] takes out of a line.
#[derive(Debug, Default)]
pub struct Rests {
    by_mark: HashMap<String, String>,
}

/// The marks that stand in an entry.
pub fn marks_in(entry: &Entry) -> HashSet<String> {
    let mut finder = Restorer { rests: &Rests::default(), missing: HashSet::new() };
    finder.body(&mut entry.body.clone());
    finder.missing
}

impl Rests {
    pub fn of(line: &[u8]) -> Self {
        let mut rests = Self::default();
        rests.add(line);
        rests
    }

    /// Those rests of another line that have one of these marks.
    pub fn add_marked(&mut self, line: &[u8], marks: &HashSet<String>) {
        self.add_where(line, |mark| marks.contains(mark));
    }

    /// The rests of another line too.
    pub fn add(&mut self, line: &[u8]) {
        self.add_where(line, |_| true);
    }

    fn add_where(&mut self, line: &[u8], is_wanted: impl Fn(&str) -> bool) {
        each_piece(line, |piece| {
            let Piece::Rest(rest) = piece else { return };
            if let Ok(mark) = std::str::from_utf8(&mark_of(&rest))
                && is_wanted(mark)
            {
                self.by_mark.insert(mark.to_owned(), rest.into_owned());
            }
        });
    }

    /// The entry as it would have been read from whole lines; `None` where a rest is not among these.
    pub fn restored(&self, entry: &Entry) -> Option<Entry> {
        let mut restorer = Restorer { rests: self, missing: HashSet::new() };
        let mut entry = entry.clone();
        restorer.body(&mut entry.body);
        restorer.missing.is_empty().then_some(entry)
    }
}

enum Piece<'l> {
    Kept(&'l [u8]),
    Rest(Cow<'l, str>),
}

/// The line in order.
fn each_piece<'l>(line: &'l [u8], mut take: impl FnMut(Piece<'l>)) {
    let (mut kept_from, mut at) = (0, 0);
    let mut key: &[u8] = b"";
    while let Some(open) = line.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let start = at + open + 1;
        let Some(text) = line.get(start..) else { break };
        let Some(length) = length_of_text(text) else { break };
        let text = text.get(..length).unwrap_or_default();
        at = start + length + 1;
        let behind = line.get(at..).unwrap_or_default().trim_ascii_start();
        if behind.first() == Some(&b':') {
            key = text;
        } else if SAID.contains(&key)
            && let Some((from, to, rest)) = rest_of(text)
        {
            take(Piece::Kept(line.get(kept_from..start + from).unwrap_or_default()));
            take(Piece::Rest(rest));
            kept_from = start + to;
        }
    }
    take(Piece::Kept(line.get(kept_from..).unwrap_or_default()));
}

/// Under these names stands what somebody said or a tool gave back. Anything else may be an id or a title.
const SAID: &[&[u8]] = &[
    b"aggregated_output",
    b"base64",
    b"code",
    b"command",
    b"content",
    b"data",
    b"diff",
    b"encrypted_content",
    b"file_text",
    b"formatted_output",
    b"image_url",
    b"input",
    b"message",
    b"newString",
    b"new_str",
    b"new_string",
    b"oldString",
    b"old_str",
    b"old_string",
    b"originalFile",
    b"output",
    b"patch",
    b"prompt",
    b"result",
    b"signature",
    b"stderr",
    b"stdout",
    b"text",
    b"thinking",
    b"unified_diff",
    b"value",
];

/// Up to the quotation mark that ends it; `None` where it does not end.
fn length_of_text(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at) {
            Some(b'\\') => at += 2,
            _ => return Some(at),
        }
    }
}

/// The part of a long text that its mark stands for, and what it says: from a whole character behind the beginning
/// to the blanks at the end. Two lines that say the same in other escapes get the same mark, for readers compare.
fn rest_of(text: &[u8]) -> Option<(usize, usize, Cow<'_, str>)> {
    if text.len() < 2 * KEPT || matches!(first_letter(text)?, b'<' | b'[' | b'{') {
        return None;
    }
    let (from, to) = (first_cut(text)?, end_without_blanks(text));
    let rest = unescaped(text.get(from..to)?)?;
    let is_worth_it = rest.len() > MARK_LENGTH + KEPT;
    let ends_plainly = rest.chars().next_back().is_some_and(|last| !last.is_whitespace());
    let has = |needle: &[u8]| memchr::memmem::find(rest.as_bytes(), needle).is_some();
    let is_looked_into = || has(MARK_BYTES) || LOOKED_FOR.iter().any(|needle| has(needle.as_bytes()));
    (is_worth_it && ends_plainly && !is_looked_into()).then_some((from, to, rest))
}

/// What readers look for in the midst of a text.
const LOOKED_FOR: [&str; 2] = ["Exit code: ", "Process exited with code "];

/// `None` where a JSON reader would not take it: a line must not become readable by what is left out of it.
fn unescaped(rest: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(rest).ok()?;
    if memchr::memchr(b'\\', rest).is_some() {
        return serde_json::from_str(&format!("\"{text}\"")).ok().map(Cow::Owned);
    }
    rest.iter().all(|byte| *byte >= 0x20).then_some(Cow::Borrowed(text))
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

/// Behind so many characters. An escape is one, and so is a pair of them that stands for one.
fn first_cut(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for _ in 0..KEPT {
        at += match text.get(at..)? {
            [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..] => 12,
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

fn mark_of(rest: &str) -> [u8; MARK_LENGTH] {
    let rest = rest.as_bytes();
    let mut mark = [0; MARK_LENGTH];
    let digits =
        format!("{:016x}{:016x}", hash(rest, 0x9e37_79b9_7f4a_7c15), hash(rest, 0x2545_f491_4f6c_dd1d));
    let bytes = MARK_BYTES.iter().chain(digits.as_bytes()).chain(MARK_BYTES);
    mark.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    mark
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

fn is_mark(text: &str) -> bool {
    let digits = text.strip_prefix(MARK).and_then(|text| text.strip_suffix(MARK));
    digits.is_some_and(|digits| digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

struct Restorer<'r> {
    rests: &'r Rests,
    /// Marks whose rests are not there.
    missing: HashSet<String>,
}

impl Restorer<'_> {
    fn body(&mut self, body: &mut Body) {
        match body {
            Body::Prompt(prompt) => {
                self.blocks(&mut prompt.blocks);
                prompt.attachments.iter_mut().for_each(|name| self.text(name));
            }
            Body::Reply(reply) => {
                self.blocks(&mut reply.blocks);
                if let Some(Stop::Error(words) | Stop::Other(words)) = &mut reply.stop {
                    self.text(words);
                }
            }
            Body::ToolResult(result) => self.blocks(&mut result.blocks),
            Body::Shell(shell) => {
                self.text(&mut shell.command);
                self.text(&mut shell.output);
            }
            Body::Compaction(compaction) => {
                self.text(&mut compaction.summary);
                compaction.details.iter_mut().for_each(|details| self.json(details));
            }
            Body::BranchSummary(summary) => self.text(&mut summary.summary),
            Body::CustomMessage(message) => self.blocks(&mut message.blocks),
            Body::System(system) => self.text(&mut system.text),
            Body::Note(note) => note.data.iter_mut().for_each(|data| self.json(data)),
            Body::Foreign(foreign) => foreign.text.iter_mut().for_each(|text| self.text(text)),
            // Short words, by their nature.
            Body::Setting(_) | Body::Interrupted | Body::Merge(_) | Body::Cleared => {}
        }
    }

    fn blocks(&mut self, blocks: &mut [Block]) {
        for block in blocks {
            match block {
                Block::Text(text) | Block::Thinking(text) => self.text(text),
                Block::ToolUse(call) => self.json(&mut call.input),
                Block::Image { data, .. } => match data {
                    ImageData::Inline(text) | ImageData::Blob(text) => {
                        self.text(text);
                    }
                },
                Block::Other { kind } => self.text(kind),
            }
        }
    }

    fn json(&mut self, value: &mut Value) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => self.text(text),
                Value::Array(items) => open.extend(items),
                Value::Object(map) => open.extend(map.values_mut()),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    fn text(&mut self, text: &mut String) {
        let mut whole = String::new();
        let mut rest = text.as_str();
        while let Some(start) = rest.find(MARK) {
            let (before, marked) = rest.split_at(start);
            whole.push_str(before);
            // The character may stand there by itself.
            let mark = marked.get(..MARK_LENGTH).filter(|mark| is_mark(mark)).unwrap_or("\u{f8ff}");
            match self.rests.by_mark.get(mark) {
                Some(taken) => whole.push_str(taken),
                None if is_mark(mark) => drop(self.missing.insert(mark.to_owned())),
                None => whole.push(MARK),
            }
            rest = marked.get(mark.len()..).unwrap_or_default();
        }
        whole.push_str(rest);
        *text = whole;
    }
}
