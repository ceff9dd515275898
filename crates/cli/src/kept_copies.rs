//! Copies of the archive that are damaged, as the catalog knows them, and those that are not wanted.

use offshoot_store::archive::Depth;
use offshoot_store::catalog::{Catalog, DamagedCopy};

use crate::here::Here;

/// Nothing if there is no catalog: then no copy is recorded.
pub(crate) fn damaged_copies(here: &Here, depth: Depth) -> Vec<DamagedCopy> {
    let found = || {
        let path = here.home()?.join("catalog.db");
        let catalog = path.exists().then(|| Catalog::open(&path).ok()).flatten()?;
        catalog.damaged_copies(&here.sources(&[]).ok()?, depth, &mut |_, _| {}).ok()
    };
    found().unwrap_or_default()
}

/// How many sessions are forgotten, and how many of these are in the trash.
pub(crate) fn forgotten_counts(here: &Here) -> (usize, usize) {
    let forgotten = here.archive().and_then(|archive| archive.forgotten().ok()).unwrap_or_default();
    (forgotten.iter().count(), forgotten.iter().filter(|session| session.trash.is_some()).count())
}
