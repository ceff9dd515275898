//! Builds the program as people get it and runs the commands of the README on a small session.
//!
//! The README is the list of what is tried, so a command that stops working there fails here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::counts::Counts;
use super::process::{cargo, root, succeeded};

/// How a command line of the README begins.
const README_COMMAND: &str = "cargo run --release -- ";

/// Stands for a session file in the README.
const PLACEHOLDER: &str = "FILE";

/// Three prompts on one way, and a second version of the last.
const SESSION: &str = r#"{"type":"session","version":3,"id":"smoke","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/project"}
{"type":"message","id":"aa01","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Why is the last row lost?"}]}}
{"type":"message","id":"aa02","parentId":"aa01","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"The reader waits for a newline."}]}}
{"type":"message","id":"aa03","parentId":"aa02","timestamp":"2025-01-01T00:00:03.000Z","message":{"role":"user","content":[{"type":"text","text":"Show it with a test."}]}}
{"type":"message","id":"aa04","parentId":"aa03","timestamp":"2025-01-01T00:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done, it fails."}]}}
{"type":"message","id":"aa05","parentId":"aa04","timestamp":"2025-01-01T00:00:05.000Z","message":{"role":"user","content":[{"type":"text","text":"Append a newline before parsing."}]}}
{"type":"message","id":"aa06","parentId":"aa04","timestamp":"2025-01-01T00:00:06.000Z","message":{"role":"user","content":[{"type":"text","text":"Let the reader end a row at the end of the file."}]}}
"#;

/// A command and words that must be in its answer.
#[derive(Debug, PartialEq)]
struct Check {
    args: Vec<String>,
    says: &'static str,
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
        let passed = holds(&check)?;
        println!("   {} {}", if passed { "ok  " } else { "FAIL" }, check.args.join(" "));
        counts = counts + Counts::one(passed);
    }
    Ok(counts)
}

fn checks(readme: &str, session: &Path) -> anyhow::Result<Vec<Check>> {
    let check = |args: &[&str], says| Check { args: args.iter().map(|&arg| arg.to_owned()).collect(), says };
    let mut checks = vec![check(&["--version"], "offshoot"), check(&["--help"], "tree")];
    let session = session.to_string_lossy();
    for command in commands_in(readme) {
        let args: Vec<&str> =
            command.iter().map(|&word| if word == PLACEHOLDER { &session } else { word }).collect();
        let says = if args.first() == Some(&"tree") { "Let the reader end a row" } else { "" };
        checks.push(check(&args, says));
    }
    if checks.len() == 2 {
        bail!("no command `{README_COMMAND}…` in the README");
    }
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

fn holds(check: &Check) -> anyhow::Result<bool> {
    let mut command: Command = cargo();
    command.args(["run", "--release", "--quiet", "--"]).args(&check.args);
    let output = command.output().context("cannot start cargo")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let holds = output.status.success() && !said.trim().is_empty() && said.contains(check.says);
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
    fn a_command_gets_the_session_in_place_of_the_word() {
        let checks = checks(README, Path::new("/tmp/s.jsonl")).unwrap();
        let lines = checks.iter().map(|check| check.args.join(" ")).collect::<Vec<_>>();
        assert_eq!(lines, ["--version", "--help", "tree /tmp/s.jsonl"]);
    }

    #[test]
    fn a_readme_without_commands_is_a_mistake() {
        assert!(checks("Nothing to run.", Path::new("s")).is_err());
    }
}
