//! Titles that stand beside sessions, given to those that have none of their own.
//!
//! A title may be read before its session or after it, so both look for the other. What a list has said once stays: a
//! program takes a title out of it together with the session, which is kept here.

use std::borrow::Cow;
use std::collections::HashMap;

use offshoot_session::TitleSource;
use offshoot_transcripts::gist::Gist;
use rusqlite::{Connection, OptionalExtension, params};

use super::sync::{Problem, begin};
use super::write::put_title;
use crate::archive::Archive;
use crate::titles_beside::TitleBeside;

/// The title of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Title<'g> {
    pub(super) text: Option<Cow<'g, str>>,
    pub(super) is_by_user: bool,
    pub(super) is_beside: bool,
}

/// The session's own, else the one that stands beside it.
pub(super) fn title_of<'g>(batch: &Connection, gist: &'g Gist) -> Result<Title<'g>, rusqlite::Error> {
    if let Some(title) = gist.title() {
        let is_by_user = gist.user_title.is_some();
        return Ok(Title { text: Some(Cow::Borrowed(title)), is_by_user, is_beside: false });
    }
    let (Some(agent), Some(id), false) = (&gist.agent, &gist.id, gist.is_side) else {
        return Ok(Title::default());
    };
    let mut statement =
        batch.prepare_cached("SELECT title, is_user FROM title WHERE agent = ?1 AND id = ?2")?;
    let beside: Option<(String, bool)> =
        statement.query_row([agent, id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(beside.map_or_else(Title::default, |(title, is_by_user)| Title {
        text: Some(Cow::Owned(title)),
        is_by_user,
        is_beside: true,
    }))
}

/// A row: its number, its program, its id and its title.
type Named = (i64, String, String, Option<String>);

/// What a list says now, and how many sessions are called something else by that.
pub(super) fn put(batch: &Connection, titles: &[TitleBeside]) -> Result<usize, rusqlite::Error> {
    let mut new: HashMap<(&str, &str), &TitleBeside> = HashMap::new();
    for told in titles {
        let sql = "INSERT INTO title(agent, id, title, is_user, is_kept) VALUES (?1, ?2, ?3, ?4, 0)
            ON CONFLICT(agent, id) DO UPDATE SET title = excluded.title, is_user = excluded.is_user, is_kept = 0
            WHERE title <> excluded.title OR is_user <> excluded.is_user";
        let row = params![told.agent, told.session, told.title, told.source == TitleSource::User];
        if batch.prepare_cached(sql)?.execute(row)? > 0 {
            new.insert((&told.agent, &told.session), told);
        }
    }
    if new.is_empty() {
        return Ok(0);
    }
    let mut renamed = 0;
    let sql = "SELECT key, coalesce(agent, ''), coalesce(id, ''), title FROM session
        WHERE state = 0 AND NOT is_own AND NOT is_side AND (title IS NULL OR is_titled_beside)";
    let rows: Vec<Named> = batch
        .prepare_cached(sql)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_, _>>()?;
    for (key, agent, id, before) in rows {
        let told = new.get(&(agent.as_str(), id.as_str()));
        if let Some(told) = told {
            let sql =
                "UPDATE session SET title = ?2, is_user_title = ?3, is_titled_beside = 1 WHERE key = ?1";
            let is_user = told.source == TitleSource::User;
            batch.prepare_cached(sql)?.execute(params![key, told.title, is_user])?;
            put_title(batch, key, before.as_deref(), Some(&told.title))?;
            renamed += 1;
        }
    }
    Ok(renamed)
}

/// A new catalog takes up what the archive has.
pub(super) fn recall(connection: &mut Connection, archive: &Archive) -> Result<(), rusqlite::Error> {
    const RECALLED: &str = "titles_recalled";
    let sql = "SELECT count(*) FROM fact WHERE name = ?1";
    let is_done: i64 = connection.query_row(sql, [RECALLED], |row| row.get(0))?;
    if is_done > 0 {
        return Ok(());
    }
    let batch = begin(connection)?;
    put(&batch, &archive.titles())?;
    batch.execute("UPDATE title SET is_kept = 1", [])?;
    batch.execute("INSERT OR REPLACE INTO fact(name, value) VALUES (?1, 1)", [RECALLED])?;
    batch.commit()
}

/// Keeps those that are not yet. Where somebody else holds the archive, they wait for the next time.
pub(super) fn keep(
    connection: &Connection,
    archive: &Archive,
    problems: &mut Vec<Problem>,
) -> Result<(), rusqlite::Error> {
    let mut statement =
        connection.prepare_cached("SELECT agent, id, title, is_user FROM title WHERE NOT is_kept")?;
    let rows = statement.query_map([], |row| {
        let source = if row.get(3)? { TitleSource::User } else { TitleSource::Auto };
        Ok(TitleBeside { agent: row.get(0)?, session: row.get(1)?, title: row.get(2)?, source })
    })?;
    let titles: Vec<TitleBeside> = rows.collect::<Result<_, _>>()?;
    if titles.is_empty() {
        return Ok(());
    }
    let kept = archive.try_hold().and_then(|hold| {
        let Some(hold) = hold else { return Ok(false) };
        archive.keep_titles(&hold, &titles).map(|()| true)
    });
    match kept {
        Ok(false) => {}
        Ok(true) => {
            let sql = "UPDATE title SET is_kept = 1 WHERE agent = ?1 AND id = ?2 AND title = ?3";
            for told in &titles {
                connection.prepare_cached(sql)?.execute([&told.agent, &told.session, &told.title])?;
            }
        }
        Err(error) => {
            problems.push(Problem { path: archive.root().to_owned(), reason: error.to_string() });
        }
    }
    Ok(())
}
