//! `offshoot forget SESSION`: removes what is kept of another agent's session, and does not keep it again.

use std::path::{Path, PathBuf};

use offshoot_session::Stamps;
use offshoot_store::Archive;
use offshoot_store::archive::{Copies, Forget, Forgotten, ForgottenSession, Moved};
use offshoot_store::catalog::SessionRow;
use serde_json::{Value, json};

use super::json::{printed, printed_object};
use crate::Answer;
use crate::args::ForgetArgs;
use crate::cataloged::{Fresh, cataloged};
use crate::failure::Failure;
use crate::foreign::is_there;
use crate::here::Here;
use crate::own_catalog;
use crate::session_file::absolute;
use crate::stored::{list_failed, store_failed};
use crate::which;
use crate::words::forget as words;

pub(crate) fn run(args: &ForgetArgs, here: &Here) -> Result<Answer, Failure> {
    let archive = here.archive().ok_or_else(|| Failure::failed(crate::words::NO_HOME))?;
    let forgotten = archive.forgotten().map_err(failed)?;
    match args.session.as_deref() {
        None => Ok(list(args, &forgotten, here)),
        Some(name) if args.restore => restore(args, name, &archive, &forgotten, here),
        Some(name) => forget(args, name, &archive, &forgotten, here),
    }
}

/// A session of another agent.
struct Target {
    id: String,
    agent: Option<String>,
    original: PathBuf,
    is_continued: bool,
}

fn forget(
    args: &ForgetArgs,
    name: &str,
    archive: &Archive,
    forgotten: &Forgotten,
    here: &Here,
) -> Result<Answer, Failure> {
    let target = match by_name(forgotten, name)? {
        Some(session) => Target {
            id: session.id.clone(),
            agent: session.agent.clone(),
            original: session.original.clone(),
            is_continued: false,
        },
        None => target(name, archive, here)?,
    };
    let copies = if args.now { Copies::Delete } else { Copies::ToTrash };
    let was_in_trash = forgotten.iter().any(|one| one.original == target.original && one.trash.is_some());
    let forget = Forget {
        id: target.id,
        agent: target.agent,
        original: target.original,
        copies,
        now: here.stamps().now().as_microsecond(),
    };
    let (session, moved) = {
        let mut hold = archive.hold().map_err(failed)?;
        archive.forget(&mut hold, &forget).map_err(failed)?
    };
    // A session that only the archive had is not listed any more.
    let mut ready = cataloged(here, &[], Fresh::Now)?;
    if args.now {
        ready.catalog.erase_deleted(&session.id).map_err(store_failed)?;
        remove_derived(here, archive, &session.original)?;
    }
    let mut notes = ready.notes;
    let has_original = is_there(&session.original);
    if target.is_continued && !has_original {
        notes.push(words::continued(&session.id));
    }
    let text = match args.json.json {
        Some(_) => printed_object(as_json(&session, Some(moved))),
        None => words::forgotten(&session, copies, moved, was_in_trash, has_original, &here.look),
    };
    Ok(Answer { text, notes, ..Answer::default() })
}

fn restore(
    args: &ForgetArgs,
    name: &str,
    archive: &Archive,
    forgotten: &Forgotten,
    here: &Here,
) -> Result<Answer, Failure> {
    let session = match by_name(forgotten, name)? {
        Some(session) => session.clone(),
        None => {
            let original = target(name, archive, here)?.original;
            let found = forgotten.iter().find(|session| session.original == original).cloned();
            found
                .ok_or_else(|| Failure::refused(words::not_forgotten(name)).hint(words::NOT_FORGOTTEN_HINT))?
        }
    };
    let moved = {
        let mut hold = archive.hold().map_err(failed)?;
        archive.restore(&mut hold, &session).map_err(failed)?
    };
    let mut ready = cataloged(here, &[], Fresh::Whatever)?;
    ready.catalog.keep_again(&session.original).map_err(store_failed)?;
    ready.sync(here)?;
    let text = match args.json.json {
        Some(_) => printed_object(as_json(&ForgottenSession { trash: None, ..session }, Some(moved))),
        None => words::restored(&session, moved),
    };
    Ok(Answer { text, notes: ready.notes, ..Answer::default() })
}

fn list(args: &ForgetArgs, forgotten: &Forgotten, here: &Here) -> Answer {
    let text = match args.json.json {
        Some(shape) => {
            let sessions: Vec<Value> = forgotten.iter().map(|session| as_json(session, None)).collect();
            printed(json!({ "forgotten": sessions }), "forgotten", shape)
        }
        None if forgotten.iter().next().is_none() => words::NONE.to_owned(),
        None => forgotten.iter().map(|session| words::listed(session, &here.look)).collect(),
    };
    Answer { text, ..Answer::default() }
}

fn as_json(session: &ForgottenSession, moved: Option<Moved>) -> Value {
    let mut told = json!({
        "session": session.id,
        "agent": session.agent,
        "original": session.original.to_string_lossy(),
        "in_trash_until": session.in_trash_until().map(|until| until.to_string()),
    });
    if let (Some(moved), Some(told)) = (moved, told.as_object_mut()) {
        told.insert("files".to_owned(), moved.files.into());
        told.insert("bytes".to_owned(), moved.bytes.into());
    }
    told
}

/// A forgotten session by its path, its id or the beginning of it. Its title is not known any more.
fn by_name<'f>(forgotten: &'f Forgotten, name: &str) -> Result<Option<&'f ForgottenSession>, Failure> {
    let path = absolute(Path::new(name));
    let exact = forgotten.iter().find(|session| session.id == name || session.original == path);
    if exact.is_some() {
        return Ok(exact);
    }
    let mut alike =
        forgotten.iter().filter(|session| name.len() >= SHORTEST_PREFIX && session.id.starts_with(name));
    match (alike.next(), alike.next()) {
        (found, None) => Ok(found),
        (_, Some(_)) => {
            Err(Failure::not_found(words::several(name)).hint(crate::words::SEVERAL_SESSIONS_HINT))
        }
    }
}

const SHORTEST_PREFIX: usize = 4;

/// The session of another agent that a name means.
fn target(name: &str, archive: &Archive, here: &Here) -> Result<Target, Failure> {
    if which::is_spelled_as_a_path(name) {
        return by_path(name, archive, here);
    }
    let known = which::known(here, name)?;
    let sessions = here.store()?.home().sessions();
    let is_file = !known.path.as_os_str().is_empty() && !known.path.starts_with(&sessions);
    if is_file {
        let original = archive.kept_at(&known.path).map_or(known.path, |kept| kept.original);
        let is_continued = known.journal.is_some();
        return Ok(Target { id: known.name.id, agent: known.agent, original, is_continued });
    }
    let references = here.store()?.references().map_err(|error| list_failed(&error))?;
    let source = references.into_iter().find(|(id, _)| Some(id) == known.journal.as_ref());
    let (_, source) =
        source.ok_or_else(|| Failure::refused(words::is_own(&known.name.id)).hint(words::IS_OWN_HINT))?;
    Ok(Target {
        id: source.session,
        agent: Some(source.agent),
        original: source.path.into(),
        is_continued: true,
    })
}

fn by_path(name: &str, archive: &Archive, here: &Here) -> Result<Target, Failure> {
    let path = absolute(Path::new(name));
    let mut ready = cataloged(here, &[], Fresh::Whatever)?;
    let rows = ready.list(here)?;
    let original =
        |row: &SessionRow| archive.kept_at(&row.path).map_or_else(|| row.path.clone(), |kept| kept.original);
    let row = rows.into_iter().find(|row| !row.is_own && (row.path == path || original(row) == path));
    let row = row.ok_or_else(|| {
        Failure::not_found(crate::words::no_session(name)).hint(crate::words::NO_SESSION_HINT)
    })?;
    Ok(Target { original: original(&row), id: row.id, agent: row.agent, is_continued: false })
}

/// Catalogs of places that were named, and indexes of the session's file: all of them are made again where needed.
fn remove_derived(here: &Here, archive: &Archive, original: &Path) -> Result<(), Failure> {
    let store = here.store()?;
    own_catalog::remove_all(store.home().root());
    let files = [Some(original.to_owned()), archive.place_of(original)];
    for file in files.into_iter().flatten() {
        // Mostly there is none.
        let _ = std::fs::remove_file(store.home().index_of(&file));
    }
    Ok(())
}

fn failed(error: std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::TimedOut => Failure::locked(words::HELD).hint(words::HELD_HINT),
        _ => Failure::failed(words::not_done(&crate::words::disk_says(&error))),
    }
}
