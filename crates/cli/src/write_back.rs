//! A title for Claude Code: one line appended to the session's own file, and the same title in the older
//! `sessions-index.json` of the project, if that exists and lists the session. Nothing else of other programs is ever
//! written to, and this only on request.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use offshoot_engine::installed::write_claude_title;
use offshoot_session::file_name::file_name;
use offshoot_session::{SessionId, SessionTree};
use offshoot_transcripts::claude::listing;
use offshoot_transcripts::{Dialect, read};

use crate::failure::Failure;
use crate::here::agent_home;
use crate::session_file::cannot_read;
use crate::words;

/// The file in which Claude Code keeps a session.
pub(crate) fn file_of(id: &SessionId) -> Result<PathBuf, Failure> {
    let projects = agent_home("CLAUDE_CONFIG_DIR", ".claude").map(|home| home.join("projects"));
    let folders =
        projects.and_then(|projects| std::fs::read_dir(projects).ok()).into_iter().flatten().flatten();
    let mut files = folders.map(|folder| folder.path().join(format!("{}.jsonl", file_name(id.as_str()))));
    files
        .find(|file| file.is_file())
        .ok_or_else(|| Failure::not_found(words::no_file_of_claude(id)).hint(words::NO_FILE_OF_CLAUDE_HINT))
}

/// The files of the agent sessions that the branches of a session are bound to.
pub(crate) fn files_of_bindings(tree: &SessionTree) -> Vec<PathBuf> {
    let of_claude = tree.bindings().filter_map(|(_, binding)| {
        let is_of_claude = binding.agent.as_deref() == Some("claude-code");
        binding.agent_session.as_ref().filter(|_| is_of_claude)
    });
    let sessions: BTreeSet<&str> = of_claude.map(|session| session.as_str()).collect();
    sessions.into_iter().filter_map(|session| file_of(&session.into()).ok()).collect()
}

/// Returns whether anything was written. An empty title takes the name away.
pub(crate) fn tell(file: &Path, title: &str) -> Result<bool, Failure> {
    let bytes = offshoot_store::private::read_foreign(file).map_err(|error| cannot_read(file, &error))?;
    let name = file.file_name().map(|name| name.to_string_lossy());
    if !read(name.as_deref(), &bytes).is_ok_and(|transcript| transcript.dialect == Dialect::ClaudeCode) {
        return Err(Failure::refused(words::not_of_claude(file)));
    }
    let told = listing(&bytes);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let session = told.session.as_deref().unwrap_or(&stem);
    write_claude_title(file, &session.into(), title)
        .map_err(|error| Failure::failed(words::reading::not_written(file, &error)))
}
