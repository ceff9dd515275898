//! Long files of Claude Code and Codex: their shape is read, and of what was said only what is looked at.

use std::collections::HashSet;
use std::path::Path;

use offshoot_session::about::prompts;
use offshoot_session::outline::{TurnOutline, TurnTreeRow, one_line};
use offshoot_session::{Body, EntryId, Odd, Oddity, SessionTree, ToolCallId};
use offshoot_store::ending::{Ending, Last, ending};
use offshoot_store::titles_beside::titled;
use offshoot_store::{LightSession, beside};

use crate::here::Here;
use crate::opened::Opened;
use crate::session_file::{Forgiven, SessionFile, absolute, notes_on};
use crate::which::Which;
use crate::{database, long};

/// `None` where the file is short, of another program, or changes while it is read: then it is for the whole reading.
pub(crate) fn light_session(here: &Here, which: &Which) -> Option<LightSession> {
    let path = long_file(which)?;
    let name = absolute(path);
    let agents = beside::agents(&name, here.archive().as_ref())?;
    LightSession::open_with(path, &name, &agents).ok()
}

/// The last turns of a session of Claude Code. `None` where its whole shape has to be known.
pub(crate) fn last_turns(here: &Here, which: &Which, last: Last) -> Option<Ending> {
    let path = long_file(which)?;
    let name = absolute(path);
    if !beside::agents(&name, here.archive().as_ref())?.is_empty() {
        return None;
    }
    let ending = ending(path, &name, last).ok()??;
    Some(Ending { tree: titled(path, ending.tree, here.archive().as_ref()), ..ending })
}

fn long_file(which: &Which) -> Option<&Path> {
    let Which::File(path) = which else { return None };
    let is_one = database::named(path).is_none() && long::is_long(path) && !beside::continues_another(path);
    is_one.then_some(path)
}

/// The session with the words of some entries, and of those that name it.
pub(crate) fn opened(here: &Here, session: &LightSession, mut words_of: Vec<EntryId>) -> Option<Opened> {
    words_of.extend(first_prompt(session.tree()));
    let tree = titled(session.path(), session.tree_with(&words_of).ok()?, here.archive().as_ref());
    Some(Opened { tree, notes: notes_on(&oddities(session), session.grew()) })
}

/// The same as a file with its facts.
pub(crate) fn file(here: &Here, which: &Which) -> Option<SessionFile> {
    let Which::File(path) = which else { return None };
    let session = light_session(here, which)?;
    let Opened { tree, notes } = opened(here, &session, Vec::new())?;
    let (bytes, lines) = session.size();
    let (bytes, oddities) = (usize::try_from(bytes).ok()?, oddities(&session));
    Some(SessionFile {
        path: path.clone(),
        bytes,
        lines,
        dialect: session.dialect().name(),
        unknown_types: session.unknown_types().iter().map(|(kind, count)| (kind.clone(), *count)).collect(),
        oddities: oddities.iter().map(Forgiven::from).collect(),
        notes,
        tree,
    })
}

fn oddities(session: &LightSession) -> Vec<Oddity> {
    let grew = session.grew().map(|grew| Oddity::new(Odd::Repaired(grew.to_string())));
    session.oddities().iter().cloned().chain(grew).collect()
}

/// What stands for a title where there is none.
fn first_prompt(tree: &SessionTree) -> Option<EntryId> {
    let says_something = |id: &EntryId| tree.entry(id).is_some_and(|entry| !one_line(&entry.body).is_empty());
    if tree.title().is_some() {
        return None;
    }
    prompts(tree).into_iter().map(|prompt| prompt.id.clone()).find(says_something)
}

/// The entries whose words stand in a tree with one row per turn.
pub(crate) fn told_in_rows(tree: &SessionTree) -> Vec<EntryId> {
    let rows = TurnOutline::of(tree).rows.into_iter().filter_map(|row| match row {
        TurnTreeRow::Turn(row) => Some(row.entry),
        TurnTreeRow::Folded(_) => None,
    });
    with_calls(tree, rows.collect())
}

/// These entries, and the replies that called for what tools answered in them.
pub(crate) fn with_calls(tree: &SessionTree, mut entries: Vec<EntryId>) -> Vec<EntryId> {
    let answered: HashSet<&ToolCallId> = entries
        .iter()
        .filter_map(|id| match &tree.entry(id)?.body {
            Body::ToolResult(result) => Some(&result.call),
            _ => None,
        })
        .collect();
    let calls = tree.entries().filter(|entry| match &entry.body {
        Body::Reply(reply) => reply.tool_uses().any(|call| answered.contains(&call.id)),
        _ => false,
    });
    let calls: Vec<EntryId> = calls.map(|entry| entry.id.clone()).collect();
    entries.extend(calls);
    entries
}
