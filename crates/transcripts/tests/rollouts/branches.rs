//! Children of an imported file, written as files.

use offshoot_session::plan::{
    Child, Difference, NewChild, edited_message, plan_child, plan_edit_message, prompt_with_new_text,
};
use offshoot_session::{Body, HeadName, SessionTree};
use offshoot_testkit::FixedStamps;
use offshoot_transcripts::rollouts;
use serde_json::{Value, json};

use crate::files::{load, tree_of};

const FILE: &str = r#"{"type":"session","id":"r1","timestamp":"2025-01-01T00:00:00Z","provider":"p","model":"m","parent_id":null}
{"type":"message","role":"user","content":"hello","mood":"good"}
{"type":"message","role":"assistant","content":"hi"}
{"type":"message","role":"user","content":"thanks"}
"#;

/// The child in which a message has another text, as a file.
fn child_with(at: usize, text: &str) -> Vec<String> {
    let tree = tree_of(&load(FILE));
    let path = tree.path_to(tree.main_head());
    let at = path[at];
    let message = match &at.body {
        Body::Prompt(prompt) => Body::Prompt(prompt_with_new_text(prompt, text)),
        _ => edited_message(&tree, &at.id, text).expect("it has text"),
    };
    let above = tree.parent(&at.id).map(|above| &above.id);
    let (difference, settings) = (Difference::Edit { of: &at.id }, Vec::new());
    let child = Child { difference, above, settings, message: Some(message) };
    let NewChild { session, .. } = plan_child(&tree, child, &mut FixedStamps::default());
    let (child, _) = SessionTree::replay(session.records);
    let file = rollouts::write(&child, child.main_head().expect("a head"));
    String::from_utf8(file.bytes).expect("text").lines().map(str::to_owned).collect()
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON")
}

/// R-062: the child repeats the lines before the edited message with every field, and the message keeps its role.
#[test]
fn an_edited_message_of_any_role_is_a_child_file() {
    let prompt = child_with(0, "hey");
    assert_eq!(prompt.len(), 2);
    assert_eq!(value(&prompt[0])["branch_point"], 0);
    assert_eq!(value(&prompt[1])["content"], "hey");

    let reply = child_with(1, "HI");
    let header = value(&reply[0]);
    assert_eq!(
        json!([header["parent_id"], header["branch_point"], header["branch_reason"]]),
        json!(["r1", 1, "message_edit"])
    );
    assert_eq!(
        header["branch_metadata"],
        json!({"turn": 1, "role": "assistant", "old_text": "hi", "new_text": "HI"})
    );
    assert_eq!(reply[1], FILE.lines().nth(1).unwrap_or_default());
    let message = value(&reply[2]);
    assert_eq!(json!([message["role"], message["content"]]), json!(["assistant", "HI"]));
    assert_eq!(reply.len(), 3, "what followed the old message is not there");
}

/// R-062: within one session the edited reply is a branch. It was exported as another answer of the agent, a `retry`.
#[test]
fn an_edited_reply_is_exported_as_an_edit() {
    let tree = tree_of(&load(FILE));
    let at = tree.path_to(tree.main_head())[1].id.clone();
    let plan = plan_edit_message(&tree, &HeadName::main(), &at, "HI", &mut FixedStamps::default());
    let tree = tree.extended(&plan.expect("a plan").plan.records).expect("it fits");
    let files = rollouts::write_all(&tree);
    let headers: Vec<Value> = files
        .iter()
        .map(|file| value(String::from_utf8_lossy(&file.bytes).lines().next().unwrap_or_default()))
        .collect();
    let [_, child] = headers.as_slice() else { panic!("two files: {headers:?}") };
    assert_eq!(json!([child["branch_point"], child["branch_reason"]]), json!([1, "message_edit"]));
    assert_eq!(
        child["branch_metadata"],
        json!({"turn": 1, "role": "assistant", "old_text": "hi", "new_text": "HI"})
    );
}
