//! How far back a model reads.

use std::sync::Arc;

use crate::{Body, Compaction, Entry};

/// Where the part of a path begins that still counts.
///
/// ```text
///  u1 - a1 - u2 - a2 - k - u3 - a3      k keeps u2
///            └──────────────────────
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Index of the latest compaction, unless the context was cleared behind it.
    pub(crate) compaction: Option<usize>,
    /// Index of the first entry that counts: the first kept one, the compaction where it keeps nothing, or
    /// simply the first.
    pub(crate) start: usize,
}

impl Reach {
    pub(crate) fn of(path: &[&Arc<Entry>]) -> Self {
        let cleared = path.iter().rposition(|entry| matches!(entry.body, Body::Cleared));
        let floor = cleared.map_or(0, |at| at + 1);
        let latest = path.iter().rposition(|entry| as_compaction(entry).is_some()).filter(|at| *at >= floor);
        let Some(at) = latest else { return Self { compaction: None, start: floor } };
        let first_kept = path.get(at).and_then(|entry| as_compaction(entry)?.first_kept.as_ref());
        let kept = path.iter().take(at).skip(floor).position(|entry| Some(&entry.id) == first_kept);
        Self { compaction: Some(at), start: kept.map_or(at, |offset| floor + offset) }
    }
}

pub(crate) fn as_compaction(entry: &Entry) -> Option<&Compaction> {
    if let Body::Compaction(compaction) = &entry.body { Some(compaction) } else { None }
}
