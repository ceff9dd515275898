//! The tools of each program, and which does what: the one table of what is translated and what is not.
//!
//! | act    | Claude Code | Codex                | pi    |
//! |--------|-------------|----------------------|-------|
//! | read   | Read        | exec_command `sed`   | read  |
//! | write  | Write       | apply_patch          | write |
//! | edit   | Edit        | apply_patch          | edit  |
//! | shell  | Bash        | exec_command         | bash  |
//! | search | Grep        | exec_command `rg`    | grep  |
//! | find   | Glob        | exec_command `rg`    | find  |
//! | list   | Bash `ls`   | exec_command `ls`    | ls    |
//!
//! Codex reads and searches with its shell, so the command that does the same is its equal tool. Options that only one
//! side has (a description, a limit of results) are left away.

use offshoot_session::ToolUse;
use serde_json::{Value, json};

use super::Target;
use super::acts::{Act, Exchanged, act_of, quoted};
use super::patch_text::{adding, changing};
use super::report::Fate;

/// The same call with a tool of the target; `None` where it has no equal one.
pub(super) fn translated(call: &ToolUse, target: Target) -> Option<(ToolUse, Fate)> {
    let act = act_of(call)?;
    let (name, input) = match target {
        Target::ClaudeCode => for_claude(&act)?,
        Target::Codex => for_codex(&act)?,
        Target::Pi => for_pi(&act)?,
    };
    if name == call.name && is_part_of(&input, &call.input) {
        return Some((call.clone(), Fate::Kept));
    }
    let fate = Fate::Translated(name.to_owned());
    Some((ToolUse { id: call.id.clone(), name: name.to_owned(), input: without_nulls(input) }, fate))
}

fn for_claude(act: &Act) -> Option<(&'static str, Value)> {
    Some(match act {
        Act::Read { path, first, lines } => {
            ("Read", json!({ "file_path": path, "offset": first, "limit": lines }))
        }
        Act::Write { path, content } => ("Write", json!({ "file_path": path, "content": content })),
        Act::Edit { path, changes, everywhere } => {
            let [Exchanged { old, new }] = changes.as_slice() else { return None };
            let everywhere = everywhere.then_some(true);
            let input =
                json!({ "file_path": path, "old_string": old, "new_string": new, "replace_all": everywhere });
            ("Edit", input)
        }
        Act::Shell { command } => ("Bash", json!({ "command": command })),
        Act::Search { pattern, path, files } => {
            ("Grep", json!({ "pattern": pattern, "path": path, "glob": files }))
        }
        Act::Find { pattern, path } => ("Glob", json!({ "pattern": pattern, "path": path })),
        Act::List { path } => ("Bash", json!({ "command": listing(path.as_deref()) })),
    })
}

fn for_codex(act: &Act) -> Option<(&'static str, Value)> {
    let shell = |command: String| ("exec_command", json!({ "cmd": command }));
    Some(match act {
        Act::Read { path, first: None, lines: None } => shell(format!("cat {}", quoted(path))),
        Act::Read { path, first, lines } => {
            let first = first.unwrap_or(1).max(1);
            let last = lines.map_or_else(|| "$".to_owned(), |lines| (first + lines.max(1) - 1).to_string());
            shell(format!("sed -n '{first},{last}p' {}", quoted(path)))
        }
        Act::Write { path, content } => ("apply_patch", Value::String(adding(path, content))),
        Act::Edit { everywhere: true, .. } => return None,
        Act::Edit { path, changes, everywhere: false } => {
            ("apply_patch", Value::String(changing(path, changes)))
        }
        Act::Shell { command } => shell(command.clone()),
        Act::Search { pattern, path, files } => {
            let mut command = format!("rg -n -e {}", quoted(pattern));
            let files = files.iter().map(|files| format!(" -g {}", quoted(files)));
            command.extend(files.chain(path.iter().map(|path| format!(" {}", quoted(path)))));
            shell(command)
        }
        Act::Find { pattern, path } => {
            let path = path.iter().map(|path| format!(" {}", quoted(path)));
            shell(format!("rg --files -g {}{}", quoted(pattern), path.collect::<String>()))
        }
        Act::List { path } => shell(listing(path.as_deref())),
    })
}

fn for_pi(act: &Act) -> Option<(&'static str, Value)> {
    Some(match act {
        Act::Read { path, first, lines } => {
            ("read", json!({ "path": path, "offset": first, "limit": lines }))
        }
        Act::Write { path, content } => ("write", json!({ "path": path, "content": content })),
        Act::Edit { everywhere: true, .. } => return None,
        Act::Edit { path, changes, everywhere: false } => {
            let edit = |change: &Exchanged| json!({ "oldText": change.old, "newText": change.new });
            ("edit", json!({ "path": path, "edits": changes.iter().map(edit).collect::<Vec<_>>() }))
        }
        Act::Shell { command } => ("bash", json!({ "command": command })),
        Act::Search { pattern, path, files } => {
            ("grep", json!({ "pattern": pattern, "path": path, "glob": files }))
        }
        Act::Find { pattern, path } => ("find", json!({ "pattern": pattern, "path": path })),
        Act::List { path } => ("ls", json!({ "path": path })),
    })
}

fn listing(path: Option<&str>) -> String {
    path.map_or_else(|| "ls".to_owned(), |path| format!("ls {}", quoted(path)))
}

/// Whether a call says all of this already.
fn is_part_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .filter(|(_, value)| !value.is_null())
            .all(|(key, value)| whole.get(key) == Some(value)),
        (part, whole) => part == whole,
    }
}

fn without_nulls(input: Value) -> Value {
    match input {
        Value::Object(mut fields) => {
            fields.retain(|_, value| !value.is_null());
            Value::Object(fields)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, input: Value) -> ToolUse {
        ToolUse { id: "c".into(), name: name.to_owned(), input }
    }

    fn check(name: &str, input: Value, target: Target, expected: Option<(&str, Value)>) {
        let found = translated(&call(name, input), target).map(|(call, _)| (call.name, call.input));
        assert_eq!(found, expected.map(|(name, input)| (name.to_owned(), input)));
    }

    #[test]
    fn reading_goes_everywhere() {
        let read = || json!({ "file_path": "/a b", "offset": 3, "limit": 2 });
        check("Read", read(), Target::Pi, Some(("read", json!({ "path": "/a b", "offset": 3, "limit": 2 }))));
        check(
            "Read",
            read(),
            Target::Codex,
            Some(("exec_command", json!({ "cmd": "sed -n '3,4p' '/a b'" }))),
        );
        check("Read", read(), Target::ClaudeCode, Some(("Read", read())));
        let short = json!({ "path": "a" });
        check("read", short.clone(), Target::ClaudeCode, Some(("Read", json!({ "file_path": "a" }))));
        check("read", short, Target::Codex, Some(("exec_command", json!({ "cmd": "cat a" }))));
    }

    #[test]
    fn commands_go_everywhere() {
        let words = json!({ "command": ["bash", "-lc", "ls | wc"] });
        check("shell", words, Target::ClaudeCode, Some(("Bash", json!({ "command": "ls | wc" }))));
        check("exec_command", json!({ "cmd": "ls" }), Target::Pi, Some(("bash", json!({ "command": "ls" }))));
        check(
            "Bash",
            json!({ "command": "ls" }),
            Target::Codex,
            Some(("exec_command", json!({ "cmd": "ls" }))),
        );
    }

    #[test]
    fn edits_keep_both_texts() {
        let edit = json!({ "file_path": "a", "old_string": "x", "new_string": "y" });
        let of_pi = json!({ "path": "a", "edits": [{ "oldText": "x", "newText": "y" }] });
        check("Edit", edit.clone(), Target::Pi, Some(("edit", of_pi.clone())));
        check("edit", of_pi, Target::ClaudeCode, Some(("Edit", edit.clone())));
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch";
        check("Edit", edit.clone(), Target::Codex, Some(("apply_patch", json!(patch))));
        check("apply_patch", json!(patch), Target::ClaudeCode, Some(("Edit", edit)));
    }

    #[test]
    fn what_is_the_targets_already_stays_with_all_its_options() {
        let whole = json!({ "command": "ls", "description": "List", "timeout": 5 });
        check("Bash", whole.clone(), Target::ClaudeCode, Some(("Bash", whole)));
    }

    #[test]
    fn other_tools_have_no_equal() {
        check("WebFetch", json!({ "url": "x" }), Target::Pi, None);
        check("Read", json!({}), Target::Pi, None);
        let all = json!({ "file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true });
        check("Edit", all, Target::Codex, None);
    }
}
