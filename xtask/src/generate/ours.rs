//! A story as a journal of ours.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Result;
use jiff::Timestamp;
use offshoot_session::format::{InBatch, encode};
use offshoot_session::{
    Block, Body, BranchSummary, Compaction, Entry, EntryId, Fact, FileLists, HeadMove, HeadName, ImageData,
    Model, Prompt, Record, Reply, SessionHeader, Setting, Stop, ToolResult, ToolUse, Usage,
};
use offshoot_store::Home;
use serde_json::json;

use super::chance::short_id;
use super::story::{Told, What};
use super::{Pen, Session, file_at};

pub(crate) struct OurPen {
    home: Home,
    out: Option<BufWriter<File>>,
    head: Option<EntryId>,
    at: Timestamp,
}

impl OurPen {
    pub(crate) fn new(home: PathBuf) -> Result<Self> {
        Ok(Self { home: Home::at(home), out: None, head: None, at: Timestamp::UNIX_EPOCH })
    }

    fn append(&mut self, record: &Record) -> Result<()> {
        let encoded = encode(record, InBatch::Last)?;
        for blob in &encoded.blobs {
            let path = self.home.blob(&blob.name);
            if !path.exists() {
                file_at(&path)?.write_all(&blob.bytes)?;
            }
        }
        if let Some(out) = &mut self.out {
            out.write_all(&encoded.line)?;
        }
        Ok(())
    }
}

impl Pen for OurPen {
    fn open(&mut self, session: &Session) -> Result<()> {
        let id = session.id().into();
        self.out = Some(file_at(&self.home.journal(&id))?);
        let mut header = SessionHeader::new(id, Timestamp::from_millisecond(session.opened_ms)?);
        header.project = Some(session.project.clone());
        header.agent = Some("pi".into());
        self.append(&Record::opened(header))
    }

    fn write(&mut self, told: &Told<'_>) -> Result<()> {
        self.at = Timestamp::from_millisecond(told.at_ms)?;
        if let What::Label { target, label } = &told.what {
            let fact = Fact::Label { target: short_id(*target).into(), label: Some(label.clone()) };
            return self.append(&Record::marked(self.at, fact));
        }
        let id: EntryId = short_id(told.number).into();
        self.head = Some(id.clone());
        let parent = told.parent.map(|parent| short_id(parent).into());
        self.append(&Record::entry(Entry { id, parent, written_at: self.at, turn: None, body: body(told) }))
    }

    fn close(&mut self) -> Result<()> {
        let to = self.head.take();
        let moved = HeadMove { head: HeadName::main(), moved_at: self.at, from: None, to };
        self.append(&Record::head_moved(moved))?;
        if let Some(out) = &mut self.out {
            out.flush()?;
        }
        Ok(())
    }
}

fn body(told: &Told<'_>) -> Body {
    let blocks = |text: &str, image: &Option<String>| {
        let mut blocks = vec![Block::Text(text.to_owned())];
        blocks.extend(image.as_ref().map(|data| Block::Image {
            media_type: "image/png".into(),
            data: ImageData::Inline(data.clone()),
        }));
        blocks
    };
    match &told.what {
        What::Prompt { text, image } => {
            Body::Prompt(Prompt { blocks: blocks(text, image), ..Prompt::default() })
        }
        What::Reply { thinking, text, call, tokens } => {
            let mut said = Vec::new();
            said.extend(thinking.map(|thinking| Block::Thinking(thinking.to_owned())));
            said.push(Block::Text((*text).to_owned()));
            said.extend(call.as_ref().map(|call| {
                let input = json!({call.key: call.value});
                Block::ToolUse(ToolUse {
                    id: format!("call_{}", told.number).into(),
                    name: call.tool.into(),
                    input,
                })
            }));
            let total = tokens.input + tokens.output + tokens.cached;
            Body::Reply(Reply {
                blocks: said,
                model: Some(Model { provider: "anthropic".into(), name: "claude-sonnet-4-5".into() }),
                usage: Some(Usage {
                    input: tokens.input,
                    output: tokens.output,
                    cache_read: tokens.cached,
                    cache_write: 0,
                    total,
                    cost_micros: total,
                }),
                stop: Some(if call.is_some() { Stop::ToolUse } else { Stop::EndTurn }),
                ..Reply::default()
            })
        }
        What::Result { call, tool, text, image, failed } => Body::ToolResult(ToolResult {
            call: format!("call_{call}").into(),
            tool: (*tool).to_owned(),
            blocks: blocks(text, image),
            failed: *failed,
            usage: None,
        }),
        What::Compaction { summary, first_kept, tokens } => Body::Compaction(Compaction {
            summary: (*summary).to_owned(),
            first_kept: Some(short_id(*first_kept).into()),
            tokens_before: *tokens,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: None,
        }),
        What::BranchSummary { summary, left } => Body::BranchSummary(BranchSummary {
            summary: (*summary).to_owned(),
            from: told.parent.map(|parent| short_id(parent).into()),
            left: Some(short_id(*left).into()),
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
        }),
        What::Model => Body::Setting(Setting::Model {
            role: None,
            model: Model { provider: "anthropic".into(), name: "claude-opus-4-5".into() },
        }),
        What::Thinking | What::Label { .. } => Body::Setting(Setting::Thinking(Some("high".into()))),
    }
}
