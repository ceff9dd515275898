//! Recorded and written streams, read whole and in pieces of any size.

use offshoot_session::{Stop, Usage};
use proptest::prelude::*;
use serde_json::json;

use super::{Decoder, ModelRequest, Piece, Refusal, RefusalKind, Wire};
use crate::llm::conversation::{AnswerPart, Conversation, Message, UserPart};
use crate::llm::tools::ToolDefinition;

/// Thinking with its signature, text, a call and a redacted block, as Anthropic streams them.
const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":25,"cache_creation_input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Größer"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwK"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hello"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// As OpenAI streams two calls, with the usage in a chunk of its own.
const OPENAI: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"Grüße"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"list","arguments":"{}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":12,"total_tokens":42,"prompt_tokens_details":{"cached_tokens":10}}}

data: [DONE]

"#;

fn read(wire: Wire, stream: &str) -> Vec<Piece> {
    let mut decoder = wire.decoder();
    let mut pieces = decoder.push(stream.as_bytes());
    pieces.extend(decoder.finish());
    pieces
}

fn chunks(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

fn text(block: u32, text: &str) -> Piece {
    Piece::Text { block, text: text.into() }
}

fn thinking(block: u32, text: &str) -> Piece {
    Piece::Thinking { block, text: text.into() }
}

fn call(block: u32, id: Option<&str>, name: &str) -> Piece {
    Piece::CallStarted { block, id: id.map(Into::into), name: name.into() }
}

fn input(block: u32, json: &str) -> Piece {
    Piece::CallInput { block, json: json.into() }
}

#[test]
fn a_stream_of_anthropic_is_read() {
    let usage = Usage { input: 25, output: 1, cache_read: 7, cache_write: 3, ..Usage::default() };
    assert_eq!(
        read(Wire::Anthropic, ANTHROPIC),
        [
            Piece::Usage(usage),
            thinking(0, "Größer"),
            Piece::Signature { block: 0, data: "EqQB".into() },
            Piece::BlockEnded { block: 0 },
            Piece::RedactedThinking { block: 1, data: "EmwK".into() },
            Piece::BlockEnded { block: 1 },
            text(2, "Hello"),
            Piece::BlockEnded { block: 2 },
            call(3, Some("toolu_1"), "read"),
            input(3, "{\"path\": \"a\"}"),
            Piece::BlockEnded { block: 3 },
            Piece::Usage(Usage { output: 89, ..Usage::default() }),
            Piece::Stop(Stop::ToolUse),
            Piece::End,
        ]
    );
}

#[test]
fn a_stream_of_openai_is_read() {
    assert_eq!(
        read(Wire::OpenAi, OPENAI),
        [
            text(0, "Grüße"),
            call(1, Some("call_1"), "read"),
            input(1, "{\"path\":"),
            input(1, "\"a\"}"),
            call(2, Some("call_2"), "list"),
            input(2, "{}"),
            Piece::Stop(Stop::ToolUse),
            Piece::Usage(Usage { input: 20, output: 12, cache_read: 10, ..Usage::default() }),
            Piece::End,
        ]
    );
}

#[test]
fn what_other_servers_send_is_read_too() {
    // Ollama: reasoning, whole calls with the same number, the usage with the last choice.
    let ollama = chunks(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":"","reasoning":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"","reasoning":"m"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","index":0,"function":{"name":"x","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","index":0,"function":{"name":"y","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
        "[DONE]",
    ]);
    assert_eq!(
        read(Wire::OpenAi, &ollama),
        [
            thinking(0, "hm"),
            thinking(0, "m"),
            call(1, Some("a"), "x"),
            input(1, "{}"),
            call(2, Some("b"), "y"),
            input(2, "{}"),
            Piece::Usage(Usage { input: 1, output: 2, ..Usage::default() }),
            Piece::Stop(Stop::ToolUse),
            Piece::End,
        ]
    );
    // vLLM and llama.cpp: `reasoning_content`, calls without id or number, no end.
    let llama = chunks(&[
        r#"{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"x","arguments":{"p":1}}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"y","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
    ]);
    assert_eq!(
        read(Wire::OpenAi, &llama),
        [
            thinking(0, "hm"),
            text(1, "a"),
            call(2, None, "x"),
            input(2, "{\"p\":1}"),
            call(3, None, "y"),
            input(3, "{"),
            input(3, "}"),
            Piece::Stop(Stop::Length),
        ]
    );
}

#[test]
fn failures_are_told_in_the_words_of_the_server() {
    let failure = |wire, data: &str| match read(wire, &chunks(&[data])).as_slice() {
        [Piece::Error(refusal)] => refusal.clone(),
        other => panic!("{other:?}"),
    };
    for (wire, data, kind, text) in [
        (
            Wire::Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            RefusalKind::Overloaded,
            "Overloaded",
        ),
        (
            Wire::Anthropic,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens"}}"#,
            RefusalKind::ContextFull,
            "prompt is too long: 9 tokens",
        ),
        (
            Wire::OpenAi,
            r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            RefusalKind::ContextFull,
            "too long",
        ),
        (Wire::OpenAi, r#"{"error":"model not loaded"}"#, RefusalKind::Server, "model not loaded"),
        (Wire::OpenAi, r#"{"this is": no"#, RefusalKind::Unreadable, "an event is no JSON"),
        (Wire::Anthropic, "nonsense", RefusalKind::Unreadable, "an event is no JSON"),
    ] {
        assert_eq!(failure(wire, data), Refusal::new(kind, text));
    }
}

/// A proxy that cuts a stream off ends it as if it were complete.
#[test]
fn an_event_that_is_cut_off_is_none() {
    for (wire, stream) in [(Wire::Anthropic, ANTHROPIC), (Wire::OpenAi, OPENAI)] {
        for length in (0..stream.len()).filter(|length| stream.is_char_boundary(*length)) {
            let pieces = read(wire, &stream[..length]);
            assert!(!pieces.iter().any(|piece| matches!(piece, Piece::Error(_))), "{pieces:?}");
        }
    }
}

#[test]
fn an_event_without_data_keeps_the_connection_open() {
    for (wire, stream) in [(Wire::Anthropic, ANTHROPIC), (Wire::OpenAi, OPENAI)] {
        assert_eq!(read(wire, &format!("data:\n\ndata: \n\n{stream}")), read(wire, stream));
    }
}

#[test]
fn an_answer_that_comes_whole_is_read() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi.","tool_calls":[
        {"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    assert_eq!(
        Wire::OpenAi.decoder().whole(body.as_bytes()),
        [
            text(0, "Hi."),
            call(1, Some("a"), "x"),
            input(1, "{}"),
            Piece::Usage(Usage { input: 3, output: 2, ..Usage::default() }),
            Piece::Stop(Stop::ToolUse),
        ]
    );
}

fn in_chunks(mut decoder: Decoder, bytes: &[u8], cuts: &[usize]) -> Vec<Piece> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let mut pieces: Vec<Piece> =
        cuts.windows(2).flat_map(|cut| decoder.push(&bytes[cut[0]..cut[1]])).collect();
    pieces.extend(decoder.finish());
    pieces
}

proptest! {
    /// The network cuts a stream anywhere: into events, lines and characters.
    #[test]
    fn a_stream_is_the_same_however_it_is_cut(cuts in proptest::collection::vec(any::<usize>(), 0..40), crlf: bool) {
        for (wire, stream) in [(Wire::Anthropic, ANTHROPIC), (Wire::OpenAi, OPENAI)] {
            let stream = if crlf { stream.replace('\n', "\r\n") } else { stream.to_owned() };
            prop_assert_eq!(in_chunks(wire.decoder(), stream.as_bytes(), &cuts), read(wire, &stream));
        }
    }

    #[test]
    fn any_bytes_are_read_the_same_however_they_are_cut(
        lines in proptest::collection::vec("(data: )?[ -~]{0,12}[\r\n]{0,2}", 0..12),
        cuts in proptest::collection::vec(any::<usize>(), 0..10),
    ) {
        let stream = lines.concat();
        for wire in [Wire::Anthropic, Wire::OpenAi] {
            prop_assert_eq!(in_chunks(wire.decoder(), stream.as_bytes(), &cuts), read(wire, &stream));
        }
    }
}

fn conversation() -> Conversation {
    Conversation {
        system: "Be brief.".into(),
        messages: vec![
            Message::User(vec![
                UserPart::Text("Look".into()),
                UserPart::Image { media_type: "image/png".into(), base64: "iVBO".into() },
            ]),
            Message::Answer(vec![
                AnswerPart::Thinking { text: "hm".into(), signature: "sig".into() },
                AnswerPart::RedactedThinking("red".into()),
                AnswerPart::Text("Reading.".into()),
                AnswerPart::Call { id: "c1".into(), name: "read".into(), input: json!({ "path": "a" }) },
                AnswerPart::Call { id: "c 2".into(), name: "mcp.x".into(), input: json!({}) },
            ]),
            Message::User(vec![
                UserPart::Result {
                    call: "c1".into(),
                    text: "contents".into(),
                    images: vec![("image/png".into(), "AAAA".into())],
                    failed: false,
                },
                UserPart::Result { call: "c 2".into(), text: "no".into(), images: Vec::new(), failed: true },
            ]),
            Message::Answer(vec![AnswerPart::Text("Done.".into())]),
            Message::User(vec![UserPart::Text("Thanks".into())]),
        ],
    }
}

fn request(wire: Wire, model: &str, thinking: Option<&str>) -> String {
    let tools = [ToolDefinition {
        name: "read",
        description: "Reads a file.",
        schema: json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
    }];
    let conversation = conversation();
    let body = wire.body(&ModelRequest { model, conversation: &conversation, tools: &tools, thinking });
    serde_json::to_string_pretty(&body).unwrap()
}

#[test]
fn requests_are_as_they_were() {
    insta::assert_snapshot!("anthropic", request(Wire::Anthropic, "claude-sonnet-4-5", Some("low")));
    insta::assert_snapshot!("openai", request(Wire::OpenAi, "gpt-5", Some("high")));
}

#[test]
fn thinking_is_asked_for_as_the_model_takes_it() {
    let asked = |model: &str, level| {
        let body: serde_json::Value = serde_json::from_str(&request(Wire::Anthropic, model, level)).unwrap();
        (body["thinking"].clone(), body["output_config"].clone())
    };
    let nothing = serde_json::Value::Null;
    assert_eq!(asked("claude-opus-5", None), (nothing.clone(), nothing.clone()));
    assert_eq!(asked("claude-opus-5", Some("off")), (json!({ "type": "disabled" }), nothing.clone()));
    assert_eq!(
        asked("claude-opus-5", Some("high")),
        (json!({ "type": "adaptive", "display": "summarized" }), json!({ "effort": "high" }))
    );
    assert_eq!(
        asked("claude-opus-4-5", Some("high")),
        (json!({ "type": "enabled", "budget_tokens": 16_000 }), nothing.clone())
    );
    assert_eq!(
        asked("claude-haiku-4-5-20251001", Some("minimal")),
        (json!({ "type": "enabled", "budget_tokens": 1024 }), nothing)
    );
}

#[test]
fn a_model_with_a_budget_does_not_think_behind_calls_that_were_made_without() {
    let asked = |first: Option<AnswerPart>| {
        let call = AnswerPart::Call { id: "c".into(), name: "read".into(), input: json!({}) };
        let answer = first.into_iter().chain([call]).collect();
        let messages = vec![Message::User(vec![UserPart::Text("a".into())]), Message::Answer(answer)];
        let conversation = Conversation { system: String::new(), messages };
        let (model, thinking) = ("claude-sonnet-4-5", Some("low"));
        let body =
            Wire::Anthropic.body(&ModelRequest { model, conversation: &conversation, tools: &[], thinking });
        body.get("thinking").is_some()
    };
    assert!(!asked(None));
    assert!(asked(Some(AnswerPart::Thinking { text: "hm".into(), signature: "s".into() })));
}
