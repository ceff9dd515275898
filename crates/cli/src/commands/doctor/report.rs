//! `offshoot doctor --report`: one text that helps to find a mistake, and that can be shown to anybody.
//!
//! Nothing of any conversation is in it, and no title, label or name of a project. A part is a list of counts, sizes, ids
//! and states; where something could quote a person it is left out here, and what looks like a secret is taken out of the
//! whole at last.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use offshoot_store::catalog::{Catalog, CatalogError};
use offshoot_store::private::{open, open_foreign};

use super::Check;
use crate::commands::fsck;
use crate::failure::Failure;
use crate::here::Here;
use crate::log::{self, is_secret_name};
use crate::numbers::bytes;
use crate::output::{Readers, write_for};
use crate::words::reports as words;
use crate::{Answer, about, report};

const LOG_LINES: usize = 200;
const PANICS: usize = 3;

/// Programs that are looked for on the path. None of them is started.
const PROGRAMS: &[&str] = &["claude", "codex", "gemini", "opencode", "pi", "omp", "git", "tmux"];

/// Variables whose values are plain words and change what is printed.
const VARIABLES: &[&str] = &["TERM", "LANG", "LC_ALL", "NO_COLOR", "COLUMNS"];

struct Part {
    name: &'static str,
    /// For whoever wants to know what is handed on.
    about: &'static str,
    text: String,
}

pub(super) fn run(file: Option<&Path>, checks: &[Check], here: &Here) -> Result<Answer, Failure> {
    let parts = parts(checks, here)?;
    let text = whole(&parts);
    if file.is_some_and(|file| file.as_os_str() == "-") {
        return Ok(Answer { text, ..Answer::default() });
    }
    let path = place(file, here);
    if path.symlink_metadata().is_ok() {
        return Err(Failure::refused(crate::words::reading::is_there(&path)).hint(words::NAME_ANOTHER));
    }
    write_for(Readers::OnlyMe, &path, text.as_bytes(), false)?;
    let held: Vec<(&str, &str)> = parts.iter().map(|part| (part.name, part.about)).collect();
    let text = words::report_written(&path, &bytes(text.len() as u64), &held);
    Ok(Answer { text, ..Answer::default() })
}

/// Without a name it lies in this folder and is called by the time.
fn place(file: Option<&Path>, here: &Here) -> PathBuf {
    let by_time =
        || PathBuf::from(Timestamp::now().strftime("offshoot-report-%Y%m%dT%H%M%SZ.txt").to_string());
    here.folder.join(file.map_or_else(by_time, Path::to_owned))
}

fn whole(parts: &[Part]) -> String {
    let mut text = format!("{}\n", words::BUNDLE_HEAD);
    for Part { name, about, text: part } in parts {
        text.push_str(&format!("\n== {name}: {about}\n{part}"));
    }
    log::without_secrets(&text)
}

fn parts(checks: &[Check], here: &Here) -> Result<Vec<Part>, Failure> {
    let home = here.store()?.home().root().to_owned();
    let part = |name, about, text| Part { name, about, text };
    Ok(vec![
        part("program", "version and system", program()),
        part("checks", "what `offshoot doctor` says", checked(checks)),
        part("home", "what lies in it: files and sizes", layout(&home)),
        part("settings", "which are set; texts are left out", settings(&home)),
        part("agents", "who can answer, and which programs are installed", agents()),
        part("catalog", "how many sessions of which agents", catalog(&home)),
        part("fsck", "whether the stored sessions are whole", proof(here)),
        part("log", "its last lines", lines(&log::last_lines(&home, LOG_LINES))),
        part("panics", "the last reports of them", panics(&home)),
    ])
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn row(name: &str, value: impl std::fmt::Display) -> String {
    format!("{name:<16} {value}\n")
}

fn program() -> String {
    let mut text = row("program", about::program()) + &row("system", about::system());
    text.push_str(&row("format", offshoot_session::format::VERSION));
    text.push_str(&row("at", Timestamp::now()));
    for name in VARIABLES {
        if let Ok(value) = std::env::var(name) {
            text.push_str(&row(name, if is_plain(&value) { &value } else { words::LEFT_OUT }));
        }
    }
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("OFFSHOOT_") && is_plain(&name) {
            text.push_str(&row(&name, words::IS_SET));
        }
    }
    text
}

fn checked(checks: &[Check]) -> String {
    let told = |check: &Check| {
        let state = if check.problem.is_some() { "bad" } else { "ok" };
        // These name files of other programs, whose folders are called like projects, or quote the settings.
        let is_private = check.name == "sources" || (check.name == "archive" && check.problem.is_some());
        let text = if is_private { words::LEFT_OUT } else { &check.text };
        row(check.name, format!("{state}  {text}"))
    };
    checks.iter().map(told).collect()
}

/// Every name at the top with what lies below it.
fn layout(home: &Path) -> String {
    let mut rows: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for name in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let shown = name.file_name().to_string_lossy().into_owned();
        let shown = if is_plain(&shown) { shown } else { words::LEFT_OUT.to_owned() };
        let (files, length) = below(name.path());
        let sum = rows.entry(shown).or_default();
        *sum = (sum.0 + files, sum.1 + length);
    }
    rows.iter()
        .map(|(name, (files, length))| row(name, format!("{files} files, {}", bytes(*length))))
        .collect()
}

/// Files and bytes. Links are not followed.
fn below(path: PathBuf) -> (u64, u64) {
    let (mut files, mut length) = (0, 0);
    let mut open = vec![path];
    while let Some(path) = open.pop() {
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            open.extend(std::fs::read_dir(path).into_iter().flatten().flatten().map(|name| name.path()));
        } else {
            (files, length) = (files + 1, length + found.len());
        }
    }
    (files, length)
}

/// Switches and numbers are shown, texts are not: a command of a hook may hold a key. Inside of tables names are chosen by
/// the person.
fn settings(home: &Path) -> String {
    // It may be a link.
    let Some(text) = text_of(open_foreign(&home.join("settings.toml"))) else {
        return format!("{}\n", words::NOTHING_SET);
    };
    let Ok(table) = text.parse::<toml::Table>() else { return format!("{}\n", words::SETTINGS_UNREADABLE) };
    let told = |(name, value): (&String, &toml::Value)| {
        let shown = if is_plain(name) { name.as_str() } else { words::LEFT_OUT };
        row(shown, format!("{}  (settings.toml)", shape(name, value)))
    };
    table.iter().map(told).collect()
}

fn shape(name: &str, value: &toml::Value) -> String {
    match value {
        _ if is_secret_name(name) => words::LEFT_OUT.to_owned(),
        toml::Value::Boolean(is_on) => is_on.to_string(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Datetime(moment) => moment.to_string(),
        toml::Value::String(text) => words::a_text(text.chars().count()),
        toml::Value::Array(items) => words::a_list(items.len()),
        toml::Value::Table(table) => words::a_list(table.len()),
    }
}

fn agents() -> String {
    let ours = offshoot_engine::installed();
    let mut text: String = ours.iter().map(|agent| row(agent.name(), agent.title())).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in PROGRAMS {
        let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
        text.push_str(&row(program, if is_there { words::ON_PATH } else { words::NOT_ON_PATH }));
    }
    text
}

fn catalog(home: &Path) -> String {
    let path = home.join("catalog.db");
    if !path.exists() {
        return format!("{}\n", words::NO_CATALOG);
    }
    let counted = || -> Result<String, CatalogError> {
        let catalog = Catalog::open(&path)?;
        let synced = catalog.synced_at()?.and_then(|at| Timestamp::from_microsecond(at).ok());
        let mut text = row("synced", synced.map_or_else(|| words::UNKNOWN.to_owned(), |at| at.to_string()));
        let mut agents: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for session in catalog.sessions()? {
            let agent = session.agent.filter(|agent| is_plain(agent));
            let sum = agents.entry(agent.unwrap_or_else(|| words::UNKNOWN.to_owned())).or_default();
            *sum = (sum.0 + 1, sum.1 + session.entries);
        }
        for (agent, (sessions, entries)) in agents {
            text.push_str(&row(&agent, format!("{sessions} sessions, {entries} entries")));
        }
        let (parts, tools) = (catalog.parts_reached()?, catalog.tools_reached()?);
        text.push_str(&row("parts", format!("{} of {}", parts.done, parts.of)));
        text.push_str(&row("tools", format!("{} of {}", tools.done, tools.of)));
        Ok(text)
    };
    counted().unwrap_or_else(|error| format!("{}\n", words::catalog_unreadable(&error)))
}

/// Counts only: what is wrong with a line may quote it.
fn proof(here: &Here) -> String {
    let (report, kept) = match fsck::prove(here) {
        Ok(proof) => proof,
        Err(_) => return format!("{}\n", words::NOT_PROVED),
    };
    let mut text = row("sessions", report.sessions)
        + &row("records", report.records)
        + &row("entries", report.entries)
        + &row("blobs", report.blobs)
        + &row("bytes", report.bytes)
        + &row("torn_copies", report.torn_copies)
        + &row("problems", report.problem_count)
        + &row("kept", kept.files)
        + &row("kept problems", kept.problems.len());
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for problem in &report.problems {
        *kinds.entry(fsck::kind(&problem.what)).or_default() += 1;
    }
    for (kind, count) in kinds {
        text.push_str(&row(kind, count));
    }
    text
}

fn panics(home: &Path) -> String {
    let reports = report::reports(home);
    let read = |path: &PathBuf| text_of(open(path, OpenOptions::new().read(true)));
    let told = reports.iter().take(PANICS).filter_map(read);
    told.map(|text| format!("{text}\n")).collect()
}

fn text_of(file: io::Result<File>) -> Option<String> {
    io::read_to_string(file.ok()?).ok()
}

/// A name of ours: no sentence, and no name of a file that a person has chosen.
fn is_plain(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.len() <= 40 && name.chars().all(is_part)
}
