//! What is said about the list of all sessions, and about searching it.

use std::path::Path;

use offshoot_store::catalog::{CatalogError, Reached, Synced};

use crate::numbers::{counted, grouped};

pub(crate) const REBUILT: &str =
    "The catalog was damaged and has been made anew. No session is lost by that.";

pub(crate) fn not_kept(error: &CatalogError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("The list of sessions cannot be kept for the next time: {error}{cause}")
}

/// `1,284 sessions of 6 agents: 12 new, 3 changed, 1 gone, 2 kept`
pub(crate) fn synced(sessions: usize, agents: usize, synced: &Synced) -> String {
    let Synced { new, changed, gone, kept, .. } = *synced;
    let parts: Vec<String> = [(new, "new"), (changed, "changed"), (gone, "gone"), (kept, "kept")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(count)))
        .collect();
    let news = if parts.is_empty() { "nothing new".to_owned() } else { parts.join(", ") };
    let of = if agents > 1 { format!(" of {} agents", grouped(agents)) } else { String::new() };
    format!("{}{of}: {news}\n", counted(sessions, "session", "sessions"))
}

/// `Parts of words are indexed for 34 % of what was said; the next syncs go on.`
pub(crate) fn parts_reached(reached: &Reached) -> String {
    format!(
        "Parts of words are indexed for {} of what was said; the next syncs go on. At once: offshoot sync --finish",
        percent(reached)
    )
}

pub(crate) fn tools_reached(reached: &Reached) -> String {
    format!(
        "What tools said is indexed for {} of the sessions; the next syncs go on. At once: offshoot sync --finish",
        percent(reached)
    )
}

/// `1,204 texts by their words, 34 % of them by parts of words`
pub(crate) fn indexed(parts: &Reached, tools: Option<&Reached>) -> String {
    let texts = counted(usize::try_from(parts.of).unwrap_or(usize::MAX), "text", "texts");
    let tools =
        tools.map(|tools| format!(", tools of {} of the sessions", percent(tools))).unwrap_or_default();
    format!("{texts} by their words, {} of them by parts of words{tools}", percent(parts))
}

fn percent(reached: &Reached) -> String {
    let percent = reached.done.saturating_mul(100).checked_div(reached.of).unwrap_or(100);
    format!("{percent} %")
}

pub(crate) fn not_read(path: &Path, reason: &str) -> String {
    format!("could not read `{}`: {reason}", path.display())
}

pub(crate) fn some_not_read(count: usize) -> String {
    format!(
        "{} could not be read. Which: offshoot sync",
        counted(count, "file or folder", "files or folders")
    )
}

/// `38 matches in 9 sessions, 3 shown. Open one: offshoot show 18d4c2 --at 7`
pub(crate) fn found(matches: usize, sessions: usize, shown: usize, open: Option<&str>) -> String {
    let found =
        format!("{} in {}", counted(matches, "match", "matches"), counted(sessions, "session", "sessions"));
    let shown = if shown < matches { format!(", {} shown", grouped(shown)) } else { String::new() };
    let open = open.map(|open| format!(" Open one: offshoot show {open}")).unwrap_or_default();
    format!("{found}{shown}.{open}\n")
}

/// `Nothing said about “x”. Searched 1,284 sessions of 6 agents.`
pub(crate) fn nothing_found(words: &str, sessions: usize, agents: usize, ascii: bool) -> String {
    let nothing = super::nothing_matches(words, ascii);
    let sessions = counted(sessions, "session", "sessions");
    let agents = counted(agents, "agent", "agents");
    format!("{nothing} Searched {sessions} of {agents}.\n")
}

pub(crate) const QUERY_HINT: &str =
    "words, `\"a phrase\"`, `begin*`, or `re:` and a pattern; `--inside` finds parts of words";
