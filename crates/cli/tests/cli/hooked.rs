//! Hooks of the settings, asked by the program itself: real scripts, and an address of this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, BoundedReader, PATIENCE, accepted};
use serde_json::{Value, json};

use crate::config::{alive, run};
use crate::support::Folder;
use crate::talking::Talk;

/// A `chat` with two turns, and a connection to its engine.
struct Host {
    chat: Child,
    stdin: ChildStdin,
    stdout: BufReader<BoundedReader<ChildStdout>>,
    engine: BufReader<UnixStream>,
    session: String,
    calls: u64,
}

impl Host {
    fn begin(folder: &Folder) -> Self {
        let mut command = alive(folder);
        command.arg("chat").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut chat = command.spawn().expect("the program starts");
        let mut stdin = chat.stdin.take().expect("a pipe");
        let mut stdout = BufReader::new(BoundedReader(chat.stdout.take().expect("a pipe")));
        for words in ["first words", "second words"] {
            writeln!(stdin, "{words}").expect("the program listens");
            until(&mut stdout, &format!("You said “{words}”"));
        }
        let journal = folder.journals().pop().expect("a session");
        let session = journal.file_stem().expect("an id").to_string_lossy().into_owned();
        let engine = UnixStream::connect(folder.home().join("run/engine.sock")).expect("an engine");
        engine.set_read_timeout(Some(PATIENCE)).expect("own socket");
        Self { chat, stdin, stdout, engine: BufReader::new(engine), session, calls: 0 }
    }

    /// Goes before the second turn.
    fn navigate(&mut self, summary: &str) -> Value {
        self.calls += 1;
        let request = json!({
            "type": "navigate", "session": self.session, "to": "#2", "summary": { "kind": summary },
        });
        let call = json!({ "id": self.calls, "caller": "test", "request": request });
        writeln!(self.engine.get_mut(), "{call}").expect("the engine listens");
        loop {
            let mut line = String::new();
            assert!(self.engine.read_line(&mut line).expect("text") > 0, "the engine is gone");
            let reply: Value = serde_json::from_str(&line).expect("JSON");
            if reply["id"] == self.calls {
                return reply;
            }
        }
    }

    fn until(&mut self, words: &str) -> String {
        until(&mut self.stdout, words)
    }

    fn end(mut self) {
        drop(self.stdin);
        assert!(self.chat.bounded_wait().success());
    }
}

fn until(lines: &mut impl BufRead, words: &str) -> String {
    let mut before = String::new();
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("text") > 0, "nobody said `{words}`, but: {before}");
        if line.contains(words) {
            return line;
        }
        before.push_str(&line);
    }
}

/// A program in the folder; it finds what it is told in its input.
pub(crate) fn script(folder: &Folder, name: &str, lines: &str) -> String {
    folder.write(name, format!("#!/bin/sh\n{lines}\n").as_bytes());
    let path = folder.path().join(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("own file");
    path.to_str().expect("text").to_owned()
}

/// Keeps what it is told in `told.json`, and answers.
fn keeping(folder: &Folder, name: &str, answer: &str) -> String {
    let told = folder.path().join("told.json");
    script(
        folder,
        name,
        &format!("cat > '{0}.new' && mv '{0}.new' '{0}' && printf '%s' '{answer}'", told.display()),
    )
}

pub(crate) fn settings(folder: &Folder, text: &str) {
    std::fs::create_dir_all(folder.home()).expect("own folder");
    folder.write("home/settings.toml", text.as_bytes());
}

fn hook(event: &str, program: &str) -> String {
    format!("[[hooks]]\nevents = [\"{event}\"]\nprogram = \"{program}\"\n")
}

#[test]
fn a_program_calls_a_move_off_and_counts_no_more_when_it_is_taken_out() {
    let folder = Folder::new();
    let program = keeping(&folder, "guard", r#"{"cancel":true,"reason":"not on Fridays"}"#);
    settings(&folder, &hook("session_before_tree", &program));
    let mut host = Host::begin(&folder);
    let refused = host.navigate("none");
    assert_eq!(refused["error"]["code"], "cancelled");
    assert_eq!(refused["error"]["message"], "not on Fridays");
    let told: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("told.json")).expect("a file"))
            .expect("JSON");
    assert_eq!((&told["type"], &told["session"]), (&json!("session_before_tree"), &json!(host.session)));
    assert_eq!(told["preparation"]["userWantsSummary"], false);
    settings(&folder, "");
    assert_eq!(
        host.navigate("none")["response"]["type"],
        "changed",
        "the file is looked at with every request"
    );
    host.end();
}

/// R-208: a hook's summary is kept with its details and its origin.
#[test]
fn a_program_writes_the_summary_and_it_is_kept_with_what_belongs_to_it() {
    let folder = Folder::new();
    let answer = r#"{"summary":{"summary":"From outside.","details":{"runs":3}}}"#;
    settings(&folder, &hook("session_before_tree", &keeping(&folder, "writer", answer)));
    let mut host = Host::begin(&folder);
    assert_eq!(host.navigate("default")["response"]["type"], "changed");
    host.end();
    let journal = std::fs::read_to_string(folder.journals().pop().expect("a session")).expect("text");
    let line = journal.lines().find(|line| line.contains("From outside.")).expect("the summary");
    assert!(
        line.contains(r#""details":{"json":{"runs":3}}"#) && line.contains(r#""from_extension":true"#),
        "{line}"
    );
}

#[test]
fn programs_that_hang_or_fail_are_reported_and_stop_nobody() {
    let folder = Folder::new();
    let hanging = script(&folder, "hangs", "sleep 1000");
    let failing = script(&folder, "fails", "exit 3");
    let limit = "time_limit = \"100ms\"\n";
    let event = "session_before_tree";
    settings(
        &folder,
        &(hook(event, &hanging) + limit + &hook(event, &failing) + &hook(event, "/no/such/hook")),
    );
    let mut host = Host::begin(&folder);
    assert_eq!(host.navigate("none")["response"]["type"], "changed");
    assert_eq!(host.until("hook `hangs`"), "hook `hangs`: took longer than 100 ms\n");
    assert_eq!(host.until("hook `fails`"), "hook `fails`: failed with exit status: 3\n");
    host.until("hook `hook`: could not be run");
    host.end();
}

#[test]
fn an_address_is_asked_before_something_is_sent() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/told", listener.local_addr().expect("an address"));
    settings(&folder, &format!("[[hooks]]\nname = \"lamp\"\nevents = [\"before_send\"]\nurl = \"{url}\"\n"));
    let served = std::thread::spawn(move || {
        let mut stream = accepted(&listener).expect("a caller");
        let mut asked = Vec::new();
        while !asked.ends_with(b"}") {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).expect("a request");
            assert!(read > 0, "the caller went away");
            asked.extend(bytes.iter().take(read));
        }
        let body = r#"{"cancel":true,"reason":"quiet hours"}"#;
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).expect("an answer");
        String::from_utf8(asked).expect("text")
    });
    assert_eq!(run(&folder, &["new", "Quiet"]).1, Some(0));
    let (told, code) = run(&folder, &["send", "hello"]);
    assert_eq!((told.as_str(), code), ("error: quiet hours\n", Some(4)));
    let asked = served.join().expect("it was asked");
    assert!(asked.starts_with("POST /told HTTP/1.1\r\n"), "{asked}");
    let body: Value = serde_json::from_str(asked.lines().last().expect("a body")).expect("JSON");
    assert_eq!((&body["type"], &body["text"]), (&json!("before_send"), &json!("hello")));
}

/// Two turns, and from then on a hook of all that is asked about, which does not answer.
fn two_turns_and_a_slow_hook(folder: &Folder) -> (Talk, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/slow", listener.local_addr().expect("an address"));
    let mut chat = Talk::begin(folder, &["chat"]);
    for words in ["first words", "second words"] {
        chat.say(words);
        chat.until(&format!("You said “{words}”"));
    }
    let events = r#"["session_before_tree", "session_before_branch", "before_send"]"#;
    settings(folder, &format!("[[hooks]]\nevents = {events}\nurl = \"{url}\"\ntime_limit = \"1h\"\n"));
    (chat, listener)
}

/// R-175: cancelling ends the hook that is asked.
/// Whoever is asked first does not answer. Ctrl-C does not wait for it, and nothing has changed, then or later.
#[test]
fn ctrl_c_calls_off_what_a_hook_is_asked_about() {
    let commands: [(&[&str], bool); 7] = [
        (&["switch", "1", "--summary"], false),
        (&["switch", "1", "--summary=why"], true),
        (&["switch", "1"], true),
        (&["rewind", "1"], false),
        (&["fork", "1", "--new-session"], true),
        (&["send", "third words"], false),
        (&["send", "third words"], true),
    ];
    for (words, elsewhere) in commands {
        let folder = Folder::new();
        let (chat, listener) = two_turns_and_a_slow_hook(&folder);
        let host = match elsewhere {
            true => Some(chat),
            false => {
                assert_eq!(chat.end(), Some(0));
                None
            }
        };
        let before = std::fs::read(&folder.journals()[0]).expect("a journal");
        let mut command = Talk::aloud(&folder, words);
        let mut asked = accepted(&listener).expect("the hook is asked");
        command.ctrl_c();
        command.until("called off");
        assert_eq!(command.end(), Some(130), "{words:?}");
        // The hook is let go.
        asked.read_to_end(&mut Vec::new()).expect("the connection is closed");
        assert_eq!(std::fs::read(&folder.journals()[0]).expect("a journal"), before, "nothing has changed");
        assert_eq!(folder.journals().len(), 1);
        if let Some(mut chat) = host {
            settings(&folder, "");
            chat.say("still here");
            chat.until("You said “still here”. This is turn 3");
            assert_eq!(chat.end(), Some(0));
        }
    }
}

#[test]
fn ctrl_c_in_a_chat_calls_off_what_a_hook_is_asked_about() {
    for (words, ends) in [("/rewind 1", 0), ("third words", 130)] {
        let folder = Folder::new();
        let (mut chat, listener) = two_turns_and_a_slow_hook(&folder);
        let before = std::fs::read(&folder.journals()[0]).expect("a journal");
        chat.say(words);
        let mut asked = accepted(&listener).expect("the hook is asked");
        chat.ctrl_c();
        chat.until("Called off. Nothing has changed.");
        asked.read_to_end(&mut Vec::new()).expect("the connection is closed");
        assert_eq!(chat.end(), Some(ends), "{words}");
        assert_eq!(std::fs::read(&folder.journals()[0]).expect("a journal"), before, "{words}");
    }
}

/// Whoever goes away without a word has given it up too.
#[test]
fn a_command_that_is_killed_is_not_done_later() {
    let folder = Folder::new();
    let (mut chat, listener) = two_turns_and_a_slow_hook(&folder);
    let before = std::fs::read(&folder.journals()[0]).expect("a journal");
    let switch = Talk::begin(&folder, &["switch", "1"]);
    let mut asked = accepted(&listener).expect("the hook is asked");
    switch.kill();
    asked.read_to_end(&mut Vec::new()).expect("the connection is closed");
    assert_eq!(std::fs::read(&folder.journals()[0]).expect("a journal"), before, "nothing has moved");
    settings(&folder, "");
    chat.say("still here");
    chat.until("You said “still here”. This is turn 3");
    assert_eq!(chat.end(), Some(0));
}

/// A failure is told by whoever asks, wherever the engine is.
#[test]
fn a_hook_that_fails_is_reported_by_every_command() {
    for elsewhere in [false, true] {
        let folder = Folder::new();
        let mut chat = Talk::begin(&folder, &["chat"]);
        for words in ["first words", "second words"] {
            chat.say(words);
            chat.until(&format!("You said “{words}”"));
        }
        let host = match elsewhere {
            true => Some(chat),
            false => {
                assert_eq!(chat.end(), Some(0));
                None
            }
        };
        let failing = script(&folder, "fails", "exit 3");
        let events = ["session_before_tree", "session_before_branch", "before_send"];
        settings(&folder, &events.map(|event| hook(event, &failing)).concat());
        let commands: [&[&str]; 9] = [
            &["send", "third words"],
            &["edit", "3", "other words", "--send"],
            &["retry", "3", "--send"],
            &["switch", "2"],
            &["send", "more words"],
            &["fork", "2"],
            &["switch", "1", "--summary"],
            &["fork", "1", "--new-session"],
            &["rewind", "1", "--before"],
        ];
        for words in commands {
            let (told, code) = run(&folder, words);
            assert_eq!(code, Some(0), "{words:?}: {told}");
            assert_eq!(
                told.matches("hook `fails`: failed with exit status: 3\n").count(),
                1,
                "{words:?}: {told}"
            );
        }
        if let Some(chat) = host {
            assert_eq!(chat.end(), Some(0));
        }
    }
}

/// R-122: while a hook is asked about a message, `status` lists the message and its branch cannot be changed. Before,
/// "Nothing runs" was said and the message landed wherever the head was by then.
#[test]
fn a_message_that_waits_for_its_hook_is_listed_and_holds_its_branch() {
    let folder = Folder::new();
    let (chat, listener) = two_turns_and_a_slow_hook(&folder);
    let before = std::fs::read(&folder.journals()[0]).expect("a journal");
    let mut command = Talk::aloud(&folder, &["send", "third words"]);
    let (mut asked, _) = listener.accept().expect("the hook is asked");
    let (told, code) = run(&folder, &["status"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("starting") && told.contains("#3") && told.contains("hook: third words"), "{told}");
    settings(&folder, "");
    for words in [&["switch", "1"][..], &["edit", "1", "other words"], &["undo"]] {
        let (told, code) = run(&folder, words);
        assert_eq!(code, Some(4), "{words:?}: {told}");
        assert!(told.contains("--abort-first"), "{words:?}: {told}");
    }
    command.ctrl_c();
    command.until("called off");
    assert_eq!(command.end(), Some(130));
    asked.read_to_end(&mut Vec::new()).expect("the connection is closed");
    assert_eq!(std::fs::read(&folder.journals()[0]).expect("a journal"), before, "no trace");
    let (told, _) = run(&folder, &["status"]);
    assert!(told.contains("Nothing runs"), "{told}");
    let (told, code) = run(&folder, &["switch", "1"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(chat.end(), Some(0));
}

/// Hooks are asked about a queued message when it is about to be sent, and about the words that it has then. The log names who
/// was asked by no more than host and port.
#[test]
fn a_hook_is_asked_about_a_queued_message_when_it_is_sent() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    let mut send = alive(&folder);
    send.args(["send", "first words"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut send = send.spawn().expect("the program starts");
    chat.until("Somebody else says “first words”");
    let guard = keeping(&folder, "guard", r#"{"cancel":true,"reason":"not on Fridays"}"#);
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let address = format!("[[hooks]]\nevents = [\"before_send\"]\nurl = \"http://{nobody}/hush?key=hush\"\n");
    settings(&folder, &(address + &hook("before_send", &guard)));
    let (told, code) = run(&folder, &["queue", "change", "1", "other words"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(!folder.path().join("told.json").exists(), "nobody is asked before it is sent");
    chat.say("2");
    chat.until("not on Fridays");
    let told: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("told.json")).expect("a file"))
            .expect("JSON");
    assert_eq!(told["text"], "other words");
    let log = std::fs::read_to_string(folder.home().join("log/offshoot.log")).expect("a log");
    assert!(log.contains(&format!(" hook={nobody} ")) && !log.contains("hush"), "{log}");
    let (told, _) = run(&folder, &["queue"]);
    assert!(told.contains("other words"), "it is held: {told}");
    settings(&folder, "");
    let (told, code) = run(&folder, &["queue", "send"]);
    assert_eq!(code, Some(0), "{told}");
    chat.until("You said “other words”");
    send.bounded_wait();
    assert_eq!(chat.end(), Some(0));
}

/// What is told at the end of `send` is waited for, longer than agents are given to end; what the hook wants is done.
#[test]
fn what_a_hook_wants_at_the_end_is_done() {
    let folder = Folder::new();
    assert_eq!(run(&folder, &["new", "Both"]).1, Some(0));
    let wish = r##"{"requests":[{"type":"branch","entryId":"#1"}]}"##;
    let slow = script(&folder, "slow", &format!("sleep 6; printf '%s' '{wish}'"));
    let failing = script(&folder, "fails", "exit 3");
    settings(&folder, &(hook("turn_ended", &slow) + &hook("turn_ended", &failing)));
    let (told, code) = run(&folder, &["send", "hello"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("hook `fails`: failed with exit status: 3\n"), "{told}");
    assert_eq!(folder.journals().len(), 2, "the session that the hook wants is there: {told}");
}

/// The answer is complete, and only a hook is still being told so.
#[test]
fn ctrl_c_does_not_wait_for_what_hooks_are_told_at_the_end() {
    let folder = Folder::new();
    assert_eq!(run(&folder, &["new", "Lamp"]).1, Some(0));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/slow", listener.local_addr().expect("an address"));
    settings(
        &folder,
        &format!("[[hooks]]\nevents = [\"turn_ended\"]\nurl = \"{url}\"\ntime_limit = \"1h\"\n"),
    );
    let mut send = Talk::begin(&folder, &["send", "hello"]);
    send.until("You said “hello”");
    let mut told = accepted(&listener).expect("the hook is told");
    send.ctrl_c();
    assert_eq!(send.end(), Some(0));
    // The hook is still being told, until the engine ends.
    folder.kill_engine();
    told.read_to_end(&mut Vec::new()).expect("the connection is closed");
}

#[test]
fn a_hook_that_fails_at_the_end_of_a_chat_is_reported() {
    let folder = Folder::new();
    let failing = script(&folder, "fails", "sleep 1; exit 3");
    settings(&folder, &hook("turn_ended", &failing));
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.says_no_more();
    chat.until("hook `fails`: failed with exit status: 3");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_variable_may_name_a_hook_and_a_project_may_not() {
    let folder = Folder::new();
    assert_eq!(run(&folder, &["new", "Both"]).1, Some(0));
    let program = keeping(&folder, "guard", r#"{"cancel":true,"reason":"no"}"#);
    std::fs::create_dir(folder.path().join(".offshoot")).expect("a folder");
    folder.write(".offshoot/settings.toml", hook("before_send", &program).as_bytes());
    let (told, code) = run(&folder, &["send", "hello"]);
    assert_eq!(code, Some(0), "{told}");
    let ignored = "DIR/.offshoot/settings.toml`, line 1: `hooks` is ignored; a project may not set it";
    assert!(told.contains(ignored), "{told}");
    assert!(!folder.path().join("told.json").exists(), "the program of the project was run");
    let hooks = format!("[{{ events = [\"before_send\"], program = \"{program}\" }}]");
    let output = alive(&folder)
        .args(["send", "again"])
        .env("OFFSHOOT_HOOKS", hooks)
        .bounded_output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(folder.path().join("told.json").exists());
}
