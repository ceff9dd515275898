//! A text, changed by the person in the editor of their choice.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use offshoot_session::Stamps;

use crate::failure::Failure;
use crate::stamps::SystemStamps;
use crate::words;

/// What the text is after the editor has ended.
pub(crate) fn changed(text: &str) -> Result<String, Failure> {
    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
    let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
    let editor = editor.ok_or_else(|| Failure::failed(words::NO_EDITOR).hint(words::NO_EDITOR_HINT))?;
    let draft = Draft::of(text)?;
    // The variable may hold options too: a shell takes it apart, as every program does that starts an editor.
    let ended = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&draft.path)
        .status()
        .map_err(|error| Failure::failed(words::editor_not_started(&editor, &error)))?;
    if !ended.success() {
        return Err(Failure::failed(words::editor_failed(&editor, ended)));
    }
    let text = std::fs::read_to_string(&draft.path)
        .map_err(|error| Failure::failed(words::cannot_read(&draft.path, &error)))?;
    Ok(without_last_newline(text))
}

pub(crate) fn without_last_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// A file for the user alone, which goes away with this value.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn of(text: &str) -> Result<Self, Failure> {
        let name = format!("offshoot-{}.md", SystemStamps::new().entry_id());
        let draft = Self { path: std::env::temp_dir().join(name) };
        create(&draft.path)
            .and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()))
            .map_err(|error| Failure::failed(words::not_saved(&draft.path, &error, true)))?;
        Ok(draft)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Nothing is lost with it: the text is in the session or was given up.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn create(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path) -> std::io::Result<std::fs::File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
