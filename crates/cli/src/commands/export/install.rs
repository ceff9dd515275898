//! `--install`: the file goes where the program keeps its sessions. It is a new one beside the others; nothing of the
//! program's is changed.

use std::path::{Path, PathBuf};

use offshoot_session::{EntryId, SessionTree};
use offshoot_transcripts::{HandedOver, Target};

use super::native::{self, Handed};
use crate::args::{ExportArgs, Format};
use crate::failure::Failure;
use crate::here::{Here, agent_home};
use crate::output::{Readers, write_for};
use crate::words::reading as words;
use crate::{Answer, Look};

pub(super) fn run(
    args: &ExportArgs,
    tree: &SessionTree,
    tip: Option<&EntryId>,
    here: &Here,
) -> Result<Answer, Failure> {
    let target = match args.to {
        Format::Claude => Target::ClaudeCode,
        Format::Codex => Target::Codex,
        Format::Pi => Target::Pi,
        Format::Offshoot => return Err(refused("offshoot")),
        Format::Rollouts => return Err(refused("rollouts")),
        Format::Markdown => return Err(refused("markdown")),
    };
    let tip = native::end_of(tree, tip)?;
    let (project, note) = project(args, tree, here)?;
    let to = native::destination(project, here);
    let HandedOver { bytes, report } = native::handed_over(target, tree, tip, &to);
    let (variable, usual) = match target {
        Target::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude"),
        Target::Codex => ("CODEX_HOME", ".codex"),
        Target::Pi => ("PI_CODING_AGENT_DIR", ".pi/agent"),
    };
    let home = agent_home(variable, usual)
        .ok_or_else(|| Failure::failed(words::no_place_for(target.name(), variable)))?;
    let place = native::place_in(target, &home, &to);
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::failed(words::not_written(folder, &error)))?;
    }
    write_for(Readers::OnlyMe, &place, &bytes, false)?;
    let handed = Handed { target, to, report };
    let notes = note.into_iter().chain(native::notes(target, &handed.report)).collect();
    let text = match args.json.json {
        Some(_) => native::as_json(Some(&handed), &place),
        None => said(&handed, &place, &here.look),
    };
    Ok(Answer { text, notes, ..Answer::default() })
}

fn said(handed: &Handed, place: &Path, look: &Look) -> String {
    let mut text = words::exported(1, place);
    if look.for_a_person && !look.quiet {
        let quoted =
            |word: &str| if word.contains([' ', '\'', '"']) { format!("{word:?}") } else { word.to_owned() };
        let command = native::resume(handed.target, &handed.to, place);
        let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        text.push_str(&words::go_on(&quoted(&handed.to.project), &command.join(" ")));
    }
    text
}

fn refused(format: &str) -> Failure {
    Failure::usage(words::no_install(format)).hint(words::NO_INSTALL_HINT)
}

/// Programs go on in the folder that the session names, so it has to be one of this machine.
fn project(args: &ExportArgs, tree: &SessionTree, here: &Here) -> Result<(String, Option<String>), Failure> {
    let whole = |path: &Path| -> Option<PathBuf> { path.canonicalize().ok().filter(|path| path.is_dir()) };
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    if let Some(named) = &args.project {
        let found = whole(named).ok_or_else(|| Failure::not_found(words::no_folder(named)))?;
        return Ok((text(found), None));
    }
    let told = tree.header().and_then(|header| header.project.as_deref());
    match (told.and_then(|told| whole(Path::new(told))), told) {
        (Some(found), _) => Ok((text(found), None)),
        (None, told) => {
            let folder = whole(&here.folder).unwrap_or_else(|| here.folder.clone());
            let note = told.map(|told| words::other_project(told, &folder));
            Ok((text(folder), note))
        }
    }
}
