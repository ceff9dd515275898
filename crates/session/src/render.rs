//! Messages as text for a model.
//!
//! Models know four roles, so everything else is told to them in the user's: commands that were run, words of
//! extensions, summaries. The sentences around a summary are the same as pi's and oh-my-pi's: a session goes on in
//! either with the words it had before.

pub mod prompts;
mod serialize;

pub use serialize::serialize_for_summary;

use crate::context::Message;
use crate::{Block, Body, Shell, ToolCallId, text_of};

#[derive(Clone, Debug, PartialEq)]
pub struct ModelMessage {
    pub role: ModelRole,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelRole {
    System,
    User,
    Assistant,
    ToolResult { call: ToolCallId, tool: String, failed: bool },
}

impl ModelMessage {
    /// Its words, without thinking, calls and images.
    pub fn text(&self) -> String {
        text_of(&self.blocks)
    }
}

/// Private commands are left out here and nowhere else, so that they never reach a model.
pub fn for_model(messages: &[Message]) -> Vec<ModelMessage> {
    messages.iter().filter_map(render).collect()
}

fn render(message: &Message) -> Option<ModelMessage> {
    let blocks = || message.blocks().cloned().collect();
    match &message.entry.body {
        Body::Prompt(_) | Body::CustomMessage(_) => {
            Some(ModelMessage { role: ModelRole::User, blocks: blocks() })
        }
        Body::Reply(_) => Some(ModelMessage { role: ModelRole::Assistant, blocks: blocks() }),
        Body::ToolResult(result) => Some(ModelMessage {
            role: ModelRole::ToolResult {
                call: result.call.clone(),
                tool: result.tool.clone(),
                failed: result.failed,
            },
            blocks: blocks(),
        }),
        Body::Shell(shell) if shell.private => None,
        Body::Shell(shell) => Some(told(ModelRole::User, shell_text(shell))),
        Body::BranchSummary(branch) => Some(told(ModelRole::User, branch_text(&branch.summary))),
        Body::Compaction(compaction) => Some(told(ModelRole::User, compaction_text(&compaction.summary))),
        Body::Merge(merge) => merge.summary.as_deref().map(|text| told(ModelRole::User, merge_text(text))),
        Body::System(system) => Some(told(ModelRole::System, system.text.clone())),
        Body::Interrupted(_)
        | Body::Setting(_)
        | Body::Note(_)
        | Body::Cleared
        | Body::ContextEdit(_)
        | Body::Foreign(_) => None,
    }
}

fn told(role: ModelRole, text: String) -> ModelMessage {
    ModelMessage { role, blocks: vec![Block::Text(text)] }
}

fn shell_text(shell: &Shell) -> String {
    let mut text = format!("Ran `{}`\n", shell.command);
    if shell.output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str(&format!("```\n{}\n```", shell.output));
    }
    match shell.exit_code {
        _ if shell.cancelled => text.push_str("\n\n(command cancelled)"),
        Some(code) if code != 0 => text.push_str(&format!("\n\nCommand exited with code {code}")),
        Some(_) | None => {}
    }
    if let Some(path) = &shell.full_output {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    text
}

fn compaction_text(summary: &str) -> String {
    format!(
        "The conversation history before this point was compacted into the following summary:\n\n\
         <summary>\n{summary}\n</summary>"
    )
}

fn branch_text(summary: &str) -> String {
    format!(
        "The following is a summary of a branch that this conversation came back from:\n\n\
         <summary>\n{summary}</summary>"
    )
}

fn merge_text(summary: &str) -> String {
    format!(
        "Another branch of this conversation was merged here. What it brings in:\n\n<summary>\n{summary}\n</summary>"
    )
}
