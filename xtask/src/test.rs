//! The test run: a row of tiers, each one command or a few, counted together.
//!
//! What a tier runs ([`tier`]), what its output means ([`counts`]) and what the end of the run says
//! ([`report`]) are plain functions. Processes are started here and in [`process`], [`install`] and [`smoke`].
//!
//! A tier never ends the run: one that breaks counts as failed, one that cannot run counts as skipped and says
//! why, and the others still get their turn. The price is that a broken build is reported several times.

mod counts;
mod install;
mod leftovers;
mod process;
mod report;
mod smoke;
mod tier;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::programs;
use leftovers::Engines;
use process::root;
use report::{Outcome, Report};
use tier::{Action, Counting, Need, Step};

pub(crate) use counts::{Counts, of_test_results};
pub(crate) use process::{Heard, cargo, heard};
pub(crate) use tier::Tier;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    /// The system may be changed to make more tiers run.
    pub(crate) install: bool,
    /// Empty means all.
    pub(crate) only: Vec<Tier>,
}

pub(crate) fn run(request: &Request) -> ExitCode {
    let mut reports = Vec::new();
    if request.install
        && let Err(error) = install::install_missing()
    {
        println!("install: {error:#}");
        reports.push(Report::failed("install"));
    }
    for tier in Tier::ALL {
        if request.only.is_empty() || request.only.contains(&tier) {
            reports.push(run_tier(tier, request.install));
        }
    }
    println!("\n{}", report::table(&reports));
    let total = report::total(&reports);
    println!("{total}");
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_tier(tier: Tier, install: bool) -> Report {
    let started = Instant::now();
    let outcome = match missing(tier.need()) {
        Some(reason) => {
            println!("\n== {}: skipped, {reason}", tier.name());
            Outcome::Skipped(reason)
        }
        None => {
            println!("\n== {}", tier.name());
            let counted = match tier.action() {
                Action::Run(step) => run_step(&step),
                Action::Smoke => smoke::run(),
                Action::Programs => {
                    programs::hold_all(&programs::Request { install, ..programs::Request::default() })
                }
            };
            Outcome::Ran(counted.unwrap_or_else(|error| {
                println!("{}: {error:#}", tier.name());
                Counts::FAILED
            }))
        }
    };
    Report { name: tier.name(), outcome, took: started.elapsed() }
}

fn run_step(step: &Step) -> anyhow::Result<Counts> {
    match step.counting {
        Counting::AsOne => process::succeeds(step).map(Counts::one),
        Counting::TestResults => {
            let before = Engines::now();
            let counts = counted(&process::listen(step)?, counts::of_test_results)?;
            Ok(counts.without_leftovers(&before.left_since()))
        }
        Counting::Cases => counted(&process::listen(step)?, counts::of_cases),
    }
}

fn counted(heard: &Heard, read: impl Fn(&str) -> Option<Counts>) -> anyhow::Result<Counts> {
    match read(&heard.text) {
        Some(counts) => Ok(counts.confirmed_by(heard.success)),
        None => bail!("it ended without a count"),
    }
}

/// Why a tier cannot run here.
fn missing(need: Need) -> Option<String> {
    match need {
        Need::Nothing => None,
        Need::CargoCommand(name) => {
            (!process::has_cargo_command(name)).then(|| format!("`cargo {name}` is not installed"))
        }
        Need::Folder(folder) => {
            (!root().join(Path::new(folder)).is_dir()).then(|| format!("`{folder}` is not there"))
        }
    }
}

impl Report {
    fn failed(name: &'static str) -> Self {
        Self { name, outcome: Outcome::Ran(Counts::FAILED), took: Duration::ZERO }
    }
}
