//! Which session file a start uses, with the refusals of the real program.

use std::path::Path;

use super::config::Config;
use super::ids::Ids;
use super::options::Options;
use super::transcript::{Transcript, find, project_folder};

pub(super) fn transcript(options: &Options, config: &Config, workspace: &Path) -> Result<Transcript, String> {
    let new_path = |session: &str| project_folder(&config.folder, workspace).join(format!("{session}.jsonl"));
    let is_used = |session: &str| find(&config.folder, session).is_some();
    let new_session = || {
        let generated = || Ids::new(&workspace.to_string_lossy(), config.start).uuid();
        options.session.clone().unwrap_or_else(generated)
    };
    if let Some(session) = options.session.as_deref().filter(|session| is_used(session)) {
        return Err(format!("Error: Session ID {session} is already in use."));
    }
    let Some(resumed) = options.resume.as_deref() else {
        let session = new_session();
        let path = new_path(&session);
        return Ok(Transcript::new(&session, path));
    };
    // The old version looks in the folder of the workspace only.
    let found = find(&config.folder, resumed).filter(|file| !config.is_old() || *file == new_path(resumed));
    let file = found.ok_or_else(|| format!("No conversation found with session ID: {resumed}"))?;
    let mut transcript = Transcript::read(resumed, file).map_err(|error| error.to_string())?;
    if let Some(line) = options.resume_at.as_deref().filter(|line| !transcript.go_back_to(line)) {
        return Err(format!("No message found with message.uuid of: {line}"));
    }
    if !options.fork {
        return Ok(transcript);
    }
    let session = new_session();
    let path = new_path(&session);
    Ok(transcript.fork(&session, path))
}
