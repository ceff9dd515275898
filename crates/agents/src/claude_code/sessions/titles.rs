//! The title of a session, where no process of Claude Code can be asked to write it.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use offshoot_session::AgentSessionId;
use offshoot_transcripts::claude::{listing, retitled_index, title_line};
use tempfile::NamedTempFile;

use super::{NotWritten, failed, files};

/// The list of sessions that some versions keep in the folder of a project.
pub(super) const INDEX: &str = "sessions-index.json";

/// Claude Code looks for titles in this much of the end of a file.
const END: u64 = 64 << 10;

/// How often the index is read again because it changed between two readings.
const ATTEMPTS: usize = 5;

/// Gives the session of a transcript a title, in the transcript and in the list beside it. An empty one takes the title
/// away. Returns whether anything was written.
pub(super) fn write_title(
    home: &Path,
    path: &Path,
    session: &AgentSessionId,
    title: &str,
) -> Result<bool, NotWritten> {
    let index = path.with_file_name(INDEX);
    let is_new = append(home, path, session, title).map_err(failed("write", path))?;
    Ok(mirror(home, &index, session, title).map_err(failed("write", &index))? || is_new)
}

/// Appends a title line unless the end of the transcript has this title. Returns whether anything was written.
fn append(home: &Path, path: &Path, session: &AgentSessionId, title: &str) -> io::Result<bool> {
    let mut file = files::open(home, path, OpenOptions::new().read(true).append(true))?;
    let end = end_of(&mut file)?;
    // An end without a title says nothing about what is above it.
    let is_whole = end.len() < END as usize;
    match listing(&end).name {
        Some(name) if name == title => return Ok(false),
        None if title.is_empty() && is_whole => return Ok(false),
        Some(_) | None => {}
    }
    let mut line = title_line(session.as_str(), title);
    if !end.is_empty() && !end.ends_with(b"\n") {
        line.insert(0, b'\n'); // a line that broke off stays a line of its own
    }
    // In one write, behind whatever is there by now.
    file.write_all(&line)?;
    file.sync_data()?;
    Ok(true)
}

fn end_of(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end)?;
    Ok(end)
}

/// Puts the title into the index, which is replaced as a whole. An index that is missing, a link or not an index stays
/// as it is.
fn mirror(home: &Path, index: &Path, session: &AgentSessionId, title: &str) -> io::Result<bool> {
    let Ok(mode) = files::about(home, index).map(|about| about.permissions().mode() & 0o777) else {
        return Ok(false);
    };
    for _ in 0..ATTEMPTS {
        let Ok(before) = files::read(home, index) else { return Ok(false) };
        let Some(after) = retitled_index(&before, session.as_str(), title) else { return Ok(false) };
        let new = written_next_to(index, &after, mode)?;
        // Claude Code may have written the index meanwhile: then the title goes into what it wrote.
        if files::read(home, index).is_ok_and(|now| now == before) {
            return new.persist(index).map(|_| true).map_err(|error| error.error);
        }
    }
    Ok(false)
}

/// Under a random name: the id of the session comes from a file and must not be part of a path.
fn written_next_to(index: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let folder = index.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new().prefix(&format!(".{INDEX}.")).tempfile_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().set_permissions(Permissions::from_mode(mode))?;
    new.as_file().sync_all()?;
    Ok(new)
}
