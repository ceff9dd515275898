//! What is serialised: one struct per kind of line, body, block and fact.
//!
//! These types know JSON and nothing else; `to_disk` and `from_disk` translate. A choice between kinds is an
//! object with one member whose name is the kind, which is read without looking ahead and leaves room for kinds
//! of later versions.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blob::BlobName;
use crate::skeleton::Moment;

pub(super) type Name<'a> = Cow<'a, str>;

/// Kinds of lines: what is always there, what may be absent, and what comes last because it is long. The frame
/// is the same for all.
macro_rules! lines {
    ($($(#[$doc:meta])* $name:ident<$a:lifetime> {
        $($always:ident: $always_type:ty),*;
        $($maybe:ident: $maybe_type:ty),*;
        $($payload:ident: $payload_type:ty),*
    })*) => {$(
        $(#[$doc])*
        #[derive(Serialize, Deserialize)]
        pub(super) struct $name<$a> {
            pub(super) k: Name<$a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(super) more: Option<u8>,
            $(pub(super) $always: $always_type,)*
            $(#[serde(skip_serializing_if = "Option::is_none")]
            pub(super) $maybe: Option<$maybe_type>,)*
            $(pub(super) $payload: $payload_type,)*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(super) source: Option<Text<$a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(super) source64: Option<Name<$a>>,
            /// Written by the seal; named here so that it does not count as a field of a later version.
            #[serde(default, rename = "sum", skip_serializing)]
            pub(super) _sum: Option<Name<$a>>,
        }
    )*};
}

macro_rules! objects {
    ($($(#[$doc:meta])* $name:ident<$a:lifetime> {
        $($always:ident: $always_type:ty),*;
        $($maybe:ident: $maybe_type:ty),*
    })*) => {$(
        $(#[$doc])*
        #[derive(Serialize, Deserialize)]
        pub(super) struct $name<$a> {
            $(pub(super) $always: $always_type,)*
            $(#[serde(skip_serializing_if = "Option::is_none")]
            pub(super) $maybe: Option<$maybe_type>,)*
        }
    )*};
}

/// Objects with one member. A name that is not among them is kept, its value passed over.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident<$a:lifetime> { $($word:literal => $variant:ident($payload:ty),)* })*) => {$(
        $(#[$doc])*
        pub(super) enum $name<$a> {
            $($variant($payload),)*
            Unknown(String),
        }

        impl<$a> Serialize for $name<$a> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(1))?;
                match self {
                    $(Self::$variant(payload) => map.serialize_entry($word, payload)?,)*
                    Self::Unknown(word) => map.serialize_entry(word, &Empty {})?,
                }
                map.end()
            }
        }

        impl<'de, $a> Deserialize<'de> for $name<$a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct OneMember<$a>(PhantomData<&$a ()>);

                impl<'de, $a> Visitor<'de> for OneMember<$a> {
                    type Value = $name<$a>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object whose one member names its kind")
                    }

                    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                        let word: String =
                            map.next_key()?.ok_or_else(|| de::Error::custom("an object without a kind"))?;
                        let value = match word.as_str() {
                            $($word => $name::$variant(map.next_value()?),)*
                            _ => {
                                map.next_value::<IgnoredAny>()?;
                                $name::Unknown(word)
                            }
                        };
                        while map.next_key::<String>()?.is_some() {
                            map.next_value::<IgnoredAny>()?;
                        }
                        Ok(value)
                    }
                }

                deserializer.deserialize_map(OneMember(PhantomData))
            }
        }
    )*};
}

lines! {
    OpenLine<'a> {
        v: u64, id: Name<'a>, at: At;
        op: Name<'a>, project: Name<'a>, agent: Name<'a>, model: Model<'a>, lineage: Lineage<'a>,
        foreign: ForeignSource<'a>;
    }
    EntryLine<'a> {
        id: Name<'a>, parent: Option<Name<'a>>, at: At;
        turn: Name<'a>, op: Name<'a>;
        body: Body<'a>
    }
    HeadLine<'a> {
        at: At, head: Name<'a>, from: Option<Name<'a>>, to: Option<Name<'a>>;
        op: Name<'a>;
    }
    MarkLine<'a> {
        at: At;
        id: Name<'a>, op: Name<'a>;
        fact: Fact<'a>
    }
    /// A line of another program's file that says nothing we understand.
    KeptLine<'a> {
        ;
        op: Name<'a>;
    }
}

/// What gives an entry its place, read where the rest is beyond this version.
#[derive(Deserialize)]
pub(super) struct Place<'a> {
    pub(super) id: Name<'a>,
    pub(super) parent: Option<Name<'a>>,
    pub(super) at: At,
    pub(super) turn: Option<Name<'a>>,
}

/// The step a line belongs to, whatever else it says.
#[derive(Deserialize)]
pub(super) struct Step<'a> {
    pub(super) op: Option<Name<'a>>,
}

choices! {
    Body<'a> {
        "prompt" => Prompt(Prompt<'a>),
        "reply" => Reply(Reply<'a>),
        "tool_result" => ToolResult(ToolResult<'a>),
        "shell" => Shell(Shell<'a>),
        "interrupted" => Interrupted(Interrupted),
        "branch_summary" => BranchSummary(BranchSummary<'a>),
        "compaction" => Compaction(Compaction<'a>),
        "setting" => Setting(Setting<'a>),
        "merge" => Merge(Merge<'a>),
        "custom_message" => CustomMessage(CustomMessage<'a>),
        "note" => Note(Note<'a>),
        "system" => System(System<'a>),
        "cleared" => Cleared(Empty),
        "context_edit" => ContextEdit(ContextEdit<'a>),
        "foreign" => Foreign(Foreign<'a>),
    }
    Block<'a> {
        "text" => Text(Text<'a>),
        "thinking" => Thinking(Text<'a>),
        "image" => Image(Image<'a>),
        "tool_use" => ToolUse(ToolUse<'a>),
        "other" => Other(Other<'a>),
    }
    Setting<'a> {
        "agent" => Agent(Name<'a>),
        "model" => Model(ModelSetting<'a>),
        "thinking" => Thinking(Option<Name<'a>>),
        "tools" => Tools(Vec<Name<'a>>),
        "permission_mode" => PermissionMode(Name<'a>),
        "mode" => Mode(Mode<'a>),
        "service_tier" => ServiceTier(Option<Name<'a>>),
        "config" => Config(Json<'a>),
    }
    Fact<'a> {
        "label" => Label(Label<'a>),
        "title" => Title(Title<'a>),
        "branch_name" => BranchName(BranchName<'a>),
        "checkpoint" => Checkpoint(Checkpoint<'a>),
        "bound" => Bound(Bound<'a>),
        "turn_ended" => TurnEnded(TurnEnded<'a>),
        "archived" => Archived(Archived<'a>),
        "delivered" => Delivered(Delivered<'a>),
        "spent" => Spent(Spent<'a>),
        "operation" => Operation(Operation<'a>),
        "began" => Began(Operation<'a>),
        "forked" => Forked(Forked<'a>),
        "undone" => Undone(Undone<'a>),
        "redone" => Redone(Undone<'a>),
    }
    /// Any JSON: in place, or as text where it is long or deep.
    Json<'a> {
        "json" => Plain(Cow<'a, Value>),
        "text" => Text(Text<'a>),
    }
}

objects! {
    ForeignSource<'a> {
        agent: Name<'a>, session: Name<'a>, path: Name<'a>, length: u64, hash: Name<'a>;
    }
    Lineage<'a> {
        parent: Name<'a>;
        at: Name<'a>, message_index: u64, reason: Word<'a>, metadata: Json<'a>
    }
    Prompt<'a> { blocks: Vec<Block<'a>>; attachments: Vec<Name<'a>>, said_at: At }
    Reply<'a> {
        blocks: Vec<Block<'a>>;
        model: Model<'a>, usage: Usage, stop: Word<'a>, said_at: At, signatures: Vec<Signature<'a>>
    }
    Signature<'a> { block: u32, data: Text<'a>; }
    ToolResult<'a> { call: Name<'a>, tool: Name<'a>, failed: bool, blocks: Vec<Block<'a>>; usage: Usage, changed_input: Json<'a> }
    Shell<'a> {
        command: Text<'a>, output: Text<'a>, cancelled: bool, private: bool;
        exit_code: i64, full_output: Text<'a>
    }
    BranchSummary<'a> {
        summary: Text<'a>, from: Option<Name<'a>>, from_extension: bool;
        left: Name<'a>, files: Files<'a>, details: Json<'a>, usage: Usage
    }
    Compaction<'a> {
        summary: Text<'a>, tokens_before: i64, from_extension: bool;
        first_kept: Name<'a>, files: Files<'a>, details: Json<'a>, usage: Usage, system: Text<'a>
    }
    /// Without `replacement` the target is omitted.
    ContextEdit<'a> { target: Name<'a>; replacement: Vec<Block<'a>> }
    Files<'a> { read: Vec<Name<'a>>, modified: Vec<Name<'a>>; }
    ModelSetting<'a> { provider: Name<'a>, name: Name<'a>; role: Name<'a> }
    Mode<'a> { mode: Name<'a>; data: Json<'a> }
    Merge<'a> { from: Name<'a>; summary: Text<'a> }
    CustomMessage<'a> { kind: Name<'a>, display: bool, blocks: Vec<Block<'a>>; attribution: Name<'a> }
    Note<'a> { kind: Name<'a>; data: Json<'a> }
    System<'a> { text: Text<'a>; }
    Foreign<'a> { kind: Name<'a>; text: Text<'a> }
    /// Exactly one of `inline` (base64) and `kept_as` (a name) is there.
    Image<'a> { media_type: Name<'a>; inline: Text<'a>, kept_as: Name<'a> }
    ToolUse<'a> { id: Name<'a>, name: Name<'a>, input: Json<'a>; }
    Other<'a> { kind: Name<'a>; }
    Model<'a> { provider: Name<'a>, name: Name<'a>; }
    Label<'a> { target: Name<'a>; label: Name<'a> }
    Title<'a> { source: TitleSource; title: Name<'a> }
    BranchName<'a> { at: Name<'a>; name: Name<'a> }
    Checkpoint<'a> { at: Name<'a>, snapshot: Name<'a>; }
    Bound<'a> {
        at: Name<'a>, provenance: Provenance;
        agent_session: Name<'a>, last_message: Name<'a>, agent: Name<'a>, missing: Missing, inherited: bool,
        model: Model<'a>
    }
    TurnEnded<'a> { turn: Name<'a>; }
    Archived<'a> { target: Name<'a>, archived: bool; }
    Operation<'a> { name: Name<'a>; }
    Delivered<'a> { prompt: Name<'a>, delivered_as: Name<'a>; }
    Forked<'a> { session: Name<'a>; }
    Undone<'a> { operation: Name<'a>; }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Empty {}

#[derive(Serialize, Deserialize)]
pub(super) struct Interrupted {
    /// The program that wrote it stopped; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) crash: Option<bool>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct Usage {
    pub(super) input: i64,
    pub(super) output: i64,
    pub(super) cache_read: i64,
    pub(super) cache_write: i64,
    pub(super) total: i64,
    pub(super) cost_micros: i64,
}

/// The members of [`Usage`], and whose usage it is.
#[derive(Serialize, Deserialize)]
pub(super) struct Spent<'a> {
    #[serde(flatten)]
    pub(super) usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<Model<'a>>,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Missing {
    pub(super) tool_results: u64,
    pub(super) thoughts: u64,
    pub(super) images: u64,
    pub(super) forgotten: u64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TitleSource {
    User,
    Auto,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Provenance {
    Continued,
    ForkedAtMessage,
    RebuiltTranscript,
    ReplayedContext,
}

/// One of a list of words that grows: a word by itself, or `{"other": …}` for one that only looks like a known
/// word, or `{"error": …}` with what went wrong.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Word<'a> {
    Known(Name<'a>),
    Other { other: Name<'a> },
    Error { error: Name<'a> },
}

/// A moment in RFC 3339, to the nanosecond.
#[derive(Clone, Copy)]
pub(super) struct At(pub(super) Timestamp);

/// A string that may be long: in place, or in a blob.
pub(super) enum Text<'a> {
    Inline(Cow<'a, str>),
    Blob { name: BlobName, bytes: u64 },
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        if let Some(moment) = Moment::read(&text) {
            return Ok(Self(moment.timestamp()));
        }
        text.parse().map(Self).map_err(|_| de::Error::custom(format!("`{text}` is not a time")))
    }
}

#[derive(Serialize, Deserialize)]
struct BlobReference<'a> {
    blob: Name<'a>,
    bytes: u64,
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Inline(text) => serializer.serialize_str(text),
            Self::Blob { name, bytes } => {
                BlobReference { blob: name.as_str().into(), bytes: *bytes }.serialize(serializer)
            }
        }
    }
}

impl<'de, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringOrBlob<'a>(PhantomData<&'a ()>);

        impl<'de, 'a> Visitor<'de> for StringOrBlob<'a> {
            type Value = Text<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a blob")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text::Inline(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text::Inline(Cow::Owned(text)))
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
                let reference = BlobReference::deserialize(de::value::MapAccessDeserializer::new(map))?;
                let name = BlobName::parse(&reference.blob)
                    .ok_or_else(|| de::Error::custom(format!("`{}` is not a blob", reference.blob)))?;
                Ok(Text::Blob { name, bytes: reference.bytes })
            }
        }

        deserializer.deserialize_any(StringOrBlob(PhantomData))
    }
}
