//! Conversations: on a pipe, for scripts, and between several processes that share one engine.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use insta::assert_snapshot;
use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, BoundedReader, PATIENCE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::Folder;

/// A `chat` that runs, spoken to line by line.
pub(crate) struct Talk {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    pieces: Receiver<Vec<u8>>,
    /// What has come and was not asked for yet.
    ahead: Vec<u8>,
    /// What was read of it, to be told where something does not come.
    heard: String,
}

impl Talk {
    pub(crate) fn begin(folder: &Folder, words: &[&str]) -> Self {
        let mut command = alive(folder);
        command.args(words).stderr(Stdio::null());
        Self::of(command)
    }

    /// With what it says beside its answers.
    pub(crate) fn aloud(folder: &Folder, words: &[&str]) -> Self {
        let mut command = folder.command_in_shell(r#"exec "$@" 2>&1"#);
        command.env_remove("OFFSHOOT_FIXED_STAMPS").args(words);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take();
        let pieces = pieces_of(child.stdout.take().expect("a pipe"));
        Self { child, stdin, pieces, ahead: Vec::new(), heard: String::new() }
    }

    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        writeln!(stdin, "{line}").expect("the program listens");
    }

    /// Reads until a line has these words, and returns it.
    pub(crate) fn until(&mut self, words: &str) -> String {
        loop {
            let Some(line) = self.next(words) else {
                panic!("it ended, and nobody said `{words}`, but:\n{}", self.heard)
            };
            if line.contains(words) {
                return line;
            }
        }
    }

    /// At least so many bytes of what it says.
    pub(crate) fn bytes(&mut self, count: usize) -> String {
        while self.ahead.len() < count {
            assert!(self.hear("more"), "it ended too early:\n{}", self.heard);
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.ahead)).into_owned()
    }

    /// The next line, the last one also where it does not end.
    fn next(&mut self, waits_for: &str) -> Option<String> {
        let end = loop {
            if let Some(end) = self.ahead.iter().position(|byte| *byte == b'\n') {
                break end + 1;
            }
            if !self.hear(waits_for) {
                break self.ahead.len();
            }
        };
        let line: Vec<u8> = self.ahead.drain(..end).collect();
        (!line.is_empty()).then(|| String::from_utf8(line).expect("text"))
    }

    /// `false`: it has ended.
    fn hear(&mut self, waits_for: &str) -> bool {
        match self.pieces.recv_timeout(PATIENCE) {
            Ok(mut piece) => {
                self.heard.push_str(&String::from_utf8_lossy(&piece));
                self.ahead.append(&mut piece);
                true
            }
            Err(RecvTimeoutError::Disconnected) => false,
            Err(RecvTimeoutError::Timeout) => {
                // Nobody else would end it.
                let _ = self.child.kill();
                panic!("`{waits_for}` did not come within {PATIENCE:?}, but:\n{}", self.heard)
            }
        }
    }

    /// Ends the input and reads what is still said.
    pub(crate) fn until_end(mut self, told: &mut String) {
        drop(self.stdin.take());
        while let Some(line) = self.next("its end") {
            told.push_str(&line);
        }
        self.child.bounded_wait();
    }

    pub(crate) fn line(&mut self) -> String {
        self.next("another line").unwrap_or_default()
    }

    pub(crate) fn ctrl_c(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
    }

    /// As a crash of the machine ends it, and the engine with it: nothing is tidied up, and it starts no other engine.
    pub(crate) fn kill_with_engine(self, folder: &Folder) {
        self.kill();
        folder.kill_engine();
    }

    /// As a crash ends it: nothing is tidied up.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.bounded_wait();
    }

    /// It leaves, sooner or later.
    pub(crate) fn says_no_more(&mut self) {
        drop(self.stdin.take());
    }

    pub(crate) fn end(mut self) -> Option<i32> {
        self.says_no_more();
        self.child.bounded_wait().code()
    }
}

/// What a program says, as it comes.
fn pieces_of(mut stdout: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, pieces) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 512];
        while let Ok(count @ 1..) = stdout.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    pieces
}

/// Several processes at once need ids that are not the same in each.
pub(crate) fn alive(folder: &Folder) -> Command {
    let mut command = folder.command();
    command.env_remove("OFFSHOOT_FIXED_STAMPS");
    command
}

pub(crate) fn run(folder: &Folder, words: &[&str]) -> (String, Option<i32>) {
    let output = alive(folder).args(words).stdin(Stdio::null()).bounded_output().expect("the program runs");
    let told =
        String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text");
    (told, output.status.code())
}

pub(crate) fn new_session(folder: &Folder, title: &str) {
    assert_eq!(run(folder, &["new", title]).1, Some(0));
}

#[test]
fn a_conversation_on_a_pipe_is_told_line_by_line() {
    let folder = Folder::new();
    let lines = "hello there\nwrite note.txt: one\n/edit 1 hello you\n/prev\nrun echo hi\ny\nrun echo hi\nn not now\nask \
                 me\n2\nfail\n/label good\n/undo\n/tree\n/edit 1\n/dance\n//slash\n/help\n";
    assert_snapshot!(folder.run_with("chat", lines));
    assert_eq!(run(&folder, &["engine", "stop"]), ("Stopped.\n".into(), Some(0)));
    assert!(!folder.home().join("run/engine.sock").exists(), "the socket goes with its engine");
}

#[test]
fn one_message_is_answered_for_scripts() {
    let folder = Folder::new();
    folder.run("new Scripts");
    assert_snapshot!(folder.story(&[
        "send hello",
        "send --edit 1 hello",
        "send --edit 1 hello_you",
        "send --at 1 below",
        "send --at nowhere below",
        "send ''",
        "send fail",
        "send --agent nobody hello",
        "tree",
        "abort",
        "answer allow",
        "answer perhaps",
        "status",
        "permissions",
        "permissions revoke nothing",
        "agents",
    ]));
}

#[test]
fn scripts_read_the_answer_as_json() {
    let folder = Folder::new();
    new_session(&folder, "JSON");
    let (whole, code) = run(&folder, &["send", "--json", "hello"]);
    let whole: Value = serde_json::from_str(&whole).expect("JSON");
    assert_eq!((code, &whole["end"]["how"]), (Some(0), &Value::from("done")));
    let kinds: Vec<&Value> =
        whole["entries"].as_array().expect("entries").iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["prompt", "reply"]);
    assert!(whole["text"].as_str().expect("text").starts_with("You said “hello”."), "{whole}");
    let (lines, _) = run(&folder, &["send", "--json=lines", "more"]);
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(
        events.iter().all(|event| event["turn"] == events[0]["turn"]),
        "only the turn that was asked for"
    );
    assert_eq!(events.last().expect("events")["type"], "turn_ended");
}

#[test]
fn every_command_reaches_the_chat_that_runs_elsewhere() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("run echo from-the-tool");
    chat.until("May it use shell?");
    let socket = std::fs::metadata(folder.home().join("run/engine.sock")).expect("a socket");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let (status, _) = run(&folder, &["status"]);
    assert!(
        status.contains("◆ waiting") && status.contains("permission: shell: echo from-the-tool"),
        "{status}"
    );
    for look in ["ls", "tree", "show"] {
        let (told, _) = run(&folder, &[look]);
        assert!(told.contains("◆ waiting"), "{look}: {told}");
        let (told, _) = run(&folder, &[look, "--json"]);
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let one = ["sessions", "nodes", "entries"].iter().find_map(|list| told.get(*list)).expect("a list");
        let with_status = one.as_array().expect("a list").iter().filter(|row| !row["status"].is_null());
        let states: Vec<&Value> = with_status.map(|row| &row["status"]["state"]).collect();
        assert_eq!(states, ["waiting"], "{look}: {told}");
    }
    let (shown, _) = run(&folder, &["show"]);
    assert!(shown.contains("echo from-the-tool") && !shown.contains("no result"), "{shown}");
    let (versions, _) = run(&folder, &["versions", "1"]);
    assert!(versions.trim_end().ends_with("◆ waiting"), "{versions}");
    let (told, code) = run(&folder, &["answer", "always"]);
    assert!(told.starts_with("Answered.\n  in     ") && code == Some(0), "{told}");
    chat.until("from-the-tool");
    let (rules, _) = run(&folder, &["permissions"]);
    let rule = rules.split_whitespace().next().expect("a rule");
    assert_eq!(run(&folder, &["permissions", "revoke", rule]).1, Some(0));
    let (answer, code) = run(&folder, &["send", "from outside"]);
    assert!(answer.starts_with("You said “from outside”. This is turn 2"), "{answer}");
    assert_eq!(code, Some(0));
    chat.until("> from outside");
    chat.until("This is turn 2");
    assert_eq!(run(&folder, &["rename", "Named", "from"]).1, Some(3), "`Named` is no session");
    chat.say("ask me");
    chat.until("3. Sideways");
    assert_eq!(run(&folder, &["rename", "Named from outside"]).1, Some(0), "a turn is not in the way");
    let (labelled, _) = run(&folder, &["label", "2", "noted"]);
    assert!(
        labelled.contains("is labelled [noted]\n") && labelled.ends_with("  Named from outside\n"),
        "{labelled}"
    );
    assert_eq!(run(&folder, &["abort"]).1, Some(0));
    chat.until("Response interrupted");
    chat.say("still here");
    chat.until("You said “still here”.");
    assert_eq!(chat.end(), Some(0));
    let (list, _) = run(&folder, &["ls"]);
    assert!(list.contains("Named from outside"), "{list}");
}

/// D16: to look at what was asked before a crash wrote the end of the turn.
#[test]
fn a_look_at_a_request_that_a_crash_has_left_writes_nothing() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("run echo from-the-tool");
    chat.until("May it use shell?");
    chat.kill_with_engine(&folder);
    let journal = folder.journals().pop().expect("a journal");
    let before = std::fs::read(&journal).expect("own file");
    for look in ["status", "queue", "show", "tree", "ls", "versions 1", "show --json", "doctor", "fsck"] {
        let (told, code) = run(&folder, &look.split(' ').collect::<Vec<_>>());
        assert_eq!(code, Some(0), "{look}: {told}");
        assert!(std::fs::read(&journal).expect("own file") == before, "{look}");
    }
}

#[test]
fn a_socket_that_a_crash_has_left_is_taken_over() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    chat.kill_with_engine(&folder);
    assert!(folder.home().join("run/engine.sock").exists(), "nobody has tidied up");
    assert_eq!(run(&folder, &["status"]), ("Nothing runs.\n".into(), Some(0)));
    let (answer, code) = run(&folder, &["send", "what did I say"]);
    assert!(answer.contains("“ask me”"), "{answer}");
    assert_eq!(code, Some(0));
    let (shown, _) = run(&folder, &["show"]);
    assert!(shown.contains("Offshoot stopped during this answer."), "{shown}");
}

#[test]
fn who_was_connected_goes_on_when_the_engine_is_killed() {
    let folder = Folder::new();
    let mut engine = Talk::begin(&folder, &["chat"]);
    engine.say("ask me");
    engine.until("3. Sideways");
    let mut other = Talk::begin(&folder, &["chat"]);
    other.say("hello");
    other.until("You said “hello”.");
    engine.kill_with_engine(&folder);
    other.until("Connected again");
    other.say("and on");
    other.until("You said “and on”. This is turn 2");
    assert_eq!(other.end(), Some(0));
}

#[test]
fn of_many_that_start_at_once_one_is_the_engine_and_all_are_answered() {
    let folder = Folder::new();
    let titles: Vec<String> = (0..6).map(|number| format!("Session number {number}")).collect();
    for title in &titles {
        new_session(&folder, title);
    }
    let started: Vec<Child> = titles
        .iter()
        .map(|title| {
            let mut command = alive(&folder);
            command.args(["send", title, title]).stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
        })
        .collect();
    for (child, title) in started.into_iter().zip(&titles) {
        let output = child.bounded_output();
        let told = String::from_utf8(output.stdout).expect("text");
        let errors = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(0), "{title}: {told}{errors}");
        assert!(told.contains(&format!("You said “{title}”.")), "{told}");
    }
}

#[test]
fn a_home_with_a_long_name_has_its_socket_elsewhere() {
    let folder = Folder::new();
    let home = folder.path().join("a-long-name".repeat(12));
    let runtime = folder.path().join("run");
    std::fs::create_dir(&runtime).expect("a folder");
    let with_long_home = |mut command: Command| {
        command.env("OFFSHOOT_HOME", &home).env("XDG_RUNTIME_DIR", &runtime);
        command
    };
    let mut chat = with_long_home(alive(&folder));
    let mut chat = chat.arg("chat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let stdin = chat.stdin.take();
    writeln!(stdin.as_ref().expect("a pipe"), "ask me").expect("the program listens");
    let mut stdout = BufReader::new(BoundedReader(chat.stdout.take().expect("a pipe")));
    let mut line = String::new();
    while !line.contains("3. Sideways") {
        line.clear();
        assert!(stdout.read_line(&mut line).expect("text") > 0, "it ended too early");
    }
    let status = with_long_home(alive(&folder)).arg("status").bounded_output().expect("it runs");
    let status = String::from_utf8(status.stdout).expect("text");
    assert!(status.contains("waiting"), "{status}");
    drop(stdin);
    assert_eq!(chat.bounded_wait().code(), Some(0));
    let stop = with_long_home(alive(&folder)).args(["engine", "stop", "--force"]).bounded_status();
    assert!(stop.expect("it runs").success());
    assert_eq!(std::fs::read_dir(&runtime).expect("a folder").count(), 0, "nothing is left there");
}

#[test]
fn ctrl_c_interrupts_the_answer_and_twice_leaves() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    chat.ctrl_c();
    chat.until("Interrupting.");
    chat.until("Response interrupted");
    chat.say("and on");
    chat.until("You said “and on”. This is turn 2");
    chat.ctrl_c();
    chat.until("Ctrl-C again leaves");
    chat.ctrl_c();
    assert_eq!(chat.child.bounded_wait().code(), Some(0));

    let mut send = Talk::begin(&folder, &["send", "ask me"]);
    send.until("3. Sideways");
    send.ctrl_c();
    send.until("Response interrupted");
    assert_eq!(send.child.bounded_wait().code(), Some(130));
}
