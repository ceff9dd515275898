//! Many sessions on disk at a glance, by the catalog.
//!
//! The catalog knows how each journal was when it was read. One that has not changed since need not be read again, and a
//! list of thousands costs a look at each of them.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use jiff::Timestamp;
use offshoot_session::SessionId;
use offshoot_store::JournalStore;
use offshoot_store::catalog::{Catalog, SessionRow, State};

use super::Glance;

/// Where the catalog cannot be used nothing is known.
pub(super) fn glances(store: &JournalStore) -> HashMap<SessionId, Glance> {
    let path = store.home().root().join("catalog.db");
    let rows = path.is_file().then(|| Catalog::open(&path).and_then(|catalog| catalog.sessions()).ok());
    let rows = rows.flatten().unwrap_or_default();
    rows.into_iter().filter(|row| is_as_it_was(store, row)).filter_map(glance).collect()
}

fn is_as_it_was(store: &JournalStore, row: &SessionRow) -> bool {
    let is_journal = row.is_own
        && row.state == State::Whole
        && row.path == store.home().journal(&SessionId::from(row.id.as_str()));
    is_journal
        && std::fs::metadata(&row.path).is_ok_and(|file| {
            let modified = file.mtime().saturating_mul(1_000_000_000).saturating_add(file.mtime_nsec());
            (file.len(), file.ino(), modified) == (row.length, row.inode, row.modified)
        })
}

fn glance(row: SessionRow) -> Option<(SessionId, Glance)> {
    let glance = Glance {
        title: row.title.or(row.first_prompt),
        project: row.project,
        agent: row.agent,
        prompts: usize::try_from(row.prompts).ok()?,
        parent: row.parent,
        active_at: Timestamp::from_microsecond(row.updated_at).ok()?,
    };
    Some((row.id.as_str().into(), glance))
}
