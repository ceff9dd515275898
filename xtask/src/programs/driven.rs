//! Claude Code, driven by `offshoot`: conversations that people hold with `send`, `edit`, `answer` and `abort`, with the
//! real program and the scripted model. What the model is asked is the proof that Claude knows a branch.
//!
//! Every flow has a home, a project, an engine and a model server of its own.

mod flows;
mod leftovers;
mod person;
mod prefix;
mod processes;
mod terminal;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;

pub(crate) use self::person::Person;
pub(crate) use self::processes::cpu_time;
use super::catalog::PROGRAMS;
use super::install::installed;
use super::{Check, Request, tell};
use crate::test::Counts;

/// What `cargo xtask programs` calls these flows alone.
pub(super) const NAME: &str = "driven";

struct Flow {
    name: &'static str,
    hold: fn(&Person) -> Result<Vec<Check>>,
}

const fn flow(name: &'static str, hold: fn(&Person) -> Result<Vec<Check>>) -> Flow {
    Flow { name, hold }
}

const FLOWS: [Flow; 21] = [
    flow("a plain turn", flows::plain_turn),
    flow("a tool that is allowed, denied and changed", flows::tools),
    flow("a question", flows::question),
    flow("an old message edited", flows::edit),
    flow("a message edited on another branch", flows::edit_across),
    flow("a message off the active branch edited", flows::edit_off_the_active_branch),
    flow("a message above a compaction edited", flows::edit_above_compaction),
    flow("an interrupt in the stream", flows::interrupt_in_stream),
    flow("an interrupt in a tool", flows::interrupt_in_tool),
    flow("a sub-agent in the background", flows::background_agent),
    flow("a command in the background", flows::background_command),
    flow("model and permission mode", flows::settings),
    flow("Claude killed", flows::claude_killed),
    flow("the engine killed", flows::engine_killed),
    flow("both killed", flows::both_killed),
    flow("nothing left after the engine stops", leftovers::after_stop),
    flow("nothing left after the engine is killed", leftovers::after_kill),
    flow("a wrong key", flows::wrong_key),
    flow("Claude's own interface, there and back", terminal::there_and_back),
    flow("Claude's own interface, while a process waits", terminal::meanwhile),
    flow("a message of Claude's own interface edited", terminal::edited),
];

/// Every flow with every version of Claude Code that is there. A name of a flow, with `_` for spaces, chooses it.
pub(super) fn hold_all(request: &Request, cache: &Path, offshoot: &Path) -> Counts {
    let mut counts = Counts::default();
    if !request.only.is_empty() && !request.only.iter().any(|name| name == "claude-code" || name == NAME) {
        return counts;
    }
    for program in PROGRAMS.iter().filter(|program| program.name == "claude-code") {
        let claude = match installed(program, request.install, cache) {
            Ok(installed) => installed.words.into_iter().next().unwrap_or_default(),
            Err(reason) => {
                println!("skip  claude-code {} driven: {reason:#}", program.version);
                counts = counts + Counts::SKIPPED;
                continue;
            }
        };
        for flow in chosen(request) {
            let name = format!("claude-code {} driven: {}", program.version, flow.name);
            counts = counts + hold(&name, flow, offshoot, &claude);
        }
    }
    counts
}

/// The versions of Claude Code that are installed, with their programs.
pub(crate) fn claude_programs(target: &Path) -> Vec<(&'static str, PathBuf)> {
    let programs = PROGRAMS.iter().filter(|program| program.name == "claude-code");
    let there = programs.filter_map(|program| {
        let installed = installed(program, false, &target.join("programs")).ok()?;
        Some((program.version, installed.words.into_iter().next()?))
    });
    there.collect()
}

fn chosen(request: &Request) -> impl Iterator<Item = &'static Flow> {
    let words = request.flows.clone();
    FLOWS.iter().filter(move |flow| words.is_empty() || words.iter().any(|word| flow.name.contains(word)))
}

fn hold(name: &str, flow: &Flow, offshoot: &Path, claude: &Path) -> Counts {
    let started = Instant::now();
    let held = Person::new(offshoot, claude).and_then(|person| {
        let checks = (flow.hold)(&person);
        if checks.is_err() {
            person.tell_log();
        }
        checks
    });
    let counts = match held {
        Ok(checks) => checks.iter().map(|check| tell(name, check)).fold(Counts::default(), |a, b| a + b),
        Err(error) => {
            println!("FAIL  {name}: {error:#}");
            Counts::FAILED
        }
    };
    println!("      {name}: {:.1} s", started.elapsed().as_secs_f64());
    counts
}
