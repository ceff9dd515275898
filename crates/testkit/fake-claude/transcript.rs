//! The session file: lines of JSON linked by `parentUuid`, and which of its branches the next prompt continues.

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub(super) const INTERRUPTED: &str = "[Request interrupted by user";
/// Stands before the list of prompts in the summary of a compaction.
pub(super) const SUMMARY: &str =
    "This session is being continued from a previous conversation that ran out of context.";

pub(super) struct Transcript {
    pub(super) session: String,
    pub(super) path: PathBuf,
    lines: Vec<Value>,
    /// The last line of the active branch.
    pub(super) tip: Option<String>,
    /// Lines of a fork that are written with its first prompt.
    unwritten: usize,
}

impl Transcript {
    pub(super) fn new(session: &str, path: PathBuf) -> Self {
        Self { session: session.to_owned(), path, lines: Vec::new(), tip: None, unwritten: 0 }
    }

    pub(super) fn read(session: &str, path: PathBuf) -> io::Result<Self> {
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let tip = active_tip(&lines);
        Ok(Self { session: session.to_owned(), path, lines, tip, unwritten: 0 })
    }

    /// A fork that ends with this line. Nothing is written yet.
    pub(super) fn fork(&self, session: &str, path: PathBuf) -> Self {
        let chain: HashSet<&str> =
            self.history().into_iter().filter_map(|line| line["uuid"].as_str()).collect();
        let is_copied = |line: &&Value| match line["type"].as_str() {
            Some("file-history-snapshot") => line["messageId"].as_str().is_some_and(|id| chain.contains(id)),
            _ => line["uuid"].as_str().is_some_and(|id| chain.contains(id)),
        };
        let mut lines: Vec<Value> = self.lines.iter().filter(is_copied).cloned().collect();
        for line in &mut lines {
            if line.get("sessionId").is_some() {
                line["sessionId"] = json!(session);
            }
        }
        let unwritten = lines.len();
        Self { session: session.to_owned(), path, lines, tip: self.tip.clone(), unwritten }
    }

    /// Continues behind an earlier line of the active branch.
    pub(super) fn go_back_to(&mut self, line: &str) -> bool {
        let is_active = self.chain().iter().any(|own| own["uuid"] == line);
        if is_active {
            self.tip = Some(line.to_owned());
        }
        is_active
    }

    /// Writes a line. One with a `uuid` becomes the tip.
    pub(super) fn append(&mut self, line: Value) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
        let mut text = String::new();
        let copied = self.lines.len() - self.unwritten;
        for line in self.lines.get(copied..).unwrap_or_default().iter().chain([&line]) {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        file.write_all(text.as_bytes())?;
        self.unwritten = 0;
        if let Some(id) = line["uuid"].as_str() {
            self.tip = Some(id.to_owned());
        }
        self.lines.push(line);
        Ok(())
    }

    /// What the model sees, the oldest line first: it ends at a compaction.
    pub(super) fn chain(&self) -> Vec<&Value> {
        self.walk("parentUuid", None)
    }

    /// The whole branch, also before a compaction.
    fn history(&self) -> Vec<&Value> {
        self.walk("parentUuid", Some("logicalParentUuid"))
    }

    fn walk(&self, parent: &str, or: Option<&str>) -> Vec<&Value> {
        let of_id: HashMap<&str, &Value> =
            self.lines.iter().filter_map(|line| Some((line["uuid"].as_str()?, line))).collect();
        let mut chain = Vec::new();
        let mut seen = HashSet::new();
        let mut next = self.tip.as_deref();
        while let Some(line) = next.filter(|id| seen.insert(*id)).and_then(|id| of_id.get(id)) {
            chain.push(*line);
            next = line[parent].as_str().or_else(|| or.and_then(|or| line[or].as_str()));
        }
        chain.reverse();
        chain
    }

    /// The texts of the person that the model sees, a summary counting as those that it lists.
    pub(super) fn prompts(&self) -> Vec<String> {
        let mut prompts = Vec::new();
        for line in self.chain() {
            if line["type"] != "user" || line["isMeta"] == true {
                continue;
            }
            for text in texts(&line["message"]["content"]) {
                if let Some(list) = text.strip_prefix(SUMMARY) {
                    prompts.extend(serde_json::from_str::<Vec<String>>(list.trim()).unwrap_or_default());
                } else if is_of_person(text) {
                    prompts.push(text.to_owned());
                }
            }
        }
        prompts
    }

    pub(super) fn last_of(&self, kind: &str) -> Option<&Value> {
        self.lines.iter().rev().find(|line| line["type"] == kind)
    }

    /// Time does not pass by itself here: each line is a second after the one before.
    pub(super) fn time(&self) -> String {
        let seconds = self.lines.len();
        format!(
            "2026-01-{:02}T{:02}:{:02}:{:02}.000Z",
            1 + seconds / 86_400 % 28,
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60
        )
    }
}

pub(super) fn is_of_person(text: &str) -> bool {
    !text.starts_with('<') && !text.starts_with(INTERRUPTED)
}

pub(super) fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

/// A `last-prompt` line names the tip, unless conversation was written after it or it names no tip.
fn active_tip(lines: &[Value]) -> Option<String> {
    let last = lines.iter().rev().find(|line| {
        line["type"] == "last-prompt" || (line["uuid"].is_string() && line["isSidechain"] != true)
    })?;
    let newest = lines.iter().rev().find(|line| line["uuid"].is_string() && line["isSidechain"] != true);
    let newest = newest.and_then(|line| line["uuid"].as_str());
    let named = last["leafUuid"].as_str().filter(|leaf| {
        lines.iter().any(|line| line["uuid"] == **leaf)
            && !lines.iter().any(|line| line["parentUuid"] == **leaf)
    });
    named.or(newest).map(str::to_owned)
}

/// The folder of a project: its path with all other characters replaced.
pub(super) fn project_folder(config: &Path, workspace: &Path) -> PathBuf {
    let name: String = workspace
        .to_string_lossy()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    config.join("projects").join(name)
}

/// The file of a session in any project.
pub(super) fn find(config: &Path, session: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(config.join("projects")).into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join(format!("{session}.jsonl"))).find(|file| file.is_file())
}
