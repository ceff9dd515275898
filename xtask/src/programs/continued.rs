//! A conversation that one program held is cut at an old message, handed over by `offshoot export --install`, and
//! continued by the resume command of another program, or of the same. What the model is then asked is the proof: all
//! that was said up to the cut, with the call of the tool and its result, and the new prompt.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::catalog::{PROGRAMS, Program};
use super::install::{Installed, installed};
use super::place::Place;
use super::story::{FIRST, NOTE, OTHER};
use super::{Check, Request, claude_code, codex, pi, tell};
use crate::test::Counts;

const SESSION: &str = "0f000000-0000-4000-8000-000000000003";
const NEW: &str = "Say it once more.";

/// How a program is driven for this.
struct Driver {
    name: &'static str,
    /// What `export --to` calls it.
    format: &'static str,
    /// Its own tool for commands.
    shell: &'static str,
    configure: fn(&Place) -> Result<()>,
    /// Says two prompts in one session and names its file.
    hold: fn(&Place) -> Result<PathBuf>,
    /// Goes on with what was handed over, as `export --json` tells it.
    resume: fn(&Place, &Value) -> Result<()>,
}

const DRIVERS: [Driver; 3] = [
    Driver {
        name: "claude-code",
        format: "claude",
        shell: "Bash",
        configure: |_| Ok(()),
        hold: |place| {
            place.finish(claude_code::command(place).args(["--session-id", SESSION, FIRST]), "")?;
            place.finish(claude_code::command(place).args(["--resume", SESSION, OTHER]), "")?;
            place.file("the session", |path| path.ends_with(format!("{SESSION}.jsonl")))
        },
        resume: |place, told| {
            let id = text(told, "id");
            place.finish(claude_code::command(place).args(["--resume", id, NEW]), "").map(drop)
        },
    },
    Driver {
        name: "codex",
        format: "codex",
        shell: "exec_command",
        configure: codex::configure,
        hold: |place| {
            let thread = codex::thread_of(&place.finish(codex::exec(place).arg(FIRST), "")?)?;
            place.finish(codex::exec(place).args(["resume", &thread, OTHER]), "")?;
            codex::rollout(place, &thread)
        },
        resume: |place, told| {
            place.finish(codex::exec(place).args(["resume", text(told, "id"), NEW]), "").map(drop)
        },
    },
    Driver {
        name: "pi",
        format: "pi",
        shell: "bash",
        configure: pi::configure,
        hold: |place| {
            place.finish(of_pi(place).args(["--session-id", SESSION, FIRST]), "")?;
            place.finish(of_pi(place).args(["--session-id", SESSION, OTHER]), "")?;
            place.file("the session", |path| path.to_string_lossy().ends_with(&format!("{SESSION}.jsonl")))
        },
        resume: |place, told| {
            place.finish(of_pi(place).args(["--session", text(told, "file"), NEW]), "").map(drop)
        },
    },
];

fn of_pi(place: &Place) -> Command {
    let mut command = place.command();
    command.env("PI_OFFLINE", "1");
    command.args(["--mode", "json", "-p", "--provider", "scripted", "--model", "scripted"]);
    command
}

/// Every pair of programs that are there; the others are skipped by name.
pub(super) fn hold_all(request: &Request, cache: &Path, offshoot: &Path) -> Counts {
    let is_wanted = |name: &str| request.only.is_empty() || request.only.iter().any(|only| only == name);
    let mut counts = Counts::default();
    let mut there: Vec<(&Program, &Driver, Installed)> = Vec::new();
    for program in PROGRAMS.iter().filter(|program| is_wanted(program.name)) {
        let Some(driver) = DRIVERS.iter().find(|driver| driver.name == program.name) else { continue };
        match installed(program, request.install, cache) {
            Ok(installed) => there.push((program, driver, installed)),
            Err(reason) => {
                println!("skip  {} {} continued: {reason:#}", program.name, program.version);
                counts = counts + Counts::SKIPPED;
            }
        }
    }
    for (source, from, held_by) in &there {
        let session = held(source, from, held_by);
        for (target, to, continued_by) in &there {
            let name =
                format!("{} {} continued by {} {}", source.name, source.version, target.name, target.version);
            let check = match &session {
                Ok(held) => go_on(held, to, target, continued_by, offshoot),
                Err(error) => Err(anyhow::anyhow!("it was not held: {error:#}")),
            };
            counts = counts
                + match check {
                    Ok(check) => tell(&name, &check),
                    Err(error) => {
                        println!("FAIL  {name}: {error:#}");
                        Counts::FAILED
                    }
                };
        }
    }
    counts
}

/// A file that a program wrote, by its name and what is in it: the program itself may go on with it, and every program
/// has one place, which is cleared away.
struct Held {
    name: OsString,
    bytes: Vec<u8>,
}

fn held(program: &Program, driver: &Driver, installed: &Installed) -> Result<Held> {
    let place = Place::new(program, installed)?;
    (driver.configure)(&place)?;
    let file = (driver.hold)(&place)?;
    let name = file.file_name().context("a file without a name")?.to_owned();
    Ok(Held { name, bytes: std::fs::read(&file)? })
}

fn go_on(
    held: &Held,
    to: &Driver,
    target: &Program,
    installed: &Installed,
    offshoot: &Path,
) -> Result<Check> {
    let place = Place::new(target, installed)?;
    (to.configure)(&place)?;
    let file = place.project.join(&held.name);
    std::fs::write(&file, &held.bytes)?;
    let told = export(offshoot, &file, to.format, &place)?;
    (to.resume)(&place, &told)?;
    if std::fs::read(&file)? != held.bytes {
        bail!("`{}` has changed", file.display());
    }
    let requests = place.server.requests();
    let asked = requests.iter().rev().find(|request| request.prompt.contains(NEW)).context("nobody asked")?;
    let expected = format!(
        "> {FIRST}\n< I will look.\n! {} cat note.txt\n= {NOTE}\n< Green apples.\n> {NEW}\n",
        to.shell
    );
    Ok(Check::new("a branch cut at its first turn", drawn(&asked.body), expected))
}

fn export(offshoot: &Path, file: &Path, format: &str, place: &Place) -> Result<Value> {
    let mut command = Command::new(offshoot);
    command.args(["export", "--at", "1", "--install", "--json", "--to", format, "--project"]);
    command.arg(&place.project).arg(file).current_dir(&place.project).stdin(Stdio::null());
    command.env_clear().env("HOME", &place.home).env("OFFSHOOT_HOME", place.home.join("offshoot"));
    command.env("OFFSHOOT_AUTO_SYNC", "false");
    let output = command.output().context("cannot run offshoot")?;
    if !output.status.success() {
        bail!("offshoot export: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("offshoot export told no JSON")
}

/// What the model is asked, whatever protocol: `>` the person, `<` the model, `!` a call, `=` its result. What programs
/// put in as tags is not said by anybody.
fn drawn(body: &Value) -> String {
    let items = body.get("messages").or_else(|| body.get("input")).and_then(Value::as_array);
    let mut lines = String::new();
    for item in items.into_iter().flatten() {
        match (text(item, "role"), text(item, "type")) {
            ("system" | "developer", _) => {}
            ("tool", _) | (_, "function_call_output" | "custom_tool_call_output") => {
                lines.push_str(&result(item))
            }
            (_, "function_call") => lines.push_str(&call(text(item, "name"), &parsed(&item["arguments"]))),
            (role, _) => {
                let sign = if role == "assistant" { '<' } else { '>' };
                for part in parts(&item["content"]) {
                    match text(&part, "type") {
                        "tool_use" => lines.push_str(&call(text(&part, "name"), &part["input"])),
                        "tool_result" => lines.push_str(&result(&part)),
                        _ if text(&part, "text").trim_start().starts_with('<') => {}
                        _ => lines.push_str(&format!("{sign} {}\n", text(&part, "text"))),
                    }
                }
                for made in item["tool_calls"].as_array().into_iter().flatten() {
                    let function = &made["function"];
                    lines.push_str(&call(text(function, "name"), &parsed(&function["arguments"])));
                }
            }
        }
    }
    lines
}

fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(words) => vec![serde_json::json!({ "type": "text", "text": words })],
        Value::Array(parts) => parts.clone(),
        _ => Vec::new(),
    }
}

fn call(name: &str, input: &Value) -> String {
    let command = input.get("command").or_else(|| input.get("cmd")).and_then(Value::as_str);
    format!("! {name} {}\n", command.unwrap_or("?"))
}

/// Programs put more around it.
fn result(item: &Value) -> String {
    let found = if item.to_string().contains(NOTE) { NOTE } else { "…" };
    format!("= {found}\n")
}

fn parsed(arguments: &Value) -> Value {
    arguments.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
