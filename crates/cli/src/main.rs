//! The command line: arguments in, text and an exit code out.
//!
//! This is the only place that reads the environment and prints. A command opens a session, asks the pure crates
//! and draws the answer into a string ([`commands`]); how wide and in which signs is told by a [`Look`].

mod about;
mod ago;
mod announcement;
mod args;
mod attached;
mod auto_sync;
mod cataloged;
mod change;
mod columns;
mod commands;
mod current;
mod database;
mod editor;
mod engine;
mod failure;
mod foreign;
mod glance;
mod here;
mod home_privacy;
mod imported;
mod kept_copies;
mod known;
mod last_used;
mod light;
mod limits;
mod listed_name;
mod living;
mod log;
mod long;
mod look;
mod naming;
mod numbers;
mod opened;
mod output;
mod own_catalog;
mod prices;
mod progress;
mod refusals;
mod register;
mod report;
mod session_file;
mod settings;
mod sources;
mod stamps;
mod stdin;
mod steps;
mod stored;
mod sync_turn;
mod table;
mod talk;
mod text;
mod watching;
mod which;
mod words;
mod write_back;

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use offshoot_api::request::Step;
use tracing::{debug, warn};

use crate::args::{Args, Command};
use crate::commands::archive::Archive;
use crate::commands::undo::Direction;
use crate::commands::{abort, agents, answer, chat, permissions, queue, send, status};
use crate::commands::{
    append, archive, branch, edit, fork, import, ops, rename, retry, rewind, switch, undo, version,
};
use crate::commands::{
    completions, config, cost, doctor, export, forget, fsck, inspect, keep, label, ls, man, new, search,
    show, sync, tree, versions,
};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::look::Look;

fn main() -> ExitCode {
    let words = args::expanded(std::env::args_os());
    let args = Args::parse_from(&words);
    if let Command::AgentExec(args) = &args.command {
        return commands::agent_exec::run(args);
    }
    let (here, notes) = Here::new(&args);
    if let Err(failure) = limits::prepare() {
        return say(&failure.into(), &here.look);
    }
    let asked = report::command(words.into_iter().skip(1));
    let home = here.home().filter(|_| !args.command.writes_no_file());
    if home.is_some()
        && let Err(failure) = home_privacy::secured(&args.command, &here)
    {
        return say(&failure.into(), &here.look);
    }
    report::on_panic(home.clone(), asked.clone());
    if let Some(home) = home {
        log::start(&home, here.log_level());
    }
    let mut said =
        logged(report::command_name(&asked), || run(&args.command, &here).unwrap_or_else(Answer::from));
    // Whoever failed has worse to hear than how it was to look.
    if said.failures.is_empty() {
        said.notes.splice(0..0, notes);
    }
    let exit = say(&said, &here.look);
    announcement::announce_once(&args.command, &here);
    auto_sync::afterwards(&args.command, &here);
    exit
}

/// What was asked for and how it ended. Most commands only look, and are not worth a line every time.
fn logged(command: &str, work: impl FnOnce() -> Answer) -> Answer {
    let began = Instant::now();
    debug!(name: "command begins", command, version = env!("CARGO_PKG_VERSION"));
    let answer = work();
    let (exit, ms) = (answer.exit(), began.elapsed().as_millis() as u64);
    match exit {
        0 => debug!(name: "command ends", command, exit, ms),
        _ => warn!(name: "command fails", command, exit, ms),
    }
    answer
}

fn run(command: &Command, here: &Here) -> Result<Answer, Failure> {
    match command {
        Command::Chat(args) => chat::run(args, here),
        Command::Send(args) => send::run(args, here),
        Command::Answer(args) => answer::run(args, here),
        Command::Abort(args) => abort::run(args, here),
        Command::Queue(args) => queue::run(args, here),
        Command::Status(args) => status::run(args, here),
        Command::Permissions(args) => permissions::run(args, here),
        Command::Agents(args) => agents::run(args, here),
        Command::Engine(args) => commands::engine::run(args, here),
        // It needs no home and writes no log: `main` has run it.
        Command::AgentExec(_) => Ok(Answer::default()),
        Command::New(args) => new::run(args, here),
        Command::Ls(args) => ls::run(args, here),
        Command::Search(args) => search::run(args, here),
        Command::Sync(args) => sync::run(args, here),
        Command::Keep(args) => keep::run(args, here),
        Command::Forget(args) => forget::run(args, here),
        Command::Tree(args) => tree::run(args, here),
        Command::Show(args) => show::run(args, here),
        Command::Versions(args) => versions::run(args, here),
        Command::Label(args) => label::run(args, here),
        Command::Edit(args) => edit::run(args, here),
        Command::Retry(args) => retry::run(args, here),
        Command::Fork(args) => fork::run(args, here),
        Command::Switch(args) => switch::run(args, here),
        Command::Rewind(args) => rewind::run(args, here),
        Command::Prev(args) => version::run(args, Step::Previous, here),
        Command::Next(args) => version::run(args, Step::Next, here),
        Command::Rename(args) => rename::run(args, here),
        Command::Branch(args) => branch::run(args, here),
        Command::Archive(args) => archive::run(args, Archive::Away, here),
        Command::Unarchive(args) => archive::run(args, Archive::Back, here),
        Command::Undo(args) => undo::run(args, Direction::Back, here),
        Command::Redo(args) => undo::run(args, Direction::Forward, here),
        Command::Ops(args) => ops::run(args, here),
        Command::Append(args) => append::run(args, here),
        Command::Import(args) => import::run(args, here),
        Command::Inspect(args) => inspect::run(args, here),
        Command::Export(args) => export::run(args, here),
        Command::Config(args) => config::run(args, here),
        Command::Cost(args) => cost::run(args, here),
        Command::Fsck(args) => fsck::run(args, here),
        Command::Doctor(args) => doctor::run(args, here),
        Command::Completions(args) => Ok(completions::run(args)),
        Command::Man(args) => man::run(args),
    }
}

/// What a command has to say, and how the program ends.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    /// What is handed out as it is, byte by byte.
    bytes: Vec<u8>,
    /// Said beside the answer: what a person should know and a pipe should not get.
    notes: Vec<String>,
    failures: Vec<Failure>,
    /// Everything was said, and what was said is bad news.
    ends: Option<Exit>,
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self { failures: vec![failure], ..Self::default() }
    }
}

impl Answer {
    /// One failure ends with its own code; among several things done, any failure is just a failure.
    fn exit(&self) -> u8 {
        match self.failures.as_slice() {
            [] => self.ends.map_or(0, Exit::code),
            [only] if self.text.is_empty() => only.exit.code(),
            _ => Exit::Failed.code(),
        }
    }
}

/// A file or pipe gets every byte; a terminal would obey some of them.
fn print(answer: &Answer) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        stdout.write_all(text::harmless_output(&answer.text).as_bytes())?;
        stdout.write_all(text::harmless_output(&String::from_utf8_lossy(&answer.bytes)).as_bytes())?;
    } else {
        stdout.write_all(answer.text.as_bytes())?;
        stdout.write_all(&answer.bytes)?;
    }
    stdout.flush()
}

fn say(answer: &Answer, look: &Look) -> ExitCode {
    let printed = print(answer);
    let mut stderr = std::io::stderr().lock();
    for note in &answer.notes {
        let _ = writeln!(stderr, "{}", text::harmless_line(note, look.ascii));
    }
    for failure in &answer.failures {
        // Where even the error cannot be told, the exit code still tells it.
        let _ = stderr.write_all(failure.told(look).as_bytes());
    }
    match printed {
        Ok(()) => ExitCode::from(answer.exit()),
        // Whoever reads has seen enough, as in `offshoot tree | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let failure = Failure::failed(words::cannot_print(&error));
            let _ = stderr.write_all(failure.told(look).as_bytes());
            ExitCode::FAILURE
        }
    }
}
