//! Files that belong to a session and are none themselves: what a program says of its sub-agents, the results of tools
//! it has put into files, its list of sessions.

use std::path::{Path, PathBuf};

use super::{Archive, Hold, Wrote};
use crate::opencode_storage::{Messages, files_of};

/// A folder that is named after a session holds what belongs to it, so deep.
const DEEPEST: usize = 3;

impl Archive {
    /// Keeps the files beside a session as they are now, as far as that is possible.
    pub fn keep_beside(&self, hold: &Hold, session: &Path, now: i64) -> Vec<(PathBuf, Wrote)> {
        let keep = |file: PathBuf| {
            let (taken, _) = self.keep(hold, &file, now).ok()?;
            Some((file, taken.wrote))
        };
        let messages = files_of(session, Messages::ThatAreThere, self);
        beside(session).into_iter().chain(messages).filter_map(keep).collect()
    }
}

fn beside(session: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        [session.with_file_name("sessions-index.json")].into_iter().filter(|file| file.is_file()).collect();
    let mut open = vec![(session.with_extension(""), 0)];
    while let Some((folder, depth)) = open.pop() {
        for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = item.path();
            match item.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEEPEST => open.push((path, depth + 1)),
                // sessions among them are found by themselves
                Ok(kind) if kind.is_file() && path.extension().is_none_or(|end| end != "jsonl") => {
                    found.push(path)
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    found
}
