//! From the words on disk to the model.

use serde_json::Value;

use super::blob::{BlobName, BlobTrouble, Blobs};
use super::words::{self, Json, Name, Text, Word};
use crate::{
    Block, Body, BranchReason, BranchSummary, Change, Compaction, ContextEdit, CustomMessage, Entry, EntryId,
    Fact, FileLists, Foreign, ForeignSource, HeadMove, ImageData, Interruption, Lineage, Mark, Merge,
    Missing, Model, Note, OperationId, Prompt, Provenance, RawLine, Reply, SessionHeader, Setting, Shell,
    Signature, Stop, System, TitleSource, ToolResult, ToolUse, Usage,
};

/// What a line says, before it is known whether the line itself has to be kept.
pub(super) struct Said {
    pub(super) change: Change,
    pub(super) operation: Option<OperationId>,
    pub(super) source: Option<RawLine>,
}

/// The line is of a known kind, and what it says is not.
pub(super) struct Beyond;

/// A line on its way in; troubles with blobs gather here, and kinds of content that are not known.
pub(super) struct Incoming<'b> {
    pub(super) blobs: &'b dyn Blobs,
    pub(super) troubles: Vec<(BlobName, BlobTrouble)>,
    pub(super) unknown_kind: Option<String>,
}

impl Incoming<'_> {
    pub(super) fn open(&mut self, line: words::OpenLine<'_>) -> Result<Said, Beyond> {
        let header = SessionHeader {
            id: line.id.into_owned().into(),
            opened_at: line.at.0,
            project: line.project.map(Name::into_owned),
            agent: line.agent.map(Name::into_owned),
            model: line.model.map(model),
            lineage: line.lineage.map(|lineage| self.lineage(lineage)).transpose()?,
            foreign: line.foreign.map(|source| Box::new(foreign(source))),
        };
        self.said(Change::Opened(Box::new(header)), line.op, line.source, line.source64)
    }

    pub(super) fn entry(&mut self, line: words::EntryLine<'_>) -> Result<Said, Beyond> {
        let entry = Entry {
            id: line.id.into_owned().into(),
            parent: line.parent.map(id),
            written_at: line.at.0,
            turn: line.turn.map(|turn| turn.into_owned().into()),
            body: self.body(line.body)?,
        };
        self.said(Change::Entry(entry.into()), line.op, line.source, line.source64)
    }

    pub(super) fn head(&mut self, line: words::HeadLine<'_>) -> Result<Said, Beyond> {
        let head_move = HeadMove {
            head: line.head.into_owned().into(),
            moved_at: line.at.0,
            from: line.from.map(id),
            to: line.to.map(id),
        };
        self.said(Change::HeadMoved(head_move), line.op, line.source, line.source64)
    }

    pub(super) fn mark(&mut self, line: words::MarkLine<'_>) -> Result<Said, Beyond> {
        let mark = Mark { id: line.id.map(id), marked_at: line.at.0, fact: self.fact(line.fact)? };
        self.said(Change::Marked(mark), line.op, line.source, line.source64)
    }

    pub(super) fn kept(&mut self, line: words::KeptLine<'_>) -> Result<Said, Beyond> {
        self.said(Change::Unknown, line.op, line.source, line.source64)
    }

    fn said(
        &mut self,
        change: Change,
        op: Option<Name<'_>>,
        source: Option<Text<'_>>,
        source64: Option<Name<'_>>,
    ) -> Result<Said, Beyond> {
        let source = match (source, source64) {
            (Some(Text::Inline(text)), _) => Some(text.into_owned().into_bytes()),
            (Some(Text::Blob { name, .. }), _) => self.fetch(name),
            (None, Some(digits)) => Some(from_base64(&digits)?),
            (None, None) => None,
        };
        Ok(Said { change, operation: op.map(|op| op.into_owned().into()), source: source.map(RawLine::new) })
    }

    fn body(&mut self, body: words::Body<'_>) -> Result<Body, Beyond> {
        Ok(match body {
            words::Body::Prompt(prompt) => Body::Prompt(Prompt {
                blocks: self.blocks(prompt.blocks)?,
                attachments: prompt.attachments.map(strings).unwrap_or_default(),
                said_at: prompt.said_at.map(|at| at.0),
            }),
            words::Body::Reply(reply) => Body::Reply(Reply {
                blocks: self.blocks(reply.blocks)?,
                model: reply.model.map(model),
                usage: reply.usage.map(usage),
                stop: reply.stop.map(stop),
                said_at: reply.said_at.map(|at| at.0),
                signatures: self.signatures(reply.signatures.unwrap_or_default())?,
            }),
            words::Body::ToolResult(result) => Body::ToolResult(ToolResult {
                call: result.call.into_owned().into(),
                tool: result.tool.into_owned(),
                blocks: self.blocks(result.blocks)?,
                failed: result.failed,
                usage: result.usage.map(|words| Box::new(usage(words))),
                changed_input: result
                    .changed_input
                    .map(|input| self.json(input).map(Box::new))
                    .transpose()?,
            }),
            words::Body::Shell(shell) => Body::Shell(Shell {
                command: self.text(shell.command)?,
                output: self.text(shell.output)?,
                exit_code: shell.exit_code,
                cancelled: shell.cancelled,
                full_output: shell.full_output.map(|text| self.text(text)).transpose()?,
                private: shell.private,
            }),
            words::Body::Interrupted(interrupted) => Body::Interrupted(interruption(interrupted)),
            words::Body::BranchSummary(summary) => Body::BranchSummary(BranchSummary {
                summary: self.text(summary.summary)?,
                from: summary.from.map(id),
                left: summary.left.map(id),
                files: summary.files.map(files).unwrap_or_default(),
                details: summary.details.map(|details| self.json(details)).transpose()?,
                from_extension: summary.from_extension,
                usage: summary.usage.map(|words| Box::new(usage(words))),
            }),
            words::Body::Compaction(compaction) => Body::Compaction(Compaction {
                summary: self.text(compaction.summary)?,
                first_kept: compaction.first_kept.map(id),
                tokens_before: compaction.tokens_before,
                files: compaction.files.map(files).unwrap_or_default(),
                details: compaction.details.map(|details| self.json(details)).transpose()?,
                from_extension: compaction.from_extension,
                usage: compaction.usage.map(|words| Box::new(usage(words))),
                system: compaction.system.map(|text| self.text(text)).transpose()?.map(String::into),
            }),
            words::Body::Setting(setting) => self.setting(setting)?,
            words::Body::Merge(merge) => Body::Merge(Merge {
                from: id(merge.from),
                summary: merge.summary.map(|text| self.text(text)).transpose()?,
            }),
            words::Body::CustomMessage(message) => Body::CustomMessage(CustomMessage {
                kind: message.kind.into_owned(),
                blocks: self.blocks(message.blocks)?,
                display: message.display,
                attribution: message.attribution.map(Name::into_owned),
            }),
            words::Body::Note(note) => Body::Note(Note {
                kind: note.kind.into_owned(),
                data: note.data.map(|data| self.json(data)).transpose()?,
            }),
            words::Body::System(system) => Body::System(System { text: self.text(system.text)? }),
            words::Body::Cleared(words::Empty {}) => Body::Cleared,
            words::Body::ContextEdit(edit) => Body::ContextEdit(ContextEdit {
                target: id(edit.target),
                replacement: edit.replacement.map(|blocks| self.blocks(blocks)).transpose()?,
            }),
            words::Body::Foreign(foreign) => Body::Foreign(Foreign {
                kind: foreign.kind.into_owned(),
                text: foreign.text.map(|text| self.text(text)).transpose()?,
            }),
            words::Body::Unknown(kind) => self.of_unknown_kind(kind),
        })
    }

    /// It keeps its place in the tree.
    fn of_unknown_kind(&mut self, kind: String) -> Body {
        self.unknown_kind = Some(kind.clone());
        Body::Foreign(Foreign { kind, text: None })
    }

    fn blocks(&mut self, blocks: Vec<words::Block<'_>>) -> Result<Vec<Block>, Beyond> {
        blocks.into_iter().map(|block| self.block(block)).collect()
    }

    fn block(&mut self, block: words::Block<'_>) -> Result<Block, Beyond> {
        Ok(match block {
            words::Block::Text(text) => Block::Text(self.text(text)?),
            words::Block::Thinking(text) => Block::Thinking(self.text(text)?),
            words::Block::Image(image) => Block::Image {
                media_type: image.media_type.into_owned(),
                data: match (image.inline, image.kept_as) {
                    (Some(data), _) => ImageData::Inline(self.text(data)?),
                    (None, Some(name)) => ImageData::Blob(name.into_owned()),
                    (None, None) => return Err(Beyond),
                },
            },
            words::Block::ToolUse(tool_use) => Block::ToolUse(ToolUse {
                id: tool_use.id.into_owned().into(),
                name: tool_use.name.into_owned(),
                input: self.json(tool_use.input)?,
            }),
            words::Block::Other(other) => Block::Other { kind: other.kind.into_owned() },
            words::Block::Unknown(kind) => Block::Other { kind },
        })
    }

    fn signatures(&mut self, signatures: Vec<words::Signature<'_>>) -> Result<Vec<Signature>, Beyond> {
        let signature = |signature: words::Signature<'_>| {
            Ok(Signature { block: signature.block, data: self.text(signature.data)? })
        };
        signatures.into_iter().map(signature).collect()
    }

    fn setting(&mut self, setting: words::Setting<'_>) -> Result<Body, Beyond> {
        Ok(Body::Setting(match setting {
            words::Setting::Agent(agent) => Setting::Agent(agent.into_owned()),
            words::Setting::Model(setting) => Setting::Model {
                role: setting.role.map(Name::into_owned),
                model: Model { provider: setting.provider.into_owned(), name: setting.name.into_owned() },
            },
            words::Setting::Thinking(level) => Setting::Thinking(level.map(Name::into_owned)),
            words::Setting::Tools(tools) => Setting::Tools(strings(tools)),
            words::Setting::PermissionMode(mode) => Setting::PermissionMode(mode.into_owned()),
            words::Setting::Mode(mode) => Setting::Mode {
                mode: mode.mode.into_owned(),
                data: mode.data.map(|data| self.json(data)).transpose()?,
            },
            words::Setting::ServiceTier(tier) => Setting::ServiceTier(tier.map(Name::into_owned)),
            words::Setting::Config(config) => Setting::Config(self.json(config)?),
            words::Setting::Unknown(kind) => return Ok(self.of_unknown_kind(kind)),
        }))
    }

    fn fact(&mut self, fact: words::Fact<'_>) -> Result<Fact, Beyond> {
        Ok(match fact {
            words::Fact::Label(label) => {
                Fact::Label { target: id(label.target), label: label.label.map(Name::into_owned) }
            }
            words::Fact::Title(title) => Fact::Title {
                title: title.title.map(Name::into_owned),
                source: match title.source {
                    words::TitleSource::User => TitleSource::User,
                    words::TitleSource::Auto => TitleSource::Auto,
                },
            },
            words::Fact::BranchName(branch) => {
                Fact::BranchName { at: id(branch.at), name: branch.name.map(Name::into_owned) }
            }
            words::Fact::Checkpoint(checkpoint) => {
                Fact::Checkpoint { at: id(checkpoint.at), snapshot: checkpoint.snapshot.into_owned() }
            }
            words::Fact::Bound(bound) => Fact::Bound {
                at: id(bound.at),
                agent_session: bound.agent_session.map(|session| session.into_owned().into()),
                provenance: match bound.provenance {
                    words::Provenance::Continued => Provenance::Continued,
                    words::Provenance::ForkedAtMessage => Provenance::ForkedAtMessage,
                    words::Provenance::RebuiltTranscript => Provenance::RebuiltTranscript,
                    words::Provenance::ReplayedContext => Provenance::ReplayedContext,
                },
                last_message: bound.last_message.map(Name::into_owned),
                agent: bound.agent.map(Name::into_owned),
                missing: bound.missing.map(missing).unwrap_or_default(),
                inherited: bound.inherited.unwrap_or(false),
                model: bound.model.map(model),
            },
            words::Fact::TurnEnded(ended) => Fact::TurnEnded { turn: ended.turn.into_owned().into() },
            words::Fact::Archived(archived) => {
                Fact::Archived { target: id(archived.target), archived: archived.archived }
            }
            words::Fact::Delivered(delivered) => {
                Fact::Delivered { prompt: id(delivered.prompt), delivered_as: id(delivered.delivered_as) }
            }
            words::Fact::Spent(spent) => {
                Fact::Spent { usage: usage(spent.usage), model: spent.model.map(model) }
            }
            words::Fact::Operation(operation) => Fact::Operation { name: operation.name.into_owned() },
            words::Fact::Began(began) => Fact::Began { name: began.name.into_owned() },
            words::Fact::Forked(forked) => Fact::Forked { session: forked.session.into_owned().into() },
            words::Fact::Undone(undone) => Fact::Undone { operation: undone.operation.into_owned().into() },
            words::Fact::Redone(redone) => Fact::Redone { operation: redone.operation.into_owned().into() },
            words::Fact::Unknown(kind) => {
                self.unknown_kind = Some(kind);
                return Err(Beyond);
            }
        })
    }

    fn lineage(&mut self, lineage: words::Lineage<'_>) -> Result<Lineage, Beyond> {
        Ok(Lineage {
            parent: lineage.parent.into_owned(),
            at: lineage.at.map(id),
            message_index: lineage.message_index,
            reason: lineage.reason.map(reason),
            metadata: lineage.metadata.map(|metadata| self.json(metadata)).transpose()?,
        })
    }

    fn text(&mut self, text: Text<'_>) -> Result<String, Beyond> {
        match text {
            Text::Inline(text) => Ok(text.into_owned()),
            Text::Blob { name, bytes } => match self.fetch(name.clone()) {
                Some(bytes) => String::from_utf8(bytes).map_err(|_| Beyond),
                None => Ok(format!("[{bytes} bytes are missing: blob {name}]")),
            },
        }
    }

    fn json(&mut self, json: Json<'_>) -> Result<Value, Beyond> {
        match json {
            Json::Plain(value) => Ok(value.into_owned()),
            Json::Text(Text::Inline(text)) => serde_json::from_str(&text).map_err(|_| Beyond),
            Json::Text(Text::Blob { name, .. }) => match self.fetch(name) {
                Some(bytes) => serde_json::from_slice(&bytes).map_err(|_| Beyond),
                None => Ok(Value::Null),
            },
            Json::Unknown(_) => Err(Beyond),
        }
    }

    fn fetch(&mut self, name: BlobName) -> Option<Vec<u8>> {
        match self.blobs.blob(&name) {
            Ok(bytes) => Some(bytes),
            Err(trouble) => {
                self.troubles.push((name, trouble));
                None
            }
        }
    }
}

fn id(name: Name<'_>) -> EntryId {
    name.into_owned().into()
}

fn strings(names: Vec<Name<'_>>) -> Vec<String> {
    names.into_iter().map(Name::into_owned).collect()
}

fn foreign(foreign: words::ForeignSource<'_>) -> ForeignSource {
    ForeignSource {
        agent: foreign.agent.into_owned(),
        session: foreign.session.into_owned(),
        path: foreign.path.into_owned(),
        length: foreign.length,
        hash: foreign.hash.into_owned(),
    }
}

fn model(model: words::Model<'_>) -> Model {
    Model { provider: model.provider.into_owned(), name: model.name.into_owned() }
}

fn usage(usage: words::Usage) -> Usage {
    let words::Usage { input, output, cache_read, cache_write, total, cost_micros } = usage;
    Usage { input, output, cache_read, cache_write, total, cost_micros }
}

fn missing(missing: words::Missing) -> Missing {
    // A count that is too large for this machine is as large as it can be.
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let words::Missing { tool_results, thoughts, images, forgotten } = missing;
    Missing {
        tool_results: count(tool_results),
        thoughts: count(thoughts),
        images: count(images),
        forgotten: count(forgotten),
    }
}

fn files(files: words::Files<'_>) -> FileLists {
    FileLists { read: strings(files.read), modified: strings(files.modified) }
}

fn reason(word: Word<'_>) -> BranchReason {
    match word {
        Word::Known(word) => BranchReason::named(&word),
        Word::Other { other: word } | Word::Error { error: word } => BranchReason::Other(word.into_owned()),
    }
}

fn stop(word: Word<'_>) -> Stop {
    match word {
        Word::Known(word) => match word.as_ref() {
            "end_turn" => Stop::EndTurn,
            "tool_use" => Stop::ToolUse,
            "length" => Stop::Length,
            "aborted" => Stop::Aborted,
            _ => Stop::Other(word.into_owned()),
        },
        Word::Other { other } => Stop::Other(other.into_owned()),
        Word::Error { error } => Stop::Error(error.into_owned()),
    }
}

fn interruption(interrupted: words::Interrupted) -> Interruption {
    match interrupted.crash {
        Some(true) => Interruption::Crash,
        Some(false) | None => Interruption::Wanted,
    }
}

fn from_base64(digits: &str) -> Result<Vec<u8>, Beyond> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(digits).map_err(|_| Beyond)
}
