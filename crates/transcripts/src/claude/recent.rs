//! The last messages of a long file, from its end alone.
//!
//! A file of Claude Code grows at its end, and what a person wants to see first is there. The end is read like a
//! file of its own; then it is asked whether the lines before it could change what was found. They cannot, if
//!
//! - the way up from the head to the prompt above the wanted messages lies in the end, and so does every line behind
//!   that prompt together with the line it hangs below; only prompts may hang elsewhere, as they do after a rewind;
//! - no line before uses an id of those lines, or answers or makes a call that they answer ([`Earlier`] looks);
//! - the entry above the first of them stands in the end: a line that is none would have to be passed by;
//! - nothing was forgiven, no sub-agent speaks in between, and no command of the person waits for its output.
//!
//! Whatever else is found is `None`: more of the file has to be read, in the worst case all of it. The file is taken
//! to be written as the program writes JSON: no blanks around a colon, no escapes in ids.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use memchr::memmem::Finder;
use offshoot_session::context::Message;
use offshoot_session::{Body, Entry, EntryId, Odd, SessionTree};

use super::draft::{Draft, ParentField, What};
use crate::lines::{Content, lines};

/// Ids are short; longer ones are for the whole reading.
pub const LONGEST_ID: usize = 100;

/// Bytes of one piece that have to be seen again in front of the next one, so that nothing falls between them.
pub const OVERLAP: usize = LONGEST_ID + 32;

/// How every id that matters is written: `"uuid":"…"`, `"tool_use_id":"…"`, `"id":"…"`.
const NEEDLE: &[u8] = br#"id":""#;

/// The last messages, if nothing before the end stands against them.
#[derive(Debug)]
pub struct Recent {
    /// Oldest first. A setting is left out of the way: its parent is told instead.
    pub messages: Vec<Message>,
    pub earlier: Earlier,
}

/// What must not stand in the lines before.
#[derive(Debug)]
pub struct Earlier {
    ids: HashSet<Box<[u8]>>,
    calls: HashSet<Box<[u8]>>,
    needle: Finder<'static>,
}

/// `end` begins with a line. `None`: it does not tell enough.
pub fn recent(end: &[u8], count: usize) -> Option<Recent> {
    let drafts = drafts(end)?;
    let transcript = super::read(None, end);
    let is_known = |what: &Odd| matches!(what, Odd::UnknownType(_));
    if !transcript.oddities.iter().all(|oddity| is_known(&oddity.what)) {
        return None;
    }
    let (tree, oddities) = SessionTree::replay(transcript.records);
    let is_cut = |what: &Odd| matches!(what, Odd::MissingParent { .. });
    if !oddities.iter().all(|oddity| is_cut(&oddity.what)) {
        return None;
    }
    let places: HashMap<&EntryId, usize> =
        drafts.iter().enumerate().filter_map(|(at, draft)| Some((draft.id.as_ref()?, at))).collect();
    require(knows_its_head(&drafts, &places))?;
    let way = way_up(&tree, count)?;
    let mut first = usize::MAX;
    for entry in &way {
        if !matches!(entry.body, Body::Setting(_)) {
            first = first.min(*places.get(&entry.id)?);
        }
    }
    let told = drafts.get(first..)?;
    require(told.iter().all(|draft| hangs_behind(draft, first, &places)))?;
    let messages = last_messages(&tree, &way, count);
    require(messages.iter().all(|message| says_all(&message.entry)))?;
    let hangs_below = messages.first().and_then(|first| first.entry.parent.as_ref());
    require(hangs_below.is_none_or(|parent| tree.entry(parent).is_some()))?;
    Some(Recent { messages, earlier: Earlier::of(told)? })
}

/// The last messages of a tree that was read whole, told the same way.
pub fn recent_of(tree: &SessionTree, count: usize) -> Vec<Message> {
    let way: Vec<Arc<Entry>> = tree.path_to(tree.main_head()).into_iter().rev().cloned().collect();
    last_messages(tree, &way, count)
}

fn require(holds: bool) -> Option<()> {
    holds.then_some(())
}

/// Every line, understood by itself. Blanks behind a colon, or a line that cannot be read, are not ours.
fn drafts(end: &[u8]) -> Option<Vec<Draft>> {
    if memchr::memmem::find(end, br#""uuid": "#).is_some() {
        return None;
    }
    let mut drafts = Vec::new();
    for line in lines(end) {
        match line.content {
            Content::Object(map) => drafts.push(Draft::new(&map)),
            Content::Blank => {}
            Content::Unreadable(_) | Content::Torn => return None,
        }
    }
    let is_plain = |draft: &Draft| !draft.is_sidechain;
    drafts.iter().all(is_plain).then_some(drafts)
}

/// A marker that points before the end may be right or wrong.
fn knows_its_head(drafts: &[Draft], places: &HashMap<&EntryId, usize>) -> bool {
    let marker = drafts.iter().rev().find_map(|draft| match &draft.what {
        What::Leaf(leaf) => Some(leaf),
        _ => None,
    });
    let points_in = |leaf: &EntryId| places.contains_key(leaf);
    drafts.iter().any(Draft::is_entry) && marker.is_none_or(|leaf| leaf.as_ref().is_none_or(points_in))
}

/// From the head up to the prompt above the wanted messages, or to the beginning of the session.
fn way_up(tree: &SessionTree, count: usize) -> Option<Vec<Arc<Entry>>> {
    let mut way = Vec::new();
    let mut messages = 0;
    let mut at = tree.main_head().cloned();
    while let Some(id) = at {
        let entry = tree.entry(&id)?;
        way.push(entry.clone());
        messages += usize::from(Message::from_entry(entry).is_some());
        if messages >= count && entry.body.is_prompt() {
            return Some(way);
        }
        at = entry.parent.clone(); // one that is missing ends the search at the next step
    }
    (!way.is_empty()).then_some(way)
}

/// Whether all that a line is put below stands in the part that counts.
fn hangs_behind(draft: &Draft, first: usize, places: &HashMap<&EntryId, usize>) -> bool {
    let is_in_chain = draft.is_entry() || matches!(draft.what, What::Pass);
    let is_prompt =
        matches!(&draft.what, What::Entry { results, body } if results.is_empty() && body.is_prompt());
    if !is_in_chain {
        return true;
    }
    match &draft.parent {
        _ if draft.id.is_none() || draft.written_at.is_none() => false,
        ParentField::Of(parent) => is_prompt || places.get(parent).is_some_and(|at| *at >= first),
        ParentField::Root => true,
        ParentField::Absent => false,
    }
}

/// A result whose call is further up would be nameless, and a command may have had its output before.
fn says_all(entry: &Entry) -> bool {
    match &entry.body {
        Body::ToolResult(result) => !result.tool.is_empty(),
        Body::Shell(_) => false,
        _ => true,
    }
}

/// `way` goes up from the head.
fn last_messages(tree: &SessionTree, way: &[Arc<Entry>], count: usize) -> Vec<Message> {
    let messages = way.iter().filter_map(Message::from_entry).take(count);
    let mut messages: Vec<Message> = messages.map(|message| apart_from_settings(tree, message)).collect();
    messages.reverse();
    messages
}

fn apart_from_settings(tree: &SessionTree, message: Message) -> Message {
    let mut parent = message.entry.parent.as_ref();
    while let Some(above) = parent.and_then(|parent| tree.entry(parent))
        && matches!(above.body, Body::Setting(_))
    {
        parent = above.parent.as_ref();
    }
    if parent == message.entry.parent.as_ref() {
        return message;
    }
    let entry = Entry { parent: parent.cloned(), ..Entry::clone(&message.entry) };
    Message { entry: Arc::new(entry), ..message }
}

impl Earlier {
    fn of(told: &[Draft]) -> Option<Self> {
        let mut ids: HashSet<Box<[u8]>> = HashSet::new();
        let mut calls: HashSet<Box<[u8]>> = HashSet::new();
        for draft in told {
            ids.extend(draft.id.as_ref().map(|id| id.as_str().as_bytes().into()));
            if let What::Entry { results, body } = &draft.what {
                let last = if let Body::ToolResult(result) = body { Some(result) } else { None };
                calls.extend(results.iter().chain(last).map(|result| result.call.as_str().as_bytes().into()));
            }
        }
        let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\');
        let is_short = |id: &[u8]| id.len() <= LONGEST_ID && id.iter().all(is_plain);
        let can_be_looked_for = ids.iter().chain(&calls).all(|id| is_short(id));
        can_be_looked_for.then(|| Self { ids, calls, needle: Finder::new(NEEDLE) })
    }

    /// Whether a piece of the lines before names something that must not be named there.
    pub fn names_any(&self, piece: &[u8]) -> bool {
        self.needle.find_iter(piece).any(|at| {
            let (before, value) = piece.split_at(at);
            let value = value.get(NEEDLE.len()..).unwrap_or_default();
            let near = value.get(..=LONGEST_ID).unwrap_or(value);
            let Some(value) = memchr::memchr(b'"', near).and_then(|end| near.get(..end)) else {
                return false;
            };
            match before {
                [.., b'"', b'u', b'u'] => self.ids.contains(value),
                [.., b't', b'o', b'o', b'l', b'_', b'u', b's', b'e', b'_'] | [.., b'"'] => {
                    self.calls.contains(value)
                }
                _ => false,
            }
        })
    }
}
