//! Who said what: by the index where it can answer, else by looking through the files.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use offshoot_transcripts::gist::{Follow, Lines, Place, Role, Said, words_of_line};
use rusqlite::params;

use super::in_archive;
use super::parts::Narrowed;
use super::query::Query;
use super::read::lines_numbered;
use super::rows::{LISTED, SessionRow};
use super::scan::{self, Looked};
use super::schema::ROOM;
use super::walk::Sources;
use super::write::{numbers_of, role_number, role_numbered};
use super::{Catalog, CatalogError};

/// Which sessions and speakers are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Parts of names of agents, in small letters; one of them has to fit.
    pub agent: Option<Vec<String>>,
    /// The folder that a session is about, or one above it.
    pub project: Option<PathBuf>,
    pub role: Option<Role>,
    /// Said at this moment or later, in microseconds since 1970.
    pub since: Option<i64>,
    /// Said before this moment.
    pub until: Option<i64>,
}

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// What people and agents said, as words.
    Said,
    /// The same, in the files themselves: for what the index cannot tell.
    SaidInFiles,
    /// Also what tools were given and answered.
    Everything,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub session: SessionRow,
    pub entry: String,
    pub role: Role,
    pub turn: Option<u32>,
    pub branch: Option<String>,
    pub at: Option<i64>,
    /// `None` where the file has changed since it was read.
    pub text: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Newest sessions first, and what was said in one in the order of writing; no more than were asked for.
    pub hits: Vec<Hit>,
    pub matches: usize,
    /// In so many sessions.
    pub sessions: usize,
    /// Looked through so many sessions, of so many agents.
    pub searched: usize,
    pub agents: usize,
}

/// A match before it is known what it says.
pub(super) struct Match {
    pub(super) key: i64,
    /// The order of writing.
    place: u64,
    at: Option<i64>,
    what: What,
}

enum What {
    /// A number of the index.
    Indexed(i64),
    Seen(Box<Said>),
    Read(Box<Hit>),
}

impl Match {
    fn is_title(&self) -> bool {
        matches!(self.what, What::Indexed(number) if number == numbers_of(self.key).1)
    }

    /// A title is as old as what was last said below it.
    fn is_wanted(&mut self, row: &SessionRow, filter: &Filter) -> bool {
        if !self.is_title() {
            return true;
        }
        self.at = Some(row.updated_at);
        filter.lets_through_said(Role::Title, self.at)
    }
}

impl Filter {
    fn lets_through(&self, session: &SessionRow) -> bool {
        let is_of = |parts: &Vec<String>| {
            let own = session.agent.as_ref().map(|own| own.to_lowercase());
            own.is_some_and(|own| parts.iter().any(|part| own.contains(part.as_str())))
        };
        let is_in = |folder: &PathBuf| {
            session.project.as_ref().is_some_and(|own| PathBuf::from(own).starts_with(folder))
        };
        self.agent.as_ref().is_none_or(is_of) && self.project.as_ref().is_none_or(is_in)
    }

    fn lets_through_said(&self, role: Role, at: Option<i64>) -> bool {
        self.role.is_none_or(|wanted| wanted == role)
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at.is_some_and(|at| at < until))
    }
}

impl Catalog {
    /// At most `limit` hits, and how many there are.
    pub fn search(
        &self,
        query: &Query,
        within: Within,
        filter: &Filter,
        limit: usize,
        sources: &Sources,
    ) -> Result<Found, CatalogError> {
        let (searched, agents) = self.count()?;
        let mut rows: HashMap<i64, SessionRow>;
        let mut matches: Vec<Match>;
        match query.for_index().filter(|_| within == Within::Said) {
            Some(words) => {
                matches = self.by_index("words", &words, filter).map_err(|error| self.failed(error))?;
                let keys: HashSet<i64> = matches.iter().map(|one| one.key).collect();
                rows = self.rows_of(&keys)?.into_iter().map(|row| (row.key, row)).collect();
            }
            None => {
                let wanted = self.sessions()?.into_iter().filter(|row| filter.lets_through(row));
                rows = wanted.map(|row| (row.key, row)).collect();
                matches = self.in_files(&rows, query, within, filter, sources)?;
            }
        }
        rows.retain(|_, row| filter.lets_through(row));
        matches.retain_mut(|one| rows.get(&one.key).is_some_and(|row| one.is_wanted(row, filter)));
        in_order(&mut matches, &rows);
        let sessions: HashSet<i64> = matches.iter().map(|one| one.key).collect();
        let mut found =
            Found { matches: matches.len(), sessions: sessions.len(), searched, agents, ..Found::default() };
        let mut texts = Texts::new(self, sources);
        for one in matches.into_iter().take(limit) {
            let Some(row) = rows.get(&one.key) else { continue };
            found.hits.extend(texts.hit(row, one.what).map_err(|error| self.failed(error))?);
        }
        Ok(found)
    }

    /// In titles and in the files, and in as few of them as the indexes allow.
    fn in_files(
        &self,
        rows: &HashMap<i64, SessionRow>,
        query: &Query,
        within: Within,
        filter: &Filter,
        sources: &Sources,
    ) -> Result<Vec<Match>, CatalogError> {
        let titles = rows.values().filter(|row| row.title.as_ref().is_some_and(|title| query.finds(title)));
        let mut matches: Vec<Match> = titles
            .map(|row| Match {
                key: row.key,
                place: u64::MAX,
                at: None,
                what: What::Indexed(numbers_of(row.key).1),
            })
            .collect();
        let narrowed = match within {
            Within::Said | Within::SaidInFiles => {
                self.narrowed(query, filter).map_err(|error| self.failed(error))?
            }
            Within::Everything => {
                self.sessions_with(query)?.map(|sessions| Narrowed { texts: Vec::new(), sessions })
            }
        };
        let looked_through: Vec<&SessionRow> = match &narrowed {
            Some(narrowed) => narrowed.sessions.iter().filter_map(|key| rows.get(key)).collect(),
            None => rows.values().collect(),
        };
        let lines = self.lines().map_err(|error| self.failed(error))?;
        let looked = scan::look_through(looked_through, &lines, query, within, sources).into_iter();
        let looked = looked.filter(|looked| filter.lets_through_said(looked.said.role, looked.said.at));
        matches.extend(looked.map(|Looked { key, place, said }| Match {
            key,
            place,
            at: said.at,
            what: What::Seen(Box::new(said)),
        }));
        let Some(Narrowed { texts, sessions }) = narrowed else { return Ok(matches) };
        let mut reader = Texts::new(self, sources);
        for mut one in texts.into_iter().filter(|one| !sessions.contains(&one.key)) {
            let (Some(row), false) = (rows.get(&one.key), one.is_title()) else { continue };
            let hit = reader.hit(row, one.what).map_err(|error| self.failed(error))?;
            let Some(hit) = hit.filter(|hit| hit.text.as_ref().is_some_and(|text| query.finds(text))) else {
                continue;
            };
            one.what = What::Read(Box::new(hit));
            matches.push(one);
        }
        Ok(matches)
    }

    pub(super) fn by_index(
        &self,
        index: &str,
        words: &str,
        filter: &Filter,
    ) -> Result<Vec<Match>, rusqlite::Error> {
        // a title has no time of its own
        let sql = format!(
            "SELECT said.number, said.at FROM {index} JOIN said ON said.number = {index}.rowid
             WHERE {index} MATCH ?1 AND (?2 IS NULL OR said.role = ?2)
                AND (?3 IS NULL OR said.at >= ?3 OR said.role = {title})
                AND (?4 IS NULL OR said.at < ?4 OR said.role = {title})",
            title = role_number(Role::Title)
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(
            params![words, filter.role.map(role_number), filter.since, filter.until],
            |row| {
                let number: i64 = row.get(0)?;
                Ok(Match {
                    key: number >> ROOM,
                    place: number as u64,
                    at: row.get(1)?,
                    what: What::Indexed(number),
                })
            },
        )?;
        rows.collect()
    }

    fn rows_of(&self, keys: &HashSet<i64>) -> Result<Vec<SessionRow>, CatalogError> {
        if keys.len() > 100 {
            return self.sessions();
        }
        let keys: Vec<String> = keys.iter().map(i64::to_string).collect();
        self.rows(&format!("key IN ({}) AND {LISTED}", keys.join(",")), &[])
    }

    /// How many sessions there are, of how many agents.
    pub fn count(&self) -> Result<(usize, usize), CatalogError> {
        let sql =
            format!("SELECT count(*), count(DISTINCT agent) FROM session WHERE {LISTED} AND NOT is_side");
        let number = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(|count| count as usize);
        let counted = self.connection.query_row(&sql, [], |row| Ok((number(row, 0)?, number(row, 1)?)));
        counted.map_err(|error| self.failed(error))
    }

    /// Which sessions can be looked through line by line, and how.
    pub(super) fn lines(&self) -> Result<scan::LinesByKey, rusqlite::Error> {
        let mut statement =
            self.connection.prepare_cached("SELECT key, lines FROM session WHERE lines IS NOT NULL")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, lines_numbered(row.get(1)?))))?;
        let alone = |lines: Option<Lines>| lines.filter(|lines| lines.stand_alone());
        rows.filter_map(|row| row.map(|(key, lines)| Some((key, alone(lines)?))).transpose()).collect()
    }
}

/// Sessions by their newest match, and all of one session together.
fn in_order(matches: &mut [Match], rows: &HashMap<i64, SessionRow>) {
    let mut newest: HashMap<i64, i64> = HashMap::new();
    for one in matches.iter() {
        let at = one.at.unwrap_or(i64::MIN);
        newest.entry(one.key).and_modify(|newest| *newest = at.max(*newest)).or_insert(at);
    }
    let path = |key: &i64| rows.get(key).map(|row| row.path.as_path());
    matches.sort_by(|one, other| {
        let at = |one: &Match| newest.get(&one.key).copied().unwrap_or(i64::MIN);
        at(other)
            .cmp(&at(one))
            .then_with(|| path(&one.key).cmp(&path(&other.key)))
            .then(one.place.cmp(&other.place))
    });
}

/// What was said, from where it lies.
pub(super) struct Texts<'c> {
    catalog: &'c Catalog,
    sources: &'c Sources,
    /// By entry, for sessions that are read whole.
    whole: HashMap<i64, HashMap<String, Vec<Said>>>,
    follows: HashMap<i64, Option<Follow>>,
    /// The file of the last text: the next one is often in it too.
    open: Option<(i64, File)>,
}

fn by_entry(all: Vec<Said>) -> HashMap<String, Vec<Said>> {
    let mut by_entry: HashMap<String, Vec<Said>> = HashMap::new();
    for said in all {
        by_entry.entry(said.entry.clone()).or_default().push(said);
    }
    by_entry
}

pub(super) fn place_of(offset: Option<i64>, length: Option<u32>) -> Option<Place> {
    Some(Place { offset: offset? as u64, length: length? })
}

impl<'c> Texts<'c> {
    pub(super) fn new(catalog: &'c Catalog, sources: &'c Sources) -> Self {
        Self { catalog, sources, whole: HashMap::new(), follows: HashMap::new(), open: None }
    }

    fn hit(&mut self, row: &SessionRow, what: What) -> Result<Option<Hit>, rusqlite::Error> {
        let number = match what {
            What::Seen(said) => return Ok(Some(self.seen(row, *said)?)),
            What::Read(hit) => return Ok(Some(*hit)),
            What::Indexed(number) => number,
        };
        let sql = "SELECT entry, role, turn, branch, at, offset, length FROM said WHERE number = ?1";
        let mut statement = self.catalog.connection.prepare_cached(sql)?;
        let mut found = statement.query([number])?;
        let Some(said) = found.next()? else { return Ok(None) };
        let (entry, role): (String, Role) = (said.get(0)?, role_numbered(said.get(1)?));
        let place = place_of(said.get(5)?, said.get(6)?);
        let (turn, branch, at) = (said.get(2)?, said.get(3)?, said.get(4)?);
        drop(found);
        let text = self.text(row, &entry, role, place)?;
        Ok(Some(Hit { session: row.clone(), entry, role, turn, branch, at, text }))
    }

    fn seen(&mut self, row: &SessionRow, said: Said) -> Result<Hit, rusqlite::Error> {
        let Said { entry, role, turn, branch, at, text, place } = said;
        let turn = match (turn, place) {
            (None, Some(_)) => self.follow(row.key)?.and_then(|follow| follow.turn_of(&entry)),
            (turn, _) => turn,
        };
        Ok(Hit { session: row.clone(), entry, role, turn, branch, at, text: Some(text) })
    }

    pub(super) fn text(
        &mut self,
        row: &SessionRow,
        entry: &str,
        role: Role,
        place: Option<Place>,
    ) -> Result<Option<String>, rusqlite::Error> {
        if role == Role::Title {
            return Ok(row.title.clone());
        }
        let Some(place) = place else {
            let all = self
                .whole
                .entry(row.key)
                .or_insert_with(|| by_entry(scan::words_in_whole(row, self.sources)));
            let found = all.get(entry).and_then(|of_entry| of_entry.iter().find(|said| said.role == role));
            return Ok(found.map(|said| said.text.clone()));
        };
        let Some(lines) = self.follow(row.key)?.map(Follow::lines) else { return Ok(None) };
        let mut line = vec![0; place.length as usize];
        if self.open.as_ref().is_none_or(|(key, _)| *key != row.key) {
            self.open = in_archive::open(row, self.sources).ok().map(|file| (row.key, file));
        }
        let read =
            self.open.as_ref().is_some_and(|(_, file)| file.read_exact_at(&mut line, place.offset).is_ok());
        let words = if read { words_of_line(lines, &line) } else { Vec::new() };
        Ok(words
            .into_iter()
            .find(|(id, who, _)| (id.is_empty() || id == entry) && *who == role)
            .map(|(_, _, text)| text))
    }

    fn follow(&mut self, key: i64) -> Result<Option<&Follow>, rusqlite::Error> {
        if !self.follows.contains_key(&key) {
            let kept = super::sync::kept_of(&self.catalog.connection, key)?;
            self.follows.insert(key, kept.as_deref().and_then(Follow::resume));
        }
        Ok(self.follows.get(&key).and_then(Option::as_ref))
    }
}
