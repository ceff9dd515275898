//! From the lines of a file to records.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, BranchReason, Change, Entry, EntryId, Foreign, HeadMove, HeadName, Lineage, Model, Odd,
    Oddity, Prompt, RawLine, Record, Reply, SessionHeader, SessionId, Setting, System, ToolResult, ToolUse,
    text_of,
};
use serde_json::Value;

use crate::ids::fresh_id;
use crate::json::{Map, flag, given, id_text, integer, string, text, timestamp};
use crate::lines::{Content, Line, Watched, lines};
use crate::noted::oddities_of_line;
use crate::pi::blocks;
use crate::{Dialect, Transcript};

/// Reads a file of rollouts, the older kind with changes of the configuration among the messages included.
pub fn read<'b>(file_name: Option<&str>, bytes: impl Into<Watched<'b>>) -> Transcript {
    let bytes = bytes.into();
    let mut reader = Reader { now: Timestamp::UNIX_EPOCH, ..Reader::default() };
    lines(bytes).for_each(|line| reader.take(line));
    reader.finish(file_name)
}

#[derive(Default)]
struct Reader {
    records: Vec<Record>,
    oddities: Vec<Oddity>,
    unknown_types: BTreeMap<String, u64>,
    has_header: bool,
    tip: Option<EntryId>,
    taken: HashSet<EntryId>,
    now: Timestamp,
}

impl Reader {
    fn take(&mut self, line: Line) {
        self.oddities.extend(oddities_of_line(&line, line.number));
        let map = match line.content {
            Content::Blank | Content::Unreadable(_) | Content::Torn => {
                return self.records.push(Record::unknown(line.raw));
            }
            Content::Object(map) => map,
        };
        match text(&map, "type") {
            Some("session") if self.has_header => self.unknown(line.number, line.raw, Odd::SecondHeader),
            Some("session") => self.header(line.number, line.raw, &map),
            Some(kind) => self.entry(kind, line.number, line.raw, &map),
            None => {
                let reason = "an object without a type".to_owned();
                self.unknown(line.number, line.raw, Odd::UnreadableLine(reason));
            }
        }
    }

    fn header(&mut self, line: u64, raw: RawLine, map: &Map) {
        match map.get("timestamp").map(timestamp) {
            Some(Some(moment)) => self.now = moment,
            Some(None) => self.repaired(line, "the time of the header is not readable"),
            None => {}
        }
        if self.tip.is_some() {
            self.repaired(line, "the header stands behind other lines");
        }
        let id = map.get("id").and_then(id_text).unwrap_or_else(|| {
            self.repaired(line, "the header has no id; one is made from its text");
            fresh_id(&[raw.content()], &mut HashSet::new()).to_string()
        });
        self.has_header = true;
        self.records.push(Record::opened(header_of(map, id.into(), self.now)).from_line(raw));
    }

    fn entry(&mut self, kind: &str, line: u64, raw: RawLine, map: &Map) {
        match map.get("timestamp").map(timestamp) {
            Some(Some(moment)) => self.now = moment,
            Some(None) => self.repaired(line, "the time is not readable; the one before is taken"),
            None => {}
        }
        if !matches!(kind, "message" | "config_change") {
            let count = self.unknown_types.entry(kind.to_owned()).or_default();
            *count += 1;
            if *count == 1 {
                self.oddities.push(Oddity::at_line(line, Odd::UnknownType(kind.to_owned())));
            }
        }
        let body = body_of_line(kind, map);
        let model = match &body {
            Body::Setting(Setting::Config(config)) => model_of_config(config),
            _ => None,
        };
        let content = raw.content().trim_ascii().to_vec();
        let record = self.next(body, &content).from_line(raw);
        self.records.push(record);
        if let Some(model) = model {
            let record = self.next(Body::Setting(Setting::Model { role: None, model }), b"model");
            self.records.push(record);
        }
    }

    /// The next entry of the line, below the one before.
    fn next(&mut self, body: Body, seed: &[u8]) -> Record {
        let above = self.tip.as_ref().map_or("", EntryId::as_str);
        let id = fresh_id(&[above.as_bytes(), seed], &mut self.taken);
        let parent = self.tip.replace(id.clone());
        Record::entry(Entry { id, parent, written_at: self.now, turn: None, body })
    }

    fn finish(mut self, file_name: Option<&str>) -> Transcript {
        if !self.has_header {
            self.oddities.push(Oddity::new(Odd::MissingHeader));
            let id = file_name.and_then(id_in_file_name).map_or_else(
                || self.tip.as_ref().map_or("rollout", EntryId::as_str).to_owned(),
                str::to_owned,
            );
            let mut header = SessionHeader::new(id.into(), self.now);
            header.agent = Some("rollouts".to_owned());
            self.records.insert(0, Record::opened(header));
        }
        if let Some(to) = self.tip {
            let head_move = HeadMove { head: HeadName::main(), moved_at: self.now, from: None, to: Some(to) };
            self.records.push(Record::head_moved(head_move));
        }
        Transcript {
            dialect: Dialect::Rollouts,
            records: self.records,
            oddities: self.oddities,
            unknown_types: self.unknown_types,
        }
    }

    fn unknown(&mut self, line: u64, raw: RawLine, odd: Odd) {
        self.oddities.push(Oddity::at_line(line, odd));
        self.records.push(Record::new(Change::Unknown).from_line(raw));
    }

    fn repaired(&mut self, line: u64, what: &str) {
        self.oddities.push(Oddity::at_line(line, Odd::Repaired(what.to_owned())));
    }
}

pub(super) fn header_of(map: &Map, id: SessionId, opened_at: Timestamp) -> SessionHeader {
    let lineage = map.get("parent_id").and_then(id_text).map(|parent| Lineage {
        parent,
        at: None,
        message_index: integer(map, "branch_point").and_then(|index| u64::try_from(index).ok()),
        reason: text(map, "branch_reason").map(BranchReason::named),
        metadata: given(map, "branch_metadata").cloned(),
    });
    SessionHeader {
        id,
        opened_at,
        project: text(map, "cwd").map(str::to_owned),
        agent: Some("rollouts".to_owned()),
        model: model_in(map),
        lineage,
        foreign: None,
    }
}

pub(super) fn body_of_line(kind: &str, map: &Map) -> Body {
    match kind {
        "message" => body_of_message(map),
        "config_change" => {
            let mut config = map.clone();
            config.retain(|key, _| key != "type" && key != "timestamp");
            Body::Setting(Setting::Config(Value::Object(config)))
        }
        _ => foreign(kind, map),
    }
}

/// The model that a change of the configuration leads to.
pub(super) fn model_of_config(config: &Value) -> Option<Model> {
    model_in(config.get("endpoint")?.as_object()?)
}

fn body_of_message(map: &Map) -> Body {
    let blocks = || blocks(map.get("content"));
    match text(map, "role") {
        Some("user") => Body::Prompt(Prompt { blocks: blocks(), ..Prompt::default() }),
        Some("assistant") => {
            let mut blocks = blocks();
            blocks.extend(tool_calls(map));
            Body::Reply(Reply { blocks, model: model_in(map), ..Reply::default() })
        }
        Some("tool" | "toolResult") => Body::ToolResult(ToolResult {
            call: string(map, "tool_call_id").into(),
            tool: text(map, "tool_name").or_else(|| text(map, "name")).unwrap_or_default().to_owned(),
            blocks: blocks(),
            failed: flag(map, "is_error"),
            usage: None,
            changed_input: None,
        }),
        Some("system") => Body::System(System { text: text_of(&blocks()) }),
        role => foreign(role.unwrap_or("message"), map),
    }
}

/// Calls of tools beside the content, with their arguments as JSON or as text that holds JSON.
fn tool_calls(map: &Map) -> impl Iterator<Item = Block> {
    let calls = map.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    calls.iter().filter_map(Value::as_object).map(|call| {
        let function = call.get("function").and_then(Value::as_object).unwrap_or(call);
        let input = function.get("arguments").or_else(|| function.get("args")).cloned().unwrap_or_default();
        let parsed = input.as_str().and_then(|text| serde_json::from_str(text).ok());
        Block::ToolUse(ToolUse {
            id: string(call, "id").into(),
            name: string(function, "name"),
            input: parsed.unwrap_or(input),
        })
    })
}

fn foreign(kind: &str, map: &Map) -> Body {
    let words = text_of(&blocks(map.get("content")));
    Body::Foreign(Foreign { kind: kind.to_owned(), text: Some(words).filter(|words| !words.is_empty()) })
}

fn model_in(map: &Map) -> Option<Model> {
    let name = text(map, "model")?;
    match text(map, "provider") {
        Some(provider) => Some(Model { provider: provider.to_owned(), name: name.to_owned() }),
        None => {
            let (provider, name) = name.split_once('/').unwrap_or(("", name));
            Some(Model { provider: provider.to_owned(), name: name.to_owned() })
        }
    }
}

/// Files are called `session_<id>.jsonl`.
fn id_in_file_name(file_name: &str) -> Option<&str> {
    let name = file_name.rsplit(['/', '\\']).next()?;
    let stem = name.strip_suffix(".jsonl").unwrap_or(name);
    Some(stem.strip_prefix("session_").unwrap_or(stem)).filter(|id| !id.is_empty())
}
