//! Children of a session, and a folder of them.

use offshoot_session::{BranchReason, Model};
use offshoot_testkit::FixedStamps;
use offshoot_transcripts::rollouts::{
    Child, Filter, Message, Rollout, Summary, branch_for_config_change, branch_for_edit, list, session_id,
};
use serde_json::json;

use crate::files::load;

fn source() -> Rollout {
    let file = r#"{"type":"session","id":"r1","provider":"p","model":"m","parent_id":null}
{"type":"message","role":"user","content":"hello","mood":"good"}
{"type":"message","role":"assistant","content":"hi"}
"#;
    Rollout::of(&load(file)).expect("a session")
}

fn child(model: &str) -> Child {
    let model = Model { provider: "p".into(), name: model.into() };
    Child {
        id: "c1".into(),
        opened_at: FixedStamps::start(),
        project: Some("/work".into()),
        model: Some(model),
    }
}

fn said(rollout: &Rollout) -> Vec<String> {
    let text =
        |message: &Message| format!("{}: {}", message.role(), message.content().as_str().unwrap_or("?"));
    rollout.messages.iter().map(text).collect()
}

#[test]
fn a_change_of_the_configuration_copies_everything_and_says_what_changed() {
    let source = source();
    let branch = branch_for_config_change(&source, source.last_index(), child("m2"), None).expect("a branch");
    assert_eq!(branch.messages, source.messages, "with every field");
    let lineage = branch.header.lineage.as_ref().expect("a parent");
    assert_eq!((lineage.parent.as_str(), lineage.message_index), ("r1", Some(1)));
    assert_eq!(lineage.reason, Some(BranchReason::ConfigChange));
    assert_eq!(lineage.metadata, Some(json!({ "old_model": "p/m", "new_model": "p/m2" })));
    assert_eq!(branch.header.model.as_ref().map(|model| model.name.as_str()), Some("m2"));

    let empty = Rollout { messages: Vec::new(), ..source };
    let branch =
        branch_for_config_change(&empty, empty.last_index(), child("m2"), Some(json!({ "tools": [] })));
    let lineage = branch.expect("a branch").header.lineage.expect("a parent");
    assert_eq!((lineage.message_index, lineage.metadata), (None, Some(json!({ "tools": [] }))));
}

/// R-062: a message of any role can be edited in a child session.
#[test]
fn an_edit_keeps_the_role_and_what_came_before() {
    let first = branch_for_edit(&source(), 0, "hey", child("m")).expect("a branch");
    assert_eq!(said(&first), ["user: hey"]);
    let second = branch_for_edit(&source(), 1, "HI", child("m")).expect("a branch");
    assert_eq!(said(&second), ["user: hello", "assistant: HI"]);
    let lineage = second.header.lineage.as_ref().expect("a parent");
    assert_eq!((lineage.message_index, lineage.reason.clone()), (Some(1), Some(BranchReason::MessageEdit)));
    let missing = branch_for_edit(&source(), 2, "x", child("m")).expect_err("no message 2");
    assert_eq!(missing.to_string(), "there is no message 2; the session has 2");
}

#[test]
fn a_child_is_a_file_that_says_where_it_comes_from() {
    let branch = branch_for_edit(&source(), 1, "HI", child("m")).expect("a branch");
    let file = branch.to_file();
    assert_eq!((file.file_name.as_str(), &file.lost[..]), ("session_c1.jsonl", &[][..]));
    let text = String::from_utf8(file.bytes).expect("text");
    assert_eq!(Rollout::of(&load(&text)), Some(branch));
    assert_eq!(
        text.lines().nth(1),
        Some(r#"{"type":"message","role":"user","content":"hello","mood":"good"}"#)
    );
}

#[test]
fn ids_sort_by_the_second_they_were_made_in() {
    assert_eq!(session_id(FixedStamps::start(), [0x0a, 0xff, 0x00]), "20250101_000000_0aff00");
}

#[test]
fn a_list_is_newest_first_and_every_condition_holds() {
    let session = |id: &str, status: &str, tags: &[(&str, &str)]| Summary {
        id: id.into(),
        status: status.into(),
        tags: tags.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        message_count: 0,
    };
    let sessions =
        [session("1", "done", &[("k", "v")]), session("3", "open", &[]), session("2", "done", &[("k", "w")])];
    let ids = |filter: Filter| {
        list(&sessions, &filter).iter().map(|found| found.id.clone()).collect::<Vec<_>>().join(" ")
    };
    let tag = |value: &str| Filter { tags: [("k".to_owned(), value.to_owned())].into(), ..Filter::default() };
    assert_eq!(ids(Filter::default()), "3 2 1");
    assert_eq!(ids(Filter { status: Some("done".into()), ..Filter::default() }), "2 1");
    assert_eq!(ids(Filter { status: Some("open".into()), ..tag("v") }), "");
    assert_eq!(ids(tag("v")), "1");
    assert_eq!(ids(tag("x")), "");
    assert_eq!(ids(Filter { limit: Some(1), ..Filter::default() }), "3");
}
