//! Commands that only look leave every session as it is, also where a crash has left things that the next change ends.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use offshoot_testkit::deadline::BoundedChild;
use rustix::process::{Signal, kill_process};

use crate::home::{Home, ended, until};

/// Every command, and whether it changes sessions.
const COMMANDS: &str = include_str!("../cli/commands.txt");

/// What each looking command is called with.
const CALLS: &[(&str, &[&str])] = &[
    ("agent-exec", &["--parent", "1", "--", "true"]),
    ("agents", &[]),
    ("branch", &["Cut"]),
    ("completions", &["bash"]),
    ("config", &["show"]),
    ("config path", &[]),
    ("config set", &["thinking", "high"]),
    ("config show", &[]),
    ("config unset", &["thinking"]),
    ("cost", &["Cut"]),
    ("doctor", &[]),
    ("engine", &["status"]),
    ("engine restart", &[]),
    ("engine status", &[]),
    ("engine stop", &[]),
    ("export", &["Cut", "--to", "markdown"]),
    ("forget", &["--list"]),
    ("fsck", &[]),
    ("inspect", &["theirs.jsonl"]),
    ("keep", &[]),
    ("ls", &["--all"]),
    ("man", &[]),
    ("ops", &["Cut"]),
    ("permissions", &[]),
    ("permissions revoke", &["nothing"]),
    ("queue", &["Cut"]),
    ("search", &["ask"]),
    ("show", &["Cut"]),
    ("status", &[]),
    ("sync", &[]),
    ("tree", &["Cut"]),
    ("versions", &["Cut"]),
];

/// Of those, the calls that fail, and how they end.
const REFUSED: &[(&str, i32)] = &[
    ("agent-exec", if cfg!(target_os = "linux") { 127 } else { 0 }),
    // The torn tail.
    ("fsck", 1),
    ("permissions revoke", 3),
];

/// What a turn was doing when its engine was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutOff {
    /// It was in the middle of its answer.
    Answering,
    /// It was waiting for a permission.
    Asking,
}

impl CutOff {
    fn prompt(self) -> &'static str {
        match self {
            Self::Answering => "count to 1000000",
            Self::Asking => "run echo allowed",
        }
    }

    fn is_reached(self, home: &Home) -> bool {
        match self {
            Self::Answering => files_below(&home.path().join("sessions"))
                .iter()
                .any(|path| path.extension() == Some("drafts".as_ref())),
            Self::Asking => home.done(&["status"]).contains("waiting"),
        }
    }
}

/// A turn that was cut off, a message behind it, half a line at the end of the journal, and a file of another program
/// that was changed here.
fn crashed(cut_off: CutOff) -> Home {
    let home = Home::with_session("Cut");
    std::fs::write(home.directory().join("theirs.jsonl"), THEIRS).expect("own directory");
    home.done(&["label", "--session", "./theirs.jsonl", "1", "noted"]);
    home.done(&["send", "Cut", "hello"]);
    let mut asked = home.command(&["send", "Cut", cut_off.prompt()]);
    let mut asked = asked.stdout(Stdio::null()).spawn().expect("it starts");
    until("the moment of the crash", || cut_off.is_reached(&home));
    let mut queued =
        home.command(&["send", "Cut", "later"]).stdout(Stdio::null()).spawn().expect("it starts");
    until("the queue", || home.done(&["queue", "Cut"]).contains("later"));
    queued.kill().expect("it runs");
    queued.bounded_wait();
    asked.kill().expect("it runs");
    asked.bounded_wait();
    kill_process(home.engine().expect("an engine"), Signal::KILL).expect("it runs");
    until("the end of the engine", || home.engines().is_empty());
    let journals = files_below(&home.path().join("sessions"));
    let is_cut = |path: &&PathBuf| {
        let text = || std::fs::read_to_string(path).expect("own file");
        path.extension().is_some_and(|ending| ending == "jsonl") && text().contains(cut_off.prompt())
    };
    let cut = journals.iter().find(is_cut);
    let mut journal = std::fs::File::options().append(true).open(cut.expect("a journal")).expect("own file");
    journal.write_all(b"{\"k\":\"entry\",\"id\":\"half").expect("own file");
    home
}

#[test]
fn what_only_looks_leaves_every_byte_and_time_of_an_answer_that_was_cut_off() {
    every_look_leaves_all_as_it_is(CutOff::Answering);
}

#[test]
fn what_only_looks_leaves_every_byte_and_time_of_a_permission_request_that_was_cut_off() {
    every_look_leaves_all_as_it_is(CutOff::Asking);
}

fn every_look_leaves_all_as_it_is(cut_off: CutOff) {
    let looking: Vec<&str> = COMMANDS.lines().filter_map(|line| line.strip_suffix(" looks")).collect();
    let called: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    assert_eq!(called, looking, "every looking command is called");
    let home = crashed(cut_off);
    let before = seen(&home);
    let has = |ending: &str| before.keys().any(|path| path.to_string_lossy().ends_with(ending));
    assert!(has(".waiting"), "{:?}", before.keys());
    assert!(has(".drafts") || cut_off == CutOff::Asking, "{:?}", before.keys());
    for with_engine in [false, true] {
        for (name, words) in CALLS {
            // An engine that another row has started or stopped.
            match with_engine {
                true => drop(home.output(&["engine", "restart"])),
                false => drop(home.output(&["engine", "stop"])),
            }
            let line: Vec<&str> = name.split(' ').chain(words.iter().copied()).collect();
            let output = home.output(&line);
            let expected = REFUSED.iter().find(|(refused, _)| refused == name).map_or(0, |(_, code)| *code);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(expected), "{line:?}, engine: {with_engine}: {errors}");
            assert_eq!(seen(&home), before, "{line:?}, engine: {with_engine}");
        }
    }
    // The looks have shown the end that the next change writes.
    let views: &[&[&str]] = &[
        &["branch", "Cut", "--json"],
        &["cost", "Cut", "--json"],
        &["cost", "Cut", "--by", "turn", "--json"],
        &["export", "Cut", "--to", "markdown"],
        &["show", "Cut", "--json"],
        &["tree", "Cut", "--json"],
        &["versions", "Cut", "--json"],
    ];
    let seen_before: Vec<String> = views.iter().map(|view| home.done(view)).collect();
    let end = last_entry(&home);
    // So what they name can be used at once.
    let (error, code) = home.refused(&["abort", "--session", "Cut", "--at", &end]);
    assert_eq!(code, Some(4), "{error}");
    let mut edit = home.command(&["edit", "--session", "Cut", &format!("id:{end}"), "--editor"]);
    let edit = ended(edit.env("EDITOR", "false").stderr(Stdio::piped()).spawn().expect("it starts"));
    let error = String::from_utf8_lossy(&edit.stderr).into_owned();
    assert_eq!(edit.status.code(), Some(4), "{error}");
    assert_eq!(seen(&home), before);
    // A label that comes and goes changes nothing but the end.
    home.done(&["label", "Cut", "1", "after"]);
    home.done(&["label", "Cut", "1", ""]);
    let is_other = |(view, before): &(&&[&str], &String)| home.done(view) != **before;
    let others: Vec<&&[&str]> =
        views.iter().zip(&seen_before).filter(is_other).map(|(view, _)| view).collect();
    assert!(others.is_empty(), "the end is another one once it is written: {others:?}");
    assert_eq!(last_entry(&home), end);
}

fn last_entry(home: &Home) -> String {
    let shown: serde_json::Value =
        serde_json::from_str(&home.done(&["show", "Cut", "--json"])).expect("JSON");
    let last = shown["entries"].as_array().and_then(|entries| entries.last()).expect("entries");
    last["id"].as_str().expect("an id").to_owned()
}

/// Journals, drafts, queues, blobs and the file of the other program: what they hold and when they were written.
fn seen(home: &Home) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let ours = [home.path().join("sessions"), home.path().join("blobs")];
    let mut files: Vec<PathBuf> = ours.iter().flat_map(|folder| files_below(folder)).collect();
    files.retain(|path| !path.extension().is_some_and(|ending| ending == "lock" || ending == "idx"));
    files.push(home.directory().join("theirs.jsonl"));
    let read = |path: PathBuf| {
        let written = std::fs::metadata(&path).and_then(|file| file.modified()).expect("own file");
        let bytes = std::fs::read(&path).expect("own file");
        (path, (written, bytes))
    };
    files.into_iter().map(read).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(names) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = names.filter_map(Result::ok).map(|name| name.path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

const THEIRS: &str = r#"{"type":"session","version":3,"id":"6f2a91c0-0000-7000-8000-000000000001","timestamp":"2025-03-04T14:00:00.000Z","cwd":"/home/dev/gatehouse"}
{"type":"message","id":"0c41aa01","parentId":null,"timestamp":"2025-03-04T14:00:02.000Z","message":{"role":"user","content":"Why is burst credit lost?"}}
{"type":"message","id":"1a2b3c01","parentId":"0c41aa01","timestamp":"2025-03-04T14:00:09.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","stopReason":"stop","content":[{"type":"text","text":"The limiter is built anew."}]}}
"#;

/// Several at once to one session: each is told what became of its own message, and each message is answered once.
#[test]
fn messages_sent_at_once_are_all_answered_and_each_once() {
    let home = Home::with_session("Busy");
    for round in 0..crate::home::rounds(4) {
        let text = |number: usize| format!("message {round} {number}");
        let sends: Vec<_> = (0..4)
            .map(|number| {
                let mut send = home.command(&["send", "Busy", &text(number)]);
                send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
            })
            .collect();
        for (number, send) in sends.into_iter().enumerate() {
            let output = ended(send);
            let (told, errors) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{told}{errors}");
            assert_eq!(told.matches(&format!("You said “{}”", text(number))).count(), 1, "{told}");
        }
        let shown = home.done(&["show", "Busy", "--json"]);
        for number in 0..4 {
            let prompt = format!("\"text\":\"{}\"", text(number));
            let spaced = format!("\"text\": \"{}\"", text(number));
            assert_eq!(shown.matches(&prompt).count() + shown.matches(&spaced).count(), 1, "{shown}");
        }
    }
    assert!(home.done(&["fsck"]).ends_with("clean\n"));
}
