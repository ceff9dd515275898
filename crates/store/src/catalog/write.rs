//! What was read of a file, put into the tables.

use std::borrow::Cow;
use std::path::Path;

use offshoot_transcripts::gist::{Gist, HeaderGist, Role, Said};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::charges::{self, Behind};
use super::query::spread;
use super::read::{Outcome, Told, lines_number};
use super::rows::{NO_SESSION, UNREADABLE, WHOLE, bytes_of};
use super::schema::ROOM;
use super::titles::{self, Title};
use super::visit::{Known, is_settled};
use super::walk::Stamp;

/// A file and what reading it brought.
pub(super) struct Put<'p> {
    pub(super) path: &'p Path,
    pub(super) is_own: bool,
    /// The id of a session that cannot say it itself.
    pub(super) id: Option<&'p str>,
    pub(super) stamp: Stamp,
    /// What was known when the file was read.
    pub(super) known: Option<&'p Known>,
    pub(super) outcome: &'p Outcome,
    /// In nanoseconds since 1970.
    pub(super) now: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Written,
    /// A list of titles, by which so many sessions are called something else now.
    Renamed(usize),
    /// Somebody else has written about this file meanwhile.
    Overtaken,
}

pub(super) fn put(batch: &Transaction<'_>, put: &Put<'_>) -> Result<Done, rusqlite::Error> {
    let now = standing(batch, put.path)?;
    if now != put.known.map(|known| (known.key, known.stamp)) {
        return Ok(Done::Overtaken);
    }
    let key = now.map(|(key, _)| key);
    match put.outcome {
        Outcome::Same => batch
            .prepare_cached("UPDATE session SET is_settled = ?2, changed = ?3, links = ?4 WHERE key = ?1")?
            .execute(params![key, is_settled(&put.stamp, put.now), put.stamp.changed, put.stamp.links])
            .map(drop)?,
        Outcome::Gone => key.map_or(Ok(()), |key| forget(batch, key))?,
        Outcome::More(told) => {
            let before = key.map(|key| title_before(batch, key)).transpose()?.flatten();
            let title = titles::title_of(batch, &told.gist)?;
            let key = row(batch, put, key, Some((told, &title)), WHOLE, None)?;
            charge(batch, key, told, Behind::All)?;
            add_said(batch, key, &told.said)?;
            put_title(batch, key, before.as_deref(), title.text.as_deref())?;
        }
        Outcome::All(told) => {
            key.map_or(Ok(()), |key| forget_said(batch, key))?;
            let title = titles::title_of(batch, &told.gist)?;
            let key = row(batch, put, key, Some((told, &title)), WHOLE, None)?;
            charge(batch, key, told, Behind::Nothing)?;
            add_said(batch, key, &told.said)?;
            put_title(batch, key, None, title.text.as_deref())?;
        }
        Outcome::Titles(titles) => {
            row(batch, put, key, None, NO_SESSION, None)?;
            return Ok(Done::Renamed(titles::put(batch, titles)?));
        }
        Outcome::NoSession => {
            key.map_or(Ok(()), |key| forget_said(batch, key))?;
            row(batch, put, key, None, NO_SESSION, None)?;
        }
        Outcome::Unreadable(reason) => {
            key.map_or(Ok(()), |key| forget_said(batch, key))?;
            row(batch, put, key, None, UNREADABLE, Some(reason))?;
        }
    }
    Ok(Done::Written)
}

fn standing(connection: &Connection, path: &Path) -> Result<Option<(i64, Stamp)>, rusqlite::Error> {
    let sql = "SELECT key, length, modified, changed, inode, device, links FROM session WHERE path = ?1";
    connection
        .prepare_cached(sql)?
        .query_row([bytes_of(path)], |row| Ok((row.get(0)?, stamp_at(row, 1)?)))
        .optional()
}

/// The columns of a stamp, from this one on.
pub(super) fn stamp_at(row: &Row<'_>, first: usize) -> Result<Stamp, rusqlite::Error> {
    Ok(Stamp {
        length: row.get(first)?,
        modified: row.get(first + 1)?,
        changed: row.get(first + 2)?,
        inode: row.get(first + 3)?,
        device: row.get(first + 4)?,
        links: row.get(first + 5)?,
    })
}

fn row(
    batch: &Connection,
    put: &Put<'_>,
    key: Option<i64>,
    told: Option<(&Told, &Title<'_>)>,
    state: i64,
    reason: Option<&str>,
) -> Result<i64, rusqlite::Error> {
    let (told, title) = told.unzip();
    let title = title.cloned().unwrap_or_default();
    let gist = told.map(|told| Cow::Borrowed(&told.gist)).unwrap_or_default();
    let ends = told.map(|told| told.ends).unwrap_or_default();
    let lines = told.and_then(|told| told.follow.as_ref()).map(|follow| lines_number(follow.lines()));
    let labels: Vec<&str> = gist.labels.values().map(String::as_str).collect();
    let labels = (!labels.is_empty()).then(|| serde_json::Value::from(labels).to_string());
    let header =
        (gist.header != HeaderGist::default()).then(|| serde_json::to_string(&gist.header).ok()).flatten();
    // one that could not be read is tried again each time
    let length = if state == UNREADABLE { -1 } else { put.stamp.length };
    let sql = "INSERT OR REPLACE INTO session(key, path, length, modified, changed, inode, device, links,
            is_settled, read_to, head, tail, lines, state, damaged, reason, is_own, is_side, agent, id, project, title, is_user_title, is_titled_beside,
            first_prompt, model, parent, labels, opened_at, updated_at, entries, branches, prompts, beginning, header)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
            ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35)";
    batch.prepare_cached(sql)?.execute(params![
        key,
        bytes_of(put.path),
        length,
        put.stamp.modified,
        put.stamp.changed,
        put.stamp.inode,
        put.stamp.device,
        put.stamp.links,
        is_settled(&put.stamp, put.now),
        ends.read_to as i64,
        ends.head,
        ends.tail,
        lines,
        state,
        told.map_or(0, |told| told.damaged) as i64,
        reason,
        put.is_own,
        gist.is_side,
        gist.agent,
        put.id.or(gist.id.as_deref()),
        gist.project,
        title.text,
        title.is_by_user,
        title.is_beside,
        gist.first_prompt,
        gist.model,
        gist.parent,
        labels,
        gist.opened_at,
        gist.updated_at,
        gist.entries as i64,
        gist.branches as i64,
        gist.prompts as i64,
        gist.beginning.map(u64::cast_signed),
        header,
    ])?;
    let key = key.unwrap_or_else(|| batch.last_insert_rowid());
    bind(batch, key, &gist)?;
    match told.and_then(|told| told.follow.as_ref()) {
        Some(follow) => batch
            .prepare_cached("INSERT OR REPLACE INTO kept(session, bytes) VALUES (?1, ?2)")?
            .execute(params![key, follow.keep()])?,
        None => batch.prepare_cached("DELETE FROM kept WHERE session = ?1")?.execute([key])?,
    };
    Ok(key)
}

fn bind(batch: &Connection, key: i64, gist: &Gist) -> Result<(), rusqlite::Error> {
    unbind(batch, key)?;
    for (agent, id) in &gist.bound {
        let sql = "INSERT OR IGNORE INTO bound(key, agent, id) VALUES (?1, ?2, ?3)";
        batch.prepare_cached(sql)?.execute(params![key, agent, id])?;
    }
    Ok(())
}

fn unbind(batch: &Connection, key: i64) -> Result<(), rusqlite::Error> {
    batch.prepare_cached("DELETE FROM bound WHERE key = ?1")?.execute([key]).map(drop)
}

fn charge(batch: &Connection, key: i64, told: &Told, behind: Behind) -> Result<(), rusqlite::Error> {
    if let Some(spent) = charges::put(batch, key, &told.charges, behind)? {
        batch
            .prepare_cached("UPDATE session SET spent = ?2 WHERE key = ?1")?
            .execute(params![key, spent.as_str()])?;
    }
    Ok(())
}

fn add_said(batch: &Connection, key: i64, said: &[Said]) -> Result<(), rusqlite::Error> {
    let (first, title) = numbers_of(key);
    let next: Option<i64> = batch
        .prepare_cached("SELECT words FROM reached WHERE session = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let mut next = next.unwrap_or(first);
    let mut texts = batch.prepare_cached(
        "INSERT INTO said(number, entry, role, turn, branch, at, offset, length)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let mut words = batch.prepare_cached("INSERT INTO words(rowid, text) VALUES (?1, ?2)")?;
    // there is room for more than a person could say in a life
    for (number, said) in (next..title).zip(said) {
        let place = said.place;
        texts.execute(params![
            number,
            said.entry,
            role_number(said.role),
            said.turn,
            said.branch,
            said.at,
            place.map(|place| place.offset as i64),
            place.map(|place| place.length),
        ])?;
        words.execute(params![number, spread(&said.text)])?;
        next = number + 1;
    }
    if !said.is_empty() {
        let sql = "INSERT INTO reached(session, words, parts) VALUES (?1, ?2, ?3)
            ON CONFLICT(session) DO UPDATE SET words = excluded.words";
        batch.prepare_cached(sql)?.execute([key, next, first])?;
    }
    Ok(())
}

/// A title is found like something that was said. `before` is the one that was there.
pub(super) fn put_title(
    batch: &Connection,
    key: i64,
    before: Option<&str>,
    title: Option<&str>,
) -> Result<(), rusqlite::Error> {
    if before == title {
        return Ok(());
    }
    let (_, number) = numbers_of(key);
    if before.is_some() {
        batch.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([number])?;
        batch.prepare_cached("DELETE FROM said WHERE number = ?1")?.execute([number])?;
    }
    if let Some(title) = title {
        let sql = "INSERT INTO said(number, entry, role) VALUES (?1, '', ?2)";
        batch.prepare_cached(sql)?.execute([number, role_number(Role::Title)])?;
        let sql = "INSERT INTO words(rowid, text) VALUES (?1, ?2)";
        batch.prepare_cached(sql)?.execute(params![number, spread(title)])?;
    }
    Ok(())
}

fn title_before(batch: &Connection, key: i64) -> Result<Option<String>, rusqlite::Error> {
    let mut statement = batch.prepare_cached("SELECT title FROM session WHERE key = ?1")?;
    statement.query_row([key], |row| row.get(0)).optional().map(Option::flatten)
}

pub(super) fn forget(batch: &Connection, key: i64) -> Result<(), rusqlite::Error> {
    forget_said(batch, key)?;
    unbind(batch, key)?;
    batch.prepare_cached("DELETE FROM kept WHERE session = ?1")?.execute([key])?;
    batch.prepare_cached("DELETE FROM archived WHERE session = ?1")?.execute([key])?;
    batch.prepare_cached("DELETE FROM session WHERE key = ?1")?.execute([key])?;
    Ok(())
}

/// Everything that was said, what was used for it, and the title.
fn forget_said(batch: &Connection, key: i64) -> Result<(), rusqlite::Error> {
    let (first, last) = numbers_of(key);
    let numbers: Vec<i64> = batch
        .prepare_cached("SELECT number FROM said WHERE number BETWEEN ?1 AND ?2")?
        .query_map([first, last], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let parts: Option<i64> = batch
        .prepare_cached("SELECT parts FROM reached WHERE session = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let mut of_words = batch.prepare_cached("DELETE FROM words WHERE rowid = ?1")?;
    let mut of_parts = batch.prepare_cached("DELETE FROM parts WHERE rowid = ?1")?;
    for number in numbers {
        of_words.execute([number])?;
        if parts.is_some_and(|parts| number < parts) {
            of_parts.execute([number])?;
        }
    }
    batch.prepare_cached("DELETE FROM said WHERE number BETWEEN ?1 AND ?2")?.execute([first, last])?;
    batch.prepare_cached("DELETE FROM reached WHERE session = ?1")?.execute([key])?;
    charges::forget(batch, key)?;
    forget_tools(batch, key)
}

pub(super) fn forget_tools(batch: &Connection, key: i64) -> Result<(), rusqlite::Error> {
    if batch.prepare_cached("DELETE FROM tooled WHERE session = ?1")?.execute([key])? > 0 {
        batch.prepare_cached("DELETE FROM tools WHERE rowid = ?1")?.execute([key])?;
    }
    Ok(())
}

/// The first number that a text of this session may have, and the one of its title, which is the last.
pub(super) fn numbers_of(key: i64) -> (i64, i64) {
    let first = key << ROOM;
    (first, first | ((1 << ROOM) - 1))
}

pub(super) fn role_number(role: Role) -> i64 {
    match role {
        Role::User => 0,
        Role::Assistant => 1,
        Role::Tool => 2,
        Role::Title => 3,
    }
}

pub(super) fn role_numbered(number: i64) -> Role {
    match number {
        0 => Role::User,
        1 => Role::Assistant,
        2 => Role::Tool,
        _ => Role::Title,
    }
}
