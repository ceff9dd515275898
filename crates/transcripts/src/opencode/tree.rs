//! From rows to records.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use offshoot_session::{
    Body, BranchReason, Change, Entry, EntryId, Fact, Foreign, Lineage, Model, Odd, Oddity, Record,
    SessionHeader, SessionId, Setting, TitleSource, TurnId,
};

use super::message::{Piece, is_known_part, model_of, of_assistant, of_user};
use super::rows::{Row, Rows};
use crate::heads::{Heads, Place};
use crate::ids::fresh_id;
use crate::json::{Map, id_text, text, timestamp};
use crate::nested::object;
use crate::noted::Noted;
use crate::{Dialect, Transcript};

/// One session from rows that somebody has read already. Every source of a row becomes the source of a record.
pub fn read_rows(rows: Rows) -> Transcript {
    let mut reader = Reader::default();
    let order = Order::of(&rows, &mut reader.noted);
    reader.open(rows.session.as_ref(), &rows);
    let session = rows.session.as_ref().map(|row| &row.json);
    let revert = session.and_then(|session| object(session, "revert"));
    let hidden_from = revert.and_then(|revert| revert.get("messageID")).and_then(id_text);
    for at in &order.messages {
        reader.message(*at, &rows, &order);
    }
    let left_over = rows.parts.iter().enumerate().filter(|(at, _)| !order.placed_parts.contains(at));
    for (_, part) in left_over {
        reader.records.extend(part.source.clone().map(Record::unknown));
    }
    reader.finish(hidden_from.as_deref())
}

/// The order in which messages follow each other, and the parts of each.
#[derive(Default)]
struct Order {
    messages: Vec<usize>,
    parts: HashMap<usize, Vec<usize>>,
    placed_parts: HashSet<usize>,
}

impl Order {
    /// Messages of the person in time, each followed by its answers in time. An answer to nobody stands where
    /// its time puts it.
    fn of(rows: &Rows, noted: &mut Noted) -> Self {
        let mut in_time: Vec<usize> = (0..rows.messages.len()).collect();
        let row = |at: &usize| rows.messages.get(*at);
        in_time.sort_by_cached_key(|at| (row(at).and_then(created), row(at).and_then(|row| row.id("id"))));
        let mut by_id: HashMap<String, usize> = HashMap::new();
        for at in &in_time {
            if let Some(id) = row(at).and_then(|row| row.id("id")) {
                by_id.entry(id).or_insert(*at);
            }
        }
        let mut answers: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut first = Vec::new();
        for at in in_time {
            let asked = row(&at).filter(|row| is_answer(&row.json)).and_then(|row| row.id("parentID"));
            match asked.as_ref().map(|asked| by_id.get(asked)) {
                Some(Some(question)) if *question != at && row(question).is_some_and(is_question) => {
                    answers.entry(*question).or_default().push(at);
                }
                Some(_) => {
                    let asked = asked.unwrap_or_default();
                    noted.remark(format!(
                        "an answer to `{asked}`, which is not here, stands where its time puts it"
                    ));
                    first.push(at);
                }
                None => first.push(at),
            }
        }
        let mut order = Self::default();
        for at in first {
            order.messages.push(at);
            order.messages.extend(answers.remove(&at).unwrap_or_default());
        }
        for (at, part) in rows.parts.iter().enumerate() {
            if let Some(message) = part.id("messageID").and_then(|id| by_id.get(&id).copied()) {
                order.parts.entry(message).or_default().push(at);
                order.placed_parts.insert(at);
            }
        }
        order
    }
}

fn is_answer(message: &Map) -> bool {
    text(message, "role") == Some("assistant")
}

fn is_question(row: &Row) -> bool {
    text(&row.json, "role") == Some("user")
}

fn created(row: &Row) -> Option<Timestamp> {
    object(&row.json, "time")?.get("created").and_then(timestamp)
}

#[derive(Default)]
struct Reader {
    records: Vec<Record>,
    noted: Noted,
    taken: HashSet<EntryId>,
    /// What stood before each message.
    before: HashMap<String, Option<Place>>,
    tip: Option<Place>,
    turn: Option<TurnId>,
    model: Option<Model>,
    agent: Option<String>,
    now: Timestamp,
}

impl Reader {
    fn open(&mut self, session: Option<&Row>, rows: &Rows) {
        self.now =
            session.and_then(created).or_else(|| rows.messages.iter().find_map(created)).unwrap_or_default();
        let Some(row) = session else {
            self.noted.oddities.push(Oddity::new(Odd::MissingHeader));
            let id = rows.messages.iter().chain(&rows.parts).find_map(|row| row.id("sessionID"));
            let mut header = SessionHeader::new(id.unwrap_or_else(|| "opencode".to_owned()).into(), self.now);
            header.agent = Some("opencode".to_owned());
            return self.records.push(Record::opened(header));
        };
        let id = row.id("id").unwrap_or_else(|| {
            self.noted.remark("the session has no id; one is made from its text");
            let seed = serde_json::Value::Object(row.json.clone()).to_string();
            fresh_id(&[seed.as_bytes()], &mut HashSet::new()).to_string()
        });
        let header = SessionHeader {
            id: SessionId::from(id),
            opened_at: self.now,
            project: text(&row.json, "directory").map(str::to_owned),
            agent: Some("opencode".to_owned()),
            model: None,
            lineage: row.id("parentID").map(|parent| Lineage {
                parent,
                at: None,
                message_index: None,
                reason: Some(BranchReason::Other("sub-agent".to_owned())),
                metadata: None,
            }),
            foreign: None,
        };
        self.records.push(Record { source: row.source.clone(), ..Record::opened(header) });
        if let Some(title) = text(&row.json, "title").filter(|title| !title.starts_with("New session - ")) {
            let fact = Fact::Title { title: Some(title.to_owned()), source: TitleSource::Auto };
            self.records.push(Record::marked(self.now, fact));
        }
    }

    fn message(&mut self, at: usize, rows: &Rows, order: &Order) {
        let Some(row) = rows.messages.get(at) else { return };
        let id = row.id("id").unwrap_or_else(|| {
            self.noted.remark("a message has no id; one is made from its place");
            format!("message{at}")
        });
        match created(row) {
            Some(moment) => self.now = moment,
            None => self.noted.remark(format!("`{id}` has no readable time; the one before is taken")),
        }
        self.before.entry(id.clone()).or_insert_with(|| self.tip.clone());
        let places = order.parts.get(&at).map(Vec::as_slice).unwrap_or_default();
        let parts = || places.iter().filter_map(|at| Some((*at, &rows.parts.get(*at)?.json)));
        for (_, part) in parts() {
            let kind = text(part, "type").unwrap_or("part");
            if !is_known_part(kind) {
                self.noted.unknown_type(None, &format!("part/{kind}"));
            }
        }
        let pieces = match text(&row.json, "role") {
            Some("user") => {
                self.turn = Some(TurnId::from(id.as_str()));
                self.settings(&id, &row.json);
                of_user(parts())
            }
            Some("assistant") => {
                self.turn = row.id("parentID").map(TurnId::from).or_else(|| self.turn.take());
                of_assistant(&row.json, parts())
            }
            role => {
                let kind = role.unwrap_or("message").to_owned();
                self.noted.unknown_type(None, &kind);
                vec![Piece { part: None, body: Body::Foreign(Foreign { kind, text: None }) }]
            }
        };
        self.write(&id, row, pieces, rows, places);
    }

    /// The message, the entries that its parts make, and the parts that make none.
    fn write(&mut self, id: &str, row: &Row, pieces: Vec<Piece>, rows: &Rows, parts: &[usize]) {
        let mut told = HashSet::new();
        for piece in pieces {
            let part = piece.part.and_then(|at| rows.parts.get(at));
            told.extend(piece.part);
            let name = match part {
                Some(part) => part.id("id").unwrap_or_else(|| format!("{id}/{}", told.len())),
                None => id.to_owned(),
            };
            let source = part.map_or(&row.source, |part| &part.source).clone();
            let record = self.entry(name, piece.body);
            self.records.push(Record { source, ..record });
        }
        for at in parts.iter().filter(|at| !told.contains(at)) {
            let source = rows.parts.get(*at).and_then(|part| part.source.clone());
            self.records.extend(source.map(Record::unknown));
        }
    }

    /// Every prompt says how it is to be answered; what differs from before is told.
    fn settings(&mut self, id: &str, message: &Map) {
        let model = model_of(message);
        if let Some(model) = model.filter(|model| self.model.as_ref() != Some(model)) {
            self.model = Some(model.clone());
            let record =
                self.entry(format!("{id}.model"), Body::Setting(Setting::Model { role: None, model }));
            self.records.push(record);
        }
        let agent = text(message, "agent").or_else(|| text(message, "mode")).map(str::to_owned);
        if let Some(mode) = agent.filter(|agent| self.agent.as_ref() != Some(agent)) {
            self.agent = Some(mode.clone());
            let setting = Setting::Mode { mode, data: None };
            let record = self.entry(format!("{id}.agent"), Body::Setting(setting));
            self.records.push(record);
        }
    }

    fn entry(&mut self, name: String, body: Body) -> Record {
        let mut id = EntryId::from(name);
        if self.taken.contains(&id) {
            self.noted.remark(format!("id `{id}` is used twice; the second one is made longer"));
        }
        while !self.taken.insert(id.clone()) {
            id = EntryId::from(format!("{id}+"));
        }
        let parent = self.tip.as_ref().map(|tip| tip.id.clone());
        let entry = Entry { id, parent, written_at: self.now, turn: self.turn.clone(), body };
        self.tip = Some(Place::of(&entry));
        Record::new(Change::Entry(entry.into()))
    }

    fn finish(mut self, hidden_from: Option<&str>) -> Transcript {
        let to = match hidden_from.map(|id| self.before.get(id).cloned().ok_or(id)) {
            None => self.tip,
            Some(Ok(before)) => before,
            Some(Err(id)) => {
                self.noted.remark(format!("the session is reverted to `{id}`, which is not here"));
                self.tip
            }
        };
        self.records.extend(Heads::default().go(to, self.now).map(Record::head_moved));
        Transcript {
            dialect: Dialect::OpenCode,
            records: self.records,
            oddities: self.noted.oddities,
            unknown_types: self.noted.unknown_types,
        }
    }
}
