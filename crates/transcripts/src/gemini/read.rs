//! From lines or a document to records.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use offshoot_session::{
    Body, BranchReason, Change, Entry, EntryId, Fact, Lineage, Odd, Oddity, RawLine, Record, SessionHeader,
    SessionId, TitleSource,
};

use super::list::{Lists, Node, Put};
use super::message::{body_of, foreign, results_alone, results_of_reply};
use crate::heads::{Heads, Place};
use crate::ids::fresh_id;
use crate::json::{Map, id_text, text, timestamp};
use crate::lines::{Content, Line, Watched, lines};
use crate::nested::{array, object, objects};
use crate::noted::{Noted, oddity_of_document};
use crate::{Dialect, Transcript, document};

/// Reads a session of Gemini CLI, older or newer, whatever state it is in.
pub fn read<'b>(file_name: Option<&str>, bytes: impl Into<Watched<'b>>) -> Transcript {
    let bytes = bytes.into();
    let mut reader = Reader::default();
    match document::whole(bytes.bytes).filter(is_document) {
        Some(document) => reader.document(&document, RawLine::new(bytes.bytes)),
        None if document::is_torn(bytes.bytes) => reader.torn(RawLine::new(bytes.bytes)),
        None => lines(bytes).for_each(|line| reader.line(line)),
    }
    reader.finish(file_name)
}

pub(crate) fn is_document(document: &Map) -> bool {
    is_header(document) && document.contains_key("messages")
}

pub(crate) fn is_line(map: &Map) -> bool {
    is_header(map)
        || object(map, "$set").is_some()
        || map.contains_key("$rewindTo")
        || (text(map, "type") == Some("gemini") && map.contains_key("content"))
}

fn is_header(map: &Map) -> bool {
    map.contains_key("sessionId") && map.contains_key("projectHash") && !map.contains_key("type")
}

#[derive(Default)]
struct Reader {
    lists: Lists,
    steps: Vec<Step>,
    noted: Noted,
    header: Option<SessionHeader>,
    is_subagent: bool,
    project: Option<String>,
    now: Timestamp,
}

/// A line and what came of it.
struct Step {
    source: RawLine,
    what: What,
    at: Timestamp,
}

enum What {
    Nothing,
    Header,
    /// Places in the tree that this line is the first to tell of.
    Messages(Vec<usize>),
    /// The list was cut: the head goes to its end.
    Cut(Option<usize>),
    Title(String),
}

impl Reader {
    fn document(&mut self, document: &Map, source: RawLine) {
        self.open(1, document);
        self.noted.oddities.extend(oddity_of_document(source.bytes()));
        let nodes = self.messages(1, array(document, "messages").iter().filter_map(|m| m.as_object()));
        self.steps.push(Step { source, what: What::Header, at: self.now });
        let title = text(document, "summary").map(|title| What::Title(title.to_owned()));
        let empty = || RawLine::new(Vec::new());
        self.steps.extend(title.map(|what| Step { source: empty(), what, at: self.now }));
        self.steps.push(Step { source: empty(), what: What::Messages(nodes), at: self.now });
    }

    fn torn(&mut self, source: RawLine) {
        let bytes = source.bytes().len() as u64;
        self.noted.oddities.push(Oddity::new(Odd::TornTail { bytes }));
        self.steps.push(Step { source, what: What::Nothing, at: self.now });
    }

    fn line(&mut self, line: Line) {
        self.noted.line(&line);
        let what = match &line.content {
            Content::Object(map) => self.take(line.number, map),
            Content::Blank | Content::Unreadable(_) | Content::Torn => What::Nothing,
        };
        self.steps.push(Step { source: line.raw, what, at: self.now });
    }

    fn take(&mut self, line: u64, map: &Map) -> What {
        if let Some(set) = object(map, "$set") {
            return self.set(line, set);
        }
        if let Some(target) = map.get("$rewindTo") {
            let target = id_text(target).unwrap_or_default();
            if !self.lists.rewind_to(&target) {
                let what = format!("a rewind to `{target}`, which is not there, leaves nothing");
                self.noted.repaired(line, what);
            }
            return What::Cut(self.lists.tip());
        }
        if is_header(map) {
            return self.open(line, map);
        }
        if text(map, "type").is_none() {
            self.noted.odd(line, Odd::UnreadableLine("an object without a type".to_owned()));
            return What::Nothing;
        }
        What::Messages(self.messages(line, std::iter::once(map)))
    }

    /// The header comes again whenever the session is resumed.
    fn open(&mut self, line: u64, map: &Map) -> What {
        let id = map.get("sessionId").and_then(id_text).unwrap_or_default();
        let opened_at = map.get("startTime").and_then(timestamp);
        self.now = opened_at.unwrap_or(self.now);
        if let Some(directory) = array(map, "directories").iter().find_map(|path| path.as_str()) {
            self.project = Some(directory.to_owned());
        }
        match &self.header {
            Some(header) if header.id.as_str() != id => {
                self.noted.odd(line, Odd::SecondHeader);
                What::Nothing
            }
            Some(_) => What::Nothing,
            None => {
                if !self.lists.nodes.is_empty() {
                    self.noted.repaired(line, "the header stands behind other lines");
                }
                self.header = Some(SessionHeader::new(SessionId::from(id), self.now));
                self.is_subagent = text(map, "kind") == Some("subagent");
                What::Header
            }
        }
    }

    fn set(&mut self, line: u64, set: &Map) -> What {
        const KNOWN: [&str; 9] = [
            "sessionId",
            "projectHash",
            "startTime",
            "lastUpdated",
            "kind",
            "summary",
            "messages",
            "directories",
            "memoryScratchpad",
        ];
        for key in set.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
            self.noted.unknown_type(Some(line), &format!("$set.{key}"));
        }
        if let Some(moment) = set.get("lastUpdated").and_then(timestamp) {
            self.now = moment;
        }
        if let Some(directory) = array(set, "directories").iter().find_map(|path| path.as_str()) {
            self.project = Some(directory.to_owned());
        }
        if set.get("messages").is_some_and(|messages| messages.is_array()) {
            self.lists.clear();
            let nodes = self.messages(line, objects(set, "messages"));
            return if nodes.is_empty() { What::Cut(self.lists.tip()) } else { What::Messages(nodes) };
        }
        text(set, "summary").map_or(What::Nothing, |title| What::Title(title.to_owned()))
    }

    fn messages<'m>(&mut self, line: u64, messages: impl Iterator<Item = &'m Map>) -> Vec<usize> {
        let mut nodes = Vec::new();
        for message in messages {
            let id = message.get("id").and_then(id_text).unwrap_or_else(|| {
                self.noted.repaired(line, "a message has no id; one is made from its place");
                format!("line{line}.{}", nodes.len())
            });
            if let Some(moment) = message.get("timestamp").and_then(timestamp) {
                self.now = moment;
            }
            if body_of(message).is_none() {
                let kind = text(message, "type").unwrap_or("message");
                self.noted.unknown_type(Some(line), kind);
            }
            if let Put::New(node) = self.lists.put(&id, message) {
                nodes.push(node);
            }
        }
        nodes
    }

    fn finish(mut self, file_name: Option<&str>) -> Transcript {
        let mut records = Vec::with_capacity(self.steps.len() + 2);
        let mut header = Some(self.session_header(file_name));
        if self.header.is_none() {
            self.noted.oddities.push(Oddity::new(Odd::MissingHeader));
            records.extend(header.take().map(Record::opened));
        }
        let mut tree = Tree::new(&self.lists.nodes);
        let mut heads = Heads::default();
        for step in std::mem::take(&mut self.steps) {
            let mut made = match step.what {
                What::Nothing => Vec::new(),
                What::Header => header.take().map(Record::opened).into_iter().collect(),
                What::Messages(nodes) => {
                    nodes.into_iter().flat_map(|node| tree.entries(node)).map(Record::entry).collect()
                }
                What::Cut(tip) => {
                    let to = tip.and_then(|tip| tree.end_of(tip));
                    heads.go(to, step.at).map(Record::head_moved).into_iter().collect()
                }
                What::Title(title) => {
                    let fact = Fact::Title { title: Some(title), source: TitleSource::Auto };
                    vec![Record::marked(step.at, fact)]
                }
            };
            if !step.source.bytes().is_empty() {
                match made.first_mut() {
                    Some(record) => record.source = Some(step.source),
                    None => made.push(Record::new(Change::Unknown).from_line(step.source)),
                }
            }
            records.append(&mut made);
        }
        let tip = self.lists.tip().and_then(|tip| tree.end_of(tip));
        records.extend(heads.go(tip, self.now).map(Record::head_moved));
        Transcript {
            dialect: Dialect::Gemini,
            records,
            oddities: self.noted.oddities,
            unknown_types: self.noted.unknown_types,
        }
    }

    fn session_header(&self, file_name: Option<&str>) -> SessionHeader {
        let mut header = self.header.clone().unwrap_or_else(|| {
            let id = file_name.and_then(|name| name.rsplit(['/', '\\']).next()).map(str::to_owned);
            let id = id.unwrap_or_else(|| {
                let seed = self.steps.first().map_or(&b""[..], |step| step.source.content());
                fresh_id(&[seed], &mut HashSet::new()).to_string()
            });
            let first = self.lists.nodes.iter().find_map(|node| node.written_at);
            SessionHeader::new(id.into(), first.unwrap_or(self.now))
        });
        header.agent = Some("gemini".to_owned());
        header.lineage = file_name.filter(|_| self.is_subagent).and_then(session_of_subagent);
        header.project = self.project.clone().or_else(|| self.workspace());
        header
    }

    /// The header names the project only by a hash; the context that Gemini gives the model names its folder.
    fn workspace(&self) -> Option<String> {
        let body = self.lists.nodes.first().and_then(|node| body_of(&node.message));
        let Some(Body::System(context)) = body else { return None };
        let (_, behind) = context.text.split_once("Workspace Directories:")?;
        let folder = behind.lines().find_map(|line| line.trim().strip_prefix("- "))?;
        Some(folder.trim().to_owned())
    }
}

/// The session in `chats/<session>/<sub-agent>.jsonl`; the file itself does not name it.
fn session_of_subagent(path: &str) -> Option<Lineage> {
    let mut folders = path.rsplit(['/', '\\']).skip(1);
    let session = folders.next().filter(|session| !session.is_empty())?;
    folders.next().filter(|chats| *chats == "chats")?;
    Some(Lineage {
        parent: session.to_owned(),
        at: None,
        message_index: None,
        reason: Some(BranchReason::Other("subagent".to_owned())),
        metadata: None,
    })
}

/// From places of messages to entries: a reply with results is several.
struct Tree<'n> {
    nodes: &'n [Node],
    ends: HashMap<usize, Place>,
    taken: HashSet<EntryId>,
    now: Timestamp,
}

impl<'n> Tree<'n> {
    fn new(nodes: &'n [Node]) -> Self {
        let taken = nodes.iter().map(|node| EntryId::from(node.id.as_str())).collect();
        Self { nodes, ends: HashMap::new(), taken, now: Timestamp::UNIX_EPOCH }
    }

    fn end_of(&self, node: usize) -> Option<Place> {
        self.ends.get(&node).cloned()
    }

    fn entries(&mut self, at: usize) -> Vec<Entry> {
        let Some(node) = self.nodes.get(at) else { return Vec::new() };
        self.now = node.written_at.unwrap_or(self.now);
        let mut parent = node.parent.and_then(|parent| self.end_of(parent)).map(|place| place.id);
        let id = EntryId::from(node.id.as_str());
        let bodies = bodies_of(node);
        let mut entries = Vec::with_capacity(bodies.len());
        for (place, (suffix, body)) in bodies.into_iter().enumerate() {
            let id = if place == 0 { id.clone() } else { self.fresh(format!("{id}/{suffix}")) };
            entries.push(Entry {
                id: id.clone(),
                parent: parent.replace(id),
                written_at: self.now,
                turn: None,
                body,
            });
        }
        if let Some(last) = entries.last() {
            self.ends.insert(at, Place::of(last));
        }
        entries
    }

    fn fresh(&mut self, name: String) -> EntryId {
        let mut id = EntryId::from(name);
        while !self.taken.insert(id.clone()) {
            id = EntryId::from(format!("{id}+"));
        }
        id
    }
}

/// What a message says, then the results it brings, each with the call it answers.
fn bodies_of(node: &Node) -> Vec<(String, Body)> {
    if let Some(results) = results_alone(&node.message) {
        return results
            .into_iter()
            .map(|result| (result.call.to_string(), Body::ToolResult(result)))
            .collect();
    }
    let said = body_of(&node.message).unwrap_or_else(|| foreign(&node.message));
    let results = results_of_reply(&node.message).into_iter();
    let open = results.filter(|result| !node.answered.contains(result.call.as_str()));
    let results = open.map(|result| (result.call.to_string(), Body::ToolResult(result)));
    std::iter::once((String::new(), said)).chain(results).collect()
}
