//! Every command while a turn runs in another process: it works, or it is refused by the rules for what may be done
//! meanwhile, and whoever looks on is told. And messages whose engine ends in the middle.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use offshoot_testkit::deadline::{BoundedChild, BoundedReader, PATIENCE};
use serde_json::{Value, json};

use crate::support::Folder;
use crate::talking::{Talk, alive, new_session, run};

/// Somebody who looks on, over the socket.
struct Follower(BufReader<UnixStream>);

impl Follower {
    fn of(folder: &Folder, session: &str) -> Self {
        let mut stream = UnixStream::connect(folder.home().join("run/engine.sock")).expect("an engine");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let open = json!({ "id": 1, "request": { "type": "open", "session": session, "turns": 0 } });
        writeln!(stream, "{open}").expect("it listens");
        let mut follower = Self(BufReader::new(stream));
        let seq = follower.next()["response"]["seq"].clone();
        let follow =
            json!({ "id": 2, "request": { "type": "follow", "session": session, "after_seq": seq } });
        writeln!(follower.0.get_mut(), "{follow}").expect("it listens");
        assert_eq!(follower.next()["response"]["type"], "done");
        follower
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).expect("text") > 0, "the engine is gone");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The next event of this kind.
    fn until(&mut self, kind: &str) -> Value {
        let mut before = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line);
            assert!(read.is_ok_and(|read| read > 0), "no `{kind}` came, but: {before:?}");
            let event = serde_json::from_str::<Value>(&line).expect("JSON")["event"].take();
            if event["type"] == kind {
                return event;
            }
            before.push(event["type"].clone());
        }
    }
}

fn only_session(folder: &Folder) -> String {
    let journals = folder.journals();
    assert_eq!(journals.len(), 1, "{journals:?}");
    journals[0].file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Two versions of the first turn, the earlier one labelled, and a second turn on the later one.
fn tree_of_two() -> (Folder, Talk) {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    chat.say("/label first");
    chat.say("/edit 1 hello you");
    chat.until("You said “hello you”.");
    chat.say("more");
    chat.until("You said “more”.");
    (folder, chat)
}

/// Ids are made by chance, and time goes on.
fn without_stamps(told: &str) -> String {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.');
    let is_stamp = |word: &str| {
        let is_long = word.len() >= 6 && word.bytes().all(|byte| b"0123456789abcdefTZ-:.".contains(&byte));
        // An id may have no digit at all.
        let is_id = word.len() == 6 && word.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        is_id || (word.bytes().any(|byte| byte.is_ascii_digit()) && (word.contains(':') || is_long))
    };
    let (mut text, mut rest) = (String::new(), told);
    while let Some(at) = rest.find(is_of_word) {
        let (before, from) = rest.split_at(at);
        let (word, after) = from.split_at(from.find(|c| !is_of_word(c)).unwrap_or(from.len()));
        text.push_str(before);
        text.push_str(if is_stamp(word) { "STAMP" } else { word });
        rest = after;
    }
    text + rest
}

/// Commands on the branch of the head and beside it, in an order in which each has something to do.
const CHANGES: &[&[&str]] = &[
    &["edit", "2", "more, please"],
    &["retry", "1"],
    &["prev", "1"],
    &["next", "1"],
    &["switch", "head"],
    &["switch", "--before-first"],
    &["undo"],
    &["redo"],
    &["undo"],
    &["fork", "--at", "1"],
    &["label", "1", "noted"],
    &["branch", "name", "1", "kept"],
    &["rename", "Changed"],
    &["switch", "kept"],
    &["edit", "1", "hello you"],
    &["edit", "1", "another"],
    &["archive", "kept"],
    &["unarchive", "kept"],
    &["fork", "--new-session", "--title", "Aside"],
    &["undo", "Aside"],
    &["redo", "Aside"],
    &["prev", "--json", "--session", "Changed"],
    &["undo", "--json", "--session", "Changed"],
    &["next", "9"],
];

#[test]
fn a_command_says_the_same_with_an_engine_and_without_one() {
    let ((with, chat), (without, other)) = (tree_of_two(), tree_of_two());
    assert_eq!(other.end(), Some(0));
    let _follower = Follower::of(&with, &only_session(&with));
    for words in CHANGES {
        let (engine, engine_code) = run(&with, words);
        let (alone, alone_code) = run(&without, words);
        assert_eq!((without_stamps(&engine), engine_code), (without_stamps(&alone), alone_code), "{words:?}");
    }
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn what_would_change_the_branch_of_a_running_turn_is_refused_with_a_hint() {
    let (folder, mut chat) = tree_of_two();
    let session = only_session(&folder);
    chat.say("ask me");
    chat.until("3. Sideways");
    let on_its_branch: &[&[&str]] = &[
        &["edit", "1", "hello there"],
        &["retry"],
        &["switch", "1"],
        &["switch", "--before-first"],
        &["prev", "1"],
        &["fork", "--at", "1"],
        &["undo"],
    ];
    for words in on_its_branch {
        let (told, code) = run(&folder, words);
        assert_eq!(code, Some(4), "{words:?}: {told}");
        assert!(told.starts_with("error: this branch waits for your answer at `#3`\n"), "{words:?}: {told}");
        assert!(told.contains("--abort-first"), "{words:?}: {told}");
    }
    let mut follower = Follower::of(&folder, &session);
    let looks: &[&[&str]] =
        &[&["show"], &["tree"], &["ls"], &["ops"], &["versions", "1"], &["branch"], &["search", "hello"]];
    for words in looks {
        let (told, code) = run(&folder, words);
        assert_eq!(code, Some(0), "{words:?}: {told}");
    }
    let beside_it: &[(&[&str], &str)] = &[
        (&["label", "1", "noted"], "labelled"),
        (&["branch", "name", "1", "kept"], "branch_named"),
        (&["rename", "Changed"], "titled"),
    ];
    for (words, event) in beside_it {
        let (told, code) = run(&folder, words);
        assert_eq!(code, Some(0), "{words:?}: {told}");
        follower.until(event);
    }
    let (told, code) = run(&folder, &["fork", "--session", &session, "--new-session", "--title", "Aside"]);
    assert_eq!(code, Some(0), "{told}");
    let (told, code) = run(&folder, &["switch", "--session", &session, "1", "--abort-first"]);
    assert_eq!(code, Some(0), "{told}");
    chat.until("Response interrupted");
    follower.until("turn_ended");
    follower.until("head_moved");
    assert_eq!(chat.end(), Some(130), "its last answer was interrupted");
}

/// What `append` prints, and how it ends.
fn append(folder: &Folder, words: &[&str], lines: &str) -> (String, Option<i32>) {
    let mut command = alive(folder);
    command.arg("append").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A command that was refused reads no further.
    let _ = child.stdin.take().expect("a pipe").write_all(lines.as_bytes());
    let output = child.bounded_output();
    let told =
        String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text");
    (told, output.status.code())
}

const ASIDE: &str = "{\"role\":\"user\",\"text\":\"said elsewhere\"}\n\
                     {\"role\":\"assistant\",\"text\":\"and answered\"}\n";

#[test]
fn what_a_script_appends_is_seen_by_the_chat_that_runs_elsewhere() {
    let (folder, mut chat) = tree_of_two();
    let session = only_session(&folder);
    let mut follower = Follower::of(&folder, &session);
    let (told, code) = append(&folder, &["--json"], ASIDE);
    assert_eq!(code, Some(0), "{told}");
    let ids: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(ids.len(), 2, "{told}");
    // By name, and not as something that has changed somehow.
    for (id, text) in ids.iter().zip(["said elsewhere", "and answered"]) {
        let event = follower.until("entry");
        assert_eq!(event["entry"]["id"], id["id"], "{event}");
        assert!(event.to_string().contains(text), "{event}");
    }
    assert_eq!(follower.until("head_moved")["head"]["at"], ids[1]["id"]);
    chat.until("> said elsewhere");
    chat.until("and answered");
    // Each line is a step.
    let (undone, code) = run(&folder, &["undo"]);
    assert_eq!(code, Some(0), "{undone}");
    assert_eq!(follower.until("head_moved")["head"]["at"], ids[0]["id"]);
    assert_eq!(run(&folder, &["redo"]).1, Some(0));
    chat.say("what did I say");
    chat.until("given this branch as text");
    chat.until("“said elsewhere”");
    let (told, code) = append(&folder, &["--batch"], ASIDE);
    assert_eq!((told.lines().count(), code), (2, Some(0)), "{told}");
    chat.until("> said elsewhere");
    assert_eq!(run(&folder, &["undo"]).1, Some(0));
    let (shown, _) = run(&folder, &["show", "--json"]);
    assert_eq!(shown.matches("said elsewhere\"").count(), 1, "all of it was one step: {shown}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn nothing_is_appended_to_the_branch_of_a_running_turn_unless_it_is_aborted_first() {
    let (folder, mut chat) = tree_of_two();
    let session = only_session(&folder);
    chat.say("ask me");
    chat.until("3. Sideways");
    let before = std::fs::read(&folder.journals()[0]).expect("a journal");
    for words in [&[][..], &["--batch"]] {
        let (told, code) = append(&folder, words, ASIDE);
        assert_eq!(code, Some(4), "{words:?}: {told}");
        assert!(told.starts_with("error: this branch waits for your answer at `#3`\n"), "{words:?}: {told}");
        assert!(told.contains("--abort-first"), "{words:?}: {told}");
    }
    assert_eq!(std::fs::read(&folder.journals()[0]).expect("a journal"), before, "nothing was written");
    let mut follower = Follower::of(&folder, &session);
    let (told, code) = append(&folder, &["--abort-first"], ASIDE);
    assert_eq!(code, Some(0), "{told}");
    follower.until("turn_ended");
    assert_eq!(follower.until("entry")["entry"]["kind"], "prompt");
    chat.until("Response interrupted");
    chat.until("> said elsewhere");
    assert_eq!(chat.end(), Some(130), "its last answer was interrupted");
}

#[test]
fn a_line_that_cannot_be_appended_is_told_the_same_with_an_engine_and_without_one() {
    let ((with, chat), (without, other)) = (tree_of_two(), tree_of_two());
    assert_eq!(other.end(), Some(0));
    let wrong = [
        "not json",
        "{\"role\":\"user\",\"text\":\" \"}",
        "{\"role\":\"user\",\"text\":\"hi\",\"parent\":\"#9\"}",
        "{\"role\":\"user\",\"text\":\"hi\",\"parent\":\"first\",\"id\":\"mine\"}",
        "{\"role\":\"user\",\"text\":\"hi\",\"id\":\"mine\"}",
    ];
    for (line, words) in wrong.iter().flat_map(|line| [(line, &[][..]), (line, &["--batch"])]) {
        let lines = format!("{{\"role\":\"assistant\",\"text\":\"a\"}}\n{line}\n");
        let (engine, engine_code) = append(&with, words, &lines);
        let (alone, alone_code) = append(&without, words, &lines);
        assert_eq!((without_stamps(&engine), engine_code), (without_stamps(&alone), alone_code), "{line}");
    }
    let trees = [&with, &without].map(|folder| without_stamps(&run(folder, &["tree", "--filter", "all"]).0));
    assert_eq!(trees[0], trees[1]);
    assert_eq!(chat.end(), Some(0));
}

/// It has no journal yet, so the engine that has it open does not write it. Whoever looks on is told all the same.
#[test]
fn the_first_change_of_a_session_of_another_program_is_told_to_whoever_looks_at_it() {
    let theirs = |folder: &Folder| folder.path().join("burst.jsonl").to_str().expect("text").to_owned();
    let other = Folder::new();
    assert_eq!(run(&other, &["label", &theirs(&other), "1", "noted"]).1, Some(0));
    let session = only_session(&other);
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat", &theirs(&folder)]);
    chat.until("The bucket now keeps one instant");
    let mut follower = Follower::of(&folder, &session);
    let label: &[&str] = &["label", "--session", &theirs(&folder), "1", "noted"];
    for (words, event) in [(label, "labelled"), (&["undo", &theirs(&folder)], "rearranged")] {
        let (told, code) = run(&folder, words);
        assert_eq!(code, Some(0), "{told}");
        follower.until(event);
    }
    assert_eq!(only_session(&folder), session);
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn elsewhere_in_the_tree_everything_goes_on_while_a_turn_runs() {
    let (folder, mut chat) = tree_of_two();
    let session = only_session(&folder);
    chat.say("ask me");
    chat.until("3. Sideways");
    // A turn on a branch of its own; the head goes there, and the other one waits on.
    let (told, code) = run(&folder, &["send", "--at", "first", "meanwhile"]);
    assert_eq!(code, Some(0), "{told}");
    let mut follower = Follower::of(&folder, &session);
    let changes: &[(&[&str], &str)] = &[
        (&["edit", "2", "meanwhile, differently"], "entry"),
        (&["retry", "2"], "entry"),
        (&["prev", "2"], "head_moved"),
        (&["next", "2"], "head_moved"),
        (&["undo"], "rearranged"),
        (&["redo"], "rearranged"),
        (&["switch", "--before-first"], "head_moved"),
        (&["undo"], "rearranged"),
        (&["fork", "--at", "1"], "head_moved"),
    ];
    for (words, event) in changes {
        let (told, code) = run(&folder, words);
        assert_eq!(code, Some(0), "{words:?}: {told}");
        follower.until(event);
    }
    let (told, code) = run(&folder, &["answer", "choose", "--choice", "Left"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(follower.until("turn_ended")["end"]["how"], "done");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_message_whose_engine_is_killed_is_said_once_and_what_had_arrived_is_kept() {
    let folder = Folder::new();
    new_session(&folder, "Lost");
    let mut engine = Talk::begin(&folder, &["chat"]);
    engine.say("ask me");
    engine.until("3. Sideways");
    let mut send = alive(&folder)
        .args(["send", "Lost", "ask me"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdout = BufReader::new(BoundedReader(send.stdout.take().expect("a pipe")));
    let mut told = String::new();
    while !told.contains("3. Sideways") {
        assert!(stdout.read_line(&mut told).expect("text") > 0, "it ended too early: {told}");
    }
    engine.kill_with_engine(&folder);
    while stdout.read_line(&mut told).expect("text") > 0 {}
    let output = send.bounded_output();
    let notes = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(130), "{told}{notes}");
    assert_eq!(
        told.matches("Offshoot stopped during this answer. What had arrived is kept.").count(),
        1,
        "{told}"
    );
    assert!(notes.contains("nothing is said twice"), "{notes}");
    let (shown, _) = run(&folder, &["show", "Lost", "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let entries = shown["entries"].as_array().expect("entries").iter();
    let roles: Vec<&Value> = entries.map(|entry| &entry["role"]).collect();
    assert_eq!(roles, ["user", "interrupted"], "{shown}");
}

#[test]
fn a_message_that_waits_is_said_by_the_next_engine() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    let mut follower = Follower::of(&folder, &only_session(&folder));
    let send = alive(&folder)
        .args(["send", "from the queue"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    assert_eq!(follower.until("queue")["queue"][0]["text"], "from the queue");
    chat.kill_with_engine(&folder);
    let output = send.bounded_output();
    let told = String::from_utf8(output.stdout).expect("text");
    let notes = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{told}{notes}");
    assert!(told.starts_with("You said “from the queue”. This is turn 2"), "{told}{notes}");
    let (shown, _) = run(&folder, &["show", "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let said =
        shown["entries"].as_array().expect("entries").iter().filter(|it| it["text"] == "from the queue");
    assert_eq!(said.count(), 1, "{shown}");
    assert!(
        std::fs::read_dir(folder.home().join("sessions"))
            .expect("sessions")
            .all(|file| { !file.expect("a name").file_name().to_string_lossy().ends_with(".waiting") })
    );
}
