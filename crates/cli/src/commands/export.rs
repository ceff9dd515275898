//! `offshoot export [SESSION] --to FORMAT`: a session, or one of its branches, as a file for others.
//!
//! What the format has no place for is told beside the export, never dropped in silence.

mod journal;
mod markdown;
mod plain;

use std::path::{Path, PathBuf};

use offshoot_session::{EntryId, Lineage, Record, SessionHeader, SessionTree, Stamps};
use offshoot_transcripts::{Loss, Lost, pi, rollouts};

use crate::args::{ExportArgs, Format};
use crate::failure::Failure;
use crate::here::Here;
use crate::opened::{Opened, open_this, point};
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
}

#[derive(Debug)]
struct ExportFile {
    /// Where it lies in a folder.
    name: PathBuf,
    bytes: Vec<u8>,
}

pub(crate) fn run(args: &ExportArgs, here: &Here) -> Result<Answer, Failure> {
    let which = which(here, args.session.named())?;
    let Opened { tree, mut notes } = open_this(here, &which)?;
    let tip = args.branch.as_deref().map(|text| tip_of(&tree, text)).transpose()?;
    let mut export = match args.to {
        Format::Offshoot if tip.is_some() => {
            return Err(Failure::usage(words::BRANCH_OF_JOURNAL).hint(words::BRANCH_OF_JOURNAL_HINT));
        }
        Format::Offshoot => {
            let into_folder = args.output.as_deref().is_some_and(names_a_folder);
            journal::export(here, &which, &tree, into_folder)?
        }
        Format::Pi => to_pi(here, &tree, tip.as_ref()),
        Format::Rollouts => to_rollouts(&tree, tip.as_ref())?,
        Format::Markdown => to_markdown(&tree, tip.as_ref()),
    };
    notes.append(&mut export.notes);
    let mut answer = match &args.output {
        None => printed(export)?,
        Some(path) => placed(export, path, args.force)?,
    };
    answer.notes = notes;
    Ok(answer)
}

/// The end of the branch that runs through a point.
fn tip_of(tree: &SessionTree, text: &str) -> Result<EntryId, Failure> {
    let at = point(tree, text)?;
    let head = tree.main_head().filter(|head| tree.is_ancestor(&at, head));
    let tip = head.or_else(|| tree.remembered_leaf(&at).map(|leaf| &leaf.id));
    Ok(tip.cloned().unwrap_or(at))
}

fn to_pi(here: &Here, tree: &SessionTree, tip: Option<&EntryId>) -> Export {
    let (written, id) = match tip {
        None => {
            let records: Vec<Record> = imported::as_read(tree.log().cloned().collect());
            let unchanged = imported::unchanged_pi_file(&records);
            let written = match unchanged {
                Some(bytes) => pi::Written { bytes, lost: Vec::new() },
                None => pi::write(&records),
            };
            (written, id_of(tree))
        }
        Some(tip) => {
            // A branch is a session of its own: with the old id it would take the place of the whole.
            let mut stamps = here.stamps();
            let mut header = SessionHeader::new(stamps.session_id(), stamps.now());
            if let Some(whole) = tree.header() {
                header.project = whole.project.clone();
                header.agent = whole.agent.clone();
                header.lineage = Some(Lineage {
                    parent: whole.id.to_string(),
                    at: Some(tip.clone()),
                    message_index: None,
                    reason: None,
                    metadata: None,
                });
            }
            let id = header.id.to_string();
            (pi::write_branch(tree, tip, header), id)
        }
    };
    Export {
        files: vec![ExportFile { name: format!("{id}.jsonl").into(), bytes: written.bytes }],
        notes: told(&written.lost),
        needs_folder: false,
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
    let mut notes: Vec<String> = Vec::new();
    let mut export = Export { needs_folder: tip.is_none() && files.len() > 1, ..Export::default() };
    for file in files {
        // The other branches are the other files.
        let lost: Vec<Lost> =
            file.lost.into_iter().filter(|lost| tip.is_some() || lost.what != Loss::Branches).collect();
        for note in told(&lost) {
            if !notes.contains(&note) {
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
    let others =
        tree.leaves().iter().filter(|leaf| at.is_none_or(|at| !tree.is_ancestor(&leaf.id, at))).count();
    // The end of the branch itself may lie below the head.
    let below = at.is_some_and(|at| tree.has_children(at));
    let others = others.saturating_sub(usize::from(below));
    Export {
        files: vec![ExportFile {
            name: format!("{}.md", id_of(tree)).into(),
            bytes: markdown::written(tree, at).into_bytes(),
        }],
        notes: if others > 0 { vec![words::other_branches(others)] } else { Vec::new() },
        needs_folder: false,
    }
}

fn id_of(tree: &SessionTree) -> String {
    let id = tree.header().map_or("session", |header| header.id.as_str());
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    id.chars().map(|c| if is_fit(c) { c } else { '_' }).collect()
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

fn placed(export: Export, path: &Path, force: bool) -> Result<Answer, Failure> {
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
        [(only, _)] => only,
        _ => path,
    };
    Ok(Answer { text: words::exported(places.len(), place), ..Answer::default() })
}

/// A folder that is there, or a name that ends as folders do.
fn names_a_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with(std::path::MAIN_SEPARATOR)
}
