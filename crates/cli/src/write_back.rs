//! A title for Claude Code: one line appended to the session's own file, and the same title in the older
//! `sessions-index.json` of the project, if that exists and lists the session. Nothing else of other programs is ever
//! written to, and this only on request.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use offshoot_session::file_name::file_name;
use offshoot_session::{SessionId, SessionTree};
use offshoot_transcripts::claude::{listing, retitled_index, title_line};
use offshoot_transcripts::{Dialect, read};

use crate::failure::Failure;
use crate::here::agent_home;
use crate::output::replace;
use crate::session_file::cannot_read;
use crate::words;

const INDEX: &str = "sessions-index.json";
/// How often the index is read again because it changed between two readings.
const ATTEMPTS: usize = 5;

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
    let is_new = told.name.as_deref().unwrap_or_default() != title;
    if is_new {
        append_title(file, &bytes, session, title)?;
    }
    Ok(mirror(&file.with_file_name(INDEX), session, title)? || is_new)
}

fn append_title(file: &Path, bytes: &[u8], session: &str, title: &str) -> Result<(), Failure> {
    let mut line = title_line(session, title);
    if !bytes.ends_with(b"\n") {
        line.insert(0, b'\n'); // a line that broke off stays a line of its own
    }
    let failed = |error: std::io::Error| Failure::failed(words::reading::not_written(file, &error));
    // One write behind whatever is there by now: the program may be writing too.
    let mut file = OpenOptions::new().append(true).open(file).map_err(failed)?;
    file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed)
}

/// Puts the title into the index, which is replaced as a whole. An index that is missing, a link or not an index stays
/// as it is.
fn mirror(index: &Path, session: &str, title: &str) -> Result<bool, Failure> {
    let Ok(mode) = index.symlink_metadata().map(|about| about.permissions().mode() & 0o777) else {
        return Ok(false);
    };
    for _ in 0..ATTEMPTS {
        let Ok(before) = read_foreign_file(index) else { return Ok(false) };
        let Some(after) = retitled_index(&before, session, title) else { return Ok(false) };
        // Claude Code may have written the index meanwhile: then the title goes into what it wrote.
        if read_foreign_file(index).is_ok_and(|now| now == before) {
            let failed = |error| Failure::failed(words::reading::not_written(index, &error));
            return replace(index, &after, mode).map_err(failed).map(|()| true);
        }
    }
    Ok(false)
}

fn read_foreign_file(path: &Path) -> std::io::Result<Vec<u8>> {
    match path.symlink_metadata()?.file_type().is_file() {
        true => offshoot_store::private::read_foreign(path),
        false => Err(std::io::ErrorKind::InvalidInput.into()),
    }
}
