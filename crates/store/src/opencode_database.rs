//! The database of opencode, read where it lies and left as it is.
//!
//! It belongs to another program, which may be running. Nothing in its folder is written, created or locked for
//! long, and what is read is one state of the whole database. How depends on what lies beside it:
//!
//! | beside the database | how it is read |
//! |---|---|
//! | nothing | as bytes that nobody changes (`immutable`); afterwards its file is looked at, and if somebody began to write after all it is read again |
//! | `-wal` and `-shm` | as every reader does, in one transaction, with the shared memory opened for reading only (`readonly_shm`): what the program commits meanwhile is not seen |
//! | `-wal` or `-journal` alone | a program ended in the middle, and reading would have to repair. That is done to a copy |
//!
//! An ordinary read-only connection would not do: SQLite creates `-wal` and `-shm` where they are missing, and
//! leaves them there.

mod still;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use offshoot_session::file_name::file_name;
use offshoot_transcripts::Transcript;
use offshoot_transcripts::opencode::{Row, Rows, Table, read_rows};
use rusqlite::backup::Backup;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::files::FileError;
use still::{How, Marks, open_still};

/// So often a database that changes while it is read is read again.
const TRIES: usize = 5;

/// So many pages of a database are copied at a time.
const PAGES: i32 = 1_024;

#[derive(Debug)]
pub struct OpencodeDatabase {
    path: PathBuf,
    scratch: PathBuf,
    opened: Opened,
}

#[derive(Debug)]
struct Opened {
    connection: Connection,
    how: How,
    /// The files as they were before the connection was made.
    before: Marks,
    /// Without links.
    path: PathBuf,
}

/// One session of a database, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    pub id: String,
    pub title: Option<String>,
    pub directory: Option<String>,
    pub updated_at: Option<Timestamp>,
    pub messages: u32,
}

#[derive(Debug, Error)]
pub enum DatabaseError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{}` is a database, but not one of opencode", path.display())]
    NotOpencode { path: PathBuf },
    #[error("`{}` was changed each time while it was read", path.display())]
    Changing { path: PathBuf },
    #[error("could not read the database `{}`", path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

impl OpencodeDatabase {
    /// Whether a file begins as databases do.
    pub fn is_database(first_bytes: &[u8]) -> bool {
        first_bytes.starts_with(b"SQLite format 3\0")
    }

    /// `scratch` is where a copy may lie while it is needed.
    pub fn open(path: &Path, scratch: &Path) -> Result<Self, DatabaseError> {
        let opened = open_still(path, scratch)?;
        let mut database = Self { path: path.to_owned(), scratch: scratch.to_owned(), opened };
        let has_tables = database.look(|connection| {
            let mut has_all = true;
            for table in [Table::Session, Table::Message, Table::Part] {
                let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
                let count: u32 = connection.query_row(sql, [table.name()], |row| row.get(0))?;
                has_all &= count == 1;
            }
            Ok(has_all)
        })?;
        if has_tables { Ok(database) } else { Err(DatabaseError::NotOpencode { path: path.to_owned() }) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every session, newest first; also one of which only messages are left.
    pub fn sessions(&mut self) -> Result<Vec<ListedSession>, DatabaseError> {
        self.look(|connection| {
            let sql = "SELECT all_ids.id, session.title, session.directory, session.time_updated,
                    (SELECT count(*) FROM message WHERE message.session_id = all_ids.id)
                FROM (SELECT id FROM session UNION SELECT session_id FROM message) AS all_ids
                LEFT JOIN session ON session.id = all_ids.id
                ORDER BY session.time_updated DESC, all_ids.id";
            let mut statement = connection.prepare(sql)?;
            let listed = statement.query_map([], |row| {
                let updated_at: Option<i64> = row.get(3)?;
                Ok(ListedSession {
                    id: row.get(0)?,
                    title: row.get(1)?,
                    directory: row.get(2)?,
                    updated_at: updated_at.and_then(|at| Timestamp::from_millisecond(at).ok()),
                    messages: row.get(4)?,
                })
            })?;
            listed.collect()
        })
    }

    /// One session; `None` where the database has none under this id.
    pub fn read(&mut self, id: &str) -> Result<Option<Transcript>, DatabaseError> {
        Ok(self.rows(id)?.map(read_rows))
    }

    /// The rows of one session, each with its columns as its source. A session is named by its id or, in a path, by the file
    /// name that stands for it.
    pub fn rows(&mut self, name: &str) -> Result<Option<Rows>, DatabaseError> {
        if let Some(rows) = self.rows_of(name)? {
            return Ok(Some(rows));
        }
        let named = self.sessions()?.into_iter().find(|session| file_name(&session.id) == name);
        named.map_or(Ok(None), |session| self.rows_of(&session.id))
    }

    fn rows_of(&mut self, id: &str) -> Result<Option<Rows>, DatabaseError> {
        self.look(|connection| {
            let of = |table: Table, column: &str, order: &str| {
                rows_where(connection, table, &format!("{column} = ?1 ORDER BY {order}"), id)
            };
            let session = of(Table::Session, "id", "id")?.pop();
            let messages = of(Table::Message, "session_id", "time_created, id")?;
            let parts = of(Table::Part, "session_id", "message_id, id")?;
            let is_there = session.is_some() || !messages.is_empty();
            Ok(is_there.then_some(Rows { session, messages, parts }))
        })
    }

    /// A copy of the whole database as it is now, made by SQLite itself. `to` must not exist yet.
    pub fn back_up(&mut self, to: &Path) -> Result<(), DatabaseError> {
        self.look(|connection| {
            let mut copy = Connection::open(to)?;
            Backup::new(connection, &mut copy)?.run_to_completion(PAGES, Duration::ZERO, None)?;
            // a file that stands alone
            copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
        })
    }

    /// What is read from files that somebody began to write is not believed, be it an answer or an error.
    fn look<T>(
        &mut self,
        read: impl Fn(&Connection) -> Result<T, rusqlite::Error>,
    ) -> Result<T, DatabaseError> {
        for _ in 0..TRIES {
            let answer = read(&self.opened.connection);
            if self.opened.how.is_protected() || self.opened.before == Marks::of(&self.opened.path) {
                return answer.map_err(|source| DatabaseError::Sqlite { path: self.path.clone(), source });
            }
            self.opened = open_still(&self.path, &self.scratch)?;
        }
        Err(DatabaseError::Changing { path: self.path.clone() })
    }
}

/// Removes sessions from a copy of a database: every row that names one, also in tables that are not known here.
pub(crate) fn remove_sessions(copy: &Path, ids: &[&str]) -> Result<(), rusqlite::Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let connection = Connection::open(copy)?;
    let sql = "SELECT tables.name, columns.name
        FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table'
            AND (columns.name = 'session_id' OR (tables.name = 'session' AND columns.name IN ('id', 'parent_id')))";
    let mut statement = connection.prepare(sql)?;
    let columns = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    for column in columns.collect::<Result<Vec<_>, _>>()? {
        let [table, column] = [&column.0, &column.1].map(|name| name.replace('"', "\"\""));
        let sql = match column.as_str() {
            // A child is a session of its own.
            "parent_id" => format!("UPDATE \"{table}\" SET parent_id = NULL WHERE parent_id = ?1"),
            _ => format!("DELETE FROM \"{table}\" WHERE \"{column}\" = ?1"),
        };
        for id in ids {
            connection.execute(&sql, [id])?;
        }
    }
    // Deleted rows stay in free pages until the file is written again.
    connection.execute_batch("VACUUM")
}

fn rows_where(
    connection: &Connection,
    table: Table,
    condition: &str,
    value: &str,
) -> Result<Vec<Row>, rusqlite::Error> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {} WHERE {condition}", table.name()))?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map(params_from_iter([value]), |row| {
        let mut columns = Map::new();
        for (at, name) in names.iter().enumerate() {
            columns.insert(name.clone(), json_of(row.get_ref(at)?));
        }
        Ok(Row::of_table(table, columns))
    })?;
    rows.collect()
}

fn json_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    }
}
