//! Titles that a program keeps beside its sessions: Claude Code in an older `sessions-index.json`, Codex in
//! `session_index.jsonl`. What the session's own file says counts more.

use std::fs;
use std::path::{Path, PathBuf};

use offshoot_session::{Fact, Record, SessionTree, TitleSource};
use offshoot_transcripts::claude::read_index;
use offshoot_transcripts::codex::thread_names;

/// The tree with the title that stands beside its file, where it has none of its own.
pub(crate) fn titled(path: &Path, mut tree: SessionTree) -> SessionTree {
    if tree.title().is_none()
        && let Some(header) = tree.header()
        && let Some((title, source)) = title_of(path, header.agent.as_deref(), header.id.as_str())
    {
        let mark = Record::marked(header.opened_at, Fact::Title { title: Some(title), source });
        drop(tree.apply(&mark)); // a title needs nothing that could be missing
    }
    tree
}

fn title_of(path: &Path, agent: Option<&str>, session: &str) -> Option<(String, TitleSource)> {
    let path = std::path::absolute(path).ok()?;
    match agent? {
        "claude-code" => in_index_of_claude(&path.with_file_name("sessions-index.json"), session),
        "codex" => in_index_of_codex(&index_of_codex(&path), session),
        _ => None,
    }
}

fn in_index_of_claude(index: &Path, session: &str) -> Option<(String, TitleSource)> {
    let records = read_index(&fs::read(index).ok()?).ok()?;
    let record = records.into_iter().rfind(|record| record.session == session && !record.is_sidechain)?;
    let by_user = record.custom_title.map(|title| (title, TitleSource::User));
    by_user.or_else(|| record.summary.map(|title| (title, TitleSource::Auto)))
}

fn in_index_of_codex(index: &Path, thread: &str) -> Option<(String, TitleSource)> {
    let name = thread_names(&fs::read(index).ok()?).remove(thread)?.name;
    Some((name, TitleSource::User)).filter(|(name, _)| !name.trim().is_empty())
}

/// Beside the folder of sessions; for a rollout that lies elsewhere, beside it.
fn index_of_codex(path: &Path) -> PathBuf {
    let is_top = |folder: &&Path| folder.ends_with("sessions") || folder.ends_with("archived_sessions");
    path.ancestors().skip(1).find(is_top).unwrap_or(path).with_file_name("session_index.jsonl")
}
