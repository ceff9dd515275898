//! The command line: arguments in, text and an exit code out.
//!
//! This is the only place that reads the environment and prints. A command opens a session, asks the pure crates
//! and draws the answer into a string ([`commands`]); how wide and in which signs is told by a [`Look`].

mod args;
mod commands;
mod failure;
mod look;
mod numbers;
mod session_file;
mod table;
mod text;
mod words;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::commands::{inspect, show, tree};
use crate::failure::Failure;
use crate::look::Look;

fn main() -> ExitCode {
    let args = Args::parse();
    let look = Look::of_this_terminal(&args.look);
    let said = match &args.command {
        Command::Inspect(args) => inspect::run(args, &look),
        Command::Tree(args) => tree::run(args, &look),
        Command::Show(args) => show::run(args, &look),
    };
    let said = said.unwrap_or_else(Answer::from);
    say(&said, &look)
}

/// What a command has to say, and how the program ends.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    failures: Vec<Failure>,
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self { text: String::new(), failures: vec![failure] }
    }
}

impl Answer {
    /// One failure ends with its own code; among several things done, any failure is just a failure.
    fn exit_code(&self) -> ExitCode {
        match self.failures.as_slice() {
            [] => ExitCode::SUCCESS,
            [only] if self.text.is_empty() => ExitCode::from(only.exit.code()),
            _ => ExitCode::FAILURE,
        }
    }
}

fn say(answer: &Answer, look: &Look) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    let printed = stdout.write_all(answer.text.as_bytes()).and_then(|()| stdout.flush());
    let mut stderr = std::io::stderr().lock();
    for failure in &answer.failures {
        // Where even the error cannot be told, the exit code still tells it.
        let _ = stderr.write_all(failure.told(look).as_bytes());
    }
    match printed {
        Ok(()) => answer.exit_code(),
        // Whoever reads has seen enough, as in `offshoot tree | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let failure = Failure::failed(words::cannot_print(&error));
            let _ = stderr.write_all(failure.told(look).as_bytes());
            ExitCode::FAILURE
        }
    }
}
