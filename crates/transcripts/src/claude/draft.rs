//! One line of a file, understood by itself.

use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::{
    Body, Compaction, EntryId, Fact, FileLists, Foreign, Note, Setting, TitleSource, ToolResult, text_of,
};
use serde_json::{Value, json};

use super::attachment::attachment_of;
use super::message::{blocks, micro_dollars, reply_of, said_by_user};
use crate::json::{Map, entry_id, flag, given, id_text, integer, text, timestamp};

pub(super) struct Draft {
    pub(super) what: What,
    pub(super) id: Option<EntryId>,
    pub(super) parent: ParentField,
    pub(super) written_at: Option<Timestamp>,
    /// Part of what a sub-agent said.
    pub(super) is_sidechain: bool,
    pub(super) agent: Option<String>,
    /// Nearly always that of the line before.
    pub(super) session: Option<Arc<str>>,
    /// A reply comes in several lines of the same message.
    pub(super) message: Option<Arc<str>>,
}

/// What is asked of a line once, and need not stay with it.
pub(super) struct Asides {
    pub(super) project: Option<String>,
    /// Session and entry that this line was copied from.
    pub(super) forked_from: Option<(String, Option<EntryId>)>,
    /// The sub-agent that the answer of a tool tells of.
    pub(super) started_agent: Option<String>,
    pub(super) compacted: Option<Compacted>,
    pub(super) unknown_type: Option<String>,
}

pub(super) enum What {
    Entry {
        /// Answers of tools that stand in the same line, before the body.
        results: Vec<ToolResult>,
        body: Body,
    },
    /// In the chain of ids, but no part of the conversation.
    Pass,
    Fact(Fact),
    /// A title for the session that ends in `leaf`, which may be another one.
    Summary {
        title: String,
        leaf: Option<EntryId>,
    },
    /// The program goes on at this entry.
    Leaf(Option<EntryId>),
    Setting(Setting),
    /// All money so far, in millionths.
    CostSoFar(i64),
    /// Books that the program keeps for itself, or a line that nobody knows.
    Silent,
    /// An object without a type.
    Nameless,
}

/// What the line before a summary says of it.
#[derive(Clone)]
pub(super) struct Compacted {
    pub(super) tokens_before: i64,
    pub(super) first_kept: Option<EntryId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParentField {
    Absent,
    Root,
    Of(EntryId),
}

/// Types that Claude Code is known to write.
pub fn is_known_type(kind: &str) -> bool {
    CHAINED.contains(&kind) || FACTS.contains(&kind) || BOOKS.contains(&kind)
}

const CHAINED: &[&str] = &["assistant", "attachment", "progress", "system", "user"];

const FACTS: &[&str] =
    &["ai-title", "cost-state", "custom-title", "last-prompt", "mode", "permission-mode", "summary"];

const BOOKS: &[&str] = &[
    "agent-name",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "file-history-delta",
    "file-history-snapshot",
    "queue-operation",
    "tag",
    "tools-used",
];

/// Types of lines that the program keeps for itself; nothing is said in them.
pub(super) fn is_book(kind: &[u8]) -> bool {
    BOOKS.iter().any(|book| book.as_bytes() == kind)
}

impl Draft {
    pub(super) fn new(line: &Map) -> Self {
        Self {
            what: what(text(line, "type"), line),
            id: entry_id(line, "uuid"),
            parent: parent_field(line),
            written_at: line.get("timestamp").and_then(timestamp),
            is_sidechain: flag(line, "isSidechain"),
            agent: line.get("agentId").and_then(id_text),
            session: text(line, "sessionId").filter(|id| !id.is_empty()).map(Arc::from),
            message: message_id(line),
        }
    }

    pub(super) fn is_entry(&self) -> bool {
        matches!(self.what, What::Entry { .. })
    }
}

impl Asides {
    pub(super) fn of(line: &Map) -> Self {
        Self {
            project: text(line, "cwd").filter(|folder| !folder.is_empty()).map(str::to_owned),
            forked_from: forked_from(line),
            started_agent: object(line, "toolUseResult")
                .and_then(|told| told.get("agentId"))
                .and_then(id_text),
            compacted: compacted(line),
            unknown_type: text(line, "type").filter(|kind| !is_known_type(kind)).map(str::to_owned),
        }
    }
}

/// A compaction begins a chain of its own and names the entry it stands behind elsewhere.
fn parent_field(line: &Map) -> ParentField {
    let parent = line.get("parentUuid");
    let id = parent.and_then(id_text).or_else(|| line.get("logicalParentUuid").and_then(id_text));
    match (id, parent) {
        (Some(id), _) => ParentField::Of(id.into()),
        (None, Some(_)) => ParentField::Root,
        (None, None) => ParentField::Absent,
    }
}

fn what(kind: Option<&str>, line: &Map) -> What {
    let Some(kind) = kind else { return What::Nameless };
    match kind {
        "user" if flag(line, "isCompactSummary") => entry(compaction_of(line)),
        "user" => user(line),
        "assistant" => entry(reply_of(line)),
        "system" => entry(Body::Note(system_note(line))),
        "attachment" => entry(attachment_of(line)),
        "progress" => What::Pass,
        "custom-title" => title(line, "customTitle", TitleSource::User),
        "ai-title" => title(line, "aiTitle", TitleSource::Auto),
        "summary" => match text(line, "summary") {
            Some(title) => What::Summary { title: title.to_owned(), leaf: entry_id(line, "leafUuid") },
            None => What::Silent,
        },
        "last-prompt" => What::Leaf(entry_id(line, "leafUuid")),
        "permission-mode" => match text(line, "permissionMode") {
            Some(mode) => What::Setting(Setting::PermissionMode(mode.to_owned())),
            None => What::Silent,
        },
        "mode" => match text(line, "mode") {
            Some(mode) => What::Setting(Setting::Mode { mode: mode.to_owned(), data: None }),
            None => What::Silent,
        },
        "cost-state" => match line.get("totalCostUSD").and_then(micro_dollars) {
            Some(cost) => What::CostSoFar(cost),
            None => What::Silent,
        },
        _ if BOOKS.contains(&kind) || entry_id(line, "uuid").is_none() => What::Silent,
        _ => entry(Body::Foreign(Foreign { kind: kind.to_owned(), text: words_of_foreign(line) })),
    }
}

fn entry(body: Body) -> What {
    What::Entry { results: Vec::new(), body }
}

/// The last part of a line is the one that others hang below.
fn user(line: &Map) -> What {
    let mut said = said_by_user(line);
    match said.body.or_else(|| said.results.pop().map(Body::ToolResult)) {
        Some(body) => What::Entry { results: said.results, body },
        None => What::Silent,
    }
}

fn title(line: &Map, key: &str, source: TitleSource) -> What {
    match text(line, key) {
        Some(title) => What::Fact(Fact::Title { title: Some(title.to_owned()), source }),
        None => What::Silent,
    }
}

fn compaction_of(line: &Map) -> Body {
    let content = object(line, "message").and_then(|message| message.get("content"));
    Body::Compaction(Compaction {
        summary: text_of(&blocks(content)),
        first_kept: None,
        tokens_before: 0,
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: None,
        system: None,
    })
}

fn compacted(line: &Map) -> Option<Compacted> {
    let told = object(line, "compactMetadata")?;
    let kept = object(told, "preservedSegment");
    Some(Compacted {
        tokens_before: integer(told, "preTokens").unwrap_or(0),
        first_kept: kept.and_then(|kept| entry_id(kept, "headUuid")),
    })
}

fn system_note(line: &Map) -> Note {
    let told = ["compactMetadata", "microcompactMetadata"].iter().find_map(|key| given(line, key)).cloned();
    let words = || text(line, "content").map(|words| json!({ "content": words }));
    Note { kind: text(line, "subtype").unwrap_or("system").to_owned(), data: told.or_else(words) }
}

/// Words that a person may look for in a line of an unknown kind.
fn words_of_foreign(line: &Map) -> Option<String> {
    let keys = ["text", "summary", "content", "output", "message"];
    let words = keys.iter().find_map(|key| text(line, key)).map(str::to_owned);
    words.or_else(|| {
        let content = object(line, "message").unwrap_or(line).get("content");
        Some(text_of(&blocks(content))).filter(|words| !words.is_empty())
    })
}

fn forked_from(line: &Map) -> Option<(String, Option<EntryId>)> {
    let from = object(line, "forkedFrom")?;
    Some((from.get("sessionId").and_then(id_text)?, entry_id(from, "messageUuid")))
}

fn message_id(line: &Map) -> Option<Arc<str>> {
    if text(line, "type") != Some("assistant") {
        return None;
    }
    object(line, "message")?.get("id").and_then(id_text).map(Arc::from)
}

fn object<'j>(map: &'j Map, key: &str) -> Option<&'j Map> {
    map.get(key).and_then(Value::as_object)
}
