//! A process is killed while it writes. Everything that it said was safe is there.
//!
//! The test runs itself as the process to kill: `hammer` writes until it is killed and says each id after it was
//! acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::drafts::Streamed;
use crate::support::{Dice, assert_clean, header, moved, prompt, reply, rounds, store_in};
use offshoot_session::live::Delta;
use offshoot_session::{EntryId, Fact, Record, SessionId};
use offshoot_store::SessionStore;
use offshoot_testkit::FixedStamps;
use offshoot_testkit::deadline::{BoundedChild, BoundedReader};

const HOME: &str = "OFFSHOOT_HAMMER_HOME";
const SEED: &str = "OFFSHOOT_HAMMER_SEED";

#[test]
fn a_killed_process_loses_nothing_it_was_told_is_safe() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Dice::seeded(3);
    let mut said_in_all = 0;
    for round in 0..rounds(20, 1_000) {
        let moment = Moment { lines: dice.roll(24), then: Duration::from_micros(dice.roll(2_000) as u64) };
        let said = kill("kill::hammer", folder.path(), round, moment);
        check(folder.path(), &said, round);
        said_in_all += said.len();
        if round % 50 == 49 {
            std::fs::remove_dir_all(folder.path().join("home")).unwrap();
        }
    }
    assert!(said_in_all > 100, "{said_in_all} is too little to prove anything");
}

/// When the process is killed: so many lines after it began, and a little later, in the middle of something. How much
/// is proved does not depend on how busy the machine is.
struct Moment {
    lines: usize,
    then: Duration,
}

/// What the process said before it died; a last line without its end was not said.
fn kill(test: &str, folder: &Path, round: usize, moment: Moment) -> Vec<String> {
    let mut hammer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(HOME, folder)
        .env(SEED, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(BoundedReader(hammer.stdout.take().unwrap()));
    let mut said = Vec::new();
    let mut line = String::new();
    while !said.iter().any(|line| line == "hammer begins") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "the hammer never began");
        said.push(line.trim_end().to_owned());
    }
    said.clear();
    for _ in 0..moment.lines {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "the hammer ended");
        said.push(line.trim_end_matches('\n').to_owned());
    }
    std::thread::sleep(moment.then);
    hammer.kill().unwrap();
    hammer.bounded_wait();
    loop {
        line.clear();
        output.read_line(&mut line).unwrap();
        match line.strip_suffix('\n') {
            Some(whole) => said.push(whole.to_owned()),
            None => return said,
        }
    }
}

fn check(folder: &Path, said: &[String], round: usize) {
    let store = store_in(folder);
    let session = SessionId::from("s");
    let Some(loaded) = store.read(&session).unwrap() else {
        assert!(said.is_empty(), "round {round}: the session is gone");
        return;
    };
    let mut heads: Vec<&str> = Vec::new();
    for line in said {
        match line.split_once(' ').unwrap() {
            ("entry", id) => assert!(loaded.tree.contains(&id.into()), "round {round}: {id} is gone"),
            ("trying", head) => heads.push(head),
            ("head", head) => heads = vec![head],
            other => panic!("{other:?}"),
        }
    }
    if let (false, Some(head)) = (heads.is_empty(), loaded.tree.main_head()) {
        assert!(heads.contains(&head.as_str()), "round {round}: the head is at {head}, not among {heads:?}");
    }
    let next = prompt(&format!("after-{round}"), None);
    store.append(&session, &mut |_| Some(vec![next.clone()])).unwrap();
    assert_clean(&store, &format!("round {round}"));
}

#[test]
fn a_killed_process_keeps_the_words_it_streamed() {
    for round in 0..rounds(5, 200) {
        let folder = tempfile::tempdir().unwrap();
        let store = store_in(folder.path());
        store.create(&[header("s"), prompt("first", None)]).unwrap();
        let moment = Moment { lines: round % 20, then: Duration::from_micros(100 * (round % 7) as u64) };
        let said = kill("kill::stream", folder.path(), round, moment);
        let words: usize = said.last().map_or(0, |line| line.parse().unwrap());
        let tree = store.read(&"s".into()).unwrap().unwrap().tree;
        let left = store.drafts(&"s".into()).left(&tree).unwrap();
        let text = left.first().map(|entry| entry.body.text()).unwrap_or_default();
        let kept: Vec<usize> = text.split_terminator(' ').filter_map(|word| word.parse().ok()).collect();
        assert!(kept.len() >= words, "round {round}: {words} were written and {} are left", kept.len());
        assert!(kept.iter().copied().eq(0..kept.len()), "round {round}: {kept:?}");
    }
}

/// Not a test by itself: streams numbers and says how many of them are written.
#[test]
#[ignore = "is run by the test above"]
fn stream() {
    let Ok(home) = std::env::var(HOME) else { return };
    let store = store_in(Path::new(&home));
    let mut out = std::io::stdout();
    let mut say = |words: String| writeln!(out, "{words}").and_then(|()| out.flush()).unwrap();
    say("\nhammer begins".into());
    let mut drafts = store.drafts(&"s".into());
    let streamed = Streamed::begin(&mut drafts, 0);
    for number in 0_usize.. {
        drafts.extend(&streamed.entry.id, &Delta::Words(&format!("{number} "))).unwrap();
        if number % 50 == 49 {
            drafts.flush().unwrap();
            say((number + 1).to_string());
        }
    }
}

/// Not a test by itself: the process that is killed.
#[test]
#[ignore = "is run by the test above"]
fn hammer() {
    let (Ok(home), Ok(seed)) = (std::env::var(HOME), std::env::var(SEED)) else { return };
    let mut dice = Dice::seeded(seed.parse::<u64>().unwrap() + 1);
    let store = store_in(Path::new(&home));
    let mut out = std::io::stdout();
    let mut say = |words: String| writeln!(out, "{words}").and_then(|()| out.flush()).unwrap();
    say("\nhammer begins".into());
    let session = SessionId::from("s");
    if store.read(&session).unwrap().is_none() {
        store.create(&[header("s")]).unwrap();
    }
    let mut journal = store.journal(&session).unwrap().unwrap();
    if let Some(head) = journal.tree().main_head() {
        say(format!("head {head}"));
    }
    for number in 0.. {
        let id = EntryId::from(format!("{seed}-{number}"));
        let tree = journal.tree();
        let head = tree.main_head().cloned();
        let entries: Vec<EntryId> = tree.entries().map(|entry| entry.id.clone()).collect();
        let some = if entries.is_empty() { None } else { Some(entries[dice.roll(entries.len())].clone()) };
        let mut to = None;
        let records = match dice.roll(5) {
            0 => vec![prompt(id.as_str(), head.as_ref())],
            1 => {
                to = Some(id.clone());
                vec![reply(id.as_str(), some.as_ref()), moved(head.as_ref(), Some(&id))]
            }
            2 => {
                to = some.clone();
                vec![prompt(id.as_str(), None), moved(head.as_ref(), some.as_ref())]
            }
            3 => {
                let long = reply(&format!("{id} {}", "long ".repeat(20_000)), some.as_ref());
                let long = offshoot_session::Entry {
                    id: id.clone(),
                    ..offshoot_session::Entry::clone(long.as_entry().unwrap())
                };
                vec![Record::entry(long)]
            }
            _ => {
                let fact = Fact::Label { target: id.clone(), label: Some("here".into()) };
                vec![prompt(id.as_str(), some.as_ref()), Record::marked(FixedStamps::start(), fact)]
            }
        };
        if let Some(to) = &to {
            say(format!("trying {to}"));
        }
        journal.write(|_| Ok::<_, ()>(records)).unwrap();
        say(format!("entry {id}"));
        if let Some(to) = &to {
            say(format!("head {to}"));
        }
    }
}
