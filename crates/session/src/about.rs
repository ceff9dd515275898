//! What a list of sessions says about each: name, project, age, how much was said.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::context::{Message, Role};
use crate::{Block, Body, Entry, EntryId, Note, SessionId, SessionTree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub id: Option<SessionId>,
    pub project: Option<String>,
    pub title: Option<String>,
    /// The session it came from, as its header names it.
    pub parent: Option<String>,
    pub opened_at: Option<Timestamp>,
    /// When somebody last spoke; the opening, where nobody has.
    pub active_at: Option<Timestamp>,
    pub messages: usize,
    pub prompts: usize,
    /// What was asked first, on any branch.
    pub first_prompt: Option<String>,
}

pub fn about(tree: &SessionTree) -> About {
    let header = tree.header();
    let opened_at = header.map(|header| header.opened_at);
    let spoken = || tree.entries().filter(|entry| is_spoken(&entry.body));
    About {
        id: header.map(|header| header.id.clone()),
        project: header.and_then(|header| header.project.clone()),
        title: tree.title().map(str::to_owned),
        parent: header.and_then(|header| header.lineage.as_ref()).map(|lineage| lineage.parent.clone()),
        opened_at,
        active_at: spoken().map(|entry| said_at(entry)).max().or(opened_at),
        messages: tree.entries().filter(|entry| is_message(entry)).count(),
        prompts: prompts(tree).len(),
        first_prompt: prompts(tree).into_iter().map(|entry| words(&entry.body)).find(|text| !text.is_empty()),
    }
}

/// What the person asked, on all branches, in the order of writing. Tasks that an agent gave to another one are not
/// the person's.
pub fn prompts(tree: &SessionTree) -> Vec<&Arc<Entry>> {
    let mut delegated: HashSet<&EntryId> = HashSet::new();
    let mut prompts = Vec::new();
    for entry in tree.entries() {
        let is_task = matches!(&entry.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
        if is_task || entry.parent.as_ref().is_some_and(|parent| delegated.contains(parent)) {
            delegated.insert(&entry.id);
        } else if entry.body.is_prompt() {
            prompts.push(entry);
        }
    }
    prompts
}

/// Everything that was said by people and agents, on all branches, for searching.
pub fn spoken_text(tree: &SessionTree) -> String {
    let said: Vec<String> = tree
        .entries()
        .filter(|entry| is_spoken(&entry.body))
        .map(|entry| words(&entry.body))
        .filter(|text| !text.is_empty())
        .collect();
    said.join(" ")
}

fn is_spoken(body: &Body) -> bool {
    matches!(body, Body::Prompt(_) | Body::Reply(_))
}

fn is_message(entry: &Arc<Entry>) -> bool {
    match Message::from_entry(entry).map(|message| message.role()) {
        Some(Role::User | Role::Assistant | Role::ToolResult | Role::Shell | Role::System) => true,
        Some(Role::Custom | Role::BranchSummary | Role::CompactionSummary) | None => false,
    }
}

/// A reply is written when it is complete; its program may say when it began.
fn said_at(entry: &Entry) -> Timestamp {
    let said_at = match &entry.body {
        Body::Prompt(prompt) => prompt.said_at,
        Body::Reply(reply) => reply.said_at,
        _ => None,
    };
    said_at.unwrap_or(entry.written_at)
}

/// The text blocks with a space between, so that words of two blocks do not run together.
fn words(body: &Body) -> String {
    let texts: Vec<&str> = body
        .blocks()
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Thinking(_) | Block::Image { .. } | Block::ToolUse(_) | Block::Other { .. } => None,
        })
        .collect();
    texts.join(" ")
}
