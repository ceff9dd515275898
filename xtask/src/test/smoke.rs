//! Builds the program as people get it and runs the commands of the README on a small session.
//!
//! The README is the list of what is tried: a command that stops working fails here, and so does a picture that
//! the program no longer draws.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use offshoot_testkit::PROGRAM_VARIABLE;

use super::counts::{self, Counts};
use super::process::{cargo, heard, root, succeeded};
use crate::programs::target_dir;

/// Tests that drive the program beside scripted agents and models.
const AGENT_TESTS: [&str; 2] = ["claude", "llm"];

/// How a command line of the README begins.
const README_COMMAND: &str = "cargo run --release -- ";

/// Stands for a session file in the README.
const PLACEHOLDER: &str = "FILE";

/// How the picture of the README begins; its lines follow.
const PICTURE_COMMAND: &str = "$ offshoot tree session.jsonl";

/// The README draws its picture for a terminal of this width.
const PICTURE_WIDTH: &str = "100";

/// The conversation of the README's picture.
const SESSION: &str = include_str!("smoke/session.jsonl");

/// What is said to the main command, which talks.
const TALK: &str = "hello\n/edit 1 hello you\n/tree\n";
const TALK_ANSWER: &str = "You said “hello you”.";

/// A command and what it must answer.
#[derive(Debug, PartialEq)]
struct Check {
    args: Vec<String>,
    input: &'static str,
    answer: Answer,
}

#[derive(Debug, PartialEq)]
enum Answer {
    Something,
    With(&'static str),
    Exactly(String),
}

pub(crate) fn run() -> anyhow::Result<Counts> {
    if !succeeded(cargo().args(["build", "--release"]))? {
        bail!("the release build failed");
    }
    let folder = ScratchFolder::new()?;
    let session = folder.0.join("session.jsonl");
    fs::write(&session, SESSION).with_context(|| format!("cannot write `{}`", session.display()))?;
    let readme = root().join("README.md");
    let readme =
        fs::read_to_string(&readme).with_context(|| format!("cannot read `{}`", readme.display()))?;

    let mut counts = Counts::default();
    for check in checks(&readme, &session)? {
        let passed = holds(&check, &folder.0)?;
        println!("   {} {}", if passed { "ok  " } else { "FAIL" }, check.args.join(" "));
        counts = counts + Counts::one(passed);
    }
    Ok(counts + held_by_tests()?)
}

/// The tests of conversations with agents hold the program people get too.
fn held_by_tests() -> anyhow::Result<Counts> {
    let program = target_dir()?.join("release").join("offshoot");
    let mut tests = cargo();
    tests.args(["test", "--quiet", "--package", "offshoot", "--no-fail-fast"]);
    tests.args(AGENT_TESTS.iter().flat_map(|test| ["--test", test])).env(PROGRAM_VARIABLE, program);
    let heard = heard(&mut tests)?;
    match counts::of_test_results(&heard.text) {
        Some(counts) => Ok(counts.confirmed_by(heard.success)),
        None => bail!("the tests of conversations ended without a count"),
    }
}

fn checks(readme: &str, session: &Path) -> anyhow::Result<Vec<Check>> {
    let session = session.to_string_lossy();
    let check = |args: &[&str], answer| {
        let place =
            |&arg: &&str| if arg == PLACEHOLDER { session.clone().into_owned() } else { arg.to_owned() };
        Check { args: args.iter().map(place).collect(), input: "", answer }
    };
    let picture = picture_in(readme).context("no picture in the README")?;
    let commands = commands_in(readme);
    if commands.is_empty() {
        bail!("no command `{README_COMMAND}…` in the README");
    }
    let mut checks = vec![
        check(&["--version"], Answer::With("offshoot")),
        check(&["--help"], Answer::With("tree")),
        check(&["tree", PLACEHOLDER, "--width", PICTURE_WIDTH], Answer::Exactly(picture)),
    ];
    checks.extend(commands.iter().map(|command| match command.as_slice() {
        ["chat"] => Check { input: TALK, ..check(command, Answer::With(TALK_ANSWER)) },
        command => check(command, Answer::Something),
    }));
    Ok(checks)
}

/// The words behind `cargo run --release --` in every block of code.
fn commands_in(readme: &str) -> Vec<Vec<&str>> {
    let mut in_code = false;
    let mut commands = Vec::new();
    for line in readme.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code && let Some(command) = line.strip_prefix(README_COMMAND) {
            let command = command.split_once('#').map_or(command, |(command, _)| command);
            commands.push(command.split_whitespace().collect());
        }
    }
    commands
}

/// What stands between the command of the picture and the end of its block.
fn picture_in(readme: &str) -> Option<String> {
    let mut lines = readme.lines().skip_while(|line| *line != PICTURE_COMMAND);
    lines.next()?;
    Some(lines.take_while(|line| !line.starts_with("```")).map(|line| format!("{line}\n")).collect())
}

/// In a home of its own: what people have said is no concern of a test, and a fresh machine has none.
fn holds(check: &Check, folder: &Path) -> anyhow::Result<bool> {
    let mut command: Command = cargo();
    command.args(["run", "--release", "--quiet", "--"]).args(&check.args);
    command.env("LC_ALL", "C.UTF-8"); // a fresh machine may have no locale, and the picture is not ASCII
    command.env("OFFSHOOT_AUTO_SYNC", "false"); // nobody is left behind who reads on
    command.env("OFFSHOOT_HOME", folder.join("home"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start cargo")?;
    if let Some(mut stdin) = child.stdin.take() {
        // Most commands read nothing and may be gone already.
        let _ = stdin.write_all(check.input.as_bytes());
    }
    let output = child.wait_with_output().context("cannot wait for cargo")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let answers = match &check.answer {
        Answer::Something => !said.trim().is_empty(),
        Answer::With(words) => said.contains(words),
        Answer::Exactly(text) => said == text.as_str(),
    };
    let holds = output.status.success() && answers;
    if !holds {
        println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(holds)
}

/// Removed when dropped.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("offshoot-smoke-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot create `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            println!("cannot remove `{}`: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "
```
$ offshoot tree session.jsonl
● #1  Hello
╰─● #2
```
Run `cargo run --release -- nothing` in a sentence.
```
cargo run --release -- tree FILE      # the whole tree
cargo xtask test
```
cargo run --release -- outside
";

    #[test]
    fn the_commands_of_the_readme_are_its_lines_of_code() {
        assert_eq!(commands_in(README), [["tree", "FILE"]]);
    }

    #[test]
    fn the_picture_of_the_readme_is_what_follows_its_command() {
        assert_eq!(picture_in(README).as_deref(), Some("● #1  Hello\n╰─● #2\n"));
        assert_eq!(picture_in("Words only."), None);
    }

    #[test]
    fn a_command_gets_the_session_in_place_of_the_word() {
        let checks = checks(README, Path::new("/tmp/s.jsonl")).unwrap();
        let lines = checks.iter().map(|check| check.args.join(" ")).collect::<Vec<_>>();
        assert_eq!(lines, ["--version", "--help", "tree /tmp/s.jsonl --width 100", "tree /tmp/s.jsonl"]);
    }

    #[test]
    fn the_main_command_is_spoken_to() {
        let readme = README.replace("tree FILE      # the whole tree", "chat");
        let checks = checks(&readme, Path::new("/tmp/s.jsonl")).unwrap();
        let talk = checks.last().unwrap();
        assert_eq!((talk.args.join(" ").as_str(), talk.input), ("chat", TALK));
        assert_eq!(talk.answer, Answer::With(TALK_ANSWER));
    }

    #[test]
    fn a_readme_without_commands_is_a_mistake() {
        assert!(checks("Nothing to run.", Path::new("s")).is_err());
        let only_a_picture = README.replace(README_COMMAND, "");
        assert!(checks(&only_a_picture, Path::new("s")).is_err());
    }
}
