//! Who says what.

use offshoot_session::{Block, Body, ImageData, Model, Stop};
use serde_json::{Value, json};

use crate::file::{answer, body, call, chained, drawing, reply, said, tree, user, with};

fn kind_of(line: Value) -> String {
    match body(line) {
        Body::Prompt(_) => "prompt".to_owned(),
        Body::Interrupted(_) => "interrupted".to_owned(),
        Body::CustomMessage(message) if message.display => format!("shown {}", message.kind),
        Body::CustomMessage(message) => format!("hidden {}", message.kind),
        Body::Note(note) => format!("note {}", note.kind),
        Body::Shell(shell) => format!("shell {}", shell.command),
        other => panic!("another body: {other:?}"),
    }
}

#[test]
fn only_what_a_person_said_is_a_prompt() {
    let words = |words: &str| kind_of(user("u1", None, json!(words)));
    assert_eq!(words("hello"), "prompt");
    assert_eq!(words("<html> is a tag"), "prompt");
    assert_eq!(words("[Request interrupted by user]"), "interrupted");
    assert_eq!(words("[Request interrupted by user for tool use]"), "interrupted");
    assert_eq!(words("<command-name>/clear</command-name>"), "shown command");
    assert_eq!(words("<command-message>x is running</command-message>"), "shown command");
    assert_eq!(words("<local-command-stdout>done</local-command-stdout>"), "shown command-output");
    assert_eq!(words("<local-command-caveat>note</local-command-caveat>"), "hidden meta");
    assert_eq!(words("<system-reminder>note</system-reminder>"), "hidden meta");
    assert_eq!(words("<task-notification>\n<task-id>1</task-id>"), "shown task-notification");
    assert_eq!(words("<teammate-message teammate_id=\"ann\">hi"), "shown teammate-message");
    let flagged = |fields: Value| kind_of(with(user("u1", None, json!("words")), fields));
    assert_eq!(flagged(json!({ "isMeta": true })), "hidden meta");
    assert_eq!(flagged(json!({ "isMeta": false })), "prompt");
    assert_eq!(flagged(json!({ "isVisibleInTranscriptOnly": true })), "note transcript-only");
    assert_eq!(flagged(json!({ "origin": { "kind": "human" }, "promptSource": "typed" })), "prompt");
    assert_eq!(flagged(json!({ "origin": { "kind": "task-notification" } })), "shown task-notification");
    assert_eq!(flagged(json!({ "promptSource": "system" })), "shown system");
}

#[test]
fn a_message_in_several_lines_is_several_entries() {
    let file = [
        said("u1", None),
        reply("a2", Some("u1"), "m", json!({ "type": "thinking", "thinking": "hm", "signature": "x" })),
        reply("a3", Some("a2"), "m", json!({ "type": "text", "text": "yes" })),
        call("c4", Some("a3"), "m", "t5"),
        answer("t5", Some("c4"), "t5"),
    ];
    assert_eq!(drawing(&file), "u1 - a2 - a3\"yes\" - c4 - t5*\n");
    let tree = tree(&file);
    let Body::Reply(thinking) = &tree.entry(&"a2".into()).expect("a2").body else { panic!("no reply") };
    assert_eq!(thinking.blocks, [Block::Thinking("hm".into())]);
    assert_eq!(thinking.model, Some(Model { provider: "anthropic".into(), name: "claude-x".into() }));
    let Body::ToolResult(result) = &tree.entry(&"t5".into()).expect("t5").body else { panic!("no result") };
    assert_eq!((result.call.as_str(), result.tool.as_str(), result.failed), ("t5", "Read", false));
    assert_eq!(result.blocks, [Block::Text("found".into())]);
}

#[test]
fn a_failed_tool_says_so_and_may_answer_with_pictures() {
    let picture =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA" } });
    let content =
        json!([{ "type": "tool_result", "tool_use_id": "t", "is_error": true, "content": [picture] }]);
    let Body::ToolResult(result) = body(user("u1", None, content)) else { panic!("no result") };
    let picture = Block::Image { media_type: "image/png".into(), data: ImageData::Inline("AA".into()) };
    assert_eq!((result.failed, result.tool.as_str(), result.blocks), (true, "", vec![picture]));
}

#[test]
fn a_prompt_may_hold_pictures_and_papers() {
    let content = json!([
        { "type": "text", "text": "look" },
        { "type": "image", "source": { "type": "url", "url": "https://example.org/x.png" } },
        { "type": "document", "title": "paper.pdf", "source": {} },
    ]);
    let Body::Prompt(prompt) = body(user("u1", None, content)) else { panic!("no prompt") };
    assert_eq!(prompt.attachments, ["paper.pdf"]);
    assert!(matches!(
        &prompt.blocks[..],
        [Block::Text(_), Block::Image { data: ImageData::Blob(_), .. }, Block::Other { kind }] if kind == "document"
    ));
}

#[test]
fn how_a_reply_ended() {
    let stop = |message: Value, fields: Value| {
        let mut line = with(said("a1", None), fields);
        for (key, value) in message.as_object().expect("an object") {
            line["message"][key] = value.clone();
        }
        let Body::Reply(reply) = body(line) else { panic!("no reply") };
        (reply.stop, reply.model.map(|model| model.name))
    };
    let claude = || Some("claude-x".to_owned());
    assert_eq!(stop(json!({ "stop_reason": null }), json!({})), (None, claude()));
    assert_eq!(stop(json!({ "stop_reason": "end_turn" }), json!({})), (Some(Stop::EndTurn), claude()));
    assert_eq!(stop(json!({ "stop_reason": "tool_use" }), json!({})), (Some(Stop::ToolUse), claude()));
    assert_eq!(stop(json!({ "stop_reason": "max_tokens" }), json!({})), (Some(Stop::Length), claude()));
    assert_eq!(
        stop(json!({ "stop_reason": "refusal" }), json!({})),
        (Some(Stop::Other("refusal".into())), claude())
    );
    assert_eq!(
        stop(json!({ "model": "<synthetic>" }), json!({ "isApiErrorMessage": true })),
        (Some(Stop::Error("a1".into())), None)
    );
}

#[test]
fn a_command_of_the_person_is_one_with_its_output() {
    let file = [
        user("u1", None, json!("<bash-input>ls -l</bash-input>")),
        user("u2", Some("u1"), json!("<bash-stdout>total 0</bash-stdout><bash-stderr>oh</bash-stderr>")),
    ];
    let tree = tree(&file);
    let Body::Shell(shell) = &tree.entry(&"u1".into()).expect("u1").body else { panic!("no command") };
    assert_eq!((shell.command.as_str(), shell.output.as_str()), ("ls -l", "total 0\noh"));
    assert!(
        matches!(&tree.entry(&"u2".into()).expect("u2").body, Body::Note(note) if note.kind == "bash-output")
    );
}

#[test]
fn attachments_speak_to_the_model_or_are_notes() {
    let attached = |attachment: Value, fields: Value| {
        let line = chained("attachment", "n1", None, json!({ "attachment": attachment }));
        let body = body(with(line.clone(), fields.clone()));
        (kind_of(with(line, fields)), body.text())
    };
    let pair = |kind: &str, words: &str| (kind.to_owned(), words.to_owned());
    assert_eq!(
        attached(json!({ "type": "date" }), json!({ "rendered": [{ "content": "It is Monday." }] })),
        pair("hidden date", "It is Monday.")
    );
    assert_eq!(
        attached(json!({ "type": "hook_additional_context", "content": ["one ", "two"] }), json!({})),
        pair("hidden hook_additional_context", "one two")
    );
    assert_eq!(
        attached(json!({ "type": "file", "content": { "file": { "content": "fn main" } } }), json!({})),
        pair("hidden file", "fn main")
    );
    assert_eq!(
        attached(
            json!({ "type": "hook_blocking_error", "blockingError": { "blockingError": "no" } }),
            json!({})
        ),
        pair("hidden hook_blocking_error", "no")
    );
    assert_eq!(
        attached(json!({ "type": "hook_success", "content": "" }), json!({})),
        pair("note hook_success", "")
    );
    assert_eq!(
        attached(json!({ "type": "prompt_snapshot", "text": "secret" }), json!({})),
        pair("note prompt_snapshot", "")
    );
}

#[test]
fn what_was_said_meanwhile_is_a_prompt() {
    let queued = |fields: Value| {
        let attachment = with(json!({ "type": "queued_command", "prompt": "also this" }), fields);
        kind_of(chained("attachment", "u1", None, json!({ "attachment": attachment })))
    };
    assert_eq!(queued(json!({})), "prompt");
    assert_eq!(queued(json!({ "commandMode": "prompt", "origin": { "kind": "human" } })), "prompt");
    assert_eq!(queued(json!({ "commandMode": "task-notification" })), "shown task-notification");
}

#[test]
fn lines_of_the_system_are_notes() {
    let line = chained("system", "n1", None, json!({ "subtype": "local_command", "content": "renamed" }));
    let Body::Note(note) = body(line) else { panic!("no note") };
    assert_eq!((note.kind.as_str(), note.data), ("local_command", Some(json!({ "content": "renamed" }))));
    assert_eq!(kind_of(chained("system", "n1", None, json!({}))), "note system");
}
