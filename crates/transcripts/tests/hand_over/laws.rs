//! What holds for every branch.

use std::collections::HashSet;

use offshoot_session::{
    Block, Body, Compaction, CustomMessage, FileLists, Interruption, Reply, Setting, Shell, Stop, ToolResult,
    text_of,
};
use proptest::prelude::*;
use serde_json::json;

use crate::conversation::{
    TARGETS, assert_calls_are_answered, call, handed_over, last, line_of, told, tree_of,
};

/// Words that no program takes for something else.
fn words() -> impl Strategy<Value = String> {
    "[a-zA-Z\"\\\\{}é日][a-zA-Z\"\\\\{} \n\té日]{0,12}[a-z]"
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        3 => words().prop_map(Block::Text),
        1 => words().prop_map(Block::Thinking),
        3 => (0..5_u8, words()).prop_map(|(id, text)| call(&format!("c{id}"), "Bash", json!({ "command": text }))),
        1 => (0..5_u8, words()).prop_map(|(id, text)| call(&format!("odd id|{id}"), "read", json!({ "path": text }))),
    ]
}

fn body() -> impl Strategy<Value = Body> {
    let stop = prop_oneof![4 => Just(None), 1 => Just(Some(Stop::Aborted)), 1 => Just(Some(Stop::EndTurn))];
    prop_oneof![
        4 => words().prop_map(Body::prompt),
        5 => (prop::collection::vec(block(), 1..4), stop)
            .prop_map(|(blocks, stop)| Body::Reply(Reply { blocks, stop, ..Reply::default() })),
        6 => (0..5_u8, words(), any::<bool>(), any::<bool>()).prop_map(|(id, text, failed, is_odd)| {
            let call = if is_odd { format!("odd id|{id}") } else { format!("c{id}") };
            Body::ToolResult(ToolResult {
                call: call.into(), tool: String::new(), blocks: vec![Block::Text(text)], failed, usage: None,
                changed_input: None })
        }),
        1 => words().prop_map(|command| Body::Shell(Shell { command, ..Shell::default() })),
        1 => words().prop_map(|text| Body::CustomMessage(CustomMessage {
            kind: "x".to_owned(), blocks: vec![Block::Text(text)], display: true, attribution: None,
        })),
        1 => (words(), 0..12_u32).prop_map(|(summary, kept)| Body::Compaction(Compaction {
            summary, first_kept: Some(format!("{kept:08x}").into()), tokens_before: 7,
            files: FileLists::default(), details: None, from_extension: false, usage: None, system: None })),
        1 => Just(Body::Interrupted(Interruption::Wanted)),
        1 => Just(Body::Setting(Setting::Thinking(None))),
    ]
}

/// Somebody has to begin.
fn conversation() -> impl Strategy<Value = Vec<Body>> {
    let first = words().prop_map(Body::prompt);
    (first, prop::collection::vec(body(), 0..24))
        .prop_map(|(first, rest)| std::iter::once(first).chain(rest).collect())
}

/// What of a branch has to arrive: prompts, words of replies that count, and answered calls with their answers.
fn expected(bodies: &[Body]) -> Vec<String> {
    let is_counting = |body: &Body| !matches!(body, Body::Reply(reply) if reply.failed());
    let mut answers: Vec<Vec<Option<usize>>> = bodies.iter().map(|_| Vec::new()).collect();
    let mut used = HashSet::new();
    for (at, body) in bodies.iter().enumerate().filter(|(_, body)| is_counting(body)) {
        let Body::Reply(reply) = body else { continue };
        let calls: Vec<_> = reply.tool_uses().map(|call| call.id.clone()).collect();
        for (nth, call) in calls.iter().enumerate() {
            // the latest call under an id is the one that is answered
            let is_called_again = |later: usize| {
                bodies.get(at + 1..later).unwrap_or_default().iter().filter(|body| is_counting(body)).any(|body| {
                    matches!(body, Body::Reply(reply) if reply.tool_uses().any(|other| other.id == *call))
                })
            };
            let answer = bodies.iter().enumerate().skip(at + 1).find(|(later, body)| {
                matches!(body, Body::ToolResult(result) if result.call == *call)
                    && !used.contains(later)
                    && !is_called_again(*later)
            });
            let is_last_here = !calls.get(nth + 1..).unwrap_or_default().contains(call);
            let answer = answer.map(|(later, _)| later).filter(|_| is_last_here);
            used.extend(answer);
            answers[at].push(answer);
        }
    }
    let mut told = Vec::new();
    for (at, body) in bodies.iter().enumerate().filter(|(_, body)| is_counting(body)) {
        match body {
            Body::Prompt(prompt) => told.push(format!("> {}", text_of(&prompt.blocks))),
            Body::Reply(reply) => {
                let words = reply.blocks.iter().filter_map(|block| match block {
                    Block::Text(words) => Some(format!("< {words}")),
                    _ => None,
                });
                told.extend(words);
                let calls = answers[at].iter().flatten().filter_map(|answer| match &bodies[*answer] {
                    Body::ToolResult(result) => Some(format!("! {}", text_of(&result.blocks))),
                    _ => None,
                });
                told.extend(calls);
            }
            _ => {}
        }
    }
    told
}

fn of_kind(told: &[String], kind: &str) -> Vec<String> {
    told.iter()
        .filter(|line| line.starts_with(kind))
        .map(|line| line.replace("Exit code: 1\nOutput:\n", ""))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_conversation_is_read_again(bodies in conversation()) {
        let expected = expected(&bodies);
        let compacted = bodies.iter().any(|body| matches!(body, Body::Compaction(_)));
        let tree = line_of(bodies);
        for target in TARGETS {
            let written = handed_over(target, &tree, &last(&tree));
            let again = tree_of(&written.bytes);
            assert_calls_are_answered(&again);
            let found = told(&again);
            for kind in ["> ", "< ", "! "] {
                let (mut found, mut expected) = (of_kind(&found, kind), of_kind(&expected, kind));
                if compacted || kind == "! " {
                    found.sort();
                    expected.sort();
                }
                prop_assert_eq!(found, expected, "{:?} in {}", kind, String::from_utf8_lossy(&written.bytes));
            }
        }
    }

    #[test]
    fn the_same_branch_gives_the_same_bytes(bodies in prop::collection::vec(body(), 1..12)) {
        let tree = line_of(bodies);
        for target in TARGETS {
            let once = handed_over(target, &tree, &last(&tree));
            prop_assert_eq!(once, handed_over(target, &tree, &last(&tree)));
        }
    }
}
