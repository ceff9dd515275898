//! A part of a long session, for which only that part is read.

use std::collections::HashSet;

use offshoot_session::address::{ShortIds, Want};
use offshoot_session::context::ContextOptions;
use offshoot_session::skeleton::{Kind, Skeleton};
use offshoot_session::{Body, EntryId, Note, ToolCallId};
use offshoot_store::{LazyError, LazySession};

use super::{Part, context, last_of};
use crate::Answer;
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::living::Running;
use crate::long::{keep_shape, named_by};
use crate::opened::point;

/// Replies that are read at once in the search for a tool call.
const REPLIES: usize = 64;

/// `None` where something is not as it should be: the whole reading says what.
pub(super) fn shown(
    args: &ShowArgs,
    mut session: LazySession,
    running: &Running,
    here: &Here,
) -> Option<Result<Answer, Failure>> {
    if session.tail().is_some() || (!args.context && has_sub_agents(&session).ok()?) {
        return None;
    }
    let at = match args.at.as_deref().map(|text| node_at(&session, text)).transpose() {
        Ok(at) => at,
        Err(failure) => return Some(Err(failure)),
    };
    let skeleton = session.skeleton();
    let place = at.and_then(|node| skeleton.id(node));
    let (text, tree) = match args.context {
        true => {
            let place = place.or_else(|| skeleton.id(skeleton.main_head()?));
            let tree = session.part(&[], &[]).ok()?;
            let options = ContextOptions::default();
            let read = match args.last {
                None => context::Read::all(session.read_context_at(place.as_ref(), &options).ok()?),
                Some(last) => {
                    context::Read::last(session.context_at(place.as_ref(), &options).ok()?, last).ok()?
                }
            };
            (read.told(&tree, place.as_ref(), args, &here.look), tree)
        }
        false => {
            let Page { entries, known_turn, read } = page(&session, at, args).ok()?;
            let tree = session.part(&entries, &read).ok()?;
            let for_people = args.json.json.is_none();
            let short_ids = ShortIds::among(session.skeleton().ids().filter(|_| for_people));
            let text = Part { tree: &tree, short_ids, known_turn, running }.told(place.as_ref(), args, here);
            (text, tree)
        }
    };
    keep_shape(&session);
    // The process ends now; freeing an allocation for every field of thousands of entries would only delay that.
    std::mem::forget((tree, session));
    Some(Ok(Answer { text, ..Answer::default() }))
}

/// The entry that a person means: where a turn that is named ends.
fn node_at(session: &LazySession, text: &str) -> Result<u32, Failure> {
    let id = point(&session.hollow_tree(), &text.into(), Want::End)?;
    let node = session.skeleton().node(&id);
    node.ok_or_else(|| Failure::not_found(LazyError::NotFound(id).to_string()))
}

struct Page {
    /// A piece of a path, and the entry above it.
    entries: Vec<u32>,
    /// An entry of it, and the number of its turn.
    known_turn: Option<(EntryId, usize)>,
    read: Vec<u32>,
}

fn page(session: &LazySession, at: Option<u32>, args: &ShowArgs) -> Result<Page, LazyError> {
    let skeleton = session.skeleton();
    let is_for_scripts = args.json.json.is_some();
    let tip = match at {
        Some(at) if !is_for_scripts => Some(tip_below(skeleton, at)),
        at => at.or(skeleton.main_head()),
    };
    let path = skeleton.path_to(tip);
    let shown = match at {
        _ if is_for_scripts => last_of(&path, args.last),
        Some(at) => turn_around(skeleton, &path, at),
        None => {
            let turns = turn_starts(skeleton, &path);
            let first = last_of(&turns, args.last).first().copied().unwrap_or(path.len());
            path.get(first..).unwrap_or_default()
        }
    };
    let mut read = shown.to_vec();
    if !is_for_scripts {
        read.extend(calls_above(session, shown)?);
        read.extend(named_by(session)?);
    }
    let entries = shown.iter().copied().chain(shown.first().and_then(|first| skeleton.parent(*first)));
    let known_turn = shown.last().and_then(|last| {
        let number = skeleton.ancestors(Some(*last)).filter(|node| is_prompt(skeleton, *node)).count();
        Some((skeleton.id(*last)?, number))
    });
    Ok(Page { entries: entries.collect(), known_turn, read })
}

/// Where a task belongs is told by entries all over the session.
fn has_sub_agents(session: &LazySession) -> Result<bool, LazyError> {
    let skeleton = session.skeleton();
    let roots = skeleton.children(None).into_iter();
    let notes: Vec<u32> = roots.filter(|root| skeleton.kind(*root) == Some(Kind::Note)).collect();
    let is_start = |body: &Body| matches!(body, Body::Note(note) if note.kind == Note::SUB_AGENT);
    Ok(session.entries(&notes)?.iter().any(|entry| is_start(&entry.body)))
}

fn is_prompt(skeleton: &Skeleton, node: u32) -> bool {
    skeleton.kind(node) == Some(Kind::Prompt)
}

/// Where the branch through an entry ends: at the head, if that is below it, else at the place last visited.
fn tip_below(skeleton: &Skeleton, at: u32) -> u32 {
    let head = skeleton.main_head();
    if let Some(head) = head.filter(|_| skeleton.ancestors(head).any(|node| node == at)) {
        return head;
    }
    let below =
        |node: &u32| skeleton.remembered_child(Some(*node)).or_else(|| skeleton.children(Some(*node)).pop());
    std::iter::successors(Some(at), below).last().unwrap_or(at)
}

/// The places on a path where a turn begins; what stands before the first prompt is one too.
fn turn_starts(skeleton: &Skeleton, path: &[u32]) -> Vec<usize> {
    (0..path.len())
        .filter(|at| *at == 0 || path.get(*at).is_some_and(|node| is_prompt(skeleton, *node)))
        .collect()
}

fn turn_around<'p>(skeleton: &Skeleton, path: &'p [u32], at: u32) -> &'p [u32] {
    let place = path.iter().position(|node| *node == at).unwrap_or_default();
    let starts = turn_starts(skeleton, path);
    let begin = starts.iter().rfind(|start| **start <= place).copied().unwrap_or_default();
    let end = starts.iter().find(|start| **start > place).copied().unwrap_or(path.len());
    path.get(begin..end).unwrap_or_default()
}

/// Replies further up whose calls are answered on the page: a person may have spoken in between.
fn calls_above(session: &LazySession, shown: &[u32]) -> Result<Vec<u32>, LazyError> {
    let skeleton = session.skeleton();
    let mut open: HashSet<ToolCallId> = HashSet::new();
    let mut made: HashSet<ToolCallId> = HashSet::new();
    for entry in session.entries(shown)? {
        match &entry.body {
            Body::ToolResult(result) if !made.contains(&result.call) => {
                open.insert(result.call.clone());
            }
            Body::Reply(reply) => made.extend(reply.tool_uses().map(|call| call.id.clone())),
            _ => {}
        }
    }
    let mut found = Vec::new();
    let mut above = skeleton
        .ancestors(shown.first().and_then(|first| skeleton.parent(*first)))
        .filter(|node| skeleton.kind(*node) == Some(Kind::Reply));
    while !open.is_empty() {
        let replies: Vec<u32> = above.by_ref().take(REPLIES).collect();
        if replies.is_empty() {
            break;
        }
        for (node, entry) in replies.iter().zip(session.entries(&replies)?) {
            let Body::Reply(reply) = &entry.body else { continue };
            let before = open.len();
            reply.tool_uses().for_each(|call| {
                open.remove(&call.id);
            });
            if open.len() < before {
                found.push(*node);
            }
        }
    }
    Ok(found)
}
