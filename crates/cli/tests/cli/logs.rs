//! The log of the home: what it tells, and what never gets into it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use offshoot_testkit::deadline::BoundedChild;

use crate::support::Folder;

/// Stands in everything that is said or secret in these tests.
const MARKED: &str = "zebrafinch";

fn alive(folder: &Folder, level: &str) -> Command {
    let mut command = folder.command();
    command.env_remove("OFFSHOOT_FIXED_STAMPS").args(["--log", level]);
    command.env("SOME_SERVICE_API_KEY", format!("{MARKED}-value-of-a-variable"));
    command
}

fn run(folder: &Folder, level: &str, words: &[&str], input: &str) -> String {
    use std::io::Write;
    let mut child = alive(folder, level)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that reads nothing may be gone already.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.bounded_output();
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for name in std::fs::read_dir(folder).into_iter().flatten() {
            let path = name.expect("a name in an own folder").path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files
}

fn log_of(folder: &Folder) -> String {
    let files = files_below(&folder.home().join("log"));
    files.iter().map(|file| std::fs::read_to_string(file).expect("text")).collect()
}

#[test]
fn what_is_said_and_what_is_secret_never_reach_the_log() {
    let folder = Folder::new();
    let key = format!("sk-ant-REDACTED{MARKED}");
    let title = format!("Title {MARKED}");
    run(&folder, "trace", &["new", &title], "");
    let lines = format!(
        "hello {MARKED} {key}\n\
         /label note {MARKED}\n/rename other {MARKED}\n/model demo/{MARKED}\n/mode {MARKED}\n/tools {MARKED}\n\
         write {MARKED}.txt: {key}\nread {MARKED}.txt\n\
         run echo 'Authorization: Bearer {MARKED}' $SOME_SERVICE_API_KEY\ny\n\
         run rm {MARKED}\nn not {MARKED}\nask me\n{MARKED}\nthink about {MARKED}\ndelegate {MARKED}\n\
         fail after {MARKED}\n/edit 1 {MARKED} again\n/edit {MARKED} {MARKED}\n/branch {MARKED}\n/{MARKED}\n\
         /compact {MARKED}\n/undo\n/clear\nhello {MARKED}\n"
    );
    // The engine process has no flags and no variables: it reads the person's own file.
    std::fs::write(folder.home().join("settings.toml"), "log = \"trace\"\n").expect("own file");
    let told = run(&folder, "trace", &["chat"], &lines);
    assert!(told.contains(MARKED), "{told}");
    let mut other = alive(&folder, "trace")
        .arg("chat")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    run(&folder, "trace", &["send", "--session", &title, &format!("{MARKED} {key}")], "");
    run(&folder, "trace", &["send", "--session", &title, "--edit", "1", &format!("{MARKED} once more")], "");
    run(&folder, "trace", &["show", MARKED], "");
    run(&folder, "trace", &["search", MARKED], "");
    run(&folder, "trace", &["--home", "/dev/null/nowhere", "ls", MARKED], "");
    drop(other.stdin.take());
    other.bounded_wait();
    run(&folder, "trace", &["engine", "stop"], "");
    let log = log_of(&folder);
    for told in [
        "command begins command=chat",
        "engine begins",
        "session opened",
        "turn begins",
        "end=done",
        "end=failed",
        "request answered request=Send",
        "request refused",
        "command fails command=show",
        "engine ends",
    ] {
        assert!(log.contains(told), "no `{told}` in\n{log}");
    }
    for file in
        files_below(&folder.home().join("log")).iter().chain(&files_below(&folder.home().join("reports")))
    {
        let text = std::fs::read_to_string(file).expect("text").to_lowercase();
        assert!(
            !text.contains(MARKED),
            "{}",
            text.lines().filter(|line| line.contains(MARKED)).collect::<String>()
        );
    }
}

#[test]
fn every_line_is_whole_when_many_write() {
    let folder = Folder::new();
    let titles: Vec<String> = (0..6).map(|number| format!("Session-{number}")).collect();
    for title in &titles {
        run(&folder, "off", &["new", title], "");
    }
    assert_eq!(log_of(&folder), "", "`off` writes nothing");
    let writers: Vec<Child> = titles
        .iter()
        .map(|title| {
            let mut command = alive(&folder, "trace");
            command.args(["send", "--session", title, "count to 200"]).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
        })
        .collect();
    for mut writer in writers {
        assert!(writer.bounded_wait().success());
    }
    let log = log_of(&folder);
    assert_eq!(log.matches(" turn ends ").count(), 6, "{log}");
    for line in log.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [time, level, process, _] = words.as_slice() else { panic!("not a line: {line}") };
        assert!(time.len() == 27 && time.ends_with('Z'), "{line}");
        assert!(["error", "warn", "info", "debug", "trace"].contains(level), "{line}");
        assert!(process.parse::<u32>().is_ok(), "{line}");
    }
}

#[test]
fn a_level_says_how_much_is_told() {
    let folder = Folder::new();
    assert!(run(&folder, "loud", &["ls"], "").contains("invalid value 'loud'"));
    run(&folder, "trace", &["ls"], "");
    assert!(!folder.home().exists(), "no home is made for a log");
    run(&folder, "info", &["new", "Quiet"], "");
    run(&folder, "info", &["ls"], "");
    run(&folder, "info", &["tree"], "");
    let log = log_of(&folder);
    assert!(log.lines().all(|line| line.contains(" info ") && line.contains(" sync files=")), "{log}");
    run(&folder, "info", &["send", "hello"], "");
    run(&folder, "info", &["engine", "stop"], "");
    run(&folder, "info", &["show", "nowhere"], "");
    let log = log_of(&folder);
    let names = |line: &str| {
        line.splitn(4, ' ').nth(3).unwrap_or_default().split(" session=").next().map(str::to_owned)
    };
    let told: Vec<String> = log.lines().filter(|line| !line.contains(" sync ")).filter_map(names).collect();
    let begins: Vec<&str> =
        told.iter().map(|line| line.split(" count=").next().unwrap_or_default()).collect();
    let expected = [
        "engine begins",
        "engine process begins epoch=1 version=0.1.0",
        "session opened",
        "turn begins",
        "turn ends",
        "engine process ends end=asked",
        "session closed",
        "engine ends sessions=1",
    ];
    assert_eq!(begins[..8], expected, "{log}");
    assert!(begins[8].starts_with("command fails command=show exit=3"), "{log}");
}
