//! Requests of the host.

use std::io;

use serde_json::{Value, json};

use super::claude::Claude;

pub(super) enum Asked {
    Answered,
    Interrupt,
    End,
}

pub(super) fn answer(claude: &mut Claude, line: &Value) -> io::Result<Asked> {
    let request = &line["request"];
    let body = match request["subtype"].as_str().unwrap_or_default() {
        "interrupt" => return Ok(Asked::Interrupt),
        "end_session" => return Ok(Asked::End),
        "initialize" => initialized(claude),
        "set_model" => {
            claude.model = request["model"].as_str().unwrap_or_default().to_owned();
            let text =
                format!("<local-command-stdout>Set model to `{}`</local-command-stdout>", claude.model);
            let message = json!({"role": "user", "content": text});
            claude.tell(
                json!({"type": "user", "message": message, "parent_tool_use_id": null, "isReplay": true}),
            )?;
            json!({"model": claude.model})
        }
        "set_permission_mode" => {
            let mode = request["mode"].as_str().unwrap_or_default();
            let launched_with = claude.options.mode.as_deref() == Some("bypassPermissions");
            if mode == "bypassPermissions" && !launched_with {
                let problem = "Cannot set permission mode to bypassPermissions because the session was not launched \
                               with --dangerously-skip-permissions";
                return refuse(claude, line, problem, "bypass_not_launched");
            }
            claude.mode = mode.to_owned();
            json!({"mode": mode})
        }
        "rename_session" => {
            let session = claude.transcript.session.clone();
            let title =
                json!({"type": "custom-title", "customTitle": request["title"], "sessionId": session});
            claude.write(title)?;
            json!({})
        }
        "stop_task" => {
            claude.stop_task(request["task_id"].as_str().unwrap_or_default())?;
            json!({})
        }
        "apply_flag_settings" | "set_max_thinking_tokens" => json!({}),
        "get_binary_version" => json!({"version": claude.config.version}),
        other => {
            let problem = format!("Unsupported control request subtype: {other}");
            return refuse(claude, line, &problem, "unsupported_request");
        }
    };
    claude.respond(line, &body)?;
    Ok(Asked::Answered)
}

fn refuse(claude: &mut Claude, line: &Value, problem: &str, code: &str) -> io::Result<Asked> {
    let response =
        json!({"subtype": "error", "request_id": line["request_id"], "error": problem, "error_code": code});
    claude.wire.send(&json!({"type": "control_response", "response": response}))?;
    Ok(Asked::Answered)
}

fn initialized(claude: &Claude) -> Value {
    let models = ["claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-4-5"];
    let models: Vec<Value> = models
        .iter()
        .map(|model| json!({"value": model, "resolvedModel": model, "displayName": model, "description": ""}))
        .collect();
    let source = if claude.config.fault("is_signed_out").is_some() { "none" } else { "ANTHROPIC_API_KEY" };
    let mut body = json!({
        "commands": [{"name": "compact", "description": "", "argumentHint": ""}],
        "agents": [{"name": "general-purpose", "description": ""}],
        "output_style": "default", "available_output_styles": ["default"],
        "models": models, "account": {"tokenSource": source, "apiKeySource": source}, "pid": std::process::id(),
    });
    if !claude.config.is_old() {
        body["claude_code_version"] = json!(claude.config.version);
        body["current_permission_mode"] = json!(claude.mode);
        body["session_state"] = json!(if claude.is_busy { "running" } else { "idle" });
        body["capabilities"] = json!([]);
    }
    body
}
