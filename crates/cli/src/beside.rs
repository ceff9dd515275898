//! A session file is read together with the files beside it that tell the rest: the sub-agents of a session of Claude
//! Code, and the rollouts that a fork of Codex continues. One that cannot be read is left out, as if it were not there;
//! what then is missing is told as an oddity by who needs it.

use std::fs;
use std::path::{Path, PathBuf};

use offshoot_transcripts::claude::{self, AgentFile};
use offshoot_transcripts::codex::{self, RolloutFile, belongs, rollout_id_from_file_name};
use offshoot_transcripts::{Dialect, FileRole, Transcript, Unreadable, Watched, classify};

pub(crate) fn read(path: &Path, file: Watched<'_>) -> Result<Transcript, Unreadable> {
    // Folders tell too: the file of a sub-agent lies in one that is named after its session.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let name = path.to_string_lossy();
    let together = with_agents(&path, &name, file).or_else(|| with_bases(&path, &name, file.bytes));
    match together {
        Some(transcript) => Ok(transcript),
        None => offshoot_transcripts::read(Some(&name), file),
    }
}

/// With `<session>/subagents/agent-*.jsonl` and what `agent-*.meta.json` says of each.
fn with_agents(path: &Path, name: &str, file: Watched<'_>) -> Option<Transcript> {
    let folder = path.with_extension("").join("subagents");
    let files = named(&folder, |name| name.starts_with("agent-") && name.ends_with(".jsonl"));
    if files.is_empty() || classify(name, file.bytes) != FileRole::Session(Dialect::ClaudeCode) {
        return None;
    }
    let read: Vec<(String, Vec<u8>, Option<Vec<u8>>)> = files
        .into_iter()
        .filter_map(|file| {
            let meta = fs::read(file.with_extension("meta.json")).ok();
            Some((file.file_name()?.to_string_lossy().into_owned(), fs::read(&file).ok()?, meta))
        })
        .collect();
    let agents: Vec<AgentFile<'_>> =
        read.iter().map(|(name, bytes, meta)| AgentFile { name, bytes, meta: meta.as_deref() }).collect();
    (!agents.is_empty()).then(|| claude::read_with_agents(Some(name), file, &agents))
}

/// With the rollouts it continues, wherever they lie among the sessions.
fn with_bases(path: &Path, name: &str, bytes: &[u8]) -> Option<Transcript> {
    rollout_id_from_file_name(name)?;
    let mut wanted = belongs(Some(name), bytes)?.base?.rollout;
    let known = rollouts_around(path);
    let mut bases: Vec<(String, Vec<u8>)> = Vec::new();
    while let Some(file) = known.iter().find(|file| rollout_of(file).as_deref() == Some(wanted.as_str()))
        && let Ok(bytes) = fs::read(file)
        && bases.len() < known.len()
    {
        let name = file.to_string_lossy().into_owned();
        let next = belongs(Some(&name), &bytes).and_then(|belongs| belongs.base);
        bases.push((name, bytes));
        let Some(next) = next else { break };
        wanted = next.rollout;
    }
    let bases: Vec<RolloutFile<'_>> = bases.iter().map(|(name, bytes)| RolloutFile { name, bytes }).collect();
    Some(codex::read_with_bases(RolloutFile { name, bytes }, &bases))
}

/// Codex keeps sessions by year, month and day; elsewhere those in the same folder are looked at.
fn rollouts_around(path: &Path) -> Vec<PathBuf> {
    let is_top = |folder: &&Path| folder.ends_with("sessions") || folder.ends_with("archived_sessions");
    let Some(top) = path.ancestors().skip(1).find(is_top) else {
        return named(path.parent().unwrap_or(path), |name| name.contains("rollout-"));
    };
    let mut found = Vec::new();
    let both = ["sessions", "archived_sessions"].map(|folder| top.with_file_name(folder));
    let mut open = both.to_vec();
    while let Some(folder) = open.pop() {
        found.extend(named(&folder, |name| name.contains("rollout-")));
        open.extend(named(&folder, |name| name.bytes().all(|byte| byte.is_ascii_digit())));
    }
    found
}

fn rollout_of(file: &Path) -> Option<String> {
    rollout_id_from_file_name(&file.to_string_lossy()).map(str::to_owned)
}

/// What lies in a folder under a name that fits, sorted by name.
fn named(folder: &Path, fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        items.filter(|item| fits(&item.file_name().to_string_lossy())).map(|item| item.path()).collect();
    found.sort();
    found
}
