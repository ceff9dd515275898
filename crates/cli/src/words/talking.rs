//! Sentences of commands that speak with the engine.

use std::fmt::Display;
use std::path::Path;

use offshoot_api::views::{ModelView, SessionView};

pub(crate) fn engine_silent(home: &Path) -> String {
    format!("another process is the engine of `{}` and does not answer", home.display())
}

pub(crate) const ENGINE_SILENT_HINT: &str = "it may be stopped; `offshoot doctor` says who holds what";

pub(crate) fn not_connected(home: &Path, error: &std::io::Error) -> String {
    format!("could not speak to the engine of `{}`: {error}", home.display())
}

pub(crate) fn engine_not_started(home: &Path, error: &dyn Display) -> String {
    format!("could not start the engine of `{}`: {error}", home.display())
}

pub(crate) fn cannot_wait(error: &std::io::Error) -> String {
    format!("could not wait for anything: {error}")
}

pub(crate) const ABORT_FIRST_HINT: &str = "`offshoot abort` or `--abort-first` interrupts the turn first";
pub(crate) const REDO_HINT: &str = "`redo` brings it back";
pub(crate) const SAY_BRANCHING_HINT: &str =
    "`config_change_branching` is `ask`; `offshoot config set config_change_branching entry` asks no more";
pub(crate) const WHERE_TO_CHANGE: &str =
    "Where does the change go?\n  e: into this session   f: into a session of its own";
pub(crate) const NOT_CHANGED: &str = "Nothing was changed.";
pub(crate) const NO_AGENT_HINT: &str = "`offshoot agents` lists those that can answer";
pub(crate) const DISCONNECTED_HINT: &str = "the process that was the engine has ended; what was said is kept, and the next command starts another one";
pub(crate) const OTHER_VERSION: &str =
    "the engine that runs is of another version and answered something unknown";

pub(crate) const NO_LONGER_ASKED: &str = "No longer asked.";
pub(crate) const SUMMARISED: &str = "A summary of the branch that was left stands here.";
pub(crate) const COMPACTED: &str = "Compacted: what is above is summarised. `/undo` takes it back.";
pub(crate) const LIMIT: &str = "The answer reached its limit and stops here.";

pub(crate) fn hook_failed(hook: &str, message: &str) -> String {
    format!("hook `{hook}`: {message}")
}

pub(crate) fn turn_failed(message: &str) -> String {
    format!("The agent failed: {message}. Nothing is lost.")
}

pub(crate) fn sub_agent(task: &str, is_running: bool) -> String {
    let works = if is_running { "works on" } else { "was given" };
    format!("A second agent {works}: {task}")
}

pub(crate) fn more_lines(count: usize) -> String {
    format!(" (+{count} lines)")
}

pub(crate) fn asks_permission(tool: &str, input: &str) -> String {
    format!("May it use {tool}?  {input}")
}

pub(crate) fn permission_answers(always: &str) -> String {
    format!("  y: yes   a: always ({always})   n: no   n WORDS: no, and say why")
}

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
pub(crate) const INSTALLED: &str = "installed";
pub(crate) const NOT_INSTALLED: &str = "not installed";

pub(crate) fn in_session(session: &str) -> String {
    format!("in session {session}")
}

pub(crate) fn in_project(project: &str) -> String {
    format!("in all sessions about {project}")
}

pub(crate) const NOTHING_RUNS: &str = "Nothing runs.\n";
pub(crate) const NOTHING_RUNS_HERE: &str = "nothing runs: no `offshoot chat` or `send` is open";
pub(crate) const NOTHING_ASKED: &str = "nothing is asked in this session";
pub(crate) const NO_RULES: &str = "Every use of a tool is asked for.\n";
pub(crate) const NO_RULE_HINT: &str = "`offshoot permissions` lists them, each with its id";
pub(crate) const ABORTED: &str = "Interrupted. What had arrived is kept.\n";
pub(crate) const ANSWERED: &str = "Answered.\n";
pub(crate) const REVOKED: &str = "It is asked for again from now on.\n";

pub(crate) fn bad_answer(word: &str) -> String {
    format!("`{word}` is no answer: allow, always, deny or choose")
}

pub(crate) fn bad_input(error: &serde_json::Error) -> String {
    format!("`--input` is not JSON: {error}")
}

// What `chat` says.

pub(crate) const WELCOME: &str = "Offshoot. Every message can be said differently later, and nothing is lost. `/help` lists what can be done.";
pub(crate) const FIRST_RUN: &str =
    "The built-in agent answers: a demonstration that needs no network. Say `show me around` or `help`.";
pub(crate) const CTRL_C_AGAIN: &str = "Ctrl-C again leaves; so does `/quit`.";
pub(crate) const INTERRUPTING: &str = "Interrupting. Ctrl-C again leaves.";
pub(crate) const OTHERS_STILL_TALK: &str =
    "Another process still gets its answer through this one. Ctrl-C does not wait for it.";
pub(crate) const NOT_SENT: &str = "not sent: the answer before it did not come to its end";
pub(crate) const HELD: &str = "What waits is said before your next message.";
pub(crate) const QUEUED: &str = "It waits until the answer is complete.";
pub(crate) const RECONNECTED: &str =
    "The process that was the engine has ended. Connected again; nothing is lost.";
pub(crate) const BEGINS_ANOTHER: &str = "The conversation was taken back, so this begins another one.";
pub(crate) const NOTHING_YET: &str = "Nothing has been said yet.";

pub(crate) fn unknown_command(name: &str) -> String {
    format!("there is no `/{name}`; `/help` lists what there is")
}

pub(crate) fn needs(usage: &str) -> String {
    format!("that needs more: `{usage}`")
}

pub(crate) fn not_a_choice(word: &str) -> String {
    format!("`{word}` is none of the answers: y, a, n")
}

pub(crate) fn session_line(id: &str, title: Option<&str>) -> String {
    format!("Session {id}  {}", title.unwrap_or("Untitled"))
}

pub(crate) fn version_line(number: usize, of: usize) -> String {
    format!("Version {number} of {of}.")
}

pub(crate) fn go_on_with(id: &str) -> String {
    format!("Go on with: offshoot chat {id}")
}

pub(crate) fn goes_on_in(id: &str) -> String {
    format!("The conversation goes on in a session of its own, {id}.")
}

pub(crate) const DONE: &str = "Done.";
pub(crate) const UNDONE: &str = "Taken back.";
pub(crate) const REDONE: &str = "Taken again.";
pub(crate) const IS_SO_ALREADY: &str = "It is so already.";
pub(crate) const CTRL_C_HINT: &str = "Ctrl-C interrupts the answer";
pub(crate) const TREE_HINT: &str = "`/tree` shows every turn; one on another branch is named by its id";

pub(crate) fn no_level(said: &str, levels: &str) -> String {
    format!("`{said}` is no level of thinking: {levels}")
}

pub(crate) fn one_word(said: &str, usage: &str) -> String {
    format!("`{said}` is more than one word: `{usage}`")
}

pub(crate) fn in_force(view: &SessionView, usage: &str) -> String {
    let none = "of the agent";
    let model = view.model.as_ref().map(model_name);
    format!(
        "Agent: {}. Model: {}. Thinking: {}. Permission mode: {}. To change it: {usage}",
        view.agent.as_deref().unwrap_or("none"),
        model.as_deref().unwrap_or(none),
        view.thinking,
        view.permission_mode.as_deref().unwrap_or(none),
    )
}

pub(crate) fn model_name(model: &ModelView) -> String {
    let ModelView { provider, name } = model;
    if provider.is_empty() { name.clone() } else { format!("{provider}/{name}") }
}
pub(crate) const MOVED: &str = "The head has moved; your next message goes there.";

pub(crate) const CHAT_HELP: &str = "\
/tree                 the whole conversation as a tree
/branch               list the branches
/branch POINT         the next message begins a branch there
/edit POINT TEXT      say an old message differently; the old version stays
/retry [POINT]        ask the same again
/prev, /next [POINT]  the version before or after
/label [#N] TEXT      put a note on a turn
/rename TITLE         give the session a title
/model NAME           from the next message on; PROVIDER/NAME
/thinking LEVEL       off, minimal, low, medium, high, xhigh
/tools A,B            which tools may be used
/mode MODE            how permissions are asked for
/compact [WORDS]      make what the agent reads shorter
/clear                the agent forgets; the conversation stays
/undo, /redo          take the last step back, or take it again
/quit                 leave
Ctrl-C interrupts the answer, twice leaves. /model, /thinking, /tools and /mode alone say what is set.
A POINT is a turn number, an id, a label or the name of a branch. A line that begins with // is said with one /.
";
