//! The tour of the README, taken: every command of it is run and has to print what stands below it.
//!
//! Commands are those of a shell, in blocks marked `console`. Ids and the clock are fixed, a minute per command.

#![expect(clippy::expect_used, reason = "a test that cannot run the program has failed")]

use std::path::Path;
use std::process::Command;

use offshoot_testkit::deadline::BoundedCommand;

const README: &str = include_str!("../../../README.md");

/// The folder that the tour tells the reader to make.
const FOLDER: &str = "importer";

/// The tour is drawn for a terminal of this width. The function also finds the program that was just built.
const SHELL: &str = "offshoot() { \"$OFFSHOOT\" --width 80 \"$@\"; }\n";

#[test]
fn the_tour_of_the_readme_can_be_taken() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(dir.path().join(FOLDER)).expect("a folder");
    let blocks = console_blocks(README);
    assert!(!blocks.is_empty(), "no tour in the README");
    let mut minutes = 0;
    let taken: Vec<String> = blocks
        .iter()
        .map(|block| {
            let commands = commands_of(block);
            let told = commands.iter().map(|command| {
                minutes += 1;
                format!("$ {command}\n{}", said(dir.path(), command, minutes))
            });
            // A blank line between commands, as a reader needs it.
            told.collect::<Vec<_>>().join("\n")
        })
        .collect();
    offshoot_testkit::stop_engine(env!("CARGO_BIN_EXE_offshoot"), &dir.path().join("home"));
    assert_eq!(blocks.join("\n"), taken.join("\n"), "the tour is now:\n{}", taken.join("\n"));
}

fn said(dir: &Path, command: &str, minutes: u32) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{SHELL}{command} 2>&1")]).current_dir(dir.join(FOLDER));
    shell.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TZ", "UTC");
    shell.env("OFFSHOOT", env!("CARGO_BIN_EXE_offshoot")).env("OFFSHOOT_HOME", dir.join("home"));
    shell.env("OFFSHOOT_FIXED_STAMPS", (minutes * 60).to_string()).env("OFFSHOOT_AUTO_SYNC", "false");
    let output = shell.bounded_output().expect("a shell");
    String::from_utf8_lossy(&output.stdout).replace(&*dir.to_string_lossy(), "/home/you")
}

/// What stands between "```console" and "```".
fn console_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while lines.any(|line| line == "```console") {
        let block = lines.by_ref().take_while(|line| *line != "```");
        blocks.push(block.map(|line| format!("{line}\n")).collect());
    }
    blocks
}

/// The commands of a block; a line that ends in a backslash goes on in the next.
fn commands_of(block: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in block.lines() {
        match (goes_on, line.strip_prefix("$ "), commands.last_mut()) {
            (true, _, Some(command)) => command.push_str(&format!("\n{line}")),
            (_, Some(command), _) => commands.push(command.to_owned()),
            _ => continue,
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

#[test]
fn commands_are_told_from_what_they_print() {
    let text = "words\n```console\n$ one \\\n  two\nprinted\n$ three\n```\n```\n$ four\n```\n";
    let blocks = console_blocks(text);
    assert_eq!(blocks, ["$ one \\\n  two\nprinted\n$ three\n"]);
    assert_eq!(commands_of(&blocks.concat()), ["one \\\n  two", "three"]);
}
