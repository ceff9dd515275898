//! `cargo xtask bench --against PROGRAM [--only WORD] [DIR]`: each command of this build beside the same command of another
//! build of Offshoot, usually the one before a change. WORD is a part of a row's name, such as `edit, small, no engine`.
//!
//! Both builds have homes of their own with the same sessions. In each pair one runs directly after the other, the first of
//! them by turns, so that noise of the machine hits both. A command may take 10 % or 1.5 ms longer than before.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use offshoot_store::Home;
use serde_json::{Value, json};

use super::{Request, Scratch, corpus, session_of};
use crate::generate::{self, RARE_WORD};

const PAIRS: usize = 101;
const STARTS: usize = 30;
const APPENDED_LINES: usize = 10_000;

/// What is tolerated: a share of the time before, or milliseconds, whichever is more.
const SLOWER: f64 = 0.10;
const SLOWER_MS: f64 = 1.5;

/// What starting the engine may add to the first `send`.
const START_MS: f64 = 60.0;

const COMMANDS: &[&str] = &["show", "tree", "ls", "search", "edit", "undo", "append"];

pub(super) fn run(request: &Request, before: &Path) -> Result<ExitCode> {
    let now = corpus::build()?;
    let scratch = Scratch::new()?;
    let dir = request.dir.clone().unwrap_or_else(|| scratch.0.join("sessions"));
    let is_asked_for = |name: &str| request.only.as_deref().is_none_or(|only| name.contains(only));
    let mut figures = Vec::new();
    let mut add = |figure: Figure| {
        println!("{}", figure.line());
        figures.push(figure);
    };
    for place in ["small", "large", "corpus"] {
        for engine in ["no engine", "engine"] {
            let name = |command: &str| format!("{command}, {place}, {engine}");
            let commands = COMMANDS.iter().copied().filter(|command| is_asked_for(&name(command)));
            let commands: Vec<&str> = commands.collect();
            if commands.is_empty() {
                continue;
            }
            let sessions = Sessions::prepared(place, &dir)?;
            let root = scratch.0.join(format!("{place}-{}", engine.len()));
            let appends = match (&sessions.journals, &sessions.corpus) {
                (_, Some(corpus)) => Appends::Others(corpus::files(corpus)?),
                (Some(_), None) if place == "large" => Appends::Copies,
                (Some(_) | None, None) => Appends::New,
            };
            let before = Side::new(before, root.join("before"), &sessions, appends.clone())?;
            let now = Side::new(&now, root.join("now"), &sessions, appends)?;
            let engines = match engine {
                "engine" => Some((before.engine()?, now.engine()?)),
                _ => None,
            };
            for command in commands {
                add(compared(&before, &now, command, name(command))?);
            }
            if let Some((before, now)) = engines {
                before.leave()?;
                now.leave()?;
            }
            now.stop_engine()?;
        }
    }
    if is_asked_for("first send") {
        add(first_send(before, &now, &scratch.0)?);
    }
    if let Some(path) = &request.json {
        let told: Vec<Value> = figures.iter().map(Figure::json).collect();
        let text = format!("{:#}\n", Value::Array(told));
        std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let missed: Vec<&Figure> = figures.iter().filter(|figure| figure.is_missed()).collect();
    missed.iter().for_each(|figure| println!("missed: {}", figure.line()));
    Ok(if request.check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Milliseconds of both builds, pair by pair.
struct Figure {
    name: String,
    before: Vec<f64>,
    now: Vec<f64>,
    limit: Limit,
}

enum Limit {
    /// [`SLOWER`] or [`SLOWER_MS`].
    Command,
    /// So many milliseconds more.
    Ms(f64),
}

impl Figure {
    /// The median of the differences within each pair.
    fn difference(&self) -> f64 {
        let differences: Vec<f64> =
            self.now.iter().zip(&self.before).map(|(now, before)| now - before).collect();
        median(&differences)
    }

    fn allowed(&self) -> f64 {
        match self.limit {
            Limit::Command => (median(&self.before) * SLOWER).max(SLOWER_MS),
            Limit::Ms(ms) => ms,
        }
    }

    fn is_missed(&self) -> bool {
        self.difference() > self.allowed()
    }

    fn line(&self) -> String {
        let (before, now) = (median(&self.before), median(&self.now));
        let (difference, pairs) = (self.difference(), self.now.len());
        format!(
            "{:<28} {before:8.2} ms {now:8.2} ms  {difference:+7.2} ms (allowed {:+.2}), {pairs} pairs",
            self.name,
            self.allowed()
        )
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name, "pairs": self.now.len(), "before_ms": median(&self.before),
            "now_ms": median(&self.now), "difference_ms": self.difference(), "allowed_ms": self.allowed(),
        })
    }
}

/// What a home is made of, and which session of it is used.
struct Sessions {
    /// Copied into the home.
    journals: Option<PathBuf>,
    /// Read where it is.
    corpus: Option<PathBuf>,
    session: String,
}

impl Sessions {
    fn prepared(place: &str, dir: &Path) -> Result<Self> {
        if place == "corpus" {
            let corpus = corpus::prepared(dir)?;
            let session = corpus::first_file(&corpus)?.to_string_lossy().into_owned();
            return Ok(Self { journals: None, corpus: Some(corpus), session });
        }
        if !session_of(dir, place, "journal").is_ok_and(|file| file.exists()) {
            generate::write(place, dir, &["offshoot"])?;
        }
        let journals = dir.join("offshoot").join(place);
        Ok(Self { journals: Some(journals), corpus: None, session: generate::session_id() })
    }
}

/// One build with its home.
struct Side {
    program: PathBuf,
    home: PathBuf,
    corpus: PathBuf,
    session: String,
    appends: Appends,
}

/// What `append` is measured on.
#[derive(Clone)]
enum Appends {
    New,
    Others(Vec<PathBuf>),
    Copies,
}

impl Side {
    fn new(program: &Path, home: PathBuf, sessions: &Sessions, appends: Appends) -> Result<Self> {
        std::fs::create_dir_all(&home)?;
        if let Some(journals) = &sessions.journals {
            copy(journals, &home)?;
        }
        let corpus = sessions.corpus.clone().unwrap_or_else(|| home.join("no-sessions"));
        let (program, session) = (program.to_owned(), sessions.session.clone());
        let side = Self { program, home, corpus, session, appends };
        side.done(&["sync"])?;
        Ok(side)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("OFFSHOOT_HOME", &self.home).env("OFFSHOOT_SOURCES", &self.corpus);
        command.env("OFFSHOOT_AUTO_SYNC", "false").stdin(Stdio::null());
        command
    }

    fn done(&self, arguments: &[&str]) -> Result<()> {
        self.timed(self.command(arguments), None).map(drop)
    }

    /// The milliseconds of a process from its start to its end.
    fn timed(&self, mut command: Command, input: Option<&[u8]>) -> Result<f64> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let begun = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let writer = child.stdin.take().zip(input.map(<[u8]>::to_owned));
        let writing = std::thread::spawn(move || match writer {
            Some((mut stdin, input)) => stdin.write_all(&input),
            None => Ok(()),
        });
        let output = child.wait_with_output()?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        drop(writing.join());
        if !output.status.success() {
            bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(ms)
    }

    fn pair_member(&self, command: &str, round: usize) -> Result<f64> {
        let session = self.session.as_str();
        let text = format!("another wording, {command} {round}");
        match command {
            "ls" => self.timed(self.command(&["ls"]), None),
            "search" => self.timed(self.command(&["search", RARE_WORD]), None),
            "edit" => self.timed(self.command(&["edit", session, "1", &text]), None),
            "undo" => {
                self.done(&["edit", session, "1", &text])?;
                self.timed(self.command(&["undo", session]), None)
            }
            "append" => {
                let lines = (0..APPENDED_LINES)
                    .map(|line| format!("{{\"role\":\"user\",\"text\":\"line {line} of round {round}\"}}\n"));
                let lines: String = lines.collect();
                let session = self.session_to_append_to(round)?;
                self.timed(self.command(&["append", "--batch", &session]), Some(lines.as_bytes()))
            }
            looking => self.timed(self.command(&[looking, session]), None),
        }
    }

    /// One of the same size each time: a new one, another one of the corpus, or a copy that no engine has opened yet.
    fn session_to_append_to(&self, round: usize) -> Result<String> {
        match &self.appends {
            Appends::New => {
                let title = format!("append {round}");
                self.done(&["new", &title])?;
                Ok(title)
            }
            Appends::Others(files) => {
                let file = files.get(round).context("the corpus has too few sessions")?;
                Ok(file.to_string_lossy().into_owned())
            }
            Appends::Copies => self.copied_session(round),
        }
    }

    /// A copy with an id of its own, on the disk before it is appended to. It takes the place of the copy before.
    fn copied_session(&self, round: usize) -> Result<String> {
        let home = Home::at(self.home.clone());
        let journal = |session: &str| home.journal(&session.into());
        for round in 0..=PAIRS {
            let _ = std::fs::remove_file(journal(&id_of_copy(&self.session, round)));
        }
        let copy = id_of_copy(&self.session, round);
        let mut original = BufReader::new(File::open(journal(&self.session))?);
        let mut header = String::new();
        original.read_line(&mut header)?;
        let mut file = File::create(journal(&copy))?;
        file.write_all(header.replace(&self.session, &copy).as_bytes())?;
        std::io::copy(&mut original, &mut file)?;
        file.sync_all()?;
        Ok(copy)
    }

    /// A conversation that stays open, so that an engine runs: before there was an engine process, it was the engine.
    fn engine(&self) -> Result<Engine> {
        self.done(&["new", "Bench"])?;
        let mut command = self.command(&["chat", "--resume", "Bench"]);
        let mut chat = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        if let Some(stdin) = &mut chat.stdin {
            // A conversation in which nothing is said needs no engine.
            stdin.write_all(b"hello\n")?;
        }
        let socket = || self.home.join("run/engine.sock").exists() || self.home.join("engine.sock").exists();
        let until = Instant::now() + std::time::Duration::from_secs(15);
        while !socket() {
            if Instant::now() > until {
                bail!("no engine in `{}`", self.home.display());
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Ok(Engine(chat))
    }

    fn stop_engine(&self) -> Result<()> {
        self.done(&["engine", "stop", "--force"])
    }
}

struct Engine(Child);

impl Engine {
    fn leave(mut self) -> Result<()> {
        drop(self.0.stdin.take());
        self.0.wait()?;
        Ok(())
    }
}

/// An id of the same length that begins in another way, for ids are named by how they begin.
fn id_of_copy(id: &str, round: usize) -> String {
    let number = format!("{round:04}");
    id.get(number.len()..).map_or_else(|| number.clone(), |rest| format!("{number}{rest}"))
}

fn compared(before: &Side, now: &Side, command: &str, name: String) -> Result<Figure> {
    let mut figure = Figure { name, before: Vec::new(), now: Vec::new(), limit: Limit::Command };
    // Once outside of the count, so that both find their files in the page cache.
    before.pair_member(command, PAIRS)?;
    now.pair_member(command, PAIRS)?;
    for round in 0..PAIRS {
        if round % 2 == 0 {
            figure.before.push(before.pair_member(command, round)?);
            figure.now.push(now.pair_member(command, round)?);
        } else {
            figure.now.push(now.pair_member(command, round)?);
            figure.before.push(before.pair_member(command, round)?);
        }
    }
    Ok(figure)
}

/// The first `send` of a home beside that of the build before, which needed no process of its own for it.
fn first_send(before: &Path, now: &Path, scratch: &Path) -> Result<Figure> {
    let name = "first send".to_owned();
    let mut figure = Figure { name, before: Vec::new(), now: Vec::new(), limit: Limit::Ms(START_MS) };
    let sessions = Sessions { journals: None, corpus: None, session: "Bench".to_owned() };
    for round in 0..STARTS {
        let measured = |program: &Path, name: &str| -> Result<f64> {
            let home = scratch.join(format!("first-{round}-{name}"));
            let side = Side::new(program, home, &sessions, Appends::New)?;
            side.done(&["new", "Bench"])?;
            let ms = side.timed(side.command(&["send", "hello"]), None)?;
            if name == "now" {
                side.stop_engine()?;
            }
            Ok(ms)
        };
        figure.before.push(measured(before, "before")?);
        figure.now.push(measured(now, "now")?);
    }
    Ok(figure)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for item in std::fs::read_dir(from).with_context(|| format!("cannot list `{}`", from.display()))? {
        let (item, name) = (item?.path(), to);
        let target = name.join(item.file_name().unwrap_or_default());
        match item.is_dir() {
            true => copy(&item, &target)?,
            false => drop(std::fs::copy(&item, &target)?),
        }
    }
    Ok(())
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(before: f64, now: f64) -> Figure {
        let name = "show".to_owned();
        Figure { name, before: vec![before; 3], now: vec![now; 3], limit: Limit::Command }
    }

    #[test]
    fn a_command_may_be_a_tenth_or_a_moment_slower() {
        assert!(!figure(5.0, 6.4).is_missed(), "below 1.5 ms");
        assert!(figure(5.0, 6.6).is_missed());
        assert!(!figure(100.0, 109.0).is_missed(), "below 10 %");
        assert!(figure(100.0, 111.0).is_missed());
    }
}
