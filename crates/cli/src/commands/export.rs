//! `offshoot export [SESSION] --to FORMAT`: a session, or one of its branches, as a file for others, or with
//! `--install` as a session of another program.
//!
//! What the format has no place for is told beside the export, never dropped in silence.

mod install;
mod journal;
mod markdown;
mod native;
mod plain;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_session::address::Want;
use offshoot_session::file_name::file_name;
use offshoot_session::foreign::by_itself;
use offshoot_session::{Entry, EntryId, Record, SessionTree};
use offshoot_transcripts::{Loss, Lost, Target, pi, rollouts};

use crate::args::{ExportArgs, Format};
use crate::failure::Failure;
use crate::here::Here;
use crate::living::looked_at;
use crate::opened::{Opened, point};
use crate::which::which;
use crate::words::reading as words;
use crate::{Answer, imported, output};

/// What is handed out.
#[derive(Debug, Default)]
struct Export {
    files: Vec<ExportFile>,
    notes: Vec<String>,
    /// Several files that belong together have to lie in a folder.
    needs_folder: bool,
    /// What became of the branch, where it went to another program.
    report: Option<native::Handed>,
}

#[derive(Debug)]
struct ExportFile {
    /// Where it lies in a folder.
    name: PathBuf,
    bytes: Vec<u8>,
}

pub(crate) fn run(args: &ExportArgs, here: &Here) -> Result<Answer, Failure> {
    let which = which(here, args.session.named())?;
    let Opened { tree, mut notes } = looked_at(here, &which)?;
    let tree = by_itself(tree);
    let tip = match (&args.at, &args.branch) {
        (Some(at), _) => Some(point(&tree, &(&args.exact.point(at)).into(), Want::End)?),
        (None, Some(through)) => Some(tip_of(&tree, through)?),
        (None, None) => None,
    };
    if args.install {
        let mut answer = install::run(args, &tree, tip.as_ref(), here)?;
        answer.notes.splice(0..0, notes);
        return Ok(answer);
    }
    if args.json.json.is_some() && args.output.is_none() {
        return Err(Failure::usage(words::JSON_OF_EXPORT).hint(words::JSON_OF_EXPORT_HINT));
    }
    let mut export = match args.to {
        Format::Offshoot if tip.is_some() => {
            return Err(Failure::usage(words::BRANCH_OF_JOURNAL).hint(words::BRANCH_OF_JOURNAL_HINT));
        }
        Format::Offshoot => {
            let into_folder = args.output.as_deref().is_some_and(names_a_folder);
            journal::export(here, &which, &tree, into_folder)?
        }
        Format::Claude => native::export(Target::ClaudeCode, &tree, tip.as_ref(), here)?,
        Format::Codex => native::export(Target::Codex, &tree, tip.as_ref(), here)?,
        Format::Pi if tip.is_some() || is_of_another_program(&tree) => {
            native::export(Target::Pi, &tree, tip.as_ref(), here)?
        }
        Format::Pi => to_pi(&tree),
        Format::Rollouts => to_rollouts(&tree, tip.as_ref())?,
        Format::Markdown => to_markdown(&tree, tip.as_ref()),
    };
    notes.append(&mut export.notes);
    let report = export.report.take();
    let mut answer = match &args.output {
        None => printed(export)?,
        Some(path) => {
            let (answer, place) = placed(export, path, args.force)?;
            match args.json.json {
                Some(_) => Answer { text: native::as_json(report.as_ref(), &place), ..Answer::default() },
                None => answer,
            }
        }
    };
    answer.notes = notes;
    Ok(answer)
}

/// The end of the branch that runs through a point.
fn tip_of(tree: &SessionTree, text: &str) -> Result<EntryId, Failure> {
    let at = point(tree, &text.into(), Want::Branch)?;
    let head = tree.main_head().filter(|head| tree.is_ancestor(&at, head));
    let tip = head.or_else(|| tree.remembered_leaf(&at).map(|leaf| &leaf.id));
    Ok(tip.cloned().unwrap_or(at))
}

/// Whose tools have names that pi does not know: one branch of it is translated. Sessions of pi and our own go whole.
fn is_of_another_program(tree: &SessionTree) -> bool {
    let agent = tree.header().and_then(|header| header.agent.as_deref());
    matches!(agent, Some("claude-code" | "codex" | "gemini" | "opencode"))
}

/// All branches in one file.
fn to_pi(tree: &SessionTree) -> Export {
    let records: Vec<Record> = imported::as_read(tree.log().cloned().collect());
    let unchanged = imported::unchanged_pi_file(&records);
    let written = match unchanged {
        Some(bytes) => pi::Written { bytes, lost: Vec::new() },
        None => pi::write(&records),
    };
    Export {
        files: vec![ExportFile { name: format!("{}.jsonl", id_of(tree)).into(), bytes: written.bytes }],
        notes: told(&written.lost),
        ..Export::default()
    }
}

fn to_rollouts(tree: &SessionTree, tip: Option<&EntryId>) -> Result<Export, Failure> {
    let files = match tip {
        Some(tip) => vec![rollouts::write(tree, tip)],
        None => rollouts::write_all(tree),
    };
    if files.is_empty() {
        return Err(Failure::failed(words::NOTHING_TO_EXPORT));
    }
    let (mut notes, mut known) = (Vec::new(), HashSet::new());
    let mut export = Export { needs_folder: tip.is_none() && files.len() > 1, ..Export::default() };
    for file in files {
        // The other branches are the other files.
        let lost: Vec<Lost> =
            file.lost.into_iter().filter(|lost| tip.is_some() || lost.what != Loss::Branches).collect();
        for note in told(&lost) {
            if known.insert(note.clone()) {
                notes.push(note);
            }
        }
        export.files.push(ExportFile { name: file.file_name.into(), bytes: file.bytes });
    }
    export.notes = notes;
    Ok(export)
}

fn to_markdown(tree: &SessionTree, tip: Option<&EntryId>) -> Export {
    let at = tip.or(tree.main_head());
    let others = other_branches(tree, at);
    Export {
        files: vec![ExportFile {
            name: format!("{}.md", id_of(tree)).into(),
            bytes: markdown::written(tree, at).into_bytes(),
        }],
        notes: if others > 0 { vec![words::other_branches(others)] } else { Vec::new() },
        ..Export::default()
    }
}

/// How many branches are not on the way to this point.
fn other_branches(tree: &SessionTree, at: Option<&EntryId>) -> usize {
    // A leaf is on the way to a point only if it is that point.
    let is_other = |leaf: &&Arc<Entry>| at.is_none_or(|at| leaf.id != *at);
    let others = tree.leaves().into_iter().filter(is_other).count();
    // The end of the branch itself may lie below the head.
    let below = at.is_some_and(|at| tree.has_children(at));
    others.saturating_sub(usize::from(below))
}

fn id_of(tree: &SessionTree) -> String {
    let id = tree.header().map_or("session", |header| header.id.as_str());
    file_name(id).into_owned()
}

fn told(lost: &[Lost]) -> Vec<String> {
    lost.iter().map(words::lost).collect()
}

fn printed(export: Export) -> Result<Answer, Failure> {
    let count = export.files.len();
    match <[ExportFile; 1]>::try_from(export.files) {
        Ok([only]) => Ok(Answer { bytes: only.bytes, ..Answer::default() }),
        Err(_) => Err(Failure::usage(words::several_files(count)).hint(words::SEVERAL_FILES_HINT)),
    }
}

fn placed(export: Export, path: &Path, force: bool) -> Result<(Answer, PathBuf), Failure> {
    let into_folder = export.needs_folder || names_a_folder(path);
    let places: Vec<(PathBuf, &ExportFile)> = export
        .files
        .iter()
        .map(|file| (if into_folder { path.join(&file.name) } else { path.to_owned() }, file))
        .collect();
    if !force && let Some((taken, _)) = places.iter().find(|(place, _)| place.symlink_metadata().is_ok()) {
        return Err(Failure::refused(words::is_there(taken)).hint(words::IS_THERE_HINT));
    }
    for (place, file) in &places {
        if into_folder && let Some(folder) = place.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::failed(words::not_written(folder, &error)))?;
        }
        output::write(place, &file.bytes, force)?;
    }
    let place = match places.as_slice() {
        [(only, _)] => only.as_path(),
        _ => path,
    };
    let answer = Answer { text: words::exported(places.len(), place), ..Answer::default() };
    Ok((answer, place.to_path_buf()))
}

/// A folder that is there, or a name that ends as folders do.
fn names_a_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::MAIN_SEPARATOR)
}
