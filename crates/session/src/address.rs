//! Naming a point of the tree, as people type it.
//!
//! | text | names |
//! |---|---|
//! | `#5`, `5` | the fifth turn of the active path; where that has none, the only fifth turn of the tree. A plain number is never anything else |
//! | `id:…` | the entry with this id, or with an id that begins so, whatever it looks like |
//! | a full id | that entry |
//! | `m:3` | the message with index 3 of the active path, counting prompts, replies and tool results from 0 |
//! | `head` | where the next message goes |
//! | a label | the entry that carries it |
//! | a branch name | the branch that begins with the entry that carries it |
//! | the beginning of an id | that entry, if three characters or more fit only one |
//!
//! The first line that fits decides; two fits in one line are an error, never a guess. Labels, names and ids are
//! compared letter by letter, then without regard to case.
//!
//! What a request does with a named point depends on what it wants ([`Want`]): [`resolve_point`] is the one function that
//! answers that, for every command and request. A number, a label, a branch name and the id of a prompt address a *turn*.

use std::sync::Arc;

use thiserror::Error;

use crate::outline::turns_of;
use crate::versions::turn_prompt;
use crate::{Body, Entry, EntryId, Note, SessionTree};

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

/// A point as a request names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// What a person typed.
    Text(String),
    /// Exactly the entry that this text names, even where it addresses a turn.
    Exact(String),
    /// A full id, as programs give it.
    Entry(EntryId),
}

/// What a request needs of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Where the turn ends: the last entry of its answer on the way last visited, without the settings, clears and
    /// summaries behind it, which belong to what follows.
    End,
    /// The prompt of the turn that the point addresses or belongs to.
    Turn,
    /// The first entry of the branch: under its name the entry that carries it.
    Branch,
    /// The entry to pick: the prompt of an addressed turn, else exactly the entry.
    Selection,
}

impl From<&str> for Point {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// The entry that a request means by a point.
pub fn resolve_point(tree: &SessionTree, point: &Point, want: Want) -> Result<EntryId, AddressError> {
    let named = match point {
        Point::Text(text) => named_by(tree, text)?,
        Point::Exact(text) => Named::Entry(tip_of(tree, named_by(tree, text)?)),
        Point::Entry(id) if tree.contains(id) => Named::Entry(id.clone()),
        Point::Entry(id) => return Err(AddressError::NotFound(id.to_string())),
    };
    Ok(match want {
        Want::End => match named {
            Named::Turn(prompt) => end_of_turn(tree, &prompt),
            Named::Branch(first) => end_of_branch(tree, &first),
            Named::Entry(at) => at,
        },
        Want::Turn => {
            let at = tip_of(tree, named);
            turn_prompt(tree, &at).map_or(at, |prompt| prompt.id.clone())
        }
        Want::Branch => match named {
            Named::Turn(at) | Named::Branch(at) | Named::Entry(at) => at,
        },
        Want::Selection => match named {
            Named::Branch(first) => {
                let end = end_of_branch(tree, &first);
                turn_prompt(tree, &end).map_or(end, |prompt| prompt.id.clone())
            }
            Named::Turn(at) | Named::Entry(at) => at,
        },
    })
}

/// The last entry of the answer to a prompt, on the way last visited; the prompt itself where it has none. Where nobody has
/// been, the newest way counts.
pub fn end_of_turn(tree: &SessionTree, prompt: &EntryId) -> EntryId {
    let Some(first) = first_of_answer(tree, prompt) else { return prompt.clone() };
    let mut end = first.id.clone();
    let mut at = next_below(tree, &end);
    while let Some(entry) = at.filter(|entry| !entry.body.is_prompt()) {
        if is_part_of_answer(&entry.body) {
            end = entry.id.clone();
        }
        at = next_below(tree, &entry.id);
    }
    end
}

/// Where an answer to a prompt begins. A head that was left between a prompt and its answer, to send something else there
/// or to change a setting, leads to none: then the newest answer counts.
fn first_of_answer<'t>(tree: &'t SessionTree, prompt: &EntryId) -> Option<&'t Arc<Entry>> {
    let visited = std::iter::successors(next_below(tree, prompt), |entry| next_below(tree, &entry.id));
    let visited = visited.take_while(|entry| !entry.body.is_prompt());
    let newest = || {
        let mut open = tree.children(Some(prompt));
        while let Some(entry) = open.pop() {
            if is_part_of_answer(&entry.body) {
                return Some(entry);
            }
            if !entry.body.is_prompt() {
                open.extend(tree.children(Some(&entry.id)));
            }
        }
        None
    };
    visited.into_iter().find(|entry| is_part_of_answer(&entry.body)).or_else(newest)
}

fn next_below<'t>(tree: &'t SessionTree, at: &EntryId) -> Option<&'t Arc<Entry>> {
    tree.remembered_child(Some(at)).or_else(|| tree.children(Some(at)).pop())
}

/// The end of the last turn on the way last visited below the first entry of a branch.
fn end_of_branch(tree: &SessionTree, first: &EntryId) -> EntryId {
    let Some(tip) = tree.remembered_leaf(first) else { return first.clone() };
    match turn_prompt(tree, &tip.id) {
        Some(prompt) => end_of_turn(tree, &prompt.id),
        None => tip.id.clone(),
    }
}

/// Everything that a turn leaves behind. What stands behind it and is none of this changes what follows.
fn is_part_of_answer(body: &Body) -> bool {
    match body {
        Body::Reply(_)
        | Body::ToolResult(_)
        | Body::Shell(_)
        | Body::Interrupted(_)
        | Body::CustomMessage(_)
        | Body::Merge(_)
        | Body::ContextEdit(_)
        | Body::Foreign(_) => true,
        Body::Prompt(_)
        | Body::Setting(_)
        | Body::Cleared
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::System(_)
        | Body::Note(_) => false,
    }
}

/// What a text names.
enum Named {
    /// A turn, by its prompt.
    Turn(EntryId),
    /// A branch, by the entry that carries its name.
    Branch(EntryId),
    Entry(EntryId),
}

fn tip_of(tree: &SessionTree, named: Named) -> EntryId {
    match named {
        Named::Turn(at) | Named::Entry(at) => at,
        Named::Branch(first) => tree.remembered_leaf(&first).map_or(first, |leaf| leaf.id.clone()),
    }
}

fn named_by(tree: &SessionTree, text: &str) -> Result<Named, AddressError> {
    let text = text.trim();
    if let Some(number) = numbered(text, "#").or_else(|| numbered(text, "")) {
        return turn(tree, number).map(Named::Turn);
    }
    // The id of a prompt stands for its turn, as it does in a list of turns.
    let by_id = |id: EntryId| match tree.entry(&id).is_some_and(|entry| entry.body.is_prompt()) {
        true => Named::Turn(id),
        false => Named::Entry(id),
    };
    if let Some(id) = text.strip_prefix("id:") {
        return by_exact_id(tree, id).map_or_else(|| by_prefix(tree, id, 1), Ok).map(by_id);
    }
    if let Some(id) = by_exact_id(tree, text) {
        return Ok(by_id(id));
    }
    if let Some(index) = numbered(text, "m:") {
        return message(tree, index).map(Named::Entry);
    }
    if text == "head" {
        return tree.main_head().cloned().map(Named::Entry).ok_or(AddressError::NoHead);
    }
    if let Some(id) = only_one(tree, text, named(&tree.labels(), text))? {
        return Ok(by_id(id));
    }
    if let Some(id) = only_one(tree, text, named(&tree.branch_names(), text))? {
        return Ok(Named::Branch(id));
    }
    by_prefix(tree, text, SHORTEST_PREFIX).map(by_id)
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
    let on_path = wanted.and_then(|wanted| turns.iter().find(|turn| turn.number == wanted));
    if let Some(prompt) = on_path.and_then(|turn| turn.prompt()) {
        return Ok(prompt.id.clone());
    }
    let elsewhere = wanted.map(|wanted| turns_numbered(tree, wanted)).unwrap_or_default();
    only_one(tree, &format!("#{number}"), elsewhere)?.ok_or_else(|| AddressError::NoTurn {
        number: number.to_owned(),
        branch: active_branch(tree).map(String::from),
        last_turn: turns.last().map(|turn| turn.number).filter(|number| *number > 0),
    })
}

/// The turns of the tree with this number, archived ones and those of sub-agents left out.
fn turns_numbered(tree: &SessionTree, wanted: usize) -> Vec<EntryId> {
    let mut found = Vec::new();
    let mut open: Vec<(&Arc<Entry>, usize)> = tree.roots().into_iter().map(|root| (root, 0)).collect();
    open.reverse();
    while let Some((entry, above)) = open.pop() {
        let is_sub_agent = matches!(&entry.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
        if is_sub_agent || tree.is_archived(&entry.id) {
            continue;
        }
        let number = above + usize::from(entry.body.is_prompt());
        if number == wanted && entry.body.is_prompt() {
            found.push(entry.id.clone());
        } else if number <= wanted {
            open.extend(tree.children(Some(&entry.id)).into_iter().rev().map(|child| (child, number)));
        }
    }
    found
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
