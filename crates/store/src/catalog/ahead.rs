//! Packing new files while they are read.
//!
//! A first sync waits for its one writer, so there is a processor to spare, and the bytes of a file that was just read
//! are near. What was packed so is not kept yet: it counts when [`Catalog::keep`](super::Catalog::keep) has seen to it
//! that it is safe, as if it had packed it itself.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::read::Outcome;
use super::sync::Job;
use super::walk::Kind;
use crate::archive::{Archive, AsItIs, Hold};

/// What packing came to, by the path of the original.
pub(super) type Packed = HashMap<PathBuf, AsItIs>;

pub(super) struct Ahead<'a> {
    archive: &'a Archive,
    hold: Hold,
    /// In microseconds since 1970.
    now: i64,
    packed: Mutex<Packed>,
}

impl<'a> Ahead<'a> {
    /// `None` where nothing is new, or the archive is not to be had: then it is left to whoever keeps afterwards.
    pub(super) fn of(archive: &'a Archive, jobs: &[Job], now: i64) -> Option<Self> {
        jobs.iter().any(is_new).then_some(())?;
        let hold = archive.try_hold().ok().flatten()?;
        Some(Self { archive, hold, now, packed: Mutex::default() })
    }

    /// What cannot be packed is tried again afterwards, and told then.
    pub(super) fn pack(&self, job: &Job) {
        if let Ok(packed) = self.archive.keep(&self.hold, &job.seen.path, self.now) {
            let mut all = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(job.seen.path.clone(), packed);
        }
    }

    pub(super) fn packed(self) -> Packed {
        self.packed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files that are known have rows to be compared with, and mostly only grew by a little.
fn is_new(job: &Job) -> bool {
    job.known.is_none() && matches!(job.seen.kind, Kind::File)
}

pub(super) fn is_to_be_packed(job: &Job, outcome: &Outcome) -> bool {
    is_new(job) && matches!(outcome, Outcome::All(_) | Outcome::More(_))
}
