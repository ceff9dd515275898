//! The system prompt: what the model reads about its work before every conversation.
//!
//! Nothing in it depends on the time, the session or the machine, so that all branches of a project begin alike.

use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

const INSTRUCTIONS: &str = "\
You are a coding agent. A person talks to you through Offshoot, and you work in the folder of their project.

- Use your tools to look at files before you speak about them or change them. Paths are relative to the project's folder, and \
nothing outside it can be reached.
- Make the change that was asked for and no other. Keep the style of the code around it.
- Prefer `edit` for a change in a file that exists; `write` replaces the whole file.
- The person may be asked before you write files or run commands. If something is denied, do not try to reach the same by \
another way: ask what they want instead.
- After a change, check it where the project has a way to: build it, or run its tests.
- Answer briefly, in Markdown, in the language of the person. Say what you did and what you did not do.";

const WITHOUT_TOOLS: &str = "\
You are an assistant. A person talks to you through Offshoot. You have no tools here: answer from the conversation alone, \
briefly and in Markdown, in the language of the person.";

/// Files in which projects say how to work in them. The first that is there counts.
const PROJECT_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// More of such a file is not read.
const LONGEST_FILE: u64 = 64 * 1024;

/// The system prompt for a project. May block.
pub(crate) fn prompt(workspace: Option<&Path>, has_tools: bool) -> String {
    let instructions = if has_tools { INSTRUCTIONS } else { WITHOUT_TOOLS };
    let found = PROJECT_FILES.iter().find_map(|name| Some((name, read(&workspace?.join(name))?)));
    match found {
        None => instructions.to_owned(),
        Some((name, text)) => format!(
            "{instructions}\n\nThe project says in its file `{name}` how to work in it:\n\n<project_instructions>\n{text}\n\
             </project_instructions>"
        ),
    }
}

/// A link is not followed: it may lead out of the project, and what it leads to would be sent to the provider.
fn read(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = std::fs::File::from(open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).ok()?;
    let is_cut = bytes.len() as u64 > LONGEST_FILE;
    let text = String::from_utf8_lossy(&bytes);
    let end = text.floor_char_boundary(LONGEST_FILE as usize);
    let text = text.get(..end).unwrap_or(&text).trim();
    let note = if is_cut { "\n\n[The rest of the file is left out.]" } else { "" };
    (!text.is_empty()).then(|| format!("{text}{note}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_says_how_to_work_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(prompt(Some(folder.path()), true), INSTRUCTIONS);
        std::fs::write(at("CLAUDE.md"), "Use tabs.").unwrap();
        assert!(
            prompt(Some(folder.path()), true)
                .ends_with("<project_instructions>\nUse tabs.\n</project_instructions>")
        );
        std::fs::write(at("AGENTS.md"), "x".repeat(LONGEST_FILE as usize + 9)).unwrap();
        let long = prompt(Some(folder.path()), false);
        assert!(long.starts_with(WITHOUT_TOOLS) && long.contains("`AGENTS.md`") && long.contains("left out"));
        assert_eq!(prompt(None, false), WITHOUT_TOOLS);
    }

    #[test]
    fn a_link_out_of_the_project_is_not_read() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret"), "the secret").unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("AGENTS.md")).unwrap();
        assert_eq!(prompt(Some(folder.path()), true), INSTRUCTIONS);
    }
}
