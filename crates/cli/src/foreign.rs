//! Sessions of other programs that are changed here: which journal goes on with which file.
//!
//! A session is known by the program and the id it was given there. Several files may claim to be the same one, such as
//! a copy that somebody made; each that is changed gets a journal of its own.

use std::path::{Path, PathBuf};

use offshoot_session::foreign::journal_id;
use offshoot_session::{ForeignSource, SessionId};
use offshoot_store::archive::Version;
use offshoot_store::catalog::{Catalog, SessionRow};
use offshoot_store::foreign::{ForeignBytes, ForeignCopy, IntroduceError, original_at};
use offshoot_store::{Archive, Home, JournalStore};

use crate::failure::Failure;
use crate::here::Here;
use crate::session_file::{absolute, cannot_read, not_understood};
use crate::stored::list_failed;
use crate::{database, words};

/// The journal that goes on with this file, if there is one.
pub(crate) fn journal_of(here: &Here, path: &Path) -> Result<Option<SessionId>, Failure> {
    let Ok(store) = here.store() else { return Ok(None) };
    let references = store.references().map_err(|error| list_failed(&error))?;
    if references.is_empty() {
        return Ok(None);
    }
    let path = original_of(here, whole_path(path)?);
    if let Some((id, _)) = references.iter().find(|(_, source)| is_same_place(Path::new(&source.path), &path))
    {
        return Ok(Some(id.clone()));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_moved = |source: &ForeignSource| {
        name.contains(&source.session)
            && !is_there(Path::new(&source.path))
            && offshoot_store::private::read_foreign(&path).is_ok_and(|bytes| source.begins(&bytes))
    };
    let moved = references.into_iter().find(|(_, source)| is_moved(source));
    Ok(moved.map(|(id, source)| {
        here.others().lies_at(&source, path);
        id
    }))
}

/// The id under which this file can be changed. Nothing is written by that.
pub(crate) fn introduced(here: &Here, path: &Path) -> Result<SessionId, Failure> {
    if let Some(id) = journal_of(here, path)? {
        return Ok(id);
    }
    let store = here.store()?;
    let path = whole_path(path)?;
    here.others().introduce(&path, |source| free_id(&store, source)).map_err(|error| match error {
        IntroduceError::File(error) => cannot_read(&error.path, &error.source),
        IntroduceError::Database(error) => database::failed(&error),
        IntroduceError::Unreadable { path, bytes, reason } => not_understood(&path, &bytes, &reason),
        IntroduceError::NotInDatabase { .. } => Failure::not_found(words::no_file(&path)),
    })
}

/// The first that no other file has taken.
fn free_id(store: &JournalStore, source: &ForeignSource) -> SessionId {
    let mut copy = 0;
    loop {
        let id = journal_id(&source.agent, &source.session, copy);
        let is_taken = std::fs::metadata(store.home().journal(&id)).is_ok_and(|file| file.len() > 0);
        let is_ours = store.reference(&id).is_some_and(|taken| {
            let lay = Path::new(&taken.path);
            is_same_place(lay, Path::new(&source.path)) || (!is_there(lay) && taken.session == source.session)
        });
        if !is_taken || is_ours {
            return id;
        }
        copy += 1;
    }
}

/// What is kept of a file goes on as that file; an earlier version is only in the archive.
fn original_of(here: &Here, path: PathBuf) -> PathBuf {
    let kept = here.archive().and_then(|archive| archive.kept_at(&path));
    kept.filter(|kept| kept.version == Version::Last).map_or(path, |kept| kept.original)
}

/// Of a session in a database, with its whole id.
fn whole_path(path: &Path) -> Result<PathBuf, Failure> {
    match database::named(path) {
        Some(place) => Ok(absolute(&database::open(&place)?.path)),
        None => Ok(absolute(path)),
    }
}

pub(crate) fn is_same_place(one: &Path, other: &Path) -> bool {
    let without_links = |path: &Path| -> Option<PathBuf> {
        path.canonicalize().ok().or_else(|| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)))
    };
    one == other || without_links(one).is_some_and(|place| without_links(other) == Some(place))
}

/// Also a session in a database that is there.
pub(crate) fn is_there(path: &Path) -> bool {
    path.exists() || database::named(path).is_some()
}

/// A row of the catalog, as far as it tells which session it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowOf<'r> {
    pub(crate) id: &'r str,
    pub(crate) path: &'r Path,
    pub(crate) agent: Option<&'r str>,
}

/// How a row is the session that a journal goes on with; the first of these is the surest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fits {
    ByPlace,
    /// Its program has it elsewhere now.
    Moved,
    /// What is kept stands for it.
    Kept,
}

/// `None`: it is another one.
pub(crate) fn fits(row: RowOf<'_>, source: &ForeignSource, archive: &Archive) -> Option<Fits> {
    let path = Path::new(&source.path);
    if row.path == path {
        return Some(Fits::ByPlace);
    }
    if let Some(kept) = archive.kept_at(row.path) {
        return (kept.version == Version::Last && kept.original == path).then_some(Fits::Kept);
    }
    let is_it = row.id == source.session && row.agent == Some(&source.agent) && !is_there(path);
    is_it.then_some(Fits::Moved)
}

/// Where the catalog last saw a session that does not lie any more where it lay.
#[derive(Debug)]
pub(crate) struct InCatalog {
    pub(crate) home: Home,
}

impl ForeignBytes for InCatalog {
    fn bytes_of(&self, source: &ForeignSource) -> Option<ForeignCopy> {
        if is_there(Path::new(&source.path)) {
            return None;
        }
        let path = self.home.root().join("catalog.db");
        let archive = Archive::of(&self.home);
        let rows =
            path.is_file().then(|| Catalog::open(&path).ok()?.beginning_with(&source.session).ok())??;
        let is_it = |row: &SessionRow| {
            let row_of = RowOf { id: &row.id, path: &row.path, agent: row.agent.as_deref() };
            !row.is_own && fits(row_of, source, &archive) == Some(Fits::Moved)
        };
        rows.into_iter().filter(is_it).find_map(|row| original_at(row.path))
    }
}
