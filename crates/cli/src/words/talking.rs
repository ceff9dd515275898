//! Sentences of commands that speak with the engine.

use offshoot_api::views::ModelView;

use crate::numbers::counted;

pub(crate) fn cannot_wait(error: &std::io::Error) -> String {
    format!("could not wait for anything: {error}")
}

pub(crate) const ABORT_FIRST_HINT: &str = "`offshoot abort` or `--abort-first` interrupts the turn first";
pub(crate) const REDO_HINT: &str = "`redo` brings it back";
pub(crate) const SAY_BRANCHING_HINT: &str =
    "`--set config_change_branching=entry` keeps it in this session, `=file` begins another one";
pub(crate) const SAY_TURN_HINT: &str = "`--at POINT` says which; `offshoot status` lists them";
pub(crate) const FOLLOW_OR_FORK_HINT: &str =
    "`offshoot show SESSION --follow` follows it; `offshoot fork SESSION` goes on in a session of its own";
pub(crate) const NO_AGENT_HINT: &str = "`offshoot agents` lists those that can answer";
pub(crate) const DISCONNECTED_HINT: &str = "the process that was the engine has ended; what was said is kept, and the next command starts another one";
pub(crate) const OTHER_VERSION: &str =
    "the engine that runs is of another version and answered something unknown";

/// What the engine says in passing, with a capital and a full stop, as it stands among others.
pub(crate) fn sentence(text: &str) -> String {
    let mut signs = text.chars();
    let first: String = signs.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    format!("{first}{}{end}", signs.as_str())
}

pub(crate) fn no_longer_asked(when: &str) -> String {
    format!("No longer asked. The agent moved on at {when}.")
}

pub(crate) const SUGGESTED: &str = " (suggested)";
/// The sign of something that goes on stands behind it.
pub(crate) const THINKING: &str = "Thinking";
pub(crate) const THOUGHT: &str = "Thought about it.";

/// Seconds.
pub(crate) fn thought_for(seconds: i64) -> String {
    format!("Thought for {seconds} s.")
}

pub(crate) const SUMMARISED: &str = "A summary of the branch that was left stands here.";
pub(crate) const COMPACTED: &str = "Compacted: what is above is summarised. `/undo` takes it back.";
pub(crate) const LIMIT: &str = "The answer reached its limit and stops here.";

pub(crate) const DISCARDED: &str = "The agent discarded the text above and starts again.";

/// An answer of which only the beginning was sent.
pub(crate) fn elided(bytes: &str) -> String {
    format!("{bytes} more are in the session: `offshoot show` prints all of it.")
}

pub(crate) fn retrying(attempt: u32, of: u32, wait_ms: u64, error: &str) -> String {
    let seconds = wait_ms.div_ceil(1000);
    format!("Retrying in {seconds} s ({attempt} of {of}): {error}")
}

pub(crate) fn hook_failed(hook: &str, message: &str) -> String {
    format!("hook `{hook}`: {message}")
}

/// `again` asks once more.
pub(crate) fn turn_failed(message: &str, again: &str) -> String {
    format!("{} The branch is intact; `{again}` asks again.", sentence(message))
}

/// A task in the background, by its summary.
pub(crate) fn task_ended(summary: &str) -> String {
    format!("[background] {summary}")
}

pub(crate) fn hint(text: &str) -> String {
    format!("hint: {text}")
}

pub(crate) const ASK_AGAIN: &str = "offshoot retry --send";
pub(crate) const ASK_AGAIN_HERE: &str = "/retry";

pub(crate) fn sub_agent(task: &str, is_running: bool) -> String {
    let works = if is_running { "works on" } else { "was given" };
    format!("A second agent {works}: {task}")
}

pub(crate) fn more_lines(count: usize) -> String {
    format!(" (+{})", counted(count, "line", "lines"))
}

pub(crate) fn asks_permission(tool: &str, input: &str) -> String {
    format!("May it use {tool}?  {input}")
}

/// The same above what it is given, where that has several lines.
pub(crate) fn asks_permission_for(tool: &str) -> String {
    format!("May it use {tool}?")
}

pub(crate) const PLAN_IS_READY: &str = "The plan is ready. May it carry it out?";

pub(crate) fn set(what: &str, to: &str) -> String {
    format!("{what} from here on: {to}")
}

pub(crate) fn waits_for_answer(session: &str, what: &str) -> String {
    format!("{what} Answer with: offshoot answer {session} allow|always|deny")
}

pub(crate) fn waits_for_choice(session: &str) -> String {
    format!("Answer with: offshoot answer {session} choose --choice TEXT")
}

pub(crate) const ENGINE_GONE: &str = "the engine ended in the middle of the answer";
pub(crate) const SENT_AGAIN: &str =
    "The process that was the engine has ended. What was said is kept, and nothing is said twice.";
pub(crate) const TAKEN_OUT: &str = "the message was taken out of the queue before it was sent";

pub(crate) fn in_session(session: &str) -> String {
    format!("in session {session}")
}

pub(crate) fn in_project(project: &str) -> String {
    format!("in all sessions about {project}")
}

pub(crate) const NOTHING_RUNS: &str = "Nothing runs.\n";
pub(crate) const NOTHING_RUNS_HERE: &str = "nothing runs: no `offshoot chat` or `send` is open";
pub(crate) const NOTHING_ASKED: &str = "nothing is asked in this session";
pub(crate) const NO_RULES: &str = "No permission rules.\n";
pub(crate) const BROKEN_RULES_HINT: &str =
    "repair the file or delete it; until then every use of a tool is asked for";
pub(crate) const NO_RULE_HINT: &str = "`offshoot permissions` lists them, each with its id";
pub(crate) const ABORTED: &str = "Interrupted. What had arrived is kept.\n";
pub(crate) const ANSWERED: &str = "Answered.\n";
pub(crate) const REVOKED: &str = "It is asked for again from now on.\n";

pub(crate) fn no_such_choice(typed: &str, choices: usize) -> String {
    format!(
        "there is no choice {typed}: type 1 to {choices}, or `={typed}` to answer with the text \"{typed}\""
    )
}

pub(crate) fn bad_answer(word: &str) -> String {
    format!("`{word}` is no answer: allow, always, deny or choose")
}

pub(crate) fn bad_input(error: &serde_json::Error) -> String {
    format!("`--input` is not JSON: {error}")
}

pub(crate) const NOT_SENT: &str = "not sent: the answer before it did not come to its end";

pub(crate) fn model_name(model: &ModelView) -> String {
    let ModelView { provider, name } = model;
    if provider.is_empty() { name.clone() } else { format!("{provider}/{name}") }
}
