//! A database of opencode: one line for each session in it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use offshoot_store::{DatabaseError, OpencodeDatabase};
use offshoot_transcripts::opencode::{Row, read_rows};

use super::{Count, Outcome, found};

impl Count {
    /// Other programs keep databases too; one that is not of opencode is none of ours.
    pub(super) fn database(&mut self, name: &str, path: &Path) {
        let start = Instant::now();
        let listed = OpencodeDatabase::open(path, &std::env::temp_dir())
            .and_then(|mut database| Ok((database.sessions()?, database)));
        let (sessions, mut database) = match listed {
            Ok(listed) => listed,
            Err(reason @ DatabaseError::NotOpencode { .. }) => {
                let reason = reason.to_string();
                return self.report(name, &Outcome::NotASession(reason), start.elapsed());
            }
            Err(reason) => {
                return self.report(name, &Outcome::Failed(reason.to_string()), start.elapsed());
            }
        };
        for session in sessions {
            let start = Instant::now();
            let outcome = look_at(&mut database, &session.id);
            self.report(&format!("{name}/{}", session.id), &outcome, start.elapsed());
        }
    }
}

fn look_at(database: &mut OpencodeDatabase, id: &str) -> Outcome {
    let rows = match database.rows(id) {
        Ok(Some(rows)) => rows,
        Ok(None) => return Outcome::Failed("listed, but not there".to_owned()),
        Err(reason) => return Outcome::Failed(reason.to_string()),
    };
    let bytes = |row: &Row| row.source.as_ref().map_or(0, |source| source.bytes().len());
    let all: usize = rows.session.iter().chain(&rows.messages).chain(&rows.parts).map(bytes).sum();
    let Ok(transcript) = catch_unwind(AssertUnwindSafe(|| read_rows(rows))) else {
        return Outcome::Failed("panicked while it was read".to_owned());
    };
    let kept = transcript.source_bytes().len();
    if kept != all {
        return Outcome::Failed(format!("{all} bytes of rows were read and {kept} were kept"));
    }
    found(&transcript)
        .map_or_else(|| Outcome::Failed("panicked while its tree was built".to_owned()), Outcome::Passed)
}
