//! Cases that Offshoot answers differently on purpose: rules with a reason, told in docs/compatibility.md.
//!
//! A rule speaks of the kind of input and is only asked when the answer differs.

use serde_json::Value;

use super::{Case, list, text};

struct Rule {
    name: &'static str,
    product: &'static str,
    kind: &'static str,
    applies: fn(&Case, &Value) -> bool,
}

const RULES: &[Rule] = &[
    Rule { name: "E1", product: "pi", kind: "cut-point", applies: cut_falls_on_a_setting },
    Rule { name: "E2", product: "pi", kind: "prepare-compaction", applies: was_compacted_before },
    Rule { name: "E3", product: "pi-harness", kind: "conformance", applies: payload_is_not_json },
    Rule { name: "E4", product: "pi", kind: "estimate-tokens", applies: prompt_has_an_image },
    Rule {
        name: "E5",
        product: "agent-gui-plugin",
        kind: "tree-edit-navigation",
        applies: asks_before_a_slot_not_shown,
    },
];

pub(crate) fn rule_for(product: &str, kind: &str, case: &Case, answer: &Value) -> Option<&'static str> {
    let rule = RULES.iter().find(|rule| rule.product == product && rule.kind == kind)?;
    (rule.applies)(case, answer).then_some(rule.name)
}

/// E1: a turn is split where its first kept message is not a prompt; a setting before the message is no split.
/// The cut itself must agree.
fn cut_falls_on_a_setting(case: &Case, answer: &Value) -> bool {
    let cut = case.expected.get("first_kept_index").and_then(Value::as_u64).unwrap_or_default() as usize;
    let kept = list(&case.input, "entries").get(cut).map(|entry| text(entry, "type"));
    case.expected.get("first_kept_index") == answer.get("first_kept_index")
        && matches!(
            kept,
            Some("model_change" | "thinking_level_change" | "custom" | "label" | "session_info")
        )
}

/// E2: what the previous compaction kept goes into the next summary.
fn was_compacted_before(case: &Case, _answer: &Value) -> bool {
    let entries = list(&case.input, "path_entries");
    entries.iter().enumerate().any(|(place, entry)| {
        let kept = text(entry, "firstKeptEntryId");
        text(entry, "type") == "compaction"
            && entries.iter().take(place).any(|before| text(before, "id") == kept)
    })
}

/// E3: a payload that JSON cannot hold cannot be built here, so there is nothing to refuse.
fn payload_is_not_json(case: &Case, _answer: &Value) -> bool {
    case.input.get("payloads").is_some()
}

/// E4: an image costs the same wherever it stands.
fn prompt_has_an_image(case: &Case, _answer: &Value) -> bool {
    let message = case.input.get("message").cloned().unwrap_or_default();
    text(&message, "role") == "user"
        && list(&message, "content").iter().any(|block| text(block, "type") == "image")
}

/// E5: what stands before a slot is what stands before it on its own way, shown or not. All else must agree.
fn asks_before_a_slot_not_shown(case: &Case, answer: &Value) -> bool {
    let mut expected = case.expected.clone();
    let shown = case.expected.get("edit_info").cloned().unwrap_or_default();
    if let Some(groups) = expected.get_mut("messages_before").and_then(Value::as_object_mut) {
        groups.retain(|group, _| shown.get(group).is_some());
    }
    super::compare::differences(&expected, answer).is_empty()
}
