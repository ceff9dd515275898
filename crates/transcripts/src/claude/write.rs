//! A branch as a session of Claude Code, which its `--resume` goes on with.
//!
//! All lines are one chain. One line holds one block of a reply, as the program itself writes them; the lines of a
//! message share its id, and each answer of a tool is a line behind them.

mod line;
mod own;

use std::collections::HashSet;

use offshoot_session::context::Edits;
use offshoot_session::{Body, Entry, EntryId, SessionTree, Stop, text_of};
use serde_json::{Value, json};

use self::line::{Maker, content_json};
use self::own::{OwnLine, OwnLines};
use crate::carry::{Answer, Carried, Exchange, Rules, Said, Step, carried};
use crate::ids::{is_uuid, uuid_from};
use crate::json::Map;
use crate::{Destination, HandedOver, Target};

/// The way to one entry as a session of its own.
pub fn write_branch(tree: &SessionTree, leaf: &EntryId, to: &Destination) -> HandedOver {
    written(tree, leaf, to, None)
}

/// The way to one entry as lines that follow the line `above` of a session.
pub fn write_below(above: &EntryId, tree: &SessionTree, leaf: &EntryId, to: &Destination) -> HandedOver {
    written(tree, leaf, to, Some(above.to_string()))
}

fn written(tree: &SessionTree, leaf: &EntryId, to: &Destination, tip: Option<String>) -> HandedOver {
    let path = tree.path_to(Some(leaf));
    let own = OwnLines::of(tree, &path);
    let agent = tree.header().and_then(|header| header.agent.as_deref());
    let edits = Edits::of(path.iter().copied());
    let edited = edits.replaced(&path);
    let rules = Rules {
        target: Target::ClaudeCode,
        is_own: &|entry: &Entry| own.get(&entry.id).is_some(),
        agent,
        edits: &edits,
    };
    let Carried { steps, report } = carried(&edited.iter().collect::<Vec<_>>(), &rules);
    let mut writer = Writer {
        own: &own,
        maker: own.maker(to),
        to,
        tip,
        last_prompt: None,
        taken: HashSet::new(),
        text: String::new(),
    };
    for step in &steps {
        writer.step(step);
    }
    writer.finish(tree);
    HandedOver { bytes: writer.text.into_bytes(), report }
}

/// The folder of a project in `~/.claude/projects`: every sign that is no letter or digit becomes a dash, and a long
/// name is cut and told apart by a number.
pub fn project_folder(project: &str) -> String {
    const LONGEST: usize = 200;
    let units: Vec<u16> = project.encode_utf16().collect();
    let plain = |unit: &u16| match u8::try_from(*unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        Ok(_) | Err(_) => '-',
    };
    let name: String = units.iter().map(plain).collect();
    if name.len() <= LONGEST {
        return name;
    }
    let hash = units
        .iter()
        .fold(0_i32, |hash, unit| hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(i32::from(*unit)));
    format!("{}-{}", name.get(..LONGEST).unwrap_or_default(), in_base_36(hash.unsigned_abs()))
}

fn in_base_36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

struct Writer<'w> {
    own: &'w OwnLines,
    maker: Maker,
    to: &'w Destination,
    /// The last line of the chain.
    tip: Option<String>,
    last_prompt: Option<String>,
    taken: HashSet<String>,
    text: String,
}

impl Writer<'_> {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Prompt { entry, blocks } => {
                self.last_prompt = Some(text_of(blocks));
                match self.own.get(&entry.id).filter(|line| line.answers.is_empty()) {
                    Some(line) => self.own_line(&entry.id, line),
                    None => self.user_line(entry, content_json(blocks), Map::new()),
                }
            }
            Step::Aside { entry, blocks } => {
                match self.own.get(&entry.id).filter(|line| line.answers.is_empty()) {
                    Some(line) => self.own_line(&entry.id, line),
                    None => self.user_line(entry, content_json(blocks), fields(json!({ "isMeta": true }))),
                }
            }
            Step::Exchange(exchange) => self.exchange(exchange),
            Step::Compaction { entry, summary, tokens_before } => match self.own.get(&entry.id) {
                Some(line) => self.own_line(&entry.id, line),
                None => self.compaction(entry, summary, *tokens_before),
            },
            Step::Interrupted(entry) => match self.own.get(&entry.id) {
                Some(line) => self.own_line(&entry.id, line),
                None => {
                    let words = json!([{ "type": "text", "text": "[Request interrupted by user]" }]);
                    self.user_line(entry, words, Map::new());
                }
            },
            Step::Beside(entry) => {
                if let Some(line) = self.own.get(&entry.id) {
                    self.own_line(&entry.id, line);
                }
            }
        }
    }

    fn exchange(&mut self, exchange: &Exchange<'_>) {
        let first = exchange.said.first().map_or("", |said| said.entry.id.as_str());
        let message = format!(
            "msg_{}",
            uuid_from(&[self.to.id.as_str().as_bytes(), first.as_bytes()]).replace('-', "")
        );
        for said in &exchange.said {
            match self.own.get(&said.entry.id).filter(|_| said.is_untouched) {
                Some(line) => self.own_line(&said.entry.id, line),
                None => self.reply_lines(said, &message, !exchange.answers.is_empty()),
            }
        }
        let mut done: Vec<&str> = Vec::new();
        for answer in &exchange.answers {
            if done.contains(&answer.call.as_str()) {
                continue;
            }
            match line_with(self.own, answer, &exchange.answers) {
                Some((id, line)) => {
                    self.own_line(id, line);
                    done.extend(line.answers.iter().map(String::as_str));
                }
                None => self.answer_line(answer),
            }
        }
    }

    fn reply_lines(&mut self, said: &Said<'_>, message: &str, calls_tools: bool) {
        for block in &said.blocks {
            let Some(content) = line::block_json(block) else { continue };
            let uuid = self.uuid(&said.entry.id);
            let Body::Reply(reply) = &said.entry.body else { continue };
            let model = reply.model.as_ref().map_or("unknown", |model| model.name.as_str());
            let stop = match &reply.stop {
                _ if calls_tools => "tool_use",
                Some(Stop::Length) => "max_tokens",
                Some(Stop::Other(other)) => other.as_str(),
                Some(Stop::EndTurn | Stop::ToolUse | Stop::Aborted | Stop::Error(_)) | None => "end_turn",
            };
            let message = json!({
                "id": message, "type": "message", "role": "assistant", "model": model, "content": [content],
                "stop_reason": stop, "stop_sequence": null,
                // What it cost is told by the session it came from, and shall not be counted twice.
                "usage": {
                    "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                    "output_tokens": 0,
                },
            });
            self.made("assistant", &uuid, said.entry, message, Map::new());
        }
    }

    fn answer_line(&mut self, answer: &Answer<'_>) {
        let mut content = content_json(&answer.result.blocks);
        if answer.result.failed && content.as_str() == Some("") {
            content = "(no output)".into(); // an error without words is refused
        }
        let mut block =
            json!({ "tool_use_id": answer.call.as_str(), "type": "tool_result", "content": content });
        if let (true, Some(block)) = (answer.result.failed, block.as_object_mut()) {
            block.insert("is_error".into(), true.into());
        }
        let asked_by = json!({ "sourceToolAssistantUUID": self.tip });
        self.user_line(answer.entry, json!([block]), fields(asked_by));
    }

    fn compaction(&mut self, entry: &Entry, summary: &str, tokens_before: i64) {
        let boundary =
            uuid_from(&[self.to.id.as_str().as_bytes(), entry.id.as_str().as_bytes(), b"boundary"]);
        let logical = self.tip.take();
        let more = fields(json!({
            "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": false, "level": "info",
            "logicalParentUuid": logical, "compactMetadata": { "trigger": "manual", "preTokens": tokens_before },
        }));
        self.made("system", &boundary, entry, Value::Null, more);
        let more = fields(json!({ "isCompactSummary": true, "isVisibleInTranscriptOnly": true }));
        self.user_line(entry, summary.into(), more);
    }

    fn user_line(&mut self, entry: &Entry, content: Value, more: Map) {
        let content = if is_empty(&content) { "(empty)".into() } else { content };
        let uuid = self.uuid(&entry.id);
        self.made("user", &uuid, entry, json!({ "role": "user", "content": content }), more);
    }

    fn made(&mut self, kind: &str, uuid: &str, entry: &Entry, message: Value, more: Map) {
        let line = self.maker.line(kind, uuid, self.tip.as_deref(), entry.written_at, message, more);
        self.push(&line);
        self.tip = Some(uuid.to_owned());
    }

    fn own_line(&mut self, id: &EntryId, line: &OwnLine) {
        let text = line.in_session(&self.to.id, self.tip.as_deref());
        self.push(&text);
        if line.is_in_chain {
            self.tip = Some(id.to_string());
        }
    }

    /// The first line of an entry has its id, where that is one.
    fn uuid(&mut self, entry: &EntryId) -> String {
        let mut uuid = entry.to_string();
        let mut nth = 0_u64;
        while !is_uuid(&uuid) || !self.taken.insert(uuid.clone()) {
            nth += 1;
            uuid =
                uuid_from(&[self.to.id.as_str().as_bytes(), entry.as_str().as_bytes(), &nth.to_le_bytes()]);
        }
        uuid
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Where the program goes on, and what the session is called.
    fn finish(&mut self, tree: &SessionTree) {
        let id = self.to.id.as_str();
        if let Some(title) = tree.title() {
            let line = match tree.title_is_by_user() {
                true => json!({ "type": "custom-title", "customTitle": title, "sessionId": id }),
                false => json!({ "type": "ai-title", "aiTitle": title, "sessionId": id }),
            };
            self.push(&line.to_string());
        }
        if let Some(tip) = self.tip.clone() {
            let prompt = self.last_prompt.as_deref().unwrap_or_default();
            let line =
                json!({ "type": "last-prompt", "lastPrompt": prompt, "leafUuid": tip, "sessionId": id });
            self.push(&line.to_string());
        }
    }
}

fn fields(value: Value) -> Map {
    if let Value::Object(fields) = value { fields } else { Map::new() }
}

fn is_empty(content: &Value) -> bool {
    match content {
        Value::String(words) => words.is_empty(),
        Value::Array(blocks) => blocks.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// The own line that holds an answer, if all that it answers was asked here.
fn line_with<'a, 'o>(
    own: &'o OwnLines,
    answer: &Answer<'a>,
    asked: &[Answer<'a>],
) -> Option<(&'a EntryId, &'o OwnLine)> {
    let holders = asked.iter().filter_map(|other| Some((&other.entry.id, own.get(&other.entry.id)?)));
    let mut fitting = holders.filter(|(_, line)| {
        let is_asked = |call: &String| {
            asked.iter().any(|other| other.call.as_str() == call && other.call == other.result.call)
        };
        line.answers.iter().any(|call| call == answer.call.as_str())
            && line.answers.iter().all(is_asked)
            && !line.has_words
    });
    fitting.next()
}
