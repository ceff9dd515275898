//! Naming a point of the tree, as people type it.
//!
//! | text | means |
//! |---|---|
//! | `#5`, `5` | the fifth turn of the active path: its prompt. A plain number is never anything else |
//! | `id:…` | the id or its beginning, whatever it looks like |
//! | a full id | that entry |
//! | `m:3` | the message with index 3 of the active path, counting prompts, replies and tool results from 0 |
//! | `head` | where the next message goes |
//! | a label | the entry that carries it |
//! | a branch name | the end of that branch: the place last visited below the entry that carries the name |
//! | an alias | an entry under the name another program knows it by |
//! | the beginning of an id | that entry, if three characters or more fit only one |
//!
//! The first line that fits decides; two fits in one line are an error, never a guess. Labels, names and ids are
//! compared letter by letter, then without regard to case.

use thiserror::Error;

use crate::outline::{turns_of, turns_through};
use crate::{Body, EntryId, SessionTree};

/// Short ids have at least as many characters.
const SHORT_ID: usize = 6;
const SHORTEST_PREFIX: usize = 3;
const CANDIDATES: usize = 5;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AddressError {
    #[error("no turn `#{number}` {}", place(.branch, .last_turn, "#"))]
    NoTurn { number: String, branch: Option<String>, last_turn: Option<usize> },
    #[error("no message `m:{index}` {}", place(.branch, .last_message, "m:"))]
    NoMessage { index: String, branch: Option<String>, last_message: Option<usize> },
    #[error("the head is before the first entry")]
    NoHead,
    #[error("no entry, label or branch is called `{0}`")]
    NotFound(String),
    #[error("`{0}` is too short for the beginning of an id, which needs {SHORTEST_PREFIX} characters")]
    TooShort(String),
    #[error("`{text}` could be {}", listed(.candidates, *.total))]
    Ambiguous {
        text: String,
        /// The first few, as short ids.
        candidates: Vec<String>,
        total: usize,
    },
}

pub fn resolve(tree: &SessionTree, text: &str) -> Result<EntryId, AddressError> {
    resolve_with(tree, text, |_| None)
}

/// As [`resolve`], with names that other programs gave to entries.
pub fn resolve_with(
    tree: &SessionTree,
    text: &str,
    alias: impl Fn(&str) -> Option<EntryId>,
) -> Result<EntryId, AddressError> {
    let text = text.trim();
    if let Some(number) = numbered(text, "#").or_else(|| numbered(text, "")) {
        return turn(tree, number);
    }
    if let Some(id) = text.strip_prefix("id:") {
        return by_exact_id(tree, id).map_or_else(|| by_prefix(tree, id, 1), Ok);
    }
    if let Some(id) = by_exact_id(tree, text) {
        return Ok(id);
    }
    if let Some(index) = numbered(text, "m:") {
        return message(tree, index);
    }
    if text == "head" {
        return tree.main_head().cloned().ok_or(AddressError::NoHead);
    }
    if let Some(id) = only_one(tree, text, named(&tree.labels(), text))? {
        return Ok(id);
    }
    if let Some(id) = only_one(tree, text, named(&tree.branch_names(), text))? {
        return Ok(tree.remembered_leaf(&id).map_or(id, |leaf| leaf.id.clone()));
    }
    if let Some(id) = alias(text).filter(|id| tree.contains(id)) {
        return Ok(id);
    }
    by_prefix(tree, text, SHORTEST_PREFIX)
}

/// Where the head goes for whoever names a point. A number or a label stands for a turn, so the head goes to where the
/// turn ends and the next message does not come between a prompt and its answer. An id is exactly that entry.
pub fn destination(tree: &SessionTree, text: &str) -> Result<EntryId, AddressError> {
    Ok(destination_of(tree, text, resolve(tree, text)?))
}

/// As [`destination`], where it is known already which entry is named.
pub fn destination_of(tree: &SessionTree, text: &str, at: EntryId) -> EntryId {
    let is_prompt = tree.entry(&at).is_some_and(|entry| entry.body.is_prompt());
    if !is_prompt || names_an_entry(text, &at) {
        return at;
    }
    let turns = turns_through(tree, &at);
    let turn = turns.iter().find(|turn| turn.contains(&at));
    turn.and_then(|turn| turn.entries.last()).map_or(at, |last| last.id.clone())
}

/// The first entry of a branch that is addressed as a whole: under its name, the entry that carries the name.
pub fn branch_beginning(tree: &SessionTree, text: &str) -> Result<EntryId, AddressError> {
    let at = resolve(tree, text)?;
    let wanted = text.trim().to_lowercase();
    let leads_there = |id: &&EntryId| tree.remembered_leaf(id).is_some_and(|tip| tip.id == at);
    let mut names = tree
        .branch_names()
        .into_iter()
        .filter(|(_, name)| name.trim().to_lowercase() == wanted)
        .map(|(id, _)| id);
    Ok(names.find(leads_there).cloned().unwrap_or(at))
}

fn names_an_entry(named: &str, found: &EntryId) -> bool {
    let named = named.trim().to_lowercase();
    let is_number = named.bytes().all(|byte| byte.is_ascii_digit());
    named == "head"
        || named.starts_with("id:")
        || named.starts_with("m:")
        || (!is_number && found.as_str().to_lowercase().starts_with(&named))
}

/// The branch that the active path runs on, as far as it has a name.
pub fn active_branch(tree: &SessionTree) -> Option<&str> {
    tree.path_to(tree.main_head()).iter().rev().find_map(|entry| tree.branch_name(&entry.id))
}

/// Where a prompt stands, as people say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'t> {
    /// The name of its branch, where it has one.
    pub branch: Option<&'t str>,
    /// Which prompt of its branch it is, from 1.
    pub number: usize,
}

impl<'t> Place<'t> {
    pub fn of(tree: &'t SessionTree, prompt: &EntryId) -> Self {
        let path = tree.path_to(Some(prompt));
        let branch = path.iter().rev().find_map(|entry| tree.branch_name(&entry.id));
        Self { branch, number: path.iter().filter(|entry| entry.body.is_prompt()).count() }
    }
}

/// The beginning of an id that names it in this session, at least six characters.
pub fn short_id(tree: &SessionTree, id: &EntryId) -> String {
    let longest_shared = tree
        .entries()
        .filter(|entry| entry.id != *id)
        .map(|entry| shared_prefix(entry.id.as_str(), id.as_str()))
        .max();
    shortened(id, longest_shared.unwrap_or(0))
}

/// The short ids of a whole tree, for lists.
#[derive(Debug)]
pub struct ShortIds<'t> {
    /// Sorted; an id shares most with its neighbours.
    sorted: Vec<&'t str>,
}

impl<'t> ShortIds<'t> {
    pub fn of(tree: &'t SessionTree) -> Self {
        Self::among(tree.entries().map(|entry| entry.id.as_str()))
    }

    /// Where not all entries of the session are in the tree.
    pub fn among(ids: impl Iterator<Item = &'t str>) -> Self {
        let mut sorted: Vec<&str> = ids.collect();
        sorted.sort_unstable();
        Self { sorted }
    }

    pub fn get(&self, id: &EntryId) -> String {
        let at = self.sorted.partition_point(|other| *other < id.as_str());
        let before = at.checked_sub(1).and_then(|before| self.sorted.get(before));
        let after = self.sorted.iter().skip(at).take(2).find(|other| **other != id.as_str());
        let shared = [before, after].into_iter().flatten();
        let longest_shared = shared.map(|other| shared_prefix(other, id.as_str())).max();
        shortened(id, longest_shared.unwrap_or(0))
    }
}

/// A short id never looks like a turn number, as long as the id itself does not.
fn shortened(id: &EntryId, shared: usize) -> String {
    let needed = SHORT_ID.max(shared + 1);
    let first_letter = id.as_str().chars().position(|c| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    id.as_str().chars().take(needed.max(first_letter)).collect()
}

fn shared_prefix(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// The digits behind a prefix, if there is nothing else.
fn numbered<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    text.strip_prefix(prefix)
        .filter(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn turn(tree: &SessionTree, number: &str) -> Result<EntryId, AddressError> {
    let turns = turns_of(tree, tree.main_head());
    let wanted = number.parse::<usize>().ok().filter(|number| *number > 0);
    let prompt = wanted
        .and_then(|wanted| turns.iter().find(|turn| turn.number == wanted))
        .and_then(|turn| turn.prompt());
    prompt.map(|prompt| prompt.id.clone()).ok_or_else(|| AddressError::NoTurn {
        number: number.to_owned(),
        branch: active_branch(tree).map(String::from),
        last_turn: turns.last().map(|turn| turn.number).filter(|number| *number > 0),
    })
}

fn message(tree: &SessionTree, index: &str) -> Result<EntryId, AddressError> {
    let path = tree.path_to(tree.main_head());
    let messages: Vec<&EntryId> = path
        .iter()
        .filter(|entry| matches!(entry.body, Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_)))
        .map(|entry| &entry.id)
        .collect();
    let found = index.parse::<usize>().ok().and_then(|index| messages.get(index));
    found.map(|id| (*id).clone()).ok_or_else(|| AddressError::NoMessage {
        index: index.to_owned(),
        branch: active_branch(tree).map(String::from),
        last_message: messages.len().checked_sub(1),
    })
}

fn by_exact_id(tree: &SessionTree, text: &str) -> Option<EntryId> {
    let exact = EntryId::from(text);
    if tree.contains(&exact) {
        return Some(exact);
    }
    let mut same = tree.entries().filter(|entry| entry.id.as_str().eq_ignore_ascii_case(text));
    let found = same.next()?;
    same.next().is_none().then(|| found.id.clone())
}

fn by_prefix(tree: &SessionTree, text: &str, shortest: usize) -> Result<EntryId, AddressError> {
    let ids: Vec<&EntryId> = tree.entries().map(|entry| &entry.id).collect();
    let mut found: Vec<EntryId> =
        ids.iter().filter(|id| id.as_str().starts_with(text)).map(|id| (*id).clone()).collect();
    if found.is_empty() {
        let lower = text.to_lowercase();
        found = ids
            .iter()
            .filter(|id| id.as_str().to_lowercase().starts_with(&lower))
            .map(|id| (*id).clone())
            .collect();
    }
    if text.is_empty() || found.is_empty() {
        return Err(AddressError::NotFound(text.to_owned()));
    }
    if text.chars().count() < shortest {
        return Err(AddressError::TooShort(text.to_owned()));
    }
    only_one(tree, text, found)?.ok_or_else(|| AddressError::NotFound(text.to_owned()))
}

/// Entries under a name: letter by letter, else without regard to case.
fn named(names: &[(&EntryId, &str)], text: &str) -> Vec<EntryId> {
    let with = |same: &dyn Fn(&str) -> bool| -> Vec<EntryId> {
        names.iter().filter(|(_, name)| same(name.trim())).map(|(id, _)| (*id).clone()).collect()
    };
    let exact = with(&|name| name == text);
    if exact.is_empty() { with(&|name| name.to_lowercase() == text.to_lowercase()) } else { exact }
}

fn only_one(
    tree: &SessionTree,
    text: &str,
    mut found: Vec<EntryId>,
) -> Result<Option<EntryId>, AddressError> {
    found.retain(|id| tree.contains(id));
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        several => {
            let short = ShortIds::of(tree);
            Err(AddressError::Ambiguous {
                text: text.to_owned(),
                candidates: several.iter().take(CANDIDATES).map(|id| short.get(id)).collect(),
                total: several.len(),
            })
        }
    }
}

fn place(branch: &Option<String>, last: &Option<usize>, sign: &str) -> String {
    match (branch, last) {
        (Some(branch), Some(last)) => format!("on branch `{branch}`, which ends at `{sign}{last}`"),
        (None, Some(last)) => format!("on the active branch, which ends at `{sign}{last}`"),
        (_, None) => "on the active branch, which is empty".to_owned(),
    }
}

fn listed(candidates: &[String], total: usize) -> String {
    let names: Vec<String> = candidates.iter().map(|candidate| format!("`{candidate}`")).collect();
    let more = total.saturating_sub(candidates.len());
    match names.as_slice() {
        names if more > 0 => format!("{} and {more} more", names.join(", ")),
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.join(", "),
    }
}
