//! Commands for scripts: each says one thing, prints what it was asked for, and ends with a code.

use std::io::Write;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use insta::assert_snapshot;
use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, BoundedReader};
use serde_json::{Value, json};

use crate::support::Folder;
use crate::talking::{Talk, alive, new_session, run};

/// A program that is called like an agent.
fn program(folder: &Folder, name: &str, lines: &str) {
    let bin = folder.path().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    folder.write(&format!("bin/{name}"), format!("#!/bin/sh\n{lines}\n").as_bytes());
    std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("own file");
}

/// What a command prints, what it says beside that, and how it ends.
pub(crate) fn both(folder: &Folder, words: &[&str]) -> (String, String, Option<i32>) {
    let output = alive(folder).args(words).stdin(Stdio::null()).bounded_output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn started(folder: &Folder, words: &[&str]) -> Child {
    let mut command = alive(folder);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Reads what a command says beside its answer, until it has these words.
fn until_noted(child: &mut Child, words: &str) -> String {
    let mut told = String::new();
    let mut stderr = BufReader::new(BoundedReader(child.stderr.as_mut().expect("a pipe")));
    while !told.contains(words) {
        assert!(stderr.read_line(&mut told).expect("text") > 0, "nobody said `{words}`, but: {told}");
    }
    told
}

fn ended(mut child: Child) -> (String, Option<i32>) {
    let mut told = String::new();
    let mut stdout = BoundedReader(child.stdout.take().expect("a pipe"));
    stdout.read_to_string(&mut told).expect("text");
    (told, child.bounded_wait().code())
}

/// Each answer is a version of the turn that was asked again, whatever the head does meanwhile.
#[test]
fn the_same_is_asked_of_several_models() {
    let folder = Folder::new();
    new_session(&folder, "Models");
    both(&folder, &["send", "hello"]);
    let (told, noted, code) = both(&folder, &["retry", "--send", "--model", "demo/one,demo/two"]);
    assert_eq!((told.matches("You said “hello”").count(), code), (2, Some(0)), "{told}{noted}");
    let places = ["[demo/one]", "[demo/two]"].map(|model| noted.find(model).expect(model));
    assert!(places[0] < places[1], "{noted}");
    let (versions, ..) = both(&folder, &["versions", "1", "--json"]);
    let versions: Value = serde_json::from_str(&versions).expect("JSON");
    assert_eq!(versions["versions"].as_array().expect("a list").len(), 3, "{versions}");
    let (written, _, code) = both(&folder, &["retry", "1", "--model", "demo/one,demo/two"]);
    assert_eq!((written.matches(" of #1 is ").count(), code), (2, Some(0)), "{written}");
}

#[test]
fn a_new_version_is_answered_at_once_or_later() {
    let folder = Folder::new();
    folder.run("new Versions");
    assert_snapshot!(folder.story(&[
        "send hello",
        "edit 1 hello --send",
        "edit 1 hello_you --send",
        "retry --send",
        "retry 9 --send",
        "edit 1 hello_again",
        "send --unanswered",
        "send --unanswered",
        "send --unanswered more",
        "send _",
        "send --edit 1 hello_you",
        "versions 1 --width 80",
    ]));
    let told = folder.run("edit 1 for_scripts --send --json");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((&told["end"]["how"], &told["entries"][0]["text"]), (&"done".into(), &"for scripts".into()));
}

/// R-009: a prompt has an id, an edit group, its text and its files.
#[test]
fn a_prompt_is_told_with_its_edit_group_text_and_files() {
    let folder = Folder::new();
    folder.write("notes.md", b"notes");
    folder.run("new Files");
    folder.run("send first --attach notes.md");
    let prompt = || {
        let shown: Value = serde_json::from_str(&folder.run("show --json")).expect("JSON");
        shown["entries"]
            .as_array()
            .expect("entries")
            .iter()
            .find(|entry| entry["role"] == "user")
            .cloned()
            .expect("a prompt")
    };
    let first = prompt();
    folder.run("edit 1 second --send");
    let second = prompt();
    assert_ne!(first["id"], second["id"]);
    for (prompt, text) in [(&first, "first"), (&second, "second")] {
        assert_eq!((&prompt["text"], &prompt["edit_group"]), (&json!(text), &first["id"]), "{prompt}");
        assert!(prompt["attachments"].to_string().contains("notes.md"), "{prompt}");
    }
}

#[test]
fn what_was_asked_of_nobody_knows_its_prompt() {
    let folder = Folder::new();
    new_session(&folder, "Later");
    let (first, _) = run(&folder, &["send", "--json", "hello"]);
    let first: Value = serde_json::from_str(&first).expect("JSON");
    let (edited, _) = run(&folder, &["edit", "1", "hello you", "--json"]);
    let edited: Value = serde_json::from_str(&edited).expect("JSON");
    let (told, code) = run(&folder, &["send", "--unanswered", "--json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((code, &told["prompt"]), (Some(0), &edited["id"]));
    assert_ne!(told["turn"], first["turn"]);
    assert!(told["turn"].is_string() && told["text"].as_str().expect("text").contains("hello you"), "{told}");
}

#[test]
fn only_the_answer_is_printed_and_what_is_asked_stands_beside_it() {
    let folder = Folder::new();
    new_session(&folder, "Asked");
    let mut send = started(&folder, &["send", "run echo from-the-tool"]);
    let asked = until_noted(&mut send, "offshoot answer");
    assert!(asked.contains("shell") && asked.contains("echo from-the-tool"), "{asked}");
    assert_eq!(run(&folder, &["answer", "allow"]).1, Some(0));
    let (told, code) = ended(send);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("from-the-tool") && !told.contains("y: yes") && !told.contains("May it"), "{told}");
}

/// Whoever answers from elsewhere has only these words to know what is run.
#[test]
fn a_command_of_several_lines_is_asked_for_with_all_of_them() {
    let folder = Folder::new();
    new_session(&folder, "Asked");
    let second = format!("touch pwned # {}", "x".repeat(100));
    let mut send = started(&folder, &["send", &format!("run echo a\n{second}")]);
    let asked = until_noted(&mut send, "offshoot answer");
    assert!(asked.contains(&format!("echo a ⏎ {second}")), "{asked}");
    let (status, _) = run(&folder, &["status"]);
    assert!(status.contains(&format!("permission: shell: echo a ⏎ {second}")), "{status}");
    let (status, _) = run(&folder, &["status", "--width", "90"]);
    assert!(status.contains("shell: echo a ⏎ touch") && status.contains('…'), "{status}");
    let (status, _) = run(&folder, &["status", "--json"]);
    let status: Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["rows"][0]["what"], format!("shell: echo a\n{second}"));
    assert_eq!(run(&folder, &["answer", "deny"]).1, Some(0));
    assert_eq!(ended(send).1, Some(0));
}

#[test]
fn a_second_turn_begins_beside_the_one_that_runs() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    chat.say("ask me");
    chat.until("3. Sideways");
    let (_, refusal, code) = both(&folder, &["send", "--at", "1", "in its way"]);
    assert_eq!(code, Some(4), "{refusal}");
    assert!(
        refusal.contains("`--abort-first` interrupts it first; `--beside` begins a second turn beside it"),
        "{refusal}"
    );
    let (told, _, code) = both(&folder, &["send", "--beside", "meanwhile"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("“meanwhile”. This is turn 2"),
        "beside what is asked, below the first turn: {told}"
    );
    let (told, _, code) = both(&folder, &["send", "--beside", "--edit", "2", "meanwhile, again"]);
    assert_eq!((code, told.contains("“meanwhile, again”. This is turn 2")), (Some(0), true), "{told}");
    let (told, _, code) = both(&folder, &["send", "--beside", "--at", "1", "and once more"]);
    assert_eq!((code, told.contains("“and once more”. This is turn 2")), (Some(0), true), "{told}");
    let (status, _) = run(&folder, &["status"]);
    assert!(status.contains("waiting"), "the first one was not touched: {status}");
    assert_eq!(run(&folder, &["abort"]).1, Some(0));
    chat.until("interrupted");
    assert_eq!(chat.end(), Some(130), "the last message of that conversation was interrupted");
}

/// The agent can fork its own session, so nothing is told as text.
#[test]
fn a_session_that_was_forked_goes_on_with_a_fork_of_the_agents_session() {
    let folder = Folder::new();
    new_session(&folder, "Origin");
    assert_eq!(run(&folder, &["send", "hello"]).1, Some(0));
    assert_eq!(run(&folder, &["fork", "1", "--new-session"]).1, Some(0));
    let (answer, noted, code) = both(&folder, &["send", "and on"]);
    assert_eq!(code, Some(0), "{noted}");
    assert!(answer.contains("Before it I heard “hello”.") && noted.is_empty(), "{answer}{noted}");
    let (shown, _) = run(&folder, &["show", "--json"]);
    assert!(shown.contains("forked_at_message") && !shown.contains("replayed_context"), "{shown}");
    let (tree, _) = run(&folder, &["tree"]);
    assert!(tree.contains("and on") && !tree.contains("reconstructed"), "{tree}");
}

#[test]
fn agents_are_listed_with_what_is_on_this_machine() {
    let folder = Folder::new();
    folder.run("new Agents");
    program(&folder, "claude", "echo '2.0.1 (Claude Code)'");
    program(&folder, "gemini", "exit 1");
    // A file that cannot be run is no program.
    folder.write("bin/opencode", b"#!/bin/sh\necho 1.0.0\n");
    let path = folder.path().join("bin");
    let run = |line: &str| {
        let mut command = folder.command();
        command.env("PATH", format!("{}:/usr/bin:/bin", path.display()));
        // Whatever else runs on this machine, nothing answers here.
        command.env("OFFSHOOT_PROVIDERS", r#"{ ollama = { base_url = "http://127.0.0.1:1/v1" } }"#);
        folder.told(command, line, "")
    };
    assert_snapshot!(run("agents"));
    program(&folder, "codex", "sleep 1000");
    let listed: Value = serde_json::from_str(&run("agents --json")).expect("JSON");
    let of = |name: &str| {
        let agents = listed["agents"].as_array().expect("a list");
        agents.iter().find(|agent| agent["name"] == name).expect("it is known").clone()
    };
    assert_eq!(
        (&of("claude-code")["version"], &of("claude-code")["answers"]),
        (&"2.0.1".into(), &true.into())
    );
    assert_eq!((&of("codex")["version"], &of("codex")["installed"]), (&Value::Null, &true.into()));
    assert_eq!((&of("built_in")["answers"], &of("pi")["installed"]), (&true.into(), &false.into()));
    assert_snapshot!(
        "missing",
        [
            "send --agent claude hi",
            "send --agent pi hi",
            "send --agent nobody hi",
            "send --edit 1 --agent pi hi",
            "new --agent codex",
            "new --agent nobody"
        ]
        .map(|line| format!("$ offshoot {line}\n{}", run(line)))
        .join("\n")
    );
}

#[test]
fn agent_and_model_are_chosen_with_a_message() {
    let folder = Folder::new();
    assert_snapshot!(folder.story(&[
        "new Chosen --model demo/small",
        "send hello",
        "send --model demo/large more",
        "send --edit 2 --model demo/small more",
        "send --model / wrong",
        "tree",
    ]));
    let shown: Value = serde_json::from_str(&folder.run("show --json")).expect("JSON");
    let entries = shown["entries"].as_array().expect("entries").iter();
    let settings: Vec<&Value> = entries.filter_map(|entry| entry.get("setting")).collect();
    assert_eq!(settings, ["model", "model"], "the session began with its agent and first model: {shown}");
    assert_eq!(shown["entries"][3]["value"]["name"], "small", "{shown}");
    let (told, code) = run(&folder, &["send", "--edit", "2", "--agent", "built_in", "more"]);
    assert_eq!(
        (told.as_str(), code),
        ("error: this is the same text as version 2\n", Some(4)),
        "to the same agent"
    );
}

#[test]
fn the_head_goes_elsewhere_with_a_summary_of_what_is_left() {
    let folder = Folder::new();
    folder.run("new Summed");
    folder.run("send first");
    folder.run("send second");
    assert_snapshot!(folder.story(&[
        "switch 2 --summary",
        "switch 1 --summary --set summary.agent=nobody",
        "switch 1 --summary --width 90",
        "show --last 1 --quiet",
        "undo",
        "switch 1 --summary=the_tests --json",
        "ops --quiet",
        "switch --before-first --summary",
    ]));
}

#[test]
fn the_conversation_is_rewound_and_the_words_come_back() {
    let folder = Folder::with_talk();
    assert_snapshot!(folder.story(&[
        "rewind 2 --dry-run --width 80",
        "tree --quiet",
        "rewind 2 --width 80",
        "undo",
        "rewind 1 --json",
        "undo",
        "rewind head --dry-run --json",
        "rewind 9",
        "rewind",
    ]));
}

#[test]
fn a_session_begins_before_a_prompt_and_the_words_come_back() {
    let folder = Folder::with_talk();
    assert_snapshot!(folder.story(&[
        "fork Burst 2 --new-session --before --title Elsewise --width 90",
        "tree Elsewise",
        "fork Burst 1 --new-session --before --title Anew --json",
        "show Anew",
        "fork Burst head --new-session --before",
        "fork Burst nowhere --before",
        "fork Burst --new-session --before",
        "fork Burst 2 --before",
        "fork Burst 2 --at 2",
        "fork Burst 2",
        "undo Elsewise",
    ]));
    // The same with an engine.
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    let fork = ["fork", "Burst", "--at", "2", "--new-session", "--before", "--json"];
    let (told, code) = run(&folder, &fork);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((code, &told["text"]), (Some(0), &"Write a failing test first.".into()));
    assert_eq!(chat.end(), Some(0));
}

/// One request to the engine that runs, and its answer.
fn call(folder: &Folder, request: Value) -> Value {
    let mut stream = UnixStream::connect(folder.home().join("run/engine.sock")).expect("an engine");
    writeln!(stream, "{}", json!({ "id": 1, "request": request })).expect("it listens");
    let mut line = String::new();
    BufReader::new(BoundedReader(stream)).read_line(&mut line).expect("text");
    serde_json::from_str(&line).expect("JSON")
}

fn only_session(folder: &Folder) -> String {
    let journals = folder.journals();
    assert_eq!(journals.len(), 1, "{journals:?}");
    journals[0].file_stem().expect("a name").to_string_lossy().into_owned()
}

#[test]
fn what_waits_is_listed_changed_taken_out_and_sent() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    let session = only_session(&folder);
    assert_eq!(run(&folder, &["queue"]), ("Nothing waits to be said.\n".into(), Some(0)));
    for text in ["one", "two", "three"] {
        let send = json!({ "type": "send", "session": session, "text": text });
        assert!(call(&folder, send)["response"]["queued"].is_string(), "it waits");
    }
    assert_eq!(run(&folder, &["queue", "change", "2", "two, please"]).1, Some(0));
    let (told, code) = run(&folder, &["queue", "cancel", "3"]);
    assert_eq!(code, Some(0));
    assert!(told.starts_with("It is not said.\n  in     ") && told.ends_with("  ask me\n"), "{told}");
    let (told, code) = run(&folder, &["queue", "cancel", "3"]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.starts_with("error: nothing waits as `3`\nhint: `offshoot queue`"), "{told}");
    assert_eq!(run(&folder, &["queue", "change", "1", " "]).0, "error: a prompt needs some text\n");
    assert_eq!(run(&folder, &["queue", "send"]).1, Some(4), "nothing is held");
    let (listed, _) = run(&folder, &["queue", "--json"]);
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let rows = listed["queue"].as_array().expect("a list");
    let texts: Vec<(&Value, &Value)> = rows.iter().map(|row| (&row["text"], &row["held"])).collect();
    assert_eq!(texts, [(&"one".into(), &false.into()), (&"two, please".into(), &false.into())]);
    assert_eq!(run(&folder, &["abort"]).1, Some(0));
    chat.until("Response interrupted");
    let (table, _) = run(&folder, &["queue", "--width", "80"]);
    assert!(table.contains("1  held") && table.contains("Send it: offshoot queue send"), "{table}");
    let (piped, _) = run(&folder, &["queue"]);
    assert_eq!(piped.lines().next().map(|line| line.split('\t').count()), Some(5), "{piped}");
    let (told, code) = run(&folder, &["queue", "send", &session, "1"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.starts_with("You said “one”. This is turn 2"), "{told}");
    chat.until("“two, please”. This is turn 3");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn two_turns_that_wait_are_told_apart_and_answered_each() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    chat.say("ask me");
    chat.until("3. Sideways");
    let mut send = started(&folder, &["send", "--beside", "run echo from-the-tool"]);
    let noted = until_noted(&mut send, "offshoot answer");
    assert!(noted.contains("Another answer is being written in the same folder"), "{noted}");
    let session = only_session(&folder);
    let (status, _) = run(&folder, &["status"]);
    let rows: Vec<Vec<&str>> = status.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 2, "{status}");
    assert!(rows.iter().all(|row| row.len() == 7 && row[0] == "◆ waiting" && row[2] == session), "{status}");
    assert!(
        rows.iter().all(|row| row[1].ends_with('Z') && row[3] == "#2" && row[5] == "(stream)"),
        "{status}"
    );
    let question = rows.iter().find(|row| row[4].starts_with("question: ")).expect("a question");
    let permission = rows.iter().find(|row| row[4].starts_with("permission: ")).expect("a permission");
    let (table, _) = run(&folder, &["status", "--width", "100"]);
    let ask = table.lines().last().and_then(|hint| hint.rsplit(' ').next()).expect("a hint");
    assert!(question[6].starts_with(ask) && ask.len() < question[6].len(), "{table}");

    let to = |answer: &str, ask: &str| run(&folder, &["answer", answer, "--ask", ask]);
    assert_eq!(to("choose", permission[6]).1, Some(4), "permission is asked");
    let first_line = |(told, code): (String, Option<i32>)| (told.lines().next().map(str::to_owned), code);
    assert_eq!(first_line(to("allow", permission[6])), (Some("Answered.".into()), Some(0)));
    let (told, code) = ended(send);
    assert_eq!((code, told.contains("from-the-tool")), (Some(0), true), "{told}");
    let choose = |choice: &str| run(&folder, &["answer", "choose", "--choice", choice]);
    assert_eq!(first_line(choose("2")), (Some("Answered.".into()), Some(0)));
    // The head went to what was sent beside; the chat stays with its own answer.
    chat.until("You chose Down.");
    assert_eq!(choose("down"), ("Answered already.\n".into(), Some(0)), "it counts once");
    assert_eq!(choose("1"), ("error: it has another answer already\n".into(), Some(4)));
    assert_eq!(to("deny", "nobody").1, Some(3));
    chat.say("ask me");
    chat.until("3. Sideways");
    let (status, _) = run(&folder, &["status", "--json"]);
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let ask = status["rows"][0]["ask"].as_str().expect("an ask").to_owned();
    assert_eq!(run(&folder, &["abort"]).1, Some(0));
    chat.until("Response interrupted");
    let stale = run(&folder, &["answer", "choose", "--choice", "1", "--ask", &ask]);
    assert!(
        stale.0.starts_with("error: no longer asked: the agent moved on at 2") && stale.1 == Some(4),
        "{stale:?}"
    );
    assert_eq!(chat.end(), Some(130), "its last answer was interrupted");
}

#[test]
fn a_tool_is_given_something_else_and_a_whole_folder_is_allowed() {
    let folder = Folder::new();
    new_session(&folder, "Allowed");
    let mut send = started(&folder, &["send", "run echo one"]);
    until_noted(&mut send, "offshoot answer");
    let instead = run(&folder, &["answer", "allow", "--input", r#"{"command":"echo two"}"#]);
    assert_eq!(instead.1, Some(0));
    assert!(
        instead.0.starts_with("Answered.\n  in     ") && instead.0.ends_with("  Allowed\n"),
        "{}",
        instead.0
    );
    let (told, _) = ended(send);
    assert!(told.contains("two"), "{told}");
    let mut send = started(&folder, &["send", "run echo three"]);
    until_noted(&mut send, "offshoot answer");
    let (told, code) = run(&folder, &["answer", "always", "--wider"]);
    assert_eq!(code, Some(4), "{told}");
    assert_eq!(run(&folder, &["answer", "always", "--project"]).1, Some(0));
    assert_eq!(ended(send).1, Some(0));
    let (rules, _) = run(&folder, &["permissions"]);
    assert!(rules.contains("in all sessions about"), "{rules}");
    new_session(&folder, "Another");
    let (told, code) = run(&folder, &["send", "Another", "run echo three"]);
    assert_eq!((code, told.contains("three")), (Some(0), true), "nobody is asked: {told}");
}

/// The rules of before stayed in force in an engine that ran already.
#[test]
fn rules_that_are_damaged_while_an_engine_runs_allow_nothing() {
    let folder = Folder::new();
    new_session(&folder, "Ruled");
    let is_asked = |answer: &[&str]| {
        let mut send = started(&folder, &["send", "run echo three"]);
        until_noted(&mut send, "offshoot answer");
        assert_eq!(run(&folder, &[&["answer"], answer].concat()).1, Some(0));
        assert_eq!(ended(send).1, Some(0));
    };
    is_asked(&["always", "--project"]);
    assert_eq!(run(&folder, &["send", "run echo three"]).1, Some(0), "it is not asked again");
    let engine = folder.engine();
    let list = folder.home().join("permissions.json");
    let rules = std::fs::read(&list).expect("a list");
    std::fs::write(&list, "nonsense").expect("own file");
    is_asked(&["allow"]);
    std::fs::write(&list, rules).expect("own file");
    assert_eq!(run(&folder, &["send", "run echo three"]).1, Some(0), "repaired");
    assert_eq!(folder.engine(), engine);
}

#[test]
fn hooks_have_a_say_also_where_no_engine_runs() {
    let folder = Folder::with_talk();
    program(&folder, "guard", r#"cat > told.json; printf '{"cancel":true,"reason":"not on Fridays"}'"#);
    let hook = |event: &str| {
        let program = folder.path().join("bin/guard");
        format!("hooks=[{{ events = [\"{event}\"], program = \"{}\" }}]", program.display())
    };
    let before = folder.run("tree");
    let refused = |words: &[&str], event: &str| {
        let (told, code) = run(&folder, &[words, &["--set", &hook(event)]].concat());
        assert_eq!((told.as_str(), code), ("error: not on Fridays\n", Some(4)), "{words:?}");
        let told = std::fs::read(folder.path().join("told.json")).expect("it was asked");
        std::fs::remove_file(folder.path().join("told.json")).expect("own file");
        let told: Value = serde_json::from_slice(&told).expect("JSON");
        assert_eq!(told["type"], event);
    };
    refused(&["switch", "1"], "session_before_tree");
    refused(&["switch", "--before-first"], "session_before_tree");
    refused(&["rewind", "2"], "session_before_tree");
    refused(&["fork", "1"], "session_before_tree");
    refused(&["fork", "1", "--new-session"], "session_before_branch");
    refused(&["fork", "1", "--new-session", "--before"], "session_before_branch");
    refused(&["edit", "1", "otherwise", "--new-session"], "session_before_branch");
    refused(&["retry", "1", "--new-session"], "session_before_branch");
    let into_file = ["--set", "config_change_branching=file"];
    let other_model = ["edit", "1", "otherwise", "--model", "demo/other"];
    refused(&[&other_model[..], &into_file].concat(), "session_before_branch");
    assert_eq!(folder.run("tree"), before, "nothing has moved");
    let (told, code) = run(&folder, &["switch", "1", "--set", &hook("turn_ended")]);
    assert_eq!(code, Some(0), "{told}");
    assert!(!folder.path().join("told.json").exists(), "nobody asked for it");
    // With broken settings nobody knows whether a hook guards a change.
    std::fs::write(folder.path().join("home/settings.toml"), "hooks = 3\n").expect("own file");
    for words in [&["edit", "1", "otherwise", "--new-session"][..], &["fork", "1"]] {
        let (told, code) = run(&folder, words);
        assert!(code != Some(0) && told.contains("settings.toml"), "{words:?}: {told}");
    }
}

/// R-092: a branch whose context was reconstructed says so.
#[test]
fn what_an_agent_was_not_told_is_said_wherever_the_branch_is_shown() {
    let folder = Folder::new();
    folder.run("import burst.jsonl");
    let mut command = folder.command();
    command.args(["send", "--session", "6f2a91", "--agent", "built_in", "go on"]);
    let output = command.bounded_output().expect("it runs");
    let noted = String::from_utf8(output.stderr).expect("text");
    assert!(noted.contains("so it was given this branch as text, without"), "{noted}");
    assert!(noted.contains(" tokens; files are as they are now, not as they were then"), "{noted}");
    assert_snapshot!(folder.story(&["show 6f2a91 --last 1 --quiet", "tree 6f2a91 --quiet --width 100"]));
    let shown: Value = serde_json::from_str(&folder.run("show 6f2a91 --json")).expect("JSON");
    let entries = shown["entries"].as_array().expect("entries").iter();
    let prompt = entries.rev().find(|entry| entry["role"] == "user").expect("a prompt");
    let context = &prompt["context"];
    assert_eq!(context["provenance"], "replayed_context", "{context}");
    assert!(context["missing"]["tool_results"].as_u64().expect("a count") > 0, "{context}");
}

#[test]
fn a_sub_agent_stands_below_the_turn_that_started_it() {
    let folder = Folder::new();
    folder.run("new Delegated");
    for line in ["send hello", "send delegate_look_around", "send more", "send --edit 2 otherwise"] {
        folder.run(line);
    }
    assert_snapshot!(folder.story(&[
        "tree --width 80",
        "next 2 --quiet",
        "prev 2 --quiet",
        "tree --width 80"
    ]));
}

#[test]
fn what_is_done_with_the_queue_comes_before_the_session() {
    let folder = Folder::new();
    new_session(&folder, "Order");
    let (_, refusal, code) = both(&folder, &["queue", "Order", "change", "1", "more"]);
    assert_eq!(
        (refusal.as_str(), code),
        (
            "error: more words than `[SESSION]` has places for; quotation marks keep a text together\n\
             hint: what is done comes first: `offshoot queue change [SESSION] N TEXT`, `cancel [SESSION] N`, `send \
             [SESSION] [N]`\n",
            Some(2)
        )
    );
}

/// Where two texts begin to differ, in words.
fn first_gap(told: &str, whole: &str) -> Option<(Vec<String>, Vec<String>)> {
    let (told, whole) = (told.split_whitespace(), whole.split_whitespace());
    let at = told.clone().zip(whole.clone()).position(|(told, whole)| told != whole);
    let at = at.or_else(|| (told.clone().count() != whole.clone().count()).then(|| told.clone().count()))?;
    let some = |words: std::str::SplitWhitespace| {
        words.skip(at.saturating_sub(2)).take(4).map(str::to_owned).collect()
    };
    Some((some(told), some(whole)))
}

/// A pager that waits, or a pipe that is full, holds up what is printed and nothing else.
#[test]
fn an_answer_that_is_read_late_is_whole_and_nobody_else_waits() {
    let whole: String = (1..=50_000).map(|number| format!("{number} ")).collect();
    let folder = Folder::new();
    new_session(&folder, "Late");
    // It is the engine itself.
    let mut send = alive(&folder);
    let send = send.args(["send", "count to 50000"]).stdin(Stdio::null());
    let mut send = send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut first = [0; 1];
    send.stdout.as_mut().expect("a pipe").read_exact(&mut first).expect("it begins");
    let (status, code) = run(&folder, &["status"]);
    assert!(code == Some(0) && status.contains("running"), "{status}");
    let output = send.bounded_output();
    let told = String::from_utf8(output.stdout).expect("text");
    let noted = String::from_utf8(output.stderr).expect("text");
    assert!(!noted.contains("has ended"), "{noted}");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(first_gap(&format!("1{told}"), &whole), None);
    // The engine is elsewhere, and keeps less than all of it.
    for json in [&[] as &[&str], &["--json"]] {
        let folder = Folder::new();
        let mut chat = Talk::begin(&folder, &["chat"]);
        chat.say("hello");
        chat.until("You said “hello”.");
        let mut send = alive(&folder);
        let send = send.args(["send", "count to 50000"]).args(json).stdin(Stdio::null());
        let send = send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        chat.until("> count to 50000");
        chat.until(" 50000");
        let output = send.bounded_output();
        let told = String::from_utf8(output.stdout).expect("text");
        let noted = String::from_utf8(output.stderr).expect("text");
        assert!(!noted.contains("has ended"), "{noted}");
        assert_eq!(chat.end(), Some(0));
        if json.is_empty() {
            assert_eq!(first_gap(&told, &whole), None);
            continue;
        }
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(first_gap(told["text"].as_str().expect("text"), &whole), None);
        assert_eq!(told["entries"].as_array().expect("entries").len(), 2);
    }
}
