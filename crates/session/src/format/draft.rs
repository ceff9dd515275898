//! Replies that are still being written, as lines beside a journal.
//!
//! An entry as far as it is known is a line of the journal's own kind. What is added to it later is a line of its
//! own, so that a long reply is not written again with every word:
//!
//! ```text
//! {"k":"words","id":"a1","text":" and so on","sum":"0a1b2c3d"}
//! ```

use serde::{Deserialize, Serialize};

use super::blob::Blobs;
use super::line::{Unwritable, decode, put};
use super::seal;
use crate::{Block, Body, Change, Entry, Reply};

/// What is added at the end of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    Said,
    Thought,
}

#[derive(Serialize, Deserialize)]
struct More<'l> {
    k: &'l str,
    id: std::borrow::Cow<'l, str>,
    text: std::borrow::Cow<'l, str>,
}

/// A line, with its newline.
pub fn encode_words(id: &str, kind: Words, text: &str) -> Result<Vec<u8>, Unwritable> {
    let more = More { k: name(kind), id: id.into(), text: text.into() };
    let mut line = Vec::with_capacity(id.len() + text.len() + text.len() / 4 + 64);
    put(&more, &mut line)?;
    seal::close(&mut line, 0);
    line.push(b'\n');
    Ok(line)
}

/// The entries that the lines make, in the order in which they were begun; each hangs below the one before that has
/// something to say. Reading ends at the first line that is not whole: what follows would go on from words that are
/// missing.
pub fn read_drafts(bytes: &[u8], blobs: &dyn Blobs) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        if seal::check(line).is_err() {
            break;
        }
        match words_of(line) {
            Some((kind, more)) => {
                let Some(entry) = entries.iter_mut().rev().find(|entry| *entry.id.as_str() == *more.id)
                else {
                    break;
                };
                extend(&mut entry.body, kind, &more.text);
            }
            None => match decode(line, blobs).map(|decoded| decoded.record.change) {
                Ok(Change::Entry(entry)) => match entries.iter_mut().find(|known| known.id == entry.id) {
                    Some(known) => *known = Entry::clone(&entry),
                    None => entries.push(Entry::clone(&entry)),
                },
                Ok(_) | Err(_) => break,
            },
        }
    }
    linked(entries)
}

fn linked(entries: Vec<Entry>) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for mut entry in entries {
        let is_empty = entry.body == Body::Reply(Reply::default());
        // Several turns may be written at once: each is a chain of its own.
        let above = kept.iter().rev().find(|above| above.turn == entry.turn);
        if let Some(above) = above {
            entry.parent = Some(above.id.clone());
        }
        if !is_empty {
            kept.push(entry);
        }
    }
    kept
}

fn words_of(line: &[u8]) -> Option<(Words, More<'_>)> {
    let kind = match seal::frame(line)?.kind {
        "words" => Words::Said,
        "thinking" => Words::Thought,
        _ => return None,
    };
    Some((kind, serde_json::from_slice(line).ok()?))
}

fn name(kind: Words) -> &'static str {
    match kind {
        Words::Said => "words",
        Words::Thought => "thinking",
    }
}

/// Words go on in the last block where it is of their kind.
fn extend(body: &mut Body, kind: Words, more: &str) {
    let Body::Reply(reply) = body else { return };
    match (reply.blocks.last_mut(), kind) {
        (Some(Block::Text(text)), Words::Said) | (Some(Block::Thinking(text)), Words::Thought) => {
            text.push_str(more);
        }
        (_, Words::Said) => reply.blocks.push(Block::Text(more.to_owned())),
        (_, Words::Thought) => reply.blocks.push(Block::Thinking(more.to_owned())),
    }
}
