//! Parts of words: which three letters stand together in a text, indexed little by little.
//!
//! The index only narrows: it tells in which texts a part may stand, and the text itself tells whether it does. So an
//! answer is the same whether nothing, some or all of a session is indexed, and the index needs no places of letters,
//! which makes it a fraction of the size. Sessions that are not indexed to their end are looked through.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use rusqlite::{Connection, Transaction, params};

use super::query::Query;
use super::search::{Filter, Match, Texts};
use super::sync::begin;
use super::walk::{Sources, Stamp};
use super::write::{numbers_of, role_numbered, stamp_at};
use super::{Catalog, CatalogError};

/// How much of something is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    pub done: u64,
    pub of: u64,
}

impl Reached {
    pub fn is_all(&self) -> bool {
        self.done >= self.of
    }
}

/// What the index leaves to be looked at.
pub(super) struct Narrowed {
    /// Texts in which it may stand.
    pub(super) texts: Vec<Match>,
    /// Sessions that the index does not know to their end.
    pub(super) sessions: HashSet<i64>,
}

/// So much text is gathered before it is written.
const BATCH: usize = 8 << 20;

/// Reading more single texts than this takes longer than looking through everything.
const MANY: usize = 4_000;

/// No more groups of letters are asked for: those of a long text are as rare with a few of them.
const GROUPS: usize = 24;

/// New texts of a session, read but not yet written.
struct Gathered {
    session: i64,
    stamp: Stamp,
    from: i64,
    texts: Vec<String>,
}

impl Catalog {
    /// Indexes parts of words as long as there is time and something left, and tells how far it is.
    pub fn index_parts(
        &mut self,
        sources: &Sources,
        has_time: &mut dyn FnMut() -> bool,
    ) -> Result<Reached, CatalogError> {
        let mut last = i64::MIN;
        while has_time() {
            let gathered = self.gather(&mut last, sources, has_time)?;
            if gathered.is_empty() {
                break;
            }
            write(&mut self.connection, &gathered).map_err(|error| self.failed(error))?;
        }
        self.parts_reached()
    }

    /// In how many texts parts of words can be found by the index.
    pub fn parts_reached(&self) -> Result<Reached, CatalogError> {
        let first = |column| format!("{column} - (session << {})", super::schema::ROOM);
        let sql = format!(
            "SELECT coalesce(sum({}), 0), coalesce(sum({}), 0) FROM reached",
            first("parts"),
            first("words")
        );
        let number = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(|count| count as u64);
        let read = self
            .connection
            .query_row(&sql, [], |row| Ok(Reached { done: number(row, 0)?, of: number(row, 1)? }));
        read.map_err(|error| self.failed(error))
    }

    /// The next sessions behind `last` that are not indexed to their end, as far as their texts can be read.
    fn gather(
        &self,
        last: &mut i64,
        sources: &Sources,
        has_time: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<Gathered>, CatalogError> {
        let sql = "SELECT session, parts, words FROM reached WHERE parts < words AND session > ?1
            ORDER BY session LIMIT 1000";
        let read = || -> Result<Vec<(i64, i64, i64)>, rusqlite::Error> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([*last], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect()
        };
        let left = read().map_err(|error| self.failed(error))?;
        let (mut all, mut size) = (Vec::new(), 0);
        for (session, from, to) in left {
            *last = session;
            let mut texts = Texts::new(self, sources);
            let found = texts_of(self, &mut texts, session, from, to).map_err(|error| self.failed(error))?;
            if let Some(gathered) = found.filter(|gathered| !gathered.texts.is_empty()) {
                size += gathered.texts.iter().map(String::len).sum::<usize>();
                all.push(gathered);
            }
            if size >= BATCH || !has_time() {
                break;
            }
        }
        Ok(all)
    }

    /// `None` where looking through everything is the better way.
    pub(super) fn narrowed(
        &self,
        query: &Query,
        filter: &Filter,
    ) -> Result<Option<Narrowed>, rusqlite::Error> {
        let (index, words) = match (query.part(), query.for_index()) {
            (Some(part), _) if groups(part).next().is_some() => ("parts", asked_for(part)),
            // two letters of a language without spaces are two words to the other index
            (Some(part), Some(words)) if super::query::is_without_spaces(part) => ("words", words),
            _ => return Ok(None),
        };
        let texts = self.by_index(index, &words, filter)?;
        if texts.len() > MANY {
            return Ok(None);
        }
        let mut statement =
            self.connection.prepare_cached("SELECT session FROM reached WHERE parts < words")?;
        let unfinished = statement.query_map([], |row| row.get(0))?;
        let sessions = if index == "parts" { unfinished.collect::<Result<_, _>>()? } else { HashSet::new() };
        Ok(Some(Narrowed { texts, sessions }))
    }
}

fn texts_of(
    catalog: &Catalog,
    texts: &mut Texts<'_>,
    session: i64,
    from: i64,
    to: i64,
) -> Result<Option<Gathered>, rusqlite::Error> {
    let Some(stamp) = stamp_of(&catalog.connection, session)? else { return Ok(None) };
    let Some(row) = catalog.row(session)? else { return Ok(None) };
    let mut gathered = Gathered { session, stamp, from, texts: Vec::new() };
    let sql =
        "SELECT entry, role, offset, length FROM said WHERE number >= ?1 AND number < ?2 ORDER BY number";
    let mut statement = catalog.connection.prepare_cached(sql)?;
    let mut rows = statement.query([from, to])?;
    while let Some(said) = rows.next()? {
        let entry: String = said.get(0)?;
        let place = super::search::place_of(said.get(2)?, said.get(3)?);
        // what cannot be read now is left for another time
        let Some(text) = texts.text(&row, &entry, role_numbered(said.get(1)?), place)? else { break };
        gathered.texts.push(folded(&text).into_owned());
    }
    Ok(Some(gathered))
}

fn stamp_of(connection: &Connection, session: i64) -> Result<Option<Stamp>, rusqlite::Error> {
    use rusqlite::OptionalExtension;
    let sql = "SELECT length, modified, changed, inode, device, links FROM session WHERE key = ?1";
    connection.prepare_cached(sql)?.query_row([session], |row| stamp_at(row, 0)).optional()
}

fn write(connection: &mut Connection, gathered: &[Gathered]) -> Result<(), rusqlite::Error> {
    let batch = begin(connection)?;
    for one in gathered {
        write_one(&batch, one)?;
    }
    batch.commit()
}

/// Whoever has read the session again or gone on with it meanwhile has the newer numbers.
fn write_one(batch: &Transaction<'_>, one: &Gathered) -> Result<(), rusqlite::Error> {
    let next = one.from + one.texts.len() as i64;
    let sql = "UPDATE reached SET parts = ?3 WHERE session = ?1 AND parts = ?2 AND words >= ?3";
    let is_same = stamp_of(batch, one.session)? == Some(one.stamp);
    if !is_same || batch.prepare_cached(sql)?.execute([one.session, one.from, next])? == 0 {
        return Ok(());
    }
    debug_assert!((numbers_of(one.session).0..numbers_of(one.session).1).contains(&one.from));
    let mut insert = batch.prepare_cached("INSERT INTO parts(rowid, text) VALUES (?1, ?2)")?;
    for (number, text) in (one.from..).zip(&one.texts) {
        insert.execute(params![number, text])?;
    }
    Ok(())
}

/// In the language of the index: all groups of three letters, wherever they stand.
fn asked_for(part: &str) -> String {
    let distinct: BTreeSet<String> = groups(part).collect();
    let quoted: Vec<String> = distinct
        .into_iter()
        .take(GROUPS)
        .map(|group| format!("\"{}\"", group.replace('"', "\"\"")))
        .collect();
    quoted.join(" AND ")
}

fn groups(part: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = folded(part).chars().collect();
    (0..letters.len().saturating_sub(2)).filter_map(move |at| Some(letters.get(at..at + 3)?.iter().collect()))
}

/// Letters that a pattern takes for the same become the same letter.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(text.to_ascii_lowercase());
        }
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(folded_letter).collect())
}

/// Up and down again, for several small letters may share a large one. Three are the same as others without sharing
/// one letter of another size with them.
fn folded_letter(letter: char) -> char {
    let letter = match letter {
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        other => other,
    };
    fn only(mut letters: impl Iterator<Item = char>) -> Option<char> {
        letters.next().filter(|_| letters.next().is_none())
    }
    let large = only(letter.to_uppercase()).unwrap_or(letter);
    only(large.to_lowercase()).unwrap_or(large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_asked_for_by_its_letters() {
        assert_eq!(asked_for("Limit"), r#""imi" AND "lim" AND "mit""#);
        assert_eq!(asked_for("a\"b"), "\"a\"\"b\"");
        assert_eq!(asked_for("ab"), "");
    }

    /// Otherwise the index would hide what looking through the files finds.
    #[test]
    fn letters_that_a_pattern_takes_for_the_same_are_folded_to_the_same() {
        let cased: Vec<char> = ('\0'..='\u{ffff}')
            .filter(|letter| letter.is_lowercase() || letter.is_uppercase())
            .filter(|letter| {
                (*letter as u32) < 0x600
                    || (0x1e00..0x2200).contains(&(*letter as u32))
                    || (*letter as u32) >= 0xfb00
            })
            .collect();
        let all: String = cased.iter().collect();
        for letter in cased {
            let pattern = regex::RegexBuilder::new(&regex::escape(&letter.to_string()))
                .case_insensitive(true)
                .build()
                .expect("a pattern");
            for same in pattern.find_iter(&all) {
                assert_eq!(folded(same.as_str()), folded(&letter.to_string()), "{letter} {}", same.as_str());
            }
        }
    }
}
