//! Sub-agents: which call started which.
//!
//! What a sub-agent said is a tree of its own. Its root is a note of the kind [`Note::SUB_AGENT`] that is not in the file
//! and says what is known of the start. The note has the same id whether the sub-agent is read from its own file or
//! from that of the session, and it keeps the task of a sub-agent apart from the first words of the person.

use std::collections::{HashMap, VecDeque};

use offshoot_session::{Body, Entry, EntryId, Note, Reply, ToolCallId, ToolUse};
use serde_json::Value;

use super::draft::Draft;
use crate::json::{Map, text};
use crate::lines::{Content, lines};

/// A file that lies beside that of a session: `agent-<id>.jsonl`, and what the program notes down about it in
/// `agent-<id>.meta.json`.
#[derive(Clone, Copy, Debug)]
pub struct AgentFile<'f> {
    pub name: &'f str,
    pub bytes: &'f [u8],
    pub meta: Option<&'f [u8]>,
}

/// What the note above a sub-agent says; each part where it can be known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartedBy {
    pub agent: Option<String>,
    /// The call of a tool that started it.
    pub call: Option<ToolCallId>,
    /// The reply in which the call stands.
    pub entry: Option<EntryId>,
    pub kind: Option<String>,
    pub description: Option<String>,
}

impl StartedBy {
    /// `None` where the entry is no such note.
    pub fn of(entry: &Entry) -> Option<Self> {
        let Body::Note(Note { kind, data: Some(Value::Object(data)) }) = &entry.body else { return None };
        let field = |key: &str| text(data, key).map(str::to_owned);
        (kind == Note::SUB_AGENT).then(|| Self {
            agent: field("agent"),
            call: field("call").map(ToolCallId::from),
            entry: field("entry").map(EntryId::from),
            kind: field("kind"),
            description: field("description"),
        })
    }

    pub(super) fn into_note(self) -> Body {
        let fields = [
            ("agent", self.agent),
            ("call", self.call.map(|call| call.to_string())),
            ("entry", self.entry.map(|entry| entry.to_string())),
            ("kind", self.kind),
            ("description", self.description),
        ];
        let told =
            fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), Value::String(value?))));
        Body::Note(Note { kind: Note::SUB_AGENT.to_owned(), data: Some(Value::Object(told.collect())) })
    }
}

/// Everything a file says about the start of sub-agents.
#[derive(Default)]
pub(super) struct Starts {
    calls: HashMap<ToolCallId, StartedBy>,
    /// Calls that nobody has claimed yet, by the task they give.
    by_task: HashMap<String, VecDeque<ToolCallId>>,
    by_agent: HashMap<String, ToolCallId>,
    by_entry: HashMap<EntryId, Vec<ToolCallId>>,
    metas: HashMap<String, StartedBy>,
}

impl Starts {
    pub(super) fn take_reply(&mut self, entry: &EntryId, reply: &Reply) {
        for call in reply.tool_uses().filter(|call| starts_agents(call)) {
            let field = |key: &str| call.input.get(key).and_then(Value::as_str).map(str::to_owned);
            if let Some(task) = field("prompt") {
                self.by_task.entry(task).or_default().push_back(call.id.clone());
            }
            self.by_entry.entry(entry.clone()).or_default().push(call.id.clone());
            self.calls.entry(call.id.clone()).or_insert_with(|| StartedBy {
                agent: None,
                call: Some(call.id.clone()).filter(|call| !call.as_str().is_empty()),
                entry: Some(entry.clone()),
                kind: field("subagent_type"),
                description: field("description"),
            });
        }
    }

    /// The answer to a call names the sub-agent that it started.
    pub(super) fn take_answer(&mut self, call: &ToolCallId, agent: &str) {
        self.by_agent.entry(agent.to_owned()).or_insert_with(|| call.clone());
    }

    pub(super) fn take_meta(&mut self, agent: &str, meta: &[u8]) {
        let Ok(Value::Object(meta)) = serde_json::from_slice(meta) else { return };
        let field = |map: &Map, key: &str| text(map, key).map(str::to_owned);
        let told = StartedBy {
            agent: Some(agent.to_owned()),
            call: field(&meta, "toolUseId").map(ToolCallId::from),
            entry: None,
            kind: field(&meta, "agentType"),
            description: field(&meta, "description"),
        };
        self.metas.insert(agent.to_owned(), told);
    }

    /// What started a sub-agent: by its notes, by the answer that names it, by the call it hangs below, or by the
    /// task that it was given.
    pub(super) fn start_of(
        &mut self,
        agent: Option<&str>,
        below: Option<&EntryId>,
        task: Option<&str>,
    ) -> StartedBy {
        let meta = agent.and_then(|agent| self.metas.get(agent)).cloned().unwrap_or_default();
        let call =
            meta.call.clone().or_else(|| agent.and_then(|agent| self.by_agent.get(agent)).cloned()).or_else(
                || match below {
                    Some(entry) => self.only_call_in(entry),
                    None => self.by_task.get_mut(task?)?.pop_front(),
                },
            );
        let call_told = call.as_ref().and_then(|call| self.calls.get(call)).cloned().unwrap_or_default();
        StartedBy {
            agent: agent.map(str::to_owned),
            call,
            entry: call_told.entry.or_else(|| below.cloned()),
            kind: meta.kind.or(call_told.kind),
            description: meta.description.or(call_told.description),
        }
    }

    /// The program writes one call a line; where there are several, nobody knows.
    fn only_call_in(&self, entry: &EntryId) -> Option<ToolCallId> {
        match self.by_entry.get(entry).map(Vec::as_slice) {
            Some([call]) => Some(call.clone()),
            Some(_) | None => None,
        }
    }
}

/// `Task` is called `Agent` since 2.1.
fn starts_agents(call: &ToolUse) -> bool {
    matches!(call.name.as_str(), "Task" | "Agent")
}

/// The id in `agent-<id>.jsonl`.
pub(super) fn agent_in_file_name(file_name: &str) -> Option<&str> {
    stem(file_name)?.strip_prefix("agent-").filter(|id| !id.is_empty())
}

/// The session in `<session>/subagents/workflows/<run>/<file>`, the folder of a workflow run.
pub(crate) fn session_of_workflow(path: &str) -> Option<&str> {
    let mut parts = path.rsplit(['/', '\\']).skip(1);
    let (_run, workflows, subagents) = (parts.next()?, parts.next()?, parts.next()?);
    let session = parts.next().filter(|session| !session.is_empty());
    session.filter(|_| workflows == "workflows" && subagents == "subagents")
}

/// The session in `<session>/subagents/agent-<id>.jsonl`, also where a workflow run has started the sub-agent.
pub fn session_in_path(file_name: &str) -> Option<&str> {
    if let Some(session) = session_of_workflow(file_name) {
        return Some(session);
    }
    let mut parts = file_name.rsplit(['/', '\\']).skip(1);
    let folder = parts.next()?;
    parts.next().filter(|session| folder == "subagents" && !session.is_empty())
}

/// The session that the first entry of a sub-agent's file names. `None` if the entry is not of a sub-agent.
pub fn session_of_sub_agent(bytes: &[u8]) -> Option<String> {
    let objects = lines(bytes).filter_map(|line| match line.content {
        Content::Object(map) => Some(map),
        Content::Blank | Content::Unreadable(_) | Content::Torn => None,
    });
    let draft = objects.map(|map| Draft::new(&map)).find(Draft::is_entry)?;
    draft.session.filter(|_| draft.is_sidechain).map(|session| session.to_string())
}

pub(super) fn stem(file_name: &str) -> Option<&str> {
    let name = file_name.rsplit(['/', '\\']).next()?;
    Some(name.strip_suffix(".jsonl").unwrap_or(name)).filter(|stem| !stem.is_empty())
}
