//! What holds for every file.

use offshoot_session::SessionTree;
use offshoot_transcripts::claude::{self, AgentFile};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::file::{answer, call, chained, leaf, said, tree_of, user, with};

/// Lines that name each other in every way, mixed with what is no line at all.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let shape = (0..20_u8, 0..9_u32, 0..9_u32, 0..4_u8);
    let valid = shape.prop_map(|(kind, id, parent, style)| {
        let id = format!("u{id}");
        let parent = Some(format!("u{parent}")).filter(|parent| parent != "u0");
        let parent = parent.as_deref();
        let about = parent.unwrap_or("gone");
        let line = match kind {
            0..=3 => said(&id, parent),
            4 | 5 => said(&id.replace('u', "a"), parent),
            6 => call(&id, parent, "m", about),
            7 => answer(&id, parent, about),
            8 => with(said(&id, parent), json!({ "isSidechain": true, "agentId": about })),
            9 => with(said(&id, parent), json!({ "isSidechain": true })),
            10 => chained("progress", &id, parent, json!({})),
            11 => chained("hologram", &id, parent, json!({ "content": [1, "x"] })),
            12 => leaf(&id),
            13 => json!({ "type": "mode", "mode": id }),
            14 => json!({ "type": "summary", "summary": id, "leafUuid": about }),
            15 => json!({ "type": "cost-state", "totalCostUSD": 1e300 }),
            16 => with(
                user(&id, None, json!("k")),
                json!({ "logicalParentUuid": about, "isCompactSummary": true }),
            ),
            17 => user(&id, parent, json!([{ "type": "tool_result" }, { "type": "tool_result" }, 7])),
            18 => json!({ "type": "user", "message": about }),
            _ => Value::String(id),
        };
        match style {
            0 => format!("{line}\r\n"),
            1 => format!("\n {line}\n"),
            2 => format!("{line}\n{{\"torn\":\n"),
            _ => format!("{line}\n"),
        }
        .into_bytes()
    });
    prop_oneof![8 => valid, 1 => prop::collection::vec(any::<u8>(), 0..30)]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(line(), 0..40).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_byte_is_lost_and_the_same_bytes_give_the_same_tree(session in file(), agent in file()) {
        let agents = [AgentFile { name: "agent-u1.jsonl", bytes: &agent, meta: Some(&session) }];
        let transcript = claude::read_with_agents(None, &session, &agents);
        prop_assert_eq!(transcript.source_bytes(), [session.clone(), agent.clone()].concat());
        let again = claude::read_with_agents(None, &session, &agents);
        prop_assert_eq!(&transcript.records, &again.records);
        claude::listing(&session);
    }

    #[test]
    fn every_entry_of_the_file_is_in_the_tree_once(bytes in file()) {
        let transcript = claude::read(None, &bytes);
        let tree = tree_of(&transcript);
        for record in &transcript.records {
            if let Some(entry) = record.as_entry() {
                prop_assert!(tree.contains(&entry.id));
            }
        }
        prop_assert_eq!(tree.walk().len(), tree.len());
        let has_head = tree.main_head().is_some();
        prop_assert_eq!(has_head, !tree.is_empty());
    }
}

#[test]
fn fifty_thousand_lines_in_a_row_are_read_in_one_pass() {
    let mut text = String::new();
    let mut parent: Option<String> = None;
    for at in 0..50_000 {
        let id = format!("{}{at}", if at % 2 == 0 { 'u' } else { 'p' });
        let kind = if at % 2 == 0 { "user" } else { "progress" };
        let message = json!({ "message": { "role": "user", "content": "x" } });
        text.push_str(&format!("{}\n", chained(kind, &id, parent.as_deref(), message)));
        parent = Some(id);
    }
    let (tree, oddities) = SessionTree::replay(claude::read(None, text.as_bytes()).records);
    assert!(oddities.is_empty());
    assert_eq!(tree.main_head().and_then(|head| tree.depth(head)), Some(24_999));
}
