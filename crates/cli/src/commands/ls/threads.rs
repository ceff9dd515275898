//! Sessions in the order of a list: a thread is a session and all that came from it, and the thread that was
//! written in last comes first.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;

use jiff::Timestamp;
use offshoot_session::SessionId;
use offshoot_session::graph::SessionGraph;

use super::listed::Listed;
use crate::naming::{self, Name};

#[derive(Debug)]
pub(super) struct Row {
    pub(super) session: Listed,
    pub(super) depth: usize,
    pub(super) parent: Option<String>,
    /// What names it: as much of the id as tells it from the others.
    pub(super) called: String,
}

/// The ids of all sessions, also of those that are not listed, with the first of each that has it.
#[derive(Debug, Default)]
pub(super) struct Names {
    keys: HashMap<String, i64>,
    /// Names under which sessions of other programs are known here.
    aliases: HashMap<String, String>,
    /// Of the sessions that begin with the same words at the same moments, the one that was opened first.
    origins: HashMap<i64, (String, i64)>,
    /// What a session is called, where that is not its id.
    called: HashMap<i64, String>,
}

impl Names {
    /// `aside` are those that no list shows, and that can be named all the same.
    pub(super) fn of(sessions: &[Listed], aside: Vec<Name>, ids: Ids) -> Self {
        let (mut keys, mut aliases) = (HashMap::new(), HashMap::new());
        let mut twice: HashSet<&str> = HashSet::new();
        for session in sessions {
            if *keys.entry(session.id.clone()).or_insert(session.key) != session.key {
                twice.insert(&session.id);
            }
            // what was forked here names it as it is called here
            if let Some(id) = &session.changed_as {
                aliases.entry(id.clone()).or_insert_with(|| session.id.clone());
            }
        }
        let origins = origins(sessions);
        // most ids name one session, and whole they need nothing else
        let is_to_be_called = |session: &&Listed| ids == Ids::Short || twice.contains(session.id.as_str());
        let sessions: Vec<&Listed> = sessions.iter().filter(is_to_be_called).collect();
        let all: Vec<Name> = sessions.iter().map(|session| session.name()).chain(aside).collect();
        let called = match ids {
            Ids::Short => naming::short(&all),
            Ids::Whole => naming::whole(&all),
        };
        let called = sessions.iter().map(|session| session.key).zip(called).collect();
        Self { keys, aliases, origins, called }
    }

    /// The session that one of another program came from and does not say it. Our own say it where it is so.
    fn origin_of(&self, session: &Listed) -> Option<(&str, i64)> {
        if session.is_own {
            return None;
        }
        let (id, key) = self.origins.get(&session.about()?.beginning?)?;
        // several files of one id are one session
        (*id != session.id).then_some((id.as_str(), *key))
    }

    /// A header names its parent by id or by file; files are named after the session, often behind a time.
    fn meant(&self, named: &str) -> Option<(&str, i64)> {
        let known = |text: &str| self.keys.get_key_value(text).map(|(id, key)| (id.as_str(), *key));
        let alias = self.aliases.get(named).and_then(|id| known(id));
        if let Some(found) = known(named).or(alias) {
            return Some(found);
        }
        let stem = Path::new(named).file_stem()?.to_str()?;
        let ends = stem.match_indices('_').filter_map(|(at, _)| stem.get(at + 1..));
        std::iter::once(stem).chain(ends).find_map(known)
    }
}

fn origins(sessions: &[Listed]) -> HashMap<i64, (String, i64)> {
    let order = |session: &&Listed| {
        let opened_at = session.about().and_then(|about| about.opened_at);
        (opened_at, session.is_own, session.updated_at, session.path.clone())
    };
    let mut first: HashMap<i64, (&Listed, bool)> = HashMap::new();
    for session in sessions {
        let Some(beginning) = session.about().and_then(|about| about.beginning) else { continue };
        first
            .entry(beginning)
            .and_modify(|(first, is_shared)| {
                *first = std::cmp::min_by_key(*first, session, |one| order(one));
                *is_shared = true;
            })
            .or_insert((session, false));
    }
    let shared = first.into_iter().filter(|(_, (_, is_shared))| *is_shared);
    shared.map(|(beginning, (first, _))| (beginning, (first.id.clone(), first.key))).collect()
}

/// How much of an id is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    Short,
    Whole,
}

pub(super) fn threaded(mut sessions: Vec<Listed>, names: &Names) -> Vec<Row> {
    // in whatever order they were found
    sessions.sort_by(|one, other| {
        other.updated_at.cmp(&one.updated_at).then_with(|| one.path.as_os_str().cmp(other.path.as_os_str()))
    });
    let parents: HashMap<i64, (&str, i64)> = sessions
        .iter()
        .filter_map(|session| {
            let named = session.about()?.parent.as_deref();
            let stated = named.and_then(|named| names.meant(named));
            let parent = stated.filter(|(_, parent)| *parent != session.key);
            Some((session.key, parent.or_else(|| names.origin_of(session).filter(|_| named.is_none()))?))
        })
        .collect();
    let row = |session: Listed, depth: usize| Row {
        depth,
        parent: parents.get(&session.key).map(|(parent, _)| (*parent).to_owned()),
        called: names.called.get(&session.key).cloned().unwrap_or_else(|| session.id.clone()),
        session,
    };
    // most came from no other, and no other from them
    let related: HashSet<i64> = parents.iter().flat_map(|(key, (_, parent))| [*key, *parent]).collect();
    let (related, alone): (Vec<Listed>, Vec<Listed>) =
        sessions.into_iter().partition(|session| related.contains(&session.key));
    let mut threads: Vec<Vec<Row>> = alone.into_iter().map(|session| vec![row(session, 0)]).collect();
    // several files may tell of one id, so the graph is one of files
    let node = |key: i64| SessionId::from(key.to_string());
    let graph = SessionGraph::new(
        related
            .iter()
            .map(|session| (node(session.key), parents.get(&session.key).map(|(_, parent)| node(*parent)))),
    );
    let mut by_node: HashMap<SessionId, Listed> =
        related.into_iter().map(|session| (node(session.key), session)).collect();
    for line in graph.forest() {
        let Some(session) = by_node.remove(&line.session) else { continue };
        let row = row(session, line.depth);
        match threads.last_mut() {
            Some(thread) if line.depth > 0 => thread.push(row),
            _ => threads.push(vec![row]),
        }
    }
    threads.sort_by(|one, other| {
        newest(other).cmp(&newest(one)).then_with(|| first_path(one).cmp(&first_path(other)))
    });
    threads.into_iter().flatten().collect()
}

fn newest(thread: &[Row]) -> Option<Timestamp> {
    thread.iter().map(|row| row.session.updated_at).max()
}

fn first_path(thread: &[Row]) -> Option<&OsStr> {
    thread.first().map(|row| row.session.path.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ids: &[&str]) -> Names {
        let keys = (1..).zip(ids).map(|(key, id)| ((*id).to_owned(), key)).collect();
        Names { keys, ..Names::default() }
    }

    #[test]
    fn a_parent_is_known_by_its_id_or_its_file() {
        let names = names(&["6f2a91", "20250304_140000_abcdef"]);
        let found = |named| names.meant(named).map(|(id, _)| id.to_owned());
        assert_eq!(found("6f2a91").as_deref(), Some("6f2a91"));
        assert_eq!(found("/a/2025-03-04T14-00-00-000Z_6f2a91.jsonl").as_deref(), Some("6f2a91"));
        assert_eq!(found("20250304_140000_abcdef.jsonl").as_deref(), Some("20250304_140000_abcdef"));
        assert_eq!(found("/a/gone.jsonl"), None);
        assert_eq!(found(""), None);
    }
}
