//! Stored sessions: read one, or begin one. Every way the store can fail has its sentence here.

use std::error::Error;
use std::io::ErrorKind;

use offshoot_session::{Record, SessionId, SessionTree};
use offshoot_store::store::Left;
use offshoot_store::{
    AppendError, CreateError, FileError, Journal, JournalStore, ListError, Loaded, LockError, ReadError,
    SessionStore,
};

use crate::failure::Failure;
use crate::here::Here;
use crate::{progress, words};

pub(crate) fn read(here: &Here, id: &SessionId) -> Result<Loaded, Failure> {
    let loaded = read_even_if_taken_back(here, id)?;
    must_stand(&loaded.tree, id)?;
    Ok(loaded)
}

/// The store, with a line on the terminal for whoever waits for a long session.
pub(crate) fn watched(here: &Here, id: &SessionId) -> Result<JournalStore, Failure> {
    let store = here.store()?;
    let length = std::fs::metadata(store.home().journal(id)).map_or(0, |file| file.len());
    Ok(store.watched_by(progress::of_bytes(words::MEGABYTES_READ, length, &here.look)))
}

/// A session whose beginning was undone is not there, for whoever does not want to bring it back.
pub(crate) fn must_stand(tree: &SessionTree, id: &SessionId) -> Result<(), Failure> {
    match tree.is_taken_back() {
        true => Err(Failure::not_found(words::taken_back(id)).hint(words::taken_back_hint(id))),
        false => Ok(()),
    }
}

pub(crate) fn read_even_if_taken_back(here: &Here, id: &SessionId) -> Result<Loaded, Failure> {
    let loaded = watched(here, id)?.read(id).map_err(|error| read_failed(&error))?;
    loaded.ok_or_else(|| Failure::not_found(words::no_session(id.as_str())).hint(words::NO_SESSION_HINT))
}

/// A session to stay with, for many changes.
pub(crate) fn journal(here: &Here, id: &SessionId) -> Result<Journal, Failure> {
    let journal = watched(here, id)?.journal(id).map_err(|error| read_failed(&error))?;
    let journal = journal
        .ok_or_else(|| Failure::not_found(words::no_session(id.as_str())).hint(words::NO_SESSION_HINT))?;
    must_stand(journal.tree(), id)?;
    Ok(journal)
}

/// Begins a session with these records.
pub(crate) fn create(here: &Here, records: &[Record]) -> Result<(), Failure> {
    let sources = records.iter().filter_map(|record| record.source.as_ref());
    let bytes = sources.map(|source| source.bytes().len() as u64).sum();
    let store = here.store()?.watched_by(progress::of_bytes(words::MEGABYTES_WRITTEN, bytes, &here.look));
    match store.create(records) {
        Ok(_) => Ok(()),
        Err(CreateError::Failed(error)) => Err(append_failed(&error)),
        Err(CreateError::Exists(id)) => {
            Err(Failure::refused(words::session_exists(&id)).hint(words::session_exists_hint(&id)))
        }
        Err(error) => Err(Failure::failed(chain(&error))),
    }
}

pub(crate) fn list_failed(error: &ListError) -> Failure {
    match error {
        ListError::File(FileError { path, source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            Failure::failed(words::not_allowed(path)).hint(words::not_allowed_hint(path))
        }
        error => Failure::failed(chain(error)),
    }
}

pub(crate) fn store_failed(error: impl Error) -> Failure {
    Failure::failed(chain(&error))
}

pub(crate) fn read_failed(error: &ReadError) -> Failure {
    match error {
        ReadError::Newer { path, source } => {
            Failure::failed(words::reading::newer(path, source)).hint(words::reading::NEWER_HINT)
        }
        ReadError::File(FileError { path, source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            Failure::failed(words::not_allowed(path)).hint(words::not_allowed_hint(path))
        }
        error => Failure::failed(chain(error)),
    }
}

pub(crate) fn append_failed(error: &AppendError) -> Failure {
    match error {
        AppendError::Locked(LockError::Held { path, holder, .. }) => {
            let session = path.file_stem().unwrap_or_default().to_string_lossy();
            Failure::locked(words::being_written(&session, holder)).hint(words::BEING_WRITTEN_HINT)
        }
        AppendError::NotSaved { path, source, left } => {
            let nothing_left = *left == Left::Nothing;
            Failure::failed(words::not_saved(path, &source.source, nothing_left))
                .hint(words::not_saved_hint(&source.source))
        }
        AppendError::NotFound(id) => {
            Failure::not_found(words::no_session(id.as_str())).hint(words::NO_SESSION_HINT)
        }
        AppendError::Read(error) => read_failed(error),
        AppendError::Disk(FileError { path, source, .. })
        | AppendError::Locked(LockError::File(FileError { path, source, .. })) => {
            Failure::failed(words::not_saved(path, source, true)).hint(words::not_saved_hint(source))
        }
        other => Failure::failed(chain(other)),
    }
}

/// An error with its causes in one sentence.
fn chain(error: &dyn Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = error.source();
    while let Some(because) = cause {
        let told = because.to_string();
        if !sentence.ends_with(&told) {
            sentence.push_str(": ");
            sentence.push_str(&told);
        }
        cause = because.source();
    }
    sentence
}
