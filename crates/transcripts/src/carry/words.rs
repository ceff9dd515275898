//! A call without an equal in the target, told in words together with its result: a result alone would answer
//! nothing, and a call alone would wait for ever.

use offshoot_session::{Block, ToolResult, ToolUse, text_of};
use serde_json::Value;

pub(super) fn told(call: &ToolUse, result: &ToolResult) -> Block {
    let input = match &call.input {
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::String(words) => format!("\n{words}"),
        input => format!("\n{input}"),
    };
    let ended = if result.failed { "It failed" } else { "Result" };
    let output = text_of(&result.blocks);
    let output = if output.trim().is_empty() { "(nothing)" } else { output.trim_end() };
    Block::Text(format!("[Called the tool `{}`]{input}\n[{ended}]\n{output}", call.name))
}
