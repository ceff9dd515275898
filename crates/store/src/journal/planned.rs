//! Writing a step that was planned before the lock was taken.
//!
//! A plan is made on a tree. Between planning and writing another process may append to the journal, or another
//! program to the file that the journal continues. [`Generation`] names the state of the tree a plan was made on, and
//! a step whose generation is not the current one is not written: the caller plans again.
//!
//! Catching up under the lock notices every such change: a journal that was replaced has another identity, one that
//! was cut or rewritten fails the comparison of its seal, one that was appended to is longer, and the stamp of a
//! foreign file is its length, its time of change and its identity.

use std::borrow::Cow;

use offshoot_session::Record;
use thiserror::Error;

use super::load::Foreign;
use super::{Journal, Refreshed};
use crate::store::{AppendError, Appended, ReadError, WriteError};

/// One state of the tree in one handle. It changes with every append and with everything that catching up brings.
/// Generations of different handles cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generation(u64);

impl Generation {
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// Why the records of a step may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// They were planned on this state; if it is no longer the current one, nothing is written.
    Generation(Generation),
    /// The lock has been held since they were planned, so no other process can have written the journal. The rules
    /// of the tree decide alone. A foreign file that has changed meanwhile is read afterwards.
    Lock,
}

/// The session has changed since the step was planned.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the session has changed since the step was planned")]
pub struct Stale;

impl Journal {
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Writes a planned step as a whole, or nothing. After [`Stale`] the tree is the one to plan on again.
    pub fn append_planned(
        &mut self,
        basis: Basis,
        records: &[Record],
    ) -> Result<Appended, WriteError<Stale>> {
        match basis {
            Basis::Generation(base) => self.write_with(Foreign::Read, |journal| {
                if journal.generation == base { Ok(Cow::Borrowed(records)) } else { Err(Stale) }
            }),
            Basis::Lock => self.write_with(Foreign::Leave, |_| Ok(Cow::Borrowed(records))),
        }
    }

    /// Reads the foreign file again if it has changed.
    pub fn refresh_foreign(&mut self) -> Result<Refreshed, ReadError> {
        if !self.is_theirs_changed() {
            return Ok(Refreshed::Nothing);
        }
        self.refresh()
    }

    /// Locks, catches up, asks what to write and writes it.
    pub(super) fn write_with<'r, E>(
        &mut self,
        foreign: Foreign,
        plan: impl FnOnce(&Self) -> Result<Cow<'r, [Record]>, E>,
    ) -> Result<Appended, WriteError<E>> {
        let _lock = match self.held {
            Some(_) => None,
            None => Some(self.lock().map_err(AppendError::from)?),
        };
        match self.unwritten.is_some() {
            true => drop(self.catch_up_unwritten(foreign).map_err(AppendError::from)?),
            false => drop(self.catch_up_to_write(foreign)?),
        }
        let records = plan(self).map_err(WriteError::Declined)?;
        Ok(self.append(&records)?)
    }
}
