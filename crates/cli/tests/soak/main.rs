//! Eight processes at a time change the same sessions while the engine runs, and everything they were told is compared with
//! what is in the journals afterwards.
//!
//! A journal is the serial order. Each command has a *window*: the states of the journal between its start and its end. A
//! command that was acknowledged has its step in its window, exactly once; a command that was refused has a state in its
//! window in which the rules refuse it. The rules of undo and redo are written down here a second time ([`steps`]) and are
//! not those of the product.
//!
//! | idea | module |
//! |---|---|
//! | a private home and its processes | [`home`] |
//! | what a worker does next | [`worker`], [`dice`] |
//! | a command, what it answered, and its window | [`history`] |
//! | the journals, read as documented | [`journal`] |
//! | the state after each batch | [`state`], [`steps`] |
//! | acknowledged commands and their steps | [`acknowledged`] |
//! | refused commands and their reasons | [`refused`] |
//! | answers of the agent | [`answers`] |
//! | sessions forked from others | [`forks`] |
//! | journals drawn as text, for tests of the checks | [`drawing`] |
//!
//! The run takes a few seconds, and a minute with `OFFSHOOT_PROOFS=full`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot run the program has failed, and the proof says how much it has checked"
)]

mod acknowledged;
mod answers;
mod dice;
mod drawing;
mod forks;
mod history;
mod home;
mod journal;
mod refused;
mod state;
mod steps;
mod worker;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use offshoot_session::SessionId;

use crate::history::Ran;
use crate::home::Home;
use crate::journal::Journal;
use crate::state::Walked;

const WORKERS: u64 = 8;

/// Starts the engine that all others use.
const FIRST_MESSAGE: &str = "hello";

fn is_full() -> bool {
    std::env::var("OFFSHOOT_PROOFS").is_ok_and(|length| length == "full")
}

fn length() -> Duration {
    Duration::from_secs(if is_full() { 60 } else { 4 })
}

#[test]
fn every_answer_is_explained_by_the_order_of_the_journals() {
    let home = Home::new();
    let sessions: Vec<SessionId> =
        ["Hot", "Warm", "Quiet"].map(|title| home.new_session(title)).into_iter().collect();
    home.done(&["send", sessions[0].as_str(), FIRST_MESSAGE]);
    let engine = home.engines();
    assert_eq!(engine.len(), 1);

    let history = run(&home, &sessions);

    let journals = journal::all(&home.sessions());
    let problems = problems(&journals, &history);
    say(&told(&history, &journals));
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    assert!(home.done(&["fsck"]).ends_with("clean\n"));
    for session in &sessions {
        let (_, walked) = Walked::through(&journals[session]);
        let tree: serde_json::Value =
            serde_json::from_str(&home.done(&["tree", session.as_str(), "--json"])).expect("JSON");
        assert_eq!(tree["nodes"].as_array().map(Vec::len), Some(walked.tree.len()));
        assert_eq!(tree["head"].as_str(), walked.tree.main_head().map(|head| head.as_str()));
        home.done(&["show", session.as_str(), "--last", "3"]);
    }
    assert_eq!(home.engines(), engine, "one engine has answered all of it");
    let path = home.path();
    home.stop();
    assert!(!path.exists());
}

/// Every worker runs one command after the other until the time is over.
fn run(home: &Home, sessions: &[SessionId]) -> Vec<Ran> {
    let ends = Instant::now() + length();
    let known = &worker::Known::new(sessions);
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..WORKERS).map(|number| scope.spawn(move || worker::work(home, known, number, ends))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    })
}

fn problems(journals: &BTreeMap<SessionId, Journal>, history: &[Ran]) -> Vec<String> {
    let mut problems = journals.values().flat_map(|journal| Walked::through(journal).0).collect::<Vec<_>>();
    problems.extend(history.iter().filter_map(Ran::oddity));
    problems.extend(acknowledged::problems(journals, history));
    problems.extend(refused::problems(journals, history));
    problems.extend(answers::problems(journals, history));
    problems.extend(forks::problems(journals, history));
    problems
}

/// The proof at full length says what it has done; the short one only where it fails.
fn say(text: &str) {
    match is_full() {
        true => drop(writeln!(std::io::stderr(), "{text}")),
        false => println!("{text}"),
    }
}

/// How much was done, so that a run that did nothing is noticed.
fn told(history: &[Ran], journals: &BTreeMap<SessionId, Journal>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for ran in history {
        *counts.entry(ran.kind()).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("  {count:>5}  {kind}")).collect();
    let records: usize = journals.values().map(Journal::records).sum();
    format!(
        "{} commands, {} sessions, {records} records\n{}",
        history.len(),
        journals.len(),
        counts.join("\n")
    )
}
