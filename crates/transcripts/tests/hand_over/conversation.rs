//! What was said, without how a program writes it down.

use offshoot_session::{Block, Body, Entry, EntryId, SessionHeader, SessionTree, text_of};
use offshoot_session::{Record, Reply, ToolResult, ToolUse};
use offshoot_testkit::FixedStamps;
use offshoot_transcripts::{Destination, HandedOver, Target, claude, codex, pi, read};
use serde_json::{Value, json};

pub(crate) const TARGETS: [Target; 3] = [Target::ClaudeCode, Target::Codex, Target::Pi];

pub(crate) const ID: &str = "11111111-2222-4333-8444-555555555555";

pub(crate) fn handed_over(target: Target, tree: &SessionTree, leaf: &EntryId) -> HandedOver {
    let to = Destination {
        id: ID.into(),
        project: "/home/me/gatehouse".to_owned(),
        opened_at: FixedStamps::start(),
        lineage: None,
    };
    match target {
        Target::ClaudeCode => claude::write_branch(tree, leaf, &to),
        Target::Codex => codex::write_branch(tree, leaf, &to),
        Target::Pi => pi::hand_over(tree, leaf, &to),
    }
}

pub(crate) fn tree_of(bytes: &[u8]) -> SessionTree {
    let transcript = read(Some(&format!("{ID}.jsonl")), bytes).expect("it is a session");
    SessionTree::replay(transcript.records).0
}

/// A straight line of bodies.
pub(crate) fn line_of(bodies: Vec<Body>) -> SessionTree {
    let mut records = vec![Record::opened(SessionHeader::new("s".into(), FixedStamps::start()))];
    let mut parent = None;
    for (at, body) in bodies.into_iter().enumerate() {
        let id = EntryId::from(format!("{at:08x}"));
        let written_at = FixedStamps::start();
        let above = parent.replace(id.clone());
        records.push(Record::entry(Entry { id, parent: above, written_at, turn: None, body }));
    }
    SessionTree::replay(records).0
}

pub(crate) fn last(tree: &SessionTree) -> EntryId {
    tree.entries().last().expect("something was said").id.clone()
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse(ToolUse { id: id.into(), name: name.to_owned(), input })
}

pub(crate) fn said(blocks: Vec<Block>) -> Body {
    Body::Reply(Reply { blocks, ..Reply::default() })
}

pub(crate) fn result(id: &str, text: &str) -> Body {
    let blocks = vec![Block::Text(text.to_owned())];
    Body::ToolResult(ToolResult {
        call: id.into(),
        tool: String::new(),
        blocks,
        failed: false,
        usage: None,
        changed_input: None,
    })
}

pub(crate) fn shell(id: &str) -> Block {
    call(id, "Bash", json!({ "command": id }))
}

/// `> ` what was asked, `< ` what was said, `! ` a call with what answered it.
pub(crate) fn told(tree: &SessionTree) -> Vec<String> {
    let path = tree.path_to(tree.main_head().or(Some(&last(tree))));
    let answer = |call: &ToolUse, from: usize| {
        path.iter().skip(from).find_map(|entry| match &entry.body {
            Body::ToolResult(result) if result.call == call.id => Some(text_of(&result.blocks)),
            _ => None,
        })
    };
    let mut told = Vec::new();
    for (at, entry) in path.iter().enumerate() {
        match &entry.body {
            Body::Prompt(prompt) => told.push(format!("> {}", text_of(&prompt.blocks))),
            Body::Reply(reply) => {
                for block in &reply.blocks {
                    match block {
                        Block::Text(words) => told.push(format!("< {words}")),
                        Block::ToolUse(call) => {
                            let answer = answer(call, at).unwrap_or_else(|| "nothing".to_owned());
                            told.push(format!("! {answer}"));
                        }
                        Block::Thinking(_) | Block::Image { .. } | Block::Other { .. } => {}
                    }
                }
            }
            _ => {}
        }
    }
    told
}

/// The rule of every provider: calls are answered right behind the reply, each once, and nothing else is.
pub(crate) fn assert_calls_are_answered(tree: &SessionTree) {
    let path = tree.path_to(tree.main_head().or(Some(&last(tree))));
    let mut open: Vec<String> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for entry in path {
        match &entry.body {
            Body::Reply(reply) => {
                for call in reply.tool_uses() {
                    assert!(!seen.contains(&call.id.to_string()), "`{}` is called twice", call.id);
                    seen.push(call.id.to_string());
                    open.push(call.id.to_string());
                }
            }
            Body::ToolResult(result) => {
                let at = open.iter().position(|call| *call == result.call.as_str());
                open.remove(at.unwrap_or_else(|| panic!("`{}` was not called", result.call)));
            }
            Body::Prompt(_) | Body::CustomMessage(_) | Body::Shell(_) | Body::Compaction(_) => {
                assert!(open.is_empty(), "{open:?} wait for an answer at {:?}", entry.body);
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?} wait for an answer at the end");
}
