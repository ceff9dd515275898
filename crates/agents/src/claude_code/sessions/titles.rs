//! The title of a session, where no process of Claude Code can be asked to write it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use offshoot_session::AgentSessionId;
use offshoot_transcripts::claude::{listing, retitled_index, title_line};

use super::files;

/// The list of sessions that some versions keep in the folder of a project.
pub(super) const INDEX: &str = "sessions-index.json";

/// Claude Code looks for titles in this much of the end of a file.
const END: u64 = 64 << 10;

/// How often the index is read again because it changed between two readings.
const ATTEMPTS: usize = 5;

/// Appends a title line unless the end of the transcript has this title. Returns whether anything was written.
pub(super) fn append(home: &Path, path: &Path, session: &AgentSessionId, title: &str) -> io::Result<bool> {
    let mut file = files::open(home, path, OpenOptions::new().read(true).append(true))?;
    let end = end_of(&mut file)?;
    if listing(&end).name.as_deref() == Some(title) {
        return Ok(false);
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
pub(super) fn mirror(home: &Path, index: &Path, session: &AgentSessionId, title: &str) -> io::Result<bool> {
    let Ok(mode) = files::about(home, index).map(|about| about.permissions().mode() & 0o777) else {
        return Ok(false);
    };
    for _ in 0..ATTEMPTS {
        let Ok(before) = files::read(home, index) else { return Ok(false) };
        let Some(after) = retitled_index(&before, session.as_str(), title) else { return Ok(false) };
        let new = index.with_file_name(format!(".{INDEX}.{session}.new"));
        write(&new, &after, mode)?;
        // Claude Code may have written the index meanwhile: then the title goes into what it wrote.
        if files::read(home, index).is_ok_and(|now| now == before) {
            return std::fs::rename(&new, index).map(|()| true);
        }
        std::fs::remove_file(&new)?;
    }
    Ok(false)
}

/// What a crash has left under this name is removed first.
fn write(new: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    match std::fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(new)?;
    file.write_all(bytes)?;
    file.sync_all()
}
