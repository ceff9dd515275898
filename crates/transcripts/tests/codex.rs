//! One rollout of Codex, of any generation.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]

use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::{
    Block, Body, ImageData, Interruption, Odd, Record, SessionTree, Setting, Stop, Usage,
};
use offshoot_testkit::draw;
use offshoot_transcripts::gist::{Follow, lines_of, of_tree};
use offshoot_transcripts::{Dialect, Transcript, codex, read};
use serde_json::{Value, json};

/// Lines of the wrapped generation, one second apart.
fn wrapped(lines: &[(&str, Value)]) -> Vec<u8> {
    let line = |(second, (kind, payload)): (usize, &(&str, Value))| {
        let timestamp = format!("2026-02-01T00:00:{second:02}Z");
        format!("{}\n", json!({ "timestamp": timestamp, "type": kind, "payload": payload }))
    };
    lines.iter().enumerate().map(line).collect::<String>().into_bytes()
}

fn meta() -> (&'static str, Value) {
    (
        "session_meta",
        json!({ "id": "t", "timestamp": "2026-02-01T00:00:00Z", "cwd": "/work", "model_provider": "openai" }),
    )
}

fn user(words: &str) -> (&'static str, Value) {
    let content = json!([{ "type": "input_text", "text": words }]);
    ("response_item", json!({ "type": "message", "role": "user", "content": content }))
}

fn assistant(words: &str) -> (&'static str, Value) {
    let content = json!([{ "type": "output_text", "text": words }]);
    ("response_item", json!({ "type": "message", "role": "assistant", "content": content }))
}

fn item(payload: Value) -> (&'static str, Value) {
    ("response_item", payload)
}

fn event(payload: Value) -> (&'static str, Value) {
    ("event_msg", payload)
}

fn started(turn: &str) -> (&'static str, Value) {
    event(json!({ "type": "task_started", "turn_id": turn }))
}

fn ended(turn: &str) -> (&'static str, Value) {
    event(json!({ "type": "task_complete", "turn_id": turn }))
}

fn told(words: &str) -> (&'static str, Value) {
    event(json!({ "type": "user_message", "message": words }))
}

fn tokens(total: i64, last: i64) -> (&'static str, Value) {
    let usage = |n: i64| json!({ "input_tokens": n, "cached_input_tokens": 1, "output_tokens": 2, "total_tokens": n + 2 });
    event(
        json!({ "type": "token_count", "info": { "total_token_usage": usage(total), "last_token_usage": usage(last) } }),
    )
}

fn context(model: &str, effort: &str) -> (&'static str, Value) {
    let sandbox = json!({ "type": "read-only" });
    (
        "turn_context",
        json!({ "model": model, "effort": effort, "approval_policy": "never", "sandbox_policy": sandbox }),
    )
}

/// The transcript, after the promises that hold for every file.
fn transcript(bytes: &[u8]) -> Transcript {
    let transcript = read(Some("rollout-2026-02-01T00-00-00-t.jsonl"), bytes).expect("a rollout");
    assert_eq!(transcript.dialect, Dialect::Codex);
    assert_eq!(transcript.source_bytes(), bytes, "no byte is lost");
    SessionTree::default().extended(&transcript.records).expect("the records can be written one by one");
    transcript
}

fn tree(transcript: &Transcript) -> SessionTree {
    let (tree, oddities) = SessionTree::replay(transcript.records.iter().cloned());
    assert_eq!(oddities, []);
    tree
}

fn check(lines: &[(&str, Value)], expected: &str) {
    let transcript = transcript(&wrapped(lines));
    assert_eq!(transcript.oddities, []);
    assert_eq!(draw(&tree(&transcript)).trim_end(), expected);
}

fn bodies(transcript: &Transcript) -> Vec<Body> {
    transcript.records.iter().filter_map(Record::as_entry).map(|entry| entry.body.clone()).collect()
}

#[test]
fn items_are_a_line_of_entries_named_by_their_place() {
    check(
        &[meta(), user("hello"), assistant("hi"), user("more"), assistant("yes")],
        r#"t:1"hello" - t:2"hi" - t:3"more" - t:4"yes"*"#,
    );
}

#[test]
fn the_header_says_whose_session_it_is() {
    let tree = tree(&transcript(&wrapped(&[meta(), user("hello")])));
    let header = tree.header().expect("a header");
    assert_eq!(header.id.as_str(), "t");
    assert_eq!(header.project.as_deref(), Some("/work"));
    assert_eq!(header.agent.as_deref(), Some("codex"));
    assert_eq!(header.lineage, None);
}

#[test]
fn the_bare_generation_has_items_without_a_wrapper() {
    let lines = [
        json!({ "id": "t", "timestamp": "2025-09-01T00:00:00Z", "instructions": null, "git": {} }),
        json!({ "record_type": "state" }),
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "list" }] }),
        json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "so be it" }] }),
        json!({ "type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c1" }),
        json!({ "record_type": "state" }),
        json!({ "type": "function_call_output", "call_id": "c1", "output": "{\"output\":\"a\",\"metadata\":{\"exit_code\":1}}" }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "done" }] }),
    ];
    let bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let transcript = transcript(&bytes);
    assert_eq!(transcript.oddities, []);
    assert_eq!(draw(&tree(&transcript)).trim_end(), r#"t:2"list" - t:3 - t:4 - t:6 - t:7"done"*"#);
    let Some(Body::ToolResult(result)) = bodies(&transcript).into_iter().nth(3) else { panic!("no result") };
    assert_eq!((result.tool.as_str(), result.failed), ("shell", true));
    assert_eq!(Body::ToolResult(result).text(), "a");
}

#[test]
fn events_that_repeat_an_item_count_once() {
    check(
        &[
            meta(),
            started("one"),
            user("hello"),
            told("hello"),
            event(json!({ "type": "agent_reasoning", "text": "hm" })),
            item(json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "hm" }] })),
            event(json!({ "type": "agent_message", "message": "hi" })),
            assistant("hi"),
            ended("one"),
        ],
        r#"t:2"hello" - t:4 - t:6"hi"*"#,
    );
}

#[test]
fn events_speak_where_there_are_no_items() {
    check(
        &[meta(), told("hello"), event(json!({ "type": "agent_message", "message": "hi" }))],
        r#"t:1"hello" - t:2"hi"*"#,
    );
}

#[test]
fn context_under_the_role_of_the_user_is_no_prompt() {
    let kinds = |kind: &str| {
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "words" }],
                "internal_chat_message_metadata_passthrough": { "content_item_kinds": [kind] } })
    };
    let lines = [
        meta(),
        user("before any turn"),
        started("one"),
        user("<environment_context>\n<cwd>/work</cwd></environment_context>"),
        item(kinds("environments.environment_context")),
        item(kinds("user.text")),
        user("hello"),
        told("hello"),
        user("added by the program"),
        ended("one"),
    ];
    let transcript = transcript(&wrapped(&lines));
    let prompts: Vec<String> =
        bodies(&transcript).iter().filter(|body| body.is_prompt()).map(Body::text).collect();
    assert_eq!(prompts, ["words", "hello"]);
    assert_eq!(bodies(&transcript).len(), 6, "the rest is there as instructions");
}

#[test]
fn a_turn_is_from_its_start_to_its_end() {
    let transcript = transcript(&wrapped(&[
        meta(),
        started("one"),
        user("hello"),
        ended("one"),
        started("two"),
        user("wait"),
        event(json!({ "type": "turn_aborted", "turn_id": "two", "reason": "interrupted" })),
    ]));
    let tree = tree(&transcript);
    let turns: Vec<Option<&str>> =
        tree.entries().map(|entry| entry.turn.as_ref().map(|turn| turn.as_str())).collect();
    assert_eq!(turns, [Some("one"), Some("two"), Some("two")]);
    assert!(tree.turn_ended(&"one".into()) && tree.turn_ended(&"two".into()));
    assert_eq!(bodies(&transcript).last(), Some(&Body::Interrupted(Interruption::Wanted)));
}

#[test]
fn settings_are_entries_where_they_change() {
    let lines =
        [meta(), context("m1", "low"), user("a"), context("m1", "low"), context("m1", "high"), user("b")];
    check(&lines, r#"t:1.model - t:1.effort - t:1.approval - t:1.sandbox - t:2"a" - t:4.effort - t:5"b"*"#);
    let transcript = transcript(&wrapped(&lines));
    assert!(bodies(&transcript).contains(&Body::Setting(Setting::Thinking(Some("high".to_owned())))));
    assert!(bodies(&transcript).contains(&Body::Setting(Setting::PermissionMode("never".to_owned()))));
}

#[test]
fn a_count_of_tokens_belongs_to_the_reply_before_it() {
    let transcript = transcript(&wrapped(&[
        meta(),
        context("m1", "low"),
        tokens(5, 5),
        user("a"),
        assistant("b"),
        tokens(100, 100),
        tokens(100, 100),
        assistant("c"),
        tokens(150, 50),
    ]));
    let usage = |body: &Body| match body {
        Body::Reply(reply) => reply.usage,
        _ => None,
    };
    let used: Vec<Usage> = bodies(&transcript).iter().filter_map(usage).collect();
    let expected =
        |n: i64| Usage { input: n - 1, output: 2, cache_read: 1, total: n + 2, ..Usage::default() };
    assert_eq!(used, [expected(100), expected(50)]);
    let tree = tree(&transcript);
    assert_eq!(tree.spent().copied().collect::<Vec<_>>(), [expected(5)], "no reply had caused it");
    let Some(Body::Reply(reply)) = bodies(&transcript).into_iter().next_back() else { panic!("no reply") };
    assert_eq!(reply.model.map(|model| (model.provider, model.name)), Some(("openai".into(), "m1".into())));
}

#[test]
fn a_rollback_goes_over_turns_and_the_rest_branches_off() {
    let back = |turns: u64| event(json!({ "type": "thread_rolled_back", "num_turns": turns }));
    check(
        &[meta(), user("a"), assistant("b"), user("c"), assistant("d"), back(1), user("e")],
        "t:1\"a\" - t:2\"b\" - t:3\"c\" - t:4\"d\"\n         t:2 - t:6\"e\"*",
    );
    check(
        &[meta(), user("a"), assistant("b"), user("c"), back(1), user("d"), assistant("e"), back(2)],
        "t:1\"a\" - t:2\"b\" - t:3\"c\"\n         t:2 - t:5\"d\" - t:6\"e\"",
    );
    check(
        &[
            meta(),
            item(json!({ "type": "message", "role": "developer", "content": "rules" })),
            user("a"),
            back(9),
        ],
        "t:1* - t:2\"a\"",
    );
}

/// A turn that was rolled back leaves the path as a whole: its settings were kept, and the next turn, which said that it
/// runs with the same model, was shown with another one.
#[test]
fn a_rollback_takes_the_settings_of_its_turns_along() {
    let turn = |model: &str| ("turn_context", json!({ "model": model }));
    let rules = item(json!({ "type": "message", "role": "developer", "content": "rules" }));
    let back = event(json!({ "type": "thread_rolled_back", "num_turns": 2 }));
    let lines = [
        meta(),
        turn("m1"),
        user("a"),
        assistant("b"),
        turn("m2"),
        rules,
        user("c"),
        assistant("d"),
        turn("m3"),
        user("e"),
        back,
        turn("m3"),
        user("f"),
        assistant("g"),
    ];
    let drawing = "\
t:1.model - t:2\"a\" - t:3\"b\" - t:4.model - t:5 - t:6\"c\" - t:7\"d\" - t:8.model - t:9\"e\"
                     t:3 - t:11.model - t:12\"f\" - t:13\"g\"*";
    check(&lines, drawing);
    let read = tree(&transcript(&wrapped(&lines)));
    let at = |id: &str| {
        let context = context_of(&read, Some(&id.into()), &ContextOptions::default());
        context.model.map(|model| model.name)
    };
    assert_eq!(at("t:13").as_deref(), Some("m3"));
    assert_eq!(at("t:7").as_deref(), Some("m2"));
    // Read line by line, as the catalog does, it is the same session.
    let (name, bytes) = (Some("rollout-2026-02-01T00-00-00-t.jsonl"), wrapped(&lines));
    let mut follow = Follow::begin(lines_of(name, &bytes).expect("lines"), name);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        follow.take(line, 0, &mut Vec::new()).expect("a usual file");
        follow = Follow::resume(&follow.keep()).expect("what was kept");
    }
    assert_eq!(follow.gist(name).expect("a gist"), of_tree(&read).0);
}

#[test]
fn a_compaction_replaces_what_the_model_reads() {
    let history =
        json!([{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "a" }] }]);
    let transcript = transcript(&wrapped(&[
        meta(),
        user("a"),
        assistant("b"),
        tokens(90, 90),
        ("compacted", json!({ "message": "in short", "replacement_history": history })),
        ("compacted", json!({ "message": "", "replacement_history": history })),
    ]));
    let compactions: Vec<(String, i64)> = bodies(&transcript)
        .iter()
        .filter_map(|body| match body {
            Body::Compaction(compaction) => Some((compaction.summary.clone(), compaction.tokens_before)),
            _ => None,
        })
        .collect();
    assert_eq!(compactions, [("in short".to_owned(), 92), ("a".to_owned(), 92)]);
}

#[test]
fn tools_are_calls_with_their_results() {
    let lines = [
        meta(),
        item(
            json!({ "type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c1" }),
        ),
        item(
            json!({ "type": "custom_tool_call_output", "call_id": "c1", "output": [{ "type": "input_text", "text": "ok" }] }),
        ),
        item(
            json!({ "type": "local_shell_call", "call_id": "c2", "action": { "type": "exec", "command": ["ls"] } }),
        ),
        item(
            json!({ "type": "function_call_output", "call_id": "c2", "output": "Exit code: 2\nWall time: 1\nOutput:\nno" }),
        ),
        item(json!({ "type": "web_search_call", "id": "w1", "action": { "type": "search", "query": "x" } })),
    ];
    let transcript = transcript(&wrapped(&lines));
    assert_eq!(transcript.oddities, []);
    let calls: Vec<String> = bodies(&transcript)
        .iter()
        .filter_map(|body| match body {
            Body::Reply(reply) => reply.tool_uses().next().map(|call| format!("{} {}", call.id, call.name)),
            Body::ToolResult(result) => Some(format!("{} = {} {}", result.call, result.tool, result.failed)),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            "c1 apply_patch",
            "c1 = apply_patch false",
            "c2 local_shell",
            "c2 = local_shell true",
            "w1 web_search"
        ]
    );
}

#[test]
fn a_command_of_the_person_is_a_command() {
    let words = "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\nOutput:\na\nb\n</result>\n</user_shell_command>";
    let Some(Body::Shell(shell)) = bodies(&transcript(&wrapped(&[meta(), user(words)]))).pop() else {
        panic!("no command")
    };
    assert_eq!((shell.command.as_str(), shell.output.as_str(), shell.exit_code), ("ls", "a\nb", Some(0)));
}

#[test]
fn an_error_is_a_reply_that_failed() {
    let lines = [meta(), user("a"), event(json!({ "type": "error", "message": "no quota" }))];
    let Some(Body::Reply(reply)) = bodies(&transcript(&wrapped(&lines))).pop() else { panic!("no reply") };
    assert_eq!(reply.stop, Some(Stop::Error("no quota".to_owned())));
}

#[test]
fn the_name_of_the_thread_is_its_title() {
    let lines = [meta(), event(json!({ "type": "thread_name_updated", "thread_name": "Lamps" }))];
    assert_eq!(tree(&transcript(&wrapped(&lines))).title(), Some("Lamps"));
}

#[test]
fn what_is_not_known_is_kept_and_counted() {
    let transcript = transcript(&wrapped(&[
        meta(),
        ("weather", json!({})),
        ("weather", json!({})),
        event(json!({ "type": "rain" })),
        item(json!({ "type": "song", "content": "la" })),
        meta(),
    ]));
    let unknown: Vec<(&str, u64)> =
        transcript.unknown_types.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(unknown, [("event_msg/rain", 1), ("response_item/song", 1), ("weather", 2)]);
    assert_eq!(draw(&tree(&transcript)).trim_end(), "t:4*", "what may be conversation has its place");
    let odd: Vec<String> = transcript.oddities.iter().map(ToString::to_string).collect();
    assert_eq!(
        odd,
        [
            "line 2: unknown type `weather`",
            "line 4: unknown type `event_msg/rain`",
            "line 5: unknown type `response_item/song`",
            "line 6: a second header; the first one counts",
        ]
    );
}

#[test]
fn a_file_without_its_header_or_its_end_is_read_all_the_same() {
    let mut bytes = wrapped(&[user("hello"), assistant("hi")]);
    bytes.extend(b"{\"timestamp\":\"2026");
    let transcript = transcript(&bytes);
    assert_eq!(draw(&tree(&transcript)).trim_end(), r#"t:0"hello" - t:1"hi"*"#);
    let odd: Vec<&Odd> = transcript.oddities.iter().map(|oddity| &oddity.what).collect();
    assert_eq!(odd, [&Odd::TornTail { bytes: 18 }, &Odd::MissingHeader]);
}

#[test]
fn ordinals_name_lines_even_where_two_are_the_same() {
    let line = |ordinal: u64, words: &str| {
        let payload = json!({ "type": "message", "role": "user", "content": words });
        format!("{}\n", json!({ "ordinal": ordinal, "type": "response_item", "payload": payload }))
    };
    let bytes = [line(7, "a"), line(7, "b")].concat().into_bytes();
    let transcript = transcript(&bytes);
    assert_eq!(draw(&tree(&transcript)).trim_end(), r#"t:7"a" - t:7#2"b"*"#);
    assert_eq!(transcript.oddities.len(), 2, "the missing header and the second 7");
}

#[test]
fn file_names_tell_the_rollout() {
    let id = codex::rollout_id_from_file_name;
    assert_eq!(id("sessions/2026/02/01/rollout-2026-02-01T10-00-00-thread-1.jsonl"), Some("thread-1"));
    assert_eq!(id("rollout-2026-02-01T10-00-00-thread-1_roll-2.jsonl"), Some("roll-2"));
    assert_eq!(id("C:\\x\\rollout-2026-02-01T10-00-00-t.jsonl.zst"), Some("t"));
    assert_eq!(id("rollout-2026.jsonl"), None);
    assert_eq!(id("session.jsonl"), None);
}

#[test]
fn the_last_name_of_a_thread_counts() {
    let index = concat!(
        r#"{"id":"a","thread_name":"first","updated_at":"2026-02-01T00:00:00Z"}"#,
        "\nnot json\n",
        r#"{"id":"b","thread_name":"other"}"#,
        "\n",
        r#"{"id":"a","thread_name":"second","updated_at":"2026-02-02T00:00:00Z"}"#,
    );
    let names = codex::thread_names(index.as_bytes());
    let names: Vec<(&str, &str)> = names.iter().map(|(id, name)| (id.as_str(), name.name.as_str())).collect();
    assert_eq!(names, [("a", "second"), ("b", "other")]);
}

#[test]
fn a_tool_of_a_namespace_is_called_by_both_names() {
    let call = |namespace: &str, name: &str| {
        item(
            json!({ "type": "function_call", "namespace": namespace, "name": name, "arguments": "{}", "call_id": name }),
        )
    };
    let calls = [meta(), user("go"), call("multi_agent_v1", "spawn_agent"), call("mcp__files__", "read")];
    let transcript = transcript(&wrapped(&calls));
    let replies =
        transcript.records.iter().filter_map(Record::as_entry).filter_map(|entry| match &entry.body {
            Body::Reply(reply) => Some(reply.tool_uses().map(|call| call.name.clone()).collect::<Vec<_>>()),
            _ => None,
        });
    assert_eq!(replies.flatten().collect::<Vec<_>>(), ["multi_agent_v1.spawn_agent", "mcp__files__read"]);
}

#[test]
fn pictures_are_given_and_made() {
    let content = json!([{ "type": "input_text", "text": "what is this" },
        { "type": "input_image", "image_url": "data:image/png;base64,aGk=" }]);
    let given = item(json!({ "type": "message", "role": "user", "content": content }));
    let made = item(json!({ "type": "image_generation_call", "id": "g", "result": "aGk=" }));
    let bodies = bodies(&transcript(&wrapped(&[meta(), given, made])));
    let picture = Block::Image { media_type: "image/png".into(), data: ImageData::Inline("aGk=".into()) };
    assert_eq!(bodies.len(), 2);
    assert!(bodies.iter().all(|body| body.blocks().contains(&picture)), "{bodies:?}");
}

/// Codex may tell of a message as an event before it writes the item, and somebody may look in between.
#[test]
fn an_item_takes_over_the_place_of_the_event_that_told_of_it() {
    let said = |words: &str| event(json!({ "type": "agent_message", "message": words }));
    let lines = [
        meta(),
        told("go"),
        user("go"),
        said("Going."),
        assistant("Going."),
        told("on"),
        user("on"),
        said("Gone."),
        assistant("Gone."),
    ];
    let entries = |count: usize| -> Vec<(String, Option<String>, String)> {
        let transcript = transcript(&wrapped(&lines[..count]));
        let entries = transcript.records.iter().filter_map(Record::as_entry);
        let told = entries.map(|entry| {
            let parent = entry.parent.as_ref().map(ToString::to_string);
            (entry.id.to_string(), parent, offshoot_session::text_of(entry.body.blocks()))
        });
        told.collect()
    };
    let all = entries(lines.len());
    let ids: Vec<&str> = all.iter().map(|(id, ..)| id.as_str()).collect();
    assert_eq!(ids, ["t:1", "t:3", "t:6", "t:8"], "where there are items, events are repetitions");
    for count in 1..lines.len() {
        let so_far = entries(count);
        assert_eq!(so_far, all[..so_far.len()], "{count} lines");
    }
}
