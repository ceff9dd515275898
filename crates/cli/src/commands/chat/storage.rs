//! Where a chat keeps its sessions: in the home, served by the engine process, or in memory (`--memory`), served by an
//! engine in this process. A chat in memory writes no file, so everything that the chat reads or records beside its
//! engine goes through [`Storage`].

use offshoot_engine::{Book, MemoryShelf, Shelf};
use offshoot_session::turn::{CaughtUpTurns, Writer, shown_of_unfinished};
use offshoot_session::{SessionId, SessionTree};

use crate::args::{BranchArgs, JsonArgs, SessionArg, TreeArgs, Words};
use crate::commands::{branch, tree};
use crate::engine::{Reached, in_memory, reach};
use crate::failure::Failure;
use crate::here::Here;
use crate::living::Running;
use crate::which::{self, beginning_of};
use crate::{last_used, stored, words};

pub(super) enum Storage {
    Home,
    Memory(MemoryShelf),
}

impl Storage {
    pub(super) fn is_memory(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// Connects to the engine that serves these sessions, starting it if necessary.
    pub(super) async fn engine(&self, here: &Here) -> Result<Reached, Failure> {
        match self {
            Self::Home => reach(here).await,
            Self::Memory(shelf) => in_memory(here, shelf),
        }
    }

    /// Whether no session exists yet.
    pub(super) fn is_empty(&self, here: &Here) -> bool {
        match self {
            Self::Home => {
                let sessions = here.store().ok().and_then(|store| Shelf::list(&store).ok());
                sessions.is_some_and(|sessions| sessions.is_empty())
            }
            Self::Memory(_) => false,
        }
    }

    pub(super) fn read(&self, here: &Here, id: &SessionId) -> Result<SessionTree, Failure> {
        match self {
            Self::Home => Ok(stored::read(here, id)?.tree),
            Self::Memory(shelf) => Ok(opened(shelf, id)?.tree().clone()),
        }
    }

    /// What `/tree` prints.
    pub(super) fn tree_drawn(
        &self,
        here: &Here,
        id: &SessionId,
        running: &Running,
    ) -> Result<String, Failure> {
        match self {
            Self::Home => {
                let (session, json) = (SessionArg::of(id.as_str()), JsonArgs { json: None });
                let args = TreeArgs { session, filter: None, search: None, json };
                Ok(tree::with_running(&args, running, here)?.text)
            }
            Self::Memory(shelf) => Ok(tree::turns_drawn(&with_drafts(shelf, id)?, running, &here.look)),
        }
    }

    /// What `/branch` prints.
    pub(super) fn branches_drawn(&self, here: &Here, id: &SessionId) -> Result<String, Failure> {
        match self {
            Self::Home => {
                let (words, json) = (Words::about(id.as_str()), JsonArgs { json: None });
                Ok(branch::run(&BranchArgs { command: None, words, all: false, json }, here)?.text)
            }
            Self::Memory(shelf) => Ok(branch::listed(opened(shelf, id)?.tree(), &here.look)),
        }
    }

    pub(super) fn short(&self, here: &Here, id: &SessionId) -> String {
        match self {
            Self::Home => which::short(here, id),
            Self::Memory(_) => beginning_of(id),
        }
    }

    /// Makes the session the current one of this directory. A session in memory never is: no command could find it.
    pub(super) fn record_use(&self, here: &Here, id: &SessionId) {
        match self {
            Self::Home => last_used::record_stored(here, id),
            Self::Memory(_) => {}
        }
    }
}

fn opened(shelf: &MemoryShelf, id: &SessionId) -> Result<Box<dyn Book>, Failure> {
    let book = shelf.open(id).map_err(|error| stored::read_failed(&error))?;
    let book = book.ok_or_else(|| Failure::not_found(words::no_session(id.as_str())))?;
    stored::must_stand(book.tree(), id)?;
    Ok(book)
}

/// The session with what a running turn has shown so far.
fn with_drafts(shelf: &MemoryShelf, id: &SessionId) -> Result<SessionTree, Failure> {
    let book = opened(shelf, id)?;
    let left = book.drafts_left().unwrap_or_default();
    // The turn runs here, so nothing of it is missing.
    let shown = shown_of_unfinished(book.tree(), &left, &CaughtUpTurns::new(), Writer::Alive);
    Ok(book.tree().extended(&shown).unwrap_or_else(|_| book.tree().clone()))
}
