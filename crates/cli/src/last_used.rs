//! Which sessions Offshoot commands used in each directory.
//!
//! There is one small JSON file per directory in `last-used/` of the Offshoot home, named by a hash of the directory's
//! path. It lists the sessions used there, the last one first: when that one is undone or deleted, the one before it
//! is current again. The files do not depend on the catalog, so deleting the catalog changes no default.
//!
//! The price of losing such a file is that a command without SESSION picks the newest session again. So nothing here
//! fails: a file that is missing, damaged or unreadable counts as empty, and a failed write is ignored.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use offshoot_session::SessionId;
use offshoot_session::format::BlobName;
use offshoot_store::private;
use serde_json::{Value, json};

use crate::here::Here;
use crate::known::Known;
use crate::naming::Lies;

const DIRECTORY: &str = "last-used";
/// How many sessions are remembered per directory.
const SESSIONS: usize = 8;
/// How many directories are remembered; those used least recently are dropped.
const FILES: usize = 1000;
/// A larger file was not written by Offshoot.
const LARGEST: u64 = 64 * 1024;

/// A session as a file of `last-used/` names it: by its journal, its file, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedSession {
    /// Finds the copy in the archive when the agent has deleted the file.
    pub(crate) id: String,
    pub(crate) journal: Option<SessionId>,
    /// The file of another agent's session.
    pub(crate) file: Option<PathBuf>,
}

impl UsedSession {
    pub(crate) fn stored(here: &Here, id: &SessionId) -> Self {
        let source = here.store().ok().and_then(|store| store.reference(id));
        let (id_there, file) = source.map(|source| (source.session, PathBuf::from(source.path))).unzip();
        Self { id: id_there.unwrap_or_else(|| id.to_string()), journal: Some(id.clone()), file }
    }

    pub(crate) fn known(known: &Known) -> Self {
        let is_foreign = known.name.standing.lies != Lies::Here && !known.path.as_os_str().is_empty();
        Self {
            id: known.name.id.clone(),
            journal: known.journal.clone(),
            file: is_foreign.then(|| known.path.clone()),
        }
    }

    pub(crate) fn is(&self, known: &Known) -> bool {
        let is_journal = self.journal.is_some() && self.journal == known.journal;
        is_journal || self.file.as_ref().is_some_and(|file| *file == known.path)
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let journal = text("journal").map(SessionId::from);
        let file = text("file").map(PathBuf::from).filter(|file| file.is_absolute());
        let is_named = journal.is_some() || file.is_some();
        Some(Self { id: text("id")?.to_owned(), journal, file })
            .filter(|used| is_named && !used.id.is_empty())
    }

    /// Returns `None` if the path of its file is not UTF-8 and nothing else names it.
    fn as_json(&self) -> Option<Value> {
        let file = self.file.as_deref().and_then(Path::to_str);
        let journal = self.journal.as_ref().map(SessionId::as_str);
        (journal.is_some() || file.is_some())
            .then(|| json!({"id": self.id, "journal": journal, "file": file}))
    }
}

/// The sessions that commands used in `directory`, the last one first.
pub(crate) fn sessions_used_in(here: &Here, directory: &Path) -> Vec<UsedSession> {
    file_of(here, directory).map(|file| read(&file, directory)).unwrap_or_default()
}

/// Records that a command used `session` in the caller's directory.
pub(crate) fn record(here: &Here, session: UsedSession) {
    let Some(file) = file_of(here, &here.folder) else { return };
    let before = read(&file, &here.folder);
    if before.first() == Some(&session) {
        return;
    }
    let others = before.into_iter().filter(|other| {
        let is_same_journal = other.journal.is_some() && other.journal == session.journal;
        let is_same_file = other.file.is_some() && other.file == session.file;
        !is_same_journal && !is_same_file
    });
    let sessions: Vec<UsedSession> = std::iter::once(session.clone()).chain(others).take(SESSIONS).collect();
    // A command has done its work already; at worst the session has to be named the next time.
    let _ = write(&file, &here.folder, &sessions);
}

/// Records the session of a journal.
pub(crate) fn record_stored(here: &Here, id: &SessionId) {
    record(here, UsedSession::stored(here, id));
}

/// Returns `None` if there is no home yet, or the caller's directory is gone.
fn file_of(here: &Here, directory: &Path) -> Option<PathBuf> {
    let home = here.home().filter(|home| home.is_dir())?;
    let directory = resolved(directory)?;
    let hash = BlobName::of(directory.as_os_str().as_encoded_bytes());
    Some(home.join(DIRECTORY).join(hash.as_str().get(..32)?))
}

fn resolved(directory: &Path) -> Option<PathBuf> {
    directory.is_absolute().then(|| directory.canonicalize().ok()).flatten()
}

fn read(file: &Path, directory: &Path) -> Vec<UsedSession> {
    let is_small = std::fs::metadata(file).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
    let bytes = is_small.then(|| private::read(file).ok()).flatten().unwrap_or_default();
    let content: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let is_of_directory =
        resolved(directory).is_some_and(|path| content["directory"] == *path.to_string_lossy());
    let sessions = content["sessions"].as_array().filter(|_| is_of_directory);
    sessions.into_iter().flatten().take(SESSIONS).filter_map(UsedSession::from_json).collect()
}

/// Replaces the file as a whole. It is not synced: losing it in a power cut is harmless.
fn write(file: &Path, directory: &Path, sessions: &[UsedSession]) -> io::Result<()> {
    let Some(folder) = file.parent() else { return Ok(()) };
    private::create_directory(folder)?;
    if !file.exists() {
        drop_oldest(folder)?;
    }
    let directory = resolved(directory).unwrap_or_default();
    let sessions: Vec<Value> = sessions.iter().filter_map(UsedSession::as_json).collect();
    let content = json!({"directory": directory.to_string_lossy(), "sessions": sessions});
    private::replace_unsynced(file, format!("{content}\n").as_bytes())
}

/// Leaves room for one more file.
fn drop_oldest(folder: &Path) -> io::Result<()> {
    let written = |path: &Path| path.metadata().and_then(|file| file.modified());
    let files = std::fs::read_dir(folder)?.flatten().map(|item| item.path());
    let mut files: Vec<(SystemTime, PathBuf)> =
        files.filter_map(|path| Some((written(&path).ok()?, path))).collect();
    files.sort_unstable();
    for (_, path) in files.iter().take((files.len() + 1).saturating_sub(FILES)) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(journal: &str) -> UsedSession {
        UsedSession { id: journal.to_owned(), journal: Some(journal.into()), file: None }
    }

    #[test]
    fn what_is_written_is_read_again_and_damage_counts_as_absent() {
        let dir = tempfile::tempdir().unwrap();
        let (directory, file) = (dir.path(), dir.path().join("last-used/name"));
        let foreign = UsedSession { id: "x".into(), journal: None, file: Some("/a/x.jsonl".into()) };
        let sessions = [session("b"), foreign];
        write(&file, directory, &sessions).unwrap();
        assert_eq!(read(&file, directory), sessions);
        assert_eq!(read(&file, Path::new("/")), [], "a file of another directory");
        for damaged in ["", "{", "[]", "{\"directory\":1,\"sessions\":{}}", "\0\0"] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(read(&file, directory), [], "{damaged}");
        }
    }

    #[test]
    fn the_number_of_files_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("last-used");
        for number in 0..FILES + 5 {
            write(&folder.join(number.to_string()), dir.path(), &[session("a")]).unwrap();
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), FILES);
        assert!(folder.join((FILES + 4).to_string()).exists());
    }
}
