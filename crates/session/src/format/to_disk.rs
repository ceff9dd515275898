//! From the model to the words on disk.

use std::borrow::Cow;

use serde_json::Value;

use super::blob::Blob;
use super::line::Unwritable;
use super::words::{self, At, Empty, Json, Name, Text, Word};
use super::{LONGEST_INLINE, version_of};
use crate::{
    Block, Body, BranchReason, BranchSummary, Compaction, ContextEdit, CustomMessage, Entry, Fact, FileLists,
    Foreign, ForeignSource, HeadMove, ImageData, Interruption, Lineage, Mark, Merge, Model, Note,
    OperationId, Prompt, Provenance, RawLine, Reply, SessionHeader, Setting, Shell, Signature, Stop, System,
    TitleSource, ToolResult, ToolUse, Usage,
};

/// Values deeper than this are written as text: readers of JSON stop at some depth.
const DEEPEST_IN_PLACE: usize = 32;
/// What a reader of the text still takes.
const DEEPEST: usize = 120;

/// A record on its way out; long strings gather here.
#[derive(Default)]
pub(super) struct Outgoing {
    pub(super) blobs: Vec<Blob>,
}

/// The source of a record, as one of two fields.
#[derive(Default)]
pub(super) struct Source<'r> {
    pub(super) text: Option<Text<'r>>,
    pub(super) base64: Option<Name<'r>>,
}

impl Outgoing {
    pub(super) fn source<'r>(&mut self, line: Option<&'r RawLine>) -> Source<'r> {
        let Some(bytes) = line.map(RawLine::bytes) else { return Source::default() };
        match std::str::from_utf8(bytes) {
            Ok(text) => Source { text: Some(self.text(text)), base64: None },
            Err(_) if bytes.len() > LONGEST_INLINE => Source { text: Some(self.blob(bytes)), base64: None },
            Err(_) => Source { text: None, base64: Some(base64(bytes).into()) },
        }
    }

    pub(super) fn open<'r>(
        &mut self,
        header: &'r SessionHeader,
        op: Option<&'r OperationId>,
        source: Option<&'r RawLine>,
    ) -> Result<words::OpenLine<'r>, Unwritable> {
        let SessionHeader { id, opened_at, project, agent, model, lineage, foreign } = header;
        let source = self.source(source);
        Ok(words::OpenLine {
            k: "open".into(),
            more: None,
            v: version_of(header),
            id: id.as_str().into(),
            at: At(*opened_at),
            op: op.map(|op| op.as_str().into()),
            project: project.as_deref().map(Name::from),
            agent: agent.as_deref().map(Name::from),
            model: model.as_ref().map(model_of),
            lineage: lineage.as_ref().map(|lineage| self.lineage(lineage)).transpose()?,
            foreign: foreign.as_deref().map(foreign_of),
            source: source.text,
            source64: source.base64,
            _sum: None,
        })
    }

    pub(super) fn entry<'r>(
        &mut self,
        entry: &'r Entry,
        op: Option<&'r OperationId>,
        source: Option<&'r RawLine>,
    ) -> Result<words::EntryLine<'r>, Unwritable> {
        let Entry { id, parent, written_at, turn, body } = entry;
        let source = self.source(source);
        Ok(words::EntryLine {
            k: "entry".into(),
            more: None,
            id: id.as_str().into(),
            parent: parent.as_ref().map(|parent| parent.as_str().into()),
            at: At(*written_at),
            turn: turn.as_ref().map(|turn| turn.as_str().into()),
            op: op.map(|op| op.as_str().into()),
            body: self.body(body)?,
            source: source.text,
            source64: source.base64,
            _sum: None,
        })
    }

    pub(super) fn head<'r>(
        &mut self,
        head_move: &'r HeadMove,
        op: Option<&'r OperationId>,
        source: Option<&'r RawLine>,
    ) -> words::HeadLine<'r> {
        let HeadMove { head, moved_at, from, to } = head_move;
        let source = self.source(source);
        words::HeadLine {
            k: "head".into(),
            more: None,
            at: At(*moved_at),
            head: head.as_str().into(),
            from: from.as_ref().map(|from| from.as_str().into()),
            to: to.as_ref().map(|to| to.as_str().into()),
            op: op.map(|op| op.as_str().into()),
            source: source.text,
            source64: source.base64,
            _sum: None,
        }
    }

    pub(super) fn mark<'r>(
        &mut self,
        mark: &'r Mark,
        op: Option<&'r OperationId>,
        source: Option<&'r RawLine>,
    ) -> words::MarkLine<'r> {
        let Mark { id, marked_at, fact } = mark;
        let source = self.source(source);
        words::MarkLine {
            k: "mark".into(),
            more: None,
            at: At(*marked_at),
            id: id.as_ref().map(|id| id.as_str().into()),
            op: op.map(|op| op.as_str().into()),
            fact: fact_of(fact),
            source: source.text,
            source64: source.base64,
            _sum: None,
        }
    }

    pub(super) fn kept<'r>(
        &mut self,
        op: Option<&'r OperationId>,
        source: Option<&'r RawLine>,
    ) -> words::KeptLine<'r> {
        let source = self.source(source);
        words::KeptLine {
            k: "line".into(),
            more: None,
            op: op.map(|op| op.as_str().into()),
            source: source.text,
            source64: source.base64,
            _sum: None,
        }
    }

    fn body<'r>(&mut self, body: &'r Body) -> Result<words::Body<'r>, Unwritable> {
        Ok(match body {
            Body::Prompt(Prompt { blocks, attachments, said_at }) => words::Body::Prompt(words::Prompt {
                blocks: self.blocks(blocks)?,
                attachments: some_names(attachments),
                said_at: said_at.map(At),
            }),
            Body::Reply(Reply { blocks, model, usage, stop, said_at, signatures }) => {
                words::Body::Reply(words::Reply {
                    blocks: self.blocks(blocks)?,
                    model: model.as_ref().map(model_of),
                    usage: usage.as_ref().map(usage_of),
                    stop: stop.as_ref().map(stop_of),
                    said_at: said_at.map(At),
                    signatures: self.signatures(signatures),
                })
            }
            Body::ToolResult(ToolResult { call, tool, blocks, failed, usage, changed_input }) => {
                words::Body::ToolResult(words::ToolResult {
                    call: call.as_str().into(),
                    tool: tool.into(),
                    failed: *failed,
                    blocks: self.blocks(blocks)?,
                    usage: usage.as_deref().map(usage_of),
                    changed_input: changed_input.as_deref().map(|input| self.json(input)).transpose()?,
                })
            }
            Body::Shell(Shell { command, output, exit_code, cancelled, full_output, private }) => {
                words::Body::Shell(words::Shell {
                    command: self.text(command),
                    output: self.text(output),
                    cancelled: *cancelled,
                    private: *private,
                    exit_code: *exit_code,
                    full_output: full_output.as_deref().map(|text| self.text(text)),
                })
            }
            Body::Interrupted(why) => words::Body::Interrupted(interrupted(*why)),
            Body::BranchSummary(BranchSummary {
                summary,
                from,
                left,
                files,
                details,
                from_extension,
                usage,
            }) => words::Body::BranchSummary(words::BranchSummary {
                summary: self.text(summary),
                from: from.as_ref().map(|from| from.as_str().into()),
                from_extension: *from_extension,
                left: left.as_ref().map(|left| left.as_str().into()),
                files: files_of(files),
                details: details.as_ref().map(|details| self.json(details)).transpose()?,
                usage: usage.as_deref().map(usage_of),
            }),
            Body::Compaction(Compaction {
                summary,
                first_kept,
                tokens_before,
                files,
                details,
                from_extension,
                usage,
                system,
            }) => words::Body::Compaction(words::Compaction {
                summary: self.text(summary),
                tokens_before: *tokens_before,
                from_extension: *from_extension,
                first_kept: first_kept.as_ref().map(|kept| kept.as_str().into()),
                files: files_of(files),
                details: details.as_ref().map(|details| self.json(details)).transpose()?,
                usage: usage.as_deref().map(usage_of),
                system: system.as_deref().map(|text| self.text(text)),
            }),
            Body::Setting(setting) => words::Body::Setting(self.setting(setting)?),
            Body::Merge(Merge { from, summary }) => words::Body::Merge(words::Merge {
                from: from.as_str().into(),
                summary: summary.as_deref().map(|text| self.text(text)),
            }),
            Body::CustomMessage(CustomMessage { kind, blocks, display, attribution }) => {
                words::Body::CustomMessage(words::CustomMessage {
                    kind: kind.into(),
                    display: *display,
                    blocks: self.blocks(blocks)?,
                    attribution: attribution.as_deref().map(Name::from),
                })
            }
            Body::Note(Note { kind, data }) => words::Body::Note(words::Note {
                kind: kind.into(),
                data: data.as_ref().map(|data| self.json(data)).transpose()?,
            }),
            Body::System(System { text }) => words::Body::System(words::System { text: self.text(text) }),
            Body::Cleared => words::Body::Cleared(Empty {}),
            Body::ContextEdit(ContextEdit { target, replacement }) => {
                words::Body::ContextEdit(words::ContextEdit {
                    target: target.as_str().into(),
                    replacement: replacement.as_deref().map(|blocks| self.blocks(blocks)).transpose()?,
                })
            }
            Body::Foreign(Foreign { kind, text }) => words::Body::Foreign(words::Foreign {
                kind: kind.into(),
                text: text.as_deref().map(|text| self.text(text)),
            }),
        })
    }

    fn blocks<'r>(&mut self, blocks: &'r [Block]) -> Result<Vec<words::Block<'r>>, Unwritable> {
        blocks.iter().map(|block| self.block(block)).collect()
    }

    fn block<'r>(&mut self, block: &'r Block) -> Result<words::Block<'r>, Unwritable> {
        Ok(match block {
            Block::Text(text) => words::Block::Text(self.text(text)),
            Block::Thinking(text) => words::Block::Thinking(self.text(text)),
            Block::Image { media_type, data } => {
                let (inline, kept_as) = match data {
                    ImageData::Inline(data) => (Some(self.text(data)), None),
                    ImageData::Blob(name) => (None, Some(name.into())),
                };
                words::Block::Image(words::Image { media_type: media_type.into(), inline, kept_as })
            }
            Block::ToolUse(ToolUse { id, name, input }) => words::Block::ToolUse(words::ToolUse {
                id: id.as_str().into(),
                name: name.into(),
                input: self.json(input)?,
            }),
            Block::Other { kind } => words::Block::Other(words::Other { kind: kind.into() }),
        })
    }

    /// Absent where there are none.
    fn signatures<'r>(&mut self, signatures: &'r [Signature]) -> Option<Vec<words::Signature<'r>>> {
        let signature = |signature: &'r Signature| words::Signature {
            block: signature.block,
            data: self.text(&signature.data),
        };
        let signatures: Vec<_> = signatures.iter().map(signature).collect();
        (!signatures.is_empty()).then_some(signatures)
    }

    fn setting<'r>(&mut self, setting: &'r Setting) -> Result<words::Setting<'r>, Unwritable> {
        Ok(match setting {
            Setting::Agent(agent) => words::Setting::Agent(agent.into()),
            Setting::Model { role, model: Model { provider, name } } => {
                words::Setting::Model(words::ModelSetting {
                    provider: provider.into(),
                    name: name.into(),
                    role: role.as_deref().map(Name::from),
                })
            }
            Setting::Thinking(level) => words::Setting::Thinking(level.as_deref().map(Name::from)),
            Setting::Tools(tools) => words::Setting::Tools(names(tools)),
            Setting::PermissionMode(mode) => words::Setting::PermissionMode(mode.into()),
            Setting::Mode { mode, data } => words::Setting::Mode(words::Mode {
                mode: mode.into(),
                data: data.as_ref().map(|data| self.json(data)).transpose()?,
            }),
            Setting::ServiceTier(tier) => words::Setting::ServiceTier(tier.as_deref().map(Name::from)),
            Setting::Config(config) => words::Setting::Config(self.json(config)?),
        })
    }

    fn lineage<'r>(&mut self, lineage: &'r Lineage) -> Result<words::Lineage<'r>, Unwritable> {
        let Lineage { parent, at, message_index, reason, metadata } = lineage;
        Ok(words::Lineage {
            parent: parent.into(),
            at: at.as_ref().map(|at| at.as_str().into()),
            message_index: *message_index,
            reason: reason.as_ref().map(reason_of),
            metadata: metadata.as_ref().map(|metadata| self.json(metadata)).transpose()?,
        })
    }

    fn text<'r>(&mut self, text: &'r str) -> Text<'r> {
        if text.len() > LONGEST_INLINE { self.blob(text.as_bytes()) } else { Text::Inline(text.into()) }
    }

    fn blob<'r>(&mut self, bytes: &[u8]) -> Text<'r> {
        let blob = Blob::of(bytes);
        let reference = Text::Blob { name: blob.name.clone(), bytes: bytes.len() as u64 };
        self.blobs.push(blob);
        reference
    }

    fn json<'r>(&mut self, value: &'r Value) -> Result<Json<'r>, Unwritable> {
        let depth = depth_of(value);
        if depth > DEEPEST {
            return Err(Unwritable::TooDeep(depth));
        }
        let text = serde_json::to_string(value)?;
        if text.len() > LONGEST_INLINE {
            return Ok(Json::Text(self.blob(text.as_bytes())));
        }
        if depth > DEEPEST_IN_PLACE {
            return Ok(Json::Text(Text::Inline(text.into())));
        }
        Ok(Json::Plain(Cow::Borrowed(value)))
    }
}

fn fact_of(fact: &Fact) -> words::Fact<'_> {
    match fact {
        Fact::Label { target, label } => words::Fact::Label(words::Label {
            target: target.as_str().into(),
            label: label.as_deref().map(Name::from),
        }),
        Fact::Title { title, source } => words::Fact::Title(words::Title {
            source: match source {
                TitleSource::User => words::TitleSource::User,
                TitleSource::Auto => words::TitleSource::Auto,
            },
            title: title.as_deref().map(Name::from),
        }),
        Fact::BranchName { at, name } => words::Fact::BranchName(words::BranchName {
            at: at.as_str().into(),
            name: name.as_deref().map(Name::from),
        }),
        Fact::Checkpoint { at, snapshot } => {
            words::Fact::Checkpoint(words::Checkpoint { at: at.as_str().into(), snapshot: snapshot.into() })
        }
        Fact::Bound { at, agent_session, provenance, last_message, agent, missing, inherited, model } => {
            words::Fact::Bound(words::Bound {
                at: at.as_str().into(),
                provenance: match provenance {
                    Provenance::Continued => words::Provenance::Continued,
                    Provenance::ForkedAtMessage => words::Provenance::ForkedAtMessage,
                    Provenance::RebuiltTranscript => words::Provenance::RebuiltTranscript,
                    Provenance::ReplayedContext => words::Provenance::ReplayedContext,
                },
                agent_session: agent_session.as_ref().map(|session| session.as_str().into()),
                last_message: last_message.as_deref().map(Name::from),
                agent: agent.as_deref().map(Name::from),
                missing: (!missing.is_nothing()).then_some(words::Missing {
                    tool_results: missing.tool_results as u64,
                    thoughts: missing.thoughts as u64,
                    images: missing.images as u64,
                    forgotten: missing.forgotten as u64,
                }),
                inherited: inherited.then_some(true),
                model: model.as_ref().map(model_of),
            })
        }
        Fact::TurnEnded { turn } => words::Fact::TurnEnded(words::TurnEnded { turn: turn.as_str().into() }),
        Fact::Archived { target, archived } => {
            words::Fact::Archived(words::Archived { target: target.as_str().into(), archived: *archived })
        }
        Fact::Delivered { prompt, delivered_as } => words::Fact::Delivered(words::Delivered {
            prompt: prompt.as_str().into(),
            delivered_as: delivered_as.as_str().into(),
        }),
        Fact::Spent { usage, model } => {
            words::Fact::Spent(words::Spent { usage: usage_of(usage), model: model.as_ref().map(model_of) })
        }
        Fact::Operation { name } => words::Fact::Operation(words::Operation { name: name.into() }),
        Fact::Began { name } => words::Fact::Began(words::Operation { name: name.into() }),
        Fact::Forked { session } => words::Fact::Forked(words::Forked { session: session.as_str().into() }),
        Fact::Undone { operation } => {
            words::Fact::Undone(words::Undone { operation: operation.as_str().into() })
        }
        Fact::Redone { operation } => {
            words::Fact::Redone(words::Undone { operation: operation.as_str().into() })
        }
    }
}

fn reason_of(reason: &BranchReason) -> Word<'_> {
    match reason {
        BranchReason::ConfigChange => Word::Known("config_change".into()),
        BranchReason::MessageEdit => Word::Known("message_edit".into()),
        BranchReason::Retry => Word::Known("retry".into()),
        BranchReason::Fork => Word::Known("fork".into()),
        BranchReason::Other(other) => match other.as_str() {
            "config_change" | "message_edit" | "retry" | "fork" => Word::Other { other: other.into() },
            _ => Word::Known(other.into()),
        },
    }
}

fn stop_of(stop: &Stop) -> Word<'_> {
    match stop {
        Stop::EndTurn => Word::Known("end_turn".into()),
        Stop::ToolUse => Word::Known("tool_use".into()),
        Stop::Length => Word::Known("length".into()),
        Stop::Aborted => Word::Known("aborted".into()),
        Stop::Error(error) => Word::Error { error: error.into() },
        Stop::Other(other) => match other.as_str() {
            "end_turn" | "tool_use" | "length" | "aborted" => Word::Other { other: other.into() },
            _ => Word::Known(other.into()),
        },
    }
}

fn foreign_of(foreign: &ForeignSource) -> words::ForeignSource<'_> {
    let ForeignSource { agent, session, path, length, hash } = foreign;
    words::ForeignSource {
        agent: agent.into(),
        session: session.into(),
        path: path.into(),
        length: *length,
        hash: hash.into(),
    }
}

fn model_of(model: &Model) -> words::Model<'_> {
    let Model { provider, name } = model;
    words::Model { provider: provider.into(), name: name.into() }
}

fn usage_of(usage: &Usage) -> words::Usage {
    let Usage { input, output, cache_read, cache_write, total, cost_micros } = *usage;
    words::Usage { input, output, cache_read, cache_write, total, cost_micros }
}

fn files_of(files: &FileLists) -> Option<words::Files<'_>> {
    let FileLists { read, modified } = files;
    (*files != FileLists::default()).then(|| words::Files { read: names(read), modified: names(modified) })
}

fn names(names: &[String]) -> Vec<Name<'_>> {
    names.iter().map(Name::from).collect()
}

fn some_names(list: &[String]) -> Option<Vec<Name<'_>>> {
    (!list.is_empty()).then(|| names(list))
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn interrupted(why: Interruption) -> words::Interrupted {
    match why {
        Interruption::Wanted => words::Interrupted { crash: None },
        Interruption::Crash => words::Interrupted { crash: Some(true) },
    }
}

/// How many arrays and objects lie inside each other.
fn depth_of(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}
