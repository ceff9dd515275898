//! From the lines of a file to drafts, and what they say together: the header, and what a line must know of others.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, BranchReason, EntryId, Lineage, Odd, Oddity, RawLine, SessionHeader, SessionId, ToolCallId,
};

use super::chain::Passes;
use super::draft::{Asides, Compacted, Draft, ParentField, What};
use super::message::shell_output;
use super::records::records;
use super::subagents::{AgentFile, Starts, agent_in_file_name, session_in_path, stem};
use crate::ids::{fresh_id, is_uuid};
use crate::lines::{Content, Line, Sources, Watched, lines};
use crate::noted::oddities_of_line;
use crate::{Dialect, Transcript};

const AGENT: &str = "claude-code";

/// Reads a file of a session or of a sub-agent, whatever state it is in.
pub fn read<'b>(file_name: Option<&str>, bytes: impl Into<Watched<'b>>) -> Transcript {
    read_with_agents(file_name, bytes, &[])
}

/// Reads a session and the sub-agents whose files lie beside it into one tree. The sources of the records are the
/// files one after the other, and lines are counted through all of them.
pub fn read_with_agents<'b>(
    file_name: Option<&str>,
    bytes: impl Into<Watched<'b>>,
    agents: &[AgentFile<'_>],
) -> Transcript {
    let mut reading = Reading::keeping(Sources::Kept);
    lines(bytes).for_each(|line| reading.take(line));
    for agent in agents {
        reading.begin_agent(agent.name, agent.meta);
        lines(agent.bytes).for_each(|line| reading.take(line));
    }
    reading.finish(file_name)
}

/// A session that is read line by line, and then the sub-agents beside it.
pub(crate) struct Reading {
    file: File,
    sources: Sources,
    /// How many lines are the session's own, once a sub-agent has begun.
    own: Option<usize>,
    agent: Option<String>,
}

impl Reading {
    pub(crate) fn keeping(sources: Sources) -> Self {
        Self { file: File::default(), sources, own: None, agent: None }
    }

    /// The lines that follow are of a sub-agent.
    pub(crate) fn begin_agent(&mut self, name: &str, meta: Option<&[u8]>) {
        let id = agent_in_file_name(name).unwrap_or(name);
        if let Some(meta) = meta {
            self.file.starts.take_meta(id, meta);
        }
        self.own.get_or_insert(self.file.pieces.len());
        self.agent = Some(id.to_owned());
    }

    /// The lines that follow stand behind so many.
    pub(super) fn begin_behind(&mut self, lines: usize) {
        self.file.left_out = lines.saturating_sub(self.file.pieces.len()) as u64;
    }

    pub(crate) fn take(&mut self, line: Line) {
        self.file.take(line, self.agent.as_deref(), &self.sources);
    }

    pub(crate) fn finish(self, file_name: Option<&str>) -> Transcript {
        let Self { mut file, own, .. } = self;
        let header = file.header(file_name, own.unwrap_or(file.pieces.len()));
        let unknown_types = std::mem::take(&mut file.unknown_types);
        let (records, oddities) = records(file, header);
        Transcript { dialect: Dialect::ClaudeCode, records, oddities, unknown_types }
    }
}

/// A line and what it says by itself.
pub(super) struct Piece {
    pub(super) line: u64,
    pub(super) raw: RawLine,
    /// In a box, so that each goes when its record is made.
    pub(super) draft: Option<Box<Draft>>,
    /// From a file of a sub-agent that lies beside the session.
    pub(super) is_beside: bool,
}

/// All lines, and what has to be known before the first of them can be understood.
#[derive(Default)]
pub(super) struct File {
    pub(super) pieces: Vec<Piece>,
    /// Lines that are not among the pieces.
    left_out: u64,
    pub(super) oddities: Vec<Oddity>,
    unknown_types: BTreeMap<String, u64>,
    /// The session that the last line names: most lines name the same, and share its name.
    session: Option<Arc<str>>,
    project: Option<String>,
    forked_from: Option<(String, Option<EntryId>)>,
    /// Where each entry stands among the pieces; the first one counts.
    pub(super) places: HashMap<EntryId, usize>,
    pub(super) sidechains: HashSet<EntryId>,
    pub(super) passes: Passes,
    pub(super) starts: Starts,
    pub(super) tools: HashMap<ToolCallId, String>,
    /// The last line of each message that counts tokens: all lines repeat the same count.
    pub(super) counted_at: HashMap<Arc<str>, usize>,
    pub(super) compacted: HashMap<EntryId, Compacted>,
    pub(super) shells: HashSet<EntryId>,
    /// The output of a command by the entry of the command, and where it stands.
    pub(super) outputs: HashMap<EntryId, (usize, String)>,
}

impl File {
    fn take(&mut self, line: Line, agent: Option<&str>, sources: &Sources) {
        let number = self.left_out + self.pieces.len() as u64 + 1;
        self.oddities.extend(oddities_of_line(&line, number));
        let draft = match line.content {
            Content::Object(map) => Some((Draft::new(&map), Asides::of(&map))),
            Content::Blank | Content::Unreadable(_) | Content::Torn => None,
        };
        let draft = draft.map(|(draft, asides)| {
            let mut draft = match agent {
                Some(agent) => beside(draft, agent),
                None => draft,
            };
            self.look_at(number, &draft, &asides);
            self.share_names(&mut draft);
            if agent.is_none() {
                self.project = self.project.take().or(asides.project);
                self.forked_from = asides.forked_from.or(self.forked_from.take());
            }
            draft
        });
        let raw = sources.of(line.raw, self.pieces.is_empty());
        self.pieces.push(Piece { line: number, raw, draft: draft.map(Box::new), is_beside: agent.is_some() });
    }

    /// A name that stands in several lines is kept once.
    fn share_names(&mut self, draft: &mut Draft) {
        if let ParentField::Of(parent) = &mut draft.parent
            && let Some((known, _)) = self.places.get_key_value(parent)
        {
            *parent = known.clone();
        }
        if let What::Entry { body: Body::ToolResult(result), .. } = &mut draft.what
            && let Some((known, _)) = self.tools.get_key_value(&result.call)
        {
            result.call = known.clone();
        }
        if draft.session == self.session {
            draft.session.clone_from(&self.session);
        } else {
            self.session.clone_from(&draft.session);
        }
    }

    fn look_at(&mut self, line: u64, draft: &Draft, asides: &Asides) {
        if matches!(draft.what, What::Nameless) {
            let reason = "an object without a type".to_owned();
            self.oddities.push(Oddity::at_line(line, Odd::UnreadableLine(reason)));
        }
        if let Some(kind) = &asides.unknown_type {
            let count = self.unknown_types.entry(kind.clone()).or_default();
            *count += 1;
            if *count == 1 {
                self.oddities.push(Oddity::at_line(line, Odd::UnknownType(kind.clone())));
            }
        }
        let Some(id) = &draft.id else { return };
        let parent = match &draft.parent {
            ParentField::Of(parent) => Some(parent),
            ParentField::Root | ParentField::Absent => None,
        };
        let What::Entry { results, body } = &draft.what else {
            self.passes.add(id.clone(), parent.cloned());
            return;
        };
        let at = self.pieces.len();
        if *self.places.entry(id.clone()).or_insert(at) != at {
            return; // the first one counts
        }
        if draft.is_sidechain {
            self.sidechains.insert(id.clone());
        }
        if let Some(compacted) = &asides.compacted {
            self.compacted.insert(id.clone(), compacted.clone());
        }
        if let (Some(agent), Some(call)) = (&asides.started_agent, first_call(body)) {
            self.starts.take_answer(call, agent);
        }
        match body {
            Body::Reply(reply) => {
                for call in reply.tool_uses() {
                    self.tools.entry(call.id.clone()).or_insert_with(|| call.name.clone());
                }
                self.starts.take_reply(id, reply);
                if let (Some(message), Some(_)) = (&draft.message, reply.usage) {
                    self.counted_at.insert(message.clone(), at);
                }
            }
            Body::Shell(_) => {
                self.shells.insert(id.clone());
            }
            _ => {
                if let (Some(parent), Some(output), []) = (parent, shell_output(body), results.as_slice()) {
                    self.outputs.entry(parent.clone()).or_insert((at, output));
                }
            }
        }
    }

    /// The format has no header: what it would say stands on every line.
    fn header(&self, file_name: Option<&str>, own: usize) -> SessionHeader {
        let pieces = self.pieces.get(..own).unwrap_or_default();
        let drafts = || pieces.iter().filter_map(|piece| piece.draft.as_deref());
        let entries = || drafts().filter(|draft| draft.is_entry());
        let stated = entries().chain(drafts()).find_map(|draft| draft.session.as_deref());
        let stem = file_name.and_then(stem);
        let is_of_agent = entries().next().is_some() && entries().all(|draft| draft.is_sidechain);
        let agent = || entries().find_map(|draft| draft.agent.as_ref()).map(|agent| format!("agent-{agent}"));
        let name = if is_of_agent {
            agent().or(stem.or(stated).map(str::to_owned))
        } else {
            // files of sessions are called by their ids; any other name was given by somebody else
            stem.filter(|stem| is_uuid(stem)).or(stated).or(stem).map(str::to_owned)
        };
        let id = name.unwrap_or_else(|| {
            let seed = pieces.first().map_or(&b""[..], |piece| piece.raw.content());
            fresh_id(&[seed], &mut HashSet::new()).to_string()
        });
        let lineage = if is_of_agent {
            let session = file_name.and_then(session_in_path).or(stated).filter(|session| *session != id);
            session.map(|session| lineage(session, None, Some(BranchReason::Other("subagent".to_owned()))))
        } else if let Some((session, at)) = &self.forked_from {
            Some(lineage(session, at.clone(), Some(BranchReason::Fork)))
        } else {
            let older = stated.filter(|session| *session != id);
            older.map(|older| {
                let copied = entries().filter(|draft| draft.session.as_deref() == Some(older));
                lineage(older, copied.filter_map(|draft| draft.id.clone()).next_back(), None)
            })
        };
        let opened_at = drafts().find_map(|draft| draft.written_at).unwrap_or(Timestamp::UNIX_EPOCH);
        SessionHeader {
            project: self.project.clone(),
            agent: Some(AGENT.to_owned()),
            lineage,
            ..SessionHeader::new(SessionId::from(id), opened_at)
        }
    }

    pub(super) fn repaired(&mut self, line: u64, what: &str) {
        self.oddities.push(Oddity::at_line(line, Odd::Repaired(what.to_owned())));
    }
}

/// Whatever stands in the file of a sub-agent is its own, and says nothing about the session.
fn beside(draft: Draft, agent: &str) -> Draft {
    let what = match draft.what {
        What::Entry { .. } | What::Pass | What::Nameless => draft.what,
        What::Fact(_)
        | What::Summary { .. }
        | What::Leaf(_)
        | What::Setting(_)
        | What::CostSoFar(_)
        | What::Silent => What::Silent,
    };
    let agent = draft.agent.or_else(|| Some(agent.to_owned()));
    Draft { what, is_sidechain: true, agent, ..draft }
}

fn first_call(body: &Body) -> Option<&ToolCallId> {
    if let Body::ToolResult(result) = body { Some(&result.call) } else { None }
}

fn lineage(parent: &str, at: Option<EntryId>, reason: Option<BranchReason>) -> Lineage {
    Lineage { parent: parent.to_owned(), at, message_index: None, reason, metadata: None }
}

/// The words a sub-agent was started with.
pub(super) fn task_of(body: &Body) -> Option<&str> {
    match body {
        Body::Prompt(prompt) => prompt.blocks.iter().find_map(|block| match block {
            Block::Text(words) => Some(words.as_str()),
            Block::Thinking(_) | Block::Image { .. } | Block::ToolUse(_) | Block::Other { .. } => None,
        }),
        _ => None,
    }
}
