//! Requests that the real servers refuse.

use offshoot_testkit::model::{End, Script};
use serde_json::{Value, json};

use crate::client::{CHAT, MESSAGES, Wire, post, server};

/// The words of the refusal; empty where the request was answered.
fn refusal(wire: &Wire, more: Value) -> String {
    let server = server(Script::new());
    let mut body = wire.request("hi", false);
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    let mut answer = post(&server, wire.path, &body);
    let told = answer.json();
    let said = told["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert_eq!(answer.status, if said.is_empty() { 200 } else { 400 }, "{told}");
    assert_eq!(told["error"]["type"] == "invalid_request_error", !said.is_empty());
    let end = if said.is_empty() { End::Answered } else { End::Refused(said.clone()) };
    assert!(server.wait_until(|requests| requests[0].end == Some(end.clone())));
    said
}

#[track_caller]
fn check(wire: &Wire, more: Value, words: &str) {
    let said = refusal(wire, more);
    assert!(said.contains(words) && said.is_empty() == words.is_empty(), "`{said}` is not `{words}`");
}

/// Messages of a user and of the model, in turns: text, or blocks.
fn turns<const N: usize>(contents: [Value; N]) -> Value {
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages: Vec<Value> =
        roles.zip(contents).map(|(role, content)| json!({ "role": role, "content": content })).collect();
    json!({ "messages": messages })
}

#[test]
fn anthropic_wants_every_call_answered_at_once() {
    let check = |more, words| check(&MESSAGES, more, words);
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "ls", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "a" });
    let text = json!({ "type": "text", "text": "also" });
    check(turns([json!("hi"), json!([call("a"), call("b")]), json!([result("b"), result("a"), text])]), "");
    check(turns([json!("hi"), json!([call("a"), call("b")]), json!([result("a")])]), "were found without");
    check(turns([json!("hi"), json!([call("a")])]), "were found without `tool_result` blocks");
    check(turns([json!("hi"), json!([call("a")]), json!([text, result("a")])]), "were found without");
    check(turns([json!([result("a")])]), "unexpected `tool_use_id`");
    check(turns([json!("hi"), json!([call("a")]), json!([result("a"), result("a")])]), "unexpected");
    let again =
        [json!("hi"), json!([call("a")]), json!([result("a")]), json!([call("a")]), json!([result("a")])];
    check(turns(again), "must be unique");
    check(turns([json!("hi"), json!([call("a b")])]), "should match pattern");
}

#[test]
fn anthropic_merges_messages_of_one_role_and_wants_a_user_first() {
    let said = |role: &str, content: Value| json!({ "role": role, "content": content });
    let check = |messages: &[Value], words| check(&MESSAGES, json!({ "messages": messages }), words);
    check(&[said("user", "a".into()), said("user", "b".into()), said("assistant", "c".into())], "");
    check(&[said("assistant", "a".into())], "first message must use");
    check(&[], "at least one message");
    check(&[said("user", "".into())], "non-empty content");
    check(&[said("tool", "a".into())], "Unexpected role");
    check(&[said("user", json!([{ "type": "text", "text": " " }]))], "non-whitespace text");
}

#[test]
fn anthropic_wants_thinking_signed_and_within_the_answer() {
    let check = |more, words| check(&MESSAGES, more, words);
    let thinking = |signature: &str| json!({ "type": "thinking", "thinking": "hm", "signature": signature });
    let text = json!({ "type": "text", "text": "a" });
    check(turns([json!("hi"), json!([thinking("s"), text]), json!("and")]), "");
    check(turns([json!("hi"), json!([thinking(""), text]), json!("and")]), "signature: Field required");
    check(turns([json!("hi"), json!([text, thinking("s")]), json!("and")]), "cannot be `thinking`");
    let budget = |tokens: u32, most: u32| json!({ "max_tokens": most, "thinking": { "type": "enabled", "budget_tokens": tokens } });
    check(budget(1024, 1025), "");
    check(budget(1024, 1024), "must be greater than");
    check(budget(1023, 9999), "at least 1024");
    check(json!({ "max_tokens": null }), "max_tokens: Field required");
}

#[test]
fn anthropic_counts_marks_and_reads_certain_images() {
    let marked =
        |text: &str| json!({ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } });
    let marks = |count: usize| json!([{ "role": "user", "content": vec![marked("a"); count] }]);
    check(&MESSAGES, json!({ "messages": marks(3), "system": [marked("s")] }), "");
    check(&MESSAGES, json!({ "messages": marks(4), "system": [marked("s")] }), "Found 5");
    let image = |kind: &str| {
        let source = json!({ "type": "base64", "media_type": kind, "data": "AAAA" });
        turns([json!([{ "type": "image", "source": source }])])
    };
    check(&MESSAGES, image("image/webp"), "");
    check(&MESSAGES, image("image/bmp"), "media_type: Input should be");
}

#[test]
fn openai_wants_every_call_answered_at_once() {
    let call = |id: &str, arguments: Value| {
        let function = json!({ "name": "ls", "arguments": arguments });
        json!({ "role": "assistant", "content": null,
            "tool_calls": [{ "id": id, "type": "function", "function": function }] })
    };
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "a" });
    let user = json!({ "role": "user", "content": "hi" });
    let check = |messages: &[&Value], words| check(&CHAT, json!({ "messages": messages }), words);
    check(&[&user, &call("a", json!("{}")), &result("a"), &user], "");
    check(&[&user, &call("a", json!("{}"))], "must be followed by tool messages");
    check(&[&user, &call("a", json!("{}")), &user], "must be followed by tool messages");
    check(&[&user, &result("a")], "must be a response to a preceeding message");
    check(&[&user, &call("a", json!("{}")), &result("b")], "must be a response to a preceeding message");
    check(&[&user, &call("a", json!({})), &result("a")], "expected a string");
    check(&[&user, &call("a", json!("{")), &result("a")], "is not JSON");
    check(&[&user, &call(&"a".repeat(41), json!("{}"))], "a length of 1 to 40");
}

#[test]
fn openai_wants_contents_of_their_kind() {
    let said = |role: &str, content: Value| json!({ "messages": [{ "role": role, "content": content }] });
    let image = json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }]);
    check(&CHAT, said("user", image.clone()), "");
    check(&CHAT, said("system", image), "Supported values");
    check(&CHAT, said("assistant", Value::Null), "Invalid value for");
    check(&CHAT, said("user", json!([])), "Invalid value for");
    check(&CHAT, json!({ "stream_options": { "include_usage": true } }), "only allowed when 'stream'");
}
