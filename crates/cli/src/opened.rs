//! A session to look at, wherever it lies.

use offshoot_session::address::{AddressError, resolve};
use offshoot_session::format::Flaw;
use offshoot_session::{EntryId, SessionTree};
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
        Finding::TornTail(_) | Finding::Odd(_) => false,
    }
}

fn told(findings: &[Finding]) -> Vec<String> {
    let damaged = findings.iter().filter(|finding| is_damage(finding)).count();
    let is_torn = findings.iter().any(|finding| matches!(finding, Finding::TornTail(_)));
    let damaged = (damaged > 0).then(|| words::reading::damaged(damaged));
    damaged.into_iter().chain(is_torn.then(|| words::reading::TORN.to_owned())).collect()
}

/// The entry that a person means by `text`.
pub(crate) fn point(tree: &SessionTree, text: &str) -> Result<EntryId, Failure> {
    resolve(tree, text).map_err(|error| {
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
