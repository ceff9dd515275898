//! Sessions by what a person calls them, and by the folder they are about.

use std::path::Path;

use rusqlite::ToSql;

use super::rows::{SessionRow, hidden};
use super::{Catalog, CatalogError};

/// More than so many are picked from all.
const FEW: usize = 100;

impl Catalog {
    /// Those whose id begins like one of these, side files among them.
    pub fn beginning_like(&self, beginnings: &[String]) -> Result<Vec<SessionRow>, CatalogError> {
        if beginnings.len() > FEW {
            return self.sessions();
        }
        let one = |at: usize| format!("substr(id, 1, length(?{at})) = ?{at} COLLATE NOCASE");
        self.rows_with(beginnings, (1..=beginnings.len()).map(one).collect())
    }

    /// The same, as far as a list shows them: without the sessions of agents that belong to one of ours.
    pub fn listed_like(&self, beginnings: &[String]) -> Result<Vec<SessionRow>, CatalogError> {
        let mut rows = self.beginning_like(beginnings)?;
        let hidden = hidden(&self.connection).map_err(|error| self.failed(error))?;
        rows.retain(|row| row.is_own || !hidden.contains(&row.key));
        Ok(rows)
    }

    /// Those about this folder or one above it, as they name it.
    pub fn about(&self, folder: &Path) -> Result<Vec<SessionRow>, CatalogError> {
        let above = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let above: Vec<String> = above.map(|folder| folder.to_string_lossy().into_owned()).collect();
        let one = |at: usize| format!("rtrim(project, '/') = rtrim(?{at}, '/')");
        self.rows_with(&above, (1..=above.len()).map(one).collect())
    }

    /// Those whose title and first prompt fit. Reads no more than these two of the others.
    pub fn named(
        &self,
        fits: impl Fn(Option<&str>, Option<&str>) -> bool,
    ) -> Result<Vec<SessionRow>, CatalogError> {
        let keys = self.keys_named(fits).map_err(|error| self.failed(error))?;
        let keys: Vec<String> = keys.iter().map(i64::to_string).collect();
        self.rows(&format!("key IN ({})", keys.join(", ")), &[])
    }

    fn keys_named(
        &self,
        fits: impl Fn(Option<&str>, Option<&str>) -> bool,
    ) -> Result<Vec<i64>, rusqlite::Error> {
        let sql = "SELECT key, title, first_prompt FROM session WHERE state <> 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut keys = Vec::new();
        while let Some(row) = rows.next()? {
            let text = |at: usize| row.get_ref(at)?.as_str_or_null().map_err(rusqlite::Error::from);
            if fits(text(1)?, text(2)?) {
                keys.push(row.get(0)?);
            }
        }
        Ok(keys)
    }

    fn rows_with(&self, parameters: &[String], one_of: Vec<String>) -> Result<Vec<SessionRow>, CatalogError> {
        if one_of.is_empty() {
            return Ok(Vec::new());
        }
        let parameters: Vec<&dyn ToSql> = parameters.iter().map(|text| text as &dyn ToSql).collect();
        self.rows(&format!("state <> 1 AND ({})", one_of.join(" OR ")), &parameters)
    }
}
