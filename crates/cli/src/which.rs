//! Which session is meant: a file, or a stored session by id, unique prefix or title; left out, the session of this
//! folder that was written last.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use offshoot_session::{SessionHeader, SessionId};
use offshoot_store::{Loaded, SessionStore};

use crate::cataloged::foreign;
use crate::failure::Failure;
use crate::foreign::{introduced, journal_of};
use crate::here::Here;
use crate::long::shape_of_long;
use crate::stored::{list_failed, read_failed};
use crate::words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    File(PathBuf),
    Stored(SessionId),
}

/// A shorter piece of an id is more likely a slip than a name.
const SHORTEST_PREFIX: usize = 3;
const SHORT_ID: usize = 6;

/// For commands that read: a file by its path, else a stored session.
pub(crate) fn which(here: &Here, named: Option<&str>) -> Result<Which, Failure> {
    match named {
        Some(text) if is_a_path(text) => of_file(here, text.into()),
        Some(text) => match find(here, text)? {
            Some(id) => Ok(Which::Stored(id)),
            None => of_other_programs(here, text)?
                .ok_or_else(|| Failure::not_found(words::no_session(text)).hint(words::NO_SESSION_HINT)),
        },
        None => stored(here, None).map(Which::Stored),
    }
}

/// A file of another program, or the journal that goes on with it.
fn of_file(here: &Here, path: PathBuf) -> Result<Which, Failure> {
    Ok(match journal_of(here, &path)? {
        Some(id) => Which::Stored(id),
        None => Which::File(path),
    })
}

/// A session of another program, where it lies.
fn of_other_programs(here: &Here, text: &str) -> Result<Option<Which>, Failure> {
    let found = if text.len() < SHORTEST_PREFIX { Vec::new() } else { foreign(here, text)? };
    match found.as_slice() {
        [] => Ok(None),
        [only] => of_file(here, only.path.clone()).map(Some),
        several => {
            let paths: Vec<String> =
                several.iter().take(5).map(|row| format!("`{}`", row.path.display())).collect();
            Err(Failure::not_found(words::catalog::several_files(text, several.len(), &paths))
                .hint(words::catalog::SEVERAL_FILES_HINT))
        }
    }
}

/// For commands whose one word can be either: a plain number is always a point; else it is a session if it names
/// one, else a point of the session of this folder.
pub(crate) fn session_or_point(here: &Here, word: &str) -> Result<(Which, Option<String>), Failure> {
    let number = word.strip_prefix('#').unwrap_or(word);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        if is_a_path(word) {
            return Ok((of_file(here, word.into())?, None));
        }
        if let Some(id) = find(here, word)? {
            return Ok((Which::Stored(id), None));
        }
        if let Some(file) = of_other_programs(here, word)? {
            return Ok((file, None));
        }
    }
    Ok((which(here, None)?, Some(word.to_owned())))
}

/// Which sessions are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    Standing,
    /// Those too whose beginning was undone.
    All,
}

/// For commands that write.
pub(crate) fn stored(here: &Here, named: Option<&str>) -> Result<SessionId, Failure> {
    stored_among(here, named, Among::Standing)
}

pub(crate) fn stored_among(here: &Here, named: Option<&str>, among: Among) -> Result<SessionId, Failure> {
    match named {
        Some(text) if is_spelled_as_a_path(text) => introduced(here, Path::new(text)),
        Some(text) => match find_among(here, text, among)? {
            Some(id) => Ok(id),
            None if is_a_path(text) => introduced(here, Path::new(text)),
            None => of_another_program(here, text),
        },
        None => of_this_folder(here, among)?.ok_or_else(|| {
            Failure::not_found(words::no_session_here(&here.folder)).hint(words::NO_SESSION_HERE_HINT)
        }),
    }
}

/// A session of another program has an id here too; its journal begins with the first change.
fn of_another_program(here: &Here, text: &str) -> Result<SessionId, Failure> {
    match of_other_programs(here, text)? {
        Some(Which::Stored(id)) => Ok(id),
        Some(Which::File(path)) => introduced(here, &path),
        None => Err(Failure::not_found(words::no_session(text)).hint(words::NO_SESSION_HINT)),
    }
}

/// `None` where the text names no session; two that it names are a failure.
pub(crate) fn find(here: &Here, text: &str) -> Result<Option<SessionId>, Failure> {
    find_among(here, text, Among::Standing)
}

fn find_among(here: &Here, text: &str, among: Among) -> Result<Option<SessionId>, Failure> {
    let sessions = here.store()?.list().map_err(|error| list_failed(&error))?;
    if let Some(exact) = sessions.iter().find(|id| id.as_str() == text) {
        return Ok(Some(exact.clone()));
    }
    let is_meant = |id: &&SessionId| {
        let beginning = id.as_str().get(..text.len());
        text.len() >= SHORTEST_PREFIX && beginning.is_some_and(|id| id.eq_ignore_ascii_case(text))
    };
    let by_prefix: Vec<&SessionId> = sessions.iter().filter(is_meant).collect();
    if !by_prefix.is_empty() {
        return one_of(text, &by_prefix);
    }
    let mut titled = Vec::new();
    for id in &sessions {
        // One that cannot be read keeps nobody from finding the others.
        let Ok(Some(about)) = glance(here, id) else { continue };
        if about.is_among(among)
            && about.title.is_some_and(|title| title.to_lowercase() == text.to_lowercase())
        {
            titled.push(id);
        }
    }
    one_of(text, &titled)
}

/// Whether a word names a session that can be changed. One that fits several is a failure.
pub(crate) fn names_one(here: &Here, word: &str) -> Result<bool, Failure> {
    Ok(is_a_path(word) || find(here, word)?.is_some() || of_other_programs(here, word)?.is_some())
}

fn one_of(text: &str, found: &[&SessionId]) -> Result<Option<SessionId>, Failure> {
    match found {
        [] => Ok(None),
        [only] => Ok(Some((*only).clone())),
        several => {
            let ids: Vec<&str> = several.iter().map(|id| id.as_str()).collect();
            Err(Failure::not_found(words::several_sessions(text, &ids)).hint(words::SEVERAL_SESSIONS_HINT))
        }
    }
}

/// One that cannot be read is no reason to give up, until there is no other: it might have been meant.
fn of_this_folder(here: &Here, among: Among) -> Result<Option<SessionId>, Failure> {
    let mut unread = None;
    for id in newest_first(here)? {
        match glance(here, &id) {
            Ok(Some(about)) => {
                let project = about.project.as_deref().map(Path::new);
                if about.is_among(among) && project.is_some_and(|project| here.folder.starts_with(project)) {
                    return Ok(Some(id));
                }
            }
            Ok(None) => {}
            Err(failure) => {
                unread.get_or_insert(failure);
            }
        }
    }
    unread.map_or(Ok(None), Err)
}

/// What tells whether a session is meant.
struct Glance {
    title: Option<String>,
    project: Option<String>,
    is_taken_back: bool,
}

impl Glance {
    fn is_among(&self, among: Among) -> bool {
        among == Among::All || !self.is_taken_back
    }
}

/// `None`: a crash stopped it from being born.
fn glance(here: &Here, id: &SessionId) -> Result<Option<Glance>, Failure> {
    let project = |header: Option<&SessionHeader>| header.and_then(|header| header.project.clone());
    if let Some(session) = shape_of_long(here, &Which::Stored(id.clone())) {
        let skeleton = session.skeleton();
        return Ok(Some(Glance {
            title: skeleton.title().map(str::to_owned),
            project: project(skeleton.header()),
            is_taken_back: skeleton.is_taken_back(),
        }));
    }
    let loaded = here.store()?.read(id).map_err(|error| read_failed(&error))?;
    Ok(loaded.map(|Loaded { tree, .. }| Glance {
        title: tree.title().map(str::to_owned),
        project: project(tree.header()),
        is_taken_back: tree.is_taken_back(),
    }))
}

/// Stored sessions by when their journals were last written.
pub(crate) fn newest_first(here: &Here) -> Result<Vec<SessionId>, Failure> {
    let store = here.store()?;
    let mut sessions = store.list().map_err(|error| list_failed(&error))?;
    let written = |id: &SessionId| {
        let metadata = std::fs::metadata(store.home().journal(id));
        metadata.and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    sessions.sort_by_cached_key(|id| Reverse(written(id)));
    Ok(sessions)
}

/// The beginning of an id that names it among all stored sessions, at least six characters.
pub(crate) fn short(here: &Here, id: &SessionId) -> String {
    let others = here.store().ok().and_then(|store| store.list().ok()).unwrap_or_default();
    let shared = |other: &SessionId| {
        other.as_str().chars().zip(id.as_str().chars()).take_while(|(one, other)| one == other).count()
    };
    let longest = others.iter().filter(|other| *other != id).map(shared).max().unwrap_or(0);
    id.as_str().chars().take(SHORT_ID.max(longest + 1)).collect()
}

/// The same where no store is at hand.
pub(crate) fn beginning_of(id: &SessionId) -> String {
    id.as_str().chars().take(SHORT_ID).collect()
}

/// A name with a slash, or of something that is there. Ids and titles of sessions rarely look so.
fn is_a_path(text: &str) -> bool {
    is_spelled_as_a_path(text) || Path::new(text).exists()
}

fn is_spelled_as_a_path(text: &str) -> bool {
    text.contains(std::path::MAIN_SEPARATOR) || text.ends_with(".jsonl")
}
