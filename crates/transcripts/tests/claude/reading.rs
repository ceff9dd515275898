//! The tree of a file.

use offshoot_session::{Body, BranchReason, Change, Compaction, Interruption, Setting, cost};
use offshoot_transcripts::{Dialect, claude, read};
use serde_json::json;

use crate::file::{
    answer, call, chained, drawing, forgiven, leaf, lines, load, reply, said, tree, tree_of, user, with,
};

/// ids of messages are kept as entry ids.
#[test]
fn a_file_is_a_tree_and_its_last_entry_is_the_head() {
    let file = [said("u1", None), said("a1", Some("u1")), said("u2", Some("a1")), said("u3", Some("a1"))];
    assert_eq!(drawing(&file), "u1 - a1 - u2\n     a1 - u3*\n");
    let transcript = load(&lines(&file));
    assert_eq!(transcript.dialect, Dialect::ClaudeCode);
    assert!(forgiven(&transcript).is_empty());
}

/// D12: a lost newline costs nothing, and is reported once.
#[test]
fn lines_without_a_newline_between_them_are_both_read() {
    let file = lines(&[said("u1", None), said("a1", Some("u1")), said("u2", Some("a1"))]);
    let glued = file.replacen("}\n{", "}{", 1);
    let transcript = load(&glued);
    assert_eq!(offshoot_testkit::draw(&tree_of(&transcript)), "u1 - a1 - u2*\n");
    assert_eq!(forgiven(&transcript), ["line 1: the newline after it is missing; both lines were read"]);
    assert_eq!(transcript.source_bytes(), glued.as_bytes());
    let cut = load(&glued.replacen("}{", "{", 1));
    assert_eq!(offshoot_testkit::draw(&tree_of(&cut)), "u2*\n", "what is cut cannot be read");
}

#[test]
fn the_header_is_gathered_from_the_lines() {
    let file = tree(&[json!({ "type": "mode", "mode": "normal", "sessionId": "s1" }), said("u1", None)]);
    let header = file.header().expect("a header");
    assert_eq!((header.id.as_str(), header.project.as_deref()), ("s1", Some("/work")));
    assert_eq!((header.agent.as_deref(), header.lineage.as_ref()), (Some("claude-code"), None));
    assert_eq!(header.opened_at.to_string(), "2025-01-01T00:00:01Z");
}

#[test]
fn a_file_called_by_an_id_is_that_session() {
    let uuid = "11111111-2222-3333-4444-555555555555";
    let id = |name: &str| {
        let file = lines(&[said("u1", None), said("a1", Some("u1"))]);
        let tree = tree_of(&read(Some(name), file.as_bytes()).expect("a session file"));
        let header = tree.header().expect("a header").clone();
        (header.id.to_string(), header.lineage.map(|lineage| (lineage.parent, lineage.at)))
    };
    assert_eq!(id("/home/copy of s1.jsonl"), ("s1".to_owned(), None));
    // the history was copied from `s1`, as far as `a1`
    assert_eq!(
        id(&format!("/home/{uuid}.jsonl")),
        (uuid.to_owned(), Some(("s1".to_owned(), Some("a1".into()))))
    );
}

#[test]
fn a_fork_names_what_it_was_forked_from() {
    let from = |line, id: &str| with(line, json!({ "forkedFrom": { "sessionId": "s0", "messageUuid": id } }));
    let file = [from(said("u1", None), "x1"), from(said("a1", Some("u1")), "x2"), said("u2", Some("a1"))];
    let lineage = tree(&file).header().and_then(|header| header.lineage.clone()).expect("a lineage");
    assert_eq!((lineage.parent.as_str(), lineage.at), ("s0", Some("x2".into())));
    assert_eq!(lineage.reason, Some(BranchReason::Fork));
}

#[test]
fn a_marker_moves_the_head_to_another_branch() {
    let two = [said("u1", None), said("a1", Some("u1")), said("u2", Some("a1")), said("u3", Some("a1"))];
    let file = [&two[..], &[leaf("u3"), leaf("u2")]].concat();
    assert_eq!(drawing(&file), "u1 - a1 - u2*\n     a1 - u3\n");
}

#[test]
fn what_is_written_behind_a_marker_takes_the_head_along() {
    let file = [said("u1", None), said("a1", Some("u1")), leaf("a1"), said("u2", Some("a1"))];
    assert_eq!(drawing(&file), "u1 - a1 - u2*\n");
}

#[test]
fn a_marker_may_stand_before_its_entry() {
    let file = [said("u1", None), leaf("a1"), said("a1", Some("u1"))];
    assert_eq!(drawing(&file), "u1 - a1*\n");
}

#[test]
fn a_marker_that_points_nowhere_takes_the_older_one_back() {
    let file = [
        said("u1", None),
        said("a1", Some("u1")),
        said("u2", Some("a1")),
        leaf("u1"),
        leaf("00000000-0000-0000-0000-000000000000"),
    ];
    assert_eq!(drawing(&file), "u1 - a1 - u2*\n");
}

#[test]
fn a_compaction_hangs_below_what_it_stands_for() {
    let told = json!({ "trigger": "auto", "preTokens": 900, "preservedSegment": { "headUuid": "a1" } });
    let file = [
        said("u1", None),
        said("a1", Some("u1")),
        chained(
            "system",
            "b2",
            None,
            json!({ "subtype": "compact_boundary", "logicalParentUuid": "a1", "compactMetadata": told }),
        ),
        with(user("k3", Some("b2"), json!("Long ago…")), json!({ "isCompactSummary": true })),
        said("u4", Some("k3")),
    ];
    assert_eq!(drawing(&file), "u1 - a1 - b2 - k3 - u4*\n");
    let tree = tree(&file);
    let Body::Compaction(Compaction { summary, first_kept, tokens_before, .. }) =
        &tree.entry(&"k3".into()).expect("k3").body
    else {
        panic!("no compaction");
    };
    assert_eq!((summary.as_str(), *tokens_before), ("Long ago…", 900));
    assert_eq!(first_kept.as_ref().map(|kept| kept.as_str()), Some("a1"));
}

#[test]
fn a_compaction_that_keeps_nothing_says_so() {
    let boundary = json!({ "subtype": "compact_boundary", "logicalParentUuid": "u1", "compactMetadata": {} });
    let file = [
        said("u1", None),
        chained("system", "b2", None, boundary),
        with(user("k3", Some("b2"), json!("…")), json!({ "isCompactSummary": true })),
    ];
    let tree = tree(&file);
    let Body::Compaction(compaction) = &tree.entry(&"k3".into()).expect("k3").body else { panic!("none") };
    assert_eq!((&compaction.first_kept, compaction.tokens_before), (&None, 0));
}

#[test]
fn a_small_compaction_is_a_note_on_the_way() {
    let told = json!({ "subtype": "microcompact_boundary", "microcompactMetadata": { "tokensSaved": 7 } });
    let file = [said("u1", None), chained("system", "b2", Some("u1"), told), said("a3", Some("b2"))];
    assert_eq!(drawing(&file), "u1 - b2 - a3*\n");
}

#[test]
fn answers_to_calls_made_side_by_side_are_one_chain() {
    let file = [
        said("u1", None),
        call("c2", Some("u1"), "m", "t1"),
        call("c3", Some("c2"), "m", "t2"),
        answer("t4", Some("c3"), "t2"),
        answer("t5", Some("c2"), "t1"),
        said("a6", Some("t5")),
    ];
    assert_eq!(drawing(&file), "u1 - c2 - c3 - t4 - t5 - a6*\n");
}

#[test]
fn calls_answered_while_the_message_goes_on_are_one_chain() {
    let file = [
        said("u1", None),
        call("c2", Some("u1"), "m", "t1"),
        answer("t3", Some("c2"), "t1"),
        chained("attachment", "n4", Some("t3"), json!({ "attachment": { "type": "hook_success" } })),
        call("c5", Some("c2"), "m", "t2"),
        answer("t6", Some("c5"), "t2"),
        said("a7", Some("t6")),
    ];
    assert_eq!(drawing(&file), "u1 - c2 - t3 - n4 - c5 - t6 - a7*\n");
}

#[test]
fn a_second_answer_to_the_same_call_is_another_branch() {
    let file = [
        said("u1", None),
        call("c2", Some("u1"), "m", "t1"),
        answer("t3", Some("c2"), "t1"),
        said("a4", Some("t3")),
        answer("t5", Some("c2"), "t1"),
    ];
    assert_eq!(drawing(&file), "u1 - c2 - t3 - a4\n     c2 - t5*\n");
}

#[test]
fn several_answers_in_one_line_are_several_entries() {
    let found = |call: &str| json!({ "type": "tool_result", "tool_use_id": call, "content": call });
    let content =
        json!([found("t1"), found("t2"), { "type": "text", "text": "[Request interrupted by user]" }]);
    let file = [
        said("u1", None),
        call("c2", Some("u1"), "m", "t1"),
        call("c3", Some("c2"), "m", "t2"),
        user("i4", Some("c3"), content),
        said("u5", Some("i4")),
    ];
    let tree = tree(&file);
    let path = tree.path_to(tree.main_head());
    let bodies: Vec<&Body> = path.iter().map(|entry| &entry.body).collect();
    assert!(matches!(
        bodies[..],
        [
            Body::Prompt(_),
            Body::Reply(_),
            Body::Reply(_),
            Body::ToolResult(_),
            Body::ToolResult(_),
            Body::Interrupted(Interruption::Wanted),
            Body::Prompt(_)
        ]
    ));
    let tools: Vec<_> = bodies
        .iter()
        .filter_map(|body| match body {
            Body::ToolResult(result) => Some((result.call.as_str(), result.tool.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(tools, [("t1", "Read"), ("t2", "Read")]);
}

#[test]
fn lines_of_progress_are_not_on_the_way() {
    let progress = |id: &str, parent| chained("progress", id, parent, json!({ "data": {} }));
    let file = [
        progress("p1", None),
        said("u2", Some("p1")),
        progress("p3", Some("u2")),
        progress("p4", Some("p3")),
        said("a5", Some("p4")),
        leaf("p4"),
    ];
    assert_eq!(drawing(&file), "u2* - a5\n");
}

#[test]
fn a_line_of_an_unknown_kind_keeps_its_place_and_is_counted() {
    let file = [
        said("u1", None),
        chained("hologram", "h2", Some("u1"), json!({ "text": "shimmer" })),
        json!({ "type": "hologram", "sessionId": "s1" }),
        said("a3", Some("h2")),
    ];
    assert_eq!(drawing(&file), "u1 - h2 - a3*\n");
    let transcript = load(&lines(&file));
    assert_eq!(transcript.unknown_types.get("hologram"), Some(&2));
    assert_eq!(forgiven(&transcript), ["line 2: unknown type `hologram`"]);
    assert_eq!(
        tree_of(&transcript).entry(&"h2".into()).map(|entry| entry.body.text()),
        Some("shimmer".into())
    );
}

#[test]
fn books_of_the_program_are_kept_and_not_odd() {
    let file = [
        said("u1", None),
        json!({ "type": "file-history-snapshot", "messageId": "u1", "snapshot": {}, "isSnapshotUpdate": false }),
        json!({ "type": "queue-operation", "operation": "enqueue", "content": "later" }),
        json!({ "type": "api-request-blob", "hash": "x", "message": {} }),
    ];
    let transcript = load(&lines(&file));
    assert_eq!(drawing(&file), "u1*\n");
    assert!(forgiven(&transcript).is_empty() && transcript.unknown_types.is_empty());
    let silent = transcript.records.iter().filter(|record| record.change == Change::Unknown).count();
    assert_eq!(silent, 3);
}

#[test]
fn missing_parents_cycles_and_twins_are_survived() {
    let file =
        [said("u1", Some("gone")), said("u2", Some("u3")), said("u3", Some("u2")), said("u1", Some("u3"))];
    assert_eq!(
        forgiven(&load(&lines(&file))),
        [
            "`u1` has the parent `gone`, which is missing; it begins a tree of its own",
            "id `u1` is used twice; the first one counts",
            "`u2` is its own ancestor; it begins a tree of its own",
        ]
    );
    assert_eq!(drawing(&file), "u1\nu2 - u3*\n");
}

#[test]
fn lines_without_ids_and_parents_follow_each_other() {
    let line = |role: &str, words: &str| json!({ "type": role, "sessionId": "s", "message": { "role": role, "content": words } });
    let transcript = load(&lines(&[line("user", "one"), line("assistant", "two")]));
    let tree = tree_of(&transcript);
    let path = tree.path_to(tree.main_head());
    assert_eq!(path.iter().map(|entry| entry.body.text()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(
        forgiven(&transcript),
        [
            "line 1: the entry has no id; one is made from its place",
            "line 1: the time is missing or not readable; the one before is taken",
            "line 2: the entry has no id; one is made from its place",
            "line 2: the time is missing or not readable; the one before is taken",
            "line 2: the line names no parent; it is put below the one before",
        ]
    );
}

#[test]
fn a_torn_tail_and_lines_that_are_not_json_are_kept() {
    let file = format!("{}\n[1]\nnot json\n\n{{\"type\":\"user\",\"uu", said("u1", None));
    let transcript = load(&file);
    assert_eq!(
        forgiven(&transcript),
        [
            "line 2: not readable: JSON, but not an object",
            "line 3: not readable: not JSON at column 2",
            "line 5: the last line is unfinished (18 bytes)",
        ]
    );
}

#[test]
fn usage_is_counted_once_for_each_message() {
    let counted = |id: &str, parent: &str, message: &str, output: u64| {
        let line = reply(id, Some(parent), message, json!({ "type": "text", "text": id }));
        let mut line = line;
        line["message"]["usage"] = json!({ "input_tokens": 10, "output_tokens": output,
            "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2 });
        line
    };
    let file = [
        said("u1", None),
        counted("a2", "u1", "m1", 1),
        counted("a3", "a2", "m1", 8),
        counted("a4", "a3", "m2", 3),
    ];
    let usage = cost::usage_of(&tree(&file));
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.cache_write), (20, 11, 10, 4));
}

#[test]
fn money_is_what_each_process_added() {
    let so_far = |dollars: f64| json!({ "type": "cost-state", "sessionId": "s1", "totalCostUSD": dollars });
    let file = [said("u1", None), so_far(0.5), so_far(0.5), so_far(0.75), so_far(0.25), so_far(0.0)];
    assert_eq!(cost::usage_of(&tree(&file)).cost_micros, 1_000_000);
}

#[test]
fn a_setting_stands_behind_the_prompt_that_follows_it() {
    let mode = |mode: &str| json!({ "type": "permission-mode", "permissionMode": mode, "sessionId": "s1" });
    let file = [
        said("u1", None),
        said("a2", Some("u1")),
        mode("plan"),
        mode("plan"),
        said("u3", Some("a2")),
        said("a4", Some("u3")),
        mode("plan"),
        said("u5", Some("a2")),
        mode("default"),
    ];
    let tree = tree(&file);
    let settings: Vec<_> = tree
        .entries()
        .filter_map(|entry| match &entry.body {
            Body::Setting(Setting::PermissionMode(mode)) => {
                let above = tree.parent(&entry.id).map(|parent| parent.id.to_string());
                Some((above, mode.as_str(), tree.children(Some(&entry.id)).len()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(settings, [(Some("u3".to_owned()), "plan", 1)]);
    assert_eq!(offshoot_session::versions::versions_of(&tree, &"u3".into()).len(), 2);
    let context = offshoot_session::context::context_of(&tree, Some(&"a4".into()), &Default::default());
    assert_eq!(context.permission_mode.as_deref(), Some("plan"));
}

#[test]
fn a_copied_history_has_the_same_entries() {
    let ids = |file: &str| {
        let tree = tree_of(&claude::read(None, file.as_bytes()));
        tree.entries().map(|entry| entry.id.to_string()).collect::<Vec<_>>()
    };
    let original = lines(&[said("u1", None), said("a2", Some("u1"))]);
    let copy = original.replace("\"s1\"", "\"s2\"");
    assert_eq!(ids(&original), ids(&copy));
}

/// The same turn as versions of two years write it: fields come, go and move, and new lines stand in the chain.
#[test]
fn the_same_turn_is_read_in_every_version() {
    let calls = json!([{ "type": "text", "text": "a1" }, { "type": "tool_use", "id": "c1", "name": "Read", "input": {} }]);
    let reply = |content: &serde_json::Value| {
        json!({ "message": { "id": "m1", "type": "message", "role": "assistant",
        "model": "claude-x", "content": content, "stop_reason": null } })
    };
    let first = [
        // No id of the message in a request, no branch, the result beside the message, a title for another session.
        json!({ "type": "summary", "summary": "Of another one", "leafUuid": "elsewhere" }),
        with(user("u1", None, json!("u1")), json!({ "version": "1.0.3", "userType": "external" })),
        with(
            chained("assistant", "a1", Some("u1"), reply(&calls)),
            json!({ "version": "1.0.3", "requestId": "r1" }),
        ),
        with(answer("t1", Some("a1"), "c1"), json!({ "version": "1.0.3", "toolUseResult": "found" })),
        with(said("a2", Some("t1")), json!({ "version": "1.0.3" })),
    ];
    let middle = [
        json!({ "type": "file-history-snapshot", "messageId": "u1", "snapshot": { "trackedFileBackups": {} }, "isSnapshotUpdate": false }),
        with(
            user("u1", None, json!([{ "type": "text", "text": "u1" }])),
            json!({ "version": "2.0.14", "gitBranch": "main",
            "thinkingMetadata": { "level": "high", "disabled": false, "triggers": [] } }),
        ),
        with(
            chained("assistant", "a1", Some("u1"), reply(&calls)),
            json!({ "version": "2.0.14", "slug": "some-words" }),
        ),
        with(
            answer("t1", Some("a1"), "c1"),
            json!({ "version": "2.0.14", "toolUseResult": { "type": "text", "file": {} },
            "sourceToolAssistantUUID": "a1" }),
        ),
        with(said("a2", Some("t1")), json!({ "version": "2.0.14" })),
        json!({ "type": "queue-operation", "operation": "dequeue", "timestamp": "2025-01-01T00:00:09.000Z", "sessionId": "s1" }),
    ];
    let last = [
        json!({ "type": "permission-mode", "permissionMode": "default", "sessionId": "s1" }),
        with(
            user("u1", None, json!("u1")),
            json!({ "version": "2.1.325", "promptId": "p1", "entrypoint": "cli",
            "permissionMode": "default", "promptSource": "typed" }),
        ),
        json!({ "type": "file-history-delta", "messageId": "a1", "snapshotMessageId": "u1", "trackingPath": "a", "backup": {} }),
        with(
            chained("assistant", "a1", Some("u1"), reply(&calls)),
            json!({ "version": "2.1.325", "requestId": "r1" }),
        ),
        with(
            chained(
                "progress",
                "p1",
                Some("a1"),
                json!({ "data": { "type": "hook_progress" }, "toolUseID": "c1" }),
            ),
            json!({}),
        ),
        with(
            answer("t1", Some("p1"), "c1"),
            json!({ "version": "2.1.325", "toolUseResult": { "stdout": "found" } }),
        ),
        with(said("a2", Some("t1")), json!({ "version": "2.1.325" })),
        json!({ "type": "tools-used", "tools": ["Read"], "sessionId": "s1" }),
        json!({ "type": "last-prompt", "leafUuid": "a2", "lastPrompt": "u1", "sessionId": "s1" }),
    ];
    for file in [&first[..], &middle[..], &last[..]] {
        let transcript = load(&lines(file));
        assert_eq!(forgiven(&transcript), Vec::<String>::new());
        let tree = tree_of(&transcript);
        let spoken: Vec<(&str, String)> = tree
            .path_to(tree.main_head())
            .into_iter()
            .filter(|entry| matches!(entry.body, Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_)))
            .map(|entry| (entry.id.as_str(), entry.body.text()))
            .collect();
        let said = |id: &'static str, words: &str| (id, words.to_owned());
        assert_eq!(spoken, [said("u1", "u1"), said("a1", "a1"), said("t1", "found"), said("a2", "a2")]);
        assert_eq!(tree.title(), None);
    }
}
