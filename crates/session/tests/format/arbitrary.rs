//! Any record there can be.

use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, BranchReason, BranchSummary, Change, Compaction, ContextEdit, CustomMessage, Entry, EntryId,
    Fact, FileLists, Foreign, ForeignSource, HeadMove, ImageData, Interruption, Lineage, Mark, Merge,
    Missing, Model, Note, Prompt, Provenance, RawLine, Record, Reply, SessionHeader, Setting, Shell,
    Signature, Stop, System, TitleSource, ToolResult, ToolUse, Usage,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Map, Value};

pub(crate) fn record() -> BoxedStrategy<Record> {
    (change(), of(word()), of(source()))
        .prop_map(|(change, operation, source)| Record {
            change,
            operation: operation.map(Into::into),
            source,
        })
        .boxed()
}

fn change() -> BoxedStrategy<Change> {
    prop_oneof![
        1 => header().prop_map(|header| Change::Opened(Box::new(header))),
        6 => entry().prop_map(|entry| Change::Entry(Arc::new(entry))),
        1 => (word(), time(), of(id()), of(id())).prop_map(|(head, moved_at, from, to)| {
            Change::HeadMoved(HeadMove { head: head.into(), moved_at, from, to })
        }),
        3 => (of(id()), time(), fact())
            .prop_map(|(id, marked_at, fact)| Change::Marked(Mark { id, marked_at, fact })),
        1 => Just(Change::Unknown),
    ]
    .boxed()
}

fn header() -> BoxedStrategy<SessionHeader> {
    let foreign =
        (word(), word(), word(), any::<u64>(), word()).prop_map(|(agent, session, path, length, hash)| {
            Box::new(ForeignSource { agent, session, path, length, hash })
        });
    (word(), time(), of(word()), of(word()), of(model()), of(lineage()), of(foreign))
        .prop_map(|(id, opened_at, project, agent, model, lineage, foreign)| SessionHeader {
            id: id.into(),
            opened_at,
            project,
            agent,
            model,
            lineage,
            foreign,
        })
        .boxed()
}

fn lineage() -> BoxedStrategy<Lineage> {
    let reason = prop_oneof![
        Just(BranchReason::ConfigChange),
        Just(BranchReason::MessageEdit),
        Just(BranchReason::Retry),
        Just(BranchReason::Fork),
        Just(BranchReason::Other("fork".into())),
        word().prop_map(BranchReason::Other),
    ];
    (word(), of(id()), of(any::<u64>()), of(reason), of(json()))
        .prop_map(|(parent, at, message_index, reason, metadata)| Lineage {
            parent,
            at,
            message_index,
            reason,
            metadata,
        })
        .boxed()
}

fn entry() -> BoxedStrategy<Entry> {
    (id(), of(id()), time(), of(word()), body())
        .prop_map(|(id, parent, written_at, turn, body)| Entry {
            id,
            parent,
            written_at,
            turn: turn.map(Into::into),
            body,
        })
        .boxed()
}

fn signature() -> BoxedStrategy<Signature> {
    (any::<u32>(), text()).prop_map(|(block, data)| Signature { block, data }).boxed()
}

fn body() -> BoxedStrategy<Body> {
    prop_oneof![
        (blocks(), vec(word(), 0..3), of(time()))
            .prop_map(|(blocks, attachments, said_at)| Body::Prompt(Prompt { blocks, attachments, said_at })),
        (blocks(), of(model()), of(usage()), of(stop()), of(time()), vec(signature(), 0..2)).prop_map(
            |(blocks, model, usage, stop, said_at, signatures)| Body::Reply(Reply {
                blocks,
                model,
                usage,
                stop,
                said_at,
                signatures
            })
        ),
        (word(), word(), blocks(), any::<bool>(), of(usage()), of(json())).prop_map(
            |(call, tool, blocks, failed, usage, changed_input)| {
                Body::ToolResult(ToolResult {
                    call: call.into(),
                    tool,
                    blocks,
                    failed,
                    usage: usage.map(Box::new),
                    changed_input: changed_input.map(Box::new),
                })
            }
        ),
        (text(), text(), of(any::<i64>()), any::<bool>(), of(word()), any::<bool>()).prop_map(
            |(command, output, exit_code, cancelled, full_output, private)| {
                Body::Shell(Shell { command, output, exit_code, cancelled, full_output, private })
            }
        ),
        Just(Body::Interrupted(Interruption::Wanted)),
        Just(Body::Interrupted(Interruption::Crash)),
        (text(), of(id()), of(id()), files(), of(json()), any::<bool>(), of(usage())).prop_map(
            |(summary, from, left, files, details, from_extension, usage)| {
                Body::BranchSummary(BranchSummary {
                    summary,
                    from,
                    left,
                    files,
                    details,
                    from_extension,
                    usage: usage.map(Box::new),
                })
            }
        ),
        (text(), of(id()), any::<i64>(), files(), of(json()), any::<bool>(), of(usage()), of(text()))
            .prop_map(
                |(summary, first_kept, tokens_before, files, details, from_extension, usage, system)| {
                    Body::Compaction(Compaction {
                        summary,
                        first_kept,
                        tokens_before,
                        files,
                        details,
                        from_extension,
                        usage: usage.map(Box::new),
                        system: system.map(String::into),
                    })
                }
            ),
        setting().prop_map(Body::Setting),
        (id(), of(text())).prop_map(|(from, summary)| Body::Merge(Merge { from, summary })),
        (word(), blocks(), any::<bool>(), of(word())).prop_map(|(kind, blocks, display, attribution)| {
            Body::CustomMessage(CustomMessage { kind, blocks, display, attribution })
        }),
        (word(), of(json())).prop_map(|(kind, data)| Body::Note(Note { kind, data })),
        text().prop_map(|text| Body::System(System { text })),
        Just(Body::Cleared),
        (id(), of(blocks()))
            .prop_map(|(target, replacement)| { Body::ContextEdit(ContextEdit { target, replacement }) }),
        (word(), of(text())).prop_map(|(kind, text)| Body::Foreign(Foreign { kind, text })),
    ]
    .boxed()
}

fn blocks() -> BoxedStrategy<Vec<Block>> {
    let block = prop_oneof![
        text().prop_map(Block::Text),
        text().prop_map(Block::Thinking),
        (word(), text())
            .prop_map(|(media_type, data)| Block::Image { media_type, data: ImageData::Inline(data) }),
        (word(), word())
            .prop_map(|(media_type, name)| Block::Image { media_type, data: ImageData::Blob(name) }),
        (word(), word(), json()).prop_map(|(id, name, input)| Block::ToolUse(ToolUse {
            id: id.into(),
            name,
            input
        })),
        word().prop_map(|kind| Block::Other { kind }),
    ];
    vec(block, 0..4).boxed()
}

fn setting() -> BoxedStrategy<Setting> {
    prop_oneof![
        word().prop_map(Setting::Agent),
        (of(word()), model()).prop_map(|(role, model)| Setting::Model { role, model }),
        of(word()).prop_map(Setting::Thinking),
        vec(word(), 0..3).prop_map(Setting::Tools),
        word().prop_map(Setting::PermissionMode),
        (word(), of(json())).prop_map(|(mode, data)| Setting::Mode { mode, data }),
        of(word()).prop_map(Setting::ServiceTier),
        json().prop_map(Setting::Config),
    ]
    .boxed()
}

fn fact() -> BoxedStrategy<Fact> {
    let provenance = prop_oneof![
        Just(Provenance::Continued),
        Just(Provenance::ForkedAtMessage),
        Just(Provenance::RebuiltTranscript),
        Just(Provenance::ReplayedContext),
    ];
    let count = || 0..3_usize;
    let missing =
        (count(), count(), count(), count()).prop_map(|(tool_results, thoughts, images, forgotten)| {
            Missing { tool_results, thoughts, images, forgotten }
        });
    prop_oneof![
        (id(), of(word())).prop_map(|(target, label)| Fact::Label { target, label }),
        (of(word()), prop_oneof![Just(TitleSource::User), Just(TitleSource::Auto)])
            .prop_map(|(title, source)| Fact::Title { title, source }),
        (id(), of(word())).prop_map(|(at, name)| Fact::BranchName { at, name }),
        (id(), word()).prop_map(|(at, snapshot)| Fact::Checkpoint { at, snapshot }),
        (id(), of(word()), provenance, of(word()), of(word()), missing, any::<bool>(), of(model())).prop_map(
            |(at, session, provenance, last_message, agent, missing, inherited, model)| {
                let agent_session = session.map(Into::into);
                Fact::Bound { at, agent_session, provenance, last_message, agent, missing, inherited, model }
            }
        ),
        word().prop_map(|turn| Fact::TurnEnded { turn: turn.into() }),
        (id(), any::<bool>()).prop_map(|(target, archived)| Fact::Archived { target, archived }),
        (usage(), of((word(), word()))).prop_map(|(usage, model)| {
            let model = model.map(|(provider, name)| Model { provider, name });
            Fact::Spent { usage, model }
        }),
        (id(), id()).prop_map(|(prompt, delivered_as)| Fact::Delivered { prompt, delivered_as }),
        word().prop_map(|name| Fact::Operation { name }),
        word().prop_map(|name| Fact::Began { name }),
        word().prop_map(|session| Fact::Forked { session: session.into() }),
        word().prop_map(|operation| Fact::Undone { operation: operation.into() }),
        word().prop_map(|operation| Fact::Redone { operation: operation.into() }),
    ]
    .boxed()
}

fn stop() -> BoxedStrategy<Stop> {
    prop_oneof![
        Just(Stop::EndTurn),
        Just(Stop::ToolUse),
        Just(Stop::Length),
        Just(Stop::Aborted),
        word().prop_map(Stop::Error),
        Just(Stop::Other("aborted".into())),
        word().prop_map(Stop::Other),
    ]
    .boxed()
}

fn files() -> BoxedStrategy<FileLists> {
    (vec(word(), 0..3), vec(word(), 0..3)).prop_map(|(read, modified)| FileLists { read, modified }).boxed()
}

fn model() -> BoxedStrategy<Model> {
    (word(), word()).prop_map(|(provider, name)| Model { provider, name }).boxed()
}

fn usage() -> BoxedStrategy<Usage> {
    any::<[i64; 6]>()
        .prop_map(|[input, output, cache_read, cache_write, total, cost_micros]| Usage {
            input,
            output,
            cache_read,
            cache_write,
            total,
            cost_micros,
        })
        .boxed()
}

fn time() -> BoxedStrategy<Timestamp> {
    prop_oneof![
        4 => (0..4_000_000_000_i64, 0..1_000_000_000_i32)
            .prop_map(|(second, nano)| Timestamp::new(second, nano).unwrap()),
        1 => Just(Timestamp::MIN),
        1 => Just(Timestamp::MAX),
        1 => Just(Timestamp::UNIX_EPOCH),
    ]
    .boxed()
}

fn id() -> BoxedStrategy<EntryId> {
    word().prop_map(EntryId::from).boxed()
}

/// Short text, with what makes trouble in JSON, in lines and in this format.
fn word() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[a-z0-9]{1,8}",
        2 => any::<String>(),
        1 => Just("\u{0}\n\r\u{2028}\u{feff}\u{202e}👩‍👩‍👧\"\\/".to_owned()),
        1 => Just(r#"","sum":"00000000"} {"k":"entry","more":1"#.to_owned()),
        1 => Just(String::new()),
    ]
    .boxed()
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![
        12 => word(),
        1 => (word(), 65_530..65_545_usize).prop_map(|(word, length)| {
            let mut text = word;
            while text.len() < length {
                text.push('ö');
            }
            text
        }),
    ]
    .boxed()
}

fn json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            vec((word(), inner.clone()), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            // looks like a blob
            inner.prop_map(|inner| serde_json::json!({ "blob": inner, "bytes": 3 })),
        ]
    });
    prop_oneof![
        8 => value.clone(),
        1 => (value, 30..100_usize).prop_map(|(value, depth)| nested(value, depth)),
    ]
    .boxed()
}

pub(crate) fn nested(mut value: Value, depth: usize) -> Value {
    for _ in 0..depth {
        value = Value::Array(vec![value]);
    }
    value
}

fn source() -> BoxedStrategy<RawLine> {
    prop_oneof![
        4 => word().prop_map(|line| RawLine::new(format!("{line}\n").into_bytes())),
        2 => vec(any::<u8>(), 0..40).prop_map(RawLine::new),
        1 => Just(RawLine::new(vec![0xff; 70_000])),
        1 => text().prop_map(|text| RawLine::new(text.into_bytes())),
    ]
    .boxed()
}
