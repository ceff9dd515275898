//! Every written file is one trajectory with one configuration.

use std::sync::Arc;

use offshoot_session::plan::plan_config_session;
use offshoot_session::{Body, Change, Entry, HeadName, Model, Record, SessionHeader, SessionTree, Setting};
use offshoot_testkit::{FixedStamps, drawn, tree_of as drawn_tree};
use offshoot_transcripts::rollouts::{self, RolloutFile};
use serde_json::Value;

use crate::files::{load, tree_of};

fn lines(file: &RolloutFile) -> Vec<Value> {
    let text = String::from_utf8(file.bytes.clone()).expect("a line of JSON");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Each file on a line: its model, its messages, and where it came from.
fn told(files: &[RolloutFile]) -> Vec<String> {
    let told = files.iter().map(|file| {
        let lines = lines(file);
        let (header, messages) = lines.split_first().expect("a line of JSON");
        assert!(messages.iter().all(|line| line["type"] == "message"), "{messages:?}");
        let said: Vec<&str> =
            messages.iter().map(|line| line["content"].as_str().expect("a line of JSON")).collect();
        let mut told = format!("{} {}: {}", text(&header["id"]), text(&header["model"]), said.join(" "));
        if !header["parent_id"].is_null() {
            told += &format!(
                " <- {} at {} {} {}",
                text(&header["parent_id"]),
                header["branch_point"],
                text(&header["branch_reason"]),
                header["branch_metadata"]
            );
        }
        told
    });
    told.collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// R-028, R-026: a change of the configuration was a line in the middle of a file; it begins a child that says the old
/// and the new values.
#[test]
fn a_path_whose_configuration_changes_is_a_chain_of_files() {
    let drawing = r#"m1"small" - u2 - a3 - m4"big" - m5 - u6 - a7 - m8"small" - u9*"#;
    let tree = changed(drawing, |entry| {
        if entry.id.as_str() == "m5" {
            entry.body = Body::Setting(Setting::Thinking(Some("high".into())));
        }
    });
    let files = rollouts::write_all(&tree);
    assert_eq!(
        told(&files),
        [
            "drawn small: u2 a3",
            r#"drawn_m4 big: u2 a3 u6 a7 <- drawn at 1 config_change {"old_model":"test/small","new_model":"test/big","old_thinking":null,"new_thinking":"high"}"#,
            r#"drawn_m8 small: u2 a3 u6 a7 u9 <- drawn_m4 at 3 config_change {"old_model":"test/big","new_model":"test/small"}"#,
        ]
    );
    assert!(files.iter().all(|file| file.lost.iter().all(|lost| !lost.to_string().contains("setting"))));
    let one = rollouts::write(&tree, &"a7".into());
    assert_eq!(lines(&one), lines(&files[1]), "one branch is its last trajectory, complete in itself");
}

/// R-028: a branch with the old configuration continues the file, whichever branch was first.
#[test]
fn a_trajectory_continues_where_its_configuration_stays() {
    let tree = drawn_tree("m1 - u2 - a3 - m4 - u5 - a6*\n a3 - u7 - a8\n a3 - m9 - u10");
    assert_eq!(
        told(&rollouts::write_all(&tree)),
        [
            r#"drawn_m4 m4: u2 a3 u5 a6 <- drawn at 1 config_change {"old_model":"test/m1","new_model":"test/m4"}"#,
            "drawn m1: u2 a3 u7 a8",
            r#"drawn_m9 m9: u2 a3 u10 <- drawn at 1 config_change {"old_model":"test/m1","new_model":"test/m9"}"#,
        ]
    );
}

/// R-026: a retry was exported as `message_edit`.
#[test]
fn a_branch_says_whether_it_is_an_edit_or_a_retry() {
    let tree = drawn_tree(
        r#"m0 - u1"Hi" - a1 - u2"Why?" - a2
            a1 - u3"How?" - a3
            a1 - u4"Why?" - a4
            a1 - m5 - u5"How?"*"#,
    );
    let files = rollouts::write_all(&tree);
    assert_eq!(
        told(&files)[1..],
        [
            r#"drawn_u3 m0: Hi a1 How? a3 <- drawn at 2 message_edit {"turn":2,"old_text":"Why?","new_text":"How?"}"#,
            r#"drawn_u4 m0: Hi a1 Why? a4 <- drawn at 2 retry {"turn":2}"#,
            r#"drawn_m5 m5: Hi a1 How? <- drawn at 2 retry {"turn":2,"old_model":"test/m0","new_model":"test/m5"}"#,
        ]
    );
    let read = tree_of(&load(&String::from_utf8(files[2].bytes.clone()).unwrap()));
    let lineage = read.header().unwrap().lineage.clone().unwrap();
    assert_eq!(lineage.describe().as_deref(), Some("retry of #2"));
}

fn answered_by(drawing: &str, models: &[(&str, &str)]) -> SessionTree {
    changed(drawing, |entry| {
        let model = models.iter().find(|(id, _)| *id == entry.id.as_str());
        if let (Some((_, model)), Body::Reply(reply)) = (model, &mut entry.body) {
            reply.model = Some(Model { provider: "p".into(), name: (*model).into() });
        }
    })
}

/// A drawn tree with what cannot be drawn.
fn changed(drawing: &str, change: impl Fn(&mut Entry)) -> SessionTree {
    let mut records = drawn(drawing);
    for record in &mut records {
        if let Change::Entry(entry) = &mut record.change {
            change(Arc::make_mut(entry));
        }
    }
    SessionTree::replay(records).0
}

/// R-028: where no model was chosen, as in sessions of other programs, the model that answers is the configuration. The
/// prompt belongs to the model that answers it.
#[test]
fn another_model_that_answers_divides_a_path_before_the_prompt() {
    let models = [("a1", "x"), ("a2", "x"), ("a3", "y")];
    let tree = answered_by("u1 - a1 - u2 - a2 - u3 - a3*", &models);
    assert_eq!(
        told(&rollouts::write_all(&tree)),
        [
            "drawn x: u1 a1 u2 a2",
            r#"drawn_u3 y: u1 a1 u2 a2 u3 a3 <- drawn at 3 config_change {"old_model":"p/x","new_model":"p/y"}"#,
        ]
    );
    let chosen = answered_by("m0 - u1 - a1 - u2 - a3*", &models);
    assert_eq!(told(&rollouts::write_all(&chosen)), ["drawn m0: u1 a1 u2 a3"], "a fallback is not a choice");
}

/// R-027, R-028: a child session copies what its parent said with other settings, and is one file all the same.
#[test]
fn a_child_session_is_one_file_with_its_own_configuration() {
    let parent = drawn_tree("m1 - u2 - a3 - m4 - u5 - a6*");
    let settings =
        vec![Setting::Model { role: None, model: Model { provider: "test".into(), name: "new".into() } }];
    let mut stamps = FixedStamps::after(100);
    let child = plan_config_session(&parent, &HeadName::main(), settings, &mut stamps).unwrap().unwrap();
    let (tree, _) = SessionTree::replay(child.records);
    let files = rollouts::write_all(&tree);
    let id = tree.header().unwrap().id.to_string();
    assert_eq!(
        told(&files),
        [format!(
            r#"{id} new: u2 a3 u5 a6 <- drawn at 3 config_change {{"old_model":"test/m4","new_model":"test/new"}}"#
        )]
    );
}

/// R-028, R-202: an old file with changes of the configuration is written back as it was; once it was continued, it is
/// written as trajectories.
#[test]
fn an_old_file_is_divided_only_after_it_was_changed() {
    let file = r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00Z","provider":"p","model":"m"}
{"type":"message","role":"user","content":"hello","x":1}
{"type":"config_change","endpoint":{"provider":"p","model":"m2"}}
{"type":"message","role":"user","content":"more"}
"#;
    let transcript = load(file);
    let tree = tree_of(&transcript);
    let untouched = rollouts::write_all(&tree);
    assert_eq!(untouched.len(), 1);
    assert_eq!(String::from_utf8_lossy(&untouched[0].bytes), file);

    let continued = drawn(r#"u1"again""#).into_iter().filter_map(|record| match record.change {
        Change::Entry(mut entry) => {
            Arc::make_mut(&mut entry).parent = tree.main_head().cloned();
            Some(Record::new(Change::Entry(entry)))
        }
        _ => None,
    });
    let (tree, _) = SessionTree::replay(transcript.records.into_iter().chain(continued));
    let files = rollouts::write_all(&tree);
    let told = told(&files);
    assert_eq!(told[0], "old m: hello");
    assert!(told[1].contains(" m2: hello more again <- old at 0 config_change"), "{told:?}");
    let first_lines: String = file.split_inclusive('\n').take(2).collect();
    assert_eq!(
        String::from_utf8_lossy(&files[0].bytes),
        first_lines,
        "lines that stay are kept as they were"
    );
}

/// R-025: the header carries the model that was chosen before the first message.
#[test]
fn a_header_carries_the_model_its_messages_were_sent_with() {
    let mut header = SessionHeader::new("s".into(), FixedStamps::start());
    header.model = Some(Model { provider: "test".into(), name: "default".into() });
    let records = drawn("m1 - u2 - a3*").into_iter().skip(1);
    let (tree, _) = SessionTree::replay([Record::opened(header)].into_iter().chain(records));
    assert_eq!(told(&rollouts::write_all(&tree)), ["s m1: u2 a3"]);
}
