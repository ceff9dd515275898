//! Sessions of other agents whose copies are not wanted.
//!
//! The list is a small file of the archive, because the catalog can be deleted and a forgotten session must not be kept
//! again then. It has the path of each session, and its id, so that a session is recognised after its agent has moved it. It
//! has neither titles nor prompts. A list that cannot be read stops keeping: without it a forgotten session would be
//! kept again.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::beside::list_of;
use super::shared::in_list;
use super::trash::TRASH_TIME;
use super::{Archive, Hold};
use crate::private;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenSession {
    /// As its agent names it.
    pub id: String,
    pub agent: Option<String>,
    /// Where its agent has it, or had it.
    pub original: PathBuf,
    /// In microseconds since 1970.
    pub forgotten_at: i64,
    /// The directory of the trash that has its copies; `None` if they are deleted.
    pub trash: Option<String>,
}

/// All sessions that are forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten(pub(super) Vec<ForgottenSession>);

impl Forgotten {
    pub fn iter(&self) -> impl Iterator<Item = &ForgottenSession> {
        self.0.iter()
    }

    /// Whether nothing may be kept of this file: it is a forgotten session, belongs to one, or is one that was moved.
    pub fn includes(&self, path: &Path) -> bool {
        self.0.iter().any(|session| {
            let own_directory = session.original.with_extension("");
            path == session.original
                || (own_directory != session.original && path.starts_with(&own_directory))
                || session.is_moved_to(path)
        })
    }

    /// Whether this is the list in which the agent of a forgotten session names it.
    pub(crate) fn may_list(&self, list: &Path) -> bool {
        self.0.iter().any(|session| list_of(&session.original) == list)
    }

    /// Whether a list of sessions names a forgotten one: it may also have its title and its first prompt.
    pub(super) fn is_named_in(&self, bytes: &[u8]) -> bool {
        let is_named = |session: &ForgottenSession| {
            memchr::memmem::find(bytes, in_list(&session.id).as_bytes()).is_some()
        };
        self.0.iter().any(is_named)
    }

    pub(super) fn has_id(&self, agent: &str, id: &str) -> bool {
        self.0
            .iter()
            .any(|session| session.id == id && session.agent.as_deref().is_none_or(|own| own == agent))
    }

    /// Sessions of this database.
    pub(super) fn ids_in(&self, database: &Path) -> Vec<&str> {
        let inside = self.0.iter().filter(|session| session.original.parent() == Some(database));
        inside.map(|session| session.id.as_str()).collect()
    }

    pub(super) fn position(&self, original: &Path) -> Option<usize> {
        self.0.iter().position(|session| session.original == original)
    }
}

impl ForgottenSession {
    /// When its copies are deleted from the trash; `None` if they are.
    pub fn in_trash_until(&self) -> Option<Timestamp> {
        self.trash.as_ref()?;
        Timestamp::from_microsecond(self.forgotten_at.saturating_add(TRASH_TIME)).ok()
    }

    /// The same file name elsewhere is the same session if the name has the session's id.
    fn is_moved_to(&self, path: &Path) -> bool {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_same_name = || name(path) == name(&self.original);
        let has_id = || name(path).is_some_and(|name| name.contains(&self.id));
        self.id.len() >= SHORTEST_ID && is_same_name() && has_id()
    }
}

/// A shorter id may be part of any name.
const SHORTEST_ID: usize = 8;

impl Archive {
    pub(super) fn place_of_forgotten(&self) -> PathBuf {
        self.root.join("forgotten.json")
    }

    pub fn forgotten(&self) -> io::Result<Forgotten> {
        let path = self.place_of_forgotten();
        let read = match private::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Forgotten::default()),
            read => read.and_then(|bytes| Ok(serde_json::from_slice::<OnDisk>(&bytes)?)),
        };
        let on_disk = read.map_err(|error| {
            io::Error::new(error.kind(), format!("`{}` cannot be read: {error}", path.display()))
        })?;
        Ok(Forgotten(on_disk.sessions.into_iter().map(SessionOnDisk::into_session).collect()))
    }

    /// It is safe when this returns.
    pub(super) fn write_forgotten(&self, hold: &mut Hold, sessions: Forgotten) -> io::Result<()> {
        let on_disk =
            OnDisk { version: VERSION, sessions: sessions.0.iter().map(SessionOnDisk::from).collect() };
        private::replace(&self.place_of_forgotten(), &serde_json::to_vec_pretty(&on_disk)?)?;
        std::fs::File::open(&self.root)?.sync_all()?;
        hold.forgotten = sessions;
        Ok(())
    }
}

const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct OnDisk {
    version: u32,
    sessions: Vec<SessionOnDisk>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SessionOnDisk {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    original: PathOnDisk,
    forgotten_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trash: Option<String>,
}

/// A path need not be text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum PathOnDisk {
    Text(String),
    Bytes(Vec<u8>),
}

impl SessionOnDisk {
    fn into_session(self) -> ForgottenSession {
        let original = match self.original {
            PathOnDisk::Text(text) => text.into(),
            PathOnDisk::Bytes(bytes) => OsStr::from_bytes(&bytes).into(),
        };
        let Self { id, agent, forgotten_at, trash, .. } = self;
        ForgottenSession { id, agent, original, forgotten_at, trash }
    }
}

impl From<&ForgottenSession> for SessionOnDisk {
    fn from(session: &ForgottenSession) -> Self {
        let original = match session.original.to_str() {
            Some(text) => PathOnDisk::Text(text.to_owned()),
            None => PathOnDisk::Bytes(session.original.as_os_str().as_bytes().to_vec()),
        };
        let ForgottenSession { id, agent, forgotten_at, trash, .. } = session.clone();
        Self { id, agent, original, forgotten_at, trash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forgotten(id: &str, original: &str) -> Forgotten {
        let session = ForgottenSession {
            id: id.to_owned(),
            agent: None,
            original: original.into(),
            forgotten_at: 0,
            trash: None,
        };
        Forgotten(vec![session])
    }

    #[test]
    fn a_forgotten_session_includes_its_own_files_wherever_they_are() {
        let one = forgotten("0f5c11d2-77", "/u/.claude/projects/-w/0f5c11d2-77.jsonl");
        for path in [
            "/u/.claude/projects/-w/0f5c11d2-77.jsonl",
            "/u/.claude/projects/-w/0f5c11d2-77/subagents/agent-1.jsonl",
            "/u/.claude/archived/0f5c11d2-77.jsonl",
        ] {
            assert!(one.includes(Path::new(path)), "{path}");
        }
        for path in [
            "/u/.claude/projects/-w/0f5c11d2-78.jsonl",
            "/u/.claude/projects/-w/0f5c11d2-77.jsonl.bak",
            "/u/.claude/projects/-w/sessions-index.json",
            "/u/.claude/projects/-w",
        ] {
            assert!(!one.includes(Path::new(path)), "{path}");
        }
        let in_database = forgotten("ses_1", "/u/opencode.db/ses_1");
        assert!(in_database.includes(Path::new("/u/opencode.db/ses_1")));
        assert!(!in_database.includes(Path::new("/u/opencode.db/ses_12")));
        let unnamed = forgotten("6f2a91c0", "/u/a/session.jsonl");
        assert!(
            !unnamed.includes(Path::new("/u/b/session.jsonl")),
            "the name does not say which session it is"
        );
    }
}
