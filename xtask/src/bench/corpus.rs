//! `cargo xtask bench --corpus [--peers] [--json FILE] [DIR]`: how fast five thousand sessions are listed and searched.
//!
//! Whole processes are measured, start and end included, one of ours and one of theirs in each round. Only the list
//! of another program is timed inside of it, without loading its modules.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{ROUNDS, Request, Scratch, peers};
use crate::generate::{self, RARE_WORD};
use crate::programs::target_dir;

/// A first sync takes so long that three are enough.
const FIRST_SYNCS: usize = 3;

pub(super) fn run(request: &Request) -> Result<ExitCode> {
    let program = build()?;
    let scratch = Scratch::new()?;
    let dir = request.dir.clone().unwrap_or_else(|| scratch.0.join("sessions"));
    let corpus = prepared(&dir)?;
    let bench = Bench { program, home: scratch.0.join("home"), corpus };
    let mut told = serde_json::Map::new();
    let mut tell = |name: &str, value: Value| {
        println!("{name}: {value}");
        told.insert(name.to_owned(), value);
    };
    tell("first sync", bench.first_syncs()?);
    let peer = if request.peers { peers::installed(&target_dir()?.join("peers")) } else { Vec::new() };
    tell("list", bench.lists(peer.iter().find(|peer| peer.name == "oh-my-pi"))?);
    match Command::new("rg").arg("--version").output() {
        Ok(_) => {
            tell("search for a rare word", bench.searches(&[])?);
            tell("the same in tools too", bench.searches(&["--tools"])?);
        }
        Err(error) => eprintln!("skipped rg: {error}"),
    }
    // last, for a file that was cut short is listed from the archive
    tell("grown by one line", bench.grown()?);
    if let Some(path) = &request.json {
        std::fs::write(path, format!("{:#}\n", Value::Object(told)))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The sessions, made where they are missing.
pub(super) fn prepared(dir: &Path) -> Result<PathBuf> {
    let corpus = dir.join("pi").join("corpus");
    if !corpus.exists() {
        eprintln!("making the corpus");
        // Half of one, left by an interrupted run, would be measured as a whole.
        let unfinished = dir.join("unfinished");
        generate::run("corpus", &unfinished, &["pi"])?;
        std::fs::create_dir_all(dir.join("pi"))?;
        std::fs::rename(unfinished.join("pi").join("corpus"), &corpus)?;
        std::fs::remove_dir_all(&unfinished)?;
    }
    Ok(corpus)
}

struct Bench {
    program: PathBuf,
    home: PathBuf,
    corpus: PathBuf,
}

impl Bench {
    fn ours(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("OFFSHOOT_HOME", &self.home).env("OFFSHOOT_SOURCES", &self.corpus);
        command.env("OFFSHOOT_AUTO_SYNC", "false");
        command
    }

    /// The last one is what the others use.
    fn first_syncs(&self) -> Result<Value> {
        let (mut rates, mut peaks, mut sessions) = (Vec::new(), Vec::new(), Value::Null);
        for _ in 0..FIRST_SYNCS {
            let _ = std::fs::remove_dir_all(&self.home);
            let begun = Instant::now();
            let mut child =
                self.ours(&["sync", "--json"]).stdout(Stdio::piped()).spawn().context("cannot run ours")?;
            let mut peak = 0.0_f64;
            while child.try_wait()?.is_none() {
                peak = peak.max(peak_of(child.id()).unwrap_or(0.0));
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let seconds = begun.elapsed().as_secs_f64();
            let output = child.wait_with_output()?;
            let told: Value = serde_json::from_slice(&output.stdout).context("sync tells no JSON")?;
            rates.push(told["bytes_read"].as_f64().unwrap_or(0.0) / 1e6 / seconds);
            peaks.push(peak);
            sessions = told["sessions"].clone();
        }
        let catalog = std::fs::metadata(self.home.join("catalog.db"))?.len();
        Ok(json!({
            "sessions": sessions, "mb_per_second": median(&rates), "peak_mb": median(&peaks),
            "catalog_mb": catalog as f64 / 1e6, "goal_mb_per_second": 150, "goal_peak_mb": 200,
        }))
    }

    /// One line is put behind a file, and taken away again.
    fn grown(&self) -> Result<Value> {
        let file = first_file(&self.corpus)?;
        let length = std::fs::metadata(&file)?.len();
        let line = concat!(
            r#"{"type":"message","id":"grown-1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","#,
            r#""message":{"role":"user","content":"one more line"}}"#,
            "\n"
        );
        told_whole(&mut self.ours(&["sync", "--json"]))?;
        std::fs::OpenOptions::new().append(true).open(&file)?.write_all(line.as_bytes())?;
        let synced = told_whole(&mut self.ours(&["sync", "--json"]));
        std::fs::OpenOptions::new().write(true).open(&file)?.set_len(length)?;
        let synced = synced?;
        told_whole(&mut self.ours(&["sync", "--json"]))?;
        Ok(
            json!({ "line": line.len(), "file": length, "changed": synced["changed"], "bytes_read": synced["bytes_read"] }),
        )
    }

    fn lists(&self, peer: Option<&peers::Peer>) -> Result<Value> {
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let rounds = ROUNDS + 1; // the first finds nothing in the page cache
        for _ in 0..rounds {
            let (ms, listed) = timed(&mut self.ours(&["ls"]))?;
            ours.push(ms);
            let lines = listed.lines().count();
            if let Some(peer) = peer {
                let told = peer.list(&self.corpus)?;
                if told["count"].as_u64() != Some(lines as u64) {
                    bail!("ours lists {lines} sessions, {} {}", peer.name, told["count"]);
                }
                let ms_of_peer = told["ms"].as_f64().unwrap_or(0.0);
                theirs.push(ms_of_peer);
                ratios.push(ms_of_peer / ms);
            }
        }
        let skip = |all: &[f64]| median(all.get(1..).unwrap_or_default());
        Ok(
            json!({ "ours_ms": skip(&ours), "oh_my_pi_ms": skip(&theirs), "ratio": skip(&ratios), "goal": 20 }),
        )
    }

    /// Both find the same sessions.
    fn searches(&self, options: &[&str]) -> Result<Value> {
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS + 1 {
            let arguments: Vec<&str> =
                ["search", RARE_WORD, "--json=lines"].iter().chain(options).copied().collect();
            let (ms, found) = timed(&mut self.ours(&arguments))?;
            let (ms_of_rg, files) = timed(Command::new("rg").args(["-l", RARE_WORD]).arg(&self.corpus))?;
            let found: BTreeSet<String> = found
                .lines()
                .filter_map(|line| {
                    serde_json::from_str::<Value>(line).ok()?["path"].as_str().map(str::to_owned)
                })
                .collect();
            if found != files.lines().map(str::to_owned).collect() {
                bail!("ours finds {} sessions, rg {}", found.len(), files.lines().count());
            }
            ours.push(ms);
            theirs.push(ms_of_rg);
            ratios.push(ms_of_rg / ms);
        }
        let skip = |all: &[f64]| median(all.get(1..).unwrap_or_default());
        let goal = if options.is_empty() { 15 } else { 1 };
        Ok(json!({ "ours_ms": skip(&ours), "rg_ms": skip(&theirs), "ratio": skip(&ratios), "goal": goal }))
    }
}

pub(super) fn timed(command: &mut Command) -> Result<(f64, String)> {
    let begun = Instant::now();
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok((ms, String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// One object over several lines.
fn told_whole(command: &mut Command) -> Result<Value> {
    let (_, text) = timed(command)?;
    serde_json::from_str(&text).with_context(|| format!("not JSON: {text}"))
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    (middle * 10.0).round() / 10.0
}

/// The most memory a process has had so far.
pub(super) fn peak_of(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// All files of the corpus, in the order of their names.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut names: Vec<PathBuf> = Vec::new();
    for item in std::fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))? {
        names.push(item?.path());
    }
    names.sort();
    let mut files = Vec::new();
    for path in names {
        match path.is_dir() {
            true => files.append(&mut self::files(&path)?),
            false => files.push(path),
        }
    }
    Ok(files)
}

pub(super) fn first_file(folder: &Path) -> Result<PathBuf> {
    files(folder)?.into_iter().next().with_context(|| format!("nothing in `{}`", folder.display()))
}

pub(super) fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(["build", "--profile", "dist", "-p", "offshoot"]).status();
    if !status.context("cannot run cargo")?.success() {
        bail!("the program could not be built");
    }
    Ok(target_dir()?.join("dist/offshoot"))
}
