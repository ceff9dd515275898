//! A call of a tool as a row: what is done, to what.
//!
//! Agents name their tools differently; people know eight verbs. A tool outside of them keeps its own name.

use serde_json::Value;

use super::line::{cut, flat};
use crate::ToolUse;

const LONGEST_COMMAND: usize = 50;
const LONGEST_INPUT: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// read, edit, write, shell, search, fetch, agent, ask, or the name of the tool.
    pub verb: String,
    /// A path, a command, a pattern; empty where the call names nothing.
    pub target: String,
}

pub fn ledger_row(call: &ToolUse) -> LedgerRow {
    let name = call.name.rsplit("__").next().unwrap_or(&call.name);
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect::<String>().to_lowercase();
    let (verb, keys): (&str, &[&str]) = match plain.as_str() {
        "read" | "readfile" | "readmanyfiles" | "view" | "viewimage" | "notebookread" | "cat" => {
            ("read", &["path", "file_path", "filePath", "notebook_path", "absolute_path", "paths"])
        }
        "edit" | "multiedit" | "strreplace" | "replace" | "applypatch" | "patch" | "notebookedit"
        | "hashline" => ("edit", &["path", "file_path", "filePath", "notebook_path", "input", "patch"]),
        "write" | "writefile" | "create" | "createfile" => ("write", &["path", "file_path", "filePath"]),
        "bash" | "shell" | "exec" | "execcommand" | "runshellcommand" | "localshell" | "terminal" => {
            ("shell", &["command", "cmd", "script"])
        }
        "grep" | "find" | "glob" | "ls" | "search" | "searchfilecontent" | "listdirectory" | "list" => {
            ("search", &["pattern", "query", "path", "glob"])
        }
        "fetch" | "webfetch" | "websearch" | "googlewebsearch" => ("fetch", &["url", "query", "prompt"]),
        "task" | "agent" | "subagent" | "spawnagent" => {
            ("agent", &["description", "title", "prompt", "agent"])
        }
        "ask" | "askuser" | "askuserquestion" | "question" => ("ask", &["question", "questions", "title"]),
        _ => (
            call.name.as_str(),
            &["path", "file_path", "command", "query", "pattern", "url", "title", "name"],
        ),
    };
    let target = keys.iter().find_map(|key| text_at(call, key)).unwrap_or_default();
    LedgerRow { verb: verb.to_owned(), target: flat(&target) }
}

fn text_at(call: &ToolUse, key: &str) -> Option<String> {
    let text = match call.input.get(key)? {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// The call in brackets, with the arguments that tell it apart.
pub(super) fn call_line(call: &ToolUse) -> String {
    let text = |key: &str| text_at(call, key);
    let path = || text("path").or_else(|| text("file_path")).unwrap_or_default();
    let place = || text("path").unwrap_or_else(|| ".".to_owned());
    let pattern = || text("pattern").unwrap_or_default();
    let rest = match call.name.as_str() {
        "read" => format!("{}{}", path(), line_range(call)),
        "write" | "edit" => path(),
        "bash" => shortened(&text("command").unwrap_or_default(), LONGEST_COMMAND),
        "grep" => format!("/{}/ in {}", pattern(), place()),
        "find" => format!("{} in {}", pattern(), place()),
        "ls" => place(),
        _ => shortened(&call.input.to_string(), LONGEST_INPUT),
    };
    format!("[{}: {}]", call.name, flat(&rest))
}

/// `:5-14`, `:5`, or nothing.
fn line_range(call: &ToolUse) -> String {
    let number = |key: &str| call.input.get(key).and_then(Value::as_i64);
    match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (Some(from), None) => format!(":{from}"),
        (from, Some(limit)) => {
            let from = from.unwrap_or(1);
            format!(":{from}-{}", from.saturating_add(limit).saturating_sub(1))
        }
    }
}

fn shortened(text: &str, longest: usize) -> String {
    let more = if text.chars().count() > longest { "..." } else { "" };
    format!("{}{more}", cut(&flat(text), longest))
}
