//! What two requests have in common before a prompt. A provider's cache is warm as far as that goes.

use anyhow::{Context, Result};
use offshoot_testkit::model::Request;
use serde_json::{Value, json};

use super::person::{Person, list};
use crate::programs::Check;

/// Compares `system`, `tools` and the messages above the prompts, cache marks aside.
pub(super) fn same_above(old: (&Request, &str), new: (&Request, &str)) -> Result<Vec<Check>> {
    let whole = |(request, _): (&Request, &str)| base(request, &request.body["system"]);
    let base = Check::new("the model keeps its instructions and tools", whole(new), whole(old));
    Ok(vec![base, same_messages_above(old, new)?])
}

/// The same for a session that Claude itself began: the first part of `system` has a fingerprint of the way in which Claude was
/// started. In 2.1.197 other instructions and tools depend on that, too.
pub(super) fn same_above_of_claude(
    person: &Person,
    old: (&Request, &str),
    new: (&Request, &str),
) -> Result<Vec<Check>> {
    let mut checks = vec![same_messages_above(old, new)?];
    if !person.claude.to_string_lossy().contains("2.1.197") {
        let rest = |(request, _): (&Request, &str)| {
            let system = list(&request.body["system"]).get(1..).unwrap_or_default();
            base(request, &Value::from(system))
        };
        checks.push(Check::new("the model keeps its instructions and tools", rest(new), rest(old)));
    }
    Ok(checks)
}

fn same_messages_above(old: (&Request, &str), new: (&Request, &str)) -> Result<Check> {
    Ok(Check::new("the model keeps the messages above the prompt", above(new)?, above(old)?))
}

fn base(request: &Request, system: &Value) -> String {
    let base = json!({"system": system, "tools": request.body["tools"], "model": request.body["model"]});
    unmarked(&base).to_string()
}

fn above((request, prompt): (&Request, &str)) -> Result<String> {
    let messages = list(&request.body["messages"]);
    let at = messages.iter().rposition(|message| texts(message).iter().any(|text| text.contains(prompt)));
    let at = at.with_context(|| format!("`{prompt}` is in no message"))?;
    anyhow::ensure!(at > 0, "nothing is above `{prompt}`");
    let lines: Vec<String> =
        messages.get(..at).unwrap_or_default().iter().map(|message| unmarked(message).to_string()).collect();
    Ok(lines.join("\n"))
}

pub(super) fn texts(message: &Value) -> Vec<&str> {
    match &message["content"] {
        Value::String(text) => vec![text],
        content => list(content).iter().filter_map(|block| block["text"].as_str()).collect(),
    }
}

/// A mark turns the text of a message into a list of one block, so such lists become texts again.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "cache_control");
            Value::Object(kept.map(|(name, value)| (name.clone(), unmarked_field(name, value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(unmarked).collect()),
        other => other.clone(),
    }
}

fn unmarked_field(name: &str, value: &Value) -> Value {
    let value = unmarked(value);
    match (name, list(&value)) {
        ("content", [only]) if only["type"] == "text" => only["text"].clone(),
        _ => value,
    }
}

/// The prompts of a request in the order they came, as far as they are among these.
pub(super) fn order(request: &Request, prompts: &[&str]) -> String {
    let messages = list(&request.body["messages"]);
    let mut found: Vec<&str> = Vec::new();
    for message in messages.iter().filter(|message| message["role"] == "user") {
        for text in texts(message) {
            found.extend(prompts.iter().copied().filter(|prompt| text.lines().next() == Some(*prompt)));
        }
    }
    found.join(" | ")
}
