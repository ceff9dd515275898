//! Titles that a program keeps beside its sessions: Claude Code in an older `sessions-index.json`, Codex in
//! `session_index.jsonl`. What the session's own file says counts more. A program that deletes a session may take its
//! line out of that list, so the states that are kept of it are asked too, the newest first.

use std::path::{Path, PathBuf};

use offshoot_session::{Fact, Record, SessionTree, TitleSource};
use offshoot_store::Archive;
use offshoot_store::beside::names_of_codex;
use offshoot_transcripts::claude::read_index;
use offshoot_transcripts::codex::thread_names;

/// The tree with the title that stands beside its file, where it has none of its own. `path` is where its program has
/// it, or had it.
pub(crate) fn titled(path: &Path, mut tree: SessionTree, archive: Option<&Archive>) -> SessionTree {
    if tree.title().is_none()
        && let Some(header) = tree.header()
        && let Some((title, source)) = title_of(path, header.agent.as_deref(), header.id.as_str(), archive)
    {
        let mark = Record::marked(header.opened_at, Fact::Title { title: Some(title), source });
        drop(tree.apply(&mark)); // a title needs nothing that could be missing
    }
    tree
}

type Title = (String, TitleSource);

/// What a list of titles says of a session.
type TitleIn = fn(&[u8], &str) -> Option<Title>;

fn title_of(path: &Path, agent: Option<&str>, session: &str, archive: Option<&Archive>) -> Option<Title> {
    let path = std::path::absolute(path).ok()?;
    let (index, title_in): (PathBuf, TitleIn) = match agent? {
        "claude-code" => (path.with_file_name("sessions-index.json"), in_index_of_claude),
        "codex" => (names_of_codex(&path), in_index_of_codex),
        _ => return None,
    };
    let there = std::fs::read(&index).ok().and_then(|bytes| title_in(&bytes, session));
    there.or_else(|| archive?.states_of(&index).find_map(|bytes| title_in(&bytes, session)))
}

fn in_index_of_claude(index: &[u8], session: &str) -> Option<Title> {
    let records = read_index(index).ok()?;
    let record = records.into_iter().rfind(|record| record.session == session && !record.is_sidechain)?;
    let by_user = record.custom_title.map(|title| (title, TitleSource::User));
    by_user.or_else(|| record.summary.map(|title| (title, TitleSource::Auto)))
}

fn in_index_of_codex(index: &[u8], thread: &str) -> Option<Title> {
    let name = thread_names(index).remove(thread)?.name;
    Some((name, TitleSource::User)).filter(|(name, _)| !name.trim().is_empty())
}
