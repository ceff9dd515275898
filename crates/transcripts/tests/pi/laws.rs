//! What holds for every file.

use std::mem::discriminant;

use jiff::SignedDuration;
use offshoot_session::{Entry, EntryId, Fact, HeadMove, HeadName, Record, SessionHeader, SessionTree};
use offshoot_testkit::{FixedStamps, draw, drawn};
use offshoot_transcripts::{Loss, pi};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::file::{HEADER, chained, load, tree_of};

/// A line to come: what it is, which earlier line is above it, which one it is about, how it is written.
#[derive(Clone, Debug)]
struct Sketch {
    kind: u8,
    above: usize,
    about: usize,
    style: u8,
}

fn sketches() -> impl Strategy<Value = Vec<Sketch>> {
    let sketch = (0..12_u8, 0..1000_usize, 0..1000_usize, 0..6_u8)
        .prop_map(|(kind, above, about, style)| Sketch { kind, above, about, style });
    prop::collection::vec(sketch, 0..40)
}

/// Above is a line before, or nothing.
fn pick(ids: &[String], choice: usize) -> Option<&str> {
    ids.get(choice % (ids.len() + 1)).map(String::as_str)
}

fn file_of(sketches: &[Sketch], tail: &str) -> String {
    let mut text = format!("{HEADER}\n");
    let mut ids: Vec<String> = Vec::new();
    for (at, sketch) in sketches.iter().enumerate() {
        let id = format!("{:08x}", at * 77 + 1);
        let above = pick(&ids, sketch.above);
        let about = pick(&ids, sketch.about).unwrap_or("nobody").to_owned();
        let line = match sketch.kind {
            0..=2 => chained(
                "message",
                &id,
                above,
                json!({ "message": { "role": "user", "content": id }, "odd": [1.50, null] }),
            ),
            3 => chained(
                "message",
                &id,
                above,
                json!({ "message": { "role": "assistant", "content": [{ "type": "text", "text": "yes" }] } }),
            ),
            4 => chained("label", &id, above, json!({ "targetId": about, "label": "x" })),
            5 => chained("session_info", &id, above, json!({ "name": if at % 2 == 0 { "N" } else { "" } })),
            6 => chained("hologram", &id, above, json!({ "depth": { "z": 1 } })),
            7 => chained(
                "compaction",
                &id,
                above,
                json!({ "summary": "s", "firstKeptEntryId": about, "tokensBefore": 1 }),
            ),
            8 => chained("branch_summary", &id, above, json!({ "summary": "s", "fromId": about })),
            9 => json!({ "type": "leaf", "targetId": about }),
            10 => json!({ "nameless": true }),
            _ => Value::String("not an object".into()),
        };
        let line = line.to_string();
        text.push_str(&match sketch.style {
            0 => format!("{line}\r\n"),
            1 => format!("\n{line}\n"),
            2 => format!("  {line} \n"),
            3 => format!("{}\n", line.replace("\":", "\" : ")),
            4 => format!("{line}\n{{\"torn\":\n"),
            _ => format!("{line}\n"),
        });
        if sketch.kind < 9 {
            ids.push(id);
        }
    }
    text + tail
}

fn tails() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "\n",
        "  ",
        "{\"type\":\"mess",
        "{\"type\":\"leaf\",\"targetId\":null}",
        "\u{1f331}",
    ])
}

/// A tree of drawn entries with a head anywhere.
fn records() -> impl Strategy<Value = Vec<Record>> {
    let entries = prop::collection::vec((0..11_usize, 0..1000_usize, any::<bool>()), 1..30);
    (entries, 0..1000_usize).prop_map(|(entries, head)| {
        let start = FixedStamps::start();
        let mut records = vec![Record::opened(SessionHeader::new("drawn".into(), start))];
        let mut labels = Vec::new();
        let mut ids: Vec<EntryId> = Vec::new();
        for (at, (kind, above, is_labelled)) in entries.into_iter().enumerate() {
            let letter = ["u", "a", "c", "t", "m", "k", "s", "i", "x", "n", "z"][kind];
            let id = format!("{letter}{at}");
            let written_at = start + SignedDuration::from_secs(at as i64);
            let template =
                drawn(&id).into_iter().find_map(|record| record.as_entry().cloned()).expect("drawn");
            let parent = ids.get(above % (ids.len() + 1)).cloned();
            records.push(Record::entry(Entry { parent, written_at, ..template }));
            ids.push(id.as_str().into());
            if is_labelled {
                let fact = Fact::Label { target: id.as_str().into(), label: Some("x".into()) };
                labels.push(Record::marked(written_at, fact));
            }
        }
        let to = ids.get(head % ids.len()).cloned();
        records.extend(labels);
        records.push(Record::head_moved(HeadMove {
            head: HeadName::main(),
            moved_at: start,
            from: None,
            to,
        }));
        records
    })
}

/// The drawing without the mark of the head, which also shifts the columns behind it.
fn without_head(tree: &SessionTree) -> Vec<String> {
    draw(tree).lines().map(|line| line.replace('*', "").trim_start().to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_of_version_3_is_written_back_byte_for_byte(sketches in sketches(), tail in tails()) {
        let file = file_of(&sketches, tail);
        let transcript = load(&file);
        let written = pi::write(&transcript.records);
        prop_assert_eq!(String::from_utf8_lossy(&written.bytes), file);
        prop_assert_eq!(written.lost, []);
    }

    #[test]
    fn what_is_added_to_any_file_is_found_in_it(sketches in sketches(), tail in tails()) {
        let file = file_of(&sketches, tail);
        let before = tree_of(&load(&file));
        let parent = before.main_head().cloned();
        let added = Record::entry(Entry {
            id: "added".into(), parent: parent.clone(), written_at: FixedStamps::start(), turn: None,
            body: offshoot_session::Body::prompt("more"),
        });
        let added = pi::append(file.as_bytes(), &[added]).expect("version 3");
        let whole = format!("{file}{}", String::from_utf8_lossy(&added.bytes));
        let after = tree_of(&load(&whole));
        prop_assert_eq!(after.len(), before.len() + 1);
        prop_assert_eq!(after.main_head().map(EntryId::as_str), Some("added"));
        prop_assert_eq!(after.entry(&"added".into()).and_then(|entry| entry.parent.clone()), parent);
    }

    #[test]
    fn a_tree_keeps_its_shape_on_the_way_through_pi(records in records()) {
        let (tree, _) = SessionTree::replay(records.clone());
        let written = pi::write(&records);
        let again = tree_of(&load(&String::from_utf8(written.bytes).expect("text")));
        if written.lost.iter().any(|lost| lost.what == Loss::Head) {
            prop_assert_ne!(again.main_head(), tree.main_head());
            prop_assert_eq!(without_head(&again), without_head(&tree));
        } else {
            prop_assert_eq!(draw(&again), draw(&tree));
        }
        for entry in tree.entries() {
            let other = again.entry(&entry.id).expect("still there");
            prop_assert_eq!(discriminant(&other.body), discriminant(&entry.body), "{:?}", entry.body);
            prop_assert_eq!(other.body.text(), entry.body.text());
        }
    }
}
