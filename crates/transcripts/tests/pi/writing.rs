//! What is written, and what is said to be lost.

use jiff::SignedDuration;
use offshoot_session::plan::{WrittenSummary, branch_with_summary};
use offshoot_session::{
    Block, Body, Change, ContextEdit, Entry, Fact, FileLists, Foreign, HeadName, Interruption, Merge,
    Missing, Model, Prompt, Provenance, Record, SessionHeader, SessionTree, Setting, TitleSource, ToolResult,
    Usage,
};
use offshoot_testkit::{FixedStamps, draw, drawn, tree_of as drawn_tree};
use offshoot_transcripts::pi::{self, Written};
use serde_json::json;

use crate::file::{HEADER, chained, load, said, tree_of, v3};

fn text(written: &Written) -> String {
    String::from_utf8(written.bytes.clone()).expect("text")
}

fn lost(written: &Written) -> Vec<String> {
    written.lost.iter().map(ToString::to_string).collect()
}

fn entry(id: &str, parent: Option<&str>, body: Body) -> Record {
    let written_at = FixedStamps::start() + SignedDuration::from_secs(60);
    Record::entry(Entry { id: id.into(), parent: parent.map(Into::into), written_at, turn: None, body })
}

fn fact(fact: Fact) -> Record {
    Record::marked(FixedStamps::start(), fact)
}

#[test]
fn a_file_that_was_read_is_written_as_it_was() {
    let file = format!(
        "{HEADER}\r\n\n{}\n{{bad\n  {}  \n{}\n{{\"type\":\"half",
        said("u1", None),
        chained("label", "l2", Some("u1"), json!({ "targetId": "u1", "label": "x" })),
        said("a3", Some("l2")),
    );
    let written = pi::write(&load(&file).records);
    assert_eq!(text(&written), file);
    assert_eq!(lost(&written), Vec::<String>::new());
}

/// R-055: a summary of what was left is written below the new place, also before the first entry.
#[test]
fn a_summary_before_the_first_entry_names_the_root() {
    let tree = drawn_tree("u1 - a1*");
    let summary = WrittenSummary {
        summary: "tried".to_owned(),
        files: FileLists::default(),
        details: None,
        from_extension: false,
    };
    let plan =
        branch_with_summary(&tree, &HeadName::main(), None, summary, &mut FixedStamps::after(100)).unwrap();
    let records: Vec<Record> = tree.extended(&plan.records).unwrap().log().cloned().collect();
    let written = text(&pi::write(&records));
    let lines = written.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let line = lines.into_iter().find(|line| line["type"] == "branch_summary").expect("a summary");
    assert_eq!((&line["parentId"], &line["fromId"]), (&json!(null), &json!("root")));
    assert_eq!((&line["summary"], &line["abandonedLeafId"]), (&json!("tried"), &json!("a1")));
}

#[test]
fn new_records_are_lines_that_pi_reads() {
    let written = pi::write(&drawn(r#"u1"hi" - a2"yes"*"#));
    let lines: Vec<serde_json::Value> =
        text(&written).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines[0],
        json!({
            "type": "session", "version": 3, "id": "drawn", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "",
        })
    );
    assert_eq!(
        lines[1],
        json!({
            "type": "message", "id": "u1", "parentId": null, "timestamp": "2025-01-01T00:00:00.000Z",
            "message": { "role": "user", "content": [{ "type": "text", "text": "hi" }], "timestamp": 1_735_689_600_000_i64 },
        })
    );
    assert_eq!((&lines[2]["parentId"], &lines[2]["message"]["stopReason"]), (&json!("u1"), &json!("stop")));
    assert_eq!(lost(&written), Vec::<String>::new());
}

#[test]
fn labels_and_the_title_hang_below_the_head_so_that_pi_resumes_there() {
    let mut records = drawn("u1[start] - a2* - u3");
    let title = Fact::Title { title: Some("Parser".into()), source: TitleSource::User };
    records.push(fact(title));
    let written = pi::write(&records);
    assert_eq!(lost(&written), Vec::<String>::new());
    let again = tree_of(&load(&text(&written)));
    assert_eq!(draw(&again), "u1[start] - a2* - u3\n");
    assert_eq!(again.title(), Some("Parser"));
}

#[test]
fn a_head_that_pi_would_not_find_is_told() {
    let written = pi::write(&drawn("u1 - a2* - u3"));
    assert_eq!(draw(&tree_of(&load(&text(&written)))), "u1 - a2 - u3*\n");
    assert_eq!(
        lost(&written),
        ["the position of the head: the conversation resumes at the last line (at `a2`)"]
    );
}

#[test]
fn what_pi_has_no_place_for_is_told_in_words() {
    let mut records = drawn("u1 - a2*");
    let at = || "u1".into();
    records.extend([
        fact(Fact::BranchName { at: at(), name: Some("main".into()) }),
        fact(Fact::Checkpoint { at: at(), snapshot: "abc".into() }),
        fact(Fact::Checkpoint { at: at(), snapshot: "def".into() }),
        fact(Fact::Bound {
            at: at(),
            agent_session: None,
            provenance: Provenance::Continued,
            last_message: None,
            agent: None,
            missing: Missing::default(),
            inherited: false,
            model: None,
        }),
        fact(Fact::Archived { target: at(), archived: true }),
        fact(Fact::Operation { name: "send".into() }).in_operation("op1".into()),
        fact(Fact::Title { title: Some("T".into()), source: TitleSource::Auto }),
    ]);
    assert_eq!(
        lost(&pi::write(&records)),
        [
            "names of branches (at `u1`)",
            "checkpoints of files (2 times, first at `u1`)",
            "which session of the agent belongs to a branch (at `u1`)",
            "which branches are archived (at `u1`)",
            "the list of steps, so that they cannot be undone",
            "that the title was not given by a person",
        ]
    );
}

/// pi sees a custom entry; reading the file gives the entry back.
#[test]
fn entries_that_pi_has_no_kind_for_come_back() {
    let bodies = [
        Body::Interrupted(Interruption::Wanted),
        Body::Cleared,
        Body::Merge(Merge { from: "u9".into(), summary: Some("both".into()) }),
        Body::Merge(Merge { from: "u9".into(), summary: None }),
        Body::Setting(Setting::Agent("claude".into())),
        Body::Setting(Setting::Tools(vec!["read".into()])),
        Body::Setting(Setting::PermissionMode("ask".into())),
        Body::Setting(Setting::Mode { mode: "plan".into(), data: Some(json!({ "a": 1 })) }),
        Body::Setting(Setting::ServiceTier(None)),
        Body::Setting(Setting::Config(json!({ "endpoint": {} }))),
        Body::Setting(Setting::Model {
            role: Some("small".into()),
            model: Model { provider: "p".into(), name: "m".into() },
        }),
        Body::Setting(Setting::Thinking(None)),
        Body::Prompt(Prompt {
            attachments: vec!["a.png".into()],
            said_at: Some(FixedStamps::start()),
            ..Prompt::default()
        }),
    ];
    for body in bodies {
        let records = [
            Record::opened(SessionHeader::new("s".into(), FixedStamps::start())),
            entry("e1", None, body.clone()),
        ];
        let written = pi::write(&records);
        let again = tree_of(&load(&text(&written)));
        assert_eq!(again.entry(&"e1".into()).map(|entry| entry.body.clone()), Some(body.clone()));
        let is_pis_own = matches!(body, Body::Setting(Setting::Thinking(_)) | Body::Prompt(_));
        assert_eq!(written.lost.is_empty(), is_pis_own, "{body:?}");
    }
}

#[test]
fn usage_outside_of_replies_is_a_line_of_its_own() {
    let usage = Usage { input: 3, cost_micros: 1_500_000, ..Usage::default() };
    let mut records = drawn("u1*");
    records.push(fact(Fact::Spent { usage, model: None }));
    let written = pi::write(&records);
    let again = tree_of(&load(&text(&written)));
    assert_eq!(again.spent().copied().collect::<Vec<_>>(), [usage]);
    assert_eq!(draw(&tree_of(&load(&text(&written)))), "u1*\n");
}

#[test]
fn what_undo_hides_is_not_written() {
    let mut records = drawn("u1 - a2*");
    let hidden = entry("u3", Some("a2"), Body::prompt("oops")).in_operation("op1".into());
    records.extend([hidden, entry("a4", Some("u3"), Body::reply("hm"))]);
    records.push(fact(Fact::Undone { operation: "op1".into() }));
    let written = pi::write(&records);
    assert_eq!(draw(&tree_of(&load(&text(&written)))), "u1 - a2*\n");
    assert!(lost(&written).contains(&"what undo hides (2 times)".to_owned()), "{:?}", lost(&written));
}

/// Hazard pi-hz-003: the label in the chain is not copied, and the way above it is not lost.
#[test]
fn a_branch_is_written_without_its_labels_in_the_chain() {
    let line = format!("  {}", said("a3", Some("l2")).to_string().replace("\"a3\"", "\"a3\" "));
    let file = format!(
        "{HEADER}\n{}\n{}\n{line}\r\n{}\n{}\n",
        said("u1", None),
        chained("label", "l2", Some("u1"), json!({ "targetId": "u1", "label": "x" })),
        said("u4", Some("a3")),
        said("u5", Some("a3")),
    );
    let tree = tree_of(&load(&file));
    let written =
        pi::write_branch(&tree, &"u4".into(), SessionHeader::new("fork".into(), FixedStamps::start()));
    let copy = text(&written);
    assert_eq!(draw(&tree_of(&load(&copy))), "u1[x] - a3 - u4*\n");
    assert!(copy.contains(&said("u1", None).to_string()) && !copy.contains("l2"), "{copy}");
    let moved = line.replace("\"parentId\":\"l2\"", "\"parentId\":\"u1\"");
    assert!(copy.contains(&format!("{moved}\r\n")), "only the parent changes: {copy}");
}

#[test]
fn lines_of_other_programs_are_not_copied_into_a_file_of_pi() {
    let rollout = r#"{"type":"session","id":"r","parent_id":null}
{"type":"message","role":"user","content":"hi"}
{"type":"mystery","content":"x"}
{"type":"session","id":"again"}
"#;
    let transcript = offshoot_transcripts::read(None, rollout.as_bytes()).expect("readable");
    let written = pi::write(&transcript.records);
    let again = load(&text(&written));
    assert_eq!(draw(&tree_of(&again)), draw(&tree_of(&transcript)));
    assert!(again.oddities.is_empty(), "{:?}", again.oddities);
    let second = tree_of(&transcript).main_head().cloned().expect("a head");
    let mystery = format!("entries of an unknown kind; kept as a note (at `{second}`)");
    assert_eq!(lost(&written), [mystery.as_str(), "lines that could not be read"]);
}

#[test]
fn a_file_that_pi_would_throw_away_is_written_so_that_it_opens() {
    let late = format!("{}\n{HEADER}\n", said("u1", None));
    assert_eq!(text(&pi::write(&load(&late).records)), format!("{HEADER}\n{}\n", said("u1", None)));
    let nameless = format!("{}\n{}\n", HEADER.replace(r#""id":"s1","#, ""), said("u1", None));
    let header = text(&pi::write(&load(&nameless).records)).lines().next().map(str::to_owned);
    let header: serde_json::Value = serde_json::from_str(&header.expect("a header")).expect("JSON");
    assert_eq!(header["id"].as_str().map(str::len), Some(8));
    let headless = format!("{}\n", said("u1", None));
    assert!(text(&pi::write(&load(&headless).records)).starts_with(r#"{"type":"session","version":3"#));
}

/// Hazard pi-hz-001.
#[test]
fn what_is_appended_is_never_glued_to_a_torn_line() {
    let file =
        format!("{}{}", v3(&[said("u1", None), said("a2", Some("u1"))]), r#"{"type":"message","id":"u3","#);
    let added = pi::append(
        file.as_bytes(),
        &[
            entry("u4", Some("a2"), Body::prompt("after the crash")),
            entry("u5", Some("u4"), Body::prompt("and on")),
        ],
    )
    .expect("can be added to");
    let whole = format!("{file}{}", text(&added));
    let transcript = load(&whole);
    let tree = tree_of(&transcript);
    let said: Vec<String> = tree.path_to(tree.main_head()).iter().map(|entry| entry.body.text()).collect();
    assert_eq!(said, ["u1", "a2", "after the crash", "and on"]);
    assert_eq!(crate::file::forgiven(&transcript), ["line 4: not readable: not JSON at column 28"]);
}

#[test]
fn appending_begins_a_line_of_its_own_and_writes_facts_at_the_tip() {
    let file = v3(&[said("u1", None)]);
    let label = |words: &str| fact(Fact::Label { target: "u1".into(), label: Some(words.into()) });
    let whole = file.trim_end().to_owned();
    let added = text(&pi::append(whole.as_bytes(), &[label("x")]).expect("can be added to"));
    let whole = format!("{whole}{added}");
    assert_eq!(draw(&tree_of(&load(&whole))), "u1[x]*\n");
    let again = pi::append(whole.as_bytes(), &[label("x")]).expect("can be added to");
    assert_eq!(text(&again), "", "what is so already is not said again");
    let first = pi::append(b"", &drawn("u1*")).expect("can be added to");
    assert_eq!(first, pi::write(&drawn("u1*")));
}

#[test]
fn a_file_of_version_1_is_not_added_to() {
    let file = "{\"type\":\"session\",\"id\":\"old\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";
    let error = pi::append(file.as_bytes(), &[]).expect_err("refused");
    assert_eq!(error.to_string(), "a file of version 1 cannot be added to");
}

#[test]
fn records_without_a_header_get_one() {
    let records: Vec<Record> =
        drawn("u1*").into_iter().filter(|record| !matches!(record.change, Change::Opened(_))).collect();
    let again = tree_of(&load(&text(&pi::write(&records))));
    assert!(again.header().is_some());
    assert_eq!(draw(&again), "u1*\n");
}

#[test]
fn a_tree_survives_the_way_through_pi() {
    let tree: SessionTree =
        drawn_tree("u1[start] - c2 - t2 - a3 - k4 - u5\n a3 - s6 - x7 - n8 - z9 - i10*\n m11 - u12");
    let records: Vec<Record> = tree.log().cloned().collect();
    let written = pi::write(&records);
    assert_eq!(draw(&tree_of(&load(&text(&written)))), draw(&tree));
}

#[test]
fn context_edits_and_usage_are_written_and_read_back() {
    let usage = Some(Box::new(Usage { input: 5, total: 5, cost_micros: 1000, ..Usage::default() }));
    let result = ToolResult {
        call: "c".into(),
        tool: "t".into(),
        blocks: Vec::new(),
        failed: false,
        usage,
        changed_input: None,
    };
    let words = Some(vec![Block::Text("short".into())]);
    let records = vec![
        Record::opened(SessionHeader::new("s".into(), FixedStamps::start())),
        entry("t1", None, Body::ToolResult(result)),
        entry("e1", Some("t1"), Body::ContextEdit(ContextEdit { target: "t1".into(), replacement: words })),
        entry("e2", Some("e1"), Body::ContextEdit(ContextEdit { target: "t1".into(), replacement: None })),
    ];
    let written = pi::write(&records);
    assert_eq!(lost(&written), Vec::<String>::new());
    assert!(text(&written).contains(r#""targetId":"t1","replacement":null}"#), "{}", text(&written));
    let again = load(&text(&written)).records;
    let bodies = |records: &[Record]| -> Vec<Body> {
        records.iter().filter_map(|record| Some(record.as_entry()?.body.clone())).collect()
    };
    assert_eq!(bodies(&again), bodies(&records));
}

/// A journal that imported the line before this version understood it.
#[test]
fn a_line_that_was_kept_as_foreign_goes_back_as_it_was() {
    let edit = chained("context_edit", "e1", Some("u1"), json!({ "targetId": "u1", "replacement": null }));
    let file = format!("{HEADER}\n{}\n{edit}\n", said("u1", None));
    let mut records = load(&file).records;
    for record in &mut records {
        if let Change::Entry(entry) = &record.change
            && matches!(entry.body, Body::ContextEdit(_))
        {
            let body = Body::Foreign(Foreign { kind: "context_edit".into(), text: None });
            let old = Entry { body, ..Entry::clone(entry) };
            record.change = Change::Entry(old.into());
        }
    }
    assert_eq!(text(&pi::write(&records)), file);
}
