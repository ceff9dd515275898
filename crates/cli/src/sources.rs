//! Where other programs keep their sessions on this machine: their usual places, or where their own variables put
//! them. `OFFSHOOT_SOURCES` or `--source` names other places instead.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offshoot_store::Home;
use offshoot_store::catalog::Sources;

/// The variables of one person, so that no test looks at those of another.
pub(crate) struct Variables<'v>(pub(crate) &'v dyn Fn(&str) -> Option<OsString>);

impl Variables<'_> {
    fn folder(&self, name: &str) -> Option<PathBuf> {
        (self.0)(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// A folder below the one that a variable names, else below the home.
    fn below(&self, variable: &str, usual: &str) -> Option<PathBuf> {
        self.folder(variable).or_else(|| Some(self.folder("HOME")?.join(usual)))
    }
}

pub(crate) fn sources(
    home: &Path,
    named: &[PathBuf],
    variables: &Variables<'_>,
    scratch: PathBuf,
) -> Sources {
    let places = match named {
        [] => listed(variables).unwrap_or_else(|| usual(variables)),
        named => named.to_vec(),
    };
    let (databases, folders) =
        places.into_iter().partition(|path| path.extension().is_some_and(|end| end == "db"));
    Sources { home: Home::at(home), folders, databases, scratch }
}

fn listed(variables: &Variables<'_>) -> Option<Vec<PathBuf>> {
    let listed = (variables.0)("OFFSHOOT_SOURCES")?;
    Some(std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect())
}

fn usual(variables: &Variables<'_>) -> Vec<PathBuf> {
    let claude = variables.below("CLAUDE_CONFIG_DIR", ".claude").map(|folder| folder.join("projects"));
    let claude_in_xdg =
        variables.below("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("claude/projects"));
    let codex = variables.below("CODEX_HOME", ".codex");
    let codex = ["sessions", "archived_sessions"].map(|name| codex.as_ref().map(|folder| folder.join(name)));
    let pi = variables.below("PI_CODING_AGENT_DIR", ".pi/agent").map(|folder| folder.join("sessions"));
    let pi_elsewhere = variables.folder("PI_CODING_AGENT_SESSION_DIR");
    let data = variables.below("XDG_DATA_HOME", ".local/share");
    let omp_name = (variables.0)("PI_CONFIG_DIR").unwrap_or_else(|| ".omp".into());
    let omp = variables.folder("HOME").map(|home| home.join(omp_name).join("agent/sessions"));
    let omp_in_xdg = data.as_ref().map(|data| data.join("omp/sessions"));
    let gemini = variables.folder("GEMINI_CLI_HOME").or_else(|| variables.folder("HOME"));
    let gemini = gemini.map(|home| home.join(".gemini/tmp"));
    let opencode = data.map(|data| data.join("opencode"));
    let opencode = ["storage", "opencode.db"].map(|name| opencode.as_ref().map(|folder| folder.join(name)));
    let mut places: Vec<PathBuf> = [claude, claude_in_xdg]
        .into_iter()
        .chain(codex)
        .chain([pi, pi_elsewhere, omp, omp_in_xdg, gemini])
        .chain(opencode)
        .flatten()
        .collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], named: &[&str]) -> String {
        let of = |name: &str| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value))
        };
        let named: Vec<PathBuf> = named.iter().map(PathBuf::from).collect();
        let sources = sources(Path::new("/h"), &named, &Variables(&of), "/tmp".into());
        let all = sources.folders.iter().chain(&sources.databases);
        all.map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn programs_have_their_usual_places() {
        assert_eq!(
            found(&[("HOME", "/u")], &[]),
            "/u/.claude/projects /u/.config/claude/projects /u/.codex/sessions /u/.codex/archived_sessions \
             /u/.pi/agent/sessions /u/.omp/agent/sessions /u/.local/share/omp/sessions /u/.gemini/tmp \
             /u/.local/share/opencode/storage /u/.local/share/opencode/opencode.db"
        );
        assert_eq!(found(&[], &[]), "", "without a home there is no usual place");
    }

    #[test]
    fn their_own_variables_move_them() {
        let variables = [
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("CODEX_HOME", "/x"),
            ("PI_CODING_AGENT_DIR", "/p"),
            ("GEMINI_CLI_HOME", "/g"),
            ("XDG_DATA_HOME", "/d"),
        ];
        assert_eq!(
            found(&variables, &[]),
            "/c/projects /x/sessions /x/archived_sessions /p/sessions /d/omp/sessions /g/.gemini/tmp \
             /d/opencode/storage /d/opencode/opencode.db"
        );
    }

    #[test]
    fn other_places_are_named_instead() {
        let variables = [("HOME", "/u"), ("OFFSHOOT_SOURCES", "/a:/b/opencode.db")];
        assert_eq!(found(&variables, &[]), "/a /b/opencode.db");
        assert_eq!(found(&variables, &["/c"]), "/c");
        assert_eq!(found(&[("HOME", "/u"), ("OFFSHOOT_SOURCES", "")], &[]), "", "nowhere");
    }
}
