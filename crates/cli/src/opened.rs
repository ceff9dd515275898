//! A session to look at, wherever it lies.

use offshoot_session::address::{AddressError, Point, Want, resolve_point};
use offshoot_session::format::Flaw;
use offshoot_session::{EntryId, Odd, SessionTree};
use offshoot_store::foreign::SourceTrouble;
use offshoot_store::{Finding, Loaded};

use crate::failure::Failure;
use crate::here::Here;
use crate::session_file::SessionFile;
use crate::which::Which;
use crate::{session_file, stored, words};

#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) tree: SessionTree,
    /// What is not as it was written, for the person beside the answer.
    pub(crate) notes: Vec<String>,
}

pub(crate) fn open_this(here: &Here, which: &Which) -> Result<Opened, Failure> {
    match which {
        Which::File(path) => {
            let SessionFile { tree, notes, .. } = session_file::open(here, path)?;
            Ok(Opened { tree, notes })
        }
        Which::Stored(id) => {
            let Loaded { tree, findings } = stored::read(here, id)?;
            Ok(Opened { tree, notes: told(&findings) })
        }
    }
}

/// Whether something of the journal cannot be read, and is not only odd.
pub(crate) fn is_damage(finding: &Finding) -> bool {
    match finding {
        Finding::Flaw(found) => matches!(found.flaw, Flaw::Damaged { .. } | Flaw::Blob { .. }),
        Finding::TornTail(_) | Finding::Odd(_) | Finding::Theirs(_) | Finding::Source(_) => false,
    }
}

pub(crate) fn told(findings: &[Finding]) -> Vec<String> {
    let lines = |finding: &Finding| match finding {
        Finding::Flaw(found) => usize::try_from(found.flaw.lines()).unwrap_or(usize::MAX),
        Finding::TornTail(_) | Finding::Odd(_) | Finding::Theirs(_) | Finding::Source(_) => 1,
    };
    let damaged: usize = findings.iter().filter(|finding| is_damage(finding)).map(lines).sum();
    let is_torn = findings.iter().any(|finding| matches!(finding, Finding::TornTail(_)));
    let damaged = (damaged > 0).then(|| words::reading::damaged(damaged));
    let mut told: Vec<String> = damaged.into_iter().collect();
    told.extend(is_torn.then(|| words::reading::TORN.to_owned()));
    let is_half = findings.iter().any(
        |finding| matches!(finding, Finding::Theirs(oddity) if matches!(oddity.what, Odd::TornTail { .. })),
    );
    told.extend(is_half.then(|| words::reading::UNFINISHED.to_owned()));
    let lacks_something = findings.iter().any(is_about_missing);
    told.extend(findings.iter().filter_map(|finding| match finding {
        // Programs write their files anew for reasons of their own.
        Finding::Source(SourceTrouble::Rewritten { .. }) if !lacks_something => None,
        Finding::Source(trouble) => Some(words::reading::source(trouble)),
        Finding::Flaw(_) | Finding::TornTail(_) | Finding::Odd(_) | Finding::Theirs(_) => None,
    }));
    told
}

fn is_about_missing(finding: &Finding) -> bool {
    let Finding::Odd(oddity) = finding else { return false };
    matches!(oddity.what, Odd::MissingParent { .. } | Odd::HeadToMissing { .. } | Odd::MarkOnMissing(_))
}

/// The entry that a person means by a point.
pub(crate) fn point(tree: &SessionTree, point: &Point, want: Want) -> Result<EntryId, Failure> {
    resolve_point(tree, point, want).map_err(|error| {
        let hint = match &error {
            AddressError::Ambiguous { .. } => words::AMBIGUOUS_HINT,
            AddressError::TooShort(_) => words::TOO_SHORT_HINT,
            AddressError::NoTurn { .. }
            | AddressError::NoMessage { .. }
            | AddressError::NoHead
            | AddressError::NotFound(_) => words::POINT_HINT,
        };
        Failure::not_found(error.to_string()).hint(hint)
    })
}
