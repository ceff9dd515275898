//! What the model reads at a point.

use offshoot_session::context::{Context, ContextOptions, Message, Role, context_of};
use offshoot_session::{Block, EntryId, SessionTree};
use offshoot_store::{LazyContext, LazyError};
use serde_json::{Value, json};

use super::last_of;
use crate::args::ShowArgs;
use crate::commands::json::printed;
use crate::look::{Ink, Look};
use crate::numbers::counted;
use crate::text;

pub(super) struct Read {
    /// With the messages that are shown.
    context: Context,
    /// Of all messages.
    count: usize,
}

impl Read {
    pub(super) fn at(tree: &SessionTree, point: Option<&EntryId>, last: Option<usize>) -> Self {
        let mut context = context_of(tree, point, &ContextOptions::default());
        let count = context.messages.len();
        context.messages.drain(..count - last_of(&context.messages, last).len());
        Self { context, count }
    }

    pub(super) fn all(context: Context) -> Self {
        Self { count: context.messages.len(), context }
    }

    /// Only what is shown is read.
    pub(super) fn last(context: LazyContext<'_>, last: usize) -> Result<Self, LazyError> {
        let count = context.len();
        Ok(Self { context: context.read_last(last)?, count })
    }

    pub(super) fn told(
        &self,
        tree: &SessionTree,
        point: Option<&EntryId>,
        args: &ShowArgs,
        look: &Look,
    ) -> String {
        match args.json.json {
            Some(shape) => printed(self.as_json(tree, point), "messages", shape),
            None => self.drawn(look),
        }
    }

    /// Those that it is made of.
    pub(super) fn entries(&self) -> Vec<EntryId> {
        self.context.messages.iter().map(|message| message.entry.id.clone()).collect()
    }

    fn model(&self) -> Option<String> {
        self.context.model.as_ref().map(|model| format!("{}/{}", model.provider, model.name))
    }

    /// How much there is, and the settings that hold at the point.
    fn about(&self) -> String {
        let context = &self.context;
        let mut about = vec![counted(self.count, "message", "messages")];
        about.extend(self.model());
        about.push(format!("thinking {}", context.thinking));
        let told = |name: &'static str| move |value: &String| format!("{name} {value}");
        about.extend(context.agent.as_ref().map(told("agent")));
        about.extend(context.tools.as_ref().map(|tools| format!("tools {}", tools.join(" "))));
        about.extend(context.permission_mode.as_ref().map(told("permission mode")));
        about.extend(context.mode.as_ref().map(told("mode")));
        if !context.injected_rules.is_empty() {
            about.push(format!("injected rules {}", context.injected_rules.join(" ")));
        }
        about.join(", ")
    }

    fn drawn(&self, look: &Look) -> String {
        let mut drawn = String::new();
        if !look.quiet {
            let about = text::harmless_line(&self.about(), look.ascii);
            drawn.push_str(&format!("{}\n", look.paint(Ink::Faint, &about)));
        }
        for (at, message) in self.context.messages.iter().enumerate() {
            if at > 0 || !look.quiet {
                drawn.push('\n');
            }
            drawn.push_str(&look.paint(Ink::Accent, role(message.role())));
            drawn.push('\n');
            for said in said(message) {
                for line in text::harmless_lines(&said, look.ascii) {
                    for piece in text::wrapped(&line, look.width.map(|width| width.saturating_sub(2).max(10)))
                    {
                        drawn.push_str(format!("  {piece}").trim_end());
                        drawn.push('\n');
                    }
                }
            }
        }
        drawn
    }

    fn as_json(&self, tree: &SessionTree, point: Option<&EntryId>) -> Value {
        let messages: Vec<Value> = self
            .context
            .messages
            .iter()
            .map(|message| {
                let calls: Vec<Value> = message
                    .blocks()
                    .filter_map(|block| match block {
                        Block::ToolUse(call) => {
                            Some(json!({"id": call.id.as_str(), "name": call.name, "input": call.input}))
                        }
                        _ => None,
                    })
                    .collect();
                json!({
                    "id": message.entry.id.as_str(),
                    "role": role(message.role()),
                    "text": message.text(),
                    "tool_calls": calls,
                })
            })
            .collect();
        json!({
            "session": tree.header().map(|header| header.id.as_str()),
            "at": point.map(|point| point.as_str()),
            "model": self.model(),
            "thinking": self.context.thinking,
            "agent": self.context.agent,
            "tools": self.context.tools,
            "permission_mode": self.context.permission_mode,
            "mode": self.context.mode,
            "mode_data": self.context.mode_data,
            "injected_rules": self.context.injected_rules,
            "messages": messages,
        })
    }
}

fn said(message: &Message) -> Vec<String> {
    let mut said = vec![message.text()];
    for block in message.blocks() {
        match block {
            Block::ToolUse(call) => said.push(format!("{} {}", call.name, call.input)),
            Block::Image { media_type, .. } => said.push(format!("[image: {media_type}]")),
            Block::Other { kind } => said.push(format!("[{kind}]")),
            Block::Text(_) | Block::Thinking(_) => {}
        }
    }
    said.retain(|said| !said.trim().is_empty());
    said
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::ToolResult => "tool_result",
        Role::Shell => "shell",
        Role::Custom => "custom",
        Role::BranchSummary => "branch_summary",
        Role::CompactionSummary => "compaction_summary",
        Role::System => "system",
    }
}
