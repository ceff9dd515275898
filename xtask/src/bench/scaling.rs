//! `cargo xtask bench --only "scaling [ROW]" [--check] [--json FILE]`: how the time of every command grows with the session,
//! or of those whose row begins with ROW.
//!
//! Wide sessions have many versions of one prompt, deep ones a single long branch, and each is measured at three sizes, one
//! twice the other. A command that is linear takes twice the time; a little more is allowed for memory that no cache holds.
//! The time of a command is that of the released binary from its start to its end, the best of three.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use offshoot_session::format::{InBatch, encode};
use offshoot_session::{
    Block, Body, Entry, EntryId, HeadMove, HeadName, Model, Record, Reply, SessionHeader, Usage,
};
use offshoot_store::Home;
use serde_json::{Value, json};

use super::{Request, Scratch, corpus};

/// What one doubling may cost.
const MOST: f64 = 2.6;
const ROUNDS: usize = 3;
const SESSION: &str = "scaling";
/// The label of the entry where the head is at first.
const TIP: &str = "tip";
/// A word in one entry of each session.
const WORD: &str = "quibberwort";

const SHAPES: [(Shape, [usize; 3]); 2] =
    [(Shape::Wide, [10_000, 20_000, 40_000]), (Shape::Deep, [75_000, 150_000, 300_000])];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// So many versions of the second prompt, each with its reply.
    Wide,
    /// So many entries below each other.
    Deep,
}

/// A command, and what has to happen before it each time, so that it has something to do.
struct Case {
    arguments: &'static [&'static str],
    before: Before,
    input: Option<&'static str>,
}

enum Before {
    Nothing,
    Command(&'static [&'static str]),
    /// The catalog is deleted.
    NoCatalog,
}

impl Case {
    fn name(&self, shape: Shape) -> String {
        let words = self.arguments.iter().filter(|word| !word.starts_with(['{', '1', '2']));
        let words: Vec<&str> = words.copied().filter(|word| *word != SESSION && *word != "-o").collect();
        format!("{}, {shape:?}", words.join(" ")).to_lowercase()
    }
}

const fn looks(arguments: &'static [&'static str]) -> Case {
    Case { arguments, before: Before::Nothing, input: None }
}

const fn after(before: &'static [&'static str], arguments: &'static [&'static str]) -> Case {
    Case { arguments, before: Before::Command(before), input: None }
}

/// `{out}` is a place to export to, `{round}` differs each time.
const CASES: &[Case] = &[
    looks(&["ls"]),
    looks(&["search", WORD]),
    looks(&["tree", SESSION]),
    looks(&["tree", SESSION, "--json"]),
    looks(&["tree", SESSION, "--search", WORD]),
    looks(&["show", SESSION]),
    looks(&["show", SESSION, "--json"]),
    looks(&["show", SESSION, "--context"]),
    looks(&["show", SESSION, "--at", "2"]),
    looks(&["show", SESSION, "--last", "3"]),
    looks(&["versions", SESSION, "2"]),
    looks(&["versions", SESSION, "2", "--json"]),
    looks(&["cost", SESSION]),
    looks(&["cost", SESSION, "--by", "turn"]),
    looks(&["inspect", SESSION]),
    looks(&["branch", SESSION]),
    looks(&["ops", SESSION]),
    looks(&["queue", SESSION]),
    looks(&["status"]),
    looks(&["keep"]),
    looks(&["doctor"]),
    looks(&["fsck"]),
    looks(&["export", SESSION, "--to", "pi", "-o", "{out}/pi.jsonl"]),
    looks(&["export", SESSION, "--to", "claude", "-o", "{out}/claude.jsonl"]),
    looks(&["export", SESSION, "--to", "codex", "-o", "{out}/codex.jsonl"]),
    looks(&["export", SESSION, "--to", "markdown", "-o", "{out}/markdown.md"]),
    looks(&["export", SESSION, "--to", "offshoot", "-o", "{out}/offshoot/"]),
    looks(&["export", SESSION, "--to", "rollouts", "-o", "{out}/rollouts/"]),
    looks(&["label", SESSION, "1", "label {round}"]),
    looks(&["rename", SESSION, "title {round}"]),
    looks(&["edit", SESSION, "2", "edited {round}"]),
    after(&["label", SESSION, "1", "to undo {round}"], &["undo", SESSION]),
    after(&["undo", SESSION], &["redo", SESSION]),
    after(&["switch", SESSION, TIP], &["switch", SESSION, "1"]),
    after(&["switch", SESSION, TIP], &["rewind", SESSION, "2"]),
    after(&["edit", SESSION, "2", "left {round}"], &["prev", SESSION]),
    after(&["prev", SESSION], &["next", SESSION]),
    looks(&["retry", SESSION, "2"]),
    looks(&["branch", "name", SESSION, "1", "name-{round}"]),
    after(&["unarchive", SESSION, TIP], &["archive", SESSION, TIP]),
    after(&["archive", SESSION, TIP], &["unarchive", SESSION, TIP]),
    after(&["switch", SESSION, TIP], &["fork", SESSION, "1"]),
    looks(&["edit", SESSION, "m:1", "another answer {round}"]),
    looks(&["edit", SESSION, TIP, "elsewhere {round}", "--new-session"]),
    looks(&["retry", SESSION, TIP, "--new-session"]),
    looks(&["fork", SESSION, "1", "--new-session"]),
    Case { arguments: &["append", SESSION], before: Before::Nothing, input: Some(LINE) },
    Case { arguments: &["append", SESSION, "--batch"], before: Before::Nothing, input: Some(LINE) },
    Case { arguments: &["sync"], before: Before::NoCatalog, input: None },
    after(
        &["export", SESSION, "--to", "pi", "-o", "{out}/pi.jsonl"],
        &["import", "--again", "{out}/pi.jsonl"],
    ),
    after(&["engine", "stop"], &["send", SESSION, "one more {round}"]),
];

const LINE: &str = "{\"role\":\"user\",\"text\":\"one more\"}\n";

/// Commands that are not measured, because no session is read for them, or as another one reads it.
#[cfg(test)]
const NOT_MEASURED: &[(&str, &str)] = &[
    ("abort", "needs a turn that runs; finds it as `status` does"),
    ("agent-exec", "runs an agent"),
    ("agents", "reads no session"),
    ("answer", "needs a turn that asks; finds it as `status` does"),
    ("chat", "opens the session as `send` does"),
    ("completions", "reads no session"),
    ("config", "reads no session"),
    ("engine", "reads no session"),
    ("forget", "moves files"),
    ("man", "reads no session"),
    ("new", "reads no session"),
    ("permissions", "reads no session"),
    ("queue cancel", "opens the session as `queue` does"),
    ("queue change", "opens the session as `queue` does"),
    ("queue send", "opens the session as `send` does"),
];

pub(super) fn run(request: &Request, rows: &str) -> Result<ExitCode> {
    let program = corpus::build()?;
    let scratch = Scratch::new()?;
    let mut figures = Vec::new();
    for (shape, sizes) in SHAPES {
        let is_meant = |case: &&Case| case.name(shape).starts_with(rows);
        let cases: Vec<&Case> = CASES.iter().filter(is_meant).collect();
        if cases.is_empty() {
            continue;
        }
        let homes = sizes.map(|size| home_of(&program, &scratch.0, shape, size));
        let homes: Vec<TestHome> = homes.into_iter().collect::<Result<_>>()?;
        for case in cases {
            let figure = measured(case, shape, &homes)?;
            println!("{}", figure.line());
            figures.push(figure);
        }
        for home in &homes {
            home.run(home.command(&["engine", "stop"], 0), None)?;
        }
    }
    if let Some(path) = &request.json {
        let told: Vec<Value> = figures.iter().map(Figure::json).collect();
        std::fs::write(path, format!("{:#}\n", Value::Array(told)))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let missed: Vec<&Figure> = figures.iter().filter(|figure| figure.is_missed()).collect();
    missed.iter().for_each(|figure| println!("missed: {}", figure.line()));
    Ok(if request.check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The best times of a command in milliseconds, by size.
struct Figure {
    name: String,
    times: Vec<f64>,
}

impl Figure {
    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.times.windows(2).filter_map(|pair| match pair {
            [one, twice] => Some(twice / one),
            _ => None,
        })
    }

    fn is_missed(&self) -> bool {
        self.ratios().any(|ratio| ratio > MOST)
    }

    fn line(&self) -> String {
        let times: String = self.times.iter().map(|ms| format!("{ms:10.1} ms")).collect();
        let ratios: String = self.ratios().map(|ratio| format!("  ×{ratio:.2}")).collect();
        format!("{:<40}{times}{ratios}", self.name)
    }

    fn json(&self) -> Value {
        let ratios: Vec<f64> = self.ratios().collect();
        json!({ "name": self.name, "ms": self.times, "ratios": ratios, "most": MOST })
    }
}

/// The sizes are measured by turns, so that noise of the machine hits all of them.
fn measured(case: &Case, shape: Shape, homes: &[TestHome]) -> Result<Figure> {
    let mut times = vec![f64::INFINITY; homes.len()];
    for round in 0..ROUNDS {
        for (home, best) in homes.iter().zip(&mut times) {
            *best = best.min(home.timed(case, round)?);
        }
    }
    Ok(Figure { name: case.name(shape), times })
}

struct TestHome {
    program: PathBuf,
    root: PathBuf,
}

impl TestHome {
    fn command(&self, arguments: &[&str], round: usize) -> Command {
        let mut command = Command::new(&self.program);
        let out = self.root.join("out").to_string_lossy().into_owned();
        let words = arguments.iter().map(|word| word.replace("{out}", &out));
        command.args(words.map(|word| word.replace("{round}", &round.to_string())));
        command.env("OFFSHOOT_HOME", &self.root).env("OFFSHOOT_SOURCES", self.root.join("no-sessions"));
        command.env("OFFSHOOT_AUTO_SYNC", "false").stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn timed(&self, case: &Case, round: usize) -> Result<f64> {
        let _ = std::fs::remove_dir_all(self.root.join("out"));
        std::fs::create_dir_all(self.root.join("out"))?;
        match case.before {
            Before::Nothing => {}
            Before::Command(before) => drop(self.run(self.command(before, round), None)?),
            Before::NoCatalog => std::fs::remove_file(self.root.join("catalog.db"))?,
        }
        self.run(self.command(case.arguments, round), case.input)
    }

    fn run(&self, mut command: Command, input: Option<&str>) -> Result<f64> {
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let begun = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            stdin.write_all(input.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        match output.status.success() {
            true => Ok(ms),
            false => bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()),
        }
    }
}

fn home_of(program: &Path, scratch: &Path, shape: Shape, size: usize) -> Result<TestHome> {
    let root = scratch.join(format!("{shape:?}-{size}").to_lowercase());
    eprintln!("making {}", root.display());
    let tip = write_session(&root, shape, size)?;
    let home = TestHome { program: program.to_owned(), root };
    home.run(home.command(&["sync"], 0), None)?;
    home.run(home.command(&["label", SESSION, &format!("id:{tip}"), TIP], 0), None)?;
    Ok(home)
}

/// Returns the entry where the head is.
fn write_session(root: &Path, shape: Shape, size: usize) -> Result<EntryId> {
    let home = Home::at(root.to_owned());
    let path = home.journal(&SESSION.into());
    std::fs::create_dir_all(path.parent().context("a journal is in a directory")?)?;
    let mut journal = Journal { out: BufWriter::new(File::create(&path)?), entries: 0 };
    let mut header = SessionHeader::new(SESSION.into(), moment(0)?);
    header.project = Some("/home/dev/project".to_owned());
    journal.write(&Record::opened(header))?;
    let first = journal.turn(None, WORD)?;
    let tip = match shape {
        Shape::Wide => {
            let mut tip = first.clone();
            for number in 0..size {
                tip = journal.turn(Some(&first), &format!("version {number}"))?;
            }
            tip
        }
        Shape::Deep => {
            let mut tip = first;
            for number in 1..size / 2 {
                tip = journal.turn(Some(&tip), &format!("turn {number}"))?;
            }
            tip
        }
    };
    let moved_at = moment(journal.entries)?;
    let to_tip = HeadMove { head: HeadName::main(), moved_at, from: None, to: Some(tip.clone()) };
    journal.write(&Record::head_moved(to_tip))?;
    journal.out.flush()?;
    Ok(tip)
}

struct Journal {
    out: BufWriter<File>,
    entries: i64,
}

impl Journal {
    /// A prompt and its reply. Returns the reply.
    fn turn(&mut self, below: Option<&EntryId>, text: &str) -> Result<EntryId> {
        let prompt = self.entry(below, Body::prompt(text))?;
        let usage = Usage { input: 1_000, output: 100, ..Usage::default() };
        let model = Model { provider: "anthropic".to_owned(), name: "claude-sonnet-4-5".to_owned() };
        let blocks = vec![Block::Text(format!("answer to {text}"))];
        let reply = Reply { blocks, model: Some(model), usage: Some(usage), ..Reply::default() };
        self.entry(Some(&prompt), Body::Reply(reply))
    }

    fn entry(&mut self, parent: Option<&EntryId>, body: Body) -> Result<EntryId> {
        self.entries += 1;
        let id = EntryId::from(format!("{:08x}", self.entries).as_str());
        let (parent, written_at) = (parent.cloned(), moment(self.entries)?);
        self.write(&Record::entry(Entry { id: id.clone(), parent, written_at, turn: None, body }))?;
        Ok(id)
    }

    fn write(&mut self, record: &Record) -> Result<()> {
        Ok(self.out.write_all(&encode(record, InBatch::Last)?.line)?)
    }
}

fn moment(number: i64) -> Result<Timestamp> {
    Ok(Timestamp::from_second(1_750_000_000 + number)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quadratic_command_is_missed_and_a_linear_one_is_not() {
        let figure = |times: [f64; 3]| Figure { name: "cost, wide".to_owned(), times: times.to_vec() };
        assert!(!figure([10.0, 21.0, 50.0]).is_missed());
        assert!(figure([10.0, 40.0, 160.0]).is_missed());
        assert!(figure([10.0, 20.0, 53.0]).is_missed(), "each doubling counts");
    }

    #[test]
    fn every_command_is_measured_or_reads_no_session_of_its_own() {
        let commands = include_str!("../../../crates/cli/tests/cli/commands.txt");
        let commands = commands.lines().filter(|line| !line.starts_with('#'));
        for command in commands.filter_map(|line| line.rsplit_once(' ')).map(|(command, _)| command) {
            let words: Vec<&str> = command.split(' ').collect();
            let is_measured = CASES.iter().any(|case| case.arguments.starts_with(&words));
            let reason = NOT_MEASURED
                .iter()
                .find(|(name, _)| command == *name || command.starts_with(&format!("{name} ")));
            assert_ne!(is_measured, reason.is_some(), "`{command}` is measured, or has a reason why not");
        }
    }
}
