//! What a tool is given, as a person reads it: the field that tells most of it, and the change that it makes to a file.

use serde_json::Value;

/// Fields of what a tool is given that tell most of it.
pub(crate) const TELLING_FIELDS: [&str; 11] = [
    "command",
    "file",
    "pattern",
    "path",
    "file_path",
    "notebook_path",
    "url",
    "query",
    "task",
    "description",
    "skill",
];

/// Lines around a change that are shown with it.
const AROUND: usize = 2;

/// What matters of what a tool is given: a command, a file, questions; else all of it.
pub(crate) fn given(input: &Value) -> String {
    if let Some(tasks) = input.get("todos").and_then(Value::as_array) {
        return tasks_in_short(tasks);
    }
    if let Some(questions) = input.get("questions").and_then(Value::as_array) {
        let text = |question: &Value| question.get("question").and_then(Value::as_str).map(str::to_owned);
        return questions.iter().filter_map(text).collect::<Vec<_>>().join(" ");
    }
    let told = TELLING_FIELDS.iter().find_map(|name| input.get(name).and_then(Value::as_str));
    told.map_or_else(|| input.to_string(), str::to_owned)
}

/// `2 of 5 done, now: Write the tests`
fn tasks_in_short(tasks: &[Value]) -> String {
    let field = |task: &Value, name: &str| task.get(name).and_then(Value::as_str).map(str::to_owned);
    let status = |task: &Value| field(task, "status").unwrap_or_default();
    let done = tasks.iter().filter(|task| status(task) == "completed").count();
    let now = tasks.iter().find(|task| status(task) == "in_progress").and_then(|task| field(task, "content"));
    let now = now.map(|now| format!(", now: {now}")).unwrap_or_default();
    format!("{done} of {} done{now}", tasks.len())
}

/// The plan that an agent wants to carry out.
pub(crate) fn plan_of(input: &Value) -> Option<&str> {
    input.get("plan").and_then(Value::as_str)
}

/// The tool by which an agent ends its planning.
pub(crate) const ENDS_PLAN: &str = "ExitPlanMode";

/// One line of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Same(String),
    Removed(String),
    Added(String),
}

/// What a tool would change in a file, where its input says so: an old and a new text, several of them, or the whole
/// content of a file.
pub(crate) fn change_in(input: &Value) -> Option<Vec<Change>> {
    if let Some(edits) = input.get("edits").and_then(Value::as_array) {
        return edits.iter().map(replacement).collect::<Option<Vec<_>>>().map(|parts| parts.concat());
    }
    match input.get("content").and_then(Value::as_str) {
        Some(content) if input.get("file_path").or_else(|| input.get("path")).is_some() => {
            Some(content.lines().map(|line| Change::Added(line.to_owned())).collect())
        }
        Some(_) | None => replacement(input),
    }
}

fn replacement(input: &Value) -> Option<Vec<Change>> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let (old, new) = text("old_string").zip(text("new_string")).or_else(|| text("old").zip(text("new")))?;
    Some(difference(old, new))
}

/// Lines that both texts begin or end with stand around the lines that differ.
fn difference(old: &str, new: &str) -> Vec<Change> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let begin = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(begin..).unwrap_or_default(), new.get(begin..).unwrap_or_default());
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (removed, below) = old_rest.split_at(old_rest.len() - end);
    let added = new_rest.get(..new_rest.len() - end).unwrap_or_default();
    let above = old.get(begin.saturating_sub(AROUND)..begin).unwrap_or_default();
    let below = below.get(..below.len().min(AROUND)).unwrap_or_default();
    let lines = |lines: &[&str], change: fn(String) -> Change| -> Vec<Change> {
        lines.iter().map(|line| change((*line).to_owned())).collect()
    };
    [
        lines(above, Change::Same),
        lines(removed, Change::Removed),
        lines(added, Change::Added),
        lines(below, Change::Same),
    ]
    .concat()
}

impl Change {
    /// With its sign in front.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Same(line) => format!("  {line}"),
            Self::Removed(line) => format!("- {line}"),
            Self::Added(line) => format!("+ {line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_change(input: &Value, drawn: &[&str]) {
        let lines: Option<Vec<String>> =
            change_in(input).map(|change| change.iter().map(Change::line).collect());
        assert_eq!(lines.unwrap_or_default(), drawn, "{input}");
    }

    #[test]
    fn an_edit_is_drawn_with_the_lines_around_it() {
        let edit = json!({
            "file_path": "/a",
            "old_string": "one\ntwo\nthree\nfour\nfive\nsix\n",
            "new_string": "one\ntwo\nthree\n4\n4½\nfive\nsix\n",
        });
        check_change(&edit, &["  two", "  three", "- four", "+ 4", "+ 4½", "  five", "  six"]);
        check_change(&json!({ "old_string": "a", "new_string": "" }), &["- a"]);
        check_change(&json!({ "old_string": "a\na", "new_string": "a" }), &["  a", "- a"]);
        check_change(&json!({ "path": "a", "old": "b", "new": "c" }), &["- b", "+ c"]);
    }

    #[test]
    fn a_new_file_and_several_edits_are_drawn() {
        check_change(&json!({ "file_path": "/a", "content": "x\n\ny\n" }), &["+ x", "+ ", "+ y"]);
        let edits = json!({ "edits": [
            { "old_string": "a", "new_string": "b" },
            { "old_string": "c", "new_string": "d" },
        ] });
        check_change(&edits, &["- a", "+ b", "- c", "+ d"]);
        check_change(&json!({ "path": "a", "content": "x" }), &["+ x"]);
        check_change(&json!({ "command": "ls" }), &[]);
        check_change(&json!({ "content": "no file" }), &[]);
    }

    #[test]
    fn the_field_that_tells_most_is_shown() {
        for (input, told) in [
            (json!({ "command": "ls", "description": "List" }), "ls"),
            (json!({ "file_path": "/a", "old_string": "x", "new_string": "y" }), "/a"),
            (json!({ "pattern": "fn main", "path": "/src" }), "fn main"),
            (json!({ "url": "https://example.com", "prompt": "read" }), "https://example.com"),
            (json!({ "description": "Find it", "prompt": "Find …", "subagent_type": "Explore" }), "Find it"),
            (
                json!({ "todos": [
                    { "content": "a", "status": "completed" },
                    { "content": "b", "status": "in_progress" },
                    { "content": "c", "status": "pending" },
                ] }),
                "1 of 3 done, now: b",
            ),
            (
                json!({ "questions": [{ "question": "Which way?", "options": [] }, { "question": "How far?" }] }),
                "Which way? How far?",
            ),
            (json!({}), "{}"),
        ] {
            assert_eq!(given(&input), told);
        }
    }
}
