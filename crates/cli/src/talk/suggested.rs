//! What an agent suggests to change in its own settings when it asks for permission, as a person reads it. Suggestions
//! have the form of the agent; those of Claude Code are known.

use serde_json::Value;

/// One suggestion in words; one of an unknown form as it is.
pub(crate) fn suggested(suggestion: &Value) -> String {
    let field = |name: &str| suggestion.get(name).and_then(Value::as_str).unwrap_or_default();
    let behavior = match field("behavior") {
        "" => "allow",
        behavior => behavior,
    };
    let what = match field("type") {
        "addRules" | "replaceRules" => format!("{behavior} {}", rules(suggestion)),
        "removeRules" => format!("remove the rule {}", rules(suggestion)),
        "setMode" => format!("permission mode {}", field("mode")),
        "addDirectories" => format!("work in {} too", strings(suggestion, "directories")),
        "removeDirectories" => format!("do not work in {}", strings(suggestion, "directories")),
        _ => return suggestion.to_string(),
    };
    match place(field("destination")) {
        Some(place) => format!("{what} ({place})"),
        None => what,
    }
}

/// Where the agent keeps it.
fn place(destination: &str) -> Option<&'static str> {
    match destination {
        "session" => Some("this session"),
        "localSettings" => Some("this project, only you"),
        "projectSettings" => Some("this project, everyone"),
        "userSettings" => Some("all your projects"),
        _ => None,
    }
}

/// `Bash(cargo test *), Read`
fn rules(suggestion: &Value) -> String {
    let rules = suggestion.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let field = |rule: &Value, name: &str| rule.get(name).and_then(Value::as_str).map(str::to_owned);
    let rule = |rule: &Value| {
        let tool = field(rule, "toolName").unwrap_or_default();
        match field(rule, "ruleContent") {
            Some(content) => format!("{tool}({content})"),
            None => tool,
        }
    };
    rules.iter().map(rule).collect::<Vec<_>>().join(", ")
}

fn strings(suggestion: &Value, name: &str) -> String {
    let all = suggestion.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn suggestions_are_told_in_words() {
        for (suggestion, told) in [
            (
                json!({ "type": "addRules", "behavior": "allow", "destination": "localSettings",
                        "rules": [{ "toolName": "Bash", "ruleContent": "cargo test *" }, { "toolName": "Read" }] }),
                "allow Bash(cargo test *), Read (this project, only you)",
            ),
            (
                json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" }),
                "permission mode acceptEdits (this session)",
            ),
            (
                json!({ "type": "addDirectories", "directories": ["/a", "/b"], "destination": "elsewhere" }),
                "work in /a, /b too",
            ),
            (json!({ "type": "new" }), r#"{"type":"new"}"#),
        ] {
            assert_eq!(suggested(&suggestion), told);
        }
    }
}
