//! What tools were given and answered, indexed for whoever wants that.
//!
//! Tools say most of what is in a session, so this index is the largest by far and only made where it is asked for. It
//! tells in which sessions words may stand; those are looked through. A session that has changed since is looked through
//! until it is indexed again.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::parts::Reached;
use super::query::{Query, spread};
use super::scan;
use super::sync::begin;
use super::walk::Sources;
use super::write::forget_tools;
use super::{Catalog, CatalogError};

/// Sessions whose tools are not indexed as they are now.
const LEFT: &str = "state <> 1 AND NOT EXISTS (SELECT 1 FROM tooled WHERE tooled.session = session.key
    AND tooled.length = session.length AND tooled.modified = session.modified)";

impl Catalog {
    /// Whether tools shall be indexed from now on. What is indexed is thrown away where they shall not.
    pub fn want_tools(&mut self, is_wanted: bool) -> Result<(), CatalogError> {
        let change = |connection: &mut Connection| -> Result<(), rusqlite::Error> {
            let batch = begin(connection)?;
            let sql = "INSERT OR REPLACE INTO fact(name, value) VALUES ('wants_tools', ?1)";
            batch.execute(sql, [is_wanted])?;
            if !is_wanted {
                batch.execute("DELETE FROM tooled", [])?;
                batch.execute("INSERT INTO tools(tools) VALUES ('delete-all')", [])?;
            }
            batch.commit()
        };
        change(&mut self.connection).map_err(|error| self.failed(error))
    }

    pub fn wants_tools(&self) -> Result<bool, CatalogError> {
        let sql = "SELECT count(*) FROM fact WHERE name = 'wants_tools' AND value = 1";
        let wants = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        wants.map(|count| count > 0).map_err(|error| self.failed(error))
    }

    /// Indexes tools as long as there is time and something left, where that is wanted.
    pub fn index_tools(
        &mut self,
        sources: &Sources,
        has_time: &mut dyn FnMut() -> bool,
    ) -> Result<Reached, CatalogError> {
        if !self.wants_tools()? {
            return Ok(Reached::default());
        }
        let lines = self.lines().map_err(|error| self.failed(error))?;
        for row in self.rows(LEFT, &[])? {
            if !has_time() {
                break;
            }
            let Ok(text) = scan::tools_of(&row, lines.get(&row.key).copied(), sources) else { continue };
            let write = |connection: &mut Connection| -> Result<(), rusqlite::Error> {
                let batch = begin(connection)?;
                forget_tools(&batch, row.key)?;
                let sql = "INSERT INTO tooled(session, length, modified)
                    SELECT key, length, modified FROM session WHERE key = ?1 AND length = ?2 AND modified = ?3";
                let is_same = batch.execute(sql, params![row.key, row.length as i64, row.modified])? > 0;
                if is_same {
                    batch
                        .prepare_cached("INSERT INTO tools(rowid, text) VALUES (?1, ?2)")?
                        .execute(params![row.key, spread(&text)])?;
                }
                batch.commit()
            };
            write(&mut self.connection).map_err(|error| self.failed(error))?;
        }
        self.tools_reached()
    }

    /// In how many sessions what tools said is indexed.
    pub fn tools_reached(&self) -> Result<Reached, CatalogError> {
        let sql = format!("SELECT count(*), count(*) FILTER (WHERE {LEFT}) FROM session WHERE state <> 1");
        let read = self.connection.query_row(&sql, [], |row| {
            let (of, left): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok(Reached { done: (of - left) as u64, of: of as u64 })
        });
        read.map_err(|error| self.failed(error))
    }

    /// The sessions in which this may stand, in what was said or by tools; `None` where any may.
    pub(super) fn sessions_with(&self, query: &Query) -> Result<Option<HashSet<i64>>, CatalogError> {
        let Some(words) = query.plain_words().filter(|words| !words.is_empty()) else { return Ok(None) };
        if !self.wants_tools()? {
            return Ok(None);
        }
        let asked: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let sql = format!(
            "SELECT rowid FROM tools WHERE tools MATCH ?1
             UNION SELECT rowid >> {} FROM words WHERE words MATCH ?1
             UNION SELECT key FROM session WHERE {LEFT}",
            super::schema::ROOM
        );
        let read = || -> Result<HashSet<i64>, rusqlite::Error> {
            let mut statement = self.connection.prepare_cached(&sql)?;
            statement.query_map([asked.join(" AND ")], |row| row.get(0))?.collect()
        };
        read().map(Some).map_err(|error| self.failed(error))
    }
}
