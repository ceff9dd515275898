//! `offshoot archive` and `offshoot unarchive [SESSION] POINT`: a branch out of sight, or back.

use offshoot_api::{Request, request};
use offshoot_session::SessionTree;
use offshoot_session::address::short_id;
use offshoot_session::plan::{ArchiveRefused, plan_archive};

use super::branch::beginning;
use super::head::{Told, with_session};
use crate::args::ArchiveArgs;
use crate::doing::{Done, Step, exactly, take};
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
    let mut name = String::new();
    let Done { changed, .. } = take(here, &id, |tree, stamps| {
        let at = beginning(tree, at)?;
        name = short_id(tree, &at);
        let archived = archive == Archive::Away;
        let plan = plan_archive(tree, &at, archived, stamps).map_err(|refused| explained(tree, &refused))?;
        let (session, at) = (id.to_string(), exactly(&at));
        Ok(Step::of(plan, Request::Archive(request::Archive { session, at, archived })))
    })?;
    let unarchive = || words::bring_back(&with_session(here, "unarchive", session, &id), &name);
    let (first, hint) = match (changed.is_change, archive) {
        (false, _) => (words::nothing_to_change(), String::new()),
        (true, Archive::Away) => (words::archived(&name), unarchive()),
        (true, Archive::Back) => (words::unarchived(&name), String::new()),
    };
    Ok(Told { first, hint, ..Told::default() }.answer(&here.look))
}

fn explained(tree: &SessionTree, refused: &ArchiveRefused) -> Failure {
    match refused {
        ArchiveRefused::NotFound(_) => Failure::not_found(refused.to_string()),
        ArchiveRefused::HeadBelow { target, .. } => {
            Failure::refused(words::head_is_below(&short_id(tree, target))).hint(words::HEAD_IS_BELOW_HINT)
        }
    }
}
