//! Hooks of the settings, asked by the program itself: real scripts, and an address of this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::config::{alive, run};
use crate::support::Folder;
use crate::talking::Talk;

/// A `chat` with two turns, and a connection to its engine.
struct Host {
    chat: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
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
        let mut stdout = BufReader::new(chat.stdout.take().expect("a pipe"));
        for words in ["first words", "second words"] {
            writeln!(stdin, "{words}").expect("the program listens");
            until(&mut stdout, &format!("You said “{words}”"));
        }
        let journal = folder.journals().pop().expect("a session");
        let session = journal.file_stem().expect("an id").to_string_lossy().into_owned();
        let engine = UnixStream::connect(folder.home().join("engine.sock")).expect("an engine");
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
        assert!(self.chat.wait().expect("it ends").success());
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
fn script(folder: &Folder, name: &str, lines: &str) -> String {
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

fn settings(folder: &Folder, text: &str) {
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
        "moved",
        "the file is looked at with every request"
    );
    host.end();
}

#[test]
fn a_program_writes_the_summary_and_it_is_kept_with_what_belongs_to_it() {
    let folder = Folder::new();
    let answer = r#"{"summary":{"summary":"From outside.","details":{"runs":3}}}"#;
    settings(&folder, &hook("session_before_tree", &keeping(&folder, "writer", answer)));
    let mut host = Host::begin(&folder);
    assert_eq!(host.navigate("default")["response"]["type"], "moved");
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
    assert_eq!(host.navigate("none")["response"]["type"], "moved");
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
        let (mut stream, _) = listener.accept().expect("a caller");
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

/// Whoever is asked first does not answer. Ctrl-C does not wait for it, and nothing has moved.
#[test]
fn ctrl_c_calls_off_a_summary_while_a_hook_is_asked() {
    for (words, elsewhere) in
        [(&["switch", "1", "--summary"][..], false), (&["switch", "1", "--summary=why"], true)]
    {
        let folder = Folder::new();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/slow", listener.local_addr().expect("an address"));
        let mut chat = Talk::begin(&folder, &["chat"]);
        for words in ["first words", "second words"] {
            chat.say(words);
            chat.until(&format!("You said “{words}”"));
        }
        let limit = "time_limit = \"1h\"\n";
        settings(
            &folder,
            &format!("[[hooks]]\nevents = [\"session_before_tree\"]\nurl = \"{url}\"\n{limit}"),
        );
        let host = match elsewhere {
            true => Some(chat),
            false => {
                assert_eq!(chat.end(), Some(0));
                None
            }
        };
        let before = std::fs::read(&folder.journals()[0]).expect("a journal");
        let mut switch = Talk::aloud(&folder, words);
        let (asked, _) = listener.accept().expect("the hook is asked");
        switch.ctrl_c();
        switch.until("called off");
        assert_eq!(switch.end(), Some(130), "{words:?}");
        assert_eq!(std::fs::read(&folder.journals()[0]).expect("a journal"), before, "nothing has moved");
        drop(asked);
        if let Some(mut chat) = host {
            settings(&folder, "");
            chat.say("still here");
            chat.until("You said “still here”. This is turn 3");
            assert_eq!(chat.end(), Some(0));
        }
    }
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
    let output =
        alive(&folder).args(["send", "again"]).env("OFFSHOOT_HOOKS", hooks).output().expect("it runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(folder.path().join("told.json").exists());
}
