//! Packing what was only laid into the archive, little by little.
//!
//! A first sync has no time to pack well, and a session that is still written would be packed again and again. So a file
//! is laid into the archive almost as it is, which is as safe, and packed when it has come to rest and there is time.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::keep::AN_HOUR;
use super::rows::{bytes_of, path_of};
use super::walk::Sources;
use super::{Catalog, CatalogError};
use crate::archive::Archive;

pub(super) fn remember(batch: &Connection, place: &Path, modified: i64) -> Result<(), rusqlite::Error> {
    let sql = "INSERT OR REPLACE INTO loose(path, modified) VALUES (?1, ?2)";
    batch.prepare_cached(sql)?.execute(params![bytes_of(place), modified]).map(drop)
}

impl Catalog {
    /// Packs as long as there is time and something left. One that cannot be packed stays as it is: nothing is lost.
    pub fn pack_loose(
        &mut self,
        sources: &Sources,
        now: Timestamp,
        has_time: &mut dyn FnMut() -> bool,
    ) -> Result<(), CatalogError> {
        if !has_time() {
            return Ok(());
        }
        let archive = Archive::of(&sources.home);
        let loose = loose(&self.connection, now).map_err(|error| self.failed(error))?;
        if loose.is_empty() {
            return Ok(());
        }
        let Ok(Some(hold)) = archive.try_hold() else { return Ok(()) };
        for place in loose {
            if !has_time() {
                break;
            }
            let packed = archive.kept_at(&place).map(|kept| archive.pack(&hold, &kept));
            if matches!(packed, Some(Err(_))) {
                continue;
            }
            let sql = "DELETE FROM loose WHERE path = ?1";
            self.connection.execute(sql, [bytes_of(&place)]).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }
}

/// Those that have come to rest.
fn loose(connection: &Connection, now: Timestamp) -> Result<Vec<PathBuf>, rusqlite::Error> {
    let sql = "SELECT path FROM loose WHERE modified < ?1";
    let before = now.as_microsecond().saturating_sub(AN_HOUR).saturating_mul(1_000);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([before], |row| Ok(path_of(row.get_ref(0)?.as_bytes()?)))?;
    rows.collect()
}
