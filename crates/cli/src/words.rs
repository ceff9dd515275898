//! Sentences that a person reads. Short words that only label a column stay where the column is drawn.

pub(crate) mod attached;
pub(crate) mod catalog;
mod changes;
pub(crate) mod chatting;
pub(crate) mod config;
pub(crate) mod engine;
pub(crate) mod forget;
pub(crate) mod keep;
pub(crate) mod reading;
pub(crate) mod reports;
pub(crate) mod scripts;
pub(crate) mod talking;

use std::path::Path;

use offshoot_session::Interruption;

pub(crate) use changes::*;

/// Units of the line that says how far it is.
pub(crate) const MEGABYTES_READ: &str = "MB read";
pub(crate) const MEGABYTES_WRITTEN: &str = "MB written";

pub(crate) const UNTITLED: &str = "Untitled";
/// Behind the task of an agent that another one has started.
pub(crate) const SUB_AGENT: &str = "sub-agent";
pub(crate) const SUB_AGENT_RUNS: &str = "running";
/// Above tasks whose call the file does not tell.
pub(crate) const TASKS_OF_NO_TURN: &str = "Sub-agents of no known turn";

pub(crate) fn sub_agent(id: &str, task: &str) -> String {
    match task.is_empty() {
        true => format!("{SUB_AGENT} {id}"),
        false => format!("{SUB_AGENT} {id}: {task}"),
    }
}
pub(crate) const EMPTY_PROMPT: &str = "(empty)";
const RESPONSE_INTERRUPTED: &str = "Response interrupted";
pub(crate) const STOPPED_DURING: &str = "Offshoot stopped during this answer. What had arrived is kept.";

/// An answer that stops in the middle.
/// Below the title of a session that has a parent.
pub(crate) fn branched_from(parent: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("from {parent}: {reason}"),
        None => format!("from {parent}"),
    }
}

pub(crate) fn interrupted(why: Interruption) -> &'static str {
    match why {
        Interruption::Wanted => RESPONSE_INTERRUPTED,
        Interruption::Crash => STOPPED_DURING,
    }
}

/// The same in a row of the tree.
pub(crate) fn interrupted_in_short(why: Interruption) -> &'static str {
    match why {
        Interruption::Wanted => "interrupted",
        Interruption::Crash => "interrupted, Offshoot stopped",
    }
}
pub(crate) const NO_RESULT: &str = "no result";

/// Of a call that was given another input than its agent had asked for, which stands in the line below.
pub(crate) const CHANGED_BY_YOU: &str = "changed by you";
pub(crate) const CONTEXT_CLEARED: &str = "Everything above is forgotten";
pub(crate) const NOTHING_SAID: &str = "Nothing has been said yet.";
pub(crate) const HEAD_AT_START: &str =
    "The head is before the first turn. `offshoot tree` shows what there is.";

pub(crate) fn cannot_print(error: &std::io::Error) -> String {
    format!("could not print: {error}")
}

pub(crate) fn too_few_descriptors(allowed: u64) -> String {
    format!("only `{allowed}` open files are allowed, which is too few")
}

pub(crate) fn too_few_descriptors_hint(least: u64) -> String {
    format!("raise the limit to at least {least}, for example with `ulimit -n 1024`")
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

pub(crate) const FORMATS_HINT: &str = "session files of pi, oh-my-pi, Claude Code, Codex, Gemini CLI, opencode (its database, or an export) and rollouts can be read";

pub(crate) fn many_in_database(path: &Path, ids: &[&str]) -> String {
    format!("`{}` holds {} sessions: {}", path.display(), ids.len(), quoted(ids))
}

pub(crate) fn many_in_database_hint(path: &Path, one: &str) -> String {
    let path = path.display();
    format!("`{path}/{one}` names one of them, `offshoot inspect {path}` lists all")
}

pub(crate) fn one_in_database(path: &Path, one: &str) -> String {
    let path = path.display();
    format!("`offshoot show {path}/{one}` shows one of them, `offshoot import {path}` takes all over")
}

pub(crate) fn none_in_database(path: &Path) -> String {
    format!("`{}` holds no session yet", path.display())
}

pub(crate) fn not_in_database(path: &Path, id: &str) -> String {
    format!("no session `{id}` in `{}`", path.display())
}

pub(crate) fn inspect_database_hint(path: &Path) -> String {
    format!("`offshoot inspect {}` lists what there is", path.display())
}

pub(crate) const POINT_HINT: &str =
    "`offshoot tree` shows every branch; a turn elsewhere is named by its id, label or branch";

pub(crate) const AMBIGUOUS_HINT: &str = "name one of them by its id";

pub(crate) const TOO_SHORT_HINT: &str = "give more of the id, or write `id:` before it";

pub(crate) fn nothing_matches(words: &str, ascii: bool) -> String {
    let (open, close) = if ascii { ("\"", "\"") } else { ("“", "”") };
    format!("Nothing said about {open}{words}{close}.")
}

pub(crate) const NOTHING_PASSES: &str = "No entry passes this filter.";

pub(crate) const NO_HOME: &str = "there is no home for sessions: `HOME` is not set";
pub(crate) const NO_HOME_HINT: &str = "`--home DIR` or `OFFSHOOT_HOME` names one";

pub(crate) fn no_session(named: &str) -> String {
    format!("no session `{named}`")
}

pub(crate) const NO_SESSION_HINT: &str =
    "`offshoot ls --all` lists the sessions; one is named by its id, the first letters of it, or its title";

pub(crate) fn no_directory(path: &Path) -> String {
    format!("no directory `{}`", path.display())
}

pub(crate) fn no_session_here(folder: &Path) -> String {
    format!("no session about `{}`", folder.display())
}

pub(crate) const NO_SESSION_HERE_HINT: &str =
    "`offshoot new` begins one, `offshoot import FILE` takes one over, `--session` names any other";

pub(crate) fn several_sessions(named: &str, count: usize) -> String {
    format!("`{named}` names {count} sessions")
}

/// Below the first of many.
pub(crate) fn and_more(count: usize) -> String {
    format!("and {count} more")
}

pub(crate) const SEVERAL_SESSIONS_HINT: &str = "more letters of the id tell them apart";
pub(crate) const SEVERAL_TITLES_HINT: &str = "the id tells them apart";

fn quoted(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(5).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

pub(crate) fn too_many_words(needed: &str) -> String {
    let places = format!("[SESSION] {needed}");
    format!("more words than `{}` has places for; quotation marks keep a text together", places.trim_end())
}

pub(crate) fn words_missing(needed: &str) -> String {
    format!("`[SESSION] {needed}` is needed")
}

pub(crate) fn session_exists(id: &offshoot_session::SessionId) -> String {
    format!("session `{id}` exists already")
}

pub(crate) fn session_exists_hint(id: &offshoot_session::SessionId) -> String {
    format!("`offshoot tree {id}` shows it")
}

pub(crate) fn being_written(session: &str, holder: &str) -> String {
    format!("session `{session}` is being written by {holder}")
}

pub(crate) const BEING_WRITTEN_HINT: &str =
    "`offshoot show` and `tree` still read it; try again when it is done";

/// `nothing_left` says that the disk took nothing half.
pub(crate) fn not_saved(path: &Path, error: &std::io::Error, nothing_left: bool) -> String {
    let whole = if nothing_left { "; nothing was half written" } else { "" };
    format!("could not save `{}`: {}{whole}", path.display(), disk_says(error))
}

pub(crate) fn home_tightened(home: &Path, ascii: bool) -> String {
    let home = crate::text::harmless_line(&home.display().to_string(), ascii);
    format!("note: other users could read `{home}`; now only you can (mode 0700)")
}

pub(crate) fn home_of_another_user(home: &Path) -> String {
    format!("the home `{}` belongs to another user", home.display())
}

pub(crate) const HOME_OF_ANOTHER_USER_HINT: &str = "`--home DIR` names a home of your own";

pub(crate) fn link_in_home(link: &Path) -> String {
    format!("`{}` is a symbolic link; Offshoot opens nothing in its home through links", link.display())
}

pub(crate) const LINK_IN_HOME_HINT: &str =
    "replace the link by what it points to, or move the whole home and name it with `--home DIR`";

pub(crate) fn disk_says(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::StorageFull => "no space left on the disk".to_owned(),
        std::io::ErrorKind::FileTooLarge => "the file would exceed the file size limit".to_owned(),
        std::io::ErrorKind::PermissionDenied => "no permission".to_owned(),
        std::io::ErrorKind::ReadOnlyFilesystem => "the disk cannot be written".to_owned(),
        _ => error.to_string(),
    }
}

pub(crate) const DISK_FULL_HINT: &str = "free some space, then try again";

pub(crate) const FILE_LIMIT_HINT: &str =
    "a limit on the size of files is in force; `ulimit -f` shows it, `ulimit -f unlimited` removes it";

pub(crate) fn not_saved_hint(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::StorageFull => DISK_FULL_HINT,
        std::io::ErrorKind::FileTooLarge => FILE_LIMIT_HINT,
        std::io::ErrorKind::PermissionDenied => "`--home DIR` names a place where you may write",
        _ => "`offshoot doctor` looks at the disk and the home",
    }
    .to_owned()
}

pub(crate) fn session_begun(id: &offshoot_session::SessionId, title: Option<&str>) -> String {
    let title = title.map(|title| format!("  {title}")).unwrap_or_default();
    let short: String = id.as_str().chars().take(6).collect();
    format!("Session {short}{title}\n")
}

pub(crate) fn nothing_to_change() -> String {
    "Nothing to change.\n".to_owned()
}

pub(crate) fn labelled(point: &str, label: &str) -> String {
    format!("{point} is labelled [{label}]\n")
}

pub(crate) fn label_gone(point: &str) -> String {
    format!("{point} has no label now\n")
}
