//! A branch as a rollout of Codex, which `codex resume` goes on with.
//!
//! Items are what the model reads, events are what a person is shown; the words of the person and of the model stand
//! in the file as both.

mod own;

use jiff::Timestamp;
use offshoot_session::context::Edits;
use offshoot_session::{Block, Entry, EntryId, ImageData, SessionTree, text_of};
use serde_json::{Value, json};

use self::own::OwnLines;
use crate::carry::{Answer, Carried, Exchange, Rules, Said, Step, carried};
use crate::ids::{is_uuid, uuid_from};
use crate::json::rfc3339;
use crate::{Destination, HandedOver, Target};

/// A version that goes on with all that is made here.
const VERSION: &str = "0.166.0";

/// The way to one entry as a thread of its own.
pub fn write_branch(tree: &SessionTree, leaf: &EntryId, to: &Destination) -> HandedOver {
    let path = tree.path_to(Some(leaf));
    let own = OwnLines::of(tree, &path);
    let agent = tree.header().and_then(|header| header.agent.as_deref());
    let edits = Edits::of(path.iter().copied());
    let edited = edits.replaced(&path);
    let rules = Rules {
        target: Target::Codex,
        is_own: &|entry: &Entry| own.get(&entry.id).is_some(),
        agent,
        edits: &edits,
    };
    let Carried { steps, report } = carried(&edited.iter().collect::<Vec<_>>(), &rules);
    let mut writer =
        Writer { own: &own, to, turn: None, last_words: None, now: to.opened_at, text: String::new() };
    writer.line("session_meta", json!({
        "id": to.id.as_str(), "timestamp": rfc3339(to.opened_at), "cwd": to.project, "originator": "offshoot",
        "cli_version": VERSION, "source": "cli",
    }));
    for step in &steps {
        writer.step(step);
    }
    writer.end_turn();
    if let Some(title) = tree.title().filter(|_| tree.title_is_by_user()) {
        let named =
            json!({ "type": "thread_name_updated", "thread_id": to.id.as_str(), "thread_name": title });
        writer.line("event_msg", named);
    }
    HandedOver { bytes: writer.text.into_bytes(), report }
}

/// Where it lies in `sessions`: a folder for the day, and in the name the time and the thread. Codex looks there by
/// local time; `opened_at` is given in it.
pub fn file_name(to: &Destination, opened_at: jiff::civil::DateTime) -> String {
    let day = opened_at.strftime("%Y/%m/%d");
    let time = opened_at.strftime("%Y-%m-%dT%H-%M-%S");
    format!("{day}/rollout-{time}-{}.jsonl", to.id)
}

struct Writer<'w> {
    own: &'w OwnLines,
    to: &'w Destination,
    turn: Option<String>,
    /// What the model said last in this turn.
    last_words: Option<String>,
    now: Timestamp,
    text: String,
}

impl Writer<'_> {
    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Prompt { entry, blocks } => self.prompt(entry, blocks),
            Step::Aside { entry, blocks } => {
                self.at(entry);
                self.own_or(entry, |_| vec![message("user", &input(blocks))]);
            }
            Step::Exchange(exchange) => self.exchange(exchange),
            Step::Compaction { entry, summary, .. } => {
                self.at(entry);
                self.end_turn();
                match self.own.get(&entry.id) {
                    Some(line) => self.push(line),
                    None => {
                        let summary_item = message("user", &input(&[Block::Text(summary.clone())]));
                        let payload = json!({ "message": summary, "replacement_history": [summary_item] });
                        self.line("compacted", payload);
                    }
                }
            }
            Step::Interrupted(entry) => {
                self.at(entry);
                if let Some(turn) = self.turn.take() {
                    let aborted = json!({ "type": "turn_aborted", "turn_id": turn, "reason": "interrupted" });
                    self.line("event_msg", aborted);
                    self.last_words = None;
                }
            }
            Step::Beside(entry) => {
                self.at(entry);
                if let Some(line) = self.own.get(&entry.id) {
                    self.push(line);
                }
            }
        }
    }

    fn prompt(&mut self, entry: &Entry, blocks: &[Block]) {
        self.end_turn();
        self.at(entry);
        let turn = match entry.turn.as_ref().map(|turn| turn.as_str()).filter(|turn| is_uuid(turn)) {
            Some(turn) => turn.to_owned(),
            None => uuid_from(&[self.to.id.as_str().as_bytes(), entry.id.as_str().as_bytes(), b"turn"]),
        };
        self.line("event_msg", json!({ "type": "task_started", "turn_id": turn }));
        self.turn = Some(turn);
        self.own_or(entry, |_| vec![message("user", &input(blocks))]);
        let images: Vec<String> = blocks.iter().filter_map(image_address).collect();
        let mut told = json!({ "type": "user_message", "message": text_of(blocks) });
        if let (false, Some(told)) = (images.is_empty(), told.as_object_mut()) {
            told.insert("images".into(), images.into());
        }
        self.line("event_msg", told);
    }

    fn exchange(&mut self, exchange: &Exchange<'_>) {
        for said in &exchange.said {
            self.at(said.entry);
            match self.own.get(&said.entry.id).filter(|_| said.is_untouched) {
                Some(line) => self.push(line),
                None => {
                    for item in items_of(said) {
                        self.line("response_item", item);
                    }
                }
            }
            let words = text_of(&said.blocks);
            if !words.is_empty() {
                self.line("event_msg", json!({ "type": "agent_message", "message": words }));
                self.last_words = Some(words);
            }
        }
        for answer in &exchange.answers {
            self.at(answer.entry);
            match self.own.get(&answer.entry.id).filter(|_| answer.is_untouched) {
                Some(line) => self.push(line),
                None => self.line("response_item", output_of(answer)),
            }
        }
    }

    fn own_or(&mut self, entry: &Entry, made: impl FnOnce(&Entry) -> Vec<Value>) {
        match self.own.get(&entry.id) {
            Some(line) => self.push(line),
            None => {
                for item in made(entry) {
                    self.line("response_item", item);
                }
            }
        }
    }

    fn end_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            let words = self.last_words.take();
            let ended = json!({ "type": "task_complete", "turn_id": turn, "last_agent_message": words });
            self.line("event_msg", ended);
        }
    }

    fn at(&mut self, entry: &Entry) {
        self.now = entry.written_at;
    }

    fn line(&mut self, kind: &str, payload: Value) {
        let line = json!({ "timestamp": rfc3339(self.now), "type": kind, "payload": payload });
        self.push(&line.to_string());
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

fn message(role: &str, content: &Value) -> Value {
    json!({ "type": "message", "role": role, "content": content })
}

/// Words of the person; a message without any is refused.
fn input(blocks: &[Block]) -> Value {
    let parts: Vec<Value> = blocks.iter().filter_map(part).collect();
    if parts.is_empty() { json!([{ "type": "input_text", "text": "(empty)" }]) } else { parts.into() }
}

fn part(block: &Block) -> Option<Value> {
    match block {
        Block::Text(words) => Some(json!({ "type": "input_text", "text": words })),
        image => Some(json!({ "type": "input_image", "image_url": image_address(image)? })),
    }
}

fn image_address(block: &Block) -> Option<String> {
    match block {
        Block::Image { media_type, data: ImageData::Inline(data) } => {
            Some(format!("data:{media_type};base64,{data}"))
        }
        Block::Image { data: ImageData::Blob(_), .. }
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolUse(_)
        | Block::Other { .. } => None,
    }
}

/// Words as one message, each call as an item of its own.
fn items_of(said: &Said<'_>) -> Vec<Value> {
    let words: Vec<Value> = said
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(words) => Some(json!({ "type": "output_text", "text": words })),
            Block::Thinking(_) | Block::Image { .. } | Block::ToolUse(_) | Block::Other { .. } => None,
        })
        .collect();
    let words = (!words.is_empty()).then(|| message("assistant", &words.into()));
    let calls = said.blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) if is_free_form(&call.name) => Some(json!({
            "type": "custom_tool_call", "status": "completed", "call_id": call.id.as_str(), "name": call.name,
            "input": text_or_json(&call.input),
        })),
        Block::ToolUse(call) => Some(json!({
            "type": "function_call", "name": call.name, "arguments": text_or_json(&call.input),
            "call_id": call.id.as_str(),
        })),
        Block::Text(_) | Block::Thinking(_) | Block::Image { .. } | Block::Other { .. } => None,
    });
    words.into_iter().chain(calls).collect()
}

fn output_of(answer: &Answer<'_>) -> Value {
    let blocks = &answer.result.blocks;
    let has_images = blocks.iter().any(|block| image_address(block).is_some());
    // The format says that something failed with a code, and in no other way.
    let failed = if answer.result.failed { "Exit code: 1\nOutput:\n" } else { "" };
    let output: Value = match has_images {
        true => blocks.iter().filter_map(part).collect(),
        false => format!("{failed}{}", text_of(blocks)).into(),
    };
    let kind = if is_free_form(&answer.tool) { "custom_tool_call_output" } else { "function_call_output" };
    json!({ "type": kind, "call_id": answer.call.as_str(), "output": output })
}

/// Called with a text instead of arguments.
fn is_free_form(tool: &str) -> bool {
    tool == "apply_patch"
}

fn text_or_json(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        input => input.to_string(),
    }
}
