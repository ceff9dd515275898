//! Sentences that a person reads. Short words that only label a column stay where the column is drawn.

use std::path::Path;

pub(crate) const UNTITLED: &str = "Untitled";
pub(crate) const EMPTY_PROMPT: &str = "(empty)";
pub(crate) const RESPONSE_INTERRUPTED: &str = "Response interrupted";
pub(crate) const CONTEXT_CLEARED: &str = "Everything above is forgotten";
pub(crate) const NOTHING_SAID: &str = "Nothing has been said yet.";
pub(crate) const HEAD_AT_START: &str =
    "The head is before the first turn. `offshoot tree` shows what there is.";

pub(crate) fn cannot_print(error: &std::io::Error) -> String {
    format!("could not print: {error}")
}

pub(crate) fn no_file(path: &Path) -> String {
    format!("no file `{}`", path.display())
}

pub(crate) const NO_FILE_HINT: &str =
    "name a session file; pi keeps its own in `~/.pi/agent/sessions`, one folder per project";

pub(crate) fn is_a_folder(path: &Path) -> String {
    format!("`{}` is a folder", path.display())
}

pub(crate) fn is_a_folder_hint(path: &Path) -> String {
    format!("name the session files in it: `{}`", path.join("*.jsonl").display())
}

pub(crate) fn is_a_device(path: &Path) -> String {
    format!("`{}` is a device, not a file", path.display())
}

pub(crate) fn not_allowed(path: &Path) -> String {
    format!("no permission to read `{}`", path.display())
}

pub(crate) fn not_allowed_hint(path: &Path) -> String {
    format!("`ls -l {}` shows who may", path.display())
}

pub(crate) fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    format!("could not read `{}`: {error}", path.display())
}

pub(crate) fn is_empty(path: &Path) -> String {
    format!("`{}` is empty", path.display())
}

pub(crate) const IS_EMPTY_HINT: &str =
    "a session file holds at least one line of JSON; perhaps nothing was said yet";

pub(crate) fn is_binary(path: &Path) -> String {
    format!("`{}` is a binary file, not a session", path.display())
}

pub(crate) fn is_not_a_session(path: &Path, reason: &str) -> String {
    format!("`{}` is not a session file: {reason}", path.display())
}

pub(crate) const FORMATS_HINT: &str = "session files of pi, oh-my-pi and rollouts can be read";

pub(crate) const POINT_HINT: &str =
    "`offshoot tree` shows every branch; a turn elsewhere is named by its id, label or branch";

pub(crate) const AMBIGUOUS_HINT: &str = "name one of them by its id";

pub(crate) const TOO_SHORT_HINT: &str = "give more of the id, or write `id:` before it";

pub(crate) fn nothing_matches(words: &str, ascii: bool) -> String {
    let (open, close) = if ascii { ("\"", "\"") } else { ("“", "”") };
    format!("Nothing said about {open}{words}{close}.")
}

pub(crate) const NOTHING_PASSES: &str = "No entry passes this filter.";
