//! Settings: who says what, what counts, and what is said about mistakes.

use std::process::{Command, Stdio};

use insta::assert_snapshot;
use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, BoundedReader};
use serde_json::Value;

use crate::support::Folder;

/// With ids that are not the same in each process.
pub(crate) fn alive(folder: &Folder) -> Command {
    let mut command = folder.command();
    command.env_remove("OFFSHOOT_FIXED_STAMPS");
    command
}

pub(crate) fn run(folder: &Folder, words: &[&str]) -> (String, Option<i32>) {
    told(folder, alive(folder).args(words))
}

/// What is printed, errors below it.
fn told(folder: &Folder, command: &mut Command) -> (String, Option<i32>) {
    let output = command.stdin(Stdio::null()).bounded_output().expect("the program runs");
    let told =
        String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text");
    (told.replace(&folder.path().display().to_string(), "DIR"), output.status.code())
}

/// Lines as a person sees them, each above its answer.
fn story(folder: &Folder, lines: &[&str]) -> String {
    let one = |line: &&str| {
        let (told, code) = told(folder, folder.command().args(line.split(' ')));
        let code = code.filter(|code| *code != 0).map(|code| format!("exit {code}\n")).unwrap_or_default();
        format!("$ offshoot {line}\n{told}{code}")
    };
    lines.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn with_files(user: &str, project: &str) -> Folder {
    let folder = Folder::new();
    for (name, text) in [("home", user), (".offshoot", project)] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
        folder.write(&format!("{name}/settings.toml"), text.as_bytes());
    }
    folder
}

#[test]
fn every_value_is_told_with_where_it_comes_from() {
    let user = "# mine\nagent = \"built_in\"\nthinking = \"low\"\nidle_close = \"1h\"\n\n[compaction]\nenabled = false\n";
    let project = "thinking = \"medium\"\nmodel = \"demo/b\"\nkeep = false\ncolour = \"never\"\n";
    let folder = with_files(user, project);
    let mut command = alive(&folder);
    command.args([
        "config",
        "show",
        "--origin",
        "--set",
        "interrupt_wait=1s",
        "--set",
        "tools=read,write",
        "--no-color",
    ]);
    command.env("OFFSHOOT_THINKING", "high").env("OFFSHOOT_AGNET", "x").env("OFFSHOOT_SUMMARY_BUDGET", "5");
    assert_snapshot!(told(&folder, &mut command).0);
}

#[test]
fn a_person_sets_and_takes_back() {
    let folder = Folder::new();
    assert_snapshot!(story(
        &folder,
        &[
            "config path",
            "config path --project",
            "config show thinking",
            "config set thinking high",
            "config show thinking --origin",
            "config set thinking low --project",
            "config show thinking --origin",
            "config set thinking medium",
            "config unset thinking --project",
            "config unset thinking --project",
            "config show thinking",
            "config set compaction.reserve_tokens 5",
            "config set keep off",
            "keep",
            "keep --on",
            "config show keep --origin",
            "config show keep --json",
            "config set hooks []",
            "config unset hooks",
        ]
    ));
    let file = std::fs::read_to_string(folder.home().join("settings.toml")).expect("a file");
    assert_eq!(file, "thinking = \"medium\"\nkeep = true\n\n[compaction]\nreserve_tokens = 5\n");
}

#[test]
fn mistakes_are_told_with_their_place_and_what_was_meant() {
    let user = "keep = 1\nidle_close = \"soon\"\nagnet = \"x\"\n[[hooks]]\nevents = [\"turn_ended\"]\n[telemetry]\non = true\n";
    let folder = with_files(user, "agent = 3\n");
    let (new, code) = told(&folder, folder.command().args(["new", "Mistakes"]));
    assert_eq!(code, Some(0), "who needs no settings is not disturbed: {new}");
    assert_snapshot!(story(
        &folder,
        &[
            "config show",
            "config show keep",
            "config show agnet",
            "config set agnet x",
            "config set keep perhaps",
            "config set permission_mode all --project",
            "keep",
            "send hello",
            "send hello --set idle_close=soon",
            "send hello --set agnet=x",
            "send hello --set agent",
        ]
    ));
    folder.write("home/settings.toml", b"agent = \"built_in\"\nkeep = \n");
    folder.write(".offshoot/settings.toml", b"");
    assert_snapshot!(
        "broken",
        story(&folder, &["config show keep", "keep --on", "config unset keep", "send hello", "tree"])
    );
}

#[test]
fn a_variable_or_flag_for_the_engine_process_is_reported_and_ignored() {
    let folder = with_files("engine_idle = \"30m\"\n", "engine_idle = \"3s\"\n");
    assert_eq!(run(&folder, &["new", "Idle"]).1, Some(0));
    let ignored =
        "`engine_idle` is ignored; one engine serves all commands, so only your own settings file sets it";
    for words in [["send", "hello"].as_slice(), &["config", "show"], &["config", "show", "engine_idle"]] {
        let mut command = alive(&folder);
        command.env("OFFSHOOT_ENGINE_IDLE", "1s").args(["--set", "engine_idle=2s"]).args(words);
        let (told, code) = told(&folder, &mut command);
        assert_eq!(code, Some(0), "{told}");
        for place in ["OFFSHOOT_ENGINE_IDLE: ", "--set: ", "settings.toml`, line 1: "] {
            assert!(told.contains(&format!("{place}{ignored}")), "{words:?}: {told}");
        }
        assert!(words == ["send", "hello"] || told.contains("30m"), "{told}");
    }
    let refused = run(&folder, &["config", "set", "engine_idle", "1s", "--project"]);
    assert_eq!(refused.1, Some(4), "{}", refused.0);
}

#[test]
fn a_file_is_changed_where_a_link_leads_and_belongs_to_the_person() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    std::fs::create_dir(folder.home()).expect("a folder");
    folder.write("dotfile", b"# kept elsewhere\n");
    std::os::unix::fs::symlink("../dotfile", folder.home().join("settings.toml")).expect("a link");
    assert_eq!(run(&folder, &["config", "set", "color", "never"]).1, Some(0));
    let text = std::fs::read_to_string(folder.path().join("dotfile")).expect("a file");
    assert_eq!(text, "# kept elsewhere\ncolor = \"never\"\n");
    std::fs::remove_file(folder.home().join("settings.toml")).expect("own file");
    assert_eq!(run(&folder, &["config", "set", "color", "never"]).1, Some(0));
    let made = std::fs::metadata(folder.home().join("settings.toml")).expect("a file");
    assert_eq!(made.permissions().mode() & 0o777, 0o600);
}

#[test]
fn colour_is_as_it_is_set() {
    let folder = Folder::new();
    let is_coloured = |words: &[&str]| run(&folder, words).0.contains('\u{1b}');
    assert!(!is_coloured(&["tree", "burst.jsonl"]), "this is no terminal");
    assert!(is_coloured(&["tree", "burst.jsonl", "--set", "color=always"]));
    assert_eq!(run(&folder, &["config", "set", "color", "always"]).1, Some(0));
    assert!(is_coloured(&["tree", "burst.jsonl"]));
    assert!(!is_coloured(&["tree", "burst.jsonl", "--no-color"]));
    let (told, _) = told(&folder, alive(&folder).args(["tree", "burst.jsonl"]).env("NO_COLOR", "1"));
    assert!(!told.contains('\u{1b}'), "{told}");
}

#[test]
fn a_conversation_begins_as_it_is_set_and_goes_on_so() {
    let folder = with_files("thinking = \"high\"\npermission_mode = \"careful\"\n", "model = \"a/first\"\n");
    assert_eq!(run(&folder, &["new", "Usual"]).1, Some(0));
    assert_eq!(run(&folder, &["send", "hello"]).1, Some(0));
    folder.write(".offshoot/settings.toml", b"model = \"a/second\"\n");
    assert_eq!(run(&folder, &["send", "more"]).1, Some(0));
    let (shown, _) = run(&folder, &["show", "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let entries = shown["entries"].as_array().expect("entries").iter();
    let told: Vec<String> = entries
        .map(|entry| match entry["role"].as_str() {
            Some("setting") => format!("{} {}", entry["setting"], entry["value"]),
            _ => entry["role"].to_string(),
        })
        .collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn a_change_goes_where_the_settings_or_the_person_say() {
    let talk = |folder: &Folder, lines: &str| {
        let mut command = alive(folder);
        command.args(["chat"]);
        let told = folder.told(command, "--quiet", lines);
        (told, folder.journals().len())
    };
    let entry = Folder::new();
    let (told, sessions) = talk(&entry, "hello\n/model demo/b\nmore\n");
    assert!(told.contains("Model changes here: offshoot/built-in → demo/b.\n") && sessions == 1, "{told}");
    let file = with_files("config_change_branching = \"file\"\n", "");
    let (told, sessions) = talk(&file, "hello\n/model demo/b\nmore\n");
    assert!(told.contains("goes on in a session of its own") && sessions == 2, "{told}");
    let ask = with_files("config_change_branching = \"ask\"\n", "");
    let (told, sessions) =
        talk(&ask, "hello\n/model demo/b\nno\n/model demo/b\ne\nmore\n/model demo/d\nf\nand on\n");
    let parts = ["e: into this session", "Nothing was changed.", "→ demo/b.\n", "a session of its own"];
    let mut rest = told.as_str();
    for part in parts {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("`{part}` is not told in: {told}")).1;
    }
    assert_eq!(sessions, 2, "{told}");
}

#[test]
fn a_running_chat_hears_of_a_change_and_of_a_slip() {
    let folder = with_files("thinking = \"low\"\n", "");
    let file = folder.home().join("settings.toml");
    let break_it = format!("run printf 'thinking = \\n' > '{}'", file.display());
    let lines = format!("{break_it}\ny\nhello\nhello again\n");
    let mut command = alive(&folder);
    command.arg("chat");
    let told = folder.told(command, "--quiet", &lines);
    let slip = "DIR/home/settings.toml`, line 1: ";
    assert_eq!(told.matches(slip).count(), 1, "{told}");
    assert!(
        told.contains("the settings stay as they were") && told.contains("You said “hello again”."),
        "{told}"
    );
}

#[test]
fn what_is_set_for_one_command_counts_in_an_engine_that_runs_already() {
    let folder = Folder::new();
    let mut command = alive(&folder);
    command.arg("chat").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut chat = command.spawn().expect("the program starts");
    let mut stdin = chat.stdin.take().expect("a pipe");
    let mut stdout = std::io::BufReader::new(BoundedReader(chat.stdout.take().expect("a pipe")));
    std::io::Write::write_all(&mut stdin, b"hello\n").expect("the program listens");
    let mut line = String::new();
    while !line.contains("You said “hello”") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut stdout, &mut line).expect("text") > 0, "it ended too early");
    }
    let (told, code) = run(&folder, &["send", "more", "--set", "thinking=high", "--set", "color=never"]);
    assert_eq!(code, Some(0), "{told}");
    let thinking = r#""setting":"thinking","value":"high""#;
    let (shown, _) = run(&folder, &["show", "--json=lines"]);
    assert!(shown.contains(thinking), "{shown}");
    drop(stdin);
    assert!(chat.bounded_wait().success());
}

#[test]
fn the_project_that_counts_is_the_one_a_session_is_about() {
    let folder = with_files("", "thinking = \"high\"\n");
    assert_eq!(run(&folder, &["new", "About this"]).1, Some(0));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let send =
        || told(&folder, alive(&folder).current_dir(elsewhere.path()).args(["send", "About this", "hello"]));
    assert_eq!(send().1, Some(0));
    let (shown, _) = run(&folder, &["show", "--json=lines"]);
    assert!(shown.contains(r#""setting":"thinking","value":"high""#), "{shown}");
    folder.write(".offshoot/settings.toml", b"thinking = 3\n");
    let (refused, code) = send();
    let expected = "error: `DIR/.offshoot/settings.toml`, line 1: `thinking` is `off`, `minimal`, `low`, `medium`, `high` or `xhigh`, not `3`\n";
    assert_eq!((refused.as_str(), code), (expected, Some(2)));
    folder.write(".offshoot/settings.toml", " ".repeat(1024 * 1024 + 1).as_bytes());
    assert_eq!(send().1, Some(2), "a file that has no end is not read to its end");
}
