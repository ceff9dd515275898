//! What the model reads of a branch, in one form for every protocol.
//!
//! It is a function of the path alone: no time, no id of ours and nothing of where the program runs is in it. So two requests
//! on branches with a common beginning begin with the same bytes, which servers have cached.

use std::collections::HashSet;
use std::sync::Arc;

use offshoot_session::context::{ContextOptions, UnansweredCalls, context_of_path};
use offshoot_session::render::{self, ModelRole};
use offshoot_session::{Block, Body, Entry, ImageData, Model, Reply, Signature, ToolCallId, text_of};
use serde_json::{Map, Value};

use super::tools::for_model;

/// The kind of a block that only the server can read; what it says is among the signatures of its reply.
pub(crate) const REDACTED_THINKING: &str = "redacted_thinking";

const NO_RESULT: &str = "There is no result: the turn was interrupted.";

/// Servers want a user message first.
const BEGINNING: &str = "(The conversation begins with an answer.)";

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conversation {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    User(Vec<UserPart>),
    Answer(Vec<AnswerPart>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum UserPart {
    Text(String),
    Image {
        media_type: String,
        base64: String,
    },
    Result {
        call: ToolCallId,
        text: String,
        /// Media types, and the images in base64.
        images: Vec<(String, String)>,
        failed: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnswerPart {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    RedactedThinking(String),
    Call {
        id: ToolCallId,
        name: String,
        /// Always an object: servers accept nothing else.
        input: Value,
    },
}

/// The messages of a path, root first, for this model: thinking returns only to the model that signed it.
pub(crate) fn messages_of(path: &[&Arc<Entry>], model: &Model) -> Vec<Message> {
    let options = ContextOptions { unanswered_calls: UnansweredCalls::Kept, ..ContextOptions::default() };
    let mut messages = Messages::default();
    for message in &context_of_path(path, &options).messages {
        let body = &message.entry.body;
        if let Body::Reply(reply) = body {
            messages.answer(answer_parts(reply, model));
            continue;
        }
        let Some(rendered) = render::for_model(std::slice::from_ref(message)).into_iter().next() else {
            continue;
        };
        match rendered.role {
            ModelRole::ToolResult { call, failed, .. } => {
                messages.result(call, changed_input(body), &rendered.blocks, failed);
            }
            ModelRole::System => messages.user(vec![UserPart::Text(instructions(&rendered.text()))]),
            ModelRole::User | ModelRole::Assistant => messages.user(user_parts(&rendered.blocks, body)),
        }
    }
    messages.done()
}

/// Collects messages so that every call has its result right behind it.
#[derive(Default)]
struct Messages {
    messages: Vec<Message>,
    /// Calls of the last answer that have no result yet: the id on the path, and the one that is sent.
    open_calls: Vec<(ToolCallId, ToolCallId)>,
    /// Ids that were sent.
    called: HashSet<ToolCallId>,
    /// Thinking whose answer has not come yet. Servers refuse a message that is only thinking.
    thinking: Vec<AnswerPart>,
}

impl Messages {
    /// Replies in a row are the blocks of one message.
    fn answer(&mut self, parts: Vec<AnswerPart>) {
        let mut all = std::mem::take(&mut self.thinking);
        all.extend(parts);
        let parts = all;
        if !parts.iter().any(says_something) && !matches!(self.messages.last(), Some(Message::Answer(_))) {
            self.thinking = parts;
            return;
        }
        if matches!(self.messages.last(), Some(Message::User(_))) {
            self.close_calls();
        }
        let mut parts = parts;
        for part in &mut parts {
            match part {
                AnswerPart::Call { id, .. } => {
                    let sent = self.unique(id);
                    self.open_calls.push((std::mem::replace(id, sent.clone()), sent));
                }
                AnswerPart::Text(_) | AnswerPart::Thinking { .. } | AnswerPart::RedactedThinking(_) => {}
            }
        }
        match self.messages.last_mut() {
            Some(Message::Answer(answer)) => answer.extend(parts),
            Some(Message::User(_)) => self.messages.push(Message::Answer(parts)),
            None => {
                self.messages.push(Message::User(vec![UserPart::Text(BEGINNING.to_owned())]));
                self.messages.push(Message::Answer(parts));
            }
        }
    }

    /// Some servers restart the ids of their calls in each answer; others require unique ids in a conversation.
    fn unique(&mut self, id: &ToolCallId) -> ToolCallId {
        let mut unique = id.clone();
        let mut number = 1;
        while !self.called.insert(unique.clone()) {
            number += 1;
            unique = ToolCallId::from(format!("{id}-{number}"));
        }
        unique
    }

    fn result(&mut self, call: ToolCallId, changed_input: Option<&Value>, blocks: &[Block], failed: bool) {
        // The call was answered before, or is not on this path.
        let Some(open) = self.open_calls.iter().position(|(open, _)| *open == call) else { return };
        let (_, call) = self.open_calls.remove(open);
        let mut text = for_model(&text_of(blocks)).into_owned();
        if let Some(input) = changed_input {
            text = format!("The person changed the input of this call to: {input}\n\n{text}");
        }
        let images = blocks.iter().filter_map(inline_image).collect();
        self.push_result(UserPart::Result { call, text, images, failed });
    }

    fn user(&mut self, parts: Vec<UserPart>) {
        self.thinking.clear();
        self.close_calls();
        if !parts.is_empty() {
            self.messages.push(Message::User(parts));
        }
    }

    fn close_calls(&mut self) {
        for (_, call) in std::mem::take(&mut self.open_calls) {
            let text = NO_RESULT.to_owned();
            self.push_result(UserPart::Result { call, text, images: Vec::new(), failed: true });
        }
    }

    /// All results of an answer are one message.
    fn push_result(&mut self, result: UserPart) {
        match self.messages.last_mut() {
            Some(Message::User(parts)) => parts.push(result),
            Some(Message::Answer(_)) | None => self.messages.push(Message::User(vec![result])),
        }
    }

    fn done(mut self) -> Vec<Message> {
        self.close_calls();
        for message in &mut self.messages {
            if let Message::Answer(parts) = message {
                // Servers refuse an answer that ends in thinking, as one that was interrupted does.
                let said = parts.iter().rposition(says_something).map_or(0, |last| last + 1);
                parts.truncate(said);
            }
        }
        self.messages
    }
}

fn says_something(part: &AnswerPart) -> bool {
    match part {
        AnswerPart::Text(_) | AnswerPart::Call { .. } => true,
        AnswerPart::Thinking { .. } | AnswerPart::RedactedThinking(_) => false,
    }
}

/// What ran instead of what the model had asked for.
fn changed_input(body: &Body) -> Option<&Value> {
    match body {
        Body::ToolResult(result) => result.changed_input.as_deref(),
        _ => None,
    }
}

fn answer_parts(reply: &Reply, model: &Model) -> Vec<AnswerPart> {
    let is_same_model = reply.model.as_ref() == Some(model);
    let signature = |at: usize| {
        let of_block = |signature: &&Signature| signature.block as usize == at;
        let signed = reply.signatures.iter().find(of_block).filter(|_| is_same_model);
        signed.map(|signature| signature.data.clone())
    };
    let part = |(at, block): (usize, &Block)| match block {
        Block::Text(text) if text.trim().is_empty() => None, // servers refuse it
        Block::Text(text) => Some(AnswerPart::Text(text.clone())),
        Block::Thinking(text) => {
            signature(at).map(|signature| AnswerPart::Thinking { text: text.clone(), signature })
        }
        Block::Other { kind } if kind == REDACTED_THINKING => signature(at).map(AnswerPart::RedactedThinking),
        Block::ToolUse(call) => Some(AnswerPart::Call {
            id: call.id.clone(),
            name: call.name.clone(),
            input: as_object(&call.input),
        }),
        Block::Image { .. } | Block::Other { .. } => None,
    };
    reply.blocks.iter().enumerate().filter_map(part).collect()
}

fn as_object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => Value::Object(Map::new()),
        other => Value::Object(Map::from_iter([("input".to_owned(), other.clone())])),
    }
}

fn user_parts(blocks: &[Block], body: &Body) -> Vec<UserPart> {
    let part = |block: &Block| match block {
        Block::Text(text) if text.trim().is_empty() => None,
        Block::Text(text) => Some(UserPart::Text(text.clone())),
        Block::Image { .. } => Some(match inline_image(block) {
            Some((media_type, base64)) => UserPart::Image { media_type, base64 },
            None => UserPart::Text("[an image that is not available]".to_owned()),
        }),
        Block::Thinking(_) | Block::ToolUse(_) | Block::Other { .. } => None,
    };
    let mut parts: Vec<UserPart> = blocks.iter().filter_map(part).collect();
    if let Body::Prompt(prompt) = body
        && !prompt.attachments.is_empty()
    {
        parts.push(UserPart::Text(format!("Attached files: {}", prompt.attachments.join(", "))));
    }
    parts
}

/// The kinds that both protocols read. Images of other programs may be of any kind.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

fn inline_image(block: &Block) -> Option<(String, String)> {
    match block {
        Block::Image { media_type, data: ImageData::Inline(base64) } => {
            let is_read = IMAGE_TYPES.contains(&media_type.as_str()) && !base64.is_empty();
            is_read.then(|| (media_type.clone(), base64.clone()))
        }
        Block::Image { data: ImageData::Blob(_), .. }
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolUse(_)
        | Block::Other { .. } => None,
    }
}

/// Instructions of another program or of a script, in the middle of a conversation.
fn instructions(text: &str) -> String {
    format!(
        "The following are instructions for this conversation:\n\n<instructions>\n{text}\n</instructions>"
    )
}

/// An id as servers accept it: letters, digits, `_` and `-`, at most 40 of them. Ids of other programs may be anything.
pub(crate) fn wire_id(id: &ToolCallId) -> String {
    let id = id.as_str();
    if is_plain(id, 40) { id.to_owned() } else { format!("call_{:016x}", fnv(id)) }
}

/// The name of a tool, by the same rule.
pub(crate) fn wire_name(name: &str) -> String {
    if is_plain(name, 64) {
        return name.to_owned();
    }
    let plain = name.chars().take(64).map(|c| if is_plain_char(c) { c } else { '_' });
    let plain: String = plain.collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}

fn is_plain(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && text.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// FNV-1a: the same for the same id, whatever program or machine computes it.
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
