//! What the catalog has to do with sessions that are forgotten, or kept again.

use std::path::Path;

use rusqlite::Connection;

use super::keep::has_news;
use super::rows::bytes_of;
use super::{Catalog, CatalogError};

impl Catalog {
    /// The next [`Catalog::keep`] packs this file, whatever was recorded of it.
    pub fn keep_again(&mut self, original: &Path) -> Result<(), CatalogError> {
        let again = |connection: &Connection| {
            has_news(connection)?;
            let sql = "DELETE FROM archived WHERE session IN (SELECT key FROM session WHERE path = ?1)";
            connection.execute(sql, [bytes_of(original)]).map(drop)
        };
        again(&self.connection).map_err(|error| self.failed(error))
    }

    /// Writes the catalog again without what was deleted from it: words stay in free pages and in the index until then. Also
    /// deletes the titles that lists of their agent had for this session.
    pub fn erase_deleted(&mut self, session: &str) -> Result<(), CatalogError> {
        let erase = |connection: &Connection| {
            let is_listed = "SELECT 1 FROM session WHERE session.id = title.id";
            let sql = format!("DELETE FROM title WHERE id = ?1 AND NOT EXISTS ({is_listed})");
            connection.execute(&sql, [session])?;
            for index in ["words", "parts", "tools"] {
                connection.execute(&format!("INSERT INTO {index}({index}) VALUES ('optimize')"), [])?;
            }
            connection.execute_batch("VACUUM")?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        erase(&self.connection).map_err(|error| self.failed(error))
    }
}
