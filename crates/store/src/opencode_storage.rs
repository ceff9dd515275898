//! The older storage of opencode, in which a session is a file, and so is each of its messages and their parts.
//!
//! ```text
//! storage/session/<project>/<session>.json
//! storage/message/<session>/<message>.json
//! storage/part/<message>/<part>.json
//! ```
//! The file of the session stands for all of them: it is written with each of them.

use std::path::{Path, PathBuf};

use offshoot_transcripts::Transcript;
use offshoot_transcripts::opencode::read_storage;

use crate::archive::Archive;

/// Which messages count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Those that are there: one that was taken back is not.
    ThatAreThere,
    /// Also those that only the archive has: the session itself is gone.
    ThatWereThere,
}

/// `None` where this is no session of such a storage, or has no messages.
pub fn read(session: &Path, bytes: &[u8], messages: Messages, archive: &Archive) -> Option<Transcript> {
    let files = files_of(session, messages, archive);
    if files.is_empty() {
        return None;
    }
    let named = |path: &Path| path.to_string_lossy().into_owned();
    let mut all = vec![(named(session), bytes.to_vec())];
    all.extend(files.iter().filter_map(|file| Some((named(file), archive.bytes_now(file).ok()?))));
    let all: Vec<(&str, &[u8])> = all.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    read_storage(&all).sessions.remove(session.file_stem()?.to_str()?)
}

/// The messages of a session and their parts.
pub fn files_of(session: &Path, messages: Messages, archive: &Archive) -> Vec<PathBuf> {
    let Some((storage, id)) = place_of(session) else { return Vec::new() };
    let mut files = Vec::new();
    for message in documents_in(&storage.join("message").join(id), messages, archive) {
        let parts = message.file_stem().map(|name| storage.join("part").join(name));
        files.push(message);
        files.extend(parts.into_iter().flat_map(|parts| documents_in(&parts, messages, archive)));
    }
    files
}

/// Folders in which every file belongs to a session.
pub(crate) fn holds_no_sessions(folder: &Path) -> bool {
    let is_in_storage = folder.parent().is_some_and(|above| above.ends_with("storage"));
    is_in_storage && (folder.ends_with("message") || folder.ends_with("part"))
}

fn place_of(session: &Path) -> Option<(&Path, &str)> {
    let id = session.file_name()?.to_str()?.strip_suffix(".json")?;
    let sessions = session.parent()?.parent()?;
    Some((sessions.parent().filter(|storage| sessions == storage.join("session"))?, id))
}

fn documents_in(folder: &Path, messages: Messages, archive: &Archive) -> Vec<PathBuf> {
    let there = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
    let mut found: Vec<PathBuf> = match messages {
        Messages::ThatAreThere => there.collect(),
        Messages::ThatWereThere => there.chain(archive.names_in(folder)).collect(),
    };
    found.retain(|path| path.extension().is_some_and(|end| end == "json"));
    found.sort();
    found.dedup();
    found
}
