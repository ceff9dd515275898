//! What a script says, as an entry: one object for each. The words are those of `show --json`, so what is printed there
//! can be read here.

use jiff::Timestamp;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{
    Block, Body, CustomMessage, Interruption, Model, Note, Prompt, Reply, Shell, Stop, System, ToolResult,
    ToolUse, Usage,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub id: Option<String>,
    /// A point, as a person would name it.
    pub parent: Option<String>,
    pub written_at: Option<Timestamp>,
    pub body: Body,
}

/// The end of a sentence that begins with which of them it is.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct NotUnderstood(String);

impl From<String> for NotUnderstood {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl From<&str> for NotUnderstood {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// What `show --json` tells about an entry that is decided by its place, not by its writer.
const TOLD_BY_ITS_PLACE: [&str; 7] = ["label", "branch", "turn", "version", "edit_group", "active", "head"];

impl Said {
    pub fn of(line: &[u8]) -> Result<Self, NotUnderstood> {
        Self::from_value(serde_json::from_slice(line).map_err(|error| not_json(&error))?)
    }

    pub fn from_value(value: Value) -> Result<Self, NotUnderstood> {
        let Value::Object(map) = value else { return Err("not a JSON object".into()) };
        let mut fields = Fields { map };
        let role = fields.text("role")?.ok_or("`role` is missing")?;
        let said = Self {
            id: fields.text("id")?.filter(|id| !id.is_empty()),
            parent: fields.text("parent")?,
            written_at: fields.time("written_at")?,
            body: fields.body(&role)?,
        };
        for told in TOLD_BY_ITS_PLACE {
            fields.map.shift_remove(told);
        }
        match fields.map.keys().next() {
            Some(unknown) => Err(format!("`{unknown}` is no field of a line with the role `{role}`").into()),
            None => Ok(said),
        }
    }
}

/// The fields that nobody has taken yet.
struct Fields {
    map: Map<String, Value>,
}

impl Fields {
    fn body(&mut self, role: &str) -> Result<Body, String> {
        Ok(match role {
            "user" => Body::Prompt(Prompt {
                blocks: self.words_required()?,
                attachments: self.texts("attachments")?,
                said_at: None,
            }),
            "assistant" => Body::Reply(self.reply()?),
            "tool_result" => Body::ToolResult(ToolResult {
                call: self
                    .text("call")?
                    .ok_or("`call` is missing: the id of the tool call it answers")?
                    .into(),
                tool: self.text("tool")?.unwrap_or_default(),
                blocks: self.words()?,
                failed: self.flag("failed")?,
                usage: None,
                changed_input: None,
            }),
            "system" => Body::System(System { text: self.text("text")?.ok_or(NO_TEXT)? }),
            "shell" => Body::Shell(Shell {
                command: self.text("text")?.ok_or(NO_TEXT)?,
                output: self.text("output")?.unwrap_or_default(),
                exit_code: self.number("exit_code")?,
                private: self.flag("private")?,
                ..Shell::default()
            }),
            "custom" => Body::CustomMessage(CustomMessage {
                kind: self.text("kind")?.ok_or("`kind` is missing")?,
                blocks: self.words()?,
                display: true,
                attribution: None,
            }),
            "note" => {
                self.nothing_in("text")?;
                Body::Note(Note {
                    kind: self.text("kind")?.ok_or("`kind` is missing")?,
                    data: self.map.shift_remove("data").filter(|data| !data.is_null()),
                })
            }
            "interrupted" => {
                self.nothing_in("text")?;
                Body::Interrupted(Interruption::Wanted)
            }
            other => return Err(format!("no role `{other}`; {ROLES}")),
        })
    }

    fn reply(&mut self) -> Result<Reply, String> {
        let mut blocks: Vec<Block> = Vec::new();
        blocks.extend(self.text("thinking")?.map(Block::Thinking));
        blocks.extend(self.words()?);
        let calls = self.map.shift_remove("tool_calls");
        for call in list("tool_calls", calls)? {
            blocks.push(Block::ToolUse(tool_use(call)?));
        }
        let error = self.text("error")?;
        Ok(Reply {
            blocks,
            model: self.text("model")?.map(|model| match model.split_once('/') {
                Some((provider, name)) => Model { provider: provider.to_owned(), name: name.to_owned() },
                None => Model { provider: String::new(), name: model },
            }),
            usage: self.usage()?,
            stop: self.text("stop")?.map(|stop| match stop.as_str() {
                "end_turn" => Stop::EndTurn,
                "tool_use" => Stop::ToolUse,
                "length" => Stop::Length,
                "aborted" => Stop::Aborted,
                "error" => Stop::Error(error.clone().unwrap_or_default()),
                other => Stop::Other(other.to_owned()),
            }),
            said_at: None,
            signatures: Vec::new(),
        })
    }

    fn usage(&mut self) -> Result<Option<Usage>, String> {
        let Some(usage) = self.map.shift_remove("usage").filter(|usage| !usage.is_null()) else {
            return Ok(None);
        };
        let Value::Object(map) = usage else { return Err("`usage` is not an object".to_owned()) };
        let mut fields = Fields { map };
        Ok(Some(Usage {
            input: fields.number("input")?.unwrap_or(0),
            output: fields.number("output")?.unwrap_or(0),
            cache_read: fields.number("cache_read")?.unwrap_or(0),
            cache_write: fields.number("cache_write")?.unwrap_or(0),
            total: 0,
            cost_micros: fields.number("cost_micros")?.unwrap_or(0),
        }))
    }

    fn words_required(&mut self) -> Result<Vec<Block>, String> {
        let words = self.words()?;
        let is_blank = |block: &Block| matches!(block, Block::Text(text) if text.trim().is_empty());
        if words.iter().all(is_blank) { Err(NO_TEXT.to_owned()) } else { Ok(words) }
    }

    fn words(&mut self) -> Result<Vec<Block>, String> {
        Ok(self.text("text")?.filter(|text| !text.is_empty()).map(Block::Text).into_iter().collect())
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.map.shift_remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            // A turn is a number for people; it may be one here.
            Some(Value::Number(number)) if name == "parent" => Ok(Some(number.to_string())),
            Some(_) => Err(format!("`{name}` is not a string")),
        }
    }

    fn texts(&mut self, name: &str) -> Result<Vec<String>, String> {
        let texts = list(name, self.map.shift_remove(name))?;
        let text = |value: Value| {
            value.as_str().map(str::to_owned).ok_or(format!("`{name}` holds more than strings"))
        };
        texts.into_iter().map(text).collect()
    }

    fn number(&mut self, name: &str) -> Result<Option<i64>, String> {
        match self.map.shift_remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| format!("`{name}` is not a whole number")),
        }
    }

    fn flag(&mut self, name: &str) -> Result<bool, String> {
        match self.map.shift_remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| format!("`{name}` is neither `true` nor `false`")),
        }
    }

    fn time(&mut self, name: &str) -> Result<Option<Timestamp>, String> {
        let time = self.text(name)?.map(|time| time.parse().map_err(|_| format!("`{name}` is not a time")));
        time.transpose()
    }

    fn nothing_in(&mut self, name: &str) -> Result<(), String> {
        match self.text(name)?.filter(|text| !text.is_empty()) {
            Some(_) => Err(format!("`{name}` has no place in this role")),
            None => Ok(()),
        }
    }
}

const NO_TEXT: &str = "`text` is missing or blank";
const ROLES: &str = "there are user, assistant, tool_result, system, shell, custom, note and interrupted";

/// The number of the line is said already.
fn not_json(error: &serde_json::Error) -> String {
    format!("not JSON: {error}").replace(&format!(" at line {} column", error.line()), " at column")
}

fn list(name: &str, value: Option<Value>) -> Result<Vec<Value>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(format!("`{name}` is not a list")),
    }
}

fn tool_use(call: Value) -> Result<ToolUse, String> {
    let Value::Object(map) = call else { return Err("`tool_calls` holds more than objects".to_owned()) };
    let mut fields = Fields { map };
    Ok(ToolUse {
        id: fields.text("id")?.ok_or("a tool call has no `id`")?.into(),
        name: fields.text("name")?.ok_or("a tool call has no `name`")?,
        input: fields.map.shift_remove("input").unwrap_or_else(|| Value::Object(Map::new())),
    })
}
