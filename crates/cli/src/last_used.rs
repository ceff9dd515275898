//! The session that is meant where none is named: of those about this folder, the one that was used last, in whichever
//! program that was.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use offshoot_session::SessionId;

use crate::failure::Failure;
use crate::glance::glance;
use crate::here::Here;
use crate::known::Known;
use crate::naming::Lies;
use crate::register::Register;
use crate::which::Among;

/// Whose sessions are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Anybody,
    /// Only those that have a journal: nothing else can be taken back, or runs here.
    Ours,
}

/// A session about this very folder comes before one about a folder above it, which may be the whole home of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Nearness {
    depth: usize,
    used_at: i64,
}

pub(crate) fn last_used(here: &Here, among: Among, whose: Whose) -> Result<Option<Known>, Failure> {
    let mut register = Register::open(here)?;
    register.refresh()?;
    let mut found = register.about_this_folder()?;
    found.retain(|known| {
        known.name.standing.lies != Lies::Aside && (whose == Whose::Anybody || known.journal.is_some())
    });
    let mut unread = None;
    if among == Among::All || found.is_empty() {
        for id in register.untold_journals()? {
            match glance(here, &id) {
                Ok(Some(about)) if among == Among::All => {
                    found.push(Known { project: about.project, ..Known::by_journal(&id) });
                }
                Ok(_) => {}
                // No reason to give up, until there is no other: it might have been meant.
                Err(failure) => {
                    unread.get_or_insert(failure);
                }
            }
        }
    }
    let nearest = found.into_iter().filter_map(|known| Some((nearness(here, &known)?, known)));
    match nearest.max_by_key(|(nearness, _)| *nearness) {
        Some((_, known)) => Ok(Some(known)),
        None => unread.map_or(Ok(None), Err),
    }
}

/// `None`: it is about another folder.
fn nearness(here: &Here, known: &Known) -> Option<Nearness> {
    let project = Path::new(known.project.as_deref()?);
    let is_near = !project.as_os_str().is_empty() && here.folder.starts_with(project);
    let written = known.journal.as_ref().and_then(|id| written_at(here, id));
    let by_program = (known.name.standing.lies != Lies::Here).then_some(known.name.standing.updated_at.0);
    let used_at = written.max(by_program).unwrap_or_default();
    is_near.then(|| Nearness { depth: project.components().count(), used_at })
}

/// A journal is written whenever something is done with its session, in microseconds since 1970.
fn written_at(here: &Here, id: &SessionId) -> Option<i64> {
    let metadata = std::fs::metadata(here.store().ok()?.home().journal(id)).ok()?;
    let since = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH).duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}
