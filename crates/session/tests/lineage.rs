//! Why a session branched, in a few words.

use offshoot_session::{BranchReason, Lineage};
use serde_json::{Value, json};

fn described(reason: BranchReason, metadata: Value) -> String {
    let (parent, reason, metadata) = ("p".to_owned(), Some(reason), Some(metadata));
    Lineage { parent, at: None, message_index: None, reason, metadata }.describe().unwrap_or_default()
}

/// lists show why a session branched, with the old and the new values.
#[test]
fn a_lineage_is_described_by_its_reason_and_what_changed() {
    use BranchReason::{ConfigChange, Fork, MessageEdit, Other, Retry};
    let models = json!({ "old_model": "a/x", "new_model": "a/y" });
    assert_eq!(described(ConfigChange, models.clone()), "model a/x → a/y");
    assert_eq!(described(Retry, json!({ "turn": 2 })), "retry of #2");
    let retried = json!({ "turn": 2, "old_model": "a/x", "new_model": "a/y" });
    assert_eq!(described(Retry, retried), "retry of #2, model a/x → a/y");
    let edited = json!({ "turn": 1, "old_text": "Why?", "new_text": "How?" });
    assert_eq!(described(MessageEdit, edited), "edit of #1");
    assert_eq!(described(MessageEdit, json!({ "turn": 1, "role": "tool" })), "edited tool result of #1");
    assert_eq!(described(Fork, Value::Null), "fork");
    assert_eq!(described(Other("revert".to_owned()), models), "revert");
}

/// A model that stays is in the metadata and not in the text.
#[test]
fn settings_that_stay_are_not_described() {
    let settings = json!({
        "old_model": "a/x", "new_model": "a/x", "old_thinking": null, "new_thinking": "high",
        "old_permission_mode": "ask", "new_permission_mode": "plan",
    });
    let text = described(BranchReason::ConfigChange, settings);
    assert_eq!(text, "thinking high, permission mode ask → plan");
    let tools = json!({ "old_tools": ["read"], "new_tools": ["read", "bash"] });
    assert_eq!(described(BranchReason::ConfigChange, tools), "tools");
    let many = json!({ "new_a": "1", "new_b": "2", "new_c": "3", "new_model": "m" });
    assert_eq!(described(BranchReason::ConfigChange, many), "model m, a 1, 2 more");
}

/// Other programs write what they like.
#[test]
fn metadata_that_is_not_understood_leaves_the_reason() {
    for odd in [Value::Null, json!([1]), json!("words"), json!({ "turn": "two", "note": 1 })] {
        assert_eq!(described(BranchReason::Retry, odd.clone()), "retry");
        assert_eq!(described(BranchReason::ConfigChange, odd), "settings");
    }
    let unknown = Lineage { parent: "p".into(), at: None, message_index: None, reason: None, metadata: None };
    assert_eq!(unknown.describe(), None);
}
