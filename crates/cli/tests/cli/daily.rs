//! What was found in daily use (`A1` to `A20` of the review), one story each.

use offshoot_testkit::deadline::{BoundedCommand, until};
use serde_json::{Value, json};

use crate::support::Folder;
use crate::talking::Talk;

/// A line of Claude Code.
fn said(id: &str, parent: Option<&str>, role: &str, content: &Value) -> String {
    let message = json!({"id": format!("m-{id}"), "role": role, "model": "claude-x", "content": content});
    let line = json!({
        "parentUuid": parent, "isSidechain": false, "type": role, "uuid": id, "sessionId": "s1",
        "cwd": "/home/dev/gatehouse", "timestamp": "2025-03-04T14:00:00.000Z", "message": message,
    });
    format!("{line}\n")
}

/// A12: every row of a session held in an editor began with `<ide_opened_file>`, and its export with
/// `&lt;command-name>` below `# Untitled`.
#[test]
fn wrappers_of_editors_and_commands_are_not_shown() {
    let folder = Folder::new();
    let note = "<ide_opened_file>The user opened the file /w/a.rs.</ide_opened_file>";
    let command = "<command-name>/review</command-name>\n<command-message>review</command-message>\n\
                   <command-args>a.rs</command-args>";
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let session = [
        said("c1", None, "user", &json!(command)),
        said(
            "u1",
            Some("c1"),
            "user",
            &json!([{"type": "text", "text": note}, {"type": "text", "text": "Fix the bug"}]),
        ),
        said("a1", Some("u1"), "assistant", &text("Done.")),
        said("u2", Some("a1"), "user", &text("<ide_selection>line 1 of a.rs</ide_selection>\nAnd test it")),
        said("a2", Some("u2"), "assistant", &text("Tested.")),
    ];
    folder.write("s1.jsonl", session.concat().as_bytes());
    let tree = folder.run("tree s1.jsonl --width 80");
    assert!(tree.contains("#1  u1  Fix the bug") && tree.contains("#2  u2  And test it"), "{tree}");
    let page = folder.run("export s1.jsonl --to markdown");
    assert!(page.starts_with("# Fix the bug\n") && page.contains("/review a.rs\n"), "{page}");
    for shown in [&tree, &page] {
        assert!(!shown.contains("ide_") && !shown.contains("command-"), "{shown}");
    }
    folder.run("import s1.jsonl");
    let listed = folder.run("ls --all");
    assert!(listed.contains("Fix the bug") && !listed.contains("ide_"), "{listed}");
    // The model has read them, so contexts and exports to other agents have them.
    for whole in ["show s1.jsonl --context --json", "show s1.jsonl --at 1 --json", "export s1.jsonl --to pi"]
    {
        let told = folder.run(whole);
        assert!(told.contains("<ide_opened_file>The user opened"), "{whole}: {told}");
    }
}

/// A7: `doctor` called the journal of an undone session damaged, and `fsck` called it clean.
#[test]
fn doctor_finds_nothing_wrong_with_an_undone_session() {
    let folder = Folder::new();
    folder.run("new x");
    folder.run("undo");
    let told = folder.run("doctor");
    assert!(told.contains("1 session, 1 undone, none damaged") && !told.contains("exit"), "{told}");
    // One that was imported is undone as a whole, too.
    folder.run("import burst.jsonl");
    folder.run("undo");
    let told = folder.run("doctor");
    assert!(told.contains("2 sessions, 2 undone, none damaged") && !told.contains("exit"), "{told}");
    assert!(folder.run("fsck").contains("clean"));
}

/// A8: to install Codex did not help, because it cannot be run yet.
#[test]
fn no_hint_says_to_install_what_cannot_be_run() {
    let folder = Folder::new();
    let agents = folder.run("agents");
    assert_eq!(agents.matches("install with").count(), 1, "{agents}");
    assert!(agents.contains("claude-code  Claude Code  not installed\n  install with: npm"), "{agents}");
    assert!(agents.contains("Offshoot reads its sessions but cannot run it yet"), "{agents}");
    folder.run("import burst.jsonl");
    for told in [folder.run("new --agent codex"), folder.run_with("chat 6f2a", "/agent codex\n")] {
        assert!(told.contains("Offshoot cannot run ") && !told.contains("npm"), "{told}");
    }
}

/// A18: a setting that names nothing was written down, and the next command did not say which setting was wrong.
#[test]
fn settings_are_checked_when_they_are_set() {
    let folder = Folder::new();
    for (set, why, exit) in [
        ("config set agent nobody", "unknown agent `nobody`", "exit 3"),
        ("config set agent codex", "Offshoot cannot run Codex yet", "exit 1"),
        ("config set summary.agent nobody", "unknown agent `nobody`", "exit 3"),
        ("config set thinking ultra", "`thinking` is `off`, `minimal`", "exit 2"),
    ] {
        let told = folder.run(set);
        assert!(told.contains(why) && told.contains(exit), "{set}: {told}");
    }
    let mut set = folder.command();
    let set = set.args(["config", "set", "agent", "built_in"]).bounded_status();
    assert!(set.expect("the program starts").success());
    folder.run("new x");
    std::fs::write(folder.home().join("settings.toml"), "agent = \"nobody\"\n").expect("own file");
    let told = folder.run("send hello");
    assert!(told.contains("settings.toml`, line 1: `agent`") && told.contains("not `nobody`"), "{told}");
}

/// A18: an unknown agent ended with 1, with 3, or with nothing at all.
#[test]
fn an_unknown_agent_ends_every_command_with_the_same_code() {
    let folder = Folder::new();
    folder.run("new x");
    for line in [
        "new --agent nobody",
        "send --agent nobody hello",
        "send --edit 1 --agent nobody hello",
        "chat --agent nobody",
        "ls --agent nobody",
        "search --agent nobody hello",
        "config set agent nobody",
    ] {
        folder.run("send hello");
        let told = folder.run(line);
        assert!(told.contains("unknown agent `nobody`") && told.ends_with("exit 3\n"), "{line}: {told}");
    }
    let told = folder.run("new --project /nope");
    assert!(told.contains("no directory `/nope`") && told.ends_with("exit 3\n"), "{told}");
    assert_eq!(folder.journals().len(), 1);
}

/// A20: usage lines showed `--home <DIR>` as if it were required, and two commands in one.
#[test]
fn usage_lines_are_of_one_command() {
    let folder = Folder::new();
    let commands = include_str!("commands.txt").lines().filter(|line| !line.starts_with('#'));
    for (name, _) in commands.filter_map(|line| line.rsplit_once(' ')) {
        let told = folder.run(&format!("{name} --help"));
        let usage: Vec<&str> = told.lines().filter(|line| line.contains("Usage:")).collect();
        let [usage] = usage.as_slice() else { panic!("{name}: {told}") };
        assert!(usage.starts_with(&format!("Usage: offshoot {name}")), "{name}: {usage}");
        let rest = usage.strip_prefix(&format!("Usage: offshoot {name}")).unwrap_or_default();
        assert!(!usage.contains("--home") && !rest.starts_with(['|', '{']), "{name}: {usage}");
    }
    let told = folder.run("export");
    assert!(told.contains("Usage: offshoot export") && !told.contains("--home"), "{told}");
}

/// A10: a chat that had shown the last two turns printed the others after a crash, and the end of the cut turn below them.
#[test]
fn after_a_crash_only_the_turn_that_was_cut_is_shown() {
    let folder = Folder::new();
    let mut one = Talk::begin(&folder, &["chat"]);
    for line in ["alpha", "beta", "gamma"] {
        one.say(line);
        one.until(&format!("You said “{line}”."));
    }
    let mut two = Talk::begin(&folder, &["chat", "--continue"]);
    two.until("You said “gamma”.");
    one.say("ask me");
    two.until("3. Sideways");
    folder.kill_engine();
    two.until("Connected again");
    let mut told = String::new();
    two.until_end(&mut told);
    assert!(told.contains("Offshoot stopped during this answer."), "{told}");
    for earlier in ["alpha", "beta", "gamma", "> ask me"] {
        assert!(!told.contains(earlier), "{told}");
    }
}

/// A11: the second chat of a session cut the stream of the first one, and the next message went below the other branch.
#[test]
fn a_chat_keeps_its_branch_while_another_one_talks_elsewhere() {
    let folder = Folder::new();
    let mut one = Talk::begin(&folder, &["chat"]);
    one.say("hello");
    one.until("You said “hello”.");
    let mut two = Talk::begin(&folder, &["chat", "--continue"]);
    two.until("You said “hello”.");
    one.say("ask me");
    two.until("3. Sideways");
    two.say("/beside elsewhere");
    two.until("You said “elsewhere”. This is turn 2");
    one.until("“elsewhere” is answered, on another branch");
    one.say("2");
    one.until("You chose Down.");
    two.until("“ask me” is answered, on another branch");
    for _ in 0..2 {
        for (chat, said) in [(&mut two, "2. “elsewhere”"), (&mut one, "2. “ask me”")] {
            chat.say("what did I say");
            chat.until(said);
        }
    }
    // Settings too apply where the chat is.
    one.say("/model demo/large");
    one.until("demo/large");
    one.say("what did I say");
    one.until("2. “ask me”");
    // The head is where the first chat is. The second one is told what applies to its own next message.
    two.say("/model");
    two.until("Model: offshoot/built-in.");
    one.say("/model");
    one.until("Model: demo/large.");
}

/// `send … | head` leaves a complete answer: the engine finishes a turn whose reader is gone.
#[test]
fn a_closed_pipe_interrupts_no_answer() {
    let folder = Folder::new();
    folder.run("new Pipe");
    for _ in 0..20 {
        let mut piped = folder.command_in_shell(r#""$1" send 'count to 4000' | head -c 10"#);
        let output = piped.env("PATH", "/usr/bin:/bin").bounded_output().expect("a shell");
        assert_eq!(output.stdout, b"1 2 3 4 5 ");
    }
    let status = || folder.run("status");
    until("the end of every turn", || !status().contains("Pipe") && !status().contains("working"));
    let tree = folder.run("tree");
    assert!(tree.contains("20 prompts") && !tree.contains("interrupted"), "{tree}");
    let last = folder.run("show --last 1");
    assert!(last.contains("3999 4000") && !last.contains("interrupted"), "{last}");
}
