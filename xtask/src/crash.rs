//! The long proofs: what `cargo xtask test` runs in short, at full length and on the release build.
//!
//! Each proof is a few tests of the store, of the program or of the engine process, by name. They run one proof after the
//! other, so that the minutes below belong to it and processes that are killed do not wait for each other.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::test::{Counts, Heard, cargo, heard, of_test_results};

/// Makes the tests as long as they are meant to be.
const FULL: (&str, &str) = ("OFFSHOOT_PROOFS", "full");

/// How often the races of the engine process are repeated.
const ROUNDS: &str = "OFFSHOOT_TEST_ROUNDS";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Proof {
    name: &'static str,
    what: &'static str,
    /// Where its tests are.
    home: Suite,
    /// How its tests are called: all whose path begins so.
    tests: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suite {
    Store,
    /// The program itself, in processes of its own.
    Program,
    /// The program and the sessions of other agents.
    Everywhere,
    /// Commands and the engine process.
    Engine {
        rounds: u32,
    },
    /// Commands that change the same sessions at once.
    Soak,
    /// Conversations with a scripted Claude Code.
    Claude,
}

impl Suite {
    fn package_and_target(self) -> [&'static str; 2] {
        match self {
            Self::Store => ["offshoot-store", "store"],
            Self::Program => ["offshoot", "cli"],
            Self::Everywhere => ["offshoot", "everywhere"],
            Self::Engine { .. } => ["offshoot", "engine"],
            Self::Soak => ["offshoot", "soak"],
            Self::Claude => ["offshoot", "claude"],
        }
    }

    fn rounds(self) -> Option<u32> {
        match self {
            Self::Engine { rounds } => Some(rounds),
            Self::Store | Self::Program | Self::Everywhere | Self::Soak | Self::Claude => None,
        }
    }
}

const PROOFS: [Proof; 17] = [
    Proof {
        name: "claude",
        what: "1,200 steps of people and accidents with a scripted Claude Code",
        home: Suite::Claude,
        tests: "the_session_of_a_branch_has",
    },
    Proof {
        name: "crash",
        what: "10,000 crash points on a disk that forgets",
        home: Suite::Store,
        tests: "crash::",
    },
    Proof {
        name: "faults",
        what: "every write that can fail, failing",
        home: Suite::Store,
        tests: "faults::",
    },
    Proof { name: "flips", what: "10,000 single-bit flips", home: Suite::Store, tests: "flips::" },
    Proof {
        name: "index",
        what: "every byte of an index changed, every length of it",
        home: Suite::Store,
        tests: "lazy::",
    },
    Proof {
        name: "changing",
        what: "12,000 changes of a log and its index while it is open",
        home: Suite::Store,
        tests: "changing::",
    },
    Proof {
        name: "drafts",
        what: "8,000 cuts through streamed words",
        home: Suite::Store,
        tests: "drafts::",
    },
    Proof { name: "kill", what: "1,000 runs ended by kill -9", home: Suite::Store, tests: "kill::" },
    Proof {
        name: "writers",
        what: "8 handles in one process, 2,000 appends each",
        home: Suite::Store,
        tests: "writers::",
    },
    Proof {
        name: "together",
        what: "8 processes, 2,000 appends each",
        home: Suite::Program,
        tests: "together::",
    },
    Proof {
        name: "soak",
        what: "8 processes at a time change the same sessions beside the engine for 60 seconds",
        home: Suite::Soak,
        tests: "every_answer_is_explained",
    },
    Proof {
        name: "messages",
        what: "4 messages at once to one session, 100 times",
        home: Suite::Engine { rounds: 100 },
        tests: "messages_sent_at_once",
    },
    Proof {
        name: "starting",
        what: "300 starts of the engine ended by kill -9, and 300 exits met by a command",
        home: Suite::Engine { rounds: 300 },
        tests: "starting::",
    },
    Proof {
        name: "sync",
        what: "100 syncs ended by kill -9",
        home: Suite::Everywhere,
        tests: "trouble::a_killed_sync",
    },
    Proof {
        name: "keep",
        what: "100 times 2 keepings ended by kill -9",
        home: Suite::Everywhere,
        tests: "kept::whoever_is_killed_while_keeping",
    },
    Proof {
        name: "laying",
        what: "100 times laying and packing long files ended by kill -9",
        home: Suite::Everywhere,
        tests: "kept::whoever_is_killed_while_laying",
    },
    Proof { name: "frozen", what: "stores of earlier versions", home: Suite::Store, tests: "frozen::" },
];

/// How often all of it is done.
pub(crate) fn run(runs: u32) -> anyhow::Result<ExitCode> {
    let mut total = Counts::default();
    let mut lines = Vec::new();
    for run in 1..=runs {
        for proof in PROOFS {
            println!("\n== {}: {}", proof.name, proof.what);
            let started = Instant::now();
            let counts = counted(&prove(proof)?);
            lines.push(line(proof, run, counts, started.elapsed()));
            total = total + counts;
        }
    }
    println!("\nproof     run  minutes  passed  failed\n{}", lines.concat());
    println!("{} passed, {} failed", total.passed, total.failed);
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn prove(proof: Proof) -> anyhow::Result<Heard> {
    let mut command = cargo();
    let [package, target] = proof.home.package_and_target();
    command.args(["test", "--release", "--package", package, "--test", target, "--", proof.tests]);
    command.env(FULL.0, FULL.1).envs(proof.home.rounds().map(|rounds| (ROUNDS, rounds.to_string())));
    heard(&mut command)
}

/// A proof without a single test has proved nothing.
fn counted(heard: &Heard) -> Counts {
    let counts = of_test_results(&heard.text).unwrap_or_default().confirmed_by(heard.success);
    if counts.passed + counts.failed == 0 { Counts::FAILED } else { counts }
}

fn line(proof: Proof, run: u32, counts: Counts, took: Duration) -> String {
    let minutes = took.as_secs_f64() / 60.0;
    format!("{:<9} {run:>3} {minutes:>8.1} {:>7} {:>7}\n", proof.name, counts.passed, counts.failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proof_has_a_name_of_its_own() {
        for (at, proof) in PROOFS.iter().enumerate() {
            assert!(PROOFS.iter().skip(at + 1).all(|other| other.tests != proof.tests), "{}", proof.name);
        }
    }

    #[test]
    fn nothing_proved_is_a_failure() {
        let heard = |text: &str, success| Heard { text: text.to_owned(), success };
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 31 filtered out";
        assert_eq!(counted(&heard(none, true)), Counts::FAILED);
        assert_eq!(counted(&heard("no such package", false)), Counts::FAILED);
        let some = "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 31 filtered out";
        assert_eq!(counted(&heard(some, true)).passed, 4);
        assert_eq!(counted(&heard(some, false)).failed, 1);
    }
}
