//! Files that belong to a session and are none themselves: what a program says of its sub-agents, the journals of
//! workflow runs, the results of tools it has put into files, its list of sessions.

use std::path::{Path, PathBuf};

use offshoot_transcripts::codex::rollout_id_from_file_name;
use offshoot_transcripts::{FileRole, classify};

use super::Archive;
use crate::beside::names_of_codex;
use crate::opencode_storage::{Messages, files_of};

/// A folder that is named after a session holds what belongs to it, so deep.
const DEEPEST: usize = 3;

impl Archive {
    /// The files beside a session that are to be kept with it. One may belong to many sessions.
    pub fn beside(&self, session: &Path) -> Vec<PathBuf> {
        let messages = files_of(session, Messages::ThatAreThere, self);
        beside(session).into_iter().chain(messages).collect()
    }
}

/// The agent's list of sessions that a session may be named in.
pub(super) fn list_of(session: &Path) -> PathBuf {
    match rollout_id_from_file_name(&session.to_string_lossy()) {
        Some(_) => names_of_codex(session),
        None => session.with_file_name("sessions-index.json"),
    }
}

fn may_be_session(path: &Path) -> bool {
    let is_side_file = || matches!(classify(&path.to_string_lossy(), b""), FileRole::SideFileOf(_));
    path.extension().is_some_and(|end| end == "jsonl") && !is_side_file()
}

fn beside(session: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = [list_of(session)].into_iter().filter(|file| file.is_file()).collect();
    let mut open = vec![(session.with_extension(""), 0)];
    while let Some((folder, depth)) = open.pop() {
        for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = item.path();
            match item.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEEPEST => open.push((path, depth + 1)),
                // sessions among them are found by themselves
                Ok(kind) if kind.is_file() && !may_be_session(&path) => found.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    found
}
