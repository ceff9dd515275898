//! What commands that change a session say.

use std::path::Path;

use offshoot_session::SessionId;
use offshoot_session::flat::NotAFlatList;

use crate::numbers::counted;

/// A place of the head.
pub(crate) const BEFORE_FIRST: &str = "before #1";
pub(crate) const HEAD_BEFORE_ANSWER: &str = "head before its answer";
pub(crate) const BEFORE_ITS_ANSWER: &str = ", before its answer";

pub(crate) fn told_claude(file: &std::path::Path, title: &str, ascii: bool) -> String {
    let (open, close) = if ascii { ("\"", "\"") } else { ("“", "”") };
    match title {
        "" => format!("Claude Code has no title for {} now\n", file.display()),
        title => format!("Claude Code calls {} {open}{title}{close}\n", file.display()),
    }
}

pub(crate) fn no_file_of_claude(id: &offshoot_session::SessionId) -> String {
    format!("Claude Code keeps no file of session `{id}`")
}

pub(crate) const NO_FILE_OF_CLAUDE_HINT: &str =
    "name the file: `offshoot rename FILE TITLE --write-back`; only Claude Code reads a title from its files";

pub(crate) fn not_of_claude(file: &std::path::Path) -> String {
    format!("`{}` is no session of Claude Code, and no other file is written to", file.display())
}

pub(crate) fn comma_version(version: usize) -> String {
    format!(", version {version}")
}

pub(crate) fn on_branch(name: &str) -> String {
    format!(" on {name}")
}

/// The hint of every step that can be taken back, which is every step.
pub(crate) fn take_back(undo: &str) -> String {
    format!("Take back with: {undo}")
}

pub(crate) fn new_version(version: usize, turn: usize, id: &str) -> String {
    format!("Version {version} of #{turn} is {id}\n")
}

/// Without a line end: a hint may follow.
pub(crate) fn versions_stay(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => "Version 1 stays.".to_owned(),
        2 => "Versions 1 and 2 stay.".to_owned(),
        others => format!("Versions 1 to {others} stay."),
    }
}

pub(crate) const BLANK_PROMPT: &str = "a prompt needs some text";

pub(crate) fn not_a_prompt(id: &str) -> String {
    format!("`{id}` is not a prompt, so no agent can answer it")
}

pub(crate) const NOT_A_PROMPT_HINT: &str =
    "`offshoot edit POINT TEXT` writes it as another answer, without asking an agent";

pub(crate) fn no_text(id: &str) -> String {
    format!("`{id}` has no text to edit")
}

pub(crate) const NO_TEXT_HINT: &str = "prompts, replies and tool results with text can be edited";

/// A reply or a tool result with another text.
pub(crate) fn edited_message(turn: usize, id: &str) -> String {
    format!("The edited message of #{turn} is {id}\n")
}

/// Without a line end: a hint may follow.
pub(crate) const OLD_MESSAGE_STAYS: &str = "The old message stays.";

/// `reason` is the engine's word for it.
pub(crate) fn cannot_fork_before(id: &str, reason: Option<&str>) -> String {
    let why = match reason {
        Some("inside_turn") => "it is inside a turn",
        _ => "it is not a message",
    };
    format!("cannot fork before `{id}`: {why}")
}

pub(crate) fn fork_before_prompt(prompt: &str) -> String {
    format!("the prompt of its turn is `{prompt}`; without `--before` the fork begins at the entry")
}

pub(crate) const STDIN_NOT_TEXT: &str = "standard input is not text";

pub(crate) fn stdin_failed(error: &std::io::Error) -> String {
    format!("could not read standard input: {error}")
}

pub(crate) const READING_STDIN: &str = "Reading from the terminal; Ctrl-D ends the input.";

pub(crate) const NO_EDITOR: &str = "there is no editor: neither `VISUAL` nor `EDITOR` is set";
pub(crate) const NO_EDITOR_HINT: &str = "`offshoot edit POINT TEXT` does without one";

pub(crate) fn editor_not_started(editor: &str, error: &std::io::Error) -> String {
    format!("could not start `{editor}`: {error}")
}

pub(crate) fn editor_failed(editor: &str, ended: std::process::ExitStatus) -> String {
    match ended.code() {
        Some(code) => format!("`{editor}` ended with code {code}; nothing was changed"),
        None => format!("`{editor}` was stopped; nothing was changed"),
    }
}

/// In front of the answer of one of several models.
pub(crate) fn asks_model(provider: &str, name: &str) -> String {
    if provider.is_empty() { format!("[{name}]") } else { format!("[{provider}/{name}]") }
}

pub(crate) const NOTHING_TO_RETRY: &str = "there is no prompt to ask again";

/// `goes_on`: something follows that place already.
pub(crate) fn next_message(place: &str, goes_on: bool) -> String {
    match (place == BEFORE_FIRST, goes_on) {
        (true, _) => "The next message begins anew\n".to_owned(),
        (false, true) => format!("The next message starts a branch after {place}\n"),
        (false, false) => format!("The next message goes after {place}\n"),
    }
}

pub(crate) const FORK_ELSEWHERE: &str =
    "Elsewhere: offshoot fork --at POINT   Into a session of its own: offshoot fork --new-session";

pub(crate) fn forked_session(id: &str, origin: &str, turns: Option<usize>) -> String {
    match turns {
        None => format!("Session {id} begins before #1 of {origin}\n"),
        Some(1) => format!("Session {id} begins with #1 of {origin}\n"),
        Some(turns) => format!("Session {id} begins with #1 to #{turns} of {origin}\n"),
    }
}

pub(crate) fn session_of_folder(before: &str) -> String {
    format!("Commands without SESSION are about it now. Back with: --session {before}")
}

pub(crate) fn switched_to(turn: &str) -> String {
    format!("Switched to {turn}")
}

pub(crate) const SWITCHED_BEFORE_FIRST: &str = "The next message begins anew\n";

pub(crate) fn head_is_there(place: &str) -> String {
    format!("The head is at {place} already.\n").replace(&format!("at {BEFORE_FIRST}"), BEFORE_FIRST)
}

/// Between the id of a prompt and what it says.
pub(crate) fn version_of(version: usize, of: usize) -> String {
    format!("version {version} of {of}  ")
}

pub(crate) const FIRST_VERSION: &str = "This is the first version.\n";
pub(crate) const ONLY_VERSION: &str = "This is the only version.\n";
pub(crate) const LAST_VERSION: &str = "This is the last version.\n";
pub(crate) const NO_VERSIONS: &str = "no turn on this branch has another version";
pub(crate) const NO_VERSIONS_HINT: &str = "`offshoot edit` and `offshoot retry` make one";

pub(crate) fn renamed(session: &str, title: &str) -> String {
    format!("Session {session} is called {title}\n")
}

pub(crate) fn title_gone(session: &str) -> String {
    format!("Session {session} has no title now\n")
}

pub(crate) fn branch_named(point: &str, name: &str) -> String {
    format!("The branch of {point} is called {name}\n")
}

pub(crate) fn branch_name_gone(point: &str) -> String {
    format!("The branch of {point} has no name now\n")
}

pub(crate) fn name_taken(name: &str, point: &str) -> String {
    format!("`{name}` is the branch of `{point}` already")
}

pub(crate) fn name_taken_hint(point: &str) -> String {
    format!("`offshoot branch name {point} ''` frees the name")
}

/// Behind everything else about a branch.
pub(crate) const ARCHIVED: &str = "  archived";

pub(crate) fn archived(point: &str) -> String {
    format!("Archived {point} and what follows it\n")
}

pub(crate) fn bring_back(unarchive: &str, point: &str) -> String {
    format!("Bring back with: {unarchive} {point}\n")
}

pub(crate) fn unarchived(point: &str) -> String {
    format!("Brought back {point} and what follows it\n")
}

pub(crate) fn head_is_below(point: &str) -> String {
    format!("`{point}` is on the branch you are on")
}

pub(crate) const HEAD_IS_BELOW_HINT: &str = "`offshoot switch POINT` goes to another branch first";

/// The name of the step by which a session is imported.
pub(crate) const IMPORT_STEP: &str = "import";

pub(crate) fn taken_back(session: &SessionId) -> String {
    format!("session `{session}` was taken back")
}

pub(crate) fn taken_back_hint(session: &SessionId) -> String {
    format!("`offshoot redo {session}` brings it back")
}

pub(crate) fn is_not_there_now(session: &str) -> String {
    format!("  session {session} is not there now\n")
}

pub(crate) fn is_there_again(session: &str) -> String {
    format!("  session {session} is there again\n")
}

pub(crate) fn has_gone_on(session: &str) -> String {
    format!("session `{session}` has gone on since it was forked")
}

pub(crate) fn has_gone_on_hint(session: &str) -> String {
    format!("`offshoot undo {session}` takes back what was done there, step by step")
}

pub(crate) fn undid(what: &str, when: &str) -> String {
    format!("Undid  {what} ({when})\n")
}

pub(crate) fn redid(what: &str, when: &str) -> String {
    format!("Redid  {what} ({when})\n")
}

pub(crate) fn undo_hint(redo: &str, ops: &str) -> String {
    format!("Again forward: {redo}   All steps: {ops}\n")
}

pub(crate) const UNDONE: &str = "undone";
pub(crate) const NO_STEPS: &str = "No step has been taken yet.\n";

/// What a step did, behind its name.
pub(crate) fn to_place(place: &str) -> String {
    format!(" to {place}")
}

pub(crate) fn several_entries(count: usize) -> String {
    format!(" {}", counted(count, "entry", "entries"))
}

/// A name that was taken away.
pub(crate) const GONE: &str = "(none)";

/// As long as [`offshoot_session::long_lines::LONGEST_LINE`].
pub(crate) const TOO_LONG: &str = "longer than 64 MiB; put large content into files and attach them";

pub(crate) fn bad_line(number: usize, reason: &str) -> String {
    format!("line {number}: {reason}")
}

pub(crate) fn lines_written(lines: usize) -> String {
    match lines {
        0 => "nothing was written".to_owned(),
        1 => "the entry before it is written and stays".to_owned(),
        lines => format!("the {} before it are written and stay", counted(lines, "entry", "entries")),
    }
}

pub(crate) fn changed_here(path: &Path, session: &str) -> String {
    format!("`{}` was changed here, as session `{session}`", path.display())
}

pub(crate) fn changed_here_hint(session: &str) -> String {
    format!(
        "`offshoot show {session}` shows it with the changes; `--again` takes both over into a session of their own"
    )
}

pub(crate) fn imported_already(path: &Path, session: &str) -> String {
    format!("the session of `{}` is stored already as `{session}`", path.display())
}

/// And it says something else than the file does now.
pub(crate) fn imported_and_taken_back(path: &Path, session: &str) -> String {
    format!("an earlier state of `{}` was imported as `{session}` and taken back", path.display())
}

pub(crate) fn imported_and_taken_back_hint(session: &str) -> String {
    format!(
        "`offshoot redo {session}` brings that one back; `--again` imports the file with an id of its own"
    )
}

pub(crate) const IMPORTED_ALREADY_HINT: &str = "`--again` makes a copy with an id of its own";

pub(crate) fn copy_of(file: &str, id: &str) -> String {
    format!("`{file}` is imported once more; session `{id}` stays as it is")
}

pub(crate) fn other_id(file: &str, id: &str) -> String {
    format!("`{file}` gets another id, because `{id}` cannot name a file")
}

pub(crate) fn not_a_flat_list(file: &str, why: &NotAFlatList) -> String {
    format!("cannot import `{file}`: {why}")
}

pub(crate) fn no_prompt_in_list(file: &str) -> String {
    format!("cannot import `{file}`: it has no message with the role `user`")
}

pub(crate) fn left_out_of_list(file: &str, count: usize) -> String {
    format!("`{file}`: {} before the first prompt left out", counted(count, "message", "messages"))
}

pub(crate) fn is_odd(file: &str, oddities: usize) -> String {
    format!("`{file}` has {}; `offshoot inspect` lists them", counted(oddities, "oddity", "oddities"))
}
