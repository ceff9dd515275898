//! The tables.
//!
//! What was said has a number of its own: the number of its session, shifted, and its place there. So all of a
//! session is a range, in the table and in the index of words. The last number of that range is the title's.

use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension};

/// Another number makes every catalog be read anew.
const VERSION: i64 = 11;

/// A session has room for so many texts, as bits.
pub(super) const ROOM: u32 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    None,
    Ours,
    Other,
}

const TABLES: &str = r#"
CREATE TABLE IF NOT EXISTS fact(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS session(
    key INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    -- the file as it was when it was read
    length INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    device INTEGER NOT NULL,
    links INTEGER NOT NULL,
    is_settled INTEGER NOT NULL,
    -- how far it was read, and what stood at both ends of that
    read_to INTEGER NOT NULL,
    head INTEGER NOT NULL,
    tail INTEGER NOT NULL,
    lines INTEGER,
    -- what it is
    state INTEGER NOT NULL,
    damaged INTEGER NOT NULL,
    reason TEXT,
    is_own INTEGER NOT NULL,
    is_side INTEGER NOT NULL,
    agent TEXT,
    id TEXT,
    project TEXT,
    title TEXT,
    is_user_title INTEGER NOT NULL,
    is_titled_beside INTEGER NOT NULL,
    first_prompt TEXT,
    model TEXT,
    parent TEXT,
    -- what its header says of its model and of why it branched
    header TEXT,
    labels TEXT,
    opened_at INTEGER,
    updated_at INTEGER,
    entries INTEGER NOT NULL,
    branches INTEGER NOT NULL,
    prompts INTEGER NOT NULL,
    -- what was used in all, without prices
    spent TEXT,
    -- a hash of how it begins
    beginning INTEGER
);

-- how many sessions there are is told with every search
CREATE INDEX IF NOT EXISTS counted ON session(agent) WHERE state <> 1 AND NOT is_side;

-- sessions of agents that belong to one of ours: lists leave them out
CREATE TABLE IF NOT EXISTS bound(
    key INTEGER NOT NULL,
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY(agent, id, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS bound_by_key ON bound(key);

-- titles that programs keep beside their sessions
CREATE TABLE IF NOT EXISTS title(
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    is_user INTEGER NOT NULL,
    is_kept INTEGER NOT NULL,
    PRIMARY KEY(agent, id)
) WITHOUT ROWID;

-- what reading on needs to know, apart from the rows that every list reads
CREATE TABLE IF NOT EXISTS kept(session INTEGER PRIMARY KEY, bytes BLOB NOT NULL);

-- every reply that was counted, packed
CREATE TABLE IF NOT EXISTS charges(session INTEGER PRIMARY KEY, bytes BLOB NOT NULL);

-- the files as they were when they were kept in the archive
CREATE TABLE IF NOT EXISTS archived(
    session INTEGER PRIMARY KEY,
    length INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    device INTEGER NOT NULL,
    rests INTEGER NOT NULL
);

-- files that were kept with a session (by its path), and how much of them was kept
CREATE TABLE IF NOT EXISTS archived_beside(
    path BLOB PRIMARY KEY,
    session BLOB NOT NULL,
    length INTEGER NOT NULL
) WITHOUT ROWID;

-- kept files that were only laid into the archive, and when their originals were written last
CREATE TABLE IF NOT EXISTS loose(path BLOB PRIMARY KEY, modified INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS said(
    number INTEGER PRIMARY KEY,
    entry TEXT NOT NULL,
    role INTEGER NOT NULL,
    turn INTEGER,
    branch TEXT,
    at INTEGER,
    offset INTEGER,
    length INTEGER
);

-- the texts of a session below these numbers are in the index of words, and in that of parts of words
CREATE TABLE IF NOT EXISTS reached(
    session INTEGER PRIMARY KEY,
    words INTEGER NOT NULL,
    parts INTEGER NOT NULL
);

CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    text, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2"
);

-- which three letters stand together somewhere in a text; `parts` folds them
CREATE VIRTUAL TABLE IF NOT EXISTS parts USING fts5(
    text, content='', contentless_delete=1, detail=none, tokenize="trigram case_sensitive 1"
);

-- sessions whose tools are in the index of them, and how long the file was then
CREATE TABLE IF NOT EXISTS tooled(session INTEGER PRIMARY KEY, length INTEGER NOT NULL, modified INTEGER NOT NULL);

-- one text for each session: all that tools were given and answered
CREATE VIRTUAL TABLE IF NOT EXISTS tools USING fts5(
    text, content='', contentless_delete=1, detail=none, tokenize="unicode61 remove_diacritics 2"
);
"#;

/// Settings of a connection. The catalog can be made again, so a commit does not wait for the disk; it is never
/// half there all the same, because the log is replayed whole or not at all.
pub(super) fn prepare(connection: &Connection) -> Result<(), rusqlite::Error> {
    let pragma = |name: &str, value: &str| connection.pragma_update_and_check(None, name, value, |_| Ok(()));
    write_ahead(|| pragma("journal_mode", "WAL"))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -16_000)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    pragma("wal_autocheckpoint", "8000")
}

/// Where two make a new catalog at the same moment, the second one is turned away at once, whatever its patience, and nobody
/// tells it when the first one is done.
fn write_ahead(switch: impl Fn() -> Result<(), rusqlite::Error>) -> Result<(), rusqlite::Error> {
    const A_MOMENT: Duration = Duration::from_millis(2);
    let begun = Instant::now();
    loop {
        match switch() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < super::PATIENCE =>
            {
                std::thread::sleep(A_MOMENT);
            }
            switched => return switched,
        }
    }
}

pub(super) fn version(connection: &Connection) -> Result<Version, rusqlite::Error> {
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(Version::None);
    }
    let has_facts: i64 =
        connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'fact'", [], |row| row.get(0))?;
    if has_facts == 0 {
        return Ok(Version::Other);
    }
    let version: Option<i64> = connection
        .query_row("SELECT value FROM fact WHERE name = 'version'", [], |row| row.get(0))
        .optional()?;
    Ok(if version == Some(VERSION) { Version::Ours } else { Version::Other })
}

/// Somebody else may be doing the same.
pub(super) fn create(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let created = connection.execute_batch(TABLES).and_then(|()| {
        connection.execute("INSERT OR REPLACE INTO fact(name, value) VALUES ('version', ?1)", [VERSION])?;
        // fewer and larger pieces to merge; 16 MB of words are gathered before they are written
        for index in ["words", "parts", "tools"] {
            connection
                .execute(&format!("INSERT INTO {index}({index}, rank) VALUES ('hashsize', 16777216)"), [])?;
        }
        Ok(())
    });
    connection.execute_batch(if created.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    created
}
