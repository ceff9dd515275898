//! The current session: the one that a command without SESSION means.
//!
//! One rule for all commands, reading and writing. In the current directory, the session that an Offshoot command used
//! there last is current; else the newest session of any agent that belongs to the directory. If there is neither, the
//! parent directory decides in the same way, and so on upwards. What was used in a parent directory counts only if the
//! session belongs to a directory that contains the current one: looking at any session from a home directory must not
//! change the default of every project below it.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use offshoot_session::SessionId;

use crate::failure::Failure;
use crate::glance::glance;
use crate::here::Here;
use crate::known::Known;
use crate::last_used::{UsedSession, sessions_used_in};
use crate::naming::Lies;
use crate::register::Register;
use crate::which::Among;

/// Returns `None` if no session was used here and none belongs to this directory or one above it.
pub(crate) fn current_session(here: &Here, among: Among) -> Result<Option<Known>, Failure> {
    current_in(&mut Register::open(here)?, here, among)
}

/// Brings the register up to date only if the session used last does not decide.
pub(crate) fn current_in(
    register: &mut Register<'_>,
    here: &Here,
    among: Among,
) -> Result<Option<Known>, Failure> {
    // A session pinned by `offshoot use` comes first here, once that command exists.
    for used in sessions_used_in(here, &here.folder) {
        if let Some(known) = register.used(&used, among)? {
            return Ok(Some(known));
        }
    }
    register.refresh()?;
    let Nearby { sessions, unread } = nearby(register, here, among)?;
    for directory in here.folder.ancestors() {
        let is_used = |used: &UsedSession| sessions.iter().find(|known| used.is(known));
        let used = sessions_used_in(here, directory);
        if let Some(known) = used.iter().find_map(is_used).or_else(|| newest(here, &sessions, directory)) {
            return Ok(Some(known.clone()));
        }
    }
    unread.map_or(Ok(None), Err)
}

/// The sessions that belong to the current directory or one above it.
struct Nearby {
    sessions: Vec<Known>,
    /// Why a journal could not be read that might belong to them.
    unread: Option<Failure>,
}

fn nearby(register: &mut Register<'_>, here: &Here, among: Among) -> Result<Nearby, Failure> {
    let mut sessions = register.about_this_folder()?;
    sessions.retain(|known| known.name.standing.lies != Lies::Aside);
    let mut unread = None;
    if among == Among::All || sessions.is_empty() {
        for id in register.untold_journals()? {
            match glance(here, &id) {
                Ok(Some(about)) if among == Among::All => {
                    sessions.push(Known { project: about.project, ..Known::by_journal(&id) });
                }
                Ok(_) => {}
                // Reported only if no other session is found.
                Err(failure) => {
                    unread.get_or_insert(failure);
                }
            }
        }
    }
    Ok(Nearby { sessions, unread })
}

fn newest<'k>(here: &Here, sessions: &'k [Known], directory: &Path) -> Option<&'k Known> {
    let belongs = |known: &&Known| known.project.as_deref().is_some_and(|of| Path::new(of) == directory);
    sessions.iter().filter(belongs).max_by_key(|known| updated_at(here, known))
}

/// In microseconds since 1970. The catalog may lag behind a journal, so the journal's own time counts.
fn updated_at(here: &Here, known: &Known) -> i64 {
    let written = known.journal.as_ref().and_then(|id| written_at(here, id));
    let by_agent = (known.name.standing.lies != Lies::Here).then_some(known.name.standing.updated_at.0);
    written.max(by_agent).unwrap_or_default()
}

fn written_at(here: &Here, id: &SessionId) -> Option<i64> {
    let metadata = std::fs::metadata(here.store().ok()?.home().journal(id)).ok()?;
    let since = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH).duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}
