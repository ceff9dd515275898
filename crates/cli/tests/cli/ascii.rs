//! Under `--ascii` nothing is drawn or said in other letters than ASCII, but for what a conversation has itself.

use std::io::Write;
use std::process::{Command, Stdio};

use offshoot_testkit::deadline::BoundedChild;

use crate::support::Folder;
use crate::talking::{Talk, alive, run};

/// Its lines with other letters.
fn others(told: &str) -> Vec<&str> {
    told.lines().filter(|line| !line.is_ascii()).collect()
}

fn printed(mut command: Command, input: &str) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // Who reads nothing may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.bounded_output();
    let text = |bytes| String::from_utf8(bytes).expect("text");
    text(output.stdout) + &text(output.stderr)
}

fn check(folder: &Folder, words: &[&str], input: &str) -> String {
    for wide in [&["--ascii"] as &[&str], &["--ascii", "--width", "50"]] {
        let mut command = alive(folder);
        command.args(words).args(wide);
        let told = printed(command, input);
        assert_eq!(others(&told), [""; 0], "{words:?}");
        if wide.len() > 1 {
            return told;
        }
    }
    String::new()
}

/// Answers of the built-in agent that have no other letters themselves.
const TALK: &str = "count to 3\n/edit 1 count to 4\n/prev\n/model demo/b\nrun echo a\\\ntouch b\ny\nask me\n2\n\
    fail\n/retry\n/tree\n/branch\n/rewind 2\n/undo\n/queue\n/queue jump\n\
    /edit 99 count\n/label good\n/rename Talk\n/attach home\n/attach burst.jsonl\n/attach\n/settings\n/model\n/help\n\
    /branch 2 --new-session\n/compact\n/tree 1 --summary\n/thinking show\n/clear\n";

#[test]
fn a_conversation_and_every_look_at_it_are_ascii() {
    let folder = Folder::new();
    let told = check(&folder, &["chat"], TALK);
    assert!(told.contains("1 2 3"), "{told}");
    for line in [
        "ls",
        "ls --all",
        "tree",
        "tree --filter all",
        "show",
        "show --context",
        "versions 1",
        "branch",
        "ops",
        "undo",
        "redo",
        "status",
        "queue",
        "queue change 1 more",
        "permissions",
        "agents",
        "cost",
        "cost --by turn",
        "search count",
        "search nowhere",
        "doctor",
        "doctor --report -",
        "fsck",
        "config show --origin",
        "config set permission_mode",
        "rewind 1 --dry-run",
        "switch 1",
        "prev 1",
        "edit 1 this",
        "retry",
        "fork 1 --new-session",
        "send",
        "send fail",
        "abort",
        "answer perhaps",
        "show nowhere",
        "rename",
        "archive 1",
        "label 1 good",
        "keep",
        "inspect nowhere",
    ] {
        check(&folder, &line.split(' ').collect::<Vec<_>>(), "");
    }
}

#[test]
fn what_waits_for_a_person_is_ascii() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat", "--ascii"]);
    chat.say("count to 3");
    chat.until("1 2 3");
    let mut send = alive(&folder);
    send.args(["send", "--ascii", "run echo a\ntouch b"]);
    let send = send.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut told = vec![chat.until("May it use shell?")];
    told.push(chat.until("a: in this session"));
    let status = check(&folder, &["status"], "");
    assert!(status.contains("permission"), "{status}");
    for words in [&["ls"] as &[&str], &["tree"], &["show"]] {
        let seen = check(&folder, words, "");
        assert!(seen.contains("! waiting"), "{words:?}: {seen}");
    }
    assert_eq!(run(&folder, &["answer", "always"]).1, Some(0));
    told.push(chat.until("Allowed always elsewhere"));
    let output = send.expect("it starts").bounded_output();
    let noted = String::from_utf8(output.stderr).expect("text");
    assert!(noted.contains(r"echo a \n touch b"), "{noted}");
    told.extend([noted, String::from_utf8(output.stdout).expect("text")]);
    let rules = check(&folder, &["permissions"], "");
    assert!(rules.contains(r"echo a \n touch b"), "{rules}");
    let mut rest = String::new();
    chat.until_end(&mut rest);
    told.push(rest);
    assert_eq!(others(&told.concat()), [""; 0]);
}

/// Help is told before anybody has read the flags.
#[test]
fn help_is_ascii() {
    let folder = Folder::new();
    let (all, _) = run(&folder, &["--help"]);
    let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let rows = all.lines().filter_map(|line| line.strip_prefix("  "));
    let commands = rows.filter_map(|row| row.split("  ").next().filter(is_name).filter(|it| !it.is_empty()));
    let commands: Vec<&str> = commands.collect();
    assert!(commands.contains(&"chat") && commands.len() > 30, "{commands:?}");
    assert_eq!(others(&all), [""; 0]);
    for command in commands.into_iter().filter(|command| *command != "help") {
        let (told, code) = run(&folder, &[command, "--help"]);
        assert_eq!((code, others(&told)), (Some(0), Vec::new()), "{command}");
    }
}
