//! Which session is meant: a file, or a session of any agent by id, unique prefix or title; left out, the current session
//! of this directory ([`crate::current`]).
//!
//! A session that is named counts as used ([`crate::last_used`]), also by a command that only reads. One that is not named
//! counts as used once it was changed ([`crate::change`]). A file that is only read by its path does not count.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use offshoot_session::address::Want;
use offshoot_session::{SessionId, Stamps};
use offshoot_store::SessionStore;

use crate::ago::ago;
use crate::cataloged::agent_name;
use crate::current::{current_in, current_session};
use crate::failure::Failure;
use crate::foreign::{introduced, journal_of};
use crate::glance::glance;
use crate::here::Here;
use crate::known::Known;
use crate::last_used::{self, UsedSession};
use crate::listed_name::{NameMatch, TypedName};
use crate::living::looked_at;
use crate::look::Sign;
use crate::naming::{self, Meant, Name, SHORT_ID, with_place};
use crate::opened::point;
use crate::register::Register;
use crate::stored::list_failed;
use crate::text::{cut, harmless_line, padded, width};
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
        Some(text) => {
            Ok(used(here, find(here, text, Among::Standing, To::Look)?.ok_or_else(|| nobody(text))?).which())
        }
        None => Ok(current(here, Among::Standing)?.which()),
    }
}

/// A file of another program, or the journal that goes on with it.
fn of_file(here: &Here, path: PathBuf) -> Result<Which, Failure> {
    Ok(match journal_of(here, &path)? {
        Some(id) => {
            last_used::record_stored(here, &id);
            Which::Stored(id)
        }
        None => Which::File(path),
    })
}

/// For commands whose one word can be either: a plain number is always a point; else it is a session if it names
/// one, else a point of the current session.
pub(crate) fn session_or_point(here: &Here, word: &str) -> Result<(Which, Option<String>), Failure> {
    let number = word.strip_prefix('#').unwrap_or(word);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        if is_a_path(word) {
            return Ok((of_file(here, word.into())?, None));
        }
        if let Some(known) = find_unless_point(here, word, To::Look)? {
            return Ok((used(here, known).which(), None));
        }
    }
    Ok((which(here, None)?, Some(word.to_owned())))
}

/// For commands that write.
pub(crate) fn stored(here: &Here, named: Option<&str>) -> Result<SessionId, Failure> {
    stored_among(here, named, Among::Standing)
}

pub(crate) fn stored_among(here: &Here, named: Option<&str>, among: Among) -> Result<SessionId, Failure> {
    let known = match named {
        Some(text) if is_spelled_as_a_path(text) => return introduced(here, Path::new(text)),
        Some(text) => match find(here, text, among, To::Change)? {
            Some(known) => used(here, known),
            None if is_a_path(text) => return introduced(here, Path::new(text)),
            None => return Err(nobody(text)),
        },
        None => current_to_change(here, among)?,
    };
    // A session of another program has an id here too; its journal begins with the first change.
    known.journal.map_or_else(|| introduced(here, &known.path), Ok)
}

/// Any session by its name, as the list of sessions has it. It does not become the current one.
pub(crate) fn known(here: &Here, text: &str) -> Result<Known, Failure> {
    find(here, text, Among::All, To::Change)?.ok_or_else(|| nobody(text))
}

/// Records that the session was named.
fn used(here: &Here, known: Known) -> Known {
    last_used::record(here, UsedSession::known(&known));
    known
}

/// Whether a word names a session that can be changed. One that fits several is a failure.
pub(crate) fn names_one(here: &Here, word: &str) -> Result<bool, Failure> {
    Ok(is_a_path(word) || find_unless_point(here, word, To::Change)?.is_some())
}

impl Known {
    fn which(self) -> Which {
        self.journal.map_or(Which::File(self.path), Which::Stored)
    }
}

fn current(here: &Here, among: Among) -> Result<Known, Failure> {
    current_session(here, among)?.ok_or_else(|| no_current(here))
}

fn current_to_change(here: &Here, among: Among) -> Result<Known, Failure> {
    let mut register = Register::open(here)?;
    let known = current_in(&mut register, here, among)?.ok_or_else(|| no_current(here))?;
    remember_name(here, &mut register, &known);
    Ok(known)
}

fn no_current(here: &Here) -> Failure {
    Failure::not_found(words::no_session_here(&here.folder)).hint(words::NO_SESSION_HERE_HINT)
}

fn nobody(text: &str) -> Failure {
    Failure::not_found(words::no_session(text)).hint(words::NO_SESSION_HINT)
}

/// A session that a text names.
struct Found {
    /// Several sessions of the same name are a failure.
    known: Result<Known, Failure>,
    /// By its id or its title, and not by a name that is only listed.
    is_given: bool,
}

impl Found {
    fn given(known: Result<Known, Failure>) -> Self {
        Self { known, is_given: true }
    }
}

/// Returns `None` if the text names no session; if it names several, that is a failure.
fn find(here: &Here, text: &str, among: Among, to: To) -> Result<Option<Known>, Failure> {
    find_by_any_name(here, text, among, to)?.map(|found| found.known).transpose()
}

/// For a word that may also be a point of the current session. A point wins over a name that is only listed: the first
/// prompt of some other session must not hide a label.
fn find_unless_point(here: &Here, word: &str, to: To) -> Result<Option<Known>, Failure> {
    match find_by_any_name(here, word, Among::Standing, to)? {
        Some(found) if !found.is_given && is_point_of_current(here, word) => Ok(None),
        found => found.map(|found| found.known).transpose(),
    }
}

fn is_point_of_current(here: &Here, word: &str) -> bool {
    let opened = current(here, Among::Standing).and_then(|known| looked_at(here, &known.which()));
    opened.is_ok_and(|opened| point(&opened.tree, &word.into(), Want::End).is_ok())
}

fn find_by_any_name(here: &Here, text: &str, among: Among, to: To) -> Result<Option<Found>, Failure> {
    let journals = here.store()?.list().map_err(|error| list_failed(&error))?;
    if let Some(exact) = journals.iter().find(|id| id.as_str() == text) {
        return Ok(Some(Found::given(Ok(Known::by_journal(exact)))));
    }
    let mut register = Register::open(here)?;
    let found = find_in(&mut register, here, text, among, to)?;
    if let (To::Change, Some(Found { known: Ok(known), .. })) = (to, &found) {
        remember_name(here, &mut register, known);
    }
    Ok(found)
}

fn find_in(
    register: &mut Register<'_>,
    here: &Here,
    text: &str,
    among: Among,
    to: To,
) -> Result<Option<Found>, Failure> {
    let (id, _) = with_place(text);
    if !id.is_empty() {
        let mut known = register.beginning_like(&[id.to_owned()])?;
        let is_exact = known.iter().any(|known| known.name.id == id);
        if known.is_empty() || (to == To::Change && !is_exact) {
            register.refresh()?; // there may be another, which is new
            known = register.beginning_like(&[id.to_owned()])?;
        }
        let names: Vec<Name> = known.iter().map(|known| known.name.clone()).collect();
        match naming::by_id(&names, text) {
            Meant::Nobody => {}
            Meant::One(at) => return Ok(Some(Found::given(Ok(known.swap_remove(at))))),
            Meant::Several(places) => {
                let several: Vec<&Known> = places.iter().filter_map(|at| known.get(*at)).collect();
                let hint = words::SEVERAL_SESSIONS_HINT;
                return Ok(Some(Found::given(Err(ambiguous(here, register, text, &several, hint)))));
            }
        }
    }
    register.refresh()?;
    let typed = TypedName::new(text);
    let mut named = register.named(&typed)?;
    if among == Among::All {
        for id in register.untold_journals()? {
            // One that cannot be read keeps nobody from finding the others.
            let Ok(Some(about)) = glance(here, &id) else { continue };
            if about.title.is_some() && typed.matches(about.title.as_deref(), None) == Some(NameMatch::Title)
            {
                named.push((NameMatch::Title, Known { title: about.title, ..Known::by_journal(&id) }));
            }
        }
    }
    let best = named.iter().map(|(by, _)| *by).min();
    named.retain(|(by, _)| Some(*by) == best);
    let is_given = best.is_some_and(NameMatch::is_title);
    let mut named: Vec<Known> = named.into_iter().map(|(_, known)| known).collect();
    // of one id the first is meant, as by the id itself
    named.sort_by(|one, other| one.name.cmp(&other.name));
    named.dedup_by(|one, other| one.name.id == other.name.id);
    let known = match named.as_slice() {
        [] | [_] => named.pop().map(Ok),
        several => {
            let several: Vec<&Known> = several.iter().collect();
            Some(Err(ambiguous(here, register, text, &several, words::SEVERAL_TITLES_HINT)))
        }
    };
    Ok(known.map(|known| Found { known, is_given }))
}

/// So many of the sessions that a text may mean are listed.
const CANDIDATES: usize = 10;

/// Lists the sessions that the text may mean, one per line: id, title, agent, age.
fn ambiguous(
    here: &Here,
    register: &mut Register<'_>,
    text: &str,
    several: &[&Known],
    hint: &str,
) -> Failure {
    let (look, now, zone) = (&here.look, here.stamps().now(), TimeZone::system());
    let shown = several.get(..CANDIDATES).unwrap_or(several);
    let beginnings: Vec<String> =
        shown.iter().map(|known| known.name.id.chars().take(SHORT_ID).collect()).collect();
    let alike = register.beginning_like(&beginnings).unwrap_or_default();
    let alike: Vec<Name> = alike.into_iter().map(|known| known.name).collect();
    let called = naming::short(&alike);
    let rows = shown.iter().map(|known| {
        let at = alike.iter().position(|name| *name == known.name);
        let id = at.and_then(|at| called.get(at)).unwrap_or(&known.name.id);
        let title = harmless_line(known.listed_name().unwrap_or(words::UNTITLED), look.ascii);
        let updated = known.name.standing.updated_at.0;
        let updated = Some(updated).filter(|at| *at > 0).and_then(|at| Timestamp::from_microsecond(at).ok());
        [
            harmless_line(id, look.ascii),
            cut(&title, CANDIDATE_TITLE, look.sign(Sign::Cut)),
            harmless_line(known.agent.as_deref().map_or("", agent_name), look.ascii),
            updated.map(|at| ago(at, now, &zone)).unwrap_or_default(),
        ]
    });
    let rows: Vec<[String; 4]> = rows.collect();
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| row.iter().enumerate().map(|(at, cell)| padded(cell, widest(at))).collect::<Vec<_>>())
        .map(|cells| cells.join("  ").trim_end().to_owned())
        .collect();
    lines.extend((several.len() > shown.len()).then(|| words::and_more(several.len() - shown.len())));
    Failure::not_found(words::several_sessions(text, several.len())).listing(lines).hint(hint)
}

/// Titles are cut to this width in a list of candidates.
const CANDIDATE_TITLE: usize = 48;

/// What names a stored session among those of all agents: the beginning of its id, at least six characters.
pub(crate) fn short(here: &Here, id: &SessionId) -> String {
    named(here, id).0
}

/// The short id of a stored session, and the name that `ls` shows for it. There is no name where the catalog has none.
pub(crate) fn named(here: &Here, id: &SessionId) -> ShownName {
    here.shown_names.get(id).unwrap_or_else(|| match Register::as_it_is(here) {
        Ok(mut register) => shown_name(&mut register, id),
        Err(_) => (beginning_of(id), None),
    })
}

/// Commands that change a session print its name afterwards. The catalog is open now, and opening it again takes longer
/// than many changes.
fn remember_name(here: &Here, register: &mut Register<'_>, known: &Known) {
    if let Some(id) = &known.journal {
        here.shown_names.remember(id, shown_name(register, id));
    }
}

fn shown_name(register: &mut Register<'_>, id: &SessionId) -> ShownName {
    let known = register.beginning_like(&[beginning_of(id)]).unwrap_or_default();
    let is_it = |known: &Known| known.journal.as_ref() == Some(id);
    // its journal may not be written yet
    let will_be = |known: &Known| {
        known.journal.is_none()
            && id.as_str().strip_prefix(&known.name.id).is_some_and(|rest| rest.starts_with('.'))
    };
    let place = known.iter().position(is_it).or_else(|| known.iter().position(will_be));
    let listed = place.and_then(|at| known.get(at)).and_then(Known::listed_name).map(str::to_owned);
    let names: Vec<Name> = known.into_iter().map(|known| known.name).collect();
    let called = place.and_then(|at| naming::short(&names).into_iter().nth(at));
    (called.unwrap_or_else(|| beginning_of(id)), listed)
}

/// A short id, and the name in the list.
pub(crate) type ShownName = (String, Option<String>);

/// Names of sessions that were resolved in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShownNames(Arc<Mutex<HashMap<SessionId, ShownName>>>);

impl ShownNames {
    fn get(&self, id: &SessionId) -> Option<ShownName> {
        self.names().get(id).cloned()
    }

    fn remember(&self, id: &SessionId, name: ShownName) {
        self.names().insert(id.clone(), name);
    }

    fn names(&self) -> MutexGuard<'_, HashMap<SessionId, ShownName>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The short id of a session, as far as it is known without the catalog.
pub(crate) fn beginning_of(id: &SessionId) -> String {
    id.as_str().chars().take(SHORT_ID).collect()
}

/// A name with a slash, or of something that is there. Ids and titles of sessions rarely look so.
fn is_a_path(text: &str) -> bool {
    is_spelled_as_a_path(text) || Path::new(text).exists()
}

pub(crate) fn is_spelled_as_a_path(text: &str) -> bool {
    text.contains(std::path::MAIN_SEPARATOR) || text.ends_with(".jsonl")
}
