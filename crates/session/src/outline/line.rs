//! An entry as one line of text, and the words by which it is found.

use std::collections::HashMap;

use super::ledger::call_line;
use crate::wrappers::readable;
use crate::{Block, Body, Entry, SessionTree, Setting, Stop, ToolCallId, ToolUse};

/// A line is cut here, in characters: nobody reads further in an outline.
const LONGEST_LINE: usize = 200;
const LONGEST_ERROR: usize = 80;

/// Knows the tool calls of a tree, because a result is told by the call it answers.
#[derive(Debug)]
pub struct Lines<'t> {
    calls: HashMap<&'t ToolCallId, &'t ToolUse>,
}

impl<'t> Lines<'t> {
    pub fn of(tree: &'t SessionTree) -> Self {
        let mut calls = HashMap::new();
        for entry in tree.entries() {
            if let Body::Reply(reply) = &entry.body {
                calls.extend(reply.tool_uses().map(|call| (&call.id, call)));
            }
        }
        Self { calls }
    }

    /// `user: …`, `assistant: …`, `[tool: …]`.
    pub fn line(&self, entry: &Entry) -> String {
        match &entry.body {
            Body::Prompt(_) => format!("user: {}", said(&entry.body)),
            Body::Reply(reply) => {
                let text = said(&entry.body);
                match &reply.stop {
                    _ if !text.is_empty() => format!("assistant: {text}"),
                    Some(Stop::Aborted) => "assistant: (aborted)".to_owned(),
                    Some(Stop::Error(error)) if !error.is_empty() => {
                        format!("assistant: {}", cut(&flat(error), LONGEST_ERROR))
                    }
                    _ => "assistant: (no content)".to_owned(),
                }
            }
            Body::ToolResult(result) => match self.calls.get(&result.call) {
                Some(call) => call_line(call),
                None if result.tool.is_empty() => "[tool]".to_owned(),
                None => format!("[{}]", result.tool),
            },
            Body::Shell(shell) => format!("[bash]: {}", flat(&shell.command)),
            Body::Interrupted(_) => "[interrupted]".to_owned(),
            Body::BranchSummary(_) => format!("[branch summary]: {}", said(&entry.body)),
            Body::Compaction(compaction) => {
                // Rounded half up, also below zero.
                let thousands = (compaction.tokens_before.saturating_add(500)).div_euclid(1000);
                format!("[compaction: {thousands}k tokens]")
            }
            Body::Setting(setting) => format!("[{}]", setting_line(setting)),
            Body::Merge(_) => format!("[merge]: {}", said(&entry.body)),
            Body::CustomMessage(message) => format!("[{}]: {}", message.kind, said(&entry.body)),
            Body::Note(note) => format!("[custom: {}]", note.kind),
            Body::System(_) => format!("[system]: {}", said(&entry.body)),
            Body::Cleared => "[cleared]".to_owned(),
            Body::ContextEdit(edit) => match &edit.replacement {
                None => format!("[context edit: omits {}]", edit.target),
                Some(_) => format!("[context edit: replaces {}]: {}", edit.target, said(&entry.body)),
            },
            Body::Foreign(foreign) => match said(&entry.body) {
                text if text.is_empty() => format!("[{}]", foreign.kind),
                text => format!("[{}]: {text}", foreign.kind),
            },
        }
    }

    /// Whether all of these lower-case words occur in who speaks, what is said, or the label.
    pub(super) fn matches(&self, entry: &Entry, label: Option<&str>, words: &[String]) -> bool {
        let mut text = label.unwrap_or_default().to_lowercase();
        for part in self.found_by(entry) {
            text.push(' ');
            text.push_str(&part.to_lowercase());
        }
        words.iter().all(|word| text.contains(word))
    }

    fn found_by(&self, entry: &Entry) -> Vec<String> {
        let said = entry.body.text();
        match &entry.body {
            Body::Prompt(_) => vec!["user".to_owned(), said],
            Body::Reply(reply) => {
                let error = match &reply.stop {
                    Some(Stop::Error(error)) => error.clone(),
                    _ => String::new(),
                };
                vec!["assistant".to_owned(), said, error]
            }
            Body::ToolResult(_) => vec!["toolResult".to_owned(), self.line(entry), said],
            Body::Shell(_) => vec!["bashExecution".to_owned(), said],
            Body::Compaction(_) => vec!["compaction".to_owned(), said],
            Body::BranchSummary(_) => vec!["branch summary".to_owned(), said],
            Body::CustomMessage(message) => vec![message.kind.clone(), said],
            Body::Interrupted(_)
            | Body::Setting(_)
            | Body::Merge(_)
            | Body::Note(_)
            | Body::System(_)
            | Body::Cleared
            | Body::ContextEdit(_)
            | Body::Foreign(_) => vec![self.line(entry), said],
        }
    }
}

fn setting_line(setting: &Setting) -> String {
    match setting {
        Setting::Agent(agent) => format!("agent: {agent}"),
        Setting::Model { role: None, model } => format!("model: {}", model.name),
        Setting::Model { role: Some(role), model } => format!("{role} model: {}", model.name),
        Setting::Thinking(level) => format!("thinking: {}", level.as_deref().unwrap_or("default")),
        Setting::Tools(tools) => format!("tools: {}", tools.join(", ")),
        Setting::PermissionMode(mode) => format!("permission mode: {mode}"),
        Setting::Mode { mode, .. } => format!("mode: {mode}"),
        Setting::ServiceTier(tier) => format!("service tier: {}", tier.as_deref().unwrap_or("default")),
        Setting::Config(_) => "settings".to_owned(),
    }
}

fn said(body: &Body) -> String {
    let text = readable(body);
    flat(&text.chars().take(LONGEST_LINE).collect::<String>())
}

/// Line ends and tabs become spaces; the spaces people typed stay.
pub(super) fn flat(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ").trim().to_owned()
}

pub(super) fn cut(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
}

/// What somebody said as one line with single spaces; where there are no words, what else there is.
pub fn one_line(body: &Body) -> String {
    let mut line = String::new();
    for word in readable(body).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        return line;
    }
    let mut things: Vec<String> = body
        .blocks()
        .iter()
        .filter_map(|block| match block {
            Block::Image { .. } => Some("[image]".to_owned()),
            Block::Other { kind } => Some(format!("[{kind}]")),
            Block::Text(_) | Block::Thinking(_) | Block::ToolUse(_) => None,
        })
        .collect();
    if let Body::Prompt(prompt) = body {
        things.extend(prompt.attachments.iter().map(|name| format!("[{name}]")));
    }
    things.join(" ")
}
