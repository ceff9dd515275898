//! A branch told as text, for an agent that cannot be brought there otherwise.
//!
//! Words are told as they were said, calls of tools by name with what they were about, results not at all. The text
//! begins by saying what is missing in it, so that the agent asks or looks again instead of guessing.

use std::sync::Arc;

use serde_json::Value;

use crate::context::{Edits, Reach, as_compaction};
use crate::{Block, Body, Entry, Missing, Reply, ToolUse, text_of};

const PREAMBLE: &str = "\
You are continuing a branched conversation: the user went back to an earlier point of it and goes on from there.

Known limitations:
- Tool execution history/results may be incomplete: calls are named below, what they answered is not.
- Workspace file state may have diverged from what was said here; look at files before you rely on them.
- If something you need is missing, ask a short clarifying question or re-run tools.

Conversation history up to branch point:
";

const CLOSING: &str = "Continue the conversation from here. The next message of the user follows.";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconstruction {
    pub text: String,
    pub missing: Missing,
}

/// The text for a path, root first. `earlier_attachments` are the files of the prompt that the next one is a new version
/// of.
pub fn reconstruct(path: &[&Arc<Entry>], earlier_attachments: &[String]) -> Reconstruction {
    let reach = Reach::of(path);
    let mut told = Told { text: format!("{PREAMBLE}\n"), missing: Missing::default() };
    told.missing.forgotten = path.iter().take(reach.start).filter(|entry| entry.body.is_prompt()).count();
    if let Some(compaction) = reach.compaction.and_then(|at| as_compaction(path.get(at)?)) {
        told.line(&format!("[Summary of the conversation so far]: {}", compaction.summary));
    }
    let edits = Edits::of(path.iter().copied());
    for entry in path.iter().skip(reach.start).filter_map(|entry| edits.apply(entry)) {
        told.entry(&entry.body);
    }
    if !earlier_attachments.is_empty() {
        told.line("");
        told.line(&format!("Previously attached files: {}", earlier_attachments.join(", ")));
    }
    told.line("");
    told.line(CLOSING);
    Reconstruction { text: told.text, missing: told.missing }
}

struct Told {
    text: String,
    missing: Missing,
}

impl Told {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn entry(&mut self, body: &Body) {
        self.count(body);
        match body {
            Body::Prompt(prompt) => {
                self.line(&format!("[User]: {}", text_of(&prompt.blocks)));
                if !prompt.attachments.is_empty() {
                    self.line(&format!("  (Attached files: {})", prompt.attachments.join(", ")));
                }
            }
            Body::Reply(reply) => self.reply(reply),
            Body::Interrupted(_) => self.line("[System: Response was interrupted]"),
            Body::BranchSummary(summary) => {
                self.line(&format!("[Summary of another branch]: {}", summary.summary));
            }
            Body::Merge(merge) => {
                if let Some(summary) = &merge.summary {
                    self.line(&format!("[Result of another branch]: {summary}"));
                }
            }
            Body::Shell(shell) if !shell.private => {
                self.line(&format!("[User ran]: {}", shell.command));
                self.line(&shell.output);
            }
            Body::CustomMessage(message) => {
                self.line(&format!("[{}]: {}", message.kind, text_of(&message.blocks)));
            }
            // Results are counted, a compaction is told first, and of the rest no agent reads anything.
            Body::ToolResult(_)
            | Body::Compaction(_)
            | Body::Shell(_)
            | Body::Setting(_)
            | Body::Note(_)
            | Body::System(_)
            | Body::Cleared
            | Body::ContextEdit(_)
            | Body::Foreign(_) => {}
        }
    }

    fn reply(&mut self, reply: &Reply) {
        let words: Vec<&str> = reply.blocks.iter().filter_map(words_of).collect();
        let words = words.join("\n");
        if !words.trim().is_empty() {
            self.line(&format!("[Assistant]: {words}"));
        }
        for call in reply.tool_uses() {
            self.call(call);
        }
    }

    fn call(&mut self, call: &ToolUse) {
        self.line(&format!("  [Tool used: {}]", call.name));
        let about = [("target", ["file_path", "path"].as_slice()), ("command", &["command"])];
        for (word, keys) in about {
            let value = keys.iter().find_map(|key| call.input.get(*key)).filter(|value| !value.is_null());
            if let Some(value) = value {
                self.line(&format!("    {word}: {}", Value::to_string(value)));
            }
        }
    }

    fn count(&mut self, body: &Body) {
        self.missing.tool_results += usize::from(matches!(body, Body::ToolResult(_)));
        for block in body.blocks() {
            self.missing.thoughts += usize::from(matches!(block, Block::Thinking(_)));
            self.missing.images += usize::from(matches!(block, Block::Image { .. }));
        }
    }
}

fn words_of(block: &Block) -> Option<&str> {
    if let Block::Text(words) = block { Some(words) } else { None }
}
