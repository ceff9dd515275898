//! One turn as a numbered piece of a document: title line, prompt, then what answers it.
//!
//! ```text
//! #3  b7720e  version 2 of 3  deadline                 14:07  38s  $0.38
//! Store the credit as a deadline instead of a counter.
//!
//!   pi, claude-sonnet-4
//!   edit   src/bucket.rs
//!   The bucket now keeps one instant, full_at.
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::in_force::InForce;
use offshoot_session::outline::{LedgerRow, Turn, ledger_row, version_of};
use offshoot_session::sub_agents::SubAgent;
use offshoot_session::{
    Block, Body, Entry, Interruption, Reply, SessionTree, Stop, ToolCallId, ToolResult, ToolUse, text_of,
};

use super::About;
use crate::cataloged::agent_name;
use crate::living::state_in_words;
use crate::look::{Ink, Look, Sign};
use crate::numbers::{counted, grouped, lasted, moment_after, money};
use crate::table::{Painted, spread};
use crate::{text, words};
use offshoot_session::cost::Tally;

const VERB_COLUMNS: usize = 6;

/// Settings and notes before the first prompt are no turn for a person.
pub(super) fn says_anything(turn: &Turn<'_>) -> bool {
    turn.entries.iter().any(|entry| {
        !matches!(
            entry.body,
            Body::Setting(_) | Body::Note(_) | Body::System(_) | Body::ContextEdit(_) | Body::Foreign(_)
        )
    })
}

pub(super) fn drawn<'t>(
    tree: &'t SessionTree,
    turn: &Turn<'t>,
    about: &About<'_, 't>,
    before: Option<Timestamp>,
    look: &Look,
) -> String {
    let project = tree.header().and_then(|header| header.project.as_deref());
    let results = results_of(turn);
    let state = turn.prompt().and_then(|prompt| about.running.of_prompt(&prompt.id));
    let without_result = state.map_or(words::NO_RESULT, |status| &status.state);
    let above = Above::Nothing;
    let mut page = Page { look, about, project, text: String::new(), results, without_result, above };
    page.text.push_str(&spread(&title(tree, turn, about, look), &measures(turn, about, before, look), look));
    let mut answers = turn.entries.as_slice();
    if let Some(prompt) = turn.prompt() {
        page.prompt(prompt);
        answers = answers.get(1..).unwrap_or_default();
        if !answers.is_empty() {
            page.text.push('\n');
        }
        page.above = Above::Nothing;
    }
    let binding = turn.prompt().and_then(|prompt| tree.binding(&prompt.id));
    let chosen = chosen_agent(tree, turn);
    let of_session = || tree.header().and_then(|header| header.agent.as_deref());
    let bound = binding.and_then(|binding| binding.agent.as_deref());
    let agent = bound.or(chosen.as_deref()).or_else(of_session).map(agent_name);
    let context = binding.and_then(words::scripts::provenance);
    let mut speaker = None;
    for entry in answers {
        if let Body::Reply(reply) = &entry.body {
            page.speaker(&mut speaker, agent, reply, context.as_deref());
        }
        page.answer(entry);
    }
    page.text
}

/// Who was to answer a turn that failed. One that failed before its agent was reached has no binding.
fn chosen_agent(tree: &SessionTree, turn: &Turn<'_>) -> Option<String> {
    let is_failure = |body: &Body| matches!(body, Body::Reply(Reply { stop: Some(Stop::Error(_)), .. }));
    let failed = turn.entries.iter().any(|entry| is_failure(&entry.body));
    let prompt = turn.prompt().filter(|prompt| failed && tree.binding(&prompt.id).is_none())?;
    InForce::at(tree, Some(&prompt.id)).agent().map(str::to_owned)
}

/// `#3  b7720e  version 2 of 3  deadline`
fn title(tree: &SessionTree, turn: &Turn<'_>, about: &About<'_, '_>, look: &Look) -> Painted {
    let mut title = Painted::default();
    let number = if turn.number > 0 { format!("#{}", turn.number) } else { "before #1".to_owned() };
    title.push(look, Ink::Accent, &number);
    let Some(first) = turn.entries.first() else { return title };
    let mut part = |ink, words: &str| {
        title.push(look, Ink::Plain, "  ");
        title.push(look, ink, &text::harmless_line(words, look.ascii));
    };
    part(Ink::Faint, &about.short_ids.get(&first.id));
    if let Some(version) = version_of(tree, &first.id) {
        part(Ink::Plain, &format!("version {} of {}", version.number, version.of));
    }
    for name in turn.entries.iter().filter_map(|entry| tree.branch_name(&entry.id)) {
        part(Ink::Plain, name.trim());
    }
    for label in turn.entries.iter().filter_map(|entry| tree.label(&entry.id)) {
        part(Ink::Bold, &format!("[{}]", label.trim()));
    }
    if let Some(status) = about.running.of_prompt(&first.id) {
        let (words, ink) = state_in_words(&status.state, look);
        part(ink, &words);
    }
    title
}

/// When, how long, how much.
fn measures(turn: &Turn<'_>, about: &About<'_, '_>, before: Option<Timestamp>, look: &Look) -> Painted {
    let mut measures = Painted::default();
    let (Some(first), Some(last)) = (turn.entries.first(), turn.entries.last()) else { return measures };
    let cost = turn.prompt().and_then(|prompt| about.costs.get(&prompt.id)).and_then(Tally::money);
    let parts = [
        Some(moment_after(first.written_at, before, look)),
        lasted(last.written_at.duration_since(first.written_at)),
        cost.and_then(money),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    measures.push(look, Ink::Faint, &parts.join("  "));
    measures
}

fn results_of<'t>(turn: &Turn<'t>) -> HashMap<&'t ToolCallId, (&'t Arc<Entry>, &'t ToolResult)> {
    let mut results = HashMap::new();
    for entry in &turn.entries {
        if let Body::ToolResult(result) = &entry.body {
            results.insert(&result.call, (*entry, result));
        }
    }
    results
}

/// `sub-agent b7720e: look around  14:07  38s`
fn sub_agent_line(one: &SubAgent<'_>, about: &About<'_, '_>, look: &Look) -> String {
    let task = one.task.as_deref().map(|task| task.lines().next().unwrap_or_default().trim());
    let name = words::sub_agent(&about.short_ids.get(&one.root.id), task.unwrap_or_default());
    let began = one.root.written_at;
    let took = one.ended_at.and_then(|ended| lasted(ended.duration_since(began)));
    let state = one.running.then(|| words::SUB_AGENT_RUNS.to_owned());
    let parts = [Some(name), Some(moment_after(began, None, look)), took, state];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// The sub-agents that no turn is known for, under a line of their own; `None` if there are none.
pub(super) fn tasks_of_no_turn(about: &About<'_, '_>, look: &Look) -> Option<String> {
    let tasks = about.sub_agents.iter().filter(|one| one.entry.is_none());
    let lines: Vec<String> = tasks.map(|one| sub_agent_line(one, about, look)).collect();
    let lines = std::iter::once(words::TASKS_OF_NO_TURN.to_owned())
        .chain(lines.iter().map(|line| format!("  {line}")));
    let lines: Vec<String> =
        lines.map(|line| look.paint(Ink::Faint, &text::harmless_line(&line, look.ascii))).collect();
    (lines.len() > 1).then(|| format!("{}\n", lines.join("\n")))
}

struct Page<'p, 't> {
    look: &'p Look,
    about: &'p About<'p, 't>,
    /// Paths inside of it are told from there.
    project: Option<&'t str>,
    text: String,
    results: HashMap<&'t ToolCallId, (&'t Arc<Entry>, &'t ToolResult)>,
    /// What is said of a call that nothing has come of.
    without_result: &'p str,
    above: Above,
}

/// What the line above belongs to, which decides whether a gap is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    /// A line that introduces what follows.
    Heading,
    Row,
    Paragraph,
}

impl<'t> Page<'_, 't> {
    fn prompt(&mut self, entry: &Entry) {
        let said = entry.body.text();
        if said.trim().is_empty() {
            let things = offshoot_session::outline::one_line(&entry.body);
            let things = if things.is_empty() { words::EMPTY_PROMPT.to_owned() } else { things };
            self.lines("", &things, Ink::Bold);
            return;
        }
        self.lines("", &said, Ink::Bold);
        let images = entry.body.blocks().iter().filter(|block| matches!(block, Block::Image { .. })).count();
        let mut with: Vec<String> = Vec::new();
        if images > 0 {
            with.push(counted(images, "image", "images"));
        }
        if let Body::Prompt(prompt) = &entry.body {
            with.extend(prompt.attachments.iter().cloned());
        }
        if !with.is_empty() {
            self.lines("", &words::attached::with(&with), Ink::Faint);
        }
    }

    /// `pi, claude-sonnet-4, reconstructed context`, once and again when it changes.
    fn speaker(
        &mut self,
        speaker: &mut Option<String>,
        agent: Option<&str>,
        reply: &Reply,
        context: Option<&str>,
    ) {
        let model = reply.model.as_ref().map(|model| model.name.as_str()).filter(|name| {
            let is_agent = agent.is_some_and(|agent| agent.eq_ignore_ascii_case(name));
            !name.is_empty() && !is_agent
        });
        let now: Vec<&str> = agent.into_iter().chain(model).chain(context).collect();
        let now = now.join(", ");
        if !now.is_empty() && speaker.as_deref() != Some(&now) {
            self.section(&now);
            *speaker = Some(now);
        }
    }

    fn answer(&mut self, entry: &Arc<Entry>) {
        match &entry.body {
            Body::Reply(reply) => {
                self.reply(entry, reply);
                let about = self.about;
                let started = about.sub_agents.iter().filter(|one| one.entry.as_ref() == Some(&entry.id));
                started.for_each(|one| self.note(&sub_agent_line(one, about, self.look)));
            }
            Body::ToolResult(result) if self.results.contains_key(&result.call) => {}
            Body::Shell(shell) => {
                let end = match (shell.cancelled, shell.exit_code) {
                    (true, _) => "cancelled by you".to_owned(),
                    (false, Some(code)) if code != 0 => format!("by you, exit {code}"),
                    (false, _) => "by you".to_owned(),
                };
                let row = LedgerRow { verb: "shell".to_owned(), target: shell.command.clone() };
                self.ledger(&row, &end, Ink::Faint);
            }
            Body::Interrupted(why) => self.interrupted(*why),
            Body::Compaction(compaction) => {
                let tokens = usize::try_from(compaction.tokens_before).unwrap_or(0);
                self.section(&format!("Compacted: {} tokens became this summary", grouped(tokens)));
                self.paragraph(&compaction.summary);
            }
            Body::BranchSummary(summary) => {
                self.section("Summary of the branch that was left");
                self.paragraph(&summary.summary);
            }
            Body::Merge(merge) => {
                self.section(&format!("Merged from {}", self.about.short_ids.get(&merge.from)));
                self.paragraph(merge.summary.as_deref().unwrap_or_default());
            }
            Body::CustomMessage(message) => {
                if message.display {
                    self.section(&format!("[{}]", message.kind));
                    self.paragraph(&text_of(&message.blocks));
                }
            }
            Body::Cleared => self.note(words::CONTEXT_CLEARED),
            Body::Prompt(_)
            | Body::ToolResult(_)
            | Body::Setting(_)
            | Body::System(_)
            | Body::ContextEdit(_)
            | Body::Foreign(_) => {
                let line = self.about.lines.line(entry);
                self.note(&line);
            }
            Body::Note(_) => {}
        }
    }

    fn reply(&mut self, entry: &Arc<Entry>, reply: &Reply) {
        for block in &reply.blocks {
            match block {
                Block::Text(words) => self.paragraph(words),
                Block::ToolUse(call) => self.call(entry, call),
                Block::Image { media_type, .. } => self.note(&format!("[image: {media_type}]")),
                Block::Other { kind } => self.note(&format!("[{kind}]")),
                Block::Thinking(_) => {}
            }
        }
        match &reply.stop {
            Some(Stop::Aborted) => self.interrupted(Interruption::Wanted),
            Some(Stop::Error(error)) => {
                let sign = self.look.sign(Sign::Error);
                self.lines("  ", &format!("{sign} error: {}", error.trim()), Ink::Error);
            }
            Some(Stop::Length) => self.note("cut off: the answer was too long"),
            Some(Stop::EndTurn | Stop::ToolUse | Stop::Other(_)) | None => {}
        }
    }

    fn call(&mut self, entry: &Arc<Entry>, call: &ToolUse) {
        let (end, ink) = match self.results.get(&call.id) {
            None => (self.without_result.to_owned(), Ink::Faint),
            Some((_, result)) if result.failed => ("failed".to_owned(), Ink::Error),
            Some((answered, result)) => {
                let lines = text_of(&result.blocks).trim_end().lines().count();
                let took = lasted(answered.written_at.duration_since(entry.written_at));
                let lines = (lines > 0).then(|| counted(lines, "line", "lines"));
                (lines.into_iter().chain(took).collect::<Vec<_>>().join("  "), Ink::Faint)
            }
        };
        let changed = self.results.get(&call.id).and_then(|(_, result)| result.changed_input.as_deref());
        match changed {
            None => self.ledger(&ledger_row(call), &end, ink),
            Some(input) => {
                let given = ToolUse { input: input.clone(), ..call.clone() };
                self.ledger(&ledger_row(call), words::CHANGED_BY_YOU, Ink::Faint);
                self.ledger(&ledger_row(&given), &end, ink);
            }
        }
    }

    /// `  edit   src/bucket.rs                    failed`
    fn ledger(&mut self, row: &LedgerRow, end: &str, ink: Ink) {
        let look = self.look;
        let mut left = Painted::default();
        let verb = text::padded(&text::harmless_line(&row.verb, look.ascii), VERB_COLUMNS);
        left.push(look, Ink::Faint, &format!("  {verb} "));
        let in_project = self.project.and_then(|project| row.target.strip_prefix(project)?.strip_prefix('/'));
        let mut target = text::harmless_line(in_project.unwrap_or(&row.target), look.ascii);
        if let Some(width) = look.width {
            let room = width.saturating_sub(left.columns + text::width(end) + 2);
            target = text::cut_middle(&target, room, look.sign(Sign::Cut));
        }
        left.push(look, Ink::Plain, &target);
        let mut right = Painted::default();
        right.push(look, ink, end);
        self.text.push_str(&spread(&left, &right, look));
        self.above = Above::Row;
    }

    fn interrupted(&mut self, why: Interruption) {
        let sign = self.look.sign(Sign::Interrupted);
        self.note(&format!("{sign} {}", words::interrupted(why)));
    }

    fn note(&mut self, words: &str) {
        self.lines("  ", words, Ink::Faint);
    }

    /// A line that says what the lines after it are.
    fn section(&mut self, words: &str) {
        if self.above != Above::Nothing {
            self.text.push('\n');
        }
        self.note(words);
        self.above = Above::Heading;
    }

    fn paragraph(&mut self, words: &str) {
        if words.trim().is_empty() {
            return;
        }
        if self.above == Above::Paragraph {
            self.text.push('\n');
        }
        self.lines("  ", words, Ink::Plain);
        self.above = Above::Paragraph;
    }

    fn lines(&mut self, indent: &str, words: &str, ink: Ink) {
        let room = self.look.width.map(|width| width.saturating_sub(indent.len()).max(10));
        for line in text::harmless_lines(words, self.look.ascii) {
            for piece in text::wrapped(&line, room) {
                let line = format!("{indent}{}", self.look.paint(ink, &piece));
                self.text.push_str(line.trim_end());
                self.text.push('\n');
            }
        }
        self.above = Above::Row;
    }
}
