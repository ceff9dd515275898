//! What a crash has left: shown to whoever looks, ended before the first change.
//!
//! A session is opened to look at it. Turns that a crash has cut off are seen with the end that they will have, and
//! nothing is written: no lock, no repair, no draft removed. The first request that changes something ends them. Both
//! say the same, because the end of a turn follows from the turn ([`plan_recovery`]).

use offshoot_api::ApiError;
use offshoot_api::event::EventKind;
use offshoot_session::turn::{Writer, plan_recovery, shown_of_unfinished, unfinished_turns};
use offshoot_session::{Record, SessionTree};
use offshoot_store::{Basis, Generation};

use super::SessionActor;
use super::commit::Snapshot;
use crate::failure::{not_drafted, not_locked, not_read, not_written};
use crate::shelf::{Book, Written};
use crate::transcripts::Transcripts;

/// A crash had left something half written at the end of the journal.
pub(super) const REPAIRED: &str = "the end of this session was damaged and has been repaired: 1 unfinished record was set \
     aside (`offshoot fsck` has the details)";

/// Turns without an end that do not run here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Unended {
    /// What is seen of them beyond the journal.
    shown: Vec<Record>,
    /// There are drafts, of these turns or of others that have ended since.
    has_drafts: bool,
}

impl Unended {
    pub(super) fn is_nothing(&self) -> bool {
        self.shown.is_empty() && !self.has_drafts
    }

    /// Looks, and leaves everything as it is. Drafts that cannot be read are told by the first change. `whole`: a state
    /// in which every turn had its end, so that a long session is not searched again and again.
    pub(super) fn of(book: &mut dyn Book, whole: Option<Generation>, transcripts: &Transcripts) -> Self {
        let left = book.drafts_left().unwrap_or_default();
        if left.is_empty() && whole == Some(book.generation()) {
            return Self::default();
        }
        if unfinished_turns(book.tree(), &left).is_empty() {
            return Self { shown: Vec::new(), has_drafts: !left.is_empty() };
        }
        let writer = if book.is_written_elsewhere() { Writer::Alive } else { Writer::Gone };
        if writer == Writer::Gone {
            // It may have ended between reading the journal and asking for its writer. A journal that cannot be read
            // now is told by the next look.
            let _ = book.refresh();
        }
        let left = book.drafts_left().unwrap_or_default();
        let caught_up = transcripts.catch_up(book.tree(), &left);
        let shown = shown_of_unfinished(book.tree(), &left, &caught_up, writer);
        Self { shown, has_drafts: !left.is_empty() }
    }
}

impl SessionActor {
    /// The session with what a crash has left, as it will be.
    pub(super) fn settled(&self) -> SessionTree {
        match self.unended.shown.is_empty() {
            true => self.tree.clone(),
            false => self.tree.extended(&self.unended.shown).unwrap_or_else(|_| self.tree.clone()),
        }
    }

    /// Those that agents keep, as the caller sees them.
    pub(super) fn transcripts(&self) -> Transcripts {
        Transcripts::new(self.shared.agents.clone(), self.scope().environment())
    }

    /// Before anything is changed: turns that a crash has cut off get their end.
    pub(super) async fn recover(&mut self) -> Result<(), ApiError> {
        if !self.turns.is_empty() || self.unended.is_nothing() {
            return Ok(());
        }
        let (known, seen) = (self.generation, self.settled().log_length());
        let transcripts = self.transcripts();
        let recovered = self.with_book(move |book| {
            book.hold().map_err(|error| not_locked(&error))?;
            let ended = end_unfinished_turns(book, &transcripts);
            book.release();
            ended.map(|(written, records)| (written, records, Snapshot::newer(book, known)))
        });
        let (written, records, snapshot) = recovered.await??;
        let shown = std::mem::take(&mut self.unended).shown;
        match snapshot {
            // It is what everybody who looked has seen.
            Some(now) if shown == records && now.tree.log_length() == seen => drop(self.replace_tree(now)),
            snapshot => self.caught_up(snapshot),
        }
        if written.repaired.is_some() {
            self.publish(None, EventKind::Notice { text: REPAIRED.to_owned() });
        }
        Ok(())
    }
}

fn end_unfinished_turns(
    book: &mut dyn Book,
    transcripts: &Transcripts,
) -> Result<(Written, Vec<Record>), ApiError> {
    book.refresh().map_err(|error| not_read(&error))?;
    let left = book.drafts_left().map_err(|error| not_drafted(&error))?;
    let records = plan_recovery(book.tree(), &left, &transcripts.catch_up(book.tree(), &left));
    let written = match records.is_empty() {
        true => Written::default(),
        false => book.append(Basis::Lock, &records).map_err(|error| not_written(&error))?,
    };
    if !left.is_empty() {
        book.clear_drafts().map_err(|error| not_drafted(&error))?;
    }
    Ok((written, records))
}
