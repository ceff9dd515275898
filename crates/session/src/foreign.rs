//! A session of another program that was changed here: its file tells what it told, a journal tells what is new, and
//! one fold makes a tree of both.
//!
//! ```text
//! their file     u1 - a1 - u2 - a2        grows while the program goes on
//! our journal         a1 - u3*            refers to it; holds only u3 and the move of the head
//! ```
//! Theirs come first and ours on top. So what they add later hangs below its own parent, a head that the person has
//! moved stays where it was put, and one that nobody moved goes along with theirs. Undoing all of ours leaves theirs as
//! it is.

use std::collections::HashSet;

use crate::format::BlobName;
use crate::{Change, EntryId, ForeignSource, Record, SessionHeader, SessionId, SessionTree};

/// The longest id of another program that is a part of ours as it is.
const LONGEST_ID: usize = 120;

/// The id under which the changes of a session are kept. It begins with the program's own, so that either names it.
/// `copy` tells apart several files that claim to be the same session: 0 for the first.
pub fn journal_id(agent: &str, session: &str, copy: usize) -> SessionId {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let can_be_a_name = !session.is_empty()
        && session.len() <= LONGEST_ID
        && !session.starts_with('.')
        && session.bytes().all(is_plain);
    let hash = BlobName::of(session.as_bytes());
    let session = if can_be_a_name { session } else { hash.as_str().get(..32).unwrap_or_default() };
    let agent = family(agent);
    match copy {
        0 => format!("{session}.{agent}").into(),
        copy => format!("{session}.{agent}.{}", copy + 1).into(),
    }
}

/// Whether an id looks like that of a journal that refers to another program's session. Its header has the last word.
pub fn may_refer(id: &SessionId) -> bool {
    id.as_str().contains('.')
}

/// A file that pi began may be continued by oh-my-pi; it is the same session all the same.
fn family(agent: &str) -> &str {
    match agent {
        "oh-my-pi" => "pi",
        agent => agent,
    }
}

impl ForeignSource {
    pub fn of(agent: &str, session: &str, path: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            agent: agent.to_owned(),
            session: session.to_owned(),
            path: path.into(),
            length: bytes.len() as u64,
            hash: BlobName::of(bytes).as_str().to_owned(),
        }
    }

    /// Whether these bytes are the ones that were seen, with or without more behind them.
    pub fn begins(&self, bytes: &[u8]) -> bool {
        let seen = usize::try_from(self.length).ok().and_then(|length| bytes.get(..length));
        seen.is_some_and(|seen| BlobName::of(seen).as_str() == self.hash)
    }
}

/// The header of a journal that goes on with theirs.
pub fn referring_header(id: SessionId, theirs: &SessionHeader, source: ForeignSource) -> SessionHeader {
    SessionHeader { id, foreign: Some(Box::new(source)), ..theirs.clone() }
}

/// Their records with ours on top. `ours` begins with the header, which takes the place of theirs and keeps its line.
pub fn joined(theirs: Vec<Record>, ours: Vec<Record>) -> Vec<Record> {
    let mut ours = ours.into_iter();
    let Some(mut header) = ours.next() else { return theirs };
    let mut joined = theirs;
    match joined.iter_mut().find(|record| matches!(record.change, Change::Opened(_))) {
        Some(place) => {
            header.source = place.source.take();
            *place = header;
        }
        None => joined.insert(0, header),
    }
    joined.extend(ours);
    joined
}

/// The same session without the reference, under the id that the other program gave it: for copies, which are complete
/// in themselves.
pub fn by_itself(tree: SessionTree) -> SessionTree {
    if tree.header().is_none_or(|header| header.foreign.is_none()) {
        return tree;
    }
    let records = tree.log().cloned().map(|mut record| {
        if let Change::Opened(header) = &mut record.change
            && let Some(source) = header.foreign.take()
        {
            header.id = source.session.into();
        }
        record
    });
    SessionTree::replay(records).0
}

/// Whether ours hang on entries that theirs does not have.
pub fn hang_on_missing(theirs: &[Record], ours: &[Record]) -> bool {
    let entries = theirs.iter().chain(ours).filter_map(Record::as_entry);
    let known: HashSet<&EntryId> = entries.map(|entry| &entry.id).collect();
    let hangs_on = |record: &Record| match &record.change {
        Change::Entry(entry) => entry.parent.clone(),
        Change::HeadMoved(head_move) => head_move.to.clone(),
        Change::Marked(mark) => mark.fact.target().cloned(),
        Change::Opened(_) | Change::Unknown => None,
    };
    ours.iter().filter_map(hangs_on).any(|id| !known.contains(&id))
}

/// What a file says now, and behind it what an older copy of it knew besides: entries that are gone, and facts about
/// them. Nothing of the file itself changes by that.
pub fn with_what_is_missing(now: Vec<Record>, older: &[Record]) -> Vec<Record> {
    let known: HashSet<EntryId> =
        now.iter().filter_map(Record::as_entry).map(|entry| entry.id.clone()).collect();
    let is_missing = |record: &&Record| match &record.change {
        Change::Entry(entry) => !known.contains(&entry.id),
        Change::Marked(mark) => mark.fact.target().is_some_and(|target| !known.contains(target)),
        Change::Opened(_) | Change::HeadMoved(_) | Change::Unknown => false,
    };
    // Lines that the file does not have any more are no lines of it.
    let missing = older.iter().filter(is_missing).map(|record| Record { source: None, ..record.clone() });
    let missing: Vec<Record> = missing.collect();
    now.into_iter().chain(missing).collect()
}
