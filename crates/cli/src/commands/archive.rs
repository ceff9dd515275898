//! `offshoot archive` and `offshoot unarchive [SESSION] POINT`: a branch out of sight, or back.

use offshoot_api::{Request, request};

use super::head::{Told, session_line, short_of, with_session};
use crate::args::ArchiveArgs;
use crate::change::change;
use crate::failure::Failure;
use crate::here::Here;
use crate::which::stored;
use crate::{Answer, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Archive {
    Away,
    Back,
}

pub(crate) fn run(args: &ArchiveArgs, archive: Archive, here: &Here) -> Result<Answer, Failure> {
    let (session, [at]) = args.words.split("POINT")?;
    let id = stored(here, session)?;
    let request = request::Archive {
        session: id.to_string(),
        at: at.into(),
        archived: archive == Archive::Away,
        client_id: Some(here.client_id()),
    };
    let changed = change(here, &id, Request::Archive(request))?;
    let name = &short_of(changed.place.as_ref(), &here.look);
    let unarchive = || words::bring_back(&with_session(here, "unarchive", session, &id), name);
    let rest = session_line(here, &changed.session);
    let (first, hint) = match (changed.changed, archive) {
        (false, _) => return Ok(Answer { text: words::nothing_to_change(), ..Answer::default() }),
        (true, Archive::Away) => (words::archived(name), unarchive()),
        (true, Archive::Back) => (words::unarchived(name), String::new()),
    };
    Ok(Told { first, rest, hint }.answer(&here.look))
}
