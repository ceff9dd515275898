//! `cargo xtask bench [--peers] [--check] [--only WORD] [--json FILE] [DIR]`: how fast long sessions are, beside the programs that wrote
//! the format.
//!
//! Every figure is the median of five processes. In each round ours and the peers' run one after the other on the
//! same file, and a ratio is taken within its round: on a machine that others use too, only that means something.
//! The time of a process of ours counts from `main`, with all that opening does; that of a peer without loading
//! its modules.

mod against;
mod claude;
mod corpus;
mod engine;
mod models;
mod overhead;
mod peers;
mod scaling;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::generate;
use crate::programs::target_dir;
use peers::Peer;
use table::Figure;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request {
    pub(crate) peers: bool,
    /// A figure that misses what is asked fails the command.
    pub(crate) check: bool,
    /// Many sessions instead of long ones.
    pub(crate) corpus: bool,
    /// Commands beside those of another build of Offshoot.
    pub(crate) against: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
    /// Only cases of which the operation, the session or the format contains this word.
    pub(crate) only: Option<String>,
    /// Where the sessions lie; they are made where they are missing, and stay.
    pub(crate) dir: Option<PathBuf>,
}

const ROUNDS: usize = 5;

/// What is measured: on which session, with which words of ours and of a peer, and which of the times counts.
struct Case {
    name: &'static str,
    preset: &'static str,
    ours: &'static str,
    theirs: Option<&'static str>,
    field: &'static str,
    /// The least ratio to the faster peer that is asked for.
    goal: Option<f64>,
}

const fn case(
    name: &'static str,
    preset: &'static str,
    ours: &'static str,
    theirs: Option<&'static str>,
    field: &'static str,
    goal: Option<f64>,
) -> Case {
    Case { name, preset, ours, theirs, field, goal }
}

const CASES: &[Case] = &[
    case("open to 50 messages", "large", "screen", Some("screen"), "ms", Some(12.0)),
    case("the same with the index", "large", "screen-indexed", Some("screen"), "ms", Some(40.0)),
    case("open to 50 messages", "huge", "screen", Some("screen"), "ms", Some(25.0)),
    case("the same with the index", "huge", "screen-indexed", Some("screen"), "ms", Some(80.0)),
    case("navigate, first visit", "large", "navigate", Some("navigate"), "ms", Some(3.0)),
    case("… and every message read", "large", "navigate-read", Some("navigate"), "ms", Some(3.0)),
    case("navigate, been there", "large", "navigate", Some("navigate"), "again_ms", Some(3.0)),
    case("… and every message read", "large", "navigate-read", Some("navigate"), "again_ms", Some(3.0)),
    case("navigate, first visit", "huge", "navigate", Some("navigate"), "ms", Some(30.0)),
    case("… and every message read", "huge", "navigate-read", Some("navigate"), "ms", Some(30.0)),
    case("navigate, been there", "huge", "navigate", Some("navigate"), "again_ms", Some(30.0)),
    case("… and every message read", "huge", "navigate-read", Some("navigate"), "again_ms", Some(30.0)),
    case("context", "large", "context", Some("context"), "ms", Some(4.0)),
    case("… and every message read", "large", "context-read", Some("context"), "ms", Some(4.0)),
    case("open and context", "deep-linear", "context", Some("context"), "end_to_end_ms", Some(1.0)),
    case(
        "… and every message read",
        "deep-linear",
        "context-read",
        Some("context"),
        "end_to_end_ms",
        Some(1.0),
    ),
    case("context again", "deep-linear", "context", Some("context"), "again_ms", Some(1.0)),
    case("… and every message read", "deep-linear", "context-read", Some("context"), "again_ms", Some(1.0)),
    case("outline", "bushy", "outline", Some("outline"), "ms", None),
];

/// Milliseconds of ours and megabytes at their peak that are asked for: by operation and session, not more than this.
const LIMITS: &[(&str, &str, Option<f64>, Option<f64>)] = &[
    ("open to 50 messages", "huge", None, Some(64.0)),
    ("the same with the index", "huge", None, Some(32.0)),
    ("outline", "bushy", Some(10.0), None),
    ("show --last 100 --json=lines", "long", None, Some(100.0)),
];

/// What is asked of appends: not more than this.
const APPEND_LIMITS: &[(&str, f64)] = &[
    ("append_ratio", 1.2),
    ("held_ratio", 1.2),
    ("group_of_8_each_ratio", 0.2),
    ("edit_bytes", 4096.0),
    ("delta_ns", 100.0),
];

pub(crate) fn run(request: &Request) -> Result<ExitCode> {
    if let Some(before) = &request.against {
        return against::run(request, before);
    }
    if request.corpus {
        return corpus::run(request);
    }
    if let Some(rows) = request.only.as_deref().and_then(|only| only.strip_prefix("scaling")) {
        return scaling::run(request, rows.trim_start());
    }
    if request.only.as_deref() == Some("models") {
        return models::run(request.check);
    }
    if request.only.as_deref() == Some("overhead") {
        return overhead::run(request.check);
    }
    let helper = build()?;
    let scratch = Scratch::new()?;
    let dir = request.dir.clone().unwrap_or_else(|| scratch.0.join("sessions"));
    let peers_folder = target_dir()?.join("peers");
    let is_asked_for = |words: &[&str]| {
        request.only.as_deref().is_none_or(|only| words.iter().any(|word| word.contains(only)))
    };
    let mut figures = match is_asked_for(&["claude"]) {
        true => claude::measure(&dir, request.peers.then_some(peers_folder.as_path()))?,
        false => Vec::new(),
    };
    figures.iter().for_each(|figure| println!("{}", figure.line()));
    let is_measured = |case: &Case, format| is_asked_for(&[case.ours, case.preset, format]);
    for preset in ["large", "huge", "deep-linear", "bushy"] {
        let mut cases = CASES.iter().filter(|case| case.preset == preset);
        let is_needed = cases.any(|case| is_measured(case, "pi") || is_measured(case, "journal"));
        if is_needed && !session_of(&dir, preset, "pi").is_ok_and(|file| file.exists()) {
            eprintln!("making {preset}");
            generate::write(preset, &dir, &["pi", "offshoot"])?;
        }
    }
    let peers = if request.peers { peers::installed(&peers_folder) } else { Vec::new() };
    for format in ["pi", "journal"] {
        let run = |case: &Case| (case.preset, case.theirs);
        let cases: Vec<&Case> = CASES.iter().filter(|case| is_measured(case, format)).collect();
        for cases in cases.chunk_by(|one, other| run(one) == run(other)) {
            let peers = if format == "pi" { peers.as_slice() } else { &[] };
            for figure in measure(cases, format, &helper, &dir, &scratch.0, peers)? {
                println!("{}", figure.line());
                figures.push(figure);
            }
        }
    }
    let appends = match is_asked_for(&["append"]) {
        true => appends(&helper, &scratch.0)?,
        false => Value::Null,
    };
    let talks = match is_asked_for(&["engine"]) {
        true => engine::measure()?,
        false => engine::Figures::default(),
    };
    for told in [&appends, &talks.told].into_iter().filter(|told| !told.is_null()) {
        println!("{told}");
    }
    if let Some(path) = &request.json {
        let figures: Vec<Value> = figures.iter().map(Figure::json).collect();
        let told = json!({ "figures": figures, "append": appends, "engine": talks.told });
        std::fs::write(path, format!("{told:#}\n"))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    if !figures.is_empty() {
        println!("\n{}", table::markdown(&figures));
    }
    let missed = figures.iter().flat_map(|figure| figure.missed(LIMITS));
    let missed: Vec<String> = missed.chain(missed_appends(&appends)).chain(talks.missed).collect();
    missed.iter().for_each(|missed| println!("missed: {missed}"));
    Ok(if request.check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Cases that ask the peers for the same.
fn measure(
    cases: &[&Case],
    format: &str,
    helper: &Path,
    dir: &Path,
    scratch: &Path,
    peers: &[Peer],
) -> Result<Vec<Figure>> {
    let Some(case) = cases.first().copied() else { return Ok(Vec::new()) };
    let file = session_of(dir, case.preset, format)?;
    let home = scratch.join("home");
    let ours = |operation: &str| -> Result<Value> {
        told_by(Command::new(helper).args([operation, format]).arg(&file).arg(&home))
    };
    // Once before, so that all find the file in the page cache, and the index is there.
    ours("index")?;
    let mut figures: Vec<Figure> =
        cases.iter().map(|case| Figure::new(case.name, case.preset, format, case.goal)).collect();
    for _ in 0..ROUNDS {
        let mut theirs = Vec::new();
        for peer in peers {
            if let Some(operation) = case.theirs {
                theirs.push((peer.name.to_owned(), peer.run(operation, &file)?));
            }
        }
        for (figure, case) in figures.iter_mut().zip(cases) {
            let mut round = vec![("offshoot".to_owned(), ours(case.ours)?)];
            round.extend(theirs.iter().cloned());
            figure.add(&round, case.field)?;
        }
    }
    Ok(figures)
}

/// Durable appends beside a bare write and sync of the same bytes, in one process.
fn appends(helper: &Path, scratch: &Path) -> Result<Value> {
    let home = scratch.join("append-home");
    told_by(Command::new(helper).args(["append", "journal", "-"]).arg(&home))
}

fn missed_appends(appends: &Value) -> impl Iterator<Item = String> {
    APPEND_LIMITS.iter().filter_map(|(field, limit)| {
        let told = appends[field].as_f64()?;
        (told > *limit).then(|| format!("{field} {told:.2}, asked for {limit}"))
    })
}

fn told_by(command: &mut Command) -> Result<Value> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().rev().find(|line| line.contains('{')).unwrap_or_default();
    serde_json::from_str(line.trim_start_matches('@')).with_context(|| format!("not JSON: {line}"))
}

fn build() -> Result<PathBuf> {
    example("long_session")
}

/// A program of ours to be measured.
fn example(name: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["build", "--profile", "dist", "-p", "offshoot-store", "--example", name];
    let status = Command::new(cargo).args(arguments).status().context("cannot run cargo")?;
    if !status.success() {
        bail!("the helper could not be built");
    }
    Ok(target_dir()?.join("dist/examples").join(name))
}

fn session_of(dir: &Path, preset: &str, format: &str) -> Result<PathBuf> {
    if format == "pi" {
        return Ok(dir.join("pi").join(format!("{preset}.jsonl")));
    }
    let folder = dir.join("offshoot").join(preset).join("sessions");
    for item in std::fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))? {
        let path = item?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            return Ok(path);
        }
    }
    bail!("no journal in `{}`", folder.display())
}

/// A folder that goes with this run.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("offshoot-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot create `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
