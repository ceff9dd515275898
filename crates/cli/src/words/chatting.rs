//! Sentences of `offshoot chat`.

use offshoot_api::event::TurnEnd;
use offshoot_api::views::{AnswerView, MissingView, ProvenanceView, SessionView};

use super::talking::model_name;
use crate::numbers::counted;

pub(crate) const WELCOME: &str =
    "Offshoot. Every message can be said differently later, nothing is lost: `/help`";
pub(crate) const FIRST_RUN: &str =
    "The built-in agent answers: a demonstration that needs no network. Say `show me around` or `help`.";
pub(crate) const IN_MEMORY: &str = "This session is in memory only. It is gone when the chat ends.";
pub(crate) const CTRL_C_AGAIN: &str = "Ctrl-C again leaves; so does `/quit`.";
pub(crate) const INTERRUPTING: &str = "Interrupting. Ctrl-C again leaves.";
pub(crate) const TAKES_TIME: &str = "This takes a moment. Ctrl-C calls it off.";
pub(crate) const CALLED_OFF: &str = "Called off. Nothing has changed.";
pub(crate) const LEFT: &str = "this chat is being left";
pub(crate) const RECONNECTED: &str =
    "The process that was the engine has ended. Connected again; nothing is lost.";
pub(crate) const LOST: &str = "the connection was lost; it may or may not have been done";
pub(crate) const NOT_SENT: &str = "not sent: the connection was lost";
pub(crate) const NOT_SENT_HINT: &str = "your text stands above; said again it is sent";
pub(crate) const BEGINS_ANOTHER: &str = "The conversation was taken back, so this begins another one.";
pub(crate) const NOTHING_YET: &str = "Nothing has been said yet.";

pub(crate) const DROPPED: &str = "What was typed is dropped.";

pub(crate) fn pasted(lines: usize) -> String {
    let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
    format!("{lines} pasted. Enter sends them as one message, Ctrl-C drops them.")
}

pub(crate) fn line_cut(bytes: usize) -> String {
    format!("the terminal cut a line after {bytes} bytes, so nothing was sent")
}

pub(crate) fn line_cut_hint(session: Option<&str>) -> String {
    let session = session.map(|session| format!("{session} ")).unwrap_or_default();
    format!(
        "put the text into a file: `offshoot send {session}- < FILE` sends it, `/attach FILE` adds it to your message"
    )
}

/// `None` where the agent knows the branch itself.
pub(crate) fn reconstructed(
    agent: &str,
    provenance: ProvenanceView,
    missing: Option<MissingView>,
) -> Option<String> {
    let way = match provenance {
        ProvenanceView::Continued | ProvenanceView::ForkedAtMessage => return None,
        ProvenanceView::RebuiltTranscript => "this branch as a session that was rebuilt",
        ProvenanceView::ReplayedContext => "this branch as text",
    };
    let without = missing.map(without).unwrap_or_default();
    Some(format!("Reconstructed context: {agent} was given {way}{without}."))
}

/// Of a branch whose beginning is not shown.
pub(crate) fn was_not_told(agent: &str, missing: MissingView) -> String {
    format!("Reconstructed context: {agent} was given the beginning of this branch{}.", without(missing))
}

fn without(missing: MissingView) -> String {
    let MissingView { tool_results, thoughts, images, forgotten } = missing;
    let counted = [
        (tool_results, "result of a tool", "results of tools"),
        (thoughts, "thought", "thoughts"),
        (images, "image", "images"),
        (forgotten, "forgotten turn", "forgotten turns"),
    ];
    let told = counted.into_iter().filter(|(count, ..)| *count > 0);
    let told: Vec<String> =
        told.map(|(count, one, more)| format!("{count} {}", if count == 1 { one } else { more })).collect();
    if told.is_empty() { String::new() } else { format!(", without {}", told.join(", ")) }
}

// What waits.

pub(crate) const QUEUED: &str = "It waits until the answer is complete.";
pub(crate) const HELD: &str = "What waits is said before your next message; `/queue send` says it now.";
pub(crate) const NOTHING_WAITS: &str = "Nothing waits to be said.";
pub(crate) const NOTHING_HELD: &str = "What waits is said by itself when the answer before it is complete.";

pub(crate) fn waits(text: &str) -> String {
    format!("Somebody else says “{text}” when the answer is complete.")
}

pub(crate) fn waits_no_more(text: &str) -> String {
    format!("“{text}” is not said any more.")
}

pub(crate) fn waits_changed(text: &str) -> String {
    format!("What waits is now “{text}”.")
}

pub(crate) fn waiting_line(number: usize, text: &str, is_held: bool) -> String {
    let held = if is_held { "  held: the answer before it did not come to its end" } else { "" };
    format!("  {number}. {text}{held}")
}

pub(crate) fn not_waiting(number: usize) -> String {
    format!("no message {number} waits; `/queue` lists those that do")
}

pub(crate) fn unknown_queue_word(word: &str) -> String {
    format!(
        "`/queue {word}` is not known: `/queue`, `/queue change N TEXT`, `/queue cancel N` or `/queue send`"
    )
}

// What runs elsewhere.

pub(crate) fn runs_elsewhere(text: &str) -> String {
    format!("“{text}” is being answered on another branch.")
}

pub(crate) fn ended_elsewhere(text: &str, end: &TurnEnd) -> String {
    const LISTED: &str = "`/branch` lists them.";
    match end {
        TurnEnd::Done => format!("“{text}” is answered, on another branch; {LISTED}"),
        TurnEnd::Interrupted => format!("“{text}” was interrupted, on another branch; {LISTED}"),
        TurnEnd::Limit => format!("The answer to “{text}” reached its limit, on another branch; {LISTED}"),
        TurnEnd::Failed { message, .. } => format!("“{text}” failed, on another branch: {message}; {LISTED}"),
    }
}

pub(crate) fn asks_elsewhere(text: &str) -> String {
    format!("On another branch, at “{text}”:")
}

// What is asked.

pub(crate) const PERMISSION_ANSWERS: &str =
    "  y: allow   n: deny   n TEXT: deny and say why   c TEXT: allow with TEXT instead";
pub(crate) const ALWAYS_ALLOW: &str =
    "  always allow exactly this:   a: in this session   p: in this project";

pub(crate) fn always_allow_wider(rule: &str) -> String {
    format!("  always allow {rule}:   A: in this session   P: in this project")
}

pub(crate) const SUGGESTIONS: &str = "  allow, and change the agent's own settings:";

pub(crate) fn suggestion(number: usize, told: &str) -> String {
    format!("    s{number}: {told}")
}

pub(crate) fn no_such_suggestion(typed: &str, count: usize) -> String {
    match count {
        0 => "the agent suggests no change of its settings here".to_owned(),
        1 => format!("`{typed}` is not offered: `s1` is"),
        _ => format!("`{typed}` is not offered: s1 to s{count} are"),
    }
}

pub(crate) fn any_file(tool: &str) -> String {
    format!("{tool} on any file")
}

pub(crate) const NO_WIDER_RULE: &str = "there is no wider rule for this: a and p allow exactly what is asked";

pub(crate) const SEVERAL_ANSWERS: &str = "  Several: numbers with `,` between. `=WORDS`: in your own words.";
pub(crate) const ONE_ANSWER: &str = "  A number, or your own words (`=2` for a number that is meant).";
pub(crate) const SEVERAL_QUESTIONS: &str = "  All in one line, with `;` between the questions.";

pub(crate) fn answered_elsewhere(answer: Option<&AnswerView>, when: &str) -> String {
    let how = match answer {
        Some(AnswerView::Allow { .. }) => "Allowed",
        Some(AnswerView::AllowAlways { .. }) => "Allowed always",
        Some(AnswerView::Deny { .. }) => "Denied",
        Some(AnswerView::Choose { .. }) | None => "Answered",
    };
    format!("{how} elsewhere, {when}.")
}

pub(crate) fn not_a_choice(word: &str) -> String {
    format!("`{word}` is none of the answers: y, n, c, a, p, A, P")
}

pub(crate) const CHANGE_IS_NO_JSON: &str =
    "this tool is given no single text: `c JSON` gives it something else";

// At the end of an answer.

pub(crate) fn context_used(tokens: &str, window: &str, percent: i64) -> String {
    format!("context {tokens} of {window} ({percent} %)")
}

pub(crate) fn context_of_unknown_window(tokens: &str) -> String {
    format!("context {tokens} tokens")
}

pub(crate) fn in_background(tasks: usize) -> String {
    format!("{} in the background", counted(tasks, "task", "tasks"))
}

pub(crate) const NOTHING_IN_BACKGROUND: &str = "No task runs in the background any more.";
pub(crate) const SIGN_IN_DONE: &str = "The sign-in has ended.";

// Lines that cannot be meant.

pub(crate) fn unknown_command(name: &str) -> String {
    format!("there is no `/{name}`; `/help` lists what there is")
}

pub(crate) fn needs(usage: &str) -> String {
    format!("that needs more: `{usage}`")
}

pub(crate) fn takes_nothing(name: &str) -> String {
    format!("`/{name}` takes nothing more")
}

pub(crate) const ANSWER_TAKES_NOTHING: &str = "`/answer` takes nothing more: it asks for the answer of a message that has none; what an agent asks is answered without a slash";

pub(crate) fn no_level(said: &str, levels: &str) -> String {
    format!("unknown thinking level `{said}`; use {levels}, or `show` and `hide` for its text")
}

pub(crate) fn one_word(said: &str, usage: &str) -> String {
    format!("`{said}` is more than one word: `{usage}`")
}

pub(crate) fn agents_hint(names: &str) -> String {
    format!("available: {names}")
}

// Refusals, and what helps while talking.

pub(crate) const CTRL_C_HINT: &str = "wait, or interrupt it with Ctrl-C";
pub(crate) const ANSWER_FIRST_HINT: &str = "answer it first, or interrupt it with Ctrl-C";
pub(crate) const REDO_HINT: &str = "`/redo` brings it back";
pub(crate) const TREE_HINT: &str = "`/tree` shows every turn; one on another branch is named by its id";
pub(crate) const NO_AGENT_HINT: &str = "choose one with `/agent NAME`; `offshoot agents` lists them";
pub(crate) const GO_ON_WITHOUT: &str = "`/agent built_in` uses the built-in agent";

// What was done.

pub(crate) fn changes_here(what: &str, old: &str, to: &str, new: &str) -> String {
    format!("{what} changes here: {old} {to} {new}.")
}

pub(crate) fn starts_branch(what: &str) -> String {
    let what = what.to_lowercase();
    format!("Your next message starts a branch with the new {what}.")
}

pub(crate) const DONE: &str = "Done.";

pub(crate) fn labelled(place: &str, label: Option<&str>) -> String {
    match label {
        Some(label) => format!("Labelled {place} [{label}]."),
        None => format!("Removed the label of {place}."),
    }
}

pub(crate) fn renamed(title: Option<&str>) -> String {
    match title {
        Some(title) => format!("Renamed the session to “{title}”."),
        None => "Removed the title of the session.".to_owned(),
    }
}

pub(crate) const IS_SO_ALREADY: &str = "It is so already.";
pub(crate) const IS_THERE_ALREADY: &str = "You are there already.";
pub(crate) const NOT_CHANGED: &str = "Nothing was changed.";
pub(crate) const WHERE_TO_CHANGE: &str =
    "Where does the change go?\n  e: into this session   f: into a session of its own";
pub(crate) const BEFORE_FIRST: &str = "The head is before the first turn; your next message begins anew.";
pub(crate) const NO_ANSWER_YET: &str = "It has no answer yet; `/answer` asks for one.";
pub(crate) const WORDS_COME_BACK: &str = "The words of that message, to be said differently:";
pub(crate) const THOUGHTS_SHOWN: &str = "Thoughts are told word for word; `/thinking hide` ends that.";
pub(crate) const THOUGHTS_HIDDEN: &str = "Of thoughts only their time is told.";

pub(crate) fn undid(step: &str) -> String {
    format!("Taken back: {step}.")
}

pub(crate) fn redid(step: &str) -> String {
    format!("Taken again: {step}.")
}

pub(crate) fn head_is_at(number: usize) -> String {
    format!("The head is at #{number}; your next message goes below it.")
}

pub(crate) fn rewound(number: Option<usize>) -> String {
    match number {
        Some(number) => format!("Rewound to #{number}; `/undo` takes it back."),
        None => "Rewound; `/undo` takes it back.".to_owned(),
    }
}

pub(crate) fn version_line(number: usize, of: usize) -> String {
    format!("Version {number} of {of}.")
}

pub(crate) fn session_line(id: &str, title: Option<&str>) -> String {
    match title {
        Some(title) => format!("Session {id}  {title}"),
        None => format!("Session {id}"),
    }
}

pub(crate) fn go_on_with(id: &str) -> String {
    format!("Go on with: offshoot chat {id}")
}

/// The person leaves while an answer is being written.
pub(crate) fn still_answering(id: &str) -> String {
    format!("The agent is still answering; reopen with: offshoot chat {id}")
}

pub(crate) fn goes_on_in(id: &str) -> String {
    format!("The conversation goes on in a session of its own, {id}.")
}

pub(crate) fn somebody_goes_on_in(id: &str) -> String {
    format!("Somebody has changed the settings; that conversation goes on in a session of its own, {id}.")
}

pub(crate) const SOMEBODY_MOVED: &str = "Somebody has moved the head.";
pub(crate) const MOVED_ELSEWHERE: &str = "The head was moved elsewhere. Your next message still goes below what is shown here; `/tree POINT` goes there.";

pub(crate) fn somebody_forked(id: &str) -> String {
    format!("Somebody has forked this conversation to a new session, {id}. You stay in this one.")
}

pub(crate) fn in_force(view: &SessionView, usage: &str) -> String {
    let none = "of the agent";
    let model = view.model.as_ref().map(model_name);
    let tools = view.tools.as_ref().map(|tools| tools.join(", "));
    let mode = view.mode.as_ref().map(|mode| format!(" Mode: {mode}.")).unwrap_or_default();
    format!(
        "Agent: {}. Model: {}. Thinking: {}. Tools: {}. Permission mode: {}.{mode} To change it: {usage}",
        view.agent.as_deref().unwrap_or("none"),
        model.as_deref().unwrap_or(none),
        view.thinking,
        tools.as_deref().unwrap_or(none),
        view.permission_mode.as_deref().unwrap_or(none),
    )
}

pub(crate) const CHAT_HELP: &str = "\
Say it differently
  /edit POINT TEXT        as a new version of an old message; the old one stays
  /edit m:N TEXT          another text for message N, also for a reply
  /retry [POINT]          ask the same again
  /prev, /next [POINT]    the version before or after
  /undo, /redo            take the last step back, or take it again
Go elsewhere
  /tree                   the whole conversation as a tree
  /tree POINT             go there; the words of a message come back to you
  /tree POINT --summary [WORDS]   and sum up what you leave, about WORDS
  /rewind POINT           go back before that turn; its words come back
  /branch                 list the branches
  /branch POINT           a session of its own that begins before that turn
  /fork POINT             the next message begins a branch behind that turn
Messages
  /answer                 ask for the answer of a message that has none
  /beside TEXT            a second answer, on a branch of its own
  /attach FILE            with your next message; /attach lists, --none drops
  /queue                  what waits; /queue change N TEXT, cancel N, send
  /label [POINT] TEXT     put a note on a turn; - removes it
  /rename TITLE           give the session a title; - removes it
Settings, from the next message on; alone they say what is set
  /agent NAME             who answers
  /model NAME             or PROVIDER/NAME
  /thinking LEVEL         off, minimal, low, medium, high, xhigh; show, hide
  /tools A,B              which tools may be used
  /mode MODE              how permissions are asked for
  /compact [WORDS]        make what the agent reads shorter
  /clear                  the agent forgets; the conversation stays
/quit leaves. Ctrl-C interrupts an answer or calls off a summary, twice leaves.
A POINT is a turn number, an id, a label or the name of a branch.
A line that begins with // is said with one /. One that ends with \\ goes on in
the next; several pasted lines are one message.
";
