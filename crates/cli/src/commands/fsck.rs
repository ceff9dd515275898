//! `offshoot fsck`: proof that the stored sessions are whole. It only reads.

use std::io;

use offshoot_session::SessionId;
use offshoot_store::archive::{Depth, Proof};
use offshoot_store::fsck::{Problem, Wrong};
use offshoot_store::{Finding, Report, SessionStore};
use serde_json::{Value, json};

use super::json::printed;
use crate::args::FsckArgs;
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::kept_copies::damaged_copies;
use crate::look::{Ink, Look};
use crate::progress::{Progress, of_bytes};
use crate::stored::list_failed;
use crate::words::{MEGABYTES_READ, reading as words};
use crate::{Answer, text};

pub(crate) fn run(args: &FsckArgs, here: &Here) -> Result<Answer, Failure> {
    let (report, kept) = prove(here)?;
    let is_clean = report.is_clean() && kept.problems.is_empty();
    let text = match args.json.json {
        Some(shape) => printed(as_json(&report, &kept), "problems", shape),
        None => told(&report, &here.look) + &told_of_kept(&kept, &here.look),
    };
    Ok(Answer { text, ends: (!is_clean).then_some(Exit::Failed), ..Answer::default() })
}

/// Reads all that is stored and all that is kept.
pub(super) fn prove(here: &Here) -> Result<(Report, Proof), Failure> {
    let report = {
        let mut progress = Progress::of("files", &here.look);
        // One file may be most of the store: its bytes are told too.
        let store = here.store()?;
        let ids = store.list().map_err(|error| list_failed(&error))?;
        let length =
            |id: &SessionId| std::fs::metadata(store.home().journal(id)).map_or(0, |file| file.len());
        let watch = of_bytes(MEGABYTES_READ, ids.iter().map(length).sum(), &here.look);
        offshoot_store::fsck(&store.watched_by(watch), &mut |at| progress.at(at.done, at.of))
            .map_err(|error| list_failed(&error))?
    };
    let kept = {
        let mut progress = Progress::of("kept files", &here.look);
        let archive = here.archive();
        let mut kept =
            archive.map(|archive| archive.prove(&mut |done, of| progress.at(done, of))).unwrap_or_default();
        // A copy that is missing or empty can only be known from what the catalog has recorded.
        for copy in damaged_copies(here, Depth::Ends) {
            if !kept.problems.iter().any(|(path, _)| *path == copy.path) {
                kept.problems.push((copy.path, io::Error::other(copy.reason)));
            }
        }
        if let Some(archive) = here.archive() {
            let (in_trash, problems) = archive.prove_trash();
            kept.in_trash = in_trash;
            kept.problems.extend(problems);
        }
        kept
    };
    Ok((report, kept))
}

/// One line per finding below the file it was found in.
fn told(report: &Report, look: &Look) -> String {
    let mut told = String::new();
    let mut file = None;
    for problem in &report.problems {
        if file != Some(&problem.path) {
            let name = text::harmless_line(&problem.path.display().to_string(), look.ascii);
            told.push_str(&format!("{}\n", look.paint(Ink::Bold, &name)));
            file = Some(&problem.path);
        }
        told.push_str(&format!("  {}\n", text::harmless_line(&finding(problem), look.ascii)));
    }
    let count = usize::try_from(report.problem_count).unwrap_or(usize::MAX);
    if let Some(more) = count.checked_sub(report.problems.len()).filter(|more| *more > 0) {
        told.push_str(&words::more_findings(more));
    }
    told.push_str(&words::proof(report.sessions, report.records, report.blobs, count, report.came_odd));
    told
}

/// Nothing is said where nothing is kept.
fn told_of_kept(kept: &Proof, look: &Look) -> String {
    let mut told = String::new();
    for (path, error) in &kept.problems {
        let name = text::harmless_line(&path.display().to_string(), look.ascii);
        told.push_str(&format!("{}\n  {}\n", look.paint(Ink::Bold, &name), words::not_whole(error)));
    }
    if kept.files > 0 || !kept.problems.is_empty() {
        told.push_str(&words::proof_of_kept(kept.files, kept.problems.len()));
    }
    told
}

/// What is wrong, without the file.
fn finding(problem: &Problem) -> String {
    let all = problem.to_string();
    let file = format!("`{}`: ", problem.path.display());
    all.strip_prefix(&file).unwrap_or(&all).to_owned()
}

fn as_json(report: &Report, kept: &Proof) -> Value {
    let mut problems: Vec<Value> = report
        .problems
        .iter()
        .map(|problem| {
            json!({
                "path": problem.path.to_string_lossy(),
                "kind": kind(&problem.what),
                "line": line(&problem.what),
                "text": finding(problem),
            })
        })
        .collect();
    problems.extend(kept.problems.iter().map(|(path, error)| {
        json!({ "path": path.to_string_lossy(), "kind": "damaged_archive", "line": null, "text": words::not_whole(error) })
    }));
    json!({
        "clean": problems.is_empty(),
        "sessions": report.sessions,
        "records": report.records,
        "entries": report.entries,
        "blobs": report.blobs,
        "bytes": report.bytes,
        "unborn": report.unborn,
        "torn_copies": report.torn_copies,
        "leftovers": report.leftovers,
        "came_odd": report.came_odd,
        "problem_count": report.problem_count + kept.problems.len() as u64,
        "kept": kept.files,
        "kept_bytes": kept.bytes,
        "in_trash": kept.in_trash,
        "unfinished": kept.unfinished,
        "problems": problems,
    })
}

pub(super) fn kind(what: &Wrong) -> &'static str {
    match what {
        Wrong::Found(Finding::Flaw(_)) => "damage",
        Wrong::Found(Finding::TornTail(_)) => "torn_tail",
        Wrong::Found(Finding::Odd(_) | Finding::Theirs(_)) => "oddity",
        Wrong::Found(Finding::Source(_)) => "foreign_source",
        Wrong::OtherSession(_) => "other_session",
        Wrong::Newer(_) => "newer_format",
        Wrong::DamagedBlob => "damaged_blob",
        Wrong::Unreadable(_) => "unreadable",
    }
}

fn line(what: &Wrong) -> Option<u64> {
    match what {
        Wrong::Found(Finding::Flaw(found)) => Some(found.line),
        _ => None,
    }
}
