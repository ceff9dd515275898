//! `sync --watch`: a process that stays.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, BoundedReader};
use serde_json::json;

use crate::person::{NOW, Person};

struct Watcher {
    child: Child,
    lines: BufReader<BoundedReader<ChildStdout>>,
}

impl Watcher {
    fn of(person: &Person) -> Self {
        // What runs in the background of a script ignores Ctrl-C, and so does whatever that starts; this does not.
        let mut command = person.prepared(Command::new("/usr/bin/env"), NOW);
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_offshoot")]);
        let mut child = command.args(["sync", "--watch"]).stdout(Stdio::piped()).spawn().expect("a start");
        let lines = BufReader::new(BoundedReader(child.stdout.take().expect("a pipe")));
        Self { child, lines }
    }

    /// Waits for the next line.
    fn says(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }

    fn signal(&mut self, name: &str) -> std::process::ExitStatus {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).bounded_status().expect("a shell").success());
        self.child.bounded_wait()
    }
}

#[test]
fn a_watcher_tells_what_agents_write() {
    use std::os::unix::process::ExitStatusExt;
    let person = Person::with_agents();
    for (before, name, number) in [(4, "INT", 2), (5, "TERM", 15)] {
        let mut watcher = Watcher::of(&person);
        assert!(watcher.says().starts_with(&format!("{before} sessions of 3 agents: ")));
        person.append_to_pi(&format!("What of quokkas {name}?"));
        assert_eq!(watcher.says(), format!("{before} sessions of 3 agents: 1 changed\n"));
        // a folder that was not there when the watcher came
        let folder = format!(".pi/agent/sessions/--{name}--");
        person.write(&format!("{folder}/2025-03-04T12-00-00-000Z_{name}.jsonl"), &[
            json!({"type":"session","version":3,"id":name,"timestamp":"2025-03-04T12:00:00.000Z","cwd":"/home/dev"}),
        ]);
        let with_it = before + 1;
        assert_eq!(watcher.says(), format!("{with_it} sessions of 3 agents: 1 new\n"));
        std::fs::remove_dir_all(person.user(&folder)).expect("own folder");
        assert_eq!(watcher.says(), format!("{with_it} sessions of 3 agents: 1 kept\n"));
        assert_eq!(watcher.signal(name).signal(), Some(number));
        assert_eq!(person.json_lines("search quokkas --json=lines").len(), before - 3);
    }
}

#[test]
fn a_watcher_that_nobody_hears_ends() {
    let person = Person::with_agents();
    let mut watcher = Watcher::of(&person);
    watcher.says();
    let Watcher { mut child, lines } = watcher;
    drop(lines);
    assert!(child.bounded_wait().success());
}

/// Codex keeps what people call their sessions in a list beside them, and much else there.
#[test]
fn a_watcher_hears_of_a_session_that_codex_renames() {
    let person = Person::with_agents();
    let id = "01a1e09c-0000-7000-8000-000000000001";
    let named = |name: &str| {
        let line = json!({"id":id,"thread_name":name,"updated_at":"2025-03-04T14:00:00Z"});
        person.write(".codex/session_index.jsonl", &[line]);
    };
    named("Refused bursts");
    let mut watcher = Watcher::of(&person);
    assert_eq!(watcher.says(), "4 sessions of 3 agents: 4 new\n");
    named("Bursts, refused and granted");
    assert_eq!(watcher.says(), "4 sessions of 3 agents: 1 changed\n");
    assert!(person.run("ls --agent codex --width 95").contains("Bursts, refused and granted"));
    watcher.signal("TERM");
}

#[test]
fn a_watcher_hears_of_a_session_of_opencode() {
    let person = Person::alone();
    let path = person.user(".local/share/opencode/opencode.db");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let database = rusqlite::Connection::open(&path).expect("a database");
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE session(id TEXT PRIMARY KEY, title TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);",
        )
        .expect("tables");
    let begin = |id: &str| {
        let sql =
            "INSERT INTO session VALUES (?1, 'Marsupials', '/home/dev/x', 1741096800000, 1741096800000)";
        database.execute(sql, [id]).expect("a row");
    };
    begin("ses_aaa");
    let mut watcher = Watcher::of(&person);
    assert_eq!(watcher.says(), "1 session: 1 new\n");
    begin("ses_bbb");
    assert_eq!(watcher.says(), "2 sessions: 1 new\n");
    watcher.signal("TERM");
}
