//! What `offshoot` adds to Claude Code: CPU time of the engine beside that of the Claude process, in the same turns with the
//! real program and the scripted model; and how long words take from Claude's output to the terminal, with the scripted
//! Claude, which says the time.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use offshoot_testkit::fake_claude;
use serde_json::Value;

use super::table::median;
use crate::programs::driven::{Person, claude_programs, cpu_time};

const TURNS: usize = 60;

/// Of the CPU time of the Claude process, not more than this.
const SHARE: f64 = 0.01;
/// Milliseconds from Claude's output to the terminal, not more than this.
const FIRST_WORD: f64 = 10.0;

pub(super) fn run(is_checked: bool) -> Result<ExitCode> {
    let offshoot = release()?;
    let mut is_met = true;
    for (version, claude) in claude_programs(&crate::programs::target_dir()?) {
        let (ours, theirs) = cpu_times(&Person::new(&offshoot, &claude)?)?;
        let share = ours.as_secs_f64() / theirs.as_secs_f64();
        is_met &= share <= SHARE;
        println!(
            "engine beside claude-code {version}: {:.2} % of its CPU time in {TURNS} turns ({} ms and {} ms); at most {} %",
            share * 100.0,
            ours.as_millis(),
            theirs.as_millis(),
            SHARE * 100.0
        );
    }
    let person = Person::new(&offshoot, fake_claude::program())?;
    person.send("Begin.")?;
    let times = (0..TURNS).map(|turn| first_word(&person, turn)).collect::<Result<Vec<f64>>>()?;
    let time = median(&times).context("nothing was measured")?;
    is_met &= time <= FIRST_WORD;
    println!(
        "first word from Claude's output to the terminal: {time:.2} ms in the median of {TURNS}; at most {FIRST_WORD} ms"
    );
    Ok(if is_met || !is_checked { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// CPU time of the engine and of Claude in [`TURNS`] turns of a chat. Both have started before.
fn cpu_times(person: &Person) -> Result<(Duration, Duration)> {
    let mut command = person.command(&["chat", &person.session]);
    command.env_remove("OFFSHOOT_LOG").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut chat = command.spawn()?;
    let mut input = chat.stdin.take().context("it has no input")?;
    let mut output = BufReader::new(chat.stdout.take().context("it has no output")?).lines();
    let mut say = |text: &str| -> Result<()> {
        writeln!(input, "{text}")?;
        let answer = format!("You said: {text}");
        output
            .by_ref()
            .find(|line| line.as_ref().map_or(true, |line| line.contains(&answer)))
            .context("it was not answered")??;
        Ok(())
    };
    say("Begin.")?;
    let (engine, process) = (person.engine()?, person.claude_process()?);
    let before = (used(engine)?, used(process)?);
    for turn in 0..TURNS {
        say(&format!("Turn {turn}."))?;
    }
    let times = (used(engine)? - before.0, used(process)? - before.1);
    drop(input);
    chat.wait()?;
    Ok(times)
}

/// The program that people get.
fn release() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(["build", "--profile", "dist", "-p", "offshoot"]).status();
    anyhow::ensure!(status.context("cannot run cargo")?.success(), "`offshoot` could not be built");
    Ok(crate::programs::target_dir()?.join("dist").join("offshoot"))
}

fn used(process: u32) -> Result<Duration> {
    cpu_time(process).with_context(|| format!("process {process} has gone"))
}

fn first_word(person: &Person, turn: usize) -> Result<f64> {
    let mut command =
        person.command(&["send", &person.session, "--json=lines", &format!("Turn {turn}.\n%time")]);
    let mut sending = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = sending.stdout.take().context("it has no output")?;
    let mut took = None;
    for line in BufReader::new(output).lines() {
        let (line, now) = (line?, SystemTime::now().duration_since(UNIX_EPOCH)?);
        let event: Value = serde_json::from_str(&line)?;
        if let (None, Some(said)) = (took, time_in(&event)) {
            took = Some((now.as_secs_f64() - said / 1e6) * 1e3);
        }
    }
    sending.wait()?;
    took.context("no time was said")
}

/// The first text in an event that is a time in microseconds.
fn time_in(event: &Value) -> Option<f64> {
    match event {
        Value::String(text) if text.len() == 16 => text.parse().ok(),
        Value::Object(fields) => fields.values().find_map(time_in),
        Value::Array(items) => items.iter().find_map(time_in),
        _ => None,
    }
}
