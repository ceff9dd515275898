//! Sessions in the order of a list: a thread is a session and all that came from it, and the thread that was
//! written in last comes first.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use offshoot_session::SessionId;
use offshoot_session::graph::SessionGraph;

use super::listed::Listed;

/// Ids of sessions are not shown shorter than this.
const SHORT_ID: usize = 6;

#[derive(Debug)]
pub(super) struct Row {
    pub(super) session: Listed,
    pub(super) depth: usize,
    pub(super) parent: Option<SessionId>,
    /// As much of the id as tells it from the others.
    pub(super) short_id: String,
}

/// `ids` are those of all sessions, also of those that are not listed.
pub(super) fn threaded(mut sessions: Vec<Listed>, ids: &HashSet<SessionId>) -> Vec<Row> {
    sessions.sort_by_key(|session| Reverse(session.updated_at));
    let parents: HashMap<SessionId, SessionId> = sessions
        .iter()
        .filter_map(|session| {
            let named = session.about()?.parent.as_deref()?;
            Some((session.id.clone(), meant(named, ids).filter(|parent| *parent != session.id)?))
        })
        .collect();
    let graph = SessionGraph::new(
        sessions.iter().map(|session| (session.id.clone(), parents.get(&session.id).cloned())),
    );
    let short_ids = short_ids(ids);
    let mut by_id: HashMap<SessionId, Listed> =
        sessions.into_iter().map(|session| (session.id.clone(), session)).collect();
    let mut threads: Vec<Vec<Row>> = Vec::new();
    for line in graph.forest() {
        let Some(session) = by_id.remove(&line.session) else { continue };
        let row = Row {
            depth: line.depth,
            parent: parents.get(&session.id).cloned(),
            short_id: short_ids.get(&session.id).cloned().unwrap_or_default(),
            session,
        };
        match threads.last_mut() {
            Some(thread) if line.depth > 0 => thread.push(row),
            _ => threads.push(vec![row]),
        }
    }
    threads.sort_by_key(|thread| Reverse(thread.iter().map(|row| row.session.updated_at).max()));
    threads.into_iter().flatten().collect()
}

/// A header names its parent by id or by file; files are named after the session, often behind a time.
fn meant(named: &str, ids: &HashSet<SessionId>) -> Option<SessionId> {
    let known = |text: &str| ids.get(&SessionId::from(text)).cloned();
    if let Some(id) = known(named) {
        return Some(id);
    }
    let stem = Path::new(named).file_stem()?.to_str()?;
    let ends = stem.match_indices('_').filter_map(|(at, _)| stem.get(at + 1..));
    std::iter::once(stem).chain(ends).find_map(known)
}

/// An id shares most with its neighbours in sorted order.
fn short_ids(ids: &HashSet<SessionId>) -> HashMap<SessionId, String> {
    let mut sorted: Vec<&SessionId> = ids.iter().collect();
    sorted.sort();
    let shared = |one: Option<&&SessionId>, other: &SessionId| {
        let pairs = one.map(|one| one.as_str().chars().zip(other.as_str().chars()));
        pairs.map_or(0, |pairs| pairs.take_while(|(one, other)| one == other).count())
    };
    sorted
        .iter()
        .enumerate()
        .map(|(at, id)| {
            let before = at.checked_sub(1).and_then(|before| sorted.get(before));
            let most = shared(before, id).max(shared(sorted.get(at + 1), id));
            let short = id.as_str().chars().take(SHORT_ID.max(most + 1)).collect();
            ((*id).clone(), short)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> HashSet<SessionId> {
        ids.iter().map(|id| SessionId::from(*id)).collect()
    }

    #[test]
    fn a_parent_is_known_by_its_id_or_its_file() {
        let ids = ids(&["6f2a91", "20250304_140000_abcdef"]);
        let found = |named| meant(named, &ids).map(|id| id.to_string());
        assert_eq!(found("6f2a91").as_deref(), Some("6f2a91"));
        assert_eq!(found("/a/2025-03-04T14-00-00-000Z_6f2a91.jsonl").as_deref(), Some("6f2a91"));
        assert_eq!(found("20250304_140000_abcdef.jsonl").as_deref(), Some("20250304_140000_abcdef"));
        assert_eq!(found("/a/gone.jsonl"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn short_ids_tell_sessions_apart() {
        let short = short_ids(&ids(&["0195f3a1-aaaa", "0195f3a1-bbbb", "ffff0000-cccc", "ab"]));
        let mut short: Vec<&str> = short.values().map(String::as_str).collect();
        short.sort_unstable();
        assert_eq!(short, ["0195f3a1-a", "0195f3a1-b", "ab", "ffff00"]);
    }
}
