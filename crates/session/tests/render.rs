//! Messages as a model reads them.

mod redrawn;

use offshoot_session::context::{Context, ContextOptions, context_of};
use offshoot_session::render::prompts::{BRANCH, UPDATE, summary_request};
use offshoot_session::render::{ModelRole, for_model, serialize_for_summary};
use offshoot_session::{Block, Body, Merge, Reply, SessionTree, Shell, System, ToolUse};
use redrawn::{keeps, redrawn};
use serde_json::{Value, json};

fn context(tree: &SessionTree) -> Context {
    let tip = tree.entries().last().map(|entry| entry.id.clone());
    context_of(tree, tip.as_ref(), &ContextOptions::pi())
}

/// One line for each message: role and text.
fn rendered(drawing: &str, bodies: &[(&str, Body)]) -> Vec<String> {
    let role = |role: &ModelRole| match role {
        ModelRole::System => "system".to_owned(),
        ModelRole::User => "user".to_owned(),
        ModelRole::Assistant => "assistant".to_owned(),
        ModelRole::ToolResult { call, .. } => format!("result of {call}"),
    };
    let messages = for_model(&context(&redrawn(drawing, bodies)).messages);
    messages.iter().map(|message| format!("{}: {}", role(&message.role), message.text())).collect()
}

fn serialized(drawing: &str, bodies: &[(&str, Body)]) -> String {
    serialize_for_summary(&context(&redrawn(drawing, bodies)).messages)
}

fn shell(shell: Shell) -> String {
    rendered("b1", &[("b1", Body::Shell(Shell { command: "make".into(), ..shell }))]).join("\n")
}

fn call(name: &str, input: Value) -> Block {
    Block::ToolUse(ToolUse { id: "call".into(), name: name.into(), input })
}

fn reply(blocks: Vec<Block>) -> Body {
    Body::Reply(Reply { blocks, ..Reply::default() })
}

#[test]
fn every_message_has_one_of_four_roles() {
    let system = Body::System(System { text: "be kind".into() });
    assert_eq!(
        rendered("y1 - u1 - m1 - c1 - t1 - a1 - x1", &[("y1", system)]),
        ["system: be kind", "user: u1", "assistant: ", "result of t1: t1", "assistant: a1", "user: x1"]
    );
}

/// R-179: summaries of branches and compactions are told to the model by the user.
#[test]
fn summaries_are_told_by_the_user() {
    assert_eq!(
        rendered("u0 - u1 - k1 - s1\"elsewhere\"", &[("k1", keeps("u1"))]),
        [
            "user: The conversation history before this point was compacted into the following summary:\n\n\
             <summary>\nwhat was before u1\n</summary>",
            "user: u1",
            "user: The following is a summary of a branch that this conversation came back from:\n\n\
             <summary>\nelsewhere</summary>",
        ]
    );
    let merge = Body::Merge(Merge { from: "a9".into(), summary: Some("their findings".into()) });
    let told = rendered("g1", &[("g1", merge)]).join("");
    assert!(told.starts_with("user: ") && told.contains("<summary>\ntheir findings\n</summary>"), "{told}");
}

#[test]
fn a_command_is_told_with_its_output_and_its_end() {
    let output = || "a\nb".to_owned();
    assert_eq!(
        shell(Shell { output: output(), exit_code: Some(0), ..Shell::default() }),
        "user: Ran `make`\n```\na\nb\n```"
    );
    assert_eq!(
        shell(Shell { exit_code: Some(2), ..Shell::default() }),
        "user: Ran `make`\n(no output)\n\nCommand exited with code 2"
    );
    assert_eq!(
        shell(Shell { exit_code: Some(130), cancelled: true, ..Shell::default() }),
        "user: Ran `make`\n(no output)\n\n(command cancelled)"
    );
    assert_eq!(
        shell(Shell { output: output(), full_output: Some("/tmp/all".into()), ..Shell::default() }),
        "user: Ran `make`\n```\na\nb\n```\n\n[Output truncated. Full output: /tmp/all]"
    );
}

#[test]
fn a_private_command_never_reaches_a_model() {
    let secret = Shell { output: "token".into(), private: true, ..Shell::default() };
    assert_eq!(shell(secret.clone()), "");
    assert_eq!(serialized("u1 - b1", &[("b1", Body::Shell(secret))]), "[User]: u1");
}

#[test]
fn stripped_calls_are_not_rendered() {
    let tree =
        redrawn("u1 - a1", &[("a1", reply(vec![Block::Text("on it".into()), call("read", json!({}))]))]);
    let read = context_of(&tree, Some(&"a1".into()), &ContextOptions::default());
    let rendered = for_model(&read.messages);
    assert_eq!(rendered[1].blocks, [Block::Text("on it".into())]);
}

#[test]
fn a_reply_is_serialised_as_thinking_words_and_calls() {
    let blocks = vec![
        Block::Text("first".into()),
        call("read", json!({"path": "z.rs", "lines": [1, 2]})),
        Block::Thinking("hm".into()),
        Block::Text("second".into()),
        call("list", Value::Null),
    ];
    assert_eq!(
        serialized("u1 - a1 - t1", &[("a1", reply(blocks))]),
        "[User]: u1\n\n\
         [Assistant thinking]: hm\n\n\
         [Assistant]: first\nsecond\n\n\
         [Assistant tool calls]: read(path=\"z.rs\", lines=[1,2]); list()\n\n\
         [Tool result]: t1"
    );
}

#[test]
fn what_says_nothing_is_not_serialised() {
    let silent = [("u1", Body::prompt("")), ("a1", reply(Vec::new()))];
    assert_eq!(serialized("u1 - a1 - u2", &silent), "[User]: u2");
}

#[test]
fn long_results_are_cut() {
    let exact = "x".repeat(2000);
    assert_eq!(serialized(&format!("t1\"{exact}\""), &[]), format!("[Tool result]: {exact}"));
    let cut = serialized(&format!("t1\"{exact}yz\""), &[]);
    assert_eq!(cut, format!("[Tool result]: {exact}\n\n[... 2 more characters truncated]"));

    let uneven = format!("x{}", "🌳".repeat(1000));
    let cut = serialized(&format!("t1\"{uneven}\""), &[]);
    assert!(cut.ends_with("🌳\n\n[... 2 more characters truncated]"), "a character is never split");
}

#[test]
fn a_request_holds_the_conversation_apart_from_the_task() {
    let request = summary_request("[User]: u1", Some("before"), UPDATE, Some("the tests"));
    let order = ["[User]: u1\n</conversation>", "before\n</previous-summary>", UPDATE, "the tests"];
    assert!(order.map(|part| request.find(part).expect(part)).is_sorted());
    let plain = summary_request("[User]: u1", None, BRANCH, None);
    assert!(plain.ends_with(BRANCH) && !plain.contains("previous-summary"));
}
