//! From a path to steps.

use std::collections::HashSet;
use std::sync::Arc;

use offshoot_session::context::{Edits, Message};
use offshoot_session::render::for_model;
use offshoot_session::{
    Block, Body, Compaction, CustomMessage, Entry, EntryId, ImageData, Reply, ToolCallId, ToolUse,
};

use super::pairs::Pairs;
use super::report::{Counting, Fate};
use super::tools::translated;
use super::words::told;
use super::{Answer, Carried, Exchange, Said, Step, Target};
use crate::Loss;
use crate::ids::fresh_id;

/// How a branch is carried.
pub(crate) struct Rules<'r> {
    pub(crate) target: Target,
    /// Whether an entry was read from a line of the target.
    pub(crate) is_own: &'r dyn Fn(&Entry) -> bool,
    /// The program it was held with.
    pub(crate) agent: Option<&'r str>,
    /// Context edits on the path; what they replace is replaced in it already.
    pub(crate) edits: &'r Edits<'r>,
}

/// What Claude Code puts beside the words of a person because the person asked for it; all else that it does not show
/// is about itself.
const ATTACHED_BY_A_PERSON: &[&str] = &["directory", "file", "selected_lines_in_ide"];

/// The longest id of a call that every provider takes.
const LONGEST_CALL: usize = 64;

pub(crate) fn carried<'t>(path: &[&'t Arc<Entry>], rules: &Rules<'_>) -> Carried<'t> {
    let order = order_of(path, rules);
    let mut walk = Walk {
        path,
        rules,
        pairs: Pairs::of(path, |at| order.speaks.contains(&at)),
        open: Exchange::default(),
        has_results: false,
        behind: Vec::new(),
        taken: HashSet::new(),
        steps: Vec::new(),
        counting: Counting::default(),
    };
    if let Some(forgotten) = order.forgotten {
        walk.counting.left_out(Loss::Forgotten, &forgotten);
    }
    for at in order.places {
        if let Some(entry) = path.get(at) {
            walk.take(at, entry);
        }
    }
    walk.close();
    Carried { steps: walk.steps, report: walk.counting.into_report() }
}

struct Order {
    places: Vec<usize>,
    speaks: HashSet<usize>,
    forgotten: Option<EntryId>,
}

/// Which entries come, and when. A compaction stands before the first message that it kept, so that a reader who
/// takes all behind a summary takes just what the model reads.
///
/// ```text
///   u1 - a1 - u2 - a2 - k - u3     k keeps u2
///   u1 - a1 - k - u2 - a2 - u3
/// ```
fn order_of(path: &[&Arc<Entry>], rules: &Rules<'_>) -> Order {
    let cleared = path.iter().rposition(|entry| matches!(entry.body, Body::Cleared));
    let floor = cleared.map_or(0, |at| at + 1);
    let forgotten = path.first().filter(|_| floor > 1).map(|entry| entry.id.clone());
    let is_failed =
        |entry: &Entry| matches!(&entry.body, Body::Reply(reply) if reply.failed()) && !(rules.is_own)(entry);
    let is_silent = |entry: &Entry| is_failed(entry) || rules.edits.omits(&entry.id);
    let compactions: Vec<usize> = (floor..path.len())
        .filter(|at| path.get(*at).is_some_and(|entry| compaction_of(entry).is_some()))
        .collect();
    let mut places: Vec<usize> = (floor..path.len()).collect();
    if let Some(last) = compactions.last().copied()
        && let Some(entry) = path.get(last).filter(|entry| !(rules.is_own)(entry))
    {
        let kept = compaction_of(entry).and_then(|compaction| compaction.first_kept.as_ref());
        let start = (floor..last).find(|at| path.get(*at).map(|entry| &entry.id) == kept).unwrap_or(last);
        // An earlier one has nothing more to say: the last has taken up its summary.
        places.retain(|at| !compactions.contains(at) || *at < start);
        let before = places.partition_point(|at| *at < start);
        places.insert(before, last);
    }
    let speaks =
        places.iter().copied().filter(|at| path.get(*at).is_some_and(|entry| !is_silent(entry))).collect();
    Order { places, speaks, forgotten }
}

fn compaction_of(entry: &Entry) -> Option<&Compaction> {
    if let Body::Compaction(compaction) = &entry.body { Some(compaction) } else { None }
}

struct Walk<'t, 'r> {
    path: &'r [&'t Arc<Entry>],
    rules: &'r Rules<'r>,
    pairs: Pairs,
    open: Exchange<'t>,
    /// Results have come, so the next reply is another exchange.
    has_results: bool,
    /// What stands between a call and its result, where nothing may stand.
    behind: Vec<Step<'t>>,
    taken: HashSet<String>,
    steps: Vec<Step<'t>>,
    counting: Counting,
}

impl<'t> Walk<'t, '_> {
    fn take(&mut self, at: usize, entry: &'t Arc<Entry>) {
        if self.rules.edits.omits(&entry.id) {
            return; // counted at the edit
        }
        let is_own = (self.rules.is_own)(entry);
        match &entry.body {
            Body::ContextEdit(_) => self.counting.left_out(Loss::ContextEdits, &entry.id),
            Body::Reply(reply) => self.reply(at, entry, reply, is_own),
            Body::ToolResult(_) if self.pairs.is_answer(at) => self.has_results = true,
            Body::ToolResult(_) => self.counting.left_out(Loss::ResultsWithoutCall, &entry.id),
            Body::Prompt(prompt) => {
                self.close();
                self.counting.prompt();
                let blocks = self.words(&entry.id, &prompt.blocks);
                self.steps.push(Step::Prompt { entry, blocks });
            }
            Body::Compaction(compaction) => {
                self.close();
                let summary = text_for_model(entry).unwrap_or_else(|| compaction.summary.clone());
                self.steps.push(Step::Compaction { entry, summary, tokens_before: compaction.tokens_before });
            }
            Body::Interrupted(_) => {
                self.close();
                self.steps.push(Step::Interrupted(entry));
            }
            Body::CustomMessage(message) if !is_own && self.is_about_itself(message) => {
                self.counting.left_out(Loss::Instructions, &entry.id);
            }
            Body::Shell(shell) if shell.private && !is_own => {
                self.counting.left_out(Loss::PrivateCommands, &entry.id);
            }
            Body::CustomMessage(_) | Body::Shell(_) | Body::BranchSummary(_) | Body::Merge(_) => {
                self.aside(entry, is_own);
            }
            Body::Setting(_) | Body::Note(_) | Body::System(_) | Body::Cleared | Body::Foreign(_)
                if is_own =>
            {
                self.beside(Step::Beside(entry));
            }
            Body::System(_) => self.counting.left_out(Loss::Instructions, &entry.id),
            Body::Setting(_) if self.rules.agent == Some(self.rules.target.agent()) => {}
            Body::Setting(_) => self.counting.left_out(Loss::OtherSettings, &entry.id),
            Body::Note(_) | Body::Foreign(_) => self.counting.left_out(Loss::Notes, &entry.id),
            Body::Cleared => {}
        }
    }

    fn reply(&mut self, at: usize, entry: &'t Arc<Entry>, reply: &'t Reply, is_own: bool) {
        if reply.failed() && !is_own {
            self.counting.left_out(Loss::FailedReplies, &entry.id);
            return;
        }
        if self.has_results {
            self.close();
        }
        let mut said = Said { entry, blocks: Vec::new(), is_untouched: is_own };
        let mut calls = Vec::new();
        let mut nth = 0;
        for block in &reply.blocks {
            match block {
                Block::ToolUse(call) => {
                    let answer = self.pairs.answer(at, nth).and_then(|at| self.path.get(at).copied());
                    nth += 1;
                    match self.call(call, answer, is_own, &mut said) {
                        Some(Block::ToolUse(call)) => calls.push(Block::ToolUse(call)),
                        Some(words) => said.blocks.push(words),
                        None => {}
                    }
                }
                Block::Thinking(words) if words.trim().is_empty() => {}
                Block::Thinking(_) if !is_own && self.rules.target != Target::Pi => {
                    self.counting.left_out(Loss::Thinking, &entry.id);
                }
                Block::Text(words) if words.trim().is_empty() => {}
                Block::Text(_) | Block::Thinking(_) => said.blocks.push(block.clone()),
                Block::Image { .. } => said.blocks.extend(self.words(&entry.id, std::slice::from_ref(block))),
                Block::Other { .. } => {}
            }
        }
        said.blocks.append(&mut calls);
        if !said.blocks.is_empty() || said.is_untouched {
            self.open.said.push(said);
        }
    }

    /// The call in the target's words, its answer put beside it.
    fn call(
        &mut self,
        call: &'t ToolUse,
        answer: Option<&'t Arc<Entry>>,
        is_own: bool,
        said: &mut Said<'t>,
    ) -> Option<Block> {
        let Some((answer, Body::ToolResult(result))) = answer.map(|answer| (answer, &answer.body)) else {
            self.counting.left_out(Loss::UnansweredCalls, &said.entry.id);
            said.is_untouched = false;
            return None;
        };
        let (made, fate) = match is_own {
            true => (call.clone(), Fate::Kept),
            false => match translated(call, self.rules.target) {
                Some(translated) => translated,
                None => {
                    self.counting.tool(&call.name, Fate::Summarised);
                    return Some(told(call, result));
                }
            },
        };
        self.counting.tool(&call.name, fate);
        let id = self.fit_id(&call.id);
        let is_untouched = id == call.id && (self.rules.is_own)(answer);
        said.is_untouched &= id == call.id;
        self.open.answers.push(Answer {
            entry: answer,
            call: id.clone(),
            tool: made.name.clone(),
            result,
            is_untouched,
        });
        Some(Block::ToolUse(ToolUse { id, ..made }))
    }

    /// Providers want ids of certain letters, each used once.
    fn fit_id(&mut self, id: &ToolCallId) -> ToolCallId {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let text = id.as_str();
        let is_taken = self.taken.contains(text);
        if !text.is_empty() && text.len() <= LONGEST_CALL && text.bytes().all(is_fit) && !is_taken {
            self.taken.insert(text.to_owned());
            return id.clone();
        }
        let count = self.taken.len().to_le_bytes();
        let made = format!("call_{}", fresh_id(&[text.as_bytes(), &count], &mut HashSet::new()));
        self.taken.insert(made.clone());
        made.into()
    }

    fn aside(&mut self, entry: &'t Arc<Entry>, is_own: bool) {
        let message = Message::from_entry(entry).map(|message| for_model(&[message]));
        let blocks = message.into_iter().flatten().flat_map(|message| message.blocks).collect::<Vec<_>>();
        let blocks = self.words(&entry.id, &blocks);
        if !blocks.is_empty() || is_own {
            self.beside(Step::Aside { entry, blocks });
        }
    }

    /// Behind an exchange that may still get its results.
    fn beside(&mut self, step: Step<'t>) {
        if self.open.said.is_empty() { self.steps.push(step) } else { self.behind.push(step) }
    }

    fn close(&mut self) {
        let mut exchange = std::mem::take(&mut self.open);
        if exchange.said.iter().any(|said| !said.is_untouched) {
            exchange.said = words_then_calls(exchange.said);
        }
        self.has_results = false;
        // Thoughts alone are no message; what they led to was left out.
        if exchange.said.iter().any(says_something) {
            self.steps.push(Step::Exchange(exchange));
        }
        self.steps.append(&mut self.behind);
    }

    /// Text, and images that are here.
    fn words(&mut self, entry: &EntryId, blocks: &[Block]) -> Vec<Block> {
        let mut words = Vec::new();
        for block in blocks {
            match block {
                Block::Text(text) if text.is_empty() => {}
                Block::Text(_) | Block::Image { data: ImageData::Inline(_), .. } => words.push(block.clone()),
                Block::Image { data: ImageData::Blob(_), .. } => self.counting.left_out(Loss::Images, entry),
                Block::Thinking(_) | Block::ToolUse(_) | Block::Other { .. } => {}
            }
        }
        words
    }

    fn is_about_itself(&self, message: &CustomMessage) -> bool {
        let is_of_claude = self.rules.agent == Some("claude-code");
        is_of_claude && !message.display && !ATTACHED_BY_A_PERSON.contains(&message.kind.as_str())
    }
}

/// Nothing may stand between a call and its result.
fn words_then_calls<'t>(said: Vec<Said<'t>>) -> Vec<Said<'t>> {
    let is_call = |block: &Block| matches!(block, Block::ToolUse(_));
    let (mut words, mut calls) = (Vec::new(), Vec::new());
    for said in said {
        let has_calls = said.blocks.iter().any(is_call);
        if said.is_untouched || !has_calls {
            if has_calls {
                calls.push(said)
            } else {
                words.push(said)
            }
            continue;
        }
        let Said { entry, blocks, is_untouched } = said;
        let (called, spoken): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(is_call);
        if !spoken.is_empty() {
            words.push(Said { entry, blocks: spoken, is_untouched });
        }
        calls.push(Said { entry, blocks: called, is_untouched });
    }
    words.append(&mut calls);
    words
}

fn says_something(said: &Said<'_>) -> bool {
    said.blocks.iter().any(|block| !matches!(block, Block::Thinking(_)))
}

fn text_for_model(entry: &Arc<Entry>) -> Option<String> {
    let message = Message::from_entry(entry)?;
    for_model(&[message]).first().map(|message| message.text())
}
