//! What a file says.

use offshoot_session::{
    Block, Body, Change, ContextEdit, CustomMessage, Fact, Foreign, ImageData, Model, Note, Odd, Record,
    SessionTree, Setting, Shell, Stop, TitleSource, Usage,
};
use offshoot_transcripts::{Dialect, pi};
use serde_json::{Value, json};

use crate::file::{HEADER, chained, drawing, forgiven, load, said, tree_of, v3};

fn body(fields: Value) -> Body {
    pi::body_of_message(&fields)
}

fn body_of_line(kind: &str, fields: Value) -> Body {
    let transcript = pi::read_entries(&[chained(kind, "e1", None, fields)]);
    transcript.records[0].as_entry().expect("an entry").body.clone()
}

fn fact_of_line(kind: &str, fields: Value) -> Fact {
    let transcript = pi::read_entries(&[chained(kind, "e1", None, fields)]);
    match &transcript.records[0].change {
        Change::Marked(mark) => mark.fact.clone(),
        other => panic!("not a fact: {other:?}"),
    }
}

#[test]
fn a_file_is_a_tree_and_its_last_line_is_the_head() {
    let file =
        v3(&[said("u1", None), said("a1", Some("u1")), said("u2", Some("a1")), said("u3", Some("a1"))]);
    assert_eq!(drawing(&file), "u1 - a1 - u2\n     a1 - u3*\n");
}

#[test]
fn a_header_says_where_the_session_belongs() {
    let file = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00Z","cwd":"/work","parentSession":"/old.jsonl"}"#;
    let transcript = load(file);
    let tree = tree_of(&transcript);
    let header = tree.header().expect("a header");
    assert_eq!((header.id.as_str(), header.project.as_deref()), ("s1", Some("/work")));
    assert_eq!(header.agent.as_deref(), Some("pi"));
    assert_eq!(header.lineage.as_ref().map(|lineage| lineage.parent.as_str()), Some("/old.jsonl"));
    assert_eq!(transcript.dialect, Dialect::Pi { version: 3 });
    assert_eq!((tree.len(), tree.main_head()), (0, None));
}

#[test]
fn a_label_is_a_fact_and_its_children_move_up() {
    let file = v3(&[
        said("u1", None),
        chained("label", "l2", Some("u1"), json!({ "targetId": "u1", "label": "start" })),
        chained("session_info", "n3", Some("l2"), json!({ "name": " Parser " })),
        said("a4", Some("n3")),
        chained("label", "l5", Some("a4"), json!({ "targetId": "a4", "label": "end" })),
    ]);
    assert_eq!(drawing(&file), "u1[start] - a4[end]*\n");
    let tree = tree_of(&load(&file));
    assert_eq!(tree.title(), Some("Parser"));
    assert!(tree.title_is_by_user());
}

#[test]
fn labels_are_taken_away_by_nothing_and_by_blanks() {
    let label = |id: &str, label: Value| {
        chained("label", id, Some("u1"), json!({ "targetId": "u1", "label": label }))
    };
    assert_eq!(drawing(&v3(&[said("u1", None), label("l2", json!("x")), label("l3", Value::Null)])), "u1*\n");
    assert_eq!(drawing(&v3(&[said("u1", None), label("l2", json!("x")), label("l3", json!(" "))])), "u1*\n");
}

#[test]
fn a_label_at_the_end_puts_the_head_where_the_label_hangs() {
    let file = v3(&[
        said("u1", None),
        said("u2", Some("u1")),
        said("u3", Some("u1")),
        chained("label", "l4", Some("u2"), json!({ "targetId": "u3", "label": "other" })),
    ]);
    assert_eq!(drawing(&file), "u1 - u2*\nu1 - u3[other]\n");
}

#[test]
fn children_of_a_label_that_comes_later_move_up_too() {
    let file = v3(&[
        said("u3", Some("l2")),
        chained("label", "l2", Some("u1"), json!({ "targetId": "u1", "label": "x" })),
        said("u1", None),
    ]);
    assert_eq!(drawing(&file), "u1[x]* - u3\n");
}

#[test]
fn labels_that_only_lead_to_each_other_lead_nowhere() {
    let label = |id: &str, parent: &str| {
        chained("label", id, Some(parent), json!({ "targetId": "u1", "label": "x" }))
    };
    let file = v3(&[label("l1", "l2"), label("l2", "l1"), said("u1", Some("l1"))]);
    assert_eq!(drawing(&file), "u1[x]*\n");
}

#[test]
fn a_leaf_line_moves_the_head_until_something_is_written_behind_it() {
    let leaf = |to: Value| json!({ "type": "leaf", "targetId": to });
    let two = [said("u1", None), said("u2", Some("u1"))];
    let moved = [two.to_vec(), vec![leaf(json!("u1"))]].concat();
    assert_eq!(drawing(&v3(&moved)), "u1* - u2\n");
    let written = [moved, vec![said("u3", Some("u1"))]].concat();
    assert_eq!(drawing(&v3(&written)), "u1 - u2\nu1 - u3*\n");
    let before_all = [two.to_vec(), vec![leaf(Value::Null)]].concat();
    assert_eq!(drawing(&v3(&before_all)), "u1 - u2\n");
    let nowhere = [two.to_vec(), vec![leaf(json!("gone"))]].concat();
    assert_eq!(drawing(&v3(&nowhere)), "u1 - u2*\n");
}

/// What is read can also be taken strictly: moves know where the head was.
#[test]
fn the_records_of_a_clean_file_are_clean() {
    let file = v3(&[
        said("u1", None),
        json!({ "type": "leaf", "targetId": "u1" }),
        said("u2", Some("u1")),
        json!({ "type": "leaf", "targetId": "u1" }),
        said("u3", Some("u1")),
    ]);
    let tree = SessionTree::default().extended(&load(&file).records).expect("strictly taken");
    assert_eq!(tree.main_head().map(|head| head.as_str()), Some("u3"));
}

#[test]
fn messages_speak_our_vocabulary() {
    assert_eq!(body(json!({ "role": "user", "content": "hi" })), Body::prompt("hi"));
    let reply = body(json!({
        "role": "assistant", "provider": "p", "model": "m", "stopReason": "error", "errorMessage": "no",
        "content": [
            { "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "yes" },
            { "type": "toolCall", "id": "c1", "name": "read", "arguments": { "z": 1, "a": 2 } },
            { "type": "new", "x": 1 },
        ],
        "usage": { "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
                   "cost": { "total": 0.0123456 } },
    }));
    let Body::Reply(reply) = reply else { panic!("a reply") };
    assert_eq!(reply.model, Some(Model { provider: "p".into(), name: "m".into() }));
    assert_eq!(reply.stop, Some(Stop::Error("no".into())));
    let usage = Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, total: 10, cost_micros: 12_346 };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(reply.blocks[0], Block::Thinking("hm".into()));
    assert_eq!(reply.blocks[3], Block::Other { kind: "new".into() });
    let call = reply.tool_uses().next().expect("a call");
    assert_eq!(call.input.to_string(), r#"{"z":1,"a":2}"#, "arguments keep their order");
}

#[test]
fn every_role_has_its_body() {
    let result = body(
        json!({ "role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": [], "isError": true }),
    );
    assert!(matches!(result, Body::ToolResult(result) if result.failed && result.call.as_str() == "c1"));
    let shell = body(json!({
        "role": "bashExecution", "command": "ls", "output": "a", "exitCode": 2, "cancelled": false,
        "truncated": true, "fullOutputPath": "/tmp/x", "excludeFromContext": true,
    }));
    assert_eq!(
        shell,
        Body::Shell(Shell {
            command: "ls".into(),
            output: "a".into(),
            exit_code: Some(2),
            cancelled: false,
            full_output: Some("/tmp/x".into()),
            private: true,
        })
    );
    let custom = CustomMessage {
        kind: "x".into(),
        blocks: vec![Block::Text("c".into())],
        display: false,
        attribution: None,
    };
    for role in ["custom", "hookMessage"] {
        let said = body(json!({ "role": role, "customType": "x", "content": "c", "display": false }));
        assert_eq!(said, Body::CustomMessage(custom.clone()), "{role}");
    }
    assert!(matches!(body(json!({ "role": "branchSummary", "summary": "s" })), Body::BranchSummary(_)));
    assert!(matches!(body(json!({ "role": "compactionSummary", "summary": "s" })), Body::Compaction(_)));
    let system = body(json!({ "role": "system", "content": "", "sections": { "a": "one", "b": "two" } }));
    assert_eq!(system.text(), "one\n\ntwo");
    let foreign = Body::Foreign(Foreign { kind: "oracle".into(), text: Some("hm".into()) });
    assert_eq!(body(json!({ "role": "oracle", "content": "hm" })), foreign);
    assert!(matches!(body(json!(7)), Body::Foreign(_)));
}

#[test]
fn an_image_is_inline_or_kept_elsewhere() {
    let image = |data: &str| match body(
        json!({ "role": "user", "content": [{ "type": "image", "data": data, "mimeType": "image/png" }] }),
    ) {
        Body::Prompt(prompt) => match &prompt.blocks[..] {
            [Block::Image { data, .. }] => data.clone(),
            other => panic!("not an image: {other:?}"),
        },
        other => panic!("not a prompt: {other:?}"),
    };
    assert_eq!(image("aGk="), ImageData::Inline("aGk=".into()));
    assert_eq!(image("blob:sha256:0ff1ce"), ImageData::Blob("sha256:0ff1ce".into()));
}

#[test]
fn every_type_of_line_has_its_body() {
    let model = |provider: &str, name: &str| Model { provider: provider.into(), name: name.into() };
    let setting =
        |role: Option<&str>, model| Body::Setting(Setting::Model { role: role.map(Into::into), model });
    assert_eq!(
        body_of_line("model_change", json!({ "provider": "p", "modelId": "m" })),
        setting(None, model("p", "m"))
    );
    assert_eq!(body_of_line("model_change", json!({ "model": "p/m/x" })), setting(None, model("p", "m/x")));
    assert_eq!(
        body_of_line("model_change", json!({ "model": "p/m", "role": "smol" })),
        setting(Some("smol"), model("p", "m"))
    );
    assert_eq!(
        body_of_line("thinking_level_change", json!({ "thinkingLevel": "high" })),
        Body::Setting(Setting::Thinking(Some("high".into())))
    );
    assert_eq!(
        body_of_line("mode_change", json!({ "mode": "plan", "data": { "a": 1 } })),
        Body::Setting(Setting::Mode { mode: "plan".into(), data: Some(json!({ "a": 1 })) })
    );
    assert_eq!(
        body_of_line("service_tier_change", json!({ "serviceTier": { "openai": "flex" } })),
        Body::Setting(Setting::ServiceTier(Some(r#"{"openai":"flex"}"#.into())))
    );
    assert_eq!(body_of_line("reset_boundary", json!({})), Body::Cleared);
    let edit = |replacement: Option<&str>| {
        let replacement = replacement.map(|words| vec![Block::Text(words.into())]);
        Body::ContextEdit(ContextEdit { target: "a1".into(), replacement })
    };
    let edit_line =
        |replacement| body_of_line("context_edit", json!({ "targetId": "a1", "replacement": replacement }));
    assert_eq!(edit_line(Value::Null), edit(None));
    assert_eq!(edit_line(json!({ "content": "short" })), edit(Some("short")));
    assert_eq!(edit_line(json!({ "content": [{ "type": "text", "text": "short" }] })), edit(Some("short")));
    // an edit that does not say what to do, or to which message, does nothing
    assert!(matches!(edit_line(json!("short")), Body::Foreign(_)));
    assert!(matches!(body_of_line("context_edit", json!({ "targetId": "a1" })), Body::Foreign(_)));
    assert!(matches!(body_of_line("context_edit", json!({ "replacement": null })), Body::Foreign(_)));
    let note = Note { kind: "todo".into(), data: Some(json!([1])) };
    assert_eq!(body_of_line("custom", json!({ "customType": "todo", "data": [1] })), Body::Note(note));
    assert!(matches!(
        body_of_line("custom_message", json!({ "customType": "x", "content": "c", "attribution": "user" })),
        Body::CustomMessage(message) if message.display && message.attribution.as_deref() == Some("user")
    ));
    assert!(matches!(body_of_line("credential_pin", json!({ "hash": "x" })), Body::Foreign(_)));
}

#[test]
fn results_and_summaries_report_what_they_used() {
    let usage = json!({ "input": 5, "totalTokens": 5, "cost": { "total": 0.001 } });
    let used = Some(Usage { input: 5, total: 5, cost_micros: 1000, ..Usage::default() });
    let result =
        json!({ "role": "toolResult", "toolCallId": "c", "toolName": "t", "content": [], "usage": usage });
    let lines = [
        body_of_line("message", json!({ "message": result })),
        body_of_line("compaction", json!({ "summary": "s", "firstKeptEntryId": "u1", "usage": usage })),
        body_of_line("branch_summary", json!({ "summary": "s", "fromId": "u1", "usage": usage })),
    ];
    for body in lines {
        assert_eq!(body.usage(), used.as_ref(), "{body:?}");
    }
    let system =
        json!({ "role": "system", "content": "", "sections": { "a": "Be brief.", "b": "Be kind." } });
    let compaction = body_of_line(
        "compaction",
        json!({ "summary": "s", "firstKeptEntryId": "u1", "systemMessage": system }),
    );
    assert!(
        matches!(compaction, Body::Compaction(made) if made.system.as_deref() == Some("Be brief.\n\nBe kind."))
    );
}

#[test]
fn summaries_carry_files_unless_an_extension_made_them() {
    let details = json!({ "readFiles": ["a.rs"], "modifiedFiles": ["b.rs"] });
    let made = body_of_line(
        "compaction",
        json!({
            "summary": "s", "firstKeptEntryId": "u1", "tokensBefore": 7, "details": details,
        }),
    );
    let Body::Compaction(made) = made else { panic!("a compaction") };
    assert_eq!((made.tokens_before, made.first_kept), (7, Some("u1".into())));
    assert_eq!(
        (&made.files.read[..], &made.files.modified[..]),
        (&["a.rs".to_owned()][..], &["b.rs".to_owned()][..])
    );
    for flag in ["fromHook", "fromExtension"] {
        let summary = body_of_line(
            "branch_summary",
            json!({ "summary": "s", "fromId": "root", "details": details, flag: true }),
        );
        let Body::BranchSummary(summary) = summary else { panic!("a summary") };
        assert!(summary.from_extension && summary.files.read.is_empty() && summary.from.is_none());
        assert_eq!(summary.details.as_ref(), Some(&details));
    }
}

/// The way from the label down to the compaction begins with `u3`.
#[test]
fn a_compaction_that_keeps_from_a_label_keeps_from_the_entry_below_it() {
    let file = v3(&[
        said("u1", None),
        chained("label", "l2", Some("u1"), json!({ "targetId": "u1", "label": "x" })),
        said("u3", Some("l2")),
        said("a4", Some("u3")),
        chained("compaction", "k5", Some("a4"), json!({ "summary": "s", "firstKeptEntryId": "l2" })),
    ]);
    let tree = tree_of(&load(&file));
    let compaction = tree.entry(&"k5".into()).expect("there");
    assert!(matches!(&compaction.body, Body::Compaction(made) if made.first_kept == Some("u3".into())));
}

#[test]
fn oh_my_pi_adds_its_own_facts() {
    let title = |title: &str, source| Fact::Title { title: Some(title.into()), source };
    assert_eq!(
        fact_of_line("title_change", json!({ "title": "T", "source": "user" })),
        title("T", TitleSource::User)
    );
    assert_eq!(
        fact_of_line("title_change", json!({ "title": "T", "source": "auto" })),
        title("T", TitleSource::Auto)
    );
    assert_eq!(
        fact_of_line("archive", json!({ "targetId": "u1", "archived": true })),
        Fact::Archived { target: "u1".into(), archived: true }
    );
    for kind in ["usage", "model_usage"] {
        let spent =
            fact_of_line(kind, json!({ "usage": { "input": 5, "cost": { "input": 0.5, "output": 0.25 } } }));
        assert_eq!(
            spent,
            Fact::Spent { usage: Usage { input: 5, cost_micros: 750_000, ..Usage::default() }, model: None }
        );
    }
}

#[test]
fn the_title_slot_stands_before_the_header() {
    let slot = json!({ "type": "title", "v": 1, "title": "Slots", "source": "user", "pad": "      " });
    let file = format!("{slot}\n{HEADER}\n{}\n", said("u1", None));
    let transcript = load(&file);
    assert_eq!(transcript.dialect, Dialect::OhMyPi { version: 3 });
    assert_eq!(transcript.dialect.name(), "oh-my-pi v3");
    assert_eq!(forgiven(&transcript), Vec::<String>::new());
    assert_eq!(tree_of(&transcript).title(), Some("Slots"));
    assert_eq!(tree_of(&transcript).header().and_then(|header| header.agent.as_deref()), Some("oh-my-pi"));
}

#[test]
fn an_older_title_stands_in_the_header() {
    let file = HEADER.replace('}', r#","title":"Old","titleSource":"auto"}"#);
    let tree = tree_of(&load(&file));
    assert_eq!((tree.title(), tree.title_is_by_user()), (Some("Old"), false));
}

#[test]
fn an_empty_name_takes_no_name_away() {
    let name = |id: &str, name: &str| chained("session_info", id, Some("u1"), json!({ "name": name }));
    let file = v3(&[said("u1", None), name("n2", "First"), name("n3", "")]);
    assert_eq!(tree_of(&load(&file)).title(), Some("First"));
    let file = v3(&[said("u1", None), name("n3", ""), said("u4", Some("n3"))]);
    assert_eq!(drawing(&file), "u1 - u4*\n");
}

#[test]
fn a_line_of_an_unknown_type_keeps_its_place_in_the_tree() {
    let file = v3(&[
        said("u1", None),
        chained("hologram", "h2", Some("u1"), json!({ "note": "shimmering", "data": [1] })),
        said("a3", Some("h2")),
        json!({ "type": "hologram", "x": 1 }),
        json!({ "type": "ttsr_injection", "id": "t5", "parentId": "a3", "timestamp": 1, "injectedRules": [] }),
    ]);
    let transcript = load(&file);
    assert_eq!(drawing(&file), "u1 - h2 - a3 - t5*\n");
    assert_eq!(transcript.unknown_types, [("hologram".to_owned(), 2)].into());
    assert_eq!(forgiven(&transcript), ["line 3: unknown type `hologram`"]);
    assert_eq!(
        tree_of(&transcript).entry(&"h2".into()).map(|entry| entry.body.text()),
        Some("shimmering".into())
    );
}

#[test]
fn lines_end_in_any_way_and_blank_lines_say_nothing() {
    let file = format!("\u{feff}{HEADER}\r\n\r\n{}\r\n   \n{}", said("u1", None), said("a2", Some("u1")));
    assert_eq!(drawing(&file), "u1 - a2*\n");
    assert_eq!(forgiven(&load(&file)), Vec::<String>::new());
}

#[test]
fn a_torn_tail_is_told_and_kept() {
    let file = format!("{}{}", v3(&[said("u1", None)]), r#"{"type":"message","id":"a2","par"#);
    assert_eq!(drawing(&file), "u1*\n");
    assert_eq!(forgiven(&load(&file)), ["line 3: the last line is unfinished (32 bytes)"]);
}

#[test]
fn a_bad_line_in_the_middle_is_told_and_kept() {
    let file =
        format!("{HEADER}\n{}\n{{half\n[1]\n\0\0\n{}\n{{}}\n", said("u1", None), said("a2", Some("u1")));
    assert_eq!(drawing(&file), "u1 - a2*\n");
    assert_eq!(
        forgiven(&load(&file)),
        [
            "line 3: not readable: not JSON at column 2",
            "line 4: not readable: JSON, but not an object",
            "line 5: not readable: not JSON at column 1",
            "line 7: not readable: an object without a type",
        ]
    );
}

/// The end of one line and the beginning of the next are lost, and what is left is JSON with its keys twice.
#[test]
fn two_lines_that_ran_into_each_other_are_neither() {
    let place = |kind, id, parent| {
        format!(r#""type":"{kind}","id":"{id}","parentId":"{parent}","timestamp":"2025-01-01T00:00:02.000Z""#)
    };
    for second in
        [place("compaction", "c3", "u1"), place("compaction", "c2", "a9"), place("label", "c2", "u1")]
    {
        let first = place("compaction", "c2", "u1");
        let joined = format!(r#"{{{first},"summary":"short","tokens":1,{second},"summary":"left"}}"#);
        let file = format!("{HEADER}\n{}\n{joined}\n{}\n", said("u1", None), said("u4", Some("u1")));
        assert_eq!(drawing(&file), "u1 - u4*\n", "{second}");
        assert_eq!(
            forgiven(&load(&file)),
            ["line 3: not readable: two lines ran into each other"],
            "{second}"
        );
    }
    let twice = place("message", "u2", "u1");
    let joined = format!(r#"{{{twice},"message":{{"role":"user","content":"u2"}},{twice}}}"#);
    let file = format!("{}{joined}\n", v3(&[said("u1", None)]));
    assert_eq!(drawing(&file), "u1 - u2*\n", "said twice alike it is said");
}

#[test]
fn bytes_that_are_no_text_spoil_one_word_and_not_the_line() {
    let line = said("u1", None).to_string().replace(r#""content":"u1""#, "\"content\":\"a@b\"");
    let mut file = format!("{HEADER}\n{line}\n").into_bytes();
    let at = file.iter().position(|byte| *byte == b'@').expect("there");
    file[at] = 0xff;
    let transcript = offshoot_transcripts::read(None, &file).expect("readable");
    assert_eq!(transcript.source_bytes(), file);
    let tree = tree_of(&transcript);
    assert_eq!(tree.entry(&"u1".into()).map(|entry| entry.body.text()), Some("a\u{fffd}b".into()));
    assert!(matches!(&transcript.oddities[..], [odd] if matches!(odd.what, Odd::Repaired(_))));
}

#[test]
fn a_time_that_cannot_be_read_is_the_one_before() {
    let at = |id: &str, parent, time: Value| {
        let mut line = said(id, parent);
        line["timestamp"] = time;
        line
    };
    let file = v3(&[
        at("u1", None, json!(1_735_689_605_000_i64)),
        at("u2", Some("u1"), json!("soon")),
        at("u3", Some("u2"), json!("2025-01-01T00:00:09")),
    ]);
    let transcript = load(&file);
    let tree = tree_of(&transcript);
    let seconds: Vec<i64> =
        tree.entries().map(|entry| entry.written_at.as_second() - 1_735_689_600).collect();
    assert_eq!(seconds, [5, 5, 9]);
    assert_eq!(
        forgiven(&transcript),
        ["line 3: the time is missing or not readable; the one before is taken"]
    );
}

#[test]
fn a_file_without_a_header_is_read_and_named_after_its_file() {
    let file = format!("{}\n", said("u1", None));
    let transcript =
        offshoot_transcripts::read(Some("/a/2025_0ff1ce.jsonl"), file.as_bytes()).expect("readable");
    let tree = tree_of(&transcript);
    assert_eq!(tree.header().map(|header| header.id.as_str()), Some("0ff1ce"));
    assert_eq!(forgiven(&transcript), ["the header is missing"]);
    assert_eq!(drawing(&file), "u1*\n");
}

#[test]
fn a_header_may_be_late_nameless_or_double() {
    let late = format!("{}\n{HEADER}\n", said("u1", None));
    assert_eq!(forgiven(&load(&late)), ["line 2: the header stands behind other lines"]);
    assert_eq!(drawing(&late), "u1*\n");

    let nameless = HEADER.replace(r#""id":"s1","#, "");
    let transcript = load(&format!("{nameless}\n{}\n", said("u1", None)));
    assert_eq!(forgiven(&transcript), ["line 1: the header has no id; one is made from its text"]);
    assert_eq!(tree_of(&transcript).header().map(|header| header.id.as_str().len()), Some(8));

    let double = format!("{HEADER}\n{}\n{}\n", said("u1", None), HEADER.replace("s1", "s2"));
    assert_eq!(forgiven(&load(&double)), ["line 3: a second header; the first one counts"]);
    assert_eq!(tree_of(&load(&double)).header().map(|header| header.id.as_str()), Some("s1"));
}

#[test]
fn ids_that_repeat_parents_that_are_missing_and_cycles_are_left_to_the_tree() {
    let file = v3(&[
        said("u1", None),
        said("u1", None),
        said("u2", Some("gone")),
        said("u3", Some("u4")),
        said("u4", Some("u3")),
    ]);
    let transcript = load(&file);
    assert_eq!(transcript.records.iter().filter_map(Record::as_entry).count(), 5);
    let (tree, odd) = SessionTree::replay(transcript.records);
    assert_eq!(tree.len(), 4);
    let odd: Vec<String> = odd.iter().map(ToString::to_string).collect();
    assert_eq!(
        odd,
        [
            "id `u1` is used twice; the first one counts",
            "`u2` has the parent `gone`, which is missing; it begins a tree of its own",
            "`u3` is its own ancestor; it begins a tree of its own",
        ]
    );
}

#[test]
fn an_entry_without_an_id_gets_one_and_follows_the_line_before() {
    let mut nameless = said("a2", None);
    nameless.as_object_mut().expect("an object").retain(|key, _| key != "id" && key != "parentId");
    let transcript = load(&v3(&[said("u1", None), nameless]));
    assert_eq!(forgiven(&transcript), ["line 3: the entry has no id; one is made from its place"]);
    let tree = tree_of(&transcript);
    let head = tree.main_head().expect("a head");
    assert_eq!((head.as_str().len(), tree.parent(head).map(|entry| entry.id.as_str())), (8, Some("u1")));
}

#[test]
fn entries_without_a_file_are_read_by_the_same_rules() {
    let transcript = pi::read_entries(&[said("u1", None), said("a2", Some("u1"))]);
    assert_eq!(offshoot_testkit::draw(&tree_of(&transcript)), "u1 - a2*\n");
    assert!(transcript.oddities.is_empty() && tree_of(&transcript).header().is_none());
    assert!(pi::read_entries(&[]).records.is_empty());
}

#[test]
fn a_session_of_fifty_thousand_labels_and_entries_is_read_in_one_go() {
    let mut lines = vec![said("u0", None)];
    for at in 1..25_000 {
        let above = format!("u{}", at - 1);
        let label = format!("l{at}");
        lines.push(chained("label", &label, Some(&above), json!({ "targetId": "u0", "label": "x" })));
        lines.push(said(&format!("u{at}"), Some(&label)));
    }
    let tree = tree_of(&load(&v3(&lines)));
    assert_eq!(tree.depth(&"u24999".into()), Some(24_999));
}
