//! `sync --watch`: a process that stays.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;

use crate::person::{NOW, Person};

struct Watcher {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watcher {
    fn of(person: &Person) -> Self {
        let mut command = person.command_at(NOW);
        let mut child = command.args(["sync", "--watch"]).stdout(Stdio::piped()).spawn().expect("a start");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
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
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
        self.child.wait().expect("own child")
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
    assert!(child.wait().expect("own child").success());
}
