//! `offshoot import FILE…`: session files of other programs become stored sessions. Ids stay, and so does every line
//! of the file, so that it can be written back byte for byte.

mod flat;

use std::path::{Path, PathBuf};

use offshoot_api::Request;
use offshoot_api::request::History;
use offshoot_session::file_name::{file_name, is_file_name};
use offshoot_session::foreign::by_itself;
use offshoot_session::plan::born;
use offshoot_session::{Change, Record, SessionHeader, SessionId, SessionTree, Stamps};
use offshoot_store::SessionStore;
use serde_json::{Value, json};

use super::json::printed;
use super::title_of;
use crate::args::ImportArgs;
use crate::change::change;
use crate::database::{self, InDatabase};
use crate::failure::{Exit, Failure};
use crate::foreign::journal_of;
use crate::here::Here;
use crate::last_used;
use crate::numbers::counted;
use crate::progress::Progress;
use crate::session_file::{self, SessionFile};
use crate::{Answer, imported, stored, which, words};

pub(crate) fn run(args: &ImportArgs, here: &Here) -> Result<Answer, Failure> {
    let mut answer = Answer::default();
    let mut sessions = Vec::new();
    let mut progress = Progress::of("files", &here.look);
    let mut files = Vec::new();
    for path in &args.files {
        let found = match args.flat {
            true => Ok(vec![path.clone()]),
            false => every_session_in(path),
        };
        match found {
            Ok(paths) => files.extend(paths),
            Err(failure) => answer.failures.push(failure),
        }
    }
    for (at, path) in files.iter().enumerate() {
        progress.at(at, files.len());
        let imported = match args.flat {
            true => import_flat(path, args, here),
            false => import(path, args.again, here),
        };
        match imported {
            Ok(session) => sessions.push(session),
            Err(failure) => answer.failures.push(failure),
        }
    }
    drop(progress);
    if let Some(last) = sessions.last() {
        last_used::record_stored(here, &last.id);
    }
    for session in &sessions {
        answer.notes.extend(session.notes());
    }
    answer.text = match args.json.json {
        _ if sessions.is_empty() => String::new(),
        Some(shape) => {
            let list: Vec<Value> = sessions.iter().map(Imported::as_json).collect();
            printed(json!({"sessions": list}), "sessions", shape)
        }
        None => sessions.iter().map(|session| session.line(here)).collect(),
    };
    Ok(answer)
}

/// A database is taken over as all of its sessions, oldest first; any other file is one.
fn every_session_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    match database::named(path) {
        Some(InDatabase { path, session: None }) => {
            let sessions = database::listed(&path)?;
            if sessions.is_empty() {
                return Err(Failure::failed(words::none_in_database(&path)));
            }
            Ok(sessions.into_iter().rev().map(|session| path.join(file_name(&session.id).as_ref())).collect())
        }
        Some(InDatabase { session: Some(_), .. }) | None => Ok(vec![path.to_owned()]),
    }
}

struct Imported {
    id: SessionId,
    file: String,
    /// The id in the file, where it could not be kept.
    other_id: Option<(SessionId, WhyOther)>,
    dialect: String,
    oddities: usize,
    /// Messages of a flat list before its first prompt.
    left_out: usize,
    tree: SessionTree,
}

#[derive(Clone, Copy)]
enum WhyOther {
    Again,
    NoFileName,
}

fn import(path: &Path, again: bool, here: &Here) -> Result<Imported, Failure> {
    let SessionFile { dialect, oddities, tree, .. } = session_file::open(here, path)?;
    let changed_as = journal_of(here, path)?;
    let tree = match &changed_as {
        None => tree,
        // A copy of the file alone would have its id, and hide what was changed.
        Some(id) if !again => return Err(changed_here(here, path, id)),
        Some(id) => by_itself(stored::read(here, id)?.tree),
    };
    let mut records: Vec<Record> = tree.log().cloned().collect();
    let other_id = other_id(&mut records, again, changed_as.is_some(), here)?;
    let mut records = imported::for_the_store(records);
    let mut stamps = here.stamps();
    let operation = stamps.operation_id();
    born(&mut records, words::IMPORT_STEP, operation, &mut stamps);
    let id = records.iter().find_map(header_of).map(|header| header.id.clone());
    let imported = Imported {
        id: id.unwrap_or_else(|| SessionId::from("")),
        file: path.to_string_lossy().into_owned(),
        other_id,
        dialect,
        oddities: oddities.len(),
        left_out: 0,
        tree,
    };
    match stored::create(here, &records) {
        Err(failure) if failure.exit == Exit::Refused => {
            let before = stored::read_even_if_taken_back(here, &imported.id)?.tree;
            match before.is_taken_back() && imported::says_the_same(&before, &imported.tree) {
                true => bring_back(here, &imported.id)?,
                false => return Err(stored_already(here, path, &imported.id, &before)),
            }
        }
        created => created?,
    }
    Ok(imported)
}

fn import_flat(path: &Path, args: &ImportArgs, here: &Here) -> Result<Imported, Failure> {
    let (mut records, imported) = flat::read(path, args, here)?;
    let mut stamps = here.stamps();
    let operation = stamps.operation_id();
    born(&mut records, words::IMPORT_STEP, operation, &mut stamps);
    stored::create(here, &records)?;
    Ok(imported)
}

/// Imported once, taken back, and imported again: nothing has to be written twice.
fn bring_back(here: &Here, id: &SessionId) -> Result<(), Failure> {
    let redo = History { session: id.to_string(), client_id: Some(here.client_id()), ..History::default() };
    change(here, id, Request::Redo(redo)).map(drop)
}

fn changed_here(here: &Here, path: &Path, id: &SessionId) -> Failure {
    let session = which::short(here, id);
    Failure::refused(words::changed_here(path, &session)).hint(words::changed_here_hint(&session))
}

fn stored_already(here: &Here, path: &Path, id: &SessionId, before: &SessionTree) -> Failure {
    let session = which::short(here, id);
    match before.is_taken_back() {
        true => Failure::refused(words::imported_and_taken_back(path, &session))
            .hint(words::imported_and_taken_back_hint(&session)),
        false => Failure::refused(words::imported_already(path, &session)).hint(words::IMPORTED_ALREADY_HINT),
    }
}

/// Gives the session an id of its own where it cannot keep the one in the file. The line of the header goes with
/// the old id; all others stay.
fn other_id(
    records: &mut [Record],
    again: bool,
    is_changed_here: bool,
    here: &Here,
) -> Result<Option<(SessionId, WhyOther)>, Failure> {
    for record in records {
        let Change::Opened(header) = &mut record.change else { continue };
        let why = match is_file_name(header.id.as_str()) {
            false => WhyOther::NoFileName,
            true if again && (is_changed_here || is_taken(&header.id, here)?) => WhyOther::Again,
            true => return Ok(None),
        };
        let other = std::mem::replace(&mut header.id, here.stamps().session_id());
        record.source = None;
        return Ok(Some((other, why)));
    }
    Ok(None)
}

fn header_of(record: &Record) -> Option<&SessionHeader> {
    match &record.change {
        Change::Opened(header) => Some(header.as_ref()),
        Change::Entry(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
    }
}

fn is_taken(id: &SessionId, here: &Here) -> Result<bool, Failure> {
    let sessions = here.store()?.list().map_err(|error| stored::list_failed(&error))?;
    Ok(sessions.contains(id))
}

impl Imported {
    fn line(&self, here: &Here) -> String {
        let look = &here.look;
        let title = title_of(&self.tree, look);
        match look.for_a_person {
            true => {
                let entries = counted(self.tree.len(), "entry", "entries");
                format!("{}  {title}  {entries}\n", which::short(here, &self.id))
            }
            false => format!("{}\t{title}\t{}\n", self.id, self.tree.len()),
        }
    }

    fn as_json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "file": self.file,
            "dialect": self.dialect,
            "title": self.tree.title(),
            "project": self.tree.header().and_then(|header| header.project.as_deref()),
            "entries": self.tree.len(),
            "oddities": self.oddities,
        })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.other_id {
            Some((other, WhyOther::Again)) => notes.push(words::copy_of(&self.file, other.as_str())),
            Some((other, WhyOther::NoFileName)) => notes.push(words::other_id(&self.file, other.as_str())),
            None => {}
        }
        if self.oddities > 0 {
            notes.push(words::is_odd(&self.file, self.oddities));
        }
        if self.left_out > 0 {
            notes.push(words::left_out_of_list(&self.file, self.left_out));
        }
        notes
    }
}
