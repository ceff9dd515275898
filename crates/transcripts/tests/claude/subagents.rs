//! Sub-agents are trees of their own.

use offshoot_session::{BranchReason, Record, SessionTree};
use offshoot_testkit::draw;
use offshoot_transcripts::claude::{self, AgentFile, StartedBy};
use offshoot_transcripts::read;
use serde_json::{Value, json};

use crate::file::{answer, drawing, lines, reply, said, tree, tree_of, user, with};

fn task(id: &str, parent: &str, call: &str, prompt: &str) -> Value {
    let input = json!({ "prompt": prompt, "subagent_type": "scout", "description": "look" });
    let block = json!({ "type": "tool_use", "id": call, "name": "Task", "input": input });
    reply(id, Some(parent), &format!("m-{id}"), block)
}

fn aside(line: Value) -> Value {
    with(line, json!({ "isSidechain": true }))
}

fn of_agent(agent: &str, line: Value) -> Value {
    with(line, json!({ "isSidechain": true, "agentId": agent }))
}

fn starts(tree: &SessionTree) -> Vec<StartedBy> {
    tree.entries().filter_map(|entry| StartedBy::of(entry)).collect()
}

fn start(agent: Option<&str>, call: &str, entry: &str) -> StartedBy {
    StartedBy {
        agent: agent.map(str::to_owned),
        call: Some(call.into()),
        entry: Some(entry.into()),
        kind: Some("scout".into()),
        description: Some("look".into()),
    }
}

#[test]
fn a_sub_agent_in_the_same_file_is_found_by_its_task() {
    let file = [
        said("u1", None),
        task("c2", "u1", "t1", "find x"),
        task("c3", "c2", "t2", "find y"),
        aside(user("u4", None, json!("find y"))),
        aside(said("a5", Some("u4"))),
        answer("t6", Some("c3"), "t2"),
        said("a7", Some("t6")),
    ];
    assert_eq!(drawing(&file), "u1 - c2 - c3 - t6 - a7*\nagent-u4 - u4\"find y\" - a5\n");
    assert_eq!(starts(&tree(&file)), [start(None, "t2", "c3")]);
}

/// R-030: transcripts of Claude Code are read as trees, sub-agents apart.
#[test]
fn a_sub_agent_that_hangs_in_the_session_is_taken_out_of_it() {
    let file = [
        said("u1", None),
        task("c2", "u1", "t1", "find x"),
        aside(said("a3", Some("c2"))),
        aside(said("a4", Some("a3"))),
        answer("t5", Some("c2"), "t1"),
    ];
    assert_eq!(drawing(&file), "u1 - c2 - t5*\nagent-a3 - a3 - a4\n");
    assert_eq!(starts(&tree(&file)), [start(None, "t1", "c2")]);
}

#[test]
fn the_task_of_a_sub_agent_is_no_version_of_the_first_prompt() {
    let file = [said("u1", None), aside(said("u2", None))];
    let tree = tree(&file);
    assert_eq!(offshoot_session::versions::versions_of(&tree, &"u1".into()).len(), 1);
}

#[test]
fn the_answer_of_a_tool_names_the_sub_agent() {
    let file = [
        said("u1", None),
        task("c2", "u1", "t1", "find x"),
        of_agent("x9", said("u3", None)),
        of_agent("x9", said("a4", Some("u3"))),
        with(answer("t5", Some("c2"), "t1"), json!({ "toolUseResult": { "agentId": "x9" } })),
    ];
    assert_eq!(drawing(&file), "u1 - c2 - t5*\nagent-x9 - u3 - a4\n");
    assert_eq!(starts(&tree(&file)), [start(Some("x9"), "t1", "c2")]);
}

#[test]
fn files_of_sub_agents_join_the_session() {
    let session = lines(&[
        said("u1", None),
        task("c2", "u1", "t1", "find x"),
        with(answer("t3", Some("c2"), "t1"), json!({ "toolUseResult": { "agentId": "x1" } })),
        task("c4", "t3", "t2", "find y"),
        answer("t5", Some("c4"), "t2"),
    ]);
    let first = lines(&[of_agent("x1", said("u6", None)), of_agent("x1", said("a7", Some("u6")))]);
    let second = lines(&[
        of_agent("x2", said("u8", None)),
        json!({ "type": "custom-title", "customTitle": "of the agent", "sessionId": "s1" }),
        json!({ "type": "hologram" }),
    ]);
    let meta = br#"{"agentType":"scout","description":"look","toolUseId":"t2"}"#;
    let agents = [
        AgentFile { name: "s1/subagents/agent-x1.jsonl", bytes: first.as_bytes(), meta: None },
        AgentFile { name: "agent-x2.jsonl", bytes: second.as_bytes(), meta: Some(meta) },
    ];
    let transcript = claude::read_with_agents(Some("s1.jsonl"), session.as_bytes(), &agents);
    assert_eq!(transcript.source_bytes(), [session, first, second].concat().into_bytes());
    let tree = tree_of(&transcript);
    assert_eq!(draw(&tree), "u1 - c2 - t3 - c4 - t5*\nagent-x1 - u6 - a7\nagent-x2 - u8\n");
    assert_eq!(starts(&tree), [start(Some("x1"), "t1", "c2"), start(Some("x2"), "t2", "c4")]);
    assert_eq!(tree.title(), None);
    assert_eq!(transcript.oddities[0].line, Some(10));
}

#[test]
fn the_file_of_a_sub_agent_stands_for_itself() {
    let file = lines(&[of_agent("x1", said("u1", None)), of_agent("x1", said("a2", Some("u1")))]);
    let tree =
        tree_of(&read(Some("/p/s1/subagents/agent-x1.jsonl"), file.as_bytes()).expect("a session file"));
    assert_eq!(draw(&tree), "agent-x1 - u1 - a2*\n");
    let header = tree.header().expect("a header");
    assert_eq!(header.id.as_str(), "agent-x1");
    let lineage = header.lineage.as_ref().expect("a lineage");
    assert_eq!(
        (lineage.parent.as_str(), &lineage.reason),
        ("s1", &Some(BranchReason::Other("subagent".into())))
    );
}

#[test]
fn the_note_has_the_same_id_in_both_readings() {
    let own = [of_agent("x1", said("u1", None))];
    let in_session = [said("u0", None), own[0].clone()];
    let note = |records: Vec<Record>| {
        let (tree, _) = SessionTree::replay(records);
        tree.parent(&"u1".into()).map(|note| note.id.clone())
    };
    let read = |file: &[Value]| claude::read(None, lines(file).as_bytes()).records;
    assert_eq!(note(read(&own)), note(read(&in_session)));
}
