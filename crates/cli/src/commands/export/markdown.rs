//! One branch to read: title, turns, replies, and tools as lists with their short results.

use std::collections::HashMap;

use offshoot_session::outline::{Lines, Turn, ledger_row, one_line, turns_of};
use offshoot_session::wrappers::readable;
use offshoot_session::{
    Block, Body, Entry, EntryId, Interruption, Reply, SessionTree, Stop, ToolCallId, ToolResult, ToolUse,
    text_of,
};

use super::plain::{code, fenced, markdown, one_line as plain_line};
use crate::commands::title_or_prompt;
use crate::numbers::{counted, grouped};
use crate::text::{cut, harmless_line, harmless_lines};
use crate::words;

/// A longer result is counted, not shown.
const SHORT_LINES: usize = 12;
const SHORT_BYTES: usize = 2_000;

/// A longer prompt does not fit into a heading; it stands below it.
const HEADING: usize = 100;

pub(super) fn written(tree: &SessionTree, at: Option<&EntryId>) -> String {
    let mut page = Page { lines: Lines::of(tree), text: String::new() };
    page.title(tree);
    let turns = turns_of(tree, at);
    if turns.is_empty() {
        page.paragraph(words::NOTHING_SAID);
    }
    for turn in &turns {
        page.turn(tree, turn);
    }
    page.text
}

struct Page<'t> {
    lines: Lines<'t>,
    text: String,
}

impl<'t> Page<'t> {
    fn title(&mut self, tree: &SessionTree) {
        self.text.push_str(&format!("# {}\n\n", plain_line(&title_or_prompt(tree, false, "…"))));
        let Some(header) = tree.header() else { return };
        let mut fact = |name: &str, value: &str| {
            self.text.push_str(&format!("- {name}: {}\n", code(&harmless_line(value, false))));
        };
        fact("session", header.id.as_str());
        if let Some(project) = &header.project {
            fact("project", project);
        }
        if let Some(agent) = &header.agent {
            fact("agent", agent);
        }
        fact("opened", &header.opened_at.to_string());
    }

    fn turn(&mut self, tree: &SessionTree, turn: &Turn<'t>) {
        let mut answers = turn.entries.as_slice();
        if let Some(prompt) = turn.prompt() {
            answers = answers.get(1..).unwrap_or_default();
            self.prompt(tree, turn.number, prompt);
        } else if !answers.iter().any(|entry| is_told(&entry.body)) {
            return;
        }
        let results = results_of(turn);
        for entry in answers {
            self.answer(entry, &results);
        }
    }

    fn prompt(&mut self, tree: &SessionTree, number: usize, prompt: &Entry) {
        let said = one_line(&prompt.body);
        let said = if said.is_empty() { words::EMPTY_PROMPT.to_owned() } else { said };
        let heading = cut(&harmless_line(&said, false), HEADING, "…");
        let label = tree.label(&prompt.id).map(|label| format!(" [{}]", harmless_line(label.trim(), false)));
        let label = plain_line(&label.unwrap_or_default());
        self.text.push_str(&format!("\n## #{number} {}{label}\n", plain_line(&heading)));
        let whole = readable(&prompt.body);
        let is_whole = whole.trim().lines().count() <= 1 && heading == harmless_line(whole.trim(), false);
        if !is_whole && !whole.trim().is_empty() {
            let quoted: String = markdown(&whole)
                .lines()
                .map(|line| format!("> {line}").trim_end().to_owned() + "\n")
                .collect();
            self.text.push_str(&format!("\n{quoted}"));
        }
    }

    fn answer(&mut self, entry: &'t Entry, results: &HashMap<&'t ToolCallId, &'t ToolResult>) {
        match &entry.body {
            Body::Reply(reply) => self.reply(reply, results),
            Body::ToolResult(result) if results.contains_key(&result.call) => {}
            Body::Shell(shell) => {
                self.tool(
                    "shell",
                    &shell.command,
                    shell.exit_code.is_some_and(|code| code != 0),
                    &shell.output,
                );
            }
            Body::Interrupted(why) => self.note(words::interrupted(*why)),
            Body::Compaction(compaction) => {
                let tokens = usize::try_from(compaction.tokens_before).unwrap_or(0);
                self.note(&format!("Compacted: {} tokens became this summary", grouped(tokens)));
                self.paragraph(&compaction.summary);
            }
            Body::BranchSummary(summary) => {
                self.note("Summary of the branch that was left");
                self.paragraph(&summary.summary);
            }
            Body::Merge(merge) => {
                self.note(&format!("Merged from {}", merge.from));
                self.paragraph(merge.summary.as_deref().unwrap_or_default());
            }
            Body::CustomMessage(message) => {
                if message.display {
                    self.note(&message.kind);
                    self.paragraph(&readable(&entry.body));
                }
            }
            Body::Cleared => self.note(words::CONTEXT_CLEARED),
            Body::Setting(_) => {
                let line = self.lines.line(entry);
                self.note(&line);
            }
            Body::Prompt(_)
            | Body::ToolResult(_)
            | Body::System(_)
            | Body::ContextEdit(_)
            | Body::Foreign(_)
            | Body::Note(_) => {}
        }
    }

    fn reply(&mut self, reply: &'t Reply, results: &HashMap<&'t ToolCallId, &'t ToolResult>) {
        for block in &reply.blocks {
            match block {
                Block::Text(words) => self.paragraph(words),
                Block::ToolUse(call) => self.call(call, results.get(&call.id).copied()),
                Block::Image { media_type, .. } => self.note(&format!("image: {media_type}")),
                Block::Thinking(_) | Block::Other { .. } => {}
            }
        }
        match &reply.stop {
            Some(Stop::Aborted) => self.note(words::interrupted(Interruption::Wanted)),
            Some(Stop::Error(error)) => self.note(&format!("error: {}", error.trim())),
            Some(Stop::Length | Stop::EndTurn | Stop::ToolUse | Stop::Other(_)) | None => {}
        }
    }

    fn call(&mut self, call: &ToolUse, result: Option<&ToolResult>) {
        let changed = result.and_then(|result| result.changed_input.as_deref());
        let given = changed.map(|input| ToolUse { input: input.clone(), ..call.clone() });
        let row = ledger_row(given.as_ref().unwrap_or(call));
        let output = result.map(|result| text_of(&result.blocks)).unwrap_or_default();
        self.tool(&row.verb, &row.target, result.is_some_and(|result| result.failed), &output);
    }

    /// A list item; what the tool said stands below it where it is short.
    fn tool(&mut self, verb: &str, target: &str, failed: bool, output: &str) {
        let lines = harmless_lines(output, false);
        let is_short = lines.len() <= SHORT_LINES && output.len() <= SHORT_BYTES;
        let end = match (failed, is_short) {
            (true, _) => ", failed".to_owned(),
            (false, false) => format!(", {}", counted(lines.len(), "line", "lines")),
            (false, true) => String::new(),
        };
        let target = harmless_line(target.trim(), false);
        let target = if target.is_empty() { String::new() } else { format!(" {}", code(&target)) };
        let is_first = !self
            .text
            .trim_end()
            .lines()
            .last()
            .is_some_and(|line| line.starts_with("- ") || line.starts_with("  "));
        let gap = if is_first { "\n" } else { "" };
        self.text.push_str(&format!("{gap}- {}{target}{end}\n", plain_line(&harmless_line(verb, false))));
        if is_short && !output.trim().is_empty() {
            self.text.push_str(&format!("\n{}", fenced("", &lines.join("\n"), "  ")));
        }
    }

    fn note(&mut self, words: &str) {
        let line = plain_line(&harmless_line(words, false)).replace('*', "\\*").replace('_', "\\_");
        self.text.push_str(&format!("\n*{line}*\n"));
    }

    fn paragraph(&mut self, words: &str) {
        if !words.trim().is_empty() {
            self.text.push_str(&format!("\n{}", markdown(words)));
        }
    }
}

/// Settings before the first prompt are no turn for a reader.
fn is_told(body: &Body) -> bool {
    !matches!(
        body,
        Body::Setting(_) | Body::Note(_) | Body::System(_) | Body::ContextEdit(_) | Body::Foreign(_)
    )
}

fn results_of<'t>(turn: &Turn<'t>) -> HashMap<&'t ToolCallId, &'t ToolResult> {
    let results = turn.entries.iter().filter_map(|entry| match &entry.body {
        Body::ToolResult(result) => Some((&result.call, result)),
        _ => None,
    });
    results.collect()
}
