//! One write path: every command that changes a session writes the same bytes, whether an engine runs or not.
//!
//! The same commands are run twice in the same folder with the same ids and times: once with no engine, so that each
//! command is answered in its own process or starts an engine that is stopped behind it, and once with an engine that
//! runs all the while. After each of them the journals are compared, with the blobs and the queues beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use offshoot_api::frame::MAX_LINE;
use offshoot_testkit::deadline::BoundedChild;

use crate::support::Folder;

/// The commands, and those that are in none of the rows but only look (`args.rs` compares it with clap's tree).
const COMMANDS: &str = include_str!("commands.txt");

const DEADLINE: Duration = Duration::from_secs(60);

/// One row: the commands it is about, and what is run.
struct Row {
    commands: &'static [&'static str],
    run: fn(&Folder),
}

macro_rules! rows {
    ($($($command:literal)+ => $run:expr),* $(,)?) => {
        &[$(Row { commands: &[$($command),+], run: $run }),*]
    };
}

const ROWS: &[Row] = rows! {
    "new" => |folder| ok(folder, "new Burst"),
    "append" => |folder| ok_with(folder, "append", TALK),
    "append" => |folder| ok_with(folder, "append --batch", TALK),
    "send" => |folder| ok(folder, "send hello"),
    "send" => |folder| ok(folder, "send --at 1 below_the_first"),
    "edit" => |folder| ok(folder, "edit 1 Otherwise"),
    "edit" => |folder| ok(folder, "edit 1 Otherwise_again --send"),
    "retry" => |folder| ok(folder, "retry 1"),
    "retry" => |folder| ok(folder, "retry 1 --send"),
    "prev" => |folder| ok(folder, "prev 1"),
    "next" => |folder| ok(folder, "next 1"),
    "switch" => |folder| ok(folder, "switch 1"),
    "switch" => |folder| ok(folder, "switch --before-first"),
    "rewind" => |folder| { ok(folder, "undo"); ok(folder, "rewind 1") },
    "undo" => |folder| ok(folder, "undo"),
    "redo" => |folder| ok(folder, "redo"),
    "switch" => |folder| { ok(folder, "undo"); ok(folder, "switch 1 --summary=what_matters") },
    "label" => |folder| ok(folder, "label 1 here"),
    "rename" => |folder| ok(folder, "rename Another_title"),
    "branch name" => |folder| ok(folder, "branch name head trunk"),
    "fork" => |folder| ok(folder, "fork 1"),
    "archive" => |folder| { ok(folder, "edit 1 Aside"); ok(folder, "branch name 1 aside"); ok(folder, "prev"); ok(folder, "archive aside") },
    "unarchive" => |folder| ok(folder, "unarchive aside"),
    "fork" => |folder| ok(folder, "fork --new-session --title Child"),
    "undo" "redo" => |folder| { ok(folder, "undo Child"); ok(folder, "redo Child") },
    "fork" => |folder| ok(folder, "fork --session Child --new-session --before --at 1 --title Before"),
    "import" => |folder| ok(folder, "import burst.jsonl"),
    "label" => |folder| ok(folder, "label --session theirs.jsonl 1 noted"),
    "chat" => |folder| ok_with(folder, "chat Child", "what is there?\n/label said\n/quit\n"),
    "answer" => |folder| {
        let asked = background(folder, "send --session Child ask_me");
        until_status(folder, "waiting");
        ok(folder, "answer Child choose --choice 2");
        ended(asked);
    },
    "abort" => |folder| {
        let asked = background(folder, "send --session Child ask_me");
        until_status(folder, "waiting");
        ok(folder, "abort Child");
        ended(asked);
    },
    // The message that is left is in the queue of the session.
    "queue change" "queue cancel" => |folder| {
        let asked = background(folder, "send --session Child ask_me");
        until_status(folder, "waiting");
        for text in ["first", "second"] {
            let mut queued = background(folder, &format!("send --session Child {text}"));
            until(folder, "queue Child --json", |listed| listed.contains(text));
            // Its message stays.
            queued.kill().expect("it runs");
            queued.bounded_wait();
        }
        ok(folder, "queue cancel --session Child 2");
        ok(folder, "queue change --session Child 1 changed");
        ok(folder, "abort Child");
        ended(asked);
        until(folder, "queue Child --json", |listed| listed.contains("\"held\": true") || listed.contains("\"held\":true"));
    },
    "queue send" => |folder| ok(folder, "queue send Child"),
    // What the requests can do beyond the forms above.
    "new" => |folder| ok(folder, "new Forms --model demo/x"),
    "send" => |folder| { ok(folder, "send Forms one"); ok(folder, "send Forms two") },
    "edit" => |folder| ok(folder, "edit Forms m:2 Another_answer"),
    "undo" => |folder| ok(folder, "undo Forms"),
    "edit" => |folder| ok(folder, "edit Forms 1 uno --new-session"),
    "edit" => |folder| ok(folder, "edit Forms m:2 Another_answer --new-session"),
    "retry" => |folder| ok(folder, "retry Forms 2 --new-session"),
    "send" => |folder| { branches_into(folder, "entry"); ok(folder, "send Forms three --model demo/y") },
    "send" => |folder| { branches_into(folder, "file"); ok(folder, "send Forms four --model demo/z") },
    "edit" => |folder| { branches_into(folder, "entry"); ok(folder, "edit Forms 1 eins --model demo/z") },
    "edit" => |folder| { branches_into(folder, "file"); ok(folder, "edit Forms 1 ichi --model demo/x") },
    "rewind" => |folder| ok(folder, "rewind Forms 1 --before"),
    // Longer than what is sent to an engine that runs.
    "append" => |folder| ok_with(folder, "append Forms", &long_line()),
};

/// What another model begins: a branch of the session, or a session.
fn branches_into(folder: &Folder, what: &str) {
    folder.write("home/settings.toml", format!("config_change_branching = \"{what}\"\n").as_bytes());
}

fn long_line() -> String {
    format!("{{\"role\":\"user\",\"text\":\"{}\"}}\n", "long ".repeat(MAX_LINE / 16))
}

const TALK: &str = "{\"role\":\"user\",\"text\":\"one\"}\n{\"role\":\"assistant\",\"text\":\"two\"}\n\
                    {\"role\":\"user\",\"text\":\"three\"}\n";

/// Of the files that are compared, what their names contain: journals and queues of sessions, and blobs.
const KINDS: [&str; 3] = [".jsonl", ".waiting", "blobs/"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    None,
    Running,
}

#[test]
fn every_change_is_the_same_with_and_without_an_engine() {
    let folder = Folder::new();
    folder.write("theirs.jsonl", crate::support::BURST.replace("6f2a91c0", "7a3b02d1").as_bytes());
    let alone = files_after_each_row(&folder, Engine::None);
    std::fs::remove_dir_all(folder.home()).expect("an own home");
    folder.count_from(0);
    let together = files_after_each_row(&folder, Engine::Running);
    let mut kinds: BTreeSet<&str> = BTreeSet::new();
    for (number, ((row, alone), together)) in ROWS.iter().zip(&alone).zip(&together).enumerate() {
        let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
        let row = format!("row {number}, {:?}", row.commands);
        assert_eq!(names(alone), names(together), "{row}");
        for (name, file) in alone {
            let other = together.get(name).map(String::as_str).unwrap_or_default();
            let different = file.lines().zip(other.lines()).find(|(one, other)| one != other);
            let different = different.map(|(one, other)| (beginning(one), beginning(other)));
            assert_eq!(different, None, "{row}: {name}");
            assert!(file == other, "{row}: {name} is longer in one of them");
            kinds.extend(KINDS.iter().filter(|kind| name.contains(**kind)));
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), KINDS, "each kind of file was there");
}

/// As much of a line as a person wants to read.
fn beginning(line: &str) -> &str {
    line.get(..2_000).unwrap_or(line)
}

/// A command that is neither compared nor known to look would be a second way to write.
#[test]
fn every_changing_command_is_compared() {
    let compared: BTreeSet<&str> = ROWS.iter().flat_map(|row| row.commands).copied().collect();
    let listed: BTreeSet<&str> = COMMANDS.lines().filter_map(|line| line.strip_suffix(" changes")).collect();
    assert_eq!(compared, listed);
}

fn files_after_each_row(folder: &Folder, engine: Engine) -> Vec<BTreeMap<String, String>> {
    if engine == Engine::Running {
        folder.uncounted("engine restart");
    }
    let files = ROWS.iter().map(|row| {
        (row.run)(folder);
        match engine {
            Engine::None => drop(folder.uncounted("engine stop --force")),
            Engine::Running => {
                assert!(folder.uncounted("engine status").contains("process"), "it runs all the while")
            }
        }
        kept(folder)
    });
    let files = files.collect();
    folder.uncounted("engine stop --force");
    files
}

/// Journals, queues and blobs, by their place in the home. What is only needed while an engine writes is left out.
fn kept(folder: &Folder) -> BTreeMap<String, String> {
    let home = folder.home();
    let mut open = vec![home.join("sessions"), home.join("blobs")];
    let mut files = BTreeMap::new();
    while let Some(path) = open.pop() {
        if let Ok(names) = std::fs::read_dir(&path) {
            open.extend(names.map(|name| name.expect("a name in an own folder").path()));
            continue;
        }
        let name = path.strip_prefix(&home).expect("below the home").to_string_lossy().into_owned();
        if KINDS.iter().any(|kind| name.contains(kind)) {
            let bytes = std::fs::read(&path).expect("an own file");
            files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    files
}

fn ok(folder: &Folder, line: &str) {
    ok_with(folder, line, "");
}

fn ok_with(folder: &Folder, line: &str, input: &str) {
    let told = folder.run_with(line, input);
    assert!(!told.contains("\nexit ") && !told.starts_with("error"), "{line}: {told}");
}

fn background(folder: &Folder, line: &str) -> Child {
    let mut command = folder.command();
    command.args(line.split(' ').map(|word| word.replace('_', " ")));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

fn ended(mut child: Child) {
    child.bounded_wait();
}

fn until_status(folder: &Folder, state: &str) {
    until(folder, "status --json", |told| told.contains(state));
}

fn until(folder: &Folder, line: &str, is_so: impl Fn(&str) -> bool) {
    let until = Instant::now() + DEADLINE;
    loop {
        let told = folder.uncounted(line);
        if is_so(&told) {
            return;
        }
        assert!(Instant::now() < until, "{line}: {told}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
