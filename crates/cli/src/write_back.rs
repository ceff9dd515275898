//! A title for Claude Code: one line behind all others of its own file. Nothing else of other programs is ever written
//! to, and this only on request.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use offshoot_session::SessionId;
use offshoot_session::file_name::file_name;
use offshoot_transcripts::claude::{listing, title_line};
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

/// Says whether there was anything to tell. An empty title takes the name away.
pub(crate) fn tell(file: &Path, title: &str) -> Result<bool, Failure> {
    let bytes = offshoot_store::private::read_foreign(file).map_err(|error| cannot_read(file, &error))?;
    let name = file.file_name().map(|name| name.to_string_lossy());
    if !read(name.as_deref(), &bytes).is_ok_and(|transcript| transcript.dialect == Dialect::ClaudeCode) {
        return Err(Failure::refused(words::not_of_claude(file)));
    }
    let told = listing(&bytes);
    if told.name.as_deref().unwrap_or_default() == title {
        return Ok(false);
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut line = title_line(told.session.as_deref().unwrap_or(&stem), title);
    if !bytes.ends_with(b"\n") {
        line.insert(0, b'\n'); // a line that broke off stays a line of its own
    }
    let failed = |error: std::io::Error| Failure::failed(words::reading::not_written(file, &error));
    // One write behind whatever is there by now: the program may be writing too.
    let mut file = OpenOptions::new().append(true).open(file).map_err(failed)?;
    file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed)?;
    Ok(true)
}
