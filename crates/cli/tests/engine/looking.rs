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

/// A turn that was cut off while it spoke, a message behind it, half a line at the end of the journal, and a file
/// of another program that was changed here.
fn crashed() -> Home {
    let home = Home::with_session("Cut");
    std::fs::write(home.directory().join("theirs.jsonl"), THEIRS).expect("own directory");
    home.done(&["label", "--session", "./theirs.jsonl", "1", "noted"]);
    home.done(&["send", "Cut", "hello"]);
    let asked =
        home.command(&["send", "Cut", "count to 1000000"]).stdout(Stdio::null()).spawn().expect("it starts");
    let drafts = || {
        files_below(&home.path().join("sessions"))
            .iter()
            .any(|path| path.extension() == Some("drafts".as_ref()))
    };
    until("the draft of what it says", drafts);
    let mut queued =
        home.command(&["send", "Cut", "later"]).stdout(Stdio::null()).spawn().expect("it starts");
    until("the queue", || home.done(&["queue", "Cut"]).contains("later"));
    queued.kill().expect("it runs");
    queued.bounded_wait();
    let mut asked = asked;
    asked.kill().expect("it runs");
    asked.bounded_wait();
    kill_process(home.engine().expect("an engine"), Signal::KILL).expect("it runs");
    until("the end of the engine", || home.engines().is_empty());
    let journals = files_below(&home.path().join("sessions"));
    let cut =
        journals.iter().find(|path| path.extension().is_some_and(|ending| ending == "jsonl") && is_cut(path));
    let mut journal = std::fs::File::options().append(true).open(cut.expect("a journal")).expect("own file");
    journal.write_all(b"{\"k\":\"entry\",\"id\":\"half").expect("own file");
    home
}

fn is_cut(journal: &Path) -> bool {
    std::fs::read_to_string(journal).is_ok_and(|text| text.contains("count to 1000000"))
}

#[test]
fn what_only_looks_leaves_every_byte_and_time() {
    let looking: Vec<&str> = COMMANDS.lines().filter_map(|line| line.strip_suffix(" looks")).collect();
    let called: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    assert_eq!(called, looking, "every looking command is called");
    let home = crashed();
    let before = seen(&home);
    let has = |ending: &str| before.keys().any(|path| path.to_string_lossy().ends_with(ending));
    assert!(has(".drafts") && has(".waiting"), "{:?}", before.keys());
    for with_engine in [false, true] {
        for (name, words) in CALLS {
            // An engine that another row has started or stopped.
            match with_engine {
                true => drop(home.output(&["engine", "restart"])),
                false => drop(home.output(&["engine", "stop"])),
            }
            let line: Vec<&str> = name.split(' ').chain(words.iter().copied()).collect();
            home.output(&line);
            assert_eq!(seen(&home), before, "{line:?}, engine: {with_engine}");
        }
    }
    // The looks have shown the end that the next change writes.
    let shown = home.done(&["show", "Cut", "--json"]);
    home.done(&["label", "Cut", "1", "after"]);
    let ids = |text: &str| -> Vec<String> {
        let shown: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let entries = shown["entries"].as_array().expect("entries").iter();
        entries.map(|entry| entry["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&home.done(&["show", "Cut", "--json"])), ids(&shown));
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
