//! An item of the conversation, as Codex sends it to the model and gets it back.

use offshoot_session::{
    Block, Body, CustomMessage, Foreign, Note, Prompt, Reply, Shell, System, ToolResult, ToolUse, text_of,
};
use serde_json::Value;

use crate::images::image_at;
use crate::json::{Map, flag, id_text, integer, string, text};
use crate::nested::{array, object, objects, unquoted};

pub(super) enum Item {
    Said(Body),
    /// Under the role of the user: words of the person, or context that Codex puts there.
    User {
        prompt: Prompt,
        words: Words,
    },
    Unknown(Body),
}

/// Whose words stand under the role of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    OfThePerson,
    OfTheProgram,
    /// The line alone does not tell.
    Unclear,
}

pub(super) fn item_of(payload: &Map) -> Item {
    let Some(kind) = text(payload, "type") else { return Item::Unknown(foreign("item", payload)) };
    Item::Said(match kind {
        "message" => return message_of(payload),
        "reasoning" => reply(thinking_of(payload)),
        "function_call" => reply(vec![call(payload, &function_name(payload), payload.get("arguments"))]),
        "custom_tool_call" => reply(vec![call(payload, &string(payload, "name"), payload.get("input"))]),
        "local_shell_call" => reply(vec![call(payload, "local_shell", payload.get("action"))]),
        "web_search_call" => reply(vec![call(payload, "web_search", payload.get("action"))]),
        "tool_search_call" => reply(vec![call(payload, "tool_search", payload.get("arguments"))]),
        "image_generation_call" => reply(image_generation(payload)),
        "function_call_output"
        | "custom_tool_call_output"
        | "local_shell_call_output"
        | "mcp_tool_call_output" => Body::ToolResult(result_of(payload)),
        "tool_search_output" => Body::ToolResult(ToolResult {
            call: call_id(payload).into(),
            tool: String::new(),
            blocks: vec![Block::Text(names_of_tools(payload))],
            failed: false,
            usage: None,
            changed_input: None,
        }),
        "agent_message" => Body::CustomMessage(CustomMessage {
            kind: kind.to_owned(),
            blocks: content_of(payload),
            display: true,
            attribution: text(payload, "author").map(str::to_owned),
        }),
        "ghost_snapshot" | "compaction" | "context_compaction" | "compaction_summary" => {
            Body::Note(Note { kind: kind.to_owned(), data: Some(Value::Object(payload.clone())) })
        }
        _ => return Item::Unknown(foreign(kind, payload)),
    })
}

fn message_of(payload: &Map) -> Item {
    let blocks = content_of(payload);
    Item::Said(match text(payload, "role") {
        Some("assistant") => reply(blocks),
        Some("developer" | "system") => Body::System(System { text: text_of(&blocks) }),
        Some("user") => {
            if let Some(shell) = shell_of(&text_of(&blocks)) {
                return Item::Said(Body::Shell(shell));
            }
            let words = words_of(payload, &blocks);
            return Item::User { prompt: Prompt { blocks, ..Prompt::default() }, words };
        }
        role => return Item::Unknown(foreign(role.unwrap_or("message"), payload)),
    })
}

fn reply(blocks: Vec<Block>) -> Body {
    Body::Reply(Reply { blocks, ..Reply::default() })
}

fn foreign(kind: &str, payload: &Map) -> Body {
    let words = text_of(&content_of(payload));
    Body::Foreign(Foreign { kind: kind.to_owned(), text: Some(words).filter(|words| !words.is_empty()) })
}

fn call(payload: &Map, name: &str, input: Option<&Value>) -> Block {
    Block::ToolUse(ToolUse {
        id: call_id(payload).into(),
        name: name.to_owned(),
        input: input.map_or_else(|| Value::Object(Map::new()), unquoted),
    })
}

fn call_id(payload: &Map) -> String {
    let id = |key| payload.get(key).and_then(id_text);
    id("call_id").or_else(|| id("id")).unwrap_or_default()
}

/// Tools of servers have a namespace that ends in `__`, other families of tools one that is only a word.
fn function_name(payload: &Map) -> String {
    let name = string(payload, "name");
    match text(payload, "namespace").filter(|namespace| !namespace.is_empty()) {
        Some(server) if server.ends_with("__") => format!("{server}{name}"),
        Some(family) => format!("{family}.{name}"),
        None => name,
    }
}

fn image_generation(payload: &Map) -> Vec<Block> {
    let mut blocks = vec![call(payload, "image_generation", payload.get("revised_prompt"))];
    if let Some(image) = text(payload, "result").filter(|image| !image.is_empty()) {
        blocks.push(image_at(&format!("data:image/png;base64,{image}")));
    }
    blocks
}

/// What the model let be seen of its thinking; the rest is for its provider only.
fn thinking_of(payload: &Map) -> Vec<Block> {
    let parts = objects(payload, "summary").chain(objects(payload, "content"));
    let thoughts: Vec<Block> =
        parts.filter_map(|part| text(part, "text")).map(|text| Block::Thinking(text.to_owned())).collect();
    if thoughts.is_empty() { vec![Block::Other { kind: "reasoning".to_owned() }] } else { thoughts }
}

/// `content` as one string or as a list of parts.
pub(super) fn content_of(payload: &Map) -> Vec<Block> {
    match payload.get("content") {
        Some(Value::String(words)) => vec![Block::Text(words.clone())],
        Some(Value::Array(parts)) => parts.iter().map(part).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    }
}

fn part(part: &Value) -> Block {
    let Value::Object(part) = part else {
        return Block::Other { kind: "unknown".to_owned() };
    };
    match text(part, "type") {
        Some("input_text" | "output_text" | "text" | "Text") => Block::Text(string(part, "text")),
        Some("refusal") => Block::Text(string(part, "refusal")),
        Some(kind @ ("input_image" | "image")) => match text(part, "image_url").or_else(|| text(part, "url"))
        {
            Some(address) => image_at(address),
            None => Block::Other { kind: kind.to_owned() },
        },
        kind => Block::Other { kind: kind.unwrap_or("unknown").to_owned() },
    }
}

fn result_of(payload: &Map) -> ToolResult {
    let (blocks, failed) = match payload.get("output") {
        Some(Value::String(output)) => output_of_text(output),
        Some(Value::Array(parts)) => (parts.iter().map(part).collect(), false),
        Some(Value::Object(output)) => output_of_object(output),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => (Vec::new(), false),
    };
    ToolResult {
        call: call_id(payload).into(),
        tool: string(payload, "name"),
        blocks,
        failed,
        usage: None,
        changed_input: None,
    }
}

fn output_of_object(output: &Map) -> (Vec<Block>, bool) {
    let failed = output.get("success").and_then(Value::as_bool) == Some(false);
    let blocks = if output.contains_key("content") {
        content_of(output)
    } else {
        vec![part(&Value::Object(output.clone()))]
    };
    (blocks, failed)
}

/// Older versions put the output of a command into JSON with its exit code; newer ones say the code in words.
fn output_of_text(output: &str) -> (Vec<Block>, bool) {
    if output.starts_with('{')
        && let Ok(Value::Object(parsed)) = serde_json::from_str(output)
        && let (Some(words), Some(metadata)) = (text(&parsed, "output"), object(&parsed, "metadata"))
    {
        let failed = integer(metadata, "exit_code").is_some_and(|code| code != 0);
        return (vec![Block::Text(words.to_owned())], failed);
    }
    let said = output.lines().take_while(|line| *line != "Output:").take(8);
    let mut codes = said.filter_map(|line| {
        let code =
            line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "));
        code?.trim().parse::<i64>().ok()
    });
    let failed = codes.any(|code| code != 0);
    (vec![Block::Text(output.to_owned())], failed)
}

fn names_of_tools(payload: &Map) -> String {
    array(payload, "tools")
        .iter()
        .filter_map(|tool| tool.get("name")?.as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Newer versions say of each part where it comes from; for older ones the text tells, if it begins as the
/// context that Codex puts in.
fn words_of(payload: &Map, blocks: &[Block]) -> Words {
    let passed = object(payload, "internal_chat_message_metadata_passthrough");
    let mut kinds = passed
        .map(|passed| array(passed, "content_item_kinds"))
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
        .filter(|kind| *kind != "unknown")
        .peekable();
    if kinds.peek().is_some() {
        let is_of_person = kinds.any(|kind| kind.starts_with("user."));
        return if is_of_person { Words::OfThePerson } else { Words::OfTheProgram };
    }
    let mut texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Thinking(_) | Block::Image { .. } | Block::ToolUse(_) | Block::Other { .. } => None,
    });
    let is_context = !blocks.is_empty()
        && blocks.iter().all(|block| matches!(block, Block::Text(_)))
        && texts.all(begins_as_context);
    if is_context { Words::OfTheProgram } else { Words::Unclear }
}

fn begins_as_context(text: &str) -> bool {
    const OPENINGS: [&str; 14] = [
        "<environment_context>",
        "<environments_instructions>",
        "<user_instructions>",
        "<permissions instructions>",
        "<skills_instructions>",
        "<apps_instructions>",
        "<collaboration_mode>",
        "<personality_spec>",
        "<skill>",
        "<turn_aborted>",
        "<subagent_notification>",
        "<hook_prompt",
        "<goal_context>",
        "# AGENTS.md instructions for ",
    ];
    let text = text.trim_start();
    OPENINGS.iter().any(|opening| text.starts_with(opening))
}

/// A command that the person ran beside the agent.
fn shell_of(text: &str) -> Option<Shell> {
    let inner = between(text.trim(), "<user_shell_command>", "</user_shell_command>")?;
    let command = between(inner, "<command>", "</command>")?.trim().to_owned();
    let result = between(inner, "<result>", "</result>").unwrap_or_default();
    let exit_code = result.lines().find_map(|line| line.strip_prefix("Exit code: ")?.trim().parse().ok());
    let output = result.split_once("Output:\n").map_or(result, |(_, output)| output);
    Some(Shell { command, output: output.trim_end().to_owned(), exit_code, ..Shell::default() })
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let (_, behind) = text.split_once(open)?;
    behind.rsplit_once(close).map(|(inner, _)| inner)
}

/// The model's summary for a compaction, which is no answer to anybody.
pub(super) fn is_summary_for_compaction(line: &Map) -> bool {
    object(line, "metadata").is_some_and(|metadata| flag(metadata, "compaction_output"))
}
