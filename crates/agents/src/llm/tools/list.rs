//! `list`: what is in a folder, or all files below it that match a glob.

use std::ops::ControlFlow;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::FileType;

use super::input::Input;
use super::{Cancel, ToolOutput};
use crate::workspace::{Found, Walk, Workspace, WorkspacePath};

const ENTRIES: usize = 2000;

pub(super) fn list(workspace: &Workspace, input: &Input, cancel: &Cancel) -> Result<ToolOutput, String> {
    let from = place(workspace, input)?;
    let pattern = input.optional_text("pattern")?.map(glob).transpose()?;
    let walk = if pattern.is_some() { Walk::Everything } else { Walk::Folder };
    let (mut lines, mut is_cut) = (String::new(), false);
    let mut entries = 0;
    let visit = &mut |found: &Found<'_>| {
        if cancel.is_cancelled() {
            return ControlFlow::Break(());
        }
        let is_listed = match &pattern {
            Some(pattern) => found.kind != FileType::Directory && matches(pattern, &from, found.path),
            None => true,
        };
        if is_listed {
            if entries == ENTRIES {
                is_cut = true;
                return ControlFlow::Break(());
            }
            entries += 1;
            lines.push_str(&format!("{}{}\n", found.path.display(), sign(found.kind)));
        }
        ControlFlow::Continue(())
    };
    workspace.walk(&from, walk, visit).map_err(|error| error.to_string())?;
    if is_cut {
        lines.push_str(&format!("[there are more than {ENTRIES}; list a folder below, or use a pattern]\n"));
    }
    if lines.is_empty() {
        lines.push_str(if pattern.is_some() { "[no file matches]" } else { "[the folder is empty]" });
    }
    Ok(ToolOutput::text(lines))
}

/// Where to begin; the workspace if nothing is said.
pub(super) fn place(workspace: &Workspace, input: &Input) -> Result<WorkspacePath, String> {
    match input.optional_text("path")? {
        Some(path) => workspace.inside(path).map_err(|error| error.to_string()),
        None => Ok(workspace.root()),
    }
}

/// A glob without `/` is one for names in any folder.
pub(super) fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let anywhere = format!("**/{pattern}");
    let whole = if pattern.contains('/') { pattern.trim_start_matches("./") } else { &anywhere };
    let glob = GlobBuilder::new(whole).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("the glob is not valid: {error}"))
}

/// A glob may begin at the workspace or at the folder that was named.
pub(super) fn matches(glob: &GlobMatcher, from: &WorkspacePath, path: &Path) -> bool {
    glob.is_match(path) || path.strip_prefix(from.relative()).is_ok_and(|below| glob.is_match(below))
}

fn sign(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "/",
        FileType::Symlink => "@",
        FileType::RegularFile
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => "",
    }
}
