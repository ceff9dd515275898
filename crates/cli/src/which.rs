//! Which session is meant: a file, or a session of any agent by id, unique prefix or title; left out, the session of this
//! folder that was used last.

use std::path::{Path, PathBuf};

use offshoot_session::SessionId;
use offshoot_store::SessionStore;

use crate::failure::Failure;
use crate::foreign::{introduced, journal_of};
use crate::glance::glance;
use crate::here::Here;
use crate::known::Known;
use crate::last_used::{Whose, last_used};
use crate::naming::{self, Meant, Name, SHORT_ID, SHORTEST_PREFIX, with_place};
use crate::register::Register;
use crate::stored::list_failed;
use crate::words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    File(PathBuf),
    Stored(SessionId),
}

/// Which sessions are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    Standing,
    /// Those too whose beginning was undone.
    All,
}

/// What the session is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Look,
    /// A name has to be good at this moment: every file is looked at.
    Change,
}

/// For commands that read: a file by its path, else a session.
pub(crate) fn which(here: &Here, named: Option<&str>) -> Result<Which, Failure> {
    match named {
        Some(text) if is_a_path(text) => of_file(here, text.into()),
        Some(text) => Ok(find(here, text, Among::Standing, To::Look)?.ok_or_else(|| nobody(text))?.which()),
        None => Ok(of_this_folder(here, Among::Standing, Whose::Anybody)?.which()),
    }
}

/// A file of another program, or the journal that goes on with it.
fn of_file(here: &Here, path: PathBuf) -> Result<Which, Failure> {
    Ok(match journal_of(here, &path)? {
        Some(id) => Which::Stored(id),
        None => Which::File(path),
    })
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
        if let Some(known) = find(here, word, Among::Standing, To::Look)? {
            return Ok((known.which(), None));
        }
    }
    Ok((which(here, None)?, Some(word.to_owned())))
}

/// For commands that write.
pub(crate) fn stored(here: &Here, named: Option<&str>) -> Result<SessionId, Failure> {
    stored_among(here, named, Among::Standing, Whose::Anybody)
}

/// For commands about what runs here. A session of another program is meant only by its name.
pub(crate) fn stored_here(here: &Here, named: Option<&str>) -> Result<SessionId, Failure> {
    stored_among(here, named, Among::Standing, Whose::Ours)
}

/// `whose` is for the session that is not named.
pub(crate) fn stored_among(
    here: &Here,
    named: Option<&str>,
    among: Among,
    whose: Whose,
) -> Result<SessionId, Failure> {
    let known = match named {
        Some(text) if is_spelled_as_a_path(text) => return introduced(here, Path::new(text)),
        Some(text) => match find(here, text, among, To::Change)? {
            Some(known) => known,
            None if is_a_path(text) => return introduced(here, Path::new(text)),
            None => return Err(nobody(text)),
        },
        None => of_this_folder(here, among, whose)?,
    };
    // A session of another program has an id here too; its journal begins with the first change.
    known.journal.map_or_else(|| introduced(here, &known.path), Ok)
}

/// Whether a word names a session that can be changed. One that fits several is a failure.
pub(crate) fn names_one(here: &Here, word: &str) -> Result<bool, Failure> {
    Ok(is_a_path(word) || find(here, word, Among::Standing, To::Change)?.is_some())
}

impl Known {
    fn which(self) -> Which {
        self.journal.map_or(Which::File(self.path), Which::Stored)
    }
}

fn of_this_folder(here: &Here, among: Among, whose: Whose) -> Result<Known, Failure> {
    last_used(here, among, whose)?.ok_or_else(|| {
        Failure::not_found(words::no_session_here(&here.folder)).hint(words::NO_SESSION_HERE_HINT)
    })
}

fn nobody(text: &str) -> Failure {
    Failure::not_found(words::no_session(text)).hint(words::NO_SESSION_HINT)
}

/// `None` where the text names no session; two that it names are a failure.
fn find(here: &Here, text: &str, among: Among, to: To) -> Result<Option<Known>, Failure> {
    let journals = here.store()?.list().map_err(|error| list_failed(&error))?;
    if let Some(exact) = journals.iter().find(|id| id.as_str() == text) {
        return Ok(Some(Known::by_journal(exact)));
    }
    let mut register = Register::open(here)?;
    let (id, _) = with_place(text);
    if id.len() >= SHORTEST_PREFIX {
        let mut known = register.beginning_like(&[id.to_owned()])?;
        let is_exact = known.iter().any(|known| known.name.id == id);
        if known.is_empty() || (to == To::Change && !is_exact) {
            register.refresh()?; // there may be another, which is new
            known = register.beginning_like(&[id.to_owned()])?;
        }
        let names: Vec<Name> = known.iter().map(|known| known.name.clone()).collect();
        match naming::by_id(&names, text) {
            Meant::Nobody => {}
            Meant::One(at) => return Ok(Some(known.swap_remove(at))),
            Meant::Several(places) => {
                let several = places.iter().filter_map(|at| known.get(*at)).collect();
                return Err(ambiguous(text, several, words::SEVERAL_SESSIONS_HINT));
            }
        }
    }
    register.refresh()?;
    let mut titled = register.titled(text)?;
    if among == Among::All {
        for id in register.untold_journals()? {
            // One that cannot be read keeps nobody from finding the others.
            let Ok(Some(about)) = glance(here, &id) else { continue };
            if about.title.is_some_and(|title| title.to_lowercase() == text.to_lowercase()) {
                titled.push(Known::by_journal(&id));
            }
        }
    }
    // of one id the first is meant, as by the id itself
    titled.sort_by(|one, other| one.name.cmp(&other.name));
    titled.dedup_by(|one, other| one.name.id == other.name.id);
    match titled.as_slice() {
        [] | [_] => Ok(titled.pop()),
        several => Err(ambiguous(text, several.iter().collect(), words::SEVERAL_TITLES_HINT)),
    }
}

fn ambiguous(text: &str, several: Vec<&Known>, hint: &str) -> Failure {
    let ids: Vec<&str> = several.iter().map(|known| known.name.id.as_str()).collect();
    Failure::not_found(words::several_sessions(text, &ids)).hint(hint)
}

/// What names a stored session among those of all agents: the beginning of its id, at least six characters.
pub(crate) fn short(here: &Here, id: &SessionId) -> String {
    let known =
        Register::as_it_is(here).and_then(|mut register| register.beginning_like(&[beginning_of(id)]));
    let known = known.unwrap_or_default();
    let is_it = |known: &Known| known.journal.as_ref() == Some(id);
    // its journal may not be written yet
    let will_be = |known: &Known| {
        known.journal.is_none()
            && id.as_str().strip_prefix(&known.name.id).is_some_and(|rest| rest.starts_with('.'))
    };
    let place = known.iter().position(is_it).or_else(|| known.iter().position(will_be));
    let names: Vec<Name> = known.into_iter().map(|known| known.name).collect();
    let called = place.and_then(|at| naming::short(&names).into_iter().nth(at));
    called.unwrap_or_else(|| beginning_of(id))
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
