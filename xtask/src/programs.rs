//! `cargo xtask programs [--install] [NAME]...`: real agents hold a conversation with a scripted model, and what they
//! wrote is read by the program people get.
//!
//! The conversation is the same everywhere ([`story`]): a call of a tool, a sub-agent where the program has one, and a
//! prompt that is asked differently, in the same session or in a fork of it. Each program has a file that knows how to
//! drive it without a terminal. Homes are private, keys are dummies, telemetry is off, and the only server is the
//! model on loopback.
//!
//! A program that is not there, or is another version than the one asked for, is skipped by name. One that is there
//! and does not do its part has failed.

mod catalog;
mod continued;
pub(crate) mod driven;
pub(crate) mod install;
mod isolated;
mod place;
mod reading;
mod story;
mod talk;

mod claude_code;
mod codex;
mod gemini;
mod oh_my_pi;
mod opencode;
mod pi;
mod pi_sdk;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::test::{Counts, cargo};
use catalog::{PROGRAMS, Program};
use install::Installed;
use place::Place;
use reading::Reader;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// Programs may be fetched from npm, into the target folder.
    pub(crate) install: bool,
    /// Names of programs; empty means all.
    pub(crate) only: Vec<String>,
    /// Words of the names of flows that `offshoot` drives; empty means all.
    pub(crate) flows: Vec<String>,
}

/// What was read, beside what was held.
struct Check {
    what: &'static str,
    found: String,
    expected: String,
}

impl Check {
    fn new(what: &'static str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { what, found: found.into(), expected: expected.into() }
    }

    fn holds(&self) -> bool {
        self.found == self.expected
    }
}

pub(crate) fn run(request: &Request) -> Result<ExitCode> {
    let counts = hold_all(request)?;
    println!("{counts}");
    Ok(if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every program, one after the other: on two cores they would only be in each other's way.
pub(crate) fn hold_all(request: &Request) -> Result<Counts> {
    let is_known = |name: &str| name == driven::NAME || PROGRAMS.iter().any(|one| one.name == name);
    if let Some(unknown) = request.only.iter().find(|name| !is_known(name)) {
        bail!("no program `{unknown}`");
    }
    let target = target_dir()?;
    let offshoot = build(&target)?;
    let mut counts = Counts::default();
    for program in PROGRAMS {
        if request.only.is_empty() || request.only.iter().any(|name| name == program.name) {
            counts = counts + run_program(program, request.install, &target.join("programs"), &offshoot);
        }
    }
    let cache = target.join("programs");
    Ok(counts
        + continued::hold_all(request, &cache, &offshoot)
        + driven::hold_all(request, &cache, &offshoot))
}

fn run_program(program: &Program, may_install: bool, cache: &Path, offshoot: &Path) -> Counts {
    let name = format!("{} {}", program.name, program.version);
    let started = Instant::now();
    let installed = match install::installed(program, may_install, cache) {
        Ok(installed) => installed,
        Err(reason) => {
            println!("skip  {name}: {reason:#}");
            return Counts::SKIPPED;
        }
    };
    let counts = match hold(program, &installed, offshoot) {
        Ok(checks) => checks.iter().map(|check| tell(&name, check)).fold(Counts::default(), |a, b| a + b),
        Err(error) => {
            println!("FAIL  {name}: {error:#}");
            Counts::FAILED
        }
    };
    println!("      {name}: {:.1} s", started.elapsed().as_secs_f64());
    counts
}

fn hold(program: &Program, installed: &Installed, offshoot: &Path) -> Result<Vec<Check>> {
    let place = Place::new(program, installed)?;
    let reader = Reader::new(offshoot, &place)?;
    let checks = (program.talk)(&place, &reader)?;
    if checks.is_empty() {
        bail!("nothing was checked");
    }
    Ok(checks)
}

fn tell(name: &str, check: &Check) -> Counts {
    if check.holds() {
        println!("ok    {name}: {}", check.what);
    } else {
        let indented = |text: &str| text.lines().map(|line| format!("        {line}\n")).collect::<String>();
        println!("FAIL  {name}: {}", check.what);
        print!("      expected\n{}      found\n{}", indented(&check.expected), indented(&check.found));
    }
    Counts::one(check.holds())
}

fn build(target: &Path) -> Result<PathBuf> {
    let status = cargo().args(["build", "--release", "--quiet", "--package", "offshoot"]).status();
    if !status.context("cannot run cargo")?.success() {
        bail!("`offshoot` could not be built");
    }
    Ok(target.join("release").join("offshoot"))
}

pub(crate) fn target_dir() -> Result<PathBuf> {
    let this = std::env::current_exe().context("where is this program?")?;
    let target = this.parent().and_then(Path::parent).context("this program lies in no target folder")?;
    Ok(target.to_owned())
}
