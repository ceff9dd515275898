//! Sessions of Gemini CLI: a document, or lines that patch a list.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]

use offshoot_session::{Block, Body, ImageData, Odd, Record, SessionTree, Usage};
use offshoot_testkit::draw;
use offshoot_transcripts::{Dialect, Transcript, read};
use serde_json::{Value, json};

fn lines(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

fn header() -> Value {
    json!({ "sessionId": "s", "projectHash": "h", "startTime": "2026-05-01T00:00:00Z", "kind": "main" })
}

fn user(id: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-05-01T00:00:01Z", "type": "user", "content": [{ "text": id }] })
}

fn gemini(id: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-05-01T00:00:02Z", "type": "gemini", "content": id, "model": "pro" })
}

fn rewind(id: &str) -> Value {
    json!({ "$rewindTo": id })
}

fn set(messages: &[Value]) -> Value {
    json!({ "$set": { "messages": messages, "lastUpdated": "2026-05-01T00:01:00Z" } })
}

fn transcript(bytes: &[u8]) -> Transcript {
    let transcript = read(Some("session-2026-05-01T00-00-s.jsonl"), bytes).expect("a session");
    assert_eq!(transcript.dialect, Dialect::Gemini);
    assert_eq!(transcript.source_bytes(), bytes, "no byte is lost");
    SessionTree::default().extended(&transcript.records).expect("the records can be written one by one");
    transcript
}

fn tree(transcript: &Transcript) -> SessionTree {
    let (tree, oddities) = SessionTree::replay(transcript.records.iter().cloned());
    assert_eq!(oddities, []);
    tree
}

fn check(said: &[Value], expected: &str) {
    let transcript = transcript(&lines(said));
    assert_eq!(transcript.oddities, []);
    assert_eq!(draw(&tree(&transcript)).trim_end(), expected);
}

fn bodies(transcript: &Transcript) -> Vec<Body> {
    transcript.records.iter().filter_map(Record::as_entry).map(|entry| entry.body.clone()).collect()
}

#[test]
fn messages_follow_each_other() {
    check(&[header(), user("u1"), gemini("a1"), user("u2"), gemini("a2")], "u1 - a1 - u2 - a2*");
}

#[test]
fn a_document_is_the_same_without_lines() {
    let document = json!({
        "sessionId": "s", "projectHash": "h", "startTime": "2026-05-01T00:00:00Z", "summary": "Lamps",
        "messages": [user("u1"), gemini("a1")],
    });
    let pretty = serde_json::to_vec_pretty(&document).expect("JSON");
    for bytes in [pretty.as_slice(), document.to_string().as_bytes()] {
        let transcript = transcript(bytes);
        assert_eq!(transcript.oddities, []);
        let tree = tree(&transcript);
        assert_eq!(draw(&tree).trim_end(), "u1 - a1*");
        assert_eq!(tree.title(), Some("Lamps"));
        assert_eq!(tree.header().map(|header| header.id.as_str()), Some("s"));
    }
    let torn = pretty.get(..pretty.len() / 2).expect("half of it");
    let odd: Vec<Odd> = transcript(torn).oddities.into_iter().map(|oddity| oddity.what).collect();
    assert_eq!(odd, [Odd::TornTail { bytes: torn.len() as u64 }, Odd::MissingHeader]);
}

#[test]
fn what_a_rewind_cuts_off_stays_as_a_branch() {
    check(
        &[header(), user("u1"), gemini("a1"), user("u2"), gemini("a2"), rewind("u2"), user("u3")],
        "u1 - a1 - u2 - a2\n     a1 - u3*",
    );
    check(&[header(), user("u1"), gemini("a1"), rewind("a1")], "u1* - a1");
    check(&[header(), user("u1"), gemini("a1"), rewind("u1"), user("u2")], "u1 - a1\nu2*");
}

#[test]
fn a_rewind_to_nothing_leaves_the_head_before_everything() {
    let said = [header(), user("u1"), gemini("a1"), rewind("gone")];
    let read = transcript(&lines(&said));
    assert_eq!(draw(&tree(&read)).trim_end(), "u1 - a1");
    assert_eq!(tree(&read).main_head(), None);
    assert_eq!(read.oddities.len(), 1);
    let more = [said.as_slice(), &[user("u2")]].concat();
    assert_eq!(draw(&tree(&transcript(&lines(&more)))).trim_end(), "u1 - a1\nu2*");
}

#[test]
fn a_message_under_a_known_id_is_the_same_message() {
    let call = json!({ "id": "c1", "name": "ls", "args": { "path": "." }, "status": "success",
        "result": [{ "functionResponse": { "id": "c1", "name": "ls", "response": { "output": "a" } } }] });
    let mut more = gemini("a1");
    if let Value::Object(more) = &mut more {
        more.insert("toolCalls".into(), json!([call]));
    }
    let answer = json!({ "id": "r1", "type": "user", "timestamp": "2026-05-01T00:00:03Z",
        "content": [{ "functionResponse": { "id": "c1", "name": "ls", "response": { "output": "a" } } }] });
    let said = [header(), user("u1"), gemini("a1"), more, answer, gemini("a2")];
    check(&said, "u1 - a1 - a1/c1 - a2*");
    let Some(Body::ToolResult(result)) = bodies(&transcript(&lines(&said))).into_iter().nth(2) else {
        panic!("no result")
    };
    assert_eq!((result.call.as_str(), result.tool.as_str(), result.failed), ("c1", "ls", false));
}

#[test]
fn results_in_a_message_of_their_own_are_results() {
    let ask = json!({ "id": "a1", "type": "gemini", "content": [{ "functionCall": { "id": "c1", "name": "ls" } }] });
    let answer = json!({ "id": "r1", "type": "user", "content":
        [{ "functionResponse": { "id": "c1", "name": "ls", "response": { "error": "no" } } }] });
    let said = [header(), user("u1"), ask.clone(), answer.clone(), gemini("a2")];
    check(&said, "u1 - a1 - r1 - a2*");
    let Some(Body::ToolResult(result)) = bodies(&transcript(&lines(&said))).into_iter().nth(2) else {
        panic!("no result")
    };
    assert!(result.failed);
    let again = json!({ "id": "a1_response", "type": "user", "content":
        [{ "functionResponse": { "id": "c1", "name": "ls", "response": { "error": "no" } } }] });
    let resumed =
        [said.as_slice(), &[set(&[user("u1"), ask, again, answer, gemini("a2")]), user("u2")]].concat();
    check(&resumed, "u1 - a1 - r1 - a2 - u2*");
}

#[test]
fn a_resumed_session_tells_its_list_again() {
    check(
        &[
            header(),
            user("u1"),
            gemini("a1"),
            header(),
            set(&[user("u1")]),
            set(&[user("u1"), gemini("a1")]),
            user("u2"),
        ],
        "u1 - a1 - u2*",
    );
}

#[test]
fn a_list_with_another_past_is_another_branch() {
    check(
        &[header(), user("u1"), gemini("a1"), user("u2"), set(&[user("sum"), user("u2")]), gemini("a2")],
        "u1 - a1 - u2\nsum - u2~2\"u2\" - a2*",
    );
}

#[test]
fn what_a_later_telling_leaves_out_stays() {
    let counted = json!({ "id": "a1", "type": "gemini", "content": "a1", "model": "pro",
        "thoughts": [{ "subject": "Plan", "description": "look" }],
        "tokens": { "input": 10, "cached": 4, "output": 3, "thoughts": 2, "tool": 0, "total": 15 } });
    let bare = json!({ "id": "a1", "type": "gemini", "content": [{ "text": "a1" }] });
    let Some(Body::Reply(reply)) = bodies(&transcript(&lines(&[header(), counted, set(&[bare])]))).pop()
    else {
        panic!("no reply")
    };
    let expected = Usage { input: 6, output: 5, cache_read: 4, total: 15, ..Usage::default() };
    assert_eq!(reply.usage, Some(expected));
    assert_eq!(reply.model.map(|model| model.name).as_deref(), Some("pro"));
    assert_eq!(reply.blocks.len(), 2);
}

#[test]
fn the_hidden_context_is_no_prompt_and_names_the_folder() {
    let words = "<session_context>\n- **Workspace Directories:**\n  - /home/dev/lamps\n</session_context>";
    let hidden = json!({ "id": "c", "type": "user", "content": [{ "text": words }] });
    let transcript = transcript(&lines(&[header(), set(&[hidden]), user("u1")]));
    let bodies = bodies(&transcript);
    assert!(matches!(bodies.as_slice(), [Body::System(_), Body::Prompt(_)]), "{bodies:?}");
    assert_eq!(
        tree(&transcript).header().and_then(|header| header.project.clone()).as_deref(),
        Some("/home/dev/lamps")
    );
}

#[test]
fn what_is_not_known_is_kept_and_counted() {
    let mut bytes = lines(&[
        header(),
        json!({ "id": "x", "type": "song", "content": "la" }),
        json!({ "$set": { "colour": 1 } }),
        json!({ "nothing": true }),
    ]);
    bytes.extend(b"{\"id\":");
    let transcript = transcript(&bytes);
    assert_eq!(draw(&tree(&transcript)).trim_end(), "x*");
    let odd: Vec<String> = transcript.oddities.iter().map(ToString::to_string).collect();
    assert_eq!(
        odd,
        [
            "line 2: unknown type `song`",
            "line 3: unknown type `$set.colour`",
            "line 4: not readable: an object without a type",
            "line 5: the last line is unfinished (6 bytes)",
        ]
    );
}

/// A session that is begun with another's file says so first, and tells the whole list again without that remark.
#[test]
fn a_remark_that_is_left_out_makes_no_branch() {
    let remark =
        json!({ "id": "n1", "timestamp": "2026-05-01T00:00:00Z", "type": "info", "content": "Imported" });
    let told_again = set(&[user("u1"), gemini("a1")]);
    check(&[header(), remark, user("u1"), gemini("a1"), told_again, user("u2")], "n1 - u1 - a1 - u2*");
}

#[test]
fn a_subagent_belongs_to_the_session_whose_folder_it_lies_in() {
    let mut header = header();
    header["kind"] = "subagent".into();
    let bytes = lines(&[header, user("u1")]);
    let parent = |path: &str| {
        let transcript = read(Some(path), &bytes).expect("a session");
        let tree = tree(&transcript);
        tree.header().and_then(|header| Some(header.lineage.as_ref()?.parent.clone()))
    };
    assert_eq!(parent("tmp/project/chats/main-session/s.jsonl").as_deref(), Some("main-session"));
    assert_eq!(parent("tmp/project/chats/s.jsonl"), None);
    assert_eq!(parent("s.jsonl"), None);
}

#[test]
fn a_prompt_may_hold_pictures() {
    let content =
        json!([{ "text": "what is this" }, { "inlineData": { "mimeType": "image/png", "data": "aGk=" } }]);
    let asked =
        json!({ "id": "u1", "timestamp": "2026-05-01T00:00:01Z", "type": "user", "content": content });
    let bodies = bodies(&transcript(&lines(&[header(), asked, gemini("a1")])));
    let picture = Block::Image { media_type: "image/png".into(), data: ImageData::Inline("aGk=".into()) };
    assert!(bodies.first().is_some_and(|body| body.blocks().contains(&picture)), "{bodies:?}");
}
