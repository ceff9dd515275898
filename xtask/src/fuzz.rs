//! `cargo xtask fuzz [TARGET] [SECONDS]`: the readers on any bytes, for as long as one likes.
//!
//! With a nightly compiler the search is led by what the code does with a file (cargo-fuzz, which is fetched into the
//! target folder where it is not installed); without one files are made by chance. Both run the same functions. What
//! makes one fail is kept under `fuzz/artifacts`.

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "it is a crate of its own for cargo-fuzz")]
mod readers;
mod tool;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use readers::mutate::{Chance, file};
use readers::{TARGETS, Target};
use tool::Tool;

/// The longest file that is tried, and the memory that reading it may take, most of which is the sanitizer's.
const LIMITS: [&str; 2] = ["-max_len=8192", "-rss_limit_mb=1024"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// All of them where none is named.
    pub(crate) target: Option<String>,
    /// For each target.
    pub(crate) seconds: u64,
}

impl Default for Request {
    fn default() -> Self {
        Self { target: None, seconds: 60 }
    }
}

pub(crate) fn run(request: &Request) -> Result<ExitCode> {
    let is_meant = |target: &&Target| request.target.as_deref().is_none_or(|name| name == target.name);
    let meant: Vec<&Target> = TARGETS.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("no target `{}`; there are {}", request.target.clone().unwrap_or_default(), names.join(", "));
    }
    let folder = folder()?;
    let tool = match Tool::ready(&folder) {
        Ok(tool) => {
            println!("by cargo-fuzz, on nightly");
            Some(tool)
        }
        Err(reason) => {
            println!("skipped: cargo-fuzz ({reason:#}); files are made by chance");
            None
        }
    };
    if let Some(tool) = &tool {
        tool.build()?;
    }
    let mut failed = 0;
    for target in meant {
        let found = match &tool {
            Some(tool) => led(tool, target, &folder, request.seconds)?,
            None => by_chance(target, &folder, Duration::from_secs(request.seconds))?,
        };
        match found {
            Found::Nothing(how_many) => println!("ok    {}: {how_many}", target.name),
            Found::Failure(place) => {
                failed += 1;
                println!("FAIL  {}: {place}", target.name);
            }
        }
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

enum Found {
    Nothing(String),
    Failure(String),
}

fn folder() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in no folder")?;
    Ok(root.join("fuzz"))
}

fn led(tool: &Tool, target: &Target, folder: &Path, seconds: u64) -> Result<Found> {
    let corpus = folder.join("corpus").join(target.name);
    std::fs::create_dir_all(&corpus).with_context(|| format!("cannot create `{}`", corpus.display()))?;
    for (number, sample) in target.samples.iter().enumerate() {
        std::fs::write(corpus.join(format!("sample-{number}")), sample)?;
    }
    let seconds = format!("-max_total_time={seconds}");
    let words = ["run", target.name, "--", &seconds].into_iter().chain(LIMITS);
    let output = tool.command(words).output().context("cannot run cargo-fuzz")?;
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let done = told.lines().rev().find(|line| line.starts_with("Done "));
        return Ok(Found::Nothing(done.unwrap_or("done").to_owned()));
    }
    let said = |line: &&str| {
        line.contains("panicked") || line.contains("Test unit written") || line.contains("ERROR")
    };
    let said: Vec<&str> = told.lines().filter(said).collect();
    if said.is_empty() {
        bail!("cargo-fuzz: {}", told.trim());
    }
    Ok(Found::Failure(said.join("; ")))
}

fn by_chance(target: &Target, folder: &Path, time: Duration) -> Result<Found> {
    let begun = Instant::now();
    let mut seed = 0;
    while begun.elapsed() < time {
        let bytes = file(target.samples, &mut Chance::seeded(seed));
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes))).is_err() {
            let kept = folder.join("artifacts").join(target.name).join(format!("seed-{seed}"));
            let parent = kept.parent().context("an artifact lies in a folder")?;
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot create `{}`", parent.display()))?;
            std::fs::write(&kept, &bytes).with_context(|| format!("cannot write `{}`", kept.display()))?;
            return Ok(Found::Failure(kept.display().to_string()));
        }
        seed += 1;
    }
    Ok(Found::Nothing(format!("{seed} files")))
}
