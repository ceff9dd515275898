//! What is said, in every protocol.

use offshoot_testkit::model::{Script, call, say, think};
use serde_json::{Value, json};

use crate::client::{ALL, CHAT, GEMINI, MESSAGES, RESPONSES, ask, connect, post, server};

fn script() -> Script {
    Script::new()
        .when("look", [think("Hm. Files."), say("Looking…"), call("Bash", json!({"command": "ls"}))])
        .then([say("Two files.")])
}

#[test]
fn a_prompt_that_no_rule_fits_is_echoed() {
    let server = server(Script::new());
    for wire in ALL {
        let mut answer = wire.streamed(&server, "Grüße");
        assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
        assert_eq!(wire.said(&answer.events()).concat(), "You said: Grüße", "{}", wire.path);
        assert!(answer.is_whole);
        let told = wire.whole(&server, "Grüße").text();
        assert!(told.contains("You said: Grüße"), "{told}");
    }
}

#[test]
fn a_text_comes_in_as_many_pieces_as_it_should() {
    let script = Script::new().when("count", [say("one two three four").in_pieces(6)]);
    let server = server(script);
    for wire in ALL {
        let said = wire.said(&wire.streamed(&server, "count").events());
        assert_eq!(said, ["one", " tw", "o t", "hre", "e f", "our"], "{}", wire.path);
    }
}

#[test]
fn anthropic_streams_blocks() {
    let server = server(script());
    let events = MESSAGES.streamed(&server, "look").events();
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let mut once = kinds.clone();
    once.dedup();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let mut expected = vec!["message_start", "ping"];
    (0..3).for_each(|_| expected.extend(block));
    expected.extend(["message_delta", "message_stop"]);
    assert_eq!(once, expected);
    let gathered = |place: &str| {
        events.iter().filter_map(|event| event.pointer(place)?.as_str()).collect::<Vec<_>>().concat()
    };
    assert_eq!(gathered(MESSAGES.thought), "Hm. Files.");
    assert_eq!(gathered("/delta/partial_json"), "{\"command\":\"ls\"}");
    assert_eq!(gathered("/content_block/name"), "Bash");
    assert_eq!(gathered("/delta/stop_reason"), "tool_use");
}

#[test]
fn anthropic_says_it_whole() {
    let server = server(script());
    let message = MESSAGES.whole(&server, "look").json();
    let kinds: Vec<_> = message["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    assert_eq!(message["content"][2]["input"], json!({"command": "ls"}));
    assert_eq!((&message["stop_reason"], &message["model"]), (&json!("tool_use"), &json!("m-1")));
    assert!(message["usage"]["input_tokens"].as_u64() > Some(0));
}

#[test]
fn chat_streams_deltas_and_says_when_it_is_done() {
    let server = server(script());
    let mut request = CHAT.request("look", true);
    request["stream_options"] = json!({"include_usage": true});
    let text = post(&server, CHAT.path, &request).text();
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let events = CHAT.streamed(&server, "look").events();
    assert_eq!(CHAT.said(&events).concat(), "Looking…");
    let gathered = |place: &str| {
        events.iter().filter_map(|event| event.pointer(place)?.as_str()).collect::<Vec<_>>().concat()
    };
    assert_eq!(gathered("/choices/0/delta/tool_calls/0/function/name"), "Bash");
    assert_eq!(gathered("/choices/0/delta/tool_calls/0/function/arguments"), "{\"command\":\"ls\"}");
    assert_eq!(gathered(CHAT.thought), "Hm. Files.");
    assert_eq!(gathered("/choices/0/finish_reason"), "tool_calls");
    assert!(!text.contains("\"usage\":null") && text.contains("prompt_tokens"), "asked for, so it comes");
    assert!(events.iter().all(|event| event.get("usage").is_none()), "and else it does not");
}

#[test]
fn chat_says_it_whole() {
    let server = server(script());
    let message = CHAT.whole(&server, "look").json();
    let said = &message["choices"][0]["message"];
    assert_eq!((&said["content"], &said["reasoning_content"]), (&json!("Looking…"), &json!("Hm. Files.")));
    assert_eq!(said["tool_calls"][0]["function"]["arguments"], "{\"command\":\"ls\"}");
}

#[test]
fn responses_stream_items_and_complete() {
    let server = server(script());
    let events = RESPONSES.streamed(&server, "look").events();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], at);
    }
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    let items = last["response"]["output"].as_array().unwrap();
    let kinds: Vec<_> = items.iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
    let done: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|e| &e["item"])
        .collect();
    assert_eq!(done, items.iter().collect::<Vec<_>>());
    assert_eq!(items[2]["arguments"], "{\"command\":\"ls\"}");
    assert_eq!(RESPONSES.whole(&server, "look").json()["output"][2]["name"], "Bash");
}

#[test]
fn gemini_streams_parts() {
    let server = server(script());
    let events = GEMINI.streamed(&server, "look").events();
    let parts: Vec<&Value> =
        events.iter().filter_map(|event| event.pointer("/candidates/0/content/parts/0")).collect();
    let thoughts = parts.iter().filter(|part| part["thought"] == true);
    assert_eq!(thoughts.filter_map(|part| part["text"].as_str()).collect::<String>(), "Hm. Files.");
    let call = parts.iter().find_map(|part| part.get("functionCall")).unwrap();
    assert_eq!((&call["name"], &call["args"]), (&json!("Bash"), &json!({"command": "ls"})));
    assert_eq!(events.last().unwrap()["candidates"][0]["finishReason"], "STOP");
    let whole = GEMINI.whole(&server, "look").json();
    assert_eq!(whole["candidates"][0]["content"]["parts"].as_array().unwrap().len(), 3);
    assert_eq!(whole["modelVersion"], "g-1");
}

/// The conversation in a request tells how far the answer is, so nothing has to be remembered.
#[test]
fn behind_the_result_of_a_call_comes_the_next_reply() {
    let server = server(script());
    let called = json!({"role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"},
        {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"}]});
    let mut messages = MESSAGES.request("look", false);
    messages["messages"].as_array_mut().unwrap().extend([called, result]);
    assert_eq!(post(&server, MESSAGES.path, &messages).json()["content"][0]["text"], "Two files.");

    let mut chat = CHAT.request("look", false);
    let called = json!({"id": "t", "type": "function", "function": {"name": "Bash", "arguments": "{}"}});
    let more = [
        json!({"role": "assistant", "content": null, "tool_calls": [called]}),
        json!({"role": "tool", "tool_call_id": "t", "content": "a b"}),
    ];
    chat["messages"].as_array_mut().unwrap().extend(more);
    assert_eq!(post(&server, CHAT.path, &chat).json()["choices"][0]["message"]["content"], "Two files.");

    let mut responses = RESPONSES.request("look", false);
    let more = [
        json!({"type": "reasoning"}),
        json!({"type": "function_call"}),
        json!({"type": "function_call_output"}),
    ];
    responses["input"].as_array_mut().unwrap().extend(more);
    let told = post(&server, RESPONSES.path, &responses).json();
    assert_eq!(told["output"][0]["content"][0]["text"], "Two files.");

    let mut gemini = GEMINI.request("look", false);
    let more = [
        json!({"role": "model", "parts": [{"functionCall": {"name": "Bash"}}]}),
        json!({"role": "user", "parts": [{"functionResponse": {"name": "Bash"}}]}),
    ];
    gemini["contents"].as_array_mut().unwrap().extend(more);
    let told = post(&server, GEMINI.path, &gemini).json();
    assert_eq!(told["candidates"][0]["content"]["parts"][0]["text"], "Two files.");
}

#[test]
fn an_answer_in_a_schema_is_made_up() {
    let server = server(script());
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}});
    let mut messages = MESSAGES.request("look", false);
    messages["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
    let told = post(&server, MESSAGES.path, &messages).json();
    assert_eq!(told["content"][0]["text"], "{\"title\":\"Made up\"}");
    let mut gemini = GEMINI.request("look", false);
    gemini["generationConfig"] = json!({"responseJsonSchema": schema});
    let told = post(&server, GEMINI.path, &gemini).text();
    assert!(told.contains("Made up"), "{told}");
}

#[test]
fn who_offers_no_tools_gets_no_calls() {
    let server = server(script());
    let mut request = CHAT.request("look", false);
    request["tools"] = json!([]);
    let told = post(&server, CHAT.path, &request).json();
    assert_eq!(told["choices"][0]["message"]["content"], "Looking…");
    assert_eq!(told["choices"][0]["message"].get("tool_calls"), None);
}

#[test]
fn what_else_programs_ask_is_answered() {
    let server = server(Script::new());
    let counted = post(&server, "/v1/messages/count_tokens?beta=true", &MESSAGES.request("hi", false)).json();
    assert!(counted["input_tokens"].as_u64() > Some(0));
    let counted = post(&server, "/v1beta/models/g-1:countTokens", &GEMINI.request("hi", false)).json();
    assert!(counted["totalTokens"].as_u64() > Some(0));
    let models = ask(connect(&server), "GET", "/v1/models", &Value::Null).unwrap().json();
    assert_eq!(models["data"][0]["id"], "scripted");
    assert_eq!(ask(connect(&server), "HEAD", "/", &Value::Null).unwrap().status, 200);
    assert_eq!(post(&server, "/v1/elsewhere", &json!({})).status, 404);
}

#[test]
fn a_prompt_can_bring_its_own_script() {
    let server = server(Script::new());
    let prompt = "%say Looking.\n%call Bash {\"command\": \"pwd\"}\n%then\n%say Done.";
    let told = MESSAGES.whole(&server, prompt).json();
    assert_eq!(told["content"][1]["input"]["command"], "pwd");
}
