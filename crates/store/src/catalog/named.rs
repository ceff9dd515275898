//! Sessions by what a person calls them, and by the folder they are about.

use std::path::Path;

use rusqlite::ToSql;

use super::rows::SessionRow;
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

    /// Those about this folder or one above it, as they name it.
    pub fn about(&self, folder: &Path) -> Result<Vec<SessionRow>, CatalogError> {
        let above = folder.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        let above: Vec<String> = above.map(|folder| folder.to_string_lossy().into_owned()).collect();
        let one = |at: usize| format!("rtrim(project, '/') = rtrim(?{at}, '/')");
        self.rows_with(&above, (1..=above.len()).map(one).collect())
    }

    fn rows_with(&self, parameters: &[String], one_of: Vec<String>) -> Result<Vec<SessionRow>, CatalogError> {
        if one_of.is_empty() {
            return Ok(Vec::new());
        }
        let parameters: Vec<&dyn ToSql> = parameters.iter().map(|text| text as &dyn ToSql).collect();
        self.rows(&format!("state <> 1 AND ({})", one_of.join(" OR ")), &parameters)
    }
}
