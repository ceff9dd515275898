//! The rules of OpenAI's Chat Completions that the real server answers with status 400. Fields that are not named here are
//! not checked: other servers have more of them.

use serde_json::Value;

use crate::model::asked::{flag, list, text};

const LONGEST_CALL_ID: usize = 40;
const LONGEST_NAME: usize = 64;

pub(crate) fn check(body: &Value) -> Result<(), String> {
    if text(body, "model").is_empty() {
        return Err("you must provide a model parameter".to_owned());
    }
    if body.get("stream_options").is_some_and(|options| !options.is_null()) && !flag(body, "stream") {
        return Err("The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned());
    }
    for tool in list(body, "tools") {
        let name = tool.pointer("/function/name").or_else(|| tool.get("name"));
        check_name("tools.function.name", name.and_then(Value::as_str).unwrap_or_default())?;
    }
    let messages = list(body, "messages");
    if messages.is_empty() {
        return Err("Invalid 'messages': empty array. Expected an array with minimum length 1.".to_owned());
    }
    // Calls of the assistant message above that have no `tool` message yet.
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        let role = text(message, "role");
        if role == "tool" {
            let id = text(message, "tool_call_id");
            let Some(answered) = open.iter().position(|call| *call == id) else {
                return Err(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                     'tool_calls'. ('{place}': '{id}')"
                ));
            };
            open.remove(answered);
        } else if !open.is_empty() {
            return Err(without_results(&open));
        }
        let calls = message.get("tool_calls").filter(|calls| !calls.is_null());
        check_content(&place, role, &message["content"], calls.is_some())?;
        if let Some(calls) = calls {
            open = check_calls(&place, role, calls)?;
        }
    }
    if open.is_empty() { Ok(()) } else { Err(without_results(&open)) }
}

fn without_results(calls: &[&str]) -> String {
    format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The \
         following tool_call_ids did not have response messages: {}",
        calls.join(", ")
    )
}

fn check_content(place: &str, role: &str, content: &Value, has_calls: bool) -> Result<(), String> {
    let allowed: &[&str] = match role {
        "system" | "developer" | "tool" => &["text"],
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        "function" => return Ok(()),
        _ => {
            return Err(format!(
                "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', …"
            ));
        }
    };
    match content {
        Value::String(_) => Ok(()),
        Value::Null if role == "assistant" && has_calls => Ok(()),
        Value::Array(parts) if !parts.is_empty() => {
            for part in parts {
                let kind = text(part, "type");
                if !allowed.contains(&kind) {
                    return Err(format!(
                        "Invalid value: '{kind}'. Supported values are: {allowed:?} ('{place}')"
                    ));
                }
                if kind == "text" && !part["text"].is_string() {
                    return Err(format!("Missing required parameter: '{place}.content.text'."));
                }
                if kind == "image_url" && !part["image_url"]["url"].is_string() {
                    return Err(format!("Missing required parameter: '{place}.content.image_url.url'."));
                }
            }
            Ok(())
        }
        Value::Null | Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(format!("Invalid value for '{place}.content': expected a string or an array of parts."))
        }
    }
}

fn check_calls<'v>(place: &str, role: &str, calls: &'v Value) -> Result<Vec<&'v str>, String> {
    let calls = calls.as_array().filter(|calls| !calls.is_empty() && role == "assistant");
    let calls = calls.ok_or_else(|| format!("Invalid '{place}.tool_calls': expected an array of calls."))?;
    let mut ids = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let place = format!("{place}.tool_calls[{at}]");
        let id = text(call, "id");
        if !(1..=LONGEST_CALL_ID).contains(&id.len()) {
            return Err(format!(
                "Invalid '{place}.id': expected a string with a length of 1 to {LONGEST_CALL_ID}."
            ));
        }
        if ids.contains(&id) {
            return Err(format!("Duplicate value for 'tool_call_id' of '{id}' in '{place}'."));
        }
        ids.push(id);
        check_name(&format!("{place}.function.name"), text(&call["function"], "name"))?;
        let arguments = call["function"]["arguments"].as_str();
        let arguments = arguments
            .ok_or_else(|| format!("Invalid type for '{place}.function.arguments': expected a string."))?;
        if serde_json::from_str::<Value>(arguments).is_err() {
            return Err(format!("Invalid '{place}.function.arguments': the string is not JSON."));
        }
    }
    Ok(ids)
}

fn check_name(place: &str, name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(format!("Invalid '{place}': '{name}' does not match pattern '^[a-zA-Z0-9_-]+$'."))
}
