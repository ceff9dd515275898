//! Titles that a program keeps beside its sessions: Claude Code in an older `sessions-index.json`, Codex in
//! `session_index.jsonl`. What the session's own file says counts more.
//!
//! A program forgets such a title together with its session, so the archive keeps those that were seen, and the states of
//! the lists.

use std::path::{Path, PathBuf};

use offshoot_session::{Change, Fact, Record, SessionTree, TitleSource};
use offshoot_transcripts::claude::read_index;
use offshoot_transcripts::codex::thread_names;

use crate::archive::Archive;
use crate::beside::{is_top_of_codex, names_of_codex};

const INDEX_OF_CLAUDE: &str = "sessions-index.json";
pub(crate) const INDEX_OF_CODEX: &str = "session_index.jsonl";
/// All names of such lists.
pub(crate) const INDEXES: [&str; 2] = [INDEX_OF_CLAUDE, INDEX_OF_CODEX];

/// A title, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitleBeside {
    /// As headers name the program.
    pub agent: String,
    pub session: String,
    pub title: String,
    pub source: TitleSource,
}

/// Whether a file is such a list, by its name.
pub(crate) fn is_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| INDEXES.iter().any(|index| name == *index))
}

/// Beside a folder in which Codex keeps sessions.
pub(crate) fn index_beside(folder: &Path) -> Option<PathBuf> {
    is_top_of_codex(folder).then(|| folder.with_file_name(INDEX_OF_CODEX))
}

/// What a list says. One that cannot be read says nothing.
pub(crate) fn titles_in(path: &Path, bytes: &[u8]) -> Vec<TitleBeside> {
    let of = |agent: &str, session: String, title: String, source: TitleSource| {
        let title = TitleBeside { agent: agent.to_owned(), session, title, source };
        Some(title).filter(|told| !told.title.trim().is_empty())
    };
    if path.file_name().is_some_and(|name| name == INDEX_OF_CODEX) {
        let names = thread_names(bytes).into_iter();
        return names.filter_map(|(id, name)| of("codex", id, name.name, TitleSource::User)).collect();
    }
    let records = read_index(bytes).unwrap_or_default().into_iter().filter(|record| !record.is_sidechain);
    records
        .filter_map(|record| match (record.custom_title, record.summary) {
            (Some(title), _) => of("claude-code", record.session, title, TitleSource::User),
            (None, Some(title)) => of("claude-code", record.session, title, TitleSource::Auto),
            (None, None) => None,
        })
        .collect()
}

/// The tree with the title that stands beside its file, where it has none of its own.
pub fn titled(path: &Path, mut tree: SessionTree, archive: Option<&Archive>) -> SessionTree {
    if tree.title().is_none()
        && let Some(header) = tree.header()
        && let Some(told) = title_of(path, header.agent.as_deref(), header.id.as_str(), archive)
    {
        let mark = Record::marked(header.opened_at, told.fact());
        drop(tree.apply(&mark)); // a title needs nothing that could be missing
    }
    tree
}

/// The same for what a file says.
pub(crate) fn with_title(path: &Path, mut records: Vec<Record>, archive: Option<&Archive>) -> Vec<Record> {
    let is_title = |record: &Record| {
        let Change::Marked(mark) = &record.change else { return false };
        matches!(&mark.fact, Fact::Title { title: Some(title), .. } if !title.trim().is_empty())
    };
    let header = records.iter().find_map(|record| match &record.change {
        Change::Opened(header) => Some(header),
        Change::Entry(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
    });
    if let Some(header) = header.filter(|_| !records.iter().any(is_title))
        && let Some(told) = title_of(path, header.agent.as_deref(), header.id.as_str(), archive)
    {
        let mark = Record::marked(header.opened_at, told.fact());
        records.push(mark);
    }
    records
}

fn title_of(
    path: &Path,
    agent: Option<&str>,
    session: &str,
    archive: Option<&Archive>,
) -> Option<TitleBeside> {
    let index = index_of(&std::path::absolute(path).ok()?, agent?)?;
    let of_session = |told: &TitleBeside| told.session == session && Some(told.agent.as_str()) == agent;
    let told_in = |bytes: Vec<u8>| titles_in(&index, &bytes).into_iter().rfind(of_session);
    let now = crate::private::read_foreign(&index).ok().and_then(told_in);
    let kept = || archive?.titles().into_iter().rfind(of_session);
    now.or_else(kept).or_else(|| archive?.states_of(&index).find_map(told_in))
}

fn index_of(path: &Path, agent: &str) -> Option<PathBuf> {
    match agent {
        "claude-code" => Some(path.with_file_name(INDEX_OF_CLAUDE)),
        "codex" => Some(names_of_codex(path)),
        _ => None,
    }
}

impl TitleBeside {
    fn fact(&self) -> Fact {
        Fact::Title { title: Some(self.title.clone()), source: self.source }
    }
}
