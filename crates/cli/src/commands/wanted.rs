//! What a person asks for in words of the command line, as every list and every search understands them.

use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use offshoot_engine::installed::known::PROGRAMS;
use offshoot_session::agent::canonical_name;

use crate::ago;
use crate::cataloged::{NAMED_AGENTS, agent_name};
use crate::failure::Failure;
use crate::here::Here;
use crate::words::reading as words;

/// A folder as a header would name it, with `.` and `..` taken out.
pub(super) fn folder(path: &Path, here: &Here) -> PathBuf {
    let mut absolute = PathBuf::new();
    for part in here.folder.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                absolute.pop();
            }
            part => absolute.push(part),
        }
    }
    absolute
}

/// A date, a moment, or how long ago.
pub(super) fn since(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    ago::since(text, now, &TimeZone::system())
        .ok_or_else(|| Failure::usage(words::no_moment(text)).hint(words::MOMENT_HINT))
}

/// A part of a name: small and large letters are the same.
pub(super) fn part(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Parts of names under which programs are listed: an agent may be called as it calls itself, or as people write it.
pub(super) fn agents(text: &str) -> Vec<String> {
    let asked = part(text);
    let is_it = |agent: &&str| {
        *agent == canonical_name(&asked) || agent_name(agent).to_lowercase().contains(asked.as_str())
    };
    let by_name = NAMED_AGENTS.into_iter().filter(is_it);
    by_name.map(str::to_owned).chain([asked.clone()]).collect()
}

/// Whether this is part of the name of an agent that Offshoot knows.
pub(super) fn is_known_agent(text: &str) -> bool {
    let asked = part(canonical_name(&part(text)));
    let programs = PROGRAMS.iter().flat_map(|program| [program.name, program.title]);
    let named = NAMED_AGENTS.into_iter().flat_map(|agent| [agent, agent_name(agent)]);
    programs.chain(named).any(|name| name.to_lowercase().contains(asked.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_meant_by_either_of_its_names() {
        for (said, meant) in [
            ("Claude Code", "claude-code, claude code"),
            ("claude", "claude-code, claude"),
            ("claude_code", "claude-code, claude_code"),
            (" gemini cli ", "gemini, gemini-cli, gemini cli"),
            ("Built-in", "built_in, built-in"),
            ("pi", "pi"),
            ("nobody", "nobody"),
        ] {
            assert_eq!(agents(said).join(", "), meant);
            assert_eq!(is_known_agent(said), said != "nobody", "{said}");
        }
    }
}
