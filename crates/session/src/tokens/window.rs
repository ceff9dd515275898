//! How much models read at once.

use crate::Model;

/// By the beginning of a model's name, in tokens; the first that fits counts. What providers say is said of whole
/// families, and the smallest of a family is taken: too early is a summary more, too late is an error.
const WINDOWS: &[(&str, i64)] = &[
    ("claude-", 200_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("gpt-5", 272_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini-", 1_000_000),
];

/// How Claude Code names the variant of a model that reads a million tokens at once.
const LARGE: &str = "[1m]";

/// `None` where nothing is known of such a model.
pub fn context_window(model: &Model) -> Option<i64> {
    let name = model.name.rsplit('/').next().unwrap_or(&model.name);
    if name.ends_with(LARGE) {
        return Some(1_000_000);
    }
    WINDOWS.iter().find(|(family, _)| name.starts_with(family)).map(|(_, window)| *window)
}
