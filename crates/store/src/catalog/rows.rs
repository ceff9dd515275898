//! Sessions as the catalog tells of them.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use offshoot_transcripts::gist::HeaderGist;
use rusqlite::{Connection, OptionalExtension, Row};

use super::charges::SpentText;
use super::visit::Known;
use super::write::stamp_at;
use super::{Catalog, CatalogError};

/// A session, wherever it lies. Times are in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    pub key: i64,
    /// The file it lies in; in a database, as if that were a folder.
    pub path: PathBuf,
    pub length: u64,
    /// In nanoseconds since 1970.
    pub modified: i64,
    pub inode: u64,
    /// A checksum of the last bytes that were read.
    pub tail: u32,
    /// A session of Offshoot, and not of another program.
    pub is_own: bool,
    /// Part of another session, such as what a sub-agent said.
    pub is_side: bool,
    pub state: State,
    /// As the program names itself.
    pub agent: Option<String>,
    pub id: String,
    pub project: Option<String>,
    pub title: Option<String>,
    pub is_user_title: bool,
    pub first_prompt: Option<String>,
    pub model: Option<String>,
    pub parent: Option<String>,
    /// Boxed, because most have none and lists of sessions are moved around.
    pub header: Option<Box<HeaderGist>>,
    pub labels: Vec<String>,
    pub opened_at: Option<i64>,
    pub updated_at: i64,
    pub entries: u64,
    pub branches: u64,
    pub prompts: u64,
    /// What it has used, as far as its own file tells it.
    pub spent: Option<SpentText>,
    /// The same for a session and one that was copied from it.
    pub beginning: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Whole,
    /// So many records are lost.
    Damaged(u64),
    Unreadable(String),
}

pub(super) const WHOLE: i64 = 0;
pub(super) const NO_SESSION: i64 = 1;
pub(super) const UNREADABLE: i64 = 2;

const COLUMNS: &str = "key, path, length, modified, inode, tail, is_own, is_side, state, damaged, reason, agent, id, \
    project, title, is_user_title, first_prompt, model, parent, labels, opened_at, updated_at, entries, branches, \
    prompts, spent, beginning, header";
/// What lists and searches show. Sessions that are left out can still be named by their id.
pub(super) const LISTED: &str = "state <> 1 AND (is_own OR NOT EXISTS
    (SELECT 1 FROM bound WHERE bound.agent = session.agent AND bound.id = session.id))";

/// So many columns are these.
const COUNT: usize = 28;

impl Catalog {
    /// All sessions, in no order. A session of an agent that belongs to one of ours is left out.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, CatalogError> {
        self.rows(LISTED, &[])
    }

    /// Those whose id begins so, side files among them.
    pub fn beginning_with(&self, id: &str) -> Result<Vec<SessionRow>, CatalogError> {
        self.rows("state <> 1 AND substr(id, 1, length(?1)) = ?1 COLLATE NOCASE", &[&id])
    }

    pub(super) fn row(&self, key: i64) -> Result<Option<SessionRow>, rusqlite::Error> {
        let sql = format!("SELECT {COLUMNS} FROM session WHERE key = ?1");
        self.connection.prepare_cached(&sql)?.query_row([key], session_row).optional()
    }

    pub(super) fn rows(
        &self,
        condition: &str,
        parameters: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<SessionRow>, CatalogError> {
        rows_in(&self.connection, condition, parameters).map_err(|error| self.failed(error))
    }
}

/// What is known of every file.
pub(super) fn all_known(connection: &Connection) -> Result<HashMap<PathBuf, Known>, rusqlite::Error> {
    let sql = format!("SELECT {OF_KNOWN} FROM session");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([], |row| known_at(row, 0))?.collect()
}

/// The same, and what every list shows, for whoever needs both.
pub(super) fn all_known_and_listed(
    connection: &Connection,
) -> Result<(HashMap<PathBuf, Known>, Vec<SessionRow>), rusqlite::Error> {
    let (mut known, mut listed) = (HashMap::new(), Vec::new());
    let sql = format!("SELECT {COLUMNS}, {OF_KNOWN} FROM session");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (path, of_file) = known_at(row, COUNT)?;
        if of_file.is_session {
            listed.push(session_row(row)?);
        }
        known.insert(path, of_file);
    }
    drop(rows);
    let hidden = hidden(connection)?;
    listed.retain(|row| row.is_own || !hidden.contains(&row.key));
    Ok((known, listed))
}

/// The sessions of agents that belong to one of ours.
pub(super) fn hidden(connection: &Connection) -> Result<HashSet<i64>, rusqlite::Error> {
    let sql =
        "SELECT session.key FROM bound JOIN session ON session.agent = bound.agent AND session.id = bound.id";
    connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
}

const OF_KNOWN: &str = "path, key, is_settled, read_to, head, tail, lines IS NOT NULL, state, length, modified, changed, \
    inode, device, links";

/// The columns of what is known, from this one on.
fn known_at(row: &Row<'_>, first: usize) -> Result<(PathBuf, Known), rusqlite::Error> {
    let known = Known {
        key: row.get(first + 1)?,
        is_settled: row.get(first + 2)?,
        read_to: row.get::<_, i64>(first + 3)? as u64,
        head: row.get(first + 4)?,
        tail: row.get(first + 5)?,
        is_followed: row.get(first + 6)?,
        is_session: row.get::<_, i64>(first + 7)? != NO_SESSION,
        stamp: stamp_at(row, first + 8)?,
    };
    Ok((path_of(row.get_ref(first)?.as_bytes()?), known))
}

fn rows_in(
    connection: &Connection,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> Result<Vec<SessionRow>, rusqlite::Error> {
    let sql = format!("SELECT {COLUMNS} FROM session WHERE {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map(parameters, session_row)?.collect()
}

fn session_row(row: &Row<'_>) -> Result<SessionRow, rusqlite::Error> {
    let path = path_of(row.get_ref(1)?.as_bytes()?);
    let modified: i64 = row.get(3)?;
    let state = match (row.get(8)?, row.get::<_, i64>(9)?) {
        (UNREADABLE, _) => State::Unreadable(row.get::<_, Option<String>>(10)?.unwrap_or_default()),
        (_, 0) => State::Whole,
        (_, damaged) => State::Damaged(damaged as u64),
    };
    let id: Option<String> = row.get(12)?;
    let (labels, header): (Option<String>, Option<String>) = (row.get(19)?, row.get(27)?);
    Ok(SessionRow {
        key: row.get(0)?,
        length: row.get::<_, i64>(2)? as u64,
        modified,
        inode: row.get::<_, i64>(4)? as u64,
        tail: row.get(5)?,
        is_own: row.get(6)?,
        is_side: row.get(7)?,
        state,
        agent: row.get(11)?,
        id: id.unwrap_or_else(|| stem_of(&path)),
        project: row.get(13)?,
        title: row.get(14)?,
        is_user_title: row.get(15)?,
        first_prompt: row.get(16)?,
        model: row.get(17)?,
        parent: row.get(18)?,
        labels: labels.and_then(|labels| serde_json::from_str(&labels).ok()).unwrap_or_default(),
        opened_at: row.get(20)?,
        updated_at: row.get::<_, Option<i64>>(21)?.unwrap_or(modified / 1_000),
        entries: row.get::<_, i64>(22)? as u64,
        branches: row.get::<_, i64>(23)? as u64,
        prompts: row.get::<_, i64>(24)? as u64,
        spent: row.get::<_, Option<String>>(25)?.map(SpentText::kept),
        beginning: row.get(26)?,
        header: header.and_then(|header| serde_json::from_str(&header).ok()),
        path,
    })
}

fn stem_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

pub(super) fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
