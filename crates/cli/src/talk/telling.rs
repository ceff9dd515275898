//! Events of a session as text, while they happen.
//!
//! Words are told as they come. An entry that is told for good says only what was not said yet, so whoever missed its
//! words reads them once, and nobody twice.

use std::collections::HashMap;

use offshoot_api::event::{Event, EventKind, TurnEnd};
use offshoot_api::views::{
    AskView, AskingView, BlockView, BodyView, EntryView, QuestionView, SettingView, SubAgentView,
};
use serde_json::Value;

use crate::look::{Ink, Look, Sign};
use crate::text::{cut, harmless_line, harmless_piece};
use crate::words::{self, talking};

/// So much of what a tool was given or said is shown, in columns.
const TOOL_WIDTH: usize = 72;

/// Whether prompts are told too: at a terminal they stand there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompts {
    Told,
    Seen,
}

#[derive(Debug)]
pub(crate) struct Telling<'l> {
    look: &'l Look,
    /// Bytes of each reply that were told.
    told: HashMap<String, usize>,
    /// The entry whose words came last.
    speaking: Option<String>,
    at_line_start: bool,
    /// Stands before every line of a sub-agent.
    margin: &'static str,
}

impl<'l> Telling<'l> {
    pub(crate) fn new(look: &'l Look) -> Self {
        Self { look, told: HashMap::new(), speaking: None, at_line_start: true, margin: "" }
    }

    /// What is to be printed now. What a sub-agent says stands behind a line; its task stands in the call above it.
    pub(crate) fn tell(&mut self, event: &Event, prompts: Prompts) -> String {
        match &event.sub_agent {
            None => self.kind(&event.kind, prompts),
            Some(_) => {
                self.margin = self.look.sign(Sign::Line);
                let told = self.kind(&event.kind, Prompts::Seen);
                self.margin = "";
                told
            }
        }
    }

    fn kind(&mut self, kind: &EventKind, prompts: Prompts) -> String {
        match kind {
            EventKind::Entry { entry } | EventKind::Live { entry } => self.entry(entry, prompts),
            EventKind::Words { entry, text } => self.words(entry, text),
            EventKind::TurnEnded { end } => self.ended(end),
            EventKind::Asked { ask } => self.asked(ask),
            EventKind::NoLongerAsked { .. } => self.line(Ink::Faint, talking::NO_LONGER_ASKED),
            EventKind::Notice { text } => self.line(Ink::Faint, text),
            EventKind::HookFailed { hook, message } => {
                self.line(Ink::Error, &talking::hook_failed(hook, message))
            }
            // Where context was rebuilt a notice says so, and what is missing.
            EventKind::Bound { .. }
            | EventKind::Thinking { .. }
            | EventKind::HeadMoved { .. }
            | EventKind::Labelled { .. }
            | EventKind::Titled { .. }
            | EventKind::BranchNamed { .. }
            | EventKind::CheckpointTaken { .. }
            | EventKind::Rearranged
            | EventKind::Branched { .. }
            | EventKind::TurnStarted { .. }
            | EventKind::Answered { .. }
            | EventKind::Confirmed { .. }
            | EventKind::Status { .. }
            | EventKind::Queue { .. }
            | EventKind::Closed => String::new(),
        }
    }

    pub(crate) fn entry(&mut self, entry: &EntryView, prompts: Prompts) -> String {
        match &entry.body {
            BodyView::Prompt(prompt) => match prompts {
                Prompts::Seen => String::new(),
                Prompts::Told => self.line(Ink::Bold, &format!("> {}", prompt.text)),
            },
            BodyView::Reply { blocks, .. } => self.reply(&entry.id, blocks),
            BodyView::ToolResult { blocks, failed, .. } => self.result(blocks, *failed),
            BodyView::Shell { command, output, .. } => {
                self.line(Ink::Faint, &format!("$ {command}")) + &self.line(Ink::Faint, output)
            }
            BodyView::Interrupted => {
                let sign = self.look.sign(Sign::Interrupted);
                self.line(Ink::Faint, &format!("{sign} {}", words::RESPONSE_INTERRUPTED))
            }
            BodyView::BranchSummary { .. } => self.line(Ink::Faint, talking::SUMMARISED),
            BodyView::Compaction { .. } => self.line(Ink::Faint, talking::COMPACTED),
            BodyView::Setting(setting) => self.line(Ink::Faint, &setting_words(setting)),
            BodyView::Cleared => self.line(Ink::Faint, words::CONTEXT_CLEARED),
            BodyView::CustomMessage { blocks, display: true, .. } => self.line(Ink::Plain, &text_of(blocks)),
            BodyView::CustomMessage { display: false, .. }
            | BodyView::Merge { .. }
            | BodyView::Note { .. }
            | BodyView::System { .. }
            | BodyView::Foreign { .. } => String::new(),
        }
    }

    /// A whole line of its own, however the last one ended.
    pub(crate) fn line(&mut self, ink: Ink, text: &str) -> String {
        let mut out = self.fresh_line();
        out.push_str(self.margin);
        out.push_str(&self.look.paint(ink, &harmless_line(text, self.look.ascii)));
        out.push('\n');
        out
    }

    /// Ends the line that is being told, where one is.
    pub(crate) fn line_end(&mut self) -> String {
        self.fresh_line()
    }

    /// Something was printed or typed by others: the next words begin a line.
    pub(crate) fn is_at_line_start(&mut self) {
        self.at_line_start = true;
        self.speaking = None;
    }

    fn fresh_line(&mut self) -> String {
        let end = if self.at_line_start { "" } else { "\n" };
        self.is_at_line_start();
        end.to_owned()
    }

    fn words(&mut self, entry: &str, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let mut out = String::new();
        if self.speaking.as_deref() != Some(entry) {
            out = self.fresh_line();
            self.speaking = Some(entry.to_owned());
        }
        *self.told.entry(entry.to_owned()).or_default() += text.len();
        for piece in text.split_inclusive('\n') {
            if self.at_line_start {
                out.push_str(self.margin);
            }
            out.push_str(&harmless_piece(piece, self.look.ascii));
            self.at_line_start = piece.ends_with('\n');
        }
        out
    }

    /// A sub-agent that was started by what is told.
    pub(crate) fn sub_agent(&mut self, sub_agent: &SubAgentView) -> String {
        let line = self.look.sign(Sign::Line);
        let task = sub_agent.task.as_deref().unwrap_or_default();
        let line = format!("{line}{}", talking::sub_agent(task, sub_agent.running));
        self.line(Ink::Faint, &line)
    }

    fn reply(&mut self, id: &str, blocks: &[BlockView]) -> String {
        let text = text_of(blocks);
        let told = self.told.get(id).copied().unwrap_or_default();
        let mut out = self.words(id, text.get(told..).unwrap_or_default());
        for block in blocks {
            let BlockView::ToolUse { id, name, input } = block else { continue };
            // A call may be told before it is complete; once is enough.
            if self.told.insert(format!("call {id}"), 1).is_none() {
                out.push_str(&self.tool(name, input));
            }
        }
        out
    }

    fn tool(&mut self, name: &str, input: &Value) -> String {
        let line = format!("[{name}] {}", given(input));
        let line = cut(&harmless_line(&line, self.look.ascii), TOOL_WIDTH, self.look.sign(Sign::Cut));
        self.line(Ink::Faint, line.trim_end())
    }

    fn result(&mut self, blocks: &[BlockView], failed: bool) -> String {
        let text = text_of(blocks);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        let more = lines.count();
        let more = if more > 0 { talking::more_lines(more) } else { String::new() };
        let sign = if failed { self.look.sign(Sign::Error) } else { self.look.sign(Sign::GoesTo) };
        let first = cut(&harmless_line(first, self.look.ascii), TOOL_WIDTH, self.look.sign(Sign::Cut));
        self.line(if failed { Ink::Error } else { Ink::Faint }, &format!("  {sign} {first}{more}"))
    }

    fn ended(&mut self, end: &TurnEnd) -> String {
        match end {
            TurnEnd::Done | TurnEnd::Interrupted => self.fresh_line(),
            TurnEnd::Limit => self.line(Ink::Error, talking::LIMIT),
            TurnEnd::Failed { message } => {
                let sign = self.look.sign(Sign::Error);
                self.line(Ink::Error, &format!("{sign} {}", talking::turn_failed(message)))
            }
        }
    }

    pub(crate) fn asked(&mut self, ask: &AskView) -> String {
        match &ask.asking {
            AskingView::Permission { tool, input, always, .. } => {
                self.line(Ink::Accent, &talking::asks_permission(tool, &given(input)))
                    + &self.line(Ink::Plain, &talking::permission_answers(always))
            }
            AskingView::Question { questions } => questions.iter().map(|it| self.question(it)).collect(),
        }
    }

    fn question(&mut self, question: &QuestionView) -> String {
        let mut out = self.line(Ink::Accent, &question.text);
        for (number, choice) in question.choices.iter().enumerate() {
            let about = choice.description.as_ref().map(|about| format!(": {about}")).unwrap_or_default();
            out.push_str(&self.line(Ink::Plain, &format!("  {}. {}{about}", number + 1, choice.label)));
        }
        out
    }
}

fn text_of(blocks: &[BlockView]) -> String {
    blocks
        .iter()
        .filter_map(|block| if let BlockView::Text { text } = block { Some(text.as_str()) } else { None })
        .collect()
}

/// What matters of what a tool is given: a command, a file; else all of it.
pub(crate) fn given(input: &Value) -> String {
    let telling = ["command", "file", "path", "file_path", "task", "description"];
    let told = telling.iter().find_map(|name| input.get(name).and_then(Value::as_str));
    told.map_or_else(|| input.to_string(), str::to_owned)
}

fn setting_words(setting: &SettingView) -> String {
    match setting {
        SettingView::Agent(agent) => talking::set("Agent", agent),
        SettingView::Model { model, .. } => talking::set("Model", &talking::model_name(model)),
        SettingView::Thinking(level) => talking::set("Thinking", level.as_deref().unwrap_or("off")),
        SettingView::Tools(tools) => talking::set("Tools", &tools.join(", ")),
        SettingView::PermissionMode(mode) => talking::set("Permission mode", mode),
        SettingView::Mode { mode, .. } => talking::set("Mode", mode),
        SettingView::ServiceTier(tier) => talking::set("Service tier", tier.as_deref().unwrap_or("usual")),
        SettingView::Config(_) => talking::set("Settings", "changed"),
    }
}
