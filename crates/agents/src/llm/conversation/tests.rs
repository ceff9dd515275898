//! Requests on drawn and random branches.

use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, Entry, ImageData, Interruption, Model, Prompt, Reply, Setting, Signature, Stop, ToolResult,
    ToolUse,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{AnswerPart, BEGINNING, Conversation, Message, NO_RESULT, UserPart, messages_of, wire_id};
use crate::llm::wire::{ModelRequest, Wire};

fn model(name: &str) -> Model {
    Model { provider: "p".into(), name: name.into() }
}

fn path(bodies: Vec<Body>) -> Vec<Arc<Entry>> {
    let entry = |(at, body): (usize, Body)| {
        let parent = at.checked_sub(1).map(|above| format!("e{above}").into());
        let written_at = Timestamp::UNIX_EPOCH;
        Arc::new(Entry { id: format!("e{at}").into(), parent, written_at, turn: None, body })
    };
    bodies.into_iter().enumerate().map(entry).collect()
}

fn read(bodies: Vec<Body>) -> Vec<Message> {
    messages_of(&path(bodies).iter().collect::<Vec<_>>(), &model("m"))
}

fn call(id: &str) -> Block {
    Block::ToolUse(ToolUse { id: id.into(), name: "read".into(), input: json!({ "path": id }) })
}

fn reply(blocks: Vec<Block>) -> Body {
    Body::Reply(Reply { blocks, model: Some(model("m")), ..Reply::default() })
}

fn result(call: &str, text: &str) -> Body {
    Body::ToolResult(ToolResult {
        call: call.into(),
        tool: "read".into(),
        blocks: vec![Block::Text(text.into())],
        failed: false,
        usage: None,
        changed_input: None,
    })
}

/// One line for each message.
fn told(messages: &[Message]) -> Vec<String> {
    let user = |part: &UserPart| match part {
        UserPart::Text(text) => text.clone(),
        UserPart::Image { media_type, .. } => media_type.clone(),
        UserPart::Result { call, text, failed, .. } => {
            format!("{call}{}{text}", if *failed { "!" } else { "=" })
        }
    };
    let answer = |part: &AnswerPart| match part {
        AnswerPart::Text(text) => text.clone(),
        AnswerPart::Thinking { text, signature } => format!("({text} {signature})"),
        AnswerPart::RedactedThinking(data) => format!("(({data}))"),
        AnswerPart::Call { id, .. } => format!("{id}?"),
    };
    let line = |message: &Message| match message {
        Message::User(parts) => format!("> {}", parts.iter().map(user).collect::<Vec<_>>().join(" ")),
        Message::Answer(parts) => parts.iter().map(answer).collect::<Vec<_>>().join(" "),
    };
    messages.iter().map(line).collect()
}

#[test]
fn blocks_of_one_message_merge_and_results_come_right_behind_it() {
    let messages = read(vec![
        Body::prompt("go"),
        reply(vec![Block::Text("a".into())]),
        reply(vec![call("c1")]),
        reply(vec![call("c2")]),
        result("c2", "two"),
        result("c1", "one"),
        result("c1", "again"),
        result("elsewhere", "lost"),
        Body::reply("done"),
    ]);
    assert_eq!(told(&messages), ["> go", "a c1? c2?", "> c2=two c1=one", "done"]);
}

#[test]
fn a_call_without_a_result_gets_one() {
    let messages = read(vec![
        Body::prompt("go"),
        reply(vec![call("c1"), call("c2")]),
        result("c1", "one"),
        Body::Interrupted(Interruption::Wanted),
        Body::prompt("next"),
        result("c2", "too late"),
        reply(vec![call("c3")]),
    ]);
    assert_eq!(
        told(&messages),
        [
            "> go",
            "c1? c2?",
            &format!("> c1=one c2!{NO_RESULT}"),
            "> next",
            "c3?",
            &format!("> c3!{NO_RESULT}"),
        ]
    );
}

#[test]
fn thinking_returns_only_to_the_model_that_signed_it() {
    let signed = |model_name: &str| {
        Body::Reply(Reply {
            blocks: vec![
                Block::Thinking("hm".into()),
                Block::Other { kind: "redacted_thinking".into() },
                Block::Thinking("unsigned".into()),
                Block::Text("a".into()),
            ],
            model: Some(model(model_name)),
            signatures: vec![
                Signature { block: 0, data: "s".into() },
                Signature { block: 1, data: "r".into() },
            ],
            ..Reply::default()
        })
    };
    assert_eq!(told(&read(vec![Body::prompt("go"), signed("m")])), ["> go", "(hm s) ((r)) a"]);
    assert_eq!(told(&read(vec![Body::prompt("go"), signed("other")])), ["> go", "a"]);
}

#[test]
fn thinking_that_is_an_entry_of_its_own_belongs_to_the_answer_behind_it() {
    let thinking = Body::Reply(Reply {
        blocks: vec![Block::Thinking("hm".into())],
        model: Some(model("m")),
        signatures: vec![Signature { block: 0, data: "s".into() }],
        ..Reply::default()
    });
    let messages =
        read(vec![Body::prompt("go"), thinking.clone(), Body::reply("a"), Body::prompt("b"), thinking]);
    assert_eq!(told(&messages), ["> go", "(hm s) a", "> b"]);
}

#[test]
fn no_answer_ends_in_thinking() {
    let signed = |blocks: Vec<Block>, block| {
        Body::Reply(Reply {
            blocks,
            model: Some(model("m")),
            signatures: vec![Signature { block, data: "s".into() }],
            ..Reply::default()
        })
    };
    let thinking = || Block::Thinking("hm".into());
    let cut = signed(vec![Block::Text("a".into()), thinking()], 1);
    assert_eq!(told(&read(vec![Body::prompt("go"), cut, Body::prompt("b")])), ["> go", "a", "> b"]);
    let behind = signed(vec![thinking()], 0);
    let said = vec![Body::prompt("go"), Body::reply("a"), behind.clone(), Body::prompt("b")];
    assert_eq!(told(&read(said)), ["> go", "a", "> b"]);
    let said = vec![Body::prompt("go"), Body::reply("a"), behind, Body::reply("b")];
    assert_eq!(told(&read(said)), ["> go", "a (hm s) b"]);
}

/// Ollama calls the first call of each answer `call_0`; Anthropic wants every id once.
#[test]
fn an_id_that_was_used_before_is_sent_as_another_one() {
    let messages = read(vec![
        Body::prompt("go"),
        reply(vec![call("c")]),
        result("c", "one"),
        reply(vec![call("c")]),
        result("c", "two"),
    ]);
    assert_eq!(told(&messages), ["> go", "c?", "> c=one", "c-2?", "> c-2=two"]);
}

#[test]
fn the_model_hears_that_its_input_was_changed() {
    let Body::ToolResult(mut changed) = result("c", "done") else { panic!() };
    changed.changed_input = Some(Box::new(json!({ "path": "b" })));
    let messages = read(vec![Body::prompt("go"), reply(vec![call("c")]), Body::ToolResult(changed)]);
    let result = "> c=The person changed the input of this call to: {\"path\":\"b\"}\n\ndone";
    assert_eq!(told(&messages), ["> go", "c?", result]);
}

#[test]
fn failed_answers_are_not_read_and_a_beginning_is_made_up() {
    let failed = Body::Reply(Reply {
        blocks: vec![Block::Text("half".into())],
        stop: Some(Stop::Error("lost".into())),
        ..Reply::default()
    });
    assert_eq!(told(&read(vec![Body::prompt("go"), failed, Body::reply("a")])), ["> go", "a"]);
    assert_eq!(told(&read(vec![Body::reply("a")])), [&format!("> {BEGINNING}"), "a"]);
}

#[test]
fn a_prompt_brings_its_images_and_names_its_files() {
    let image = |data| Block::Image { media_type: "image/png".into(), data };
    let prompt = Body::Prompt(Prompt {
        blocks: vec![
            Block::Text("look".into()),
            image(ImageData::Inline("AAAA".into())),
            image(ImageData::Blob("gone".into())),
        ],
        attachments: vec!["a.rs".into()],
        said_at: None,
    });
    assert_eq!(
        told(&read(vec![prompt])),
        ["> look image/png [an image that is not available] Attached files: a.rs"]
    );
}

#[test]
fn ids_of_other_programs_are_made_plain_and_stay_apart() {
    assert_eq!(wire_id(&"toolu_01-Ab".into()), "toolu_01-Ab");
    let (one, other) = (wire_id(&"call|1".into()), wire_id(&"call|2".into()));
    assert!(one != other && one.starts_with("call_") && one.len() <= 40);
    assert!(wire_id(&"x".repeat(41).into()).len() <= 40);
}

/// An entry of a random tree: where it hangs, and what it is.
#[derive(Clone, Debug)]
struct Planted {
    parent: usize,
    kind: u8,
}

/// What hangs below an entry has its number in every text. A result answers the last open call above it.
fn grow(planted: &[Planted]) -> Vec<Vec<Arc<Entry>>> {
    let mut paths: Vec<Vec<Arc<Entry>>> = Vec::new();
    for (at, Planted { parent, kind }) in planted.iter().enumerate() {
        let above = if paths.is_empty() { Vec::new() } else { paths[parent % paths.len()].clone() };
        let open = open_call(&above);
        let body = match (kind % 6, open) {
            (0 | 1, _) => Body::prompt(format!("[p{at}]")),
            (2, _) => reply(vec![Block::Text(format!("[r{at}]"))]),
            (3, _) => reply(vec![
                Block::Text(format!("[r{at}]")),
                call(&format!("[c{at}]")),
                call(&format!("[d{at}]")),
            ]),
            (4, Some(open)) => result(&open, &format!("[t{at}]")),
            (5, _) => Body::Setting(Setting::Thinking(Some("low".into()))),
            _ => Body::Interrupted(Interruption::Wanted),
        };
        let id = format!("e{at}").into();
        let parent = above.last().map(|entry| entry.id.clone());
        let entry = Entry { id, parent, written_at: Timestamp::UNIX_EPOCH, turn: None, body };
        let mut path = above;
        path.push(Arc::new(entry));
        paths.push(path);
    }
    paths
}

fn open_call(path: &[Arc<Entry>]) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    for entry in path {
        match &entry.body {
            Body::Prompt(_) => open.clear(),
            Body::Reply(reply) => open.extend(reply.tool_uses().map(|call| call.id.to_string())),
            Body::ToolResult(result) => open.retain(|call| *call != result.call.to_string()),
            _ => {}
        }
    }
    open.pop()
}

/// What was said on a path, in order: the marks of prompts, answers and results. A result that comes behind another prompt
/// or another answer is too late: its call has one.
fn marks_of(path: &[Arc<Entry>]) -> Vec<String> {
    let (mut marks, mut open, mut has_result) = (Vec::new(), Vec::new(), false);
    for entry in path {
        let is_said = match &entry.body {
            Body::Prompt(_) => {
                open.clear();
                true
            }
            Body::Reply(reply) => {
                if std::mem::take(&mut has_result) {
                    open.clear();
                }
                open.extend(reply.tool_uses().map(|call| call.id.clone()));
                true
            }
            Body::ToolResult(result) => {
                let at = open.iter().position(|call| *call == result.call);
                has_result |= at.is_some();
                at.map(|at| open.remove(at)).is_some()
            }
            _ => false,
        };
        marks.extend(is_said.then(|| entry.body.text()).filter(|text| !text.is_empty()));
    }
    marks
}

fn request(wire: Wire, path: &[Arc<Entry>]) -> String {
    let messages = messages_of(&path.iter().collect::<Vec<_>>(), &model("m"));
    let conversation = Conversation { system: "s".into(), messages };
    let request = ModelRequest { model: "m", conversation: &conversation, tools: &[], thinking: None };
    let mut body = wire.body(&request);
    unmark(&mut body);
    body.to_string()
}

/// Marks for the cache move with the end of the conversation and belong to no message.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.shift_remove("cache_control");
            object.values_mut().for_each(unmark);
        }
        Value::Array(values) => values.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn places(text: &str, marks: &[String]) -> Vec<Option<usize>> {
    marks.iter().map(|mark| text.find(mark.as_str())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After any edits, forks and switches a request holds what was said on its path, in order, and nothing else.
    #[test]
    fn a_request_holds_exactly_its_path(planted in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..24)) {
        let planted: Vec<Planted> = planted.into_iter().map(|(parent, kind)| Planted { parent, kind }).collect();
        let paths = grow(&planted);
        for path in &paths {
            for wire in [Wire::Anthropic, Wire::OpenAi] {
                let text = request(wire, path);
                let places = places(&text, &marks_of(path));
                prop_assert!(places.iter().all(Option::is_some), "{places:?} in {text}");
                prop_assert!(places.is_sorted(), "{places:?} in {text}");
                let on_path: Vec<&str> = path.iter().map(|entry| entry.id.as_str()).collect();
                for at in 0..planted.len() {
                    let is_there = ["p", "r", "c", "d", "t"].iter().any(|kind| text.contains(&format!("[{kind}{at}]")));
                    prop_assert!(!is_there || on_path.contains(&format!("e{at}").as_str()), "{at} in {text}");
                }
            }
        }
    }

    /// A fork begins with the bytes of the branch that it was forked from, up to the prompt that makes it another one.
    #[test]
    fn a_fork_begins_with_the_same_bytes(planted in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..24)) {
        let planted: Vec<Planted> = planted.into_iter().map(|(parent, kind)| Planted { parent, kind }).collect();
        for path in &grow(&planted) {
            for (at, entry) in path.iter().enumerate().filter(|(_, entry)| entry.body.is_prompt()) {
                for wire in [Wire::Anthropic, Wire::OpenAi] {
                    let above = request(wire, &path[..at]);
                    let (above, whole) = (above.trim_end_matches("]}"), request(wire, path));
                    prop_assert!(whole.starts_with(above), "{} at {}:\n{above}\n{whole}", entry.id, at);
                }
            }
        }
    }
}
