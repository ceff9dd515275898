//! Sessions in the database of opencode. A database is named like a file, and a session in it as if the database
//! were a folder: `opencode.db/ses_…`, or the first letters of the id.

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};

use offshoot_session::SessionTree;
use offshoot_session::file_name::file_name;
use offshoot_store::opencode_database::ListedSession;
use offshoot_store::{DatabaseError, OpencodeDatabase};
use offshoot_transcripts::Transcript;

use crate::failure::Failure;
use crate::session_file::{Forgiven, SessionFile};
use crate::words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InDatabase {
    pub(crate) path: PathBuf,
    pub(crate) session: Option<String>,
}

/// `None` where the path names no database and nothing in one.
pub(crate) fn named(path: &Path) -> Option<InDatabase> {
    if is_database(path) {
        return Some(InDatabase { path: path.to_owned(), session: None });
    }
    let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
    is_database(folder).then(|| InDatabase { path: folder.to_owned(), session: Some(name.to_owned()) })
}

fn is_database(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let mut first_bytes = [0; 16];
    is_file
        && offshoot_store::private::open_foreign(path)
            .and_then(|mut file| file.read_exact(&mut first_bytes))
            .is_ok()
        && OpencodeDatabase::is_database(&first_bytes)
}

/// What lies in a database, newest first.
pub(crate) fn listed(path: &Path) -> Result<Vec<ListedSession>, Failure> {
    connect(path)?.sessions().map_err(|error| failed(&error))
}

/// The one session that is meant. One of several has to be named.
pub(crate) fn open(place: &InDatabase) -> Result<SessionFile, Failure> {
    let mut database = connect(&place.path)?;
    let sessions = database.sessions().map_err(|error| failed(&error))?;
    let ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    let fits: Vec<&str> = match &place.session {
        Some(name) if ids.contains(&name.as_str()) => vec![name],
        Some(name) if ids.iter().any(|id| file_name(id) == *name) => {
            ids.iter().copied().filter(|id| file_name(id) == *name).collect()
        }
        Some(name) => ids.iter().copied().filter(|id| id.starts_with(name.as_str())).collect(),
        None => ids,
    };
    match (fits.as_slice(), &place.session) {
        ([only], _) => read(&mut database, only),
        ([], Some(name)) => Err(Failure::not_found(words::not_in_database(&place.path, name))
            .hint(words::inspect_database_hint(&place.path))),
        ([], None) => Err(Failure::failed(words::none_in_database(&place.path))),
        ([first, ..], _) => Err(Failure::not_found(words::many_in_database(&place.path, &fits))
            .hint(words::many_in_database_hint(&place.path, first))),
    }
}

fn read(database: &mut OpencodeDatabase, id: &str) -> Result<SessionFile, Failure> {
    let transcript = database.read(id).map_err(|error| failed(&error))?;
    let Some(Transcript { dialect, records, mut oddities, unknown_types }) = transcript else {
        return Err(Failure::not_found(words::not_in_database(database.path(), id)));
    };
    let sources = || records.iter().filter_map(|record| record.source.as_ref());
    let (bytes, rows) = (sources().map(|row| row.bytes().len()).sum(), sources().count());
    let (tree, more_oddities) = SessionTree::replay(records);
    oddities.extend(more_oddities);
    Ok(SessionFile {
        path: database.path().join(file_name(id).as_ref()),
        bytes,
        lines: rows,
        dialect: dialect.name(),
        unknown_types: unknown_types.into_iter().collect(),
        oddities: oddities.iter().map(Forgiven::from).collect(),
        notes: Vec::new(),
        tree,
    })
}

fn connect(path: &Path) -> Result<OpencodeDatabase, Failure> {
    OpencodeDatabase::open(path, &std::env::temp_dir()).map_err(|error| failed(&error))
}

pub(crate) fn failed(error: &DatabaseError) -> Failure {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    let failure = Failure::failed(format!("{error}{cause}"));
    match error {
        DatabaseError::NotOpencode { .. } => failure.hint(words::FORMATS_HINT),
        DatabaseError::File(_) | DatabaseError::Changing { .. } | DatabaseError::Sqlite { .. } => failure,
    }
}
