//! Files of the archive that are about several sessions: an agent's list of sessions, and backups of a database.
//!
//! A session that is forgotten takes them with it, because they may have its title, its first prompt or its rows. So its
//! trash can also hold words of other sessions, which has to be known when one of those is forgotten, and when the first is
//! restored.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zstd::stream::copy_decode;

use super::backup::is_backup_of;
use super::forgotten::ForgottenSession;
use super::frames::{damaged, finished, unpack};
use super::trash::BACKUPS;
use crate::private;
use crate::titles_beside::INDEXES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    List,
    Backup,
}

impl Shared {
    /// `below` is the path of a file below the archive, or below a directory of the trash. `None` for a file that belongs
    /// to one session.
    pub(super) fn of(below: &Path) -> Option<Self> {
        if below.starts_with(BACKUPS) {
            return Some(Self::Backup);
        }
        let name = below.file_name()?.as_encoded_bytes();
        let is_list = INDEXES.iter().any(|list| {
            name.strip_prefix(list.as_bytes())
                .is_some_and(|ending| ending.is_empty() || ending.starts_with(b"."))
        });
        is_list.then_some(Self::List)
    }
}

/// The file of the archive that shows that a list or backup was kept again; `place` is where this one of the trash was. The
/// second name of a list and its earlier states go by its last copy.
pub(super) fn newer_than(shared: Shared, place: &Path) -> PathBuf {
    let is_of = |list: &&&str| {
        place.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(list.as_bytes()))
    };
    match (shared, INDEXES.iter().find(is_of)) {
        (Shared::List, Some(list)) => place.with_file_name(format!("{list}.zst")),
        (Shared::List, None) | (Shared::Backup, _) => place.to_owned(),
    }
}

/// Whether this file of the trash may have words of a session. A backup does if it is of the session's database: rows that
/// were deleted stay in free pages, where nothing names them.
pub(super) fn may_tell_of(file: &Path, shared: Shared, session: &ForgottenSession) -> bool {
    match shared {
        Shared::Backup => session.original.parent().is_some_and(|database| is_backup_of(file, database)),
        Shared::List => names(file, shared, &session.id),
    }
}

/// Whether a list or backup names a session, be it packed or not. What cannot be read may name every session.
pub(super) fn names(file: &Path, shared: Shared, id: &str) -> bool {
    let wanted = match shared {
        Shared::List => in_list(id),
        Shared::Backup => id.to_owned(),
    };
    let mut search = Search { wanted: wanted.as_bytes(), end: Vec::new(), is_found: false };
    let mut read = || -> io::Result<()> {
        let mut opened = private::open(file, OpenOptions::new().read(true))?;
        let is_packed = file.file_name().is_some_and(|name| name.to_string_lossy().contains(".zst"));
        match shared {
            Shared::Backup => copy_decode(opened, &mut search),
            Shared::List if is_packed => {
                let (end, _) = finished(&opened)?.ok_or_else(damaged)?;
                // Nobody reads an end that was never finished, but it may have words.
                if end != opened.metadata()?.len() {
                    return Err(damaged());
                }
                unpack(opened, &mut search).map(drop)
            }
            Shared::List => io::copy(&mut opened, &mut search).map(drop),
        }
    };
    read().is_err() || search.is_found
}

/// How an agent's list names a session.
pub(super) fn in_list(id: &str) -> String {
    format!("\"{id}\"")
}

/// Finds words in what is written to it.
struct Search<'w> {
    wanted: &'w [u8],
    /// They may begin in one piece and end in the next.
    end: Vec<u8>,
    is_found: bool,
}

impl Write for Search<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.end.extend_from_slice(piece);
        self.is_found = self.is_found || memchr::memmem::find(&self.end, self.wanted).is_some();
        let behind = self.end.len().saturating_sub(self.wanted.len().saturating_sub(1));
        self.end.drain(..behind);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_backups_are_shared_and_copies_are_not() {
        for (below, shared) in [
            ("backups/opencode-1a2b3c4d-2025-03-04.db.zst", Some(Shared::Backup)),
            ("u/.codex/session_index.jsonl.zst", Some(Shared::List)),
            ("u/.codex/session_index.jsonl.link", Some(Shared::List)),
            ("u/.claude/projects/-w/sessions-index.json.was-1.zst", Some(Shared::List)),
            ("u/.claude/projects/-w/sessions-index.json.zst.damaged-1", Some(Shared::List)),
            ("u/.claude/projects/-w/sessions-index.jsonl.zst", None),
            ("u/.claude/projects/-w/0f5c.jsonl.zst", None),
            ("u/backups/0f5c.jsonl.zst", None),
        ] {
            assert_eq!(Shared::of(Path::new(below)), shared, "{below}");
        }
    }

    #[test]
    fn an_id_is_found_across_two_pieces() {
        let found = |pieces: &[&str]| {
            let mut search = Search { wanted: b"0f5c", end: Vec::new(), is_found: false };
            pieces.iter().for_each(|piece| search.write_all(piece.as_bytes()).expect("memory"));
            search.is_found
        };
        assert!(found(&["a0f5c"]) && found(&["a0", "f5", "c"]) && found(&["x", "0f5c", "x"]));
        assert!(!found(&["0f5", "d", "0f", "c"]));
    }

    #[test]
    fn what_cannot_be_read_may_name_every_session() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("session_index.jsonl.zst");
        std::fs::write(&file, "cut").expect("own file");
        assert!(names(&file, Shared::List, "0f5c"));
        assert!(names(&file, Shared::Backup, "0f5c"));
    }
}
