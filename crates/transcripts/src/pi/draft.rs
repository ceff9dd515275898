//! One line of a pi file, understood by itself.

use jiff::Timestamp;
use offshoot_session::in_force::INJECTED_RULES;
use offshoot_session::skeleton::{Fields, Kind, Moment};
use offshoot_session::{
    Body, ContextEdit, EntryId, Fact, Foreign, Lineage, Model, RawLine, SessionId, Setting, TitleSource,
};
use serde_json::Value;

use super::message::{
    blocks, body_of_message, branch_summary_of, compaction_of, custom_message_of, usage_of,
};
use super::ours;
use super::skim::envelope;
use crate::json::{Map, entry_id, given, id_text, integer, string, text, timestamp};
use crate::lines::{Content, Line};

pub(super) struct Draft {
    pub(super) what: What,
    pub(super) id: Option<EntryId>,
    pub(super) parent: ParentField,
    pub(super) written_at: Option<Timestamp>,
    /// Version 1 names the first kept entry of a compaction by its place in the file.
    pub(super) kept_index: Option<usize>,
    /// A type that this version does not know.
    pub(super) unknown_type: Option<String>,
    /// Something that only oh-my-pi writes.
    pub(super) is_oh_my_pi: bool,
}

pub(super) enum What {
    Header(Box<Header>),
    /// The fixed place in front of the header where oh-my-pi keeps the title.
    TitleSlot(Fact),
    Entry(Body),
    Fact(Fact),
    /// Has a place in the chain and says nothing: pi does not take a name away by an empty one.
    Silent,
    /// The head goes to an entry; `None` is before the first.
    Leaf(Option<EntryId>),
    /// An object without a type.
    Nameless,
}

pub(super) struct Header {
    pub(super) id: Option<SessionId>,
    pub(super) opened_at: Option<Timestamp>,
    pub(super) project: Option<String>,
    pub(super) model: Option<Model>,
    pub(super) lineage: Option<Lineage>,
    pub(super) version: Version,
    pub(super) title: Option<Fact>,
    /// A header of another format that begins the same way.
    pub(super) is_of_rollouts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Number(u32),
    /// A field that is no number.
    Unclear,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParentField {
    Absent,
    Root,
    Of(EntryId),
}

/// Types that pi or oh-my-pi are known to write, the header included.
pub fn is_known_type(kind: &str) -> bool {
    kind == "session" || PI_TYPES.contains(&kind) || OH_MY_PI_TYPES.contains(&kind)
}

const PI_TYPES: &[&str] = &[
    "branch_summary",
    "compaction",
    "context_edit",
    "custom",
    "custom_message",
    "label",
    "leaf",
    "message",
    "model_change",
    "session_info",
    "thinking_level_change",
    "usage",
];

const OH_MY_PI_TYPES: &[&str] = &[
    "archive",
    "credential_pin",
    "mode_change",
    "model_usage",
    "reset_boundary",
    "service_tier_change",
    "session_init",
    "title",
    "title_change",
    INJECTED_RULES,
];

const OH_MY_PI_HEADER_FIELDS: &[&str] =
    &["additionalDirectories", "previousSessionFiles", "providerPromptCacheKey", "title", "titleSource"];

impl Draft {
    pub(super) fn new(line: &Map) -> Self {
        let kind = text(line, "type");
        let is_unknown = kind.is_some_and(|kind| !is_known_type(kind));
        Self {
            what: what(kind, line),
            id: entry_id(line, "id"),
            parent: parent_field(line),
            written_at: line.get("timestamp").and_then(timestamp),
            kept_index: integer(line, "firstKeptEntryIndex").map(|index| {
                usize::try_from(index).unwrap_or(usize::MAX) // before the file is as far away as behind it
            }),
            unknown_type: kind.filter(|_| is_unknown).map(str::to_owned),
            is_oh_my_pi: is_oh_my_pi(kind, line),
        }
    }

    /// The draft of a line with this content; `None` where the line says its place twice and each time otherwise.
    ///
    /// Such a line is two that ran into each other. Its beginning is all that a quick reading sees, and the last of
    /// two equal keys all that JSON keeps: neither is the word of whoever wrote it.
    pub(super) fn of_line(content: &[u8], map: &Map) -> Option<Self> {
        let draft = Self::new(map);
        let is_one = envelope(content).is_none_or(|begun| draft.agrees_with(&begun));
        is_one.then_some(draft)
    }

    /// The draft of a line that was read before; `None` where it is not an object, or two in one.
    pub(super) fn of_source(source: &RawLine) -> Option<Self> {
        match Line::new(1, source.clone()).content {
            Content::Object(map) => Self::of_line(source.content(), &map),
            Content::Blank | Content::Unreadable(_) | Content::Torn => None,
        }
    }

    fn agrees_with(&self, begun: &Fields<'_>) -> bool {
        let parent = match &self.parent {
            ParentField::Of(parent) => Some(parent.as_str()),
            ParentField::Root | ParentField::Absent => None,
        };
        let kind = match &self.what {
            What::Entry(body) => Some(Kind::of(body)),
            _ => None,
        };
        self.id.as_ref().map(EntryId::as_str) == Some(begun.id)
            && parent == begun.parent
            && self.written_at.map(Moment::of) == Some(begun.at)
            && kind == Some(begun.kind)
    }
}

fn parent_field(line: &Map) -> ParentField {
    match line.get("parentId") {
        None => ParentField::Absent,
        Some(parent) => id_text(parent).map_or(ParentField::Root, |parent| ParentField::Of(parent.into())),
    }
}

fn is_oh_my_pi(kind: Option<&str>, line: &Map) -> bool {
    match kind {
        Some("session") => OH_MY_PI_HEADER_FIELDS.iter().any(|field| line.contains_key(*field)),
        Some("model_change") => line.contains_key("model"),
        Some(kind) => OH_MY_PI_TYPES.contains(&kind),
        None => false,
    }
}

fn what(kind: Option<&str>, line: &Map) -> What {
    let Some(kind) = kind else { return What::Nameless };
    match kind {
        "session" => What::Header(Box::new(header(line))),
        "title" => What::TitleSlot(title(line, "title", "source")),
        "session_info" if text(line, "name").is_none_or(|name| name.trim().is_empty()) => What::Silent,
        "leaf" => What::Leaf(entry_id(line, "targetId")),
        _ => fact(kind, line).map_or_else(|| What::Entry(body(kind, line)), What::Fact),
    }
}

fn fact(kind: &str, line: &Map) -> Option<Fact> {
    match kind {
        "label" => Some(Fact::Label {
            target: entry_id(line, "targetId")?,
            label: text(line, "label").map(str::to_owned),
        }),
        "session_info" => {
            Some(Fact::Title { title: text(line, "name").map(str::to_owned), source: TitleSource::User })
        }
        "title_change" => Some(title(line, "title", "source")),
        "archive" => Some(Fact::Archived {
            target: entry_id(line, "targetId")?,
            archived: line.get("archived").and_then(Value::as_bool).unwrap_or(true),
        }),
        "usage" | "model_usage" => {
            Some(Fact::Spent { usage: line.get("usage").and_then(usage_of)?, model: None })
        }
        _ => None,
    }
}

fn body(kind: &str, line: &Map) -> Body {
    let foreign = |words: Option<&str>| {
        Body::Foreign(Foreign { kind: kind.to_owned(), text: words.map(str::to_owned) })
    };
    match kind {
        "message" => body_of_message(line.get("message").unwrap_or(&Value::Null)),
        "custom_message" => ours::body_of_custom_message(line, custom_message_of(line)),
        "custom" => ours::body_of_custom(line),
        "branch_summary" => Body::BranchSummary(branch_summary_of(line)),
        "compaction" => Body::Compaction(compaction_of(line)),
        "thinking_level_change" => {
            Body::Setting(Setting::Thinking(text(line, "thinkingLevel").map(str::to_owned)))
        }
        "model_change" => model_change(line).map_or_else(|| foreign(None), Body::Setting),
        "mode_change" => {
            Body::Setting(Setting::Mode { mode: string(line, "mode"), data: given(line, "data").cloned() })
        }
        "service_tier_change" => Body::Setting(Setting::ServiceTier(service_tier(line))),
        "reset_boundary" => Body::Cleared,
        "context_edit" => context_edit(line).map_or_else(|| foreign(None), Body::ContextEdit),
        "session_init" => foreign(text(line, "task")),
        INJECTED_RULES => foreign(Some(&injected_rules(line))),
        _ => foreign(words_of_foreign(line).as_deref()),
    }
}

/// `None` if the line does not name its target, or says neither what to read instead nor that the target is omitted.
fn context_edit(line: &Map) -> Option<ContextEdit> {
    let target = entry_id(line, "targetId")?;
    match line.get("replacement")? {
        Value::Null => Some(ContextEdit { target, replacement: None }),
        Value::Object(instead) => {
            Some(ContextEdit { target, replacement: Some(blocks(instead.get("content"))) })
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

/// The names of the rules, one in each line.
fn injected_rules(line: &Map) -> String {
    let rules = line.get("injectedRules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    rules.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// Words that a person may look for in a line of an unknown kind.
fn words_of_foreign(line: &Map) -> Option<String> {
    let keys = ["text", "summary", "content", "note", "message"];
    let words = keys.iter().find_map(|key| text(line, key)).map(str::to_owned);
    words.or_else(|| {
        let words = offshoot_session::text_of(&blocks(line.get("content")));
        Some(words).filter(|words| !words.is_empty())
    })
}

/// pi writes provider and model apart, oh-my-pi as one text with an optional role.
fn model_change(line: &Map) -> Option<Setting> {
    let model = match text(line, "model").and_then(|model| model.split_once('/')) {
        Some((provider, name)) => Model { provider: provider.to_owned(), name: name.to_owned() },
        None => Model {
            provider: string(line, "provider"),
            name: text(line, "modelId").or_else(|| text(line, "model"))?.to_owned(),
        },
    };
    let role = text(line, "role").filter(|role| *role != "default").map(str::to_owned);
    Some(Setting::Model { role, model })
}

/// A word, or one word for each family of models.
fn service_tier(line: &Map) -> Option<String> {
    match given(line, "serviceTier")? {
        Value::String(tier) => Some(tier.clone()),
        tiers => Some(tiers.to_string()),
    }
}

fn header(line: &Map) -> Header {
    let parent = text(line, "parentSession").or_else(|| text(line, "branchedFrom"));
    Header {
        id: line.get("id").and_then(id_text).map(SessionId::from),
        opened_at: line.get("timestamp").and_then(timestamp),
        project: text(line, "cwd").map(str::to_owned),
        model: text(line, "modelId")
            .map(|name| Model { provider: string(line, "provider"), name: name.to_owned() }),
        lineage: parent.map(|parent| Lineage {
            parent: parent.to_owned(),
            at: None,
            message_index: None,
            reason: None,
            metadata: None,
        }),
        version: version(line),
        title: text(line, "title").map(|_| title(line, "title", "titleSource")),
        is_of_rollouts: ["parent_id", "branch_point", "model"].iter().any(|key| line.contains_key(*key)),
    }
}

/// Version 1 has no number.
fn version(line: &Map) -> Version {
    let number = match given(line, "version") {
        None => Some(1),
        Some(Value::String(digits)) => digits.parse().ok(),
        Some(Value::Number(number)) => number.as_f64().map(|number| number as u32),
        Some(_) => None,
    };
    number.map_or(Version::Unclear, |number: u32| Version::Number(number.max(1)))
}

fn title(line: &Map, title_key: &str, source_key: &str) -> Fact {
    let source = match text(line, source_key) {
        Some("user") => TitleSource::User,
        Some(_) | None => TitleSource::Auto,
    };
    Fact::Title { title: text(line, title_key).map(str::to_owned), source }
}
