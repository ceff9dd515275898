//! A branch of another program as a session of pi.

use offshoot_session::context::Edits;
use offshoot_session::{
    Block, Body, BranchSummary, Compaction, CustomMessage, Entry, EntryId, Fact, FileLists, Prompt, Record,
    Reply, SessionHeader, SessionTree, Stop, TitleSource, ToolResult,
};

use super::sources::is_held_by_pi;
use super::write::{write, write_branch};
use crate::carry::{Carried, Rules, Step, carried};
use crate::json::rfc3339;
use crate::{Destination, HandedOver, Report, Target};

/// Of a session that pi held, every line goes back as it was; what another program held is translated.
pub fn hand_over(tree: &SessionTree, leaf: &EntryId, to: &Destination) -> HandedOver {
    let mut header = SessionHeader::new(to.id.clone(), to.opened_at);
    header.project = Some(to.project.clone());
    header.lineage = to.lineage.clone();
    let path = tree.path_to(Some(leaf));
    if is_held_by_pi(tree, &path) {
        let written = write_branch(tree, leaf, header);
        let prompts = path.iter().filter(|entry| entry.body.is_prompt()).count();
        let report = Report { left_out: written.lost, prompts: prompts as u64, ..Report::default() };
        return HandedOver { bytes: written.bytes, report };
    }
    let agent = tree.header().and_then(|header| header.agent.as_deref());
    let edits = Edits::of(path.iter().copied());
    let edited = edits.replaced(&path);
    let rules = Rules { target: Target::Pi, is_own: &|_| false, agent, edits: &edits };
    let Carried { steps, report } = carried(&edited.iter().collect::<Vec<_>>(), &rules);
    let mut chain = Chain { records: vec![Record::opened(header)], tip: None };
    for step in steps {
        chain.step(step);
    }
    if let Some(title) = tree.title() {
        let at = path.last().map_or(to.opened_at, |entry| entry.written_at);
        let fact = Fact::Title { title: Some(title.to_owned()), source: TitleSource::User };
        chain.records.push(Record::marked(at, fact));
    }
    HandedOver { bytes: write(&chain.records).bytes, report }
}

/// Where it lies in `sessions`: a folder for the project, and in the name the time and the session.
pub fn file_name(to: &Destination) -> String {
    let project = to.project.strip_prefix(['/', '\\']).unwrap_or(&to.project);
    let project = project.replace(['/', '\\', ':'], "-");
    let time = rfc3339(to.opened_at).replace([':', '.'], "-");
    format!("--{project}--/{time}_{}.jsonl", to.id)
}

/// Entries one below the other.
struct Chain {
    records: Vec<Record>,
    tip: Option<EntryId>,
}

impl Chain {
    fn step(&mut self, step: Step<'_>) {
        match step {
            Step::Prompt { entry, blocks } => {
                self.add(entry, Body::Prompt(Prompt { blocks, ..Prompt::default() }));
            }
            Step::Aside { entry, blocks } => match &entry.body {
                Body::CustomMessage(message) => {
                    self.add(entry, Body::CustomMessage(CustomMessage { blocks, ..message.clone() }));
                }
                Body::BranchSummary(summary) => {
                    self.add(entry, Body::BranchSummary(BranchSummary { usage: None, ..summary.clone() }));
                }
                body => self.add(entry, body.clone()),
            },
            Step::Exchange(exchange) => {
                let calls_tools = !exchange.answers.is_empty();
                let blocks: Vec<Block> = in_order(exchange.said.iter().flat_map(|said| &said.blocks));
                let last = exchange.said.last().map(|said| said.entry);
                if let Some((entry, Body::Reply(reply))) = last.map(|entry| (entry, &entry.body)) {
                    let stop = if calls_tools { Some(Stop::ToolUse) } else { Some(Stop::EndTurn) };
                    // What it cost is told by the session it came from, and shall not be counted twice.
                    self.add(entry, Body::Reply(Reply { blocks, stop, usage: None, ..reply.clone() }));
                }
                for answer in exchange.answers {
                    let (call, tool) = (answer.call, answer.tool);
                    let result = ToolResult { call, tool, usage: None, ..answer.result.clone() };
                    self.add(answer.entry, Body::ToolResult(result));
                }
            }
            Step::Compaction { entry, tokens_before, .. } => {
                let summary = entry.body.text();
                self.add(
                    entry,
                    Body::Compaction(Compaction {
                        summary,
                        first_kept: None, // what it kept stands behind it
                        tokens_before,
                        files: FileLists::default(),
                        details: None,
                        from_extension: false,
                        usage: None,
                        system: None,
                    }),
                );
            }
            Step::Interrupted(entry) | Step::Beside(entry) => self.add(entry, entry.body.clone()),
        }
    }

    fn add(&mut self, entry: &Entry, body: Body) {
        let parent = self.tip.replace(entry.id.clone());
        self.records.push(Record::entry(Entry {
            id: entry.id.clone(),
            parent,
            written_at: entry.written_at,
            turn: None,
            body,
        }));
    }
}

/// One message: words first, calls behind them.
fn in_order<'b>(blocks: impl Iterator<Item = &'b Block>) -> Vec<Block> {
    let (calls, mut words): (Vec<Block>, Vec<Block>) =
        blocks.cloned().partition(|block| matches!(block, Block::ToolUse(_)));
    words.extend(calls);
    words
}
