//! A new session that leaves another one: after its configuration changed, or in the place of a message.
//!
//! The child repeats what came before, so that it can be replayed alone. The source is only read.

use jiff::Timestamp;
use offshoot_session::{BranchReason, Change, Lineage, Model, SessionHeader, SessionId};
use serde_json::{Value, json};
use thiserror::Error;

use super::write::{RolloutFile, header_line};
use crate::json::{Map, text};
use crate::lines::{Content, Line};
use crate::{Loss, Transcript, lost::Losses};

/// A file as its messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    pub header: SessionHeader,
    pub messages: Vec<Message>,
}

/// A line of the type `message`, with all its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(Map);

/// What is new about a child.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    pub id: SessionId,
    pub opened_at: Timestamp,
    pub project: Option<String>,
    pub model: Option<Model>,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("there is no message {index}; the session has {count}")]
pub struct NoSuchMessage {
    pub index: usize,
    pub count: usize,
}

/// The child after a change of the configuration. `after` is the last message it shares, usually
/// [`Rollout::last_index`]; `None` shares nothing. Without metadata the two models are told.
pub fn branch_for_config_change(
    source: &Rollout,
    after: Option<usize>,
    child: Child,
    metadata: Option<Value>,
) -> Result<Rollout, NoSuchMessage> {
    let shared = after.map_or(0, |after| after + 1);
    let messages = source.before(shared)?.to_vec();
    let metadata = metadata.or_else(|| {
        let (old, new) = (source.header.model.as_ref()?, child.model.as_ref()?);
        Some(json!({ "old_model": model_name(old), "new_model": model_name(new) }))
    });
    let lineage = lineage(source, after, BranchReason::ConfigChange, metadata);
    Ok(Rollout { header: child.header(lineage), messages })
}

/// The child in which one message says something else. It speaks in the same role; what came behind is not there.
pub fn branch_for_edit(
    source: &Rollout,
    index: usize,
    content: impl Into<Value>,
    child: Child,
) -> Result<Rollout, NoSuchMessage> {
    let mut messages = source.before(index + 1)?.to_vec();
    if let Some(edited) = messages.last_mut() {
        *edited = Message::new(edited.role(), content);
    }
    let lineage = lineage(source, Some(index), BranchReason::MessageEdit, None);
    Ok(Rollout { header: child.header(lineage), messages })
}

impl Rollout {
    /// The messages of a file; `None` where the transcript has no header.
    pub fn of(transcript: &Transcript) -> Option<Self> {
        let mut header = None;
        let mut messages = Vec::new();
        for record in &transcript.records {
            match &record.change {
                Change::Opened(opened) => header = header.or_else(|| Some(SessionHeader::clone(opened))),
                Change::Entry(_) => {
                    messages.extend(record.source.clone().and_then(
                        |source| match Line::new(1, source).content {
                            Content::Object(map) => Message::from_line(map),
                            Content::Blank | Content::Unreadable(_) | Content::Torn => None,
                        },
                    ))
                }
                Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => {}
            }
        }
        Some(Self { header: header?, messages })
    }

    /// Where a change of the configuration leaves the session.
    pub fn last_index(&self) -> Option<usize> {
        self.messages.len().checked_sub(1)
    }

    pub fn to_file(&self) -> RolloutFile {
        let mut bytes = format!("{}\n", Value::Object(header_line(&self.header))).into_bytes();
        for message in &self.messages {
            bytes.extend_from_slice(format!("{}\n", Value::Object(message.0.clone())).as_bytes());
        }
        let mut losses = Losses::default();
        if self.header.lineage.as_ref().is_some_and(|lineage| lineage.at.is_some()) {
            losses.add(Loss::EntryIds);
        }
        RolloutFile { file_name: file_name(&self.header.id), bytes, lost: losses.into_list() }
    }

    fn before(&self, end: usize) -> Result<&[Message], NoSuchMessage> {
        let count = self.messages.len();
        self.messages.get(..end).ok_or(NoSuchMessage { index: end.saturating_sub(1), count })
    }
}

impl Message {
    pub fn new(role: &str, content: impl Into<Value>) -> Self {
        let mut map = Map::new();
        map.insert("type".into(), "message".into());
        map.insert("role".into(), role.into());
        map.insert("content".into(), content.into());
        Self(map)
    }

    pub fn role(&self) -> &str {
        text(&self.0, "role").unwrap_or_default()
    }

    pub fn content(&self) -> &Value {
        self.0.get("content").unwrap_or(&Value::Null)
    }

    fn from_line(map: Map) -> Option<Self> {
        (text(&map, "type") == Some("message")).then_some(Self(map))
    }
}

impl Child {
    fn header(self, lineage: Lineage) -> SessionHeader {
        SessionHeader {
            id: self.id,
            opened_at: self.opened_at,
            project: self.project,
            agent: Some("rollouts".to_owned()),
            model: self.model,
            lineage: Some(lineage),
            foreign: None,
        }
    }
}

fn lineage(source: &Rollout, index: Option<usize>, reason: BranchReason, metadata: Option<Value>) -> Lineage {
    Lineage {
        parent: source.header.id.to_string(),
        at: None,
        message_index: index.map(|index| index as u64),
        reason: Some(reason),
        metadata,
    }
}

pub(super) fn file_name(id: &SessionId) -> String {
    format!("session_{}.jsonl", offshoot_session::file_name::file_name(id.as_str()))
}

fn model_name(model: &Model) -> String {
    if model.provider.is_empty() { model.name.clone() } else { format!("{}/{}", model.provider, model.name) }
}
