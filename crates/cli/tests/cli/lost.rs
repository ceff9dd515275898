//! Commands that say something, whose engine ends before it has answered.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, within};
use serde_json::Value;

use crate::support::Folder;
use crate::talking::{Talk, alive, run};

/// A hook that says that it was asked, and is silent while the file `armed` is there; else it lets everything pass.
struct Hook {
    asked: PathBuf,
    armed: PathBuf,
    /// While it is open the hook is silent.
    _silence: File,
}

impl Hook {
    fn of(folder: &Folder) -> Self {
        let [asked, silence, armed] = ["asked", "silence", "armed"].map(|name| folder.path().join(name));
        for pipe in [&asked, &silence] {
            assert!(Command::new("mkfifo").arg(pipe).bounded_status().expect("mkfifo").success());
        }
        let lines = "if rm armed 2>/dev/null; then echo asked > asked; cat silence; fi";
        let script = format!("#!/bin/sh\ncd '{}'\n{lines}\n", folder.path().display());
        folder.write("hook", script.as_bytes());
        let hook = folder.path().join("hook");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("own file");
        std::fs::create_dir_all(folder.home()).expect("own folder");
        let settings = format!("[[hooks]]\nevents = [\"before_send\"]\nprogram = \"{}\"\n", hook.display());
        folder.write("home/settings.toml", settings.as_bytes());
        // Opened for both, a pipe is there for the hook and nothing comes through it.
        let _silence = File::options().read(true).write(true).open(silence).expect("own pipe");
        Self { asked, armed, _silence }
    }

    fn arm(&self) {
        std::fs::write(&self.armed, "").expect("own folder");
    }

    fn until_asked(&self) {
        let asked = self.asked.clone();
        let told = within("the question to the hook", || std::fs::read_to_string(asked));
        assert_eq!(told.expect("own pipe"), "asked\n");
    }
}

fn versions(folder: &Folder) -> Vec<String> {
    let (told, _) = run(folder, &["versions", "1", "--json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let versions = told["versions"].as_array().expect("a list").iter();
    versions.map(|version| version["text"].as_str().expect("text").to_owned()).collect()
}

/// The engine is asked, and ends before anything is written. The next one is asked the same, and says it once.
#[test]
fn what_is_lost_with_its_engine_is_said_by_the_next_one_and_once() {
    for (before, words, said) in [
        ([].as_slice(), ["retry", "--send", "--json"].as_slice(), ["hello", "hello"].as_slice()),
        (&[], &["edit", "1", "hello you", "--send", "--json"], &["hello", "hello you"]),
        (&["edit", "1", "hello you"], &["send", "--unanswered", "--json"], &["hello", "hello you"]),
    ] {
        let folder = Folder::new();
        let hook = Hook::of(&folder);
        let mut host = Talk::begin(&folder, &["chat"]);
        host.say("hello");
        host.until("You said “hello”.");
        if !before.is_empty() {
            assert_eq!(run(&folder, before).1, Some(0));
        }
        hook.arm();
        let mut command = alive(&folder);
        let command = command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let client = command.spawn().expect("the program starts");
        hook.until_asked();
        host.kill_with_engine(&folder);
        let output = client.bounded_output();
        let noted = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {noted}");
        assert!(noted.contains("nothing is said twice"), "{noted}");
        let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(told["end"]["how"], "done", "{told}");
        assert_eq!(versions(&folder), said, "{words:?}");
    }
}

/// To find out what became of its message, `send` looked at the whole branch, and that was longer than a line of the
/// connection: the connection ended, and `send` said that it was the engine.
#[test]
fn what_is_lost_is_said_again_in_a_session_that_is_longer_than_a_line() {
    let folder = Folder::new();
    let hook = Hook::of(&folder);
    let mut host = Talk::begin(&folder, &["chat"]);
    host.say("hello");
    host.until("You said “hello”.");
    let line = serde_json::json!({"role": "user", "text": "x".repeat(4 * 1024 * 1024 - 100)}).to_string();
    folder.write("lines", format!("{line}\n").repeat(5).as_bytes());
    let mut append = alive(&folder);
    let lines = File::open(folder.path().join("lines")).expect("own file");
    let mut appending = append.arg("append").stdin(lines).stdout(Stdio::null()).spawn().expect("it starts");
    assert!(appending.bounded_wait().success());
    hook.arm();
    let mut command = alive(&folder);
    let command = command.args(["send", "and on"]).stdin(Stdio::null());
    let client = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    hook.until_asked();
    host.kill_with_engine(&folder);
    let output = client.bounded_output();
    let noted = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{noted}");
    assert_eq!(noted.matches("The process that was the engine has ended").count(), 1, "{noted}");
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(told.contains("You said “and on”"), "{told}");
}

/// While talking, too.
#[test]
fn what_is_asked_again_while_talking_is_asked_once() {
    let folder = Folder::new();
    let hook = Hook::of(&folder);
    let mut host = Talk::begin(&folder, &["chat"]);
    host.say("hello");
    host.until("You said “hello”.");
    let mut guest = Talk::aloud(&folder, &["chat", "--continue"]);
    guest.until("You said “hello”.");
    hook.arm();
    guest.say("/retry");
    hook.until_asked();
    host.kill_with_engine(&folder);
    guest.until("Connected again; nothing is lost.");
    guest.until("You said “hello”. This is turn 1 of its branch.");
    assert_eq!(guest.end(), Some(0));
    assert_eq!(versions(&folder), ["hello", "hello"]);
}
