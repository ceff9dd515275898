//! From the lines of a file to records.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::{
    Change, Entry, EntryId, Fact, Mark, Odd, Oddity, RawLine, Record, SessionHeader, SessionId,
};
use serde_json::Value;

use super::chain::{Chain, Heads, Place};
use super::draft::{Draft, Header, ParentField, Version, What};
use crate::ids::fresh_id;
use crate::lines::{Content, Line, Watched, lines};
use crate::noted::oddities_of_line;
use crate::{Dialect, Transcript};

/// The newest version this program knows.
const KNOWN_VERSION: u32 = 3;

/// Reads a file of pi or oh-my-pi, whatever state it is in.
pub fn read<'b>(file_name: Option<&str>, bytes: impl Into<Watched<'b>>) -> Transcript {
    let bytes = bytes.into();
    let mut reader = Reader::default();
    lines(bytes).for_each(|line| reader.take(line));
    reader.find_version();
    reader.require_header(file_name);
    reader.into_transcript()
}

/// Reads lines without a file: entries as JSON, with or without a header.
pub fn read_entries(values: &[Value]) -> Transcript {
    let mut reader = Reader::default();
    for (number, value) in (1..).zip(values) {
        reader.take(Line::new(number, RawLine::new(format!("{value}\n").into_bytes())));
    }
    reader.find_version();
    reader.into_transcript()
}

#[derive(Default)]
struct Reader {
    pieces: Vec<Piece>,
    oddities: Vec<Oddity>,
    unknown_types: BTreeMap<String, u64>,
    version: u32,
    is_oh_my_pi: bool,
    /// Where among the pieces the header stands.
    header_at: Option<usize>,
    header: Option<SessionHeader>,
    /// The file has no header of its own.
    header_is_made_up: bool,
    has_title_slot: bool,
}

/// A line and what it says by itself.
struct Piece {
    line: u64,
    raw: RawLine,
    draft: Option<Draft>,
}

impl Reader {
    fn take(&mut self, line: Line) {
        self.oddities.extend(oddities_of_line(&line, line.number));
        let draft = match line.content {
            Content::Object(map) => {
                let draft = Draft::of_line(line.raw.content(), &map);
                if draft.is_none() {
                    self.unreadable(line.number, "two lines ran into each other".to_owned());
                }
                draft
            }
            Content::Blank | Content::Unreadable(_) | Content::Torn => None,
        };
        if let Some(draft) = &draft {
            self.look_at(line.number, draft);
        }
        self.pieces.push(Piece { line: line.number, raw: line.raw, draft });
    }

    fn look_at(&mut self, line: u64, draft: &Draft) {
        self.is_oh_my_pi |= draft.is_oh_my_pi;
        self.has_title_slot |= matches!(draft.what, What::TitleSlot(_));
        if matches!(draft.what, What::Header(_)) {
            if self.header_at.is_some() {
                self.oddities.push(Oddity::at_line(line, Odd::SecondHeader));
            } else {
                let is_late =
                    self.pieces.iter().filter_map(|piece| piece.draft.as_ref()).any(Draft::is_content);
                if is_late {
                    self.repaired(line, "the header stands behind other lines");
                }
                self.header_at = Some(self.pieces.len());
            }
        }
        if matches!(draft.what, What::Nameless) {
            self.unreadable(line, "an object without a type".to_owned());
        }
        if let Some(kind) = &draft.unknown_type {
            let count = self.unknown_types.entry(kind.clone()).or_default();
            *count += 1;
            if *count == 1 {
                self.oddities.push(Oddity::at_line(line, Odd::UnknownType(kind.clone())));
            }
        }
    }

    fn find_version(&mut self) {
        let places = || self.drafts().filter(|draft| draft.is_place());
        let has_no_ids = places().next().is_some() && places().all(|draft| draft.id.is_none());
        let by_shape = if has_no_ids { 1 } else { KNOWN_VERSION };
        let at = self.header_at.and_then(|at| self.pieces.get(at));
        let stated = at.and_then(|piece| match &piece.draft.as_ref()?.what {
            What::Header(header) => Some((piece.line, header.version)),
            _ => None,
        });
        self.version = match stated {
            Some((_, Version::Number(number))) => number,
            Some((line, Version::Unclear)) => {
                self.repaired(line, &format!("the version is not a number; taken for version {by_shape}"));
                by_shape
            }
            None => by_shape,
        };
        if self.version > KNOWN_VERSION {
            let line = stated.map(|(line, _)| line);
            self.oddities.push(Oddity { line, what: Odd::NewerVersion(self.version.into()) });
        }
        self.read_header();
    }

    fn read_header(&mut self) {
        let Some(at) = self.header_at else { return };
        let Some(Piece { line, raw, draft: Some(Draft { what: What::Header(header), .. }) }) =
            self.pieces.get(at)
        else {
            return;
        };
        let (line, mut repairs) = (*line, Vec::new());
        let id = header.id.clone().unwrap_or_else(|| {
            repairs.push("the header has no id; one is made from its text");
            SessionId::from(fresh_id(&[raw.content()], &mut HashSet::new()).as_str())
        });
        let opened_at = header.opened_at.unwrap_or_else(|| {
            repairs.push("the header has no readable time; that of the first entry is taken");
            self.first_time()
        });
        self.header = Some(session_header(header, id, opened_at, self.is_oh_my_pi));
        repairs.iter().for_each(|what| self.repaired(line, what));
    }

    /// Without a header the session is still one: it gets its name from the file.
    fn require_header(&mut self, file_name: Option<&str>) {
        if self.header.is_some() {
            return;
        }
        self.oddities.push(Oddity::new(Odd::MissingHeader));
        let id = file_name.and_then(id_in_file_name).map(SessionId::from).unwrap_or_else(|| {
            let seed = self.pieces.first().map_or(&b""[..], |piece| piece.raw.content());
            SessionId::from(fresh_id(&[seed], &mut HashSet::new()).as_str())
        });
        let mut header = SessionHeader::new(id, self.first_time());
        header.agent = Some(agent_name(self.is_oh_my_pi).to_owned());
        self.header = Some(header);
        self.header_is_made_up = true;
    }

    fn drafts(&self) -> impl Iterator<Item = &Draft> {
        self.pieces.iter().filter_map(|piece| piece.draft.as_ref())
    }

    fn first_time(&self) -> Timestamp {
        self.drafts().find_map(|draft| draft.written_at).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn unreadable(&mut self, line: u64, reason: String) {
        self.oddities.push(Oddity::at_line(line, Odd::UnreadableLine(reason)));
    }

    fn repaired(&mut self, line: u64, what: &str) {
        self.oddities.push(Oddity::at_line(line, Odd::Repaired(what.to_owned())));
    }

    fn into_transcript(mut self) -> Transcript {
        let places = self.places();
        let records = self.records(places);
        let version = self.version;
        let dialect = if self.is_oh_my_pi { Dialect::OhMyPi { version } } else { Dialect::Pi { version } };
        Transcript { dialect, records, oddities: self.oddities, unknown_types: self.unknown_types }
    }

    /// Gives every line of the chain its id and its parent in the file.
    fn places(&mut self) -> Vec<Place> {
        let mut taken: HashSet<EntryId> = self.drafts().filter_map(|draft| draft.id.clone()).collect();
        let session = self.header.as_ref().map_or_else(String::new, |header| header.id.to_string());
        let mut places = Vec::with_capacity(self.pieces.len());
        let mut by_index: Vec<Option<EntryId>> = Vec::new();
        let mut previous: Option<EntryId> = None;
        let mut repairs = Vec::new();
        for piece in &self.pieces {
            let mut place = Place::default();
            let Some(draft) = &piece.draft else {
                places.push(place);
                continue;
            };
            place.id = draft.id.clone();
            if place.id.is_none() && self.needs_id(draft) {
                place.id = Some(fresh_id(&[session.as_bytes(), &piece.line.to_le_bytes()], &mut taken));
                place.is_made_up = true;
                if self.version > 1 {
                    repairs.push(piece.line);
                }
            }
            place.parent = match &draft.parent {
                ParentField::Of(parent) => Some(parent.clone()),
                ParentField::Root => None,
                ParentField::Absent if place.is_made_up || self.version == 1 => previous.clone(),
                ParentField::Absent => None,
            };
            place.moves_head = draft.parent != ParentField::Absent || place.is_made_up || self.version == 1;
            if draft.is_place() && place.id.is_some() {
                previous = place.id.clone();
            } else {
                place.id = place.id.filter(|_| matches!(draft.what, What::Leaf(_)));
            }
            if !matches!(draft.what, What::TitleSlot(_)) {
                by_index.push(place.id.clone());
            }
            if self.version == 1
                && let Some(index) = draft.kept_index
            {
                place.kept = by_index.get(index).cloned().flatten();
            }
            places.push(place);
        }
        repairs
            .iter()
            .for_each(|line| self.repaired(*line, "the entry has no id; one is made from its place"));
        places
    }

    /// Version 1 has no ids at all. Later, only what we understand is worth a name that is not in the file.
    fn needs_id(&self, draft: &Draft) -> bool {
        match draft.what {
            What::Entry(_) => self.version == 1 || draft.unknown_type.is_none(),
            What::Fact(_) | What::Silent => self.version == 1,
            What::Header(_) | What::TitleSlot(_) | What::Leaf(_) | What::Nameless => false,
        }
    }

    fn records(&mut self, places: Vec<Place>) -> Vec<Record> {
        let pieces = std::mem::take(&mut self.pieces);
        let drafts = pieces.iter().map(|piece| piece.draft.as_ref());
        let mut chain = Chain::new(drafts.zip(&places));
        let mut records = Vec::with_capacity(pieces.len() + 2);
        let mut now = self.header.as_ref().map_or_else(|| self.first_time(), |header| header.opened_at);
        let mut heads = Heads::default();
        if self.header_is_made_up
            && let Some(header) = self.header.take()
        {
            records.push(Record::opened(header));
        }
        for (piece, place) in pieces.into_iter().zip(places) {
            let Some(draft) = piece.draft else {
                records.push(Record::unknown(piece.raw));
                continue;
            };
            match draft.written_at {
                Some(moment) => now = moment,
                None if draft.is_place() && place.id.is_some() => {
                    self.repaired(piece.line, "the time is missing or not readable; the one before is taken");
                }
                None => {}
            }
            let record = match draft.what {
                What::Header(header) => match self.header.take() {
                    Some(opened) => {
                        records.push(Record::opened(opened).from_line(piece.raw));
                        if let Some(title) = header.title.filter(|_| !self.has_title_slot) {
                            records.push(Record::marked(now, title));
                        }
                        continue;
                    }
                    None => Record::new(Change::Unknown),
                },
                What::TitleSlot(fact) => Record::marked(now, fact),
                What::Nameless => Record::new(Change::Unknown),
                What::Leaf(target) => {
                    let to = chain.passes.entry_above(target);
                    let is_there = chain.is_entry(&to);
                    Record::head_moved(heads.explicit(to, now, is_there))
                }
                What::Silent => {
                    heads.pass(&mut chain, place);
                    Record::new(Change::Unknown)
                }
                What::Fact(fact) => {
                    let id = place.id.clone();
                    heads.pass(&mut chain, place);
                    Record::new(Change::Marked(Mark { id, marked_at: now, fact }))
                }
                What::Entry(body) => match place.id.clone() {
                    Some(id) => {
                        heads.last = Some(Some(id.clone()));
                        let body = chain.anchored(body, &id, &place);
                        let parent = chain.passes.entry_above(place.parent);
                        let entry = Entry { id, parent, written_at: now, turn: None, body };
                        Record::new(Change::Entry(Arc::new(entry)))
                    }
                    None => Record::new(Change::Unknown),
                },
            };
            records.push(record.from_line(piece.raw));
        }
        if let Some(to) = heads.last.take()
            && heads.at != to
        {
            records.push(Record::head_moved(heads.step(to, now)));
        }
        records
    }
}

impl Draft {
    /// A line that has its place in the chain of ids.
    fn is_place(&self) -> bool {
        matches!(self.what, What::Entry(_) | What::Fact(_) | What::Silent)
    }

    /// A line that should stand behind the header.
    pub(super) fn is_content(&self) -> bool {
        self.is_place() || matches!(self.what, What::Leaf(_) | What::Nameless)
    }
}

pub(super) fn session_header(
    header: &Header,
    id: SessionId,
    opened_at: Timestamp,
    is_oh_my_pi: bool,
) -> SessionHeader {
    SessionHeader {
        id,
        opened_at,
        project: header.project.clone(),
        agent: Some(agent_name(is_oh_my_pi).to_owned()),
        model: header.model.clone(),
        lineage: header.lineage.clone(),
        foreign: None,
    }
}

pub(super) fn agent_name(is_oh_my_pi: bool) -> &'static str {
    if is_oh_my_pi { "oh-my-pi" } else { "pi" }
}

/// Files are called `<time>_<id>.jsonl`.
fn id_in_file_name(file_name: &str) -> Option<&str> {
    let name = file_name.rsplit(['/', '\\']).next()?;
    let stem = name.strip_suffix(".jsonl").unwrap_or(name);
    let id = stem.rsplit_once('_').map_or(stem, |(_, id)| id);
    Some(id).filter(|id| !id.is_empty())
}

/// The title a header or a slot gives.
pub(super) fn title_of(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::Title { title, .. } => title.as_deref().map(str::trim).filter(|title| !title.is_empty()),
        _ => None,
    }
}
