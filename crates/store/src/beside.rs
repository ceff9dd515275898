//! A session file is read together with the files beside it that tell the rest: the sub-agents of a session of Claude
//! Code, and the rollouts that a fork of Codex continues. One that cannot be read is left out, as if it were not there;
//! what then is missing is told as an oddity by who needs it.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use offshoot_session::long_lines::LONGEST_LINE;
use offshoot_transcripts::claude::{self, AgentFile};
use offshoot_transcripts::codex::{self, RolloutFile, belongs, rollout_id_from_file_name};
use offshoot_transcripts::{Dialect, FileRole, Transcript, Unreadable, Watched, classify};

use crate::archive::Archive;
use crate::light::AgentBeside;
use crate::opencode_storage::{self, Messages};
use crate::titles_beside::INDEX_OF_CODEX;

/// Folders tell too, so the path is a whole one: the file of a sub-agent lies in one that is named after its session.
pub fn read(
    path: &Path,
    file: Watched<'_>,
    archive: Option<&Archive>,
    messages: Messages,
) -> Result<Transcript, Unreadable> {
    let around = Around { archive };
    let name = path.to_string_lossy();
    let together = around.agents(path, &name, file).or_else(|| around.bases(path, &name, file.bytes));
    let in_storage =
        || archive.and_then(|archive| opencode_storage::read(path, file.bytes, messages, archive));
    match together.or_else(in_storage) {
        Some(transcript) => Ok(transcript),
        None => offshoot_transcripts::read(Some(&name), file),
    }
}

/// The sub-agents beside a session of Claude Code. `None` where only the archive has some of them any more.
pub fn agents(path: &Path, archive: Option<&Archive>) -> Option<Vec<AgentBeside>> {
    let around = Around { archive };
    let with_meta = |path: PathBuf| {
        let meta = around.bytes(&path.with_extension("meta.json"));
        path.is_file().then_some(AgentBeside { path, meta })
    };
    around.agent_files(path).into_iter().map(with_meta).collect()
}

/// The file of the session that a file of a sub-agent belongs to; `session` is the one that its lines name. Since 2.1
/// Claude Code keeps them in a folder that is named after the session, before that in the folder of the session.
pub fn session_of_agent(agent: &Path, session: Option<&str>) -> Option<PathBuf> {
    let name = agent.to_string_lossy();
    match claude::session_in_path(&name) {
        Some(session) => {
            let folder = agent.ancestors().find(|folder| folder.file_name() == Some(OsStr::new(session)))?;
            Some(folder.with_file_name(format!("{session}.jsonl")))
        }
        None => Some(agent.with_file_name(format!("{}.jsonl", file_name_of(session?)?))),
    }
}

/// `None` for an id that is not the name of a file in the same folder.
fn file_name_of(id: &str) -> Option<&str> {
    let is_one_name = Path::new(id).file_name() == Some(OsStr::new(id));
    is_one_name.then_some(id)
}

/// Whether a file is a rollout that begins in another one; its first line tells.
pub fn continues_another(path: &Path) -> bool {
    let mut first = Vec::new();
    let is_read = crate::private::open_foreign(path)
        .and_then(|file| BufReader::new(file).take(LONGEST_LINE as u64).read_until(b'\n', &mut first));
    is_read.is_ok() && has_base(&first)
}

/// Whether the first line of a rollout says that it continues another one.
pub(crate) fn has_base(first_line: &[u8]) -> bool {
    belongs(None, first_line).is_some_and(|belongs| belongs.base.is_some())
}

/// The file in which Codex writes what people call their sessions: beside the folder of all of them; for a rollout that
/// lies elsewhere, beside it.
pub(crate) fn names_of_codex(rollout: &Path) -> PathBuf {
    top_of_codex(rollout).unwrap_or(rollout).with_file_name(INDEX_OF_CODEX)
}

/// The folder in which Codex keeps its sessions by year, month and day.
fn top_of_codex(rollout: &Path) -> Option<&Path> {
    rollout.ancestors().skip(1).find(|folder| is_top_of_codex(folder))
}

pub(crate) fn is_top_of_codex(folder: &Path) -> bool {
    folder.ends_with("sessions") || folder.ends_with("archived_sessions")
}

/// Lines about the session may come before the first entry of a sub-agent.
const LINES_BEFORE_ENTRY: usize = 16;

/// The files around a session: those that lie there, and those that only the archive has any more.
struct Around<'a> {
    archive: Option<&'a Archive>,
}

impl Around<'_> {
    /// With `<session>/subagents/agent-*.jsonl`, those of workflow runs (`subagents/workflows/<run>`), those of old versions
    /// in the folder of the session, and what `agent-*.meta.json` says of each.
    fn agents(&self, path: &Path, name: &str, file: Watched<'_>) -> Option<Transcript> {
        let files = self.agent_files(path);
        if files.is_empty() || classify(name, file.bytes) != FileRole::Session(Dialect::ClaudeCode) {
            return None;
        }
        let read: Vec<(String, Vec<u8>, Option<Vec<u8>>)> = files
            .into_iter()
            .filter_map(|file| {
                let meta = self.bytes(&file.with_extension("meta.json"));
                Some((file.file_name()?.to_string_lossy().into_owned(), self.bytes(&file)?, meta))
            })
            .collect();
        let agents: Vec<AgentFile<'_>> =
            read.iter().map(|(name, bytes, meta)| AgentFile { name, bytes, meta: meta.as_deref() }).collect();
        (!agents.is_empty()).then(|| claude::read_with_agents(Some(name), file, &agents))
    }

    fn agent_files(&self, path: &Path) -> Vec<PathBuf> {
        let folder = path.with_extension("").join("subagents");
        let runs = self.named(&folder.join("workflows"), |_| true);
        let folders = std::iter::once(folder).chain(runs);
        let is_agent = |name: &str| name.starts_with("agent-") && name.ends_with(".jsonl");
        let in_folder = self.named(path.parent().unwrap_or(path), is_agent);
        let is_own = |file: &PathBuf| {
            file != path
                && session_of_agent(file, self.stated_session(file).as_deref()).as_deref() == Some(path)
        };
        let of_old_versions = in_folder.into_iter().filter(is_own);
        folders.flat_map(|folder| self.named(&folder, is_agent)).chain(of_old_versions).collect()
    }

    /// The session that a file of a sub-agent names.
    fn stated_session(&self, file: &Path) -> Option<String> {
        let Ok(original) = crate::private::open_foreign(file) else {
            return claude::session_of_sub_agent(&self.bytes(file)?);
        };
        let mut reader = BufReader::new(original).take(LONGEST_LINE as u64);
        let mut beginning = Vec::new();
        let mut lines = 0;
        // The first line mostly names it.
        while lines < LINES_BEFORE_ENTRY
            && reader.read_until(b'\n', &mut beginning).is_ok_and(|read| read > 0)
        {
            if let Some(session) = claude::session_of_sub_agent(&beginning) {
                return Some(session);
            }
            lines += 1;
        }
        None
    }

    /// With the rollouts it continues, wherever they lie among the sessions.
    fn bases(&self, path: &Path, name: &str, bytes: &[u8]) -> Option<Transcript> {
        rollout_id_from_file_name(name)?;
        let mut wanted = belongs(Some(name), bytes)?.base?.rollout;
        let known = self.rollouts(path);
        let mut bases: Vec<(String, Vec<u8>)> = Vec::new();
        while let Some(file) = known.iter().find(|file| rollout_of(file).as_deref() == Some(wanted.as_str()))
            && let Some(bytes) = self.bytes(file)
            && bases.len() < known.len()
        {
            let name = file.to_string_lossy().into_owned();
            let next = belongs(Some(&name), &bytes).and_then(|belongs| belongs.base);
            bases.push((name, bytes));
            let Some(next) = next else { break };
            wanted = next.rollout;
        }
        let bases: Vec<RolloutFile<'_>> =
            bases.iter().map(|(name, bytes)| RolloutFile { name, bytes }).collect();
        Some(codex::read_with_bases(RolloutFile { name, bytes }, &bases))
    }

    /// Codex keeps sessions by year, month and day; elsewhere those in the same folder are looked at.
    fn rollouts(&self, path: &Path) -> Vec<PathBuf> {
        let Some(top) = top_of_codex(path) else {
            return self.named(path.parent().unwrap_or(path), |name| name.contains("rollout-"));
        };
        let mut found = Vec::new();
        let both = ["sessions", "archived_sessions"].map(|folder| top.with_file_name(folder));
        let mut open = both.to_vec();
        while let Some(folder) = open.pop() {
            found.extend(self.named(&folder, |name| name.contains("rollout-")));
            open.extend(self.named(&folder, |name| name.bytes().all(|byte| byte.is_ascii_digit())));
        }
        found
    }

    /// What lies in a folder, or did, under a name that fits; sorted by name.
    fn named(&self, folder: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let items = fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
        let kept = self.archive.into_iter().flat_map(|archive| archive.names_in(folder));
        let has_fitting_name =
            |path: &PathBuf| path.file_name().is_some_and(|name| fits(&name.to_string_lossy()));
        let mut found: Vec<PathBuf> = items.chain(kept).filter(has_fitting_name).collect();
        found.sort();
        found.dedup();
        found
    }

    fn bytes(&self, file: &Path) -> Option<Vec<u8>> {
        match self.archive {
            Some(archive) => archive.bytes_now(file).ok(),
            None => crate::private::read_foreign(file).ok(),
        }
    }
}

fn rollout_of(file: &Path) -> Option<String> {
    rollout_id_from_file_name(&file.to_string_lossy()).map(str::to_owned)
}
