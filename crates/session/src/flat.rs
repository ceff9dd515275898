//! Turns a flat list of messages into a session with one branch.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::said::{NotUnderstood, Said};
use crate::{
    AgentSessionId, Body, Entry, EntryId, Fact, HeadMove, HeadName, Missing, Provenance, Record, Stamps,
    TurnId,
};

/// One message of a flat list.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatMessage {
    /// `None`: it gets a new one.
    pub id: Option<EntryId>,
    pub written_at: Option<Timestamp>,
    /// The agent's own session that its turn belongs to.
    pub agent_session: Option<AgentSessionId>,
    pub body: Body,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotAFlatList {
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("not a JSON list of messages")]
    NotAList,
    /// Counted from 1.
    #[error("message {number}: {why}")]
    Message { number: usize, why: NotUnderstood },
}

impl From<Body> for FlatMessage {
    fn from(body: Body) -> Self {
        Self { id: None, written_at: None, agent_session: None, body }
    }
}

/// Reads a JSON list. A message is an object as `append` takes it, with two differences: its words may be in `content`, as
/// a string or as text blocks, and `agent_session` names the agent's session. The order decides, so a `parent` is ignored.
pub fn read_flat(json: &[u8]) -> Result<Vec<FlatMessage>, NotAFlatList> {
    let list = serde_json::from_slice(json).map_err(|error| NotAFlatList::NotJson(error.to_string()))?;
    let Value::Array(list) = list else { return Err(NotAFlatList::NotAList) };
    let mut taken: HashSet<EntryId> = HashSet::new();
    let messages = list.into_iter().enumerate().map(|(at, value)| {
        let message = read_message(value).and_then(|message| match &message.id {
            Some(id) if !taken.insert(id.clone()) => Err(format!("the id `{id}` is used twice").into()),
            Some(_) | None => Ok(message),
        });
        message.map_err(|why| NotAFlatList::Message { number: at + 1, why })
    });
    messages.collect()
}

fn read_message(value: Value) -> Result<FlatMessage, NotUnderstood> {
    let Value::Object(mut map) = value else { return Err("not a JSON object".into()) };
    let agent_session = match map.shift_remove("agent_session") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if !id.is_empty() => Some(id.into()),
        Some(_) => return Err("`agent_session` is not an id".into()),
    };
    map.shift_remove("parent");
    if let Some(content) = map.shift_remove("content") {
        if map.contains_key("text") {
            return Err("it has both `text` and `content`".into());
        }
        map.insert("text".to_owned(), Value::String(text_of_content(content)?));
    }
    let Said { id, parent: _, written_at, body } = Said::from_value(Value::Object(map))?;
    Ok(FlatMessage { id: id.map(EntryId::from), written_at, agent_session, body })
}

fn text_of_content(content: Value) -> Result<String, NotUnderstood> {
    let blocks = match content {
        Value::String(text) => return Ok(text),
        Value::Null => return Ok(String::new()),
        Value::Array(blocks) => blocks,
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("`content` is neither a string nor a list".into());
        }
    };
    let texts = blocks.into_iter().map(|block| match block {
        Value::String(text) => Ok(text),
        Value::Object(mut block) => text_of_block(&mut block),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Err("`content` holds something that is not a block".into())
        }
    });
    Ok(texts.collect::<Result<Vec<_>, NotUnderstood>>()?.join("\n"))
}

/// The names that Anthropic's and OpenAI's messages have for text.
fn text_of_block(block: &mut Map<String, Value>) -> Result<String, NotUnderstood> {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or("text").to_owned();
    match (kind.as_str(), block.shift_remove("text")) {
        ("text" | "input_text" | "output_text", Some(Value::String(text))) => Ok(text),
        _ => Err(format!("`content` holds a block of the type `{kind}`; only text is understood").into()),
    }
}

/// Plans the records of a session that contains these messages. Each prompt is a child of the last message before it, so
/// that two prompts are never versions of each other, and the head is at the last message. Messages before the first
/// prompt answer nothing and are left out; without a prompt there are no records.
///
/// Every answered turn keeps the agent's session that it names, or that of the turn before it.
pub fn import_flat<M: Into<FlatMessage>>(
    messages: impl IntoIterator<Item = M>,
    stamps: &mut dyn Stamps,
) -> Vec<Record> {
    let mut import = Import::default();
    for message in messages {
        import.take(message.into(), stamps);
    }
    import.finish(stamps)
}

#[derive(Default)]
struct Import {
    records: Vec<Record>,
    tip: Option<EntryId>,
    turn: Option<OpenTurn>,
    session: Option<AgentSessionId>,
}

struct OpenTurn {
    id: TurnId,
    prompt: EntryId,
    is_answered: bool,
}

impl Import {
    fn take(&mut self, message: FlatMessage, stamps: &mut dyn Stamps) {
        let FlatMessage { id, written_at, agent_session, body } = message;
        let is_prompt = body.is_prompt();
        if !is_prompt && self.turn.is_none() {
            return;
        }
        if is_prompt {
            self.end_turn(stamps);
        }
        let id = id.unwrap_or_else(|| stamps.entry_id());
        let turn = match &mut self.turn {
            Some(turn) if !is_prompt => {
                turn.is_answered = true;
                turn.id.clone()
            }
            turn => {
                let begun = OpenTurn { id: stamps.turn_id(), prompt: id.clone(), is_answered: false };
                turn.insert(begun).id.clone()
            }
        };
        self.session = agent_session.or(self.session.take());
        self.records.push(Record::entry(Entry {
            id: id.clone(),
            parent: self.tip.replace(id),
            written_at: written_at.unwrap_or_else(|| stamps.now()),
            turn: Some(turn),
            body,
        }));
    }

    /// A prompt without an answer can still be answered: its turn has not ended.
    fn end_turn(&mut self, stamps: &mut dyn Stamps) {
        let Some(turn) = self.turn.take().filter(|turn| turn.is_answered) else { return };
        let now = stamps.now();
        if let Some(session) = &self.session {
            let fact = Fact::Bound {
                at: turn.prompt,
                agent_session: Some(session.clone()),
                provenance: Provenance::Continued,
                last_message: None,
                agent: None,
                missing: Missing::default(),
                inherited: false,
                model: None,
            };
            self.records.push(Record::marked(now, fact));
        }
        self.records.push(Record::marked(now, Fact::TurnEnded { turn: turn.id }));
    }

    fn finish(mut self, stamps: &mut dyn Stamps) -> Vec<Record> {
        self.end_turn(stamps);
        if let Some(to) = self.tip {
            let moved_at = stamps.now();
            let to_the_end = HeadMove { head: HeadName::main(), moved_at, from: None, to: Some(to) };
            self.records.push(Record::head_moved(to_the_end));
        }
        self.records
    }
}
