//! `write` and `edit`.

use super::ToolOutput;
use super::input::Input;
use crate::workspace::{Workspace, WorkspacePath, Written};

/// A larger file is not edited.
const LARGEST_EDITED: u64 = 16 * 1024 * 1024;

/// Shown to the person who is asked.
const REPLACES: &str = "the file exists and would be replaced";

pub(super) fn write(workspace: &Workspace, input: &Input) -> Result<ToolOutput, String> {
    let path = path(workspace, input)?;
    let content = input.text("content")?;
    let done = match workspace.write(&path, content.as_bytes()).map_err(|error| error.to_string())? {
        Written::New => "created",
        Written::Replaced => "replaced",
    };
    Ok(ToolOutput::text(format!("{done} `{path}` ({} bytes)", content.len())))
}

/// What the person is told besides the path and the content.
pub(super) fn check_write(workspace: &Workspace, input: &Input) -> Result<Option<&'static str>, String> {
    let path = path(workspace, input)?;
    input.text("content")?;
    let replaces = workspace.would_replace(&path).map_err(|error| error.to_string())?;
    Ok(replaces.then_some(REPLACES))
}

pub(super) fn edit(workspace: &Workspace, input: &Input) -> Result<ToolOutput, String> {
    let (path, edited) = edited(workspace, input)?;
    workspace.write(&path, edited.text.as_bytes()).map_err(|error| error.to_string())?;
    let times = match edited.replaced {
        1 => "1 occurrence".to_owned(),
        times => format!("{times} occurrences"),
    };
    Ok(ToolOutput::text(format!("replaced {times} in `{path}`")))
}

pub(super) fn check_edit(workspace: &Workspace, input: &Input) -> Result<(), String> {
    let (path, _) = edited(workspace, input)?;
    workspace.would_replace(&path).map_err(|error| error.to_string())?;
    Ok(())
}

fn path(workspace: &Workspace, input: &Input) -> Result<WorkspacePath, String> {
    workspace.inside(input.text("path")?).map_err(|error| error.to_string())
}

fn edited(workspace: &Workspace, input: &Input) -> Result<(WorkspacePath, Edited), String> {
    let path = path(workspace, input)?;
    let (old, new) = (input.text("old")?, input.text("new")?);
    let bytes = workspace.read(&path, LARGEST_EDITED).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| format!("`{path}` is not a text file"))?;
    let edited = replaced(&text, old, new, input.is_set("replace_all")?)
        .map_err(|reason| format!("`{path}` was not changed: {reason}"))?;
    Ok((path, edited))
}

#[derive(Debug, PartialEq, Eq)]
struct Edited {
    text: String,
    replaced: usize,
}

fn replaced(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, String> {
    if old.is_empty() {
        return Err("`old` is empty".to_owned());
    }
    if old == new {
        return Err("`old` and `new` are equal".to_owned());
    }
    let is_windows = text.contains("\r\n") && !text.contains(old) && !old.contains('\r');
    if is_windows && old.contains('\n') {
        // Models do not see how lines end.
        return replaced(text, &old.replace('\n', "\r\n"), &new.replace('\n', "\r\n"), all);
    }
    match text.matches(old).count() {
        0 => Err("`old` does not occur in it; read the file again and copy the text exactly".to_owned()),
        times if times > 1 && !all => {
            Err(format!("`old` occurs {times} times; include lines around it, or set `replace_all`"))
        }
        replaced => Ok(Edited { text: text.replace(old, new), replaced }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, (old, new): (&str, &str), all: bool, expected: Result<&str, &str>) {
        let edited = replaced(text, old, new, all);
        match expected {
            Ok(expected) => assert_eq!(edited.unwrap().text, expected),
            Err(part) => assert!(edited.as_ref().unwrap_err().contains(part), "{edited:?}"),
        }
    }

    #[test]
    fn exactly_one_occurrence_is_replaced_unless_all_are_meant() {
        check("a b c", ("b", "x"), false, Ok("a x c"));
        check("a b b", ("b", "x"), false, Err("occurs 2 times"));
        check("a b b", ("b", "x"), true, Ok("a x x"));
        check("a b c", ("B", "x"), false, Err("does not occur"));
        check("a b c", ("", "x"), false, Err("is empty"));
        check("a b c", ("b", "b"), false, Err("are equal"));
    }

    #[test]
    fn lines_end_as_they_did() {
        check("a\r\nb\r\nc\r\n", ("a\nb", "x\ny"), false, Ok("x\r\ny\r\nc\r\n"));
        check("a\nb\n", ("a\nb", "x\ny"), false, Ok("x\ny\n"));
        check("a\r\nb\r\n", ("a\nc", "x"), false, Err("does not occur"));
    }
}
