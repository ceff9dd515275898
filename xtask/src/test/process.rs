//! Starts other programs, always at the root of the repository and with nothing to read.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::tier::Step;

/// What a program said while it was shown to the person.
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) success: bool,
}

pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The cargo that runs us, so that all tiers use one toolchain.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

pub(crate) fn has_cargo_command(name: &str) -> bool {
    let mut ask = cargo();
    ask.args([name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}

/// Runs a step with its output shown as it comes.
pub(crate) fn succeeds(step: &Step) -> anyhow::Result<bool> {
    succeeded(&mut command(step))
}

pub(crate) fn succeeded(command: &mut Command) -> anyhow::Result<bool> {
    announce(command);
    let status = command.status().with_context(|| format!("cannot start {}", line_of(command)))?;
    Ok(status.success())
}

/// Runs a step with its output shown as it comes and also kept.
pub(crate) fn listen(step: &Step) -> anyhow::Result<Heard> {
    heard(&mut command(step))
}

pub(crate) fn heard(command: &mut Command) -> anyhow::Result<Heard> {
    announce(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", line_of(command)))?;
    let mut text = String::new();
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = BufReader::new(stdout);
        let mut bytes = Vec::new();
        while stdout.read_until(b'\n', &mut bytes)? > 0 {
            let line = String::from_utf8_lossy(&bytes);
            print!("{line}");
            text.push_str(&line);
            bytes.clear();
        }
    }
    Ok(Heard { text, success: child.wait()?.success() })
}

fn command(step: &Step) -> Command {
    let mut command = cargo();
    command.args(step.args).envs(step.env.iter().copied());
    command
}

fn announce(command: &Command) {
    println!("   {}", line_of(command));
}

/// As a person would type it.
fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
