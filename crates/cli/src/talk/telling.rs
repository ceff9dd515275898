//! Events of a session as text, while they happen.
//!
//! Words are told as they come. An entry that is told for good says only what was not said yet, so whoever missed its
//! words reads them once, and nobody twice.

use std::collections::HashMap;

use jiff::Timestamp;
use offshoot_api::event::{Event, EventKind, TurnEnd};
use offshoot_api::views::{
    AskView, AskingView, BlockView, BodyView, EntryView, PromptView, QuestionView, SettingView, SubAgentView,
};
use offshoot_session::Interruption;
use offshoot_session::agent::FailureKind;
use serde_json::Value;

use super::given::{Change, ENDS_PLAN, change_in, given, plan_of};
use super::suggested::suggested;
use super::wrapping::Wrapping;
use crate::look::{Ink, Look, Sign};
use crate::numbers::{bytes, counted, moment_after};
use crate::text::{cut, harmless_command, harmless_line, harmless_lines, harmless_piece, width, wrapped};
use crate::words::{self, chatting, talking};

/// So much of what a tool was given or said is shown, in columns.
const TOOL_WIDTH: usize = 72;

/// So many lines of a prompt are told; `show` has all of them.
const PROMPT_LINES: usize = 8;

/// The kind of the entry that says why an agent began a turn by itself.
const TASK_NOTIFICATION: &str = "task_notification";

/// Whether prompts are told too: at a terminal they stand there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompts {
    Told,
    Seen,
}

/// Who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listener {
    /// Reads what the agent says; answers come from elsewhere.
    Script,
    /// Can answer, and wants to know that the agent is thinking.
    Person { thoughts: bool },
}

/// An agent that thinks at the moment.
#[derive(Debug)]
struct Thinks {
    entry: String,
    since: Timestamp,
}

#[derive(Debug)]
pub(crate) struct Telling<'l> {
    look: &'l Look,
    listener: Listener,
    thinks: Option<Thinks>,
    /// Bytes of each reply that were told.
    told: HashMap<String, usize>,
    /// Words that were told of entries that are not final.
    live_words: HashMap<String, String>,
    /// The entry whose words came last.
    speaking: Option<String>,
    at_line_start: bool,
    /// Stands before every line of a sub-agent.
    margin: &'static str,
    /// How wide the terminal is, where there is one.
    columns: Option<usize>,
    wrapping: Wrapping,
}

impl<'l> Telling<'l> {
    pub(crate) fn new(look: &'l Look) -> Self {
        let listener = Listener::Script;
        let (columns, wrapping) = (look.width, Wrapping::to(look.width));
        Self {
            look,
            listener,
            thinks: None,
            told: HashMap::new(),
            live_words: HashMap::new(),
            speaking: None,
            at_line_start: true,
            margin: "",
            columns,
            wrapping,
        }
    }

    /// To somebody who talks with the agent.
    pub(crate) fn to_a_person(look: &'l Look) -> Self {
        Self { listener: Listener::Person { thoughts: false }, ..Self::new(look) }
    }

    /// The terminal may be made wider while it is talked.
    pub(crate) fn is_wide(&mut self, columns: Option<usize>) {
        self.columns = columns;
        self.wrapping.is_wide(columns);
    }

    /// Whether thoughts are told word for word.
    pub(crate) fn show_thoughts(&mut self, thoughts: bool) {
        if let Listener::Person { .. } = self.listener {
            self.listener = Listener::Person { thoughts };
        }
    }

    /// What is to be printed now. What a sub-agent says stands behind a line; its task stands in the call above it.
    pub(crate) fn tell(&mut self, event: &Event, prompts: Prompts) -> String {
        match &event.sub_agent {
            None => self.at(event, prompts),
            Some(_) => {
                self.margin = self.look.sign(Sign::Line);
                let told = self.at(event, Prompts::Seen);
                self.margin = "";
                told
            }
        }
    }

    /// Whatever is heard of an answer but thoughts ends them.
    fn at(&mut self, event: &Event, prompts: Prompts) -> String {
        // What is known of an entry so far may be thoughts only; that is looked at where it is told.
        let ends_thoughts = !matches!(
            event.kind,
            EventKind::Thinking { .. }
                | EventKind::Live { .. }
                | EventKind::Status { .. }
                | EventKind::Measured { .. }
                | EventKind::HeadMoved { .. }
        );
        let before = if ends_thoughts { self.thought(event.at) } else { String::new() };
        before + &self.kind(&event.kind, event.at, prompts)
    }

    fn kind(&mut self, kind: &EventKind, at: Timestamp, prompts: Prompts) -> String {
        match kind {
            EventKind::Entry { entry, replaces } => {
                self.replace(replaces.as_deref(), &entry.id);
                self.entry(entry, prompts)
            }
            EventKind::Live { entry } => self.live(entry, at, prompts),
            EventKind::Words { entry, text } => self.words(entry, text),
            EventKind::TurnEnded { end, cost: _ } => self.ended(end),
            EventKind::Asked { ask } => self.asked(ask),
            EventKind::NoLongerAsked { .. } => {
                let when = moment_after(at, Some(at), self.look);
                self.line(Ink::Faint, &talking::no_longer_asked(&when))
            }
            EventKind::Thinking { entry, text } => self.thinking(entry, text, at),
            EventKind::Retrying { attempt, of, wait_ms, error } => {
                self.line(Ink::Faint, &talking::retrying(*attempt, *of, *wait_ms, error))
            }
            EventKind::Notice { text } => self.line(Ink::Faint, &talking::sentence(text)),
            EventKind::HookFailed { hook, message } => {
                self.line(Ink::Error, &talking::hook_failed(hook, message))
            }
            // Where context was rebuilt a notice says so, and what is missing.
            EventKind::Bound { .. }
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
            | EventKind::Measured { .. }
            | EventKind::SignIn { .. }
            | EventKind::Closed => String::new(),
        }
    }

    /// A reply that the agent is still writing: what is new in it.
    pub(crate) fn unfinished(&mut self, entry: &EntryView, at: Timestamp) -> String {
        self.live(entry, at, Prompts::Told)
    }

    pub(crate) fn entry(&mut self, entry: &EntryView, prompts: Prompts) -> String {
        match &entry.body {
            BodyView::Prompt(prompt) => match prompts {
                Prompts::Seen => String::new(),
                Prompts::Told => self.prompt(prompt),
            },
            BodyView::Reply { blocks, .. } => {
                let told = self.told.get(&entry.id).copied().unwrap_or_default();
                let out = self.reply(&entry.id, blocks);
                self.live_words.remove(&entry.id);
                out + &self.elided(entry, told.saturating_sub(text_of(blocks).len()))
            }
            BodyView::ToolResult { blocks, failed, .. } => self.result(blocks, *failed),
            BodyView::Shell { command, output, .. } => {
                self.line(Ink::Faint, &format!("$ {command}")) + &self.line(Ink::Faint, output)
            }
            BodyView::Interrupted { crash } => {
                let why = if *crash { Interruption::Crash } else { Interruption::Wanted };
                let sign = self.look.sign(Sign::Interrupted);
                self.line(Ink::Faint, &format!("{sign} {}", words::interrupted(why)))
            }
            BodyView::BranchSummary { .. } => self.line(Ink::Faint, talking::SUMMARISED),
            BodyView::Compaction { .. } => self.line(Ink::Faint, talking::COMPACTED),
            BodyView::Setting(setting) => self.line(Ink::Faint, &setting_told(setting)),
            BodyView::Cleared => self.line(Ink::Faint, words::CONTEXT_CLEARED),
            BodyView::CustomMessage { name, blocks, display: true } if name == TASK_NOTIFICATION => {
                self.line(Ink::Faint, &talking::task_ended(&text_of(blocks)))
            }
            BodyView::CustomMessage { blocks, display: true, .. } => self.line(Ink::Plain, &text_of(blocks)),
            BodyView::CustomMessage { display: false, .. }
            | BodyView::Merge { .. }
            | BodyView::Note { .. }
            | BodyView::System { .. }
            | BodyView::ContextEdit { .. }
            | BodyView::Foreign { .. } => String::new(),
        }
    }

    /// Its lines, the first one marked, and what came with it.
    fn prompt(&mut self, prompt: &PromptView) -> String {
        let mut lines = harmless_lines(&prompt.text, self.look.ascii);
        let more = lines.len().saturating_sub(PROMPT_LINES);
        lines.truncate(PROMPT_LINES);
        let mut out = self.fresh_line();
        for (number, line) in lines.iter().enumerate() {
            out.push_str(&match (number, line.as_str()) {
                (0, line) => self.line(Ink::Bold, &format!("  {line}")).replacen("  ", "> ", 1),
                (_, "") => self.line(Ink::Bold, ""),
                (_, line) => self.line(Ink::Bold, &format!("  {line}")),
            });
        }
        if more > 0 {
            out.push_str(&self.line(Ink::Faint, &format!(" {}", talking::more_lines(more))));
        }
        let images = Some(prompt.images.len()).filter(|images| *images > 0);
        let images = images.map(|images| counted(images, "image", "images"));
        let with: Vec<String> = images.into_iter().chain(prompt.attachments.iter().cloned()).collect();
        if !with.is_empty() {
            out.push_str(&self.line(Ink::Faint, &format!("  {}", words::attached::with(&with))));
        }
        out
    }

    /// A whole line of its own, however the last one ended.
    pub(crate) fn line(&mut self, ink: Ink, text: &str) -> String {
        let mut out = self.fresh_line();
        let room = self.columns.map(|columns| columns.saturating_sub(width(self.margin)));
        for line in wrapped(&harmless_line(text, self.look.ascii), room) {
            out.push_str(self.margin);
            out.push_str(&self.look.paint(ink, &line));
            out.push('\n');
        }
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
        self.wrapping.begin_line();
    }

    fn fresh_line(&mut self) -> String {
        let mut end = self.wrapping.rest(width(self.margin));
        if !(self.at_line_start && end.is_empty()) {
            end.push('\n');
        }
        self.is_at_line_start();
        end
    }

    fn words(&mut self, entry: &str, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        self.live_words.entry(entry.to_owned()).or_default().push_str(text);
        let mut out = self.begin_words(entry, text);
        let now = self.wrapping.take(&harmless_piece(text, self.look.ascii), width(self.margin));
        self.push_behind_margin(&mut out, &now);
        out
    }

    fn begin_words(&mut self, entry: &str, text: &str) -> String {
        *self.told.entry(entry.to_owned()).or_default() += text.len();
        if self.speaking.as_deref() == Some(entry) {
            return String::new();
        }
        let out = self.fresh_line();
        self.speaking = Some(entry.to_owned());
        out
    }

    fn push_behind_margin(&mut self, out: &mut String, text: &str) {
        for piece in text.split_inclusive('\n') {
            if self.at_line_start {
                out.push_str(self.margin);
            }
            out.push_str(piece);
            self.at_line_start = piece.ends_with('\n');
        }
    }

    /// The line stays open until the thoughts are over; their words stand below it where they are wanted.
    fn thinking(&mut self, entry: &str, text: &str, at: Timestamp) -> String {
        let Listener::Person { thoughts } = self.listener else { return String::new() };
        let mut out = String::new();
        if self.thinks.as_ref().is_none_or(|thinks| thinks.entry != entry) {
            out.push_str(&self.thought(at));
            out.push_str(&self.fresh_line());
            out.push_str(self.margin);
            let thinking = format!("{}{}", talking::THINKING, self.look.sign(Sign::Cut));
            out.push_str(&self.look.paint(Ink::Faint, &thinking));
            self.at_line_start = false;
            self.thinks = Some(Thinks { entry: entry.to_owned(), since: at });
        }
        match thoughts {
            true => out.push_str(&self.faint_words(&thoughts_of(entry), text)),
            false => *self.told.entry(thoughts_of(entry)).or_default() += text.len(),
        }
        out
    }

    /// What was told of a live entry was told of the entry that replaces it.
    fn replace(&mut self, live: Option<&str>, entry: &str) {
        let Some(live) = live else { return };
        self.live_words.remove(live);
        for (from, to) in [(live.to_owned(), entry.to_owned()), (thoughts_of(live), thoughts_of(entry))] {
            if let Some(told) = self.told.remove(&from) {
                self.told.insert(to, told);
            }
        }
        if self.speaking.as_deref() == Some(live) {
            self.speaking = Some(entry.to_owned());
        }
    }

    /// A final entry that was found in a view, after a crash for example. An agent may name it otherwise than it was named
    /// while it was live, and the event that says so was missed: the words tell which one it is.
    pub(crate) fn is_found(&mut self, entry: &EntryView) {
        let BodyView::Reply { blocks, .. } = &entry.body else { return };
        if self.told.contains_key(&entry.id) {
            return;
        }
        let text = text_of(blocks);
        let live = self.live_words.iter().find(|(_, told)| text.starts_with(told.as_str()));
        let live = live.map(|(live, _)| live.clone());
        self.replace(live.as_deref(), &entry.id);
    }

    /// The agent does not know what was told of this entry.
    fn void(&mut self, entry: &str) -> String {
        self.live_words.remove(entry);
        self.told.remove(&thoughts_of(entry));
        match self.told.remove(entry) {
            Some(_) => self.line(Ink::Faint, talking::DISCARDED),
            None => String::new(),
        }
    }

    /// An entry as far as it is known: of its thoughts and words those that are new.
    fn live(&mut self, entry: &EntryView, at: Timestamp, prompts: Prompts) -> String {
        let BodyView::Reply { blocks, .. } = &entry.body else { return self.entry(entry, prompts) };
        if blocks.is_empty() {
            return self.void(&entry.id);
        }
        let thoughts: String = thoughts_in(blocks).collect();
        let told = self.told.get(&thoughts_of(&entry.id)).copied().unwrap_or_default();
        let mut out = match thoughts.get(told..).unwrap_or_default() {
            "" => String::new(),
            more => self.thinking(&entry.id, more, at),
        };
        if has_more_than_thoughts(blocks) {
            out.push_str(&self.thought(at));
        }
        out.push_str(&self.said(&entry.id, blocks));
        out
    }

    /// They are over.
    fn thought(&mut self, at: Timestamp) -> String {
        let Some(Thinks { since, .. }) = self.thinks.take() else { return String::new() };
        let seconds = at.duration_since(since).as_secs().max(1);
        let line = talking::thought_for(seconds);
        if self.at_line_start || self.speaking.is_some() {
            return self.line(Ink::Faint, &line);
        }
        let ended = self.look.paint(Ink::Faint, &format!(" {line}"));
        self.is_at_line_start();
        format!("{ended}\n")
    }

    /// Thoughts, so that they cannot be taken for the answer.
    fn faint_words(&mut self, entry: &str, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let ends = self.begin_words(entry, text);
        let mut told = String::new();
        self.push_behind_margin(&mut told, &harmless_piece(text, self.look.ascii));
        format!("{ends}{}", self.look.paint(Ink::Faint, &told))
    }

    /// Those of a reply that nobody has heard while they came.
    fn thoughts(&mut self, id: &str, blocks: &[BlockView]) -> String {
        let Listener::Person { thoughts } = self.listener else { return String::new() };
        let all: Vec<&str> = thoughts_in(blocks).filter(|text| !text.trim().is_empty()).collect();
        if all.is_empty() || self.told.insert(thoughts_of(id), 0).is_some() {
            return String::new();
        }
        let mut out = self.line(Ink::Faint, talking::THOUGHT);
        if thoughts {
            let text = all.join("\n");
            out.push_str(&self.faint_words(&thoughts_of(id), &text));
            out.push_str(&self.fresh_line());
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
        self.thoughts(id, blocks) + &self.said(id, blocks)
    }

    /// The event has only the beginning of the entry; so many bytes more were told while they came.
    fn elided(&mut self, entry: &EntryView, more: usize) -> String {
        let missing = entry.elided.map_or(0, |elided| elided.bytes.saturating_sub(more as u64));
        match missing {
            0 => String::new(),
            missing => self.line(Ink::Faint, &talking::elided(&bytes(missing))),
        }
    }

    fn said(&mut self, id: &str, blocks: &[BlockView]) -> String {
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
        if let Some(plan) = plan_of(input) {
            let mut out = self.line(Ink::Faint, &format!("[{name}]"));
            for line in harmless_lines(plan, self.look.ascii) {
                out.push_str(&self.line(Ink::Plain, &format!("  {line}")));
            }
            return out;
        }
        let line = format!("[{name}] {}", given(input));
        let line = cut(&harmless_command(&line, self.look.ascii), TOOL_WIDTH, self.look.sign(Sign::Cut));
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
            TurnEnd::Failed { message, hint } => {
                // That the branch is intact is said anyway.
                let is_news = |hint: &&String| Some(hint.as_str()) != FailureKind::Process.advice();
                let hint = hint.as_ref().filter(is_news).map(|hint| talking::hint(hint));
                let failed = self.failed(message);
                failed + &hint.map_or_else(String::new, |hint| self.line(Ink::Faint, &hint))
            }
        }
    }

    pub(crate) fn failed(&mut self, message: &str) -> String {
        let sign = self.look.sign(Sign::Error);
        let again = match self.listener {
            Listener::Script => talking::ASK_AGAIN,
            Listener::Person { .. } => talking::ASK_AGAIN_HERE,
        };
        self.line(Ink::Error, &format!("{sign} {}", talking::turn_failed(message, again)))
    }

    pub(crate) fn asked(&mut self, ask: &AskView) -> String {
        let is_person = self.listener != Listener::Script;
        match &ask.asking {
            AskingView::Permission { tool, input, always, suggestions, .. } => {
                let mut out = match tool.as_str() {
                    ENDS_PLAN => self.line(Ink::Accent, talking::PLAN_IS_READY),
                    tool => self.permission(tool, &given(input)),
                };
                out.push_str(&self.change(&change_in(input).unwrap_or_default()));
                if is_person {
                    out.push_str(&self.line(Ink::Plain, chatting::PERMISSION_ANSWERS));
                    out.push_str(&self.line(Ink::Plain, chatting::ALWAYS_ALLOW));
                }
                if let Some(wider) = always.iter().find(|offer| !offer.exact).filter(|_| is_person) {
                    let rule = match wider.rule.as_str() {
                        "*" => chatting::any_file(&harmless_line(tool, self.look.ascii)),
                        rule => harmless_command(rule, self.look.ascii),
                    };
                    out.push_str(&self.line(Ink::Plain, &chatting::always_allow_wider(&rule)));
                }
                if is_person {
                    out.push_str(&self.suggestions(suggestions));
                }
                out
            }
            AskingView::Question { questions } => {
                let mut out: String = questions.iter().map(|it| self.question(it)).collect();
                if is_person && questions.len() > 1 {
                    out.push_str(&self.line(Ink::Faint, chatting::SEVERAL_QUESTIONS));
                }
                out
            }
        }
    }

    /// What the agent would change in settings of its own.
    fn suggestions(&mut self, suggestions: &[Value]) -> String {
        if suggestions.is_empty() {
            return String::new();
        }
        let mut out = self.line(Ink::Plain, chatting::SUGGESTIONS);
        for (at, suggestion) in suggestions.iter().enumerate() {
            let told = harmless_command(&suggested(suggestion), self.look.ascii);
            out.push_str(&self.line(Ink::Plain, &chatting::suggestion(at + 1, &told)));
        }
        out
    }

    /// All of it: whoever allows it has seen what is run.
    fn permission(&mut self, tool: &str, given: &str) -> String {
        let lines = harmless_lines(given, self.look.ascii);
        if let [one] = lines.as_slice() {
            return self.line(Ink::Accent, &talking::asks_permission(tool, one));
        }
        let mut out = self.line(Ink::Accent, &talking::asks_permission_for(tool));
        for line in lines {
            out.push_str(&self.line(Ink::Accent, &format!("  {}{line}", self.look.sign(Sign::Line))));
        }
        out
    }

    /// What would be different in a file, all of it.
    fn change(&mut self, change: &[Change]) -> String {
        let ink = |change: &Change| match change {
            Change::Same(_) => Ink::Faint,
            Change::Removed(_) | Change::Added(_) => Ink::Plain,
        };
        change.iter().map(|line| self.line(ink(line), &format!("    {}", line.line()))).collect()
    }

    fn question(&mut self, question: &QuestionView) -> String {
        let mut out = self.line(Ink::Accent, &question.text);
        for (number, choice) in question.choices.iter().enumerate() {
            let about = choice.description.as_ref().map(|about| format!(": {about}")).unwrap_or_default();
            let suggested = if choice.suggested { talking::SUGGESTED } else { "" };
            let line = format!("  {}. {}{about}{suggested}", number + 1, choice.label);
            out.push_str(&self.line(Ink::Plain, &line));
        }
        if self.listener != Listener::Script {
            let how = if question.several { chatting::SEVERAL_ANSWERS } else { chatting::ONE_ANSWER };
            out.push_str(&self.line(Ink::Faint, how));
        }
        out
    }
}

fn thoughts_in(blocks: &[BlockView]) -> impl Iterator<Item = &str> {
    blocks
        .iter()
        .filter_map(|block| if let BlockView::Thinking { text } = block { Some(text.as_str()) } else { None })
}

fn thoughts_of(entry: &str) -> String {
    format!("thoughts {entry}")
}

fn has_more_than_thoughts(blocks: &[BlockView]) -> bool {
    blocks.iter().any(|block| !matches!(block, BlockView::Thinking { .. }))
}

fn text_of(blocks: &[BlockView]) -> String {
    blocks
        .iter()
        .filter_map(|block| if let BlockView::Text { text } = block { Some(text.as_str()) } else { None })
        .collect()
}

pub(crate) fn setting_told(setting: &SettingView) -> String {
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

#[cfg(test)]
mod tests {
    use offshoot_api::views::{ElidedView, EntryView};
    use serde_json::json;

    use super::*;

    fn reply(id: &str, text: &str) -> EntryView {
        let view = json!({
            "id": id, "parent": null, "at": "2025-01-01T00:00:00Z", "kind": "reply",
            "blocks": [{ "kind": "text", "text": text }], "model": null, "usage": null, "stop": "end_turn",
        });
        serde_json::from_value(view).expect("a view")
    }

    #[test]
    fn what_is_missing_of_a_long_reply_is_told_unless_it_was_heard() {
        let look = Look::plain(None);
        let elided = Some(ElidedView { bytes: 2048, lines: 0 });
        let long = |id| EntryView { elided, ..reply(id, "Begun") };
        let mut telling = Telling::new(&look);
        let told = telling.entry(&long("a"), Prompts::Seen);
        assert_eq!(told, "Begun\n2.0 KiB more are in the session: `offshoot show` prints all of it.\n");
        assert_eq!(telling.words("b", &format!("Begun{}", "x".repeat(2048))).len(), 2053);
        assert_eq!(telling.entry(&long("b"), Prompts::Seen), "");
    }

    /// The engine was killed behind a block: the agent's transcript has it under the agent's own id.
    #[test]
    fn what_was_live_is_told_once_also_where_it_is_found_under_another_id() {
        let look = Look::plain(None);
        let mut telling = Telling::new(&look);
        assert_eq!(telling.words("live", "Begun"), "Begun");
        let found = reply("named", "Begun. And more.");
        telling.is_found(&found);
        assert_eq!(telling.entry(&found, Prompts::Seen), ". And more.");
        let other = reply("other", "Begun otherwise.");
        telling.is_found(&other);
        assert_eq!(telling.entry(&other, Prompts::Seen), "\nBegun otherwise.");
    }
}
