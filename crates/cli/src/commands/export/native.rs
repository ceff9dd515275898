//! One branch as a session of another program: the file, and what became of the branch on the way.

use std::path::{Path, PathBuf};

use offshoot_session::{EntryId, Lineage, SessionTree, Stamps};
use offshoot_transcripts::{Destination, Fate, HandedOver, Report, Target, claude, codex, pi};
use serde_json::{Value, json};

use super::super::json::printed_object;
use super::{Export, ExportFile, other_branches, told};
use crate::failure::Failure;
use crate::here::Here;
use crate::words::reading as words;

/// A branch that was handed over.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) target: Target,
    pub(super) to: Destination,
    pub(super) report: Report,
}

/// A file to be put anywhere.
pub(super) fn export(
    target: Target,
    tree: &SessionTree,
    tip: Option<&EntryId>,
    here: &Here,
) -> Result<Export, Failure> {
    let is_chosen = tip.is_some();
    let tip = end_of(tree, tip)?;
    // whoever names no branch may think that all of them go
    let others = if is_chosen { 0 } else { other_branches(tree, Some(tip)) };
    let project = tree.header().and_then(|header| header.project.clone());
    let mut to = destination(project.unwrap_or_else(|| here.folder.to_string_lossy().into_owned()), here);
    to.lineage = tree.header().map(|whole| Lineage {
        parent: whole.id.to_string(),
        at: Some(tip.clone()),
        message_index: None,
        reason: None,
        metadata: None,
    });
    let HandedOver { bytes, report } = handed_over(target, tree, tip, &to);
    let mut notes = notes(target, &report);
    notes.extend((others > 0).then(|| words::other_branches(others)));
    let files = vec![ExportFile { name: format!("{}.jsonl", to.id).into(), bytes }];
    Ok(Export { files, notes, needs_folder: false, report: Some(Handed { target, to, report }) })
}

/// Where the branch ends that is meant when none is named.
pub(super) fn end_of<'t>(tree: &'t SessionTree, tip: Option<&'t EntryId>) -> Result<&'t EntryId, Failure> {
    tip.or(tree.main_head()).ok_or_else(|| Failure::failed(words::NOTHING_TO_EXPORT))
}

/// A branch is a session of its own: with the old id it would take the place of the whole.
pub(super) fn destination(project: String, here: &Here) -> Destination {
    let mut stamps = here.stamps();
    let id = stamps.session_id();
    let now = stamps.now();
    // Programs write milliseconds, into names of files too.
    let opened_at = jiff::Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now);
    Destination { id, project, opened_at, lineage: None }
}

pub(super) fn handed_over(target: Target, tree: &SessionTree, tip: &EntryId, to: &Destination) -> HandedOver {
    match target {
        Target::ClaudeCode => claude::write_branch(tree, tip, to),
        Target::Codex => codex::write_branch(tree, tip, to),
        Target::Pi => pi::hand_over(tree, tip, to),
    }
}

/// What a person should know.
pub(super) fn notes(target: Target, report: &Report) -> Vec<String> {
    let calls = |calls: u64| usize::try_from(calls).unwrap_or(usize::MAX);
    let tools = report.tools.iter().filter_map(|tool| match &tool.fate {
        Fate::Kept => None,
        Fate::Translated(into) => Some(words::tool_translated(calls(tool.calls), &tool.tool, into)),
        Fate::Summarised => Some(words::tool_summarised(calls(tool.calls), &tool.tool, target.name())),
    });
    tools.chain(told(&report.left_out)).collect()
}

pub(super) fn as_json(handed: Option<&Handed>, place: &Path) -> String {
    let Some(handed) = handed else { return printed_object(json!({ "file": place })) };
    let Handed { target, to, report } = handed;
    let tools: Vec<Value> = report
        .tools
        .iter()
        .map(|tool| {
            let (fate, into) = match &tool.fate {
                Fate::Kept => ("kept", None),
                Fate::Translated(into) => ("translated", Some(into)),
                Fate::Summarised => ("summarised", None),
            };
            json!({ "tool": tool.tool, "fate": fate, "into": into, "calls": tool.calls })
        })
        .collect();
    let left_out: Vec<Value> = report
        .left_out
        .iter()
        .map(|lost| {
            let example = lost.example.as_ref().map(EntryId::as_str);
            json!({ "what": lost.what.words(), "count": lost.count, "example": example })
        })
        .collect();
    printed_object(json!({
        "agent": target.name(),
        "id": to.id.as_str(),
        "file": place,
        "project": to.project,
        "resume": resume(*target, to, place),
        "prompts": report.prompts,
        "tools": tools,
        "left_out": left_out,
    }))
}

/// The words that make the program go on.
pub(super) fn resume(target: Target, to: &Destination, place: &Path) -> Vec<String> {
    let id = to.id.to_string();
    match target {
        Target::ClaudeCode => vec!["claude".to_owned(), "--resume".to_owned(), id],
        Target::Codex => vec!["codex".to_owned(), "resume".to_owned(), id],
        Target::Pi => vec!["pi".to_owned(), "--session".to_owned(), place.to_string_lossy().into_owned()],
    }
}

/// Where in its home the program looks for the session.
pub(super) fn place_in(target: Target, home: &Path, to: &Destination) -> PathBuf {
    match target {
        Target::ClaudeCode => {
            home.join("projects").join(claude::project_folder(&to.project)).join(format!("{}.jsonl", to.id))
        }
        Target::Codex => {
            let local = to.opened_at.to_zoned(jiff::tz::TimeZone::system()).datetime();
            home.join("sessions").join(codex::file_name(to, local))
        }
        Target::Pi => home.join("sessions").join(pi::file_name(to)),
    }
}
