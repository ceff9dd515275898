//! A node of the tree as it is seen.

use jiff::Timestamp;
use offshoot_session as domain;
use offshoot_session::cost::Price;
use offshoot_session::{Block, Body, Entry, ImageData, Interruption, Prompt, Setting, Stop};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BoundView;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryView {
    pub id: String,
    pub parent: Option<String>,
    #[serde(with = "super::time")]
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Of a prompt in a branch that is shown: how the agent that answered it came to know the branch. In events that is
    /// told by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<BoundView>,
    /// Its texts are cut, because all of it is longer than a line of the connection. The session has the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elided: Option<ElidedView>,
    #[serde(flatten)]
    pub body: BodyView,
}

/// How much was left out of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElidedView {
    pub bytes: u64,
    pub lines: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BodyView {
    Prompt(PromptView),
    Reply {
        blocks: Vec<BlockView>,
        model: Option<ModelView>,
        usage: Option<UsageView>,
        /// `end_turn`, `tool_use`, `length`, `aborted`, `error`, or what the agent calls it.
        stop: Option<String>,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    ToolResult {
        call: String,
        tool: String,
        blocks: Vec<BlockView>,
        failed: bool,
        /// What the tool itself used of a model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageView>,
        /// What the tool was given, where a person changed what the agent had asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed_input: Option<Value>,
    },
    Shell {
        command: String,
        output: String,
        exit_code: Option<i64>,
        private: bool,
    },
    Interrupted {
        /// Offshoot stopped during the answer; else somebody wanted it to end.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        crash: bool,
    },
    BranchSummary {
        summary: String,
        from: Option<String>,
        left: Option<String>,
        from_extension: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageView>,
    },
    Compaction {
        summary: String,
        first_kept: Option<String>,
        tokens_before: i64,
        from_extension: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<UsageView>,
    },
    Setting(SettingView),
    Merge {
        from: String,
        summary: Option<String>,
    },
    CustomMessage {
        name: String,
        blocks: Vec<BlockView>,
        display: bool,
    },
    /// State of an extension, or the beginning of a sub-agent (`subagent`).
    Note {
        name: String,
        data: Option<Value>,
    },
    System {
        text: String,
    },
    Cleared,
    /// Changes what the model reads of an earlier entry.
    ContextEdit {
        target: String,
        /// What the model reads instead; absent if the entry is omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replacement: Option<Vec<BlockView>>,
    },
    Foreign {
        name: String,
        text: Option<String>,
    },
}

/// What a person says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptView {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// Images, inline or by the name they are kept under. Large ones are told without either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<BlockView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BlockView {
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    Image {
        media_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blob: Option<String>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    Other {
        name: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelView {
    pub provider: String,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageView {
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    pub cache_write: i64,
    /// What the session says, else the price of the tokens, each entry rounded by itself; 0 if the price is unknown.
    pub cost_micros: i64,
    /// There are tokens and their price is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "setting", content = "value", rename_all = "snake_case")]
pub enum SettingView {
    Agent(String),
    Model { role: Option<String>, model: ModelView },
    Thinking(Option<String>),
    Tools(Vec<String>),
    PermissionMode(String),
    Mode { mode: String, data: Option<Value> },
    ServiceTier(Option<String>),
    Config(Value),
}

impl From<&Entry> for EntryView {
    fn from(entry: &Entry) -> Self {
        Self {
            id: entry.id.to_string(),
            parent: entry.parent.as_ref().map(ToString::to_string),
            at: entry.written_at,
            turn: entry.turn.as_ref().map(ToString::to_string),
            bound: None,
            elided: None,
            body: BodyView::from(&entry.body),
        }
    }
}

impl EntryView {
    /// With the price of its tokens, if the session does not say what they cost.
    pub fn priced(mut self, price_of: impl FnOnce(&domain::Model) -> Option<Price>) -> Self {
        // Only replies name their model.
        if let BodyView::Reply { model: Some(model), usage: Some(usage), .. } = &mut self.body
            && usage.unpriced
            && let Some(price) = price_of(&domain::Model::from(model.clone()))
        {
            let UsageView { input, output, cache_read, cache_write, .. } = *usage;
            usage.cost_micros =
                price.cost(&domain::Usage { input, output, cache_read, cache_write, ..Default::default() });
            usage.unpriced = false;
        }
        self
    }
}

impl From<&Body> for BodyView {
    fn from(body: &Body) -> Self {
        let id = |id: &domain::EntryId| id.to_string();
        match body {
            Body::Prompt(prompt) => Self::Prompt(PromptView::from(prompt)),
            Body::Reply(reply) => {
                let (stop, error) = stop_words(reply.stop.as_ref());
                Self::Reply {
                    blocks: blocks(&reply.blocks),
                    model: reply.model.as_ref().map(ModelView::from),
                    usage: reply.usage.as_ref().map(UsageView::from),
                    stop,
                    error,
                }
            }
            Body::ToolResult(result) => Self::ToolResult {
                call: result.call.to_string(),
                tool: result.tool.clone(),
                blocks: blocks(&result.blocks),
                failed: result.failed,
                usage: result.usage.as_deref().map(UsageView::from),
                changed_input: result.changed_input.as_deref().cloned(),
            },
            Body::Shell(shell) => Self::Shell {
                command: shell.command.clone(),
                output: shell.output.clone(),
                exit_code: shell.exit_code,
                private: shell.private,
            },
            Body::Interrupted(why) => Self::Interrupted { crash: *why == Interruption::Crash },
            Body::BranchSummary(summary) => Self::BranchSummary {
                summary: summary.summary.clone(),
                from: summary.from.as_ref().map(id),
                left: summary.left.as_ref().map(id),
                from_extension: summary.from_extension,
                usage: summary.usage.as_deref().map(UsageView::from),
            },
            Body::Compaction(compaction) => Self::Compaction {
                summary: compaction.summary.clone(),
                first_kept: compaction.first_kept.as_ref().map(id),
                tokens_before: compaction.tokens_before,
                from_extension: compaction.from_extension,
                usage: compaction.usage.as_deref().map(UsageView::from),
            },
            Body::Setting(setting) => Self::Setting(SettingView::from(setting)),
            Body::Merge(merge) => Self::Merge { from: id(&merge.from), summary: merge.summary.clone() },
            Body::CustomMessage(message) => Self::CustomMessage {
                name: message.kind.clone(),
                blocks: blocks(&message.blocks),
                display: message.display,
            },
            Body::Note(note) => Self::Note { name: note.kind.clone(), data: note.data.clone() },
            Body::System(system) => Self::System { text: system.text.clone() },
            Body::Cleared => Self::Cleared,
            Body::ContextEdit(edit) => Self::ContextEdit {
                target: id(&edit.target),
                replacement: edit.replacement.as_deref().map(blocks),
            },
            Body::Foreign(foreign) => {
                Self::Foreign { name: foreign.kind.clone(), text: foreign.text.clone() }
            }
        }
    }
}

fn stop_words(stop: Option<&Stop>) -> (Option<String>, Option<String>) {
    let word = |word: &str| (Some(word.to_owned()), None);
    match stop {
        None => (None, None),
        Some(Stop::EndTurn) => word("end_turn"),
        Some(Stop::ToolUse) => word("tool_use"),
        Some(Stop::Length) => word("length"),
        Some(Stop::Aborted) => word("aborted"),
        Some(Stop::Error(message)) => (Some("error".to_owned()), Some(message.clone())),
        Some(Stop::Other(other)) => word(other),
    }
}

fn blocks(blocks: &[Block]) -> Vec<BlockView> {
    blocks.iter().map(BlockView::from).collect()
}

/// Longer ones are told without their bytes: a branch with a few of them would not fit into one line.
const LONGEST_IMAGE: usize = 64 * 1024;

impl From<&Block> for BlockView {
    fn from(block: &Block) -> Self {
        match block {
            Block::Text(text) => Self::Text { text: text.clone() },
            Block::Thinking(text) => Self::Thinking { text: text.clone() },
            Block::Image { media_type, data: ImageData::Inline(data) } => {
                let base64 = (data.len() <= LONGEST_IMAGE).then(|| data.clone());
                Self::Image { media_type: media_type.clone(), base64, blob: None }
            }
            Block::Image { media_type, data: ImageData::Blob(name) } => {
                Self::Image { media_type: media_type.clone(), base64: None, blob: Some(name.clone()) }
            }
            Block::ToolUse(call) => {
                Self::ToolUse { id: call.id.to_string(), name: call.name.clone(), input: call.input.clone() }
            }
            Block::Other { kind } => Self::Other { name: kind.clone() },
        }
    }
}

impl From<&Prompt> for PromptView {
    fn from(prompt: &Prompt) -> Self {
        let is_image = |block: &&Block| matches!(block, Block::Image { .. });
        Self {
            text: domain::text_of(&prompt.blocks),
            attachments: prompt.attachments.clone(),
            images: prompt.blocks.iter().filter(is_image).map(BlockView::from).collect(),
        }
    }
}

impl PromptView {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// What is said, for a plan. Images that are neither inline nor kept are left out.
    pub fn into_prompt(self) -> Prompt {
        self.in_place_of(&Prompt::default())
    }

    /// The same where something else was to be said: an image that is told without its bytes is the one in its place there.
    pub fn in_place_of(self, before: &Prompt) -> Prompt {
        let mut before = before.blocks.iter().filter(|block| matches!(block, Block::Image { .. }));
        let mut blocks = vec![Block::Text(self.text)];
        for image in self.images {
            let known = before.next();
            blocks.extend(image_block(image).or_else(|| known.cloned()));
        }
        Prompt { blocks, attachments: self.attachments, said_at: None }
    }
}

/// `None`: its bytes are not told.
fn image_block(image: BlockView) -> Option<Block> {
    let BlockView::Image { media_type, base64, blob } = image else { return None };
    let data = base64.map(ImageData::Inline).or(blob.map(ImageData::Blob))?;
    Some(Block::Image { media_type, data })
}

impl From<&domain::Model> for ModelView {
    fn from(model: &domain::Model) -> Self {
        Self { provider: model.provider.clone(), name: model.name.clone() }
    }
}

impl From<ModelView> for domain::Model {
    fn from(model: ModelView) -> Self {
        Self { provider: model.provider, name: model.name }
    }
}

impl From<&domain::Usage> for UsageView {
    fn from(usage: &domain::Usage) -> Self {
        let domain::Usage { input, output, cache_read, cache_write, cost_micros, .. } = *usage;
        let unpriced = cost_micros == 0 && usage.context_tokens() > 0;
        Self { input, output, cache_read, cache_write, cost_micros, unpriced }
    }
}

impl From<&Setting> for SettingView {
    fn from(setting: &Setting) -> Self {
        match setting {
            Setting::Agent(agent) => Self::Agent(agent.clone()),
            Setting::Model { role, model } => {
                Self::Model { role: role.clone(), model: ModelView::from(model) }
            }
            Setting::Thinking(level) => Self::Thinking(level.clone()),
            Setting::Tools(tools) => Self::Tools(tools.clone()),
            Setting::PermissionMode(mode) => Self::PermissionMode(mode.clone()),
            Setting::Mode { mode, data } => Self::Mode { mode: mode.clone(), data: data.clone() },
            Setting::ServiceTier(tier) => Self::ServiceTier(tier.clone()),
            Setting::Config(config) => Self::Config(config.clone()),
        }
    }
}
