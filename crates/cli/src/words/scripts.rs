//! Sentences of commands for scripts.

use offshoot_api::views::{
    AbilitiesView, AbilityView, AgentModelView, BoundView, ProvenanceView, ProviderView,
};
use offshoot_session::{Binding, Missing, Provenance};

use crate::cataloged::agent_name;
use crate::numbers::{counted, thousands};
use crate::words::talking::model_name;

/// Who answers, where nobody knows who it is.
pub(crate) const THE_AGENT: &str = "the agent";

pub(crate) fn still_answering(agent: &str, turn: Option<usize>) -> String {
    format!("{agent} is still answering on this branch{}", at_turn(turn))
}

pub(crate) fn waits_for_your_answer(turn: Option<usize>) -> String {
    format!("this branch waits for your answer{}", at_turn(turn))
}

fn at_turn(turn: Option<usize>) -> String {
    turn.map(|turn| format!(" at `#{turn}`")).unwrap_or_default()
}

pub(crate) const QUEUE_USAGE_HINT: &str = "what is done comes first: `offshoot queue change [SESSION] N TEXT`, `cancel [SESSION] N`, `send [SESSION] [N]`";
/// In every hint about a turn that is in the way.
pub(crate) const ABORTS: &str = "`--abort-first`";
pub(crate) const BESIDE_HINT: &str = "; `--beside` begins a second turn beside it";
pub(crate) const RUNNING_HINT: &str = "wait for it, or interrupt it: `offshoot abort`, `--abort-first`";

pub(crate) fn waiting_hint(session: &str) -> String {
    format!("`offshoot answer {session}` answers it; `offshoot abort` or `--abort-first` interrupts it first")
}

pub(crate) fn no_such_agent(agent: &str) -> String {
    format!("unknown agent `{agent}`")
}

pub(crate) const NO_SUCH_AGENT_HINT: &str = "`offshoot agents` lists agents";

pub(crate) fn agent_not_asked(title: &str) -> String {
    format!("Offshoot cannot run {title} yet; it can read its sessions")
}

pub(crate) fn agent_not_asked_hint(instead: &str) -> String {
    format!("{instead}; `offshoot export --install` continues there")
}

pub(crate) const GO_ON_WITHOUT: &str = "`--agent built_in` uses the built-in agent";

pub(crate) const NO_AGENT_CHOSEN: &str = "no agent is set";

/// How to have a new version answered.
pub(crate) fn answer_with(chat: &str) -> String {
    format!("Answer with: {chat}")
}

pub(crate) const NOT_INSTALLED: &str = "not installed";
pub(crate) const VERSION_UNKNOWN: &str = "unknown version";
pub(crate) const ONLY_READ: &str = "Offshoot reads its sessions but cannot run it yet";

pub(crate) fn found_at(path: &str) -> String {
    format!("found at {path}; {ONLY_READ}")
}

pub(crate) fn get_it(install: &str) -> String {
    format!("install with: {install}")
}

/// What an agent can do, for a person.
pub(crate) fn abilities(can: &[String]) -> String {
    let words: Vec<&str> = can.iter().map(|ability| ability_in_words(ability)).collect();
    format!("answers here: {}", words.join(", "))
}

fn ability_in_words(ability: &str) -> &str {
    match ability {
        "many_turns" => "talks over many turns",
        "resume" => "goes on after a restart",
        "fork_at_tip" => "branches at the end",
        "fork_at_message" => "branches at any turn",
        "rebuilt_transcript" => "reads a branch that was written for it",
        "file_checkpoints" => "keeps states of files",
        "interrupt" => "can be interrupted",
        "permissions" => "asks for permission",
        "questions" => "asks questions",
        "images" => "sees images",
        "sub_agents" => "starts sub-agents",
        "background_tasks" => "works in the background",
        "compaction" => "shortens its own context",
        "rename" => "keeps a title",
        other => other,
    }
}

pub(crate) fn runs_at(path: &str) -> String {
    format!("runs {path}")
}

/// Which settings can be changed, and when a change is in force: one line for each way.
pub(crate) fn settings(abilities: &AbilitiesView) -> Vec<String> {
    let named: Vec<(&str, &AbilityView)> = SETTINGS
        .iter()
        .filter_map(|(ability, word)| abilities.get(*ability).map(|view| (*word, view)))
        .collect();
    let ways =
        [("live", "at once"), ("next_prompt", "with the next message"), ("restart", "after a restart")];
    let changed = ways.iter().filter_map(|(how, when)| {
        let is_so = |view: &AbilityView| view.how.as_deref() == Some(how);
        let words: Vec<&str> = named.iter().filter(|(_, view)| is_so(view)).map(|(word, _)| *word).collect();
        (!words.is_empty()).then(|| format!("changes {when}: {}", words.join(", ")))
    });
    let fixed = named.iter().filter(|(_, view)| !view.can).map(|(word, view)| {
        let reason = view.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("does not change {word}{reason}")
    });
    changed.chain(fixed).collect()
}

const SETTINGS: [(&str, &str); 6] = [
    ("set_model", "model"),
    ("thinking", "thinking"),
    ("set_tools", "tools"),
    ("set_permission_mode", "permission mode"),
    ("set_mode", "mode"),
    ("set_service_tier", "service tier"),
];

/// A server of models, and why it cannot be asked.
pub(crate) fn provider(provider: &ProviderView) -> String {
    let at = provider.url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
    let problem = provider.problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
    format!("provider {}{at}{problem}", provider.name)
}

/// A model, and what is different with it.
pub(crate) fn model(model: &AgentModelView) -> String {
    let window = model.window.map(|window| format!(", {} tokens", thousands(window))).unwrap_or_default();
    let with = |can: bool| {
        let differing = model.abilities.iter().filter(move |(_, view)| view.can == can);
        let words = differing.map(|(ability, _)| {
            let setting = SETTINGS.iter().find(|(name, _)| name == ability).map(|(_, word)| *word);
            setting.unwrap_or_else(|| ability_in_words(ability))
        });
        words.collect::<Vec<_>>().join(", ")
    };
    let part =
        |sign: &str, words: String| if words.is_empty() { words } else { format!("; {sign}: {words}") };
    format!(
        "model {}{window}{}{}",
        model_name(&model.model),
        part("also", with(true)),
        part("not", with(false))
    )
}

pub(crate) const CALLED_OFF: &str = "called off; nothing has changed";
pub(crate) const NOT_WAITED_FOR: &str = "left before it was answered";
pub(crate) const SUMMARY_STANDS_THERE: &str = "  A summary of what was left stands there.\n";
pub(crate) const NO_TURN_THERE: &str = "no turn has begun at this point";

pub(crate) fn rewound(turn: usize, is_before: bool, is_only_told: bool) -> String {
    let place = if is_before { format!("before #{turn}") } else { format!("the end of #{turn}") };
    match is_only_told {
        true => format!("Rewind to {place}, the conversation. Nothing has changed yet.\n"),
        false => format!("Rewound to {place}\n"),
    }
}

pub(crate) fn left_behind(turns: &str, count: usize) -> String {
    let stay = if count == 1 { "stays" } else { "stay" };
    format!("  {turns} {stay} in the tree; files stay as they are\n")
}

/// How the agent came to the point; `None`: it begins a session there with the next message.
pub(crate) fn resumed(bound: Option<&BoundView>) -> String {
    let Some(bound) = bound else {
        return "  the agent begins a session there with the next message\n".to_owned();
    };
    let agent = agent_name(bound.agent.as_deref().unwrap_or_default());
    let how = match bound.provenance {
        ProvenanceView::Continued => "goes on in its session",
        ProvenanceView::ForkedAtMessage => "has forked its session there",
        ProvenanceView::RebuiltTranscript => "was given the branch as a session that was rebuilt",
        ProvenanceView::ReplayedContext => "is given the branch as text with the next message",
    };
    format!("  {agent} {how}\n")
}

pub(crate) fn version_begins_session(id: &str, turn: usize, origin: &str) -> String {
    format!("Session {id} begins before #{turn} of {origin}, with another version of it\n")
}

pub(crate) fn edited_message_begins_session(id: &str, turn: usize, origin: &str) -> String {
    format!("Session {id} begins with #{turn} of {origin} and ends with the edited message\n")
}

pub(crate) fn forked_before(id: &str, origin: &str, turn: usize) -> String {
    format!("Session {id} begins before #{turn} of {origin}\n")
}

pub(crate) const NOTHING_WAITS: &str = "Nothing waits to be said.\n";
pub(crate) const QUEUE_HINT: &str = "`offshoot queue` lists what waits, each with its number";
pub(crate) const QUEUE_CHANGED: &str = "This is said instead.\n";
pub(crate) const QUEUE_CANCELLED: &str = "It is not said.\n";
pub(crate) const HELD: &str = "held";
pub(crate) const WAITS: &str = "waits";
pub(crate) const NOTHING_HELD: &str =
    "nothing is held: what waits is said by itself when the answer before it is complete";

pub(crate) fn not_in_queue(word: &str) -> String {
    format!("nothing waits as `{word}`")
}

pub(crate) fn held_hint(send: &str) -> String {
    format!("The answer before what is held did not come to its end. Send it: {send}")
}

pub(crate) const ANSWERED_ALREADY: &str = "Answered already.\n";

pub(crate) fn no_longer_asked(since: Option<&str>) -> String {
    let at = since.map(|since| format!(" at {since}")).unwrap_or_default();
    format!("no longer asked: the agent moved on{at}")
}

pub(crate) const ANSWERED_OTHERWISE: &str = "it has another answer already";
pub(crate) const ASK_HINT: &str = "`offshoot status` lists what is asked, each with its id";
pub(crate) const WRONG_ANSWER: &str = "this does not answer what is asked";

pub(crate) fn no_such_ask(ask: &str) -> String {
    format!("nobody asks `{ask}`")
}

pub(crate) fn several_asks(ask: &str) -> String {
    format!("`{ask}` begins the id of several asks")
}

pub(crate) fn questions(questions: usize) -> String {
    match questions {
        1 => "one question is asked: `--choice` once".to_owned(),
        questions => format!("{questions} questions are asked: `--choice` once for each"),
    }
}

pub(crate) const ONE_CHOICE: &str = "this question takes one choice";
pub(crate) const NO_WIDER_RULE: &str =
    "there is no wider rule for this: `always` without `--wider` allows exactly what is asked";

pub(crate) fn no_such_suggestion(number: usize, count: usize) -> String {
    match count {
        0 => "the agent suggests no change of its own settings here".to_owned(),
        _ => format!("there is no suggestion {number}: `--suggestion` takes 1 to {count}"),
    }
}

/// Behind a request for permission, for whoever answers it from elsewhere.
pub(crate) fn suggestion(number: usize, told: &str) -> String {
    format!("allow --suggestion {number}: {told}")
}

pub(crate) const PERMISSION_IS_ASKED: &str = "permission is asked: allow, always or deny";
pub(crate) const QUESTION_IS_ASKED: &str = "a question is asked: choose --choice N, or deny";

pub(crate) fn answer_which(session: &str) -> String {
    format!("Answer: offshoot answer {session} allow|always|deny\n")
}

pub(crate) fn answer_which_ask(session: &str, ask: &str) -> String {
    format!("Answer: offshoot answer {session} allow|always|deny --ask {ask}\n")
}

/// Behind the name of who answers, where the agent was not there when the branch was said. `None`: it was.
pub(crate) fn provenance(binding: &Binding) -> Option<String> {
    let how = match binding.provenance {
        Provenance::Continued | Provenance::ForkedAtMessage => return None,
        Provenance::RebuiltTranscript => REBUILT_SESSION,
        Provenance::ReplayedContext => RECONSTRUCTED_CONTEXT,
    };
    let Missing { tool_results, thoughts, images, forgotten } = binding.missing;
    let missing = [
        (tool_results, "result of a tool", "results of tools"),
        (thoughts, "thought", "thoughts"),
        (images, "image", "images"),
        (forgotten, "forgotten turn", "forgotten turns"),
    ];
    let missing = missing.into_iter().filter(|(count, ..)| *count > 0);
    let missing: Vec<String> = missing.map(|(count, one, more)| counted(count, one, more)).collect();
    match missing.is_empty() {
        true => Some(how.to_owned()),
        false => Some(format!("{how}, without {}", missing.join(", "))),
    }
}

/// The agent was given the branch as text, or as a session that was written for it.
pub(crate) const RECONSTRUCTED_CONTEXT: &str = "reconstructed context";
pub(crate) const REBUILT_SESSION: &str = "rebuilt session";

/// The same in a row of the tree.
pub(crate) fn provenance_in_short(binding: &Binding) -> Option<&'static str> {
    match binding.provenance {
        Provenance::Continued | Provenance::ForkedAtMessage => None,
        Provenance::RebuiltTranscript => Some(REBUILT_SESSION),
        Provenance::ReplayedContext => Some(RECONSTRUCTED_CONTEXT),
    }
}
