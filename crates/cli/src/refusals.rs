//! Refusals of the engine, told with what the session itself knows: who answers, at which turn, since when.

use offshoot_api::{ApiError, ErrorCode};
use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::outline::turns_of;
use offshoot_session::{EntryId, SessionId, SessionTree};

use crate::cataloged::spoken_name;
use crate::failure::Failure;
use crate::here::Here;
use crate::numbers::moment_after;
use crate::programs;
use crate::stored::read;
use crate::talk::refused;
use crate::which::short;
use crate::words::{self, scripts};

/// Why the engine has not done something with this session, and what helps outside of a conversation.
pub(crate) fn explained(here: &Here, session: &SessionId, error: &ApiError) -> Failure {
    match error.code {
        ErrorCode::NotFound if *error == ApiError::session_not_found(session.as_str()) => {
            Failure::not_found(words::no_session(session.as_str())).hint(words::NO_SESSION_HINT)
        }
        code => match (reason(here, session, error), code) {
            (Some(why), ErrorCode::Running) => Failure::refused(why).hint(scripts::RUNNING_HINT),
            (Some(why), ErrorCode::Waiting) => {
                Failure::refused(why).hint(scripts::waiting_hint(&short(here, session)))
            }
            (Some(why), _) => Failure::refused(why),
            (None, _) => refused(error),
        },
    }
}

/// The same without what helps; `None` where the words of the engine say all that is known.
pub(crate) fn reason(here: &Here, session: &SessionId, error: &ApiError) -> Option<String> {
    match error.code {
        ErrorCode::Running => {
            let (agent, turn) = in_the_way(here, session, error);
            Some(scripts::still_answering(&agent, turn))
        }
        ErrorCode::Waiting => Some(scripts::waits_for_your_answer(in_the_way(here, session, error).1)),
        ErrorCode::Stale => {
            let since = error.since.map(|since| moment_after(since, Some(since), &here.look));
            Some(scripts::no_longer_asked(since.as_deref()))
        }
        _ => None,
    }
}

/// Who answers, and the number of the turn.
fn in_the_way(here: &Here, session: &SessionId, error: &ApiError) -> (String, Option<usize>) {
    // What cannot be read is told without it.
    let tree = read(here, session).map(|loaded| loaded.tree).unwrap_or_default();
    let is_of_turn = |turn: &str| error.turn.as_deref() == Some(turn);
    let prompt = tree.entries().find(|entry| {
        entry.body.is_prompt() && entry.turn.as_ref().is_some_and(|turn| is_of_turn(turn.as_str()))
    });
    let at = prompt.map(|prompt| &prompt.id);
    let number = at.and_then(|at| turns_of(&tree, Some(at)).last().map(|turn| turn.number));
    let agent = agent_at(&tree, at);
    (agent.as_deref().map_or(scripts::THE_AGENT, spoken_name).to_owned(), number)
}

/// Who answers there.
fn agent_at(tree: &SessionTree, at: Option<&EntryId>) -> Option<String> {
    let said = context_of(tree, at, &ContextOptions::pi()).agent;
    said.or_else(|| tree.header().and_then(|header| header.agent.clone()))
}

/// Nobody can answer: who was meant, and how to get them.
pub(crate) fn no_agent(here: &Here, session: &SessionId, chosen: Option<&str>) -> Failure {
    match chosen.map(str::to_owned).or_else(|| agent_of(here, session)) {
        Some(agent) => cannot_answer(&agent, scripts::GO_ON_WITHOUT),
        None => Failure::failed(scripts::NO_AGENT_CHOSEN).hint(scripts::NO_SUCH_AGENT_HINT),
    }
}

/// Who would answer the next message.
pub(crate) fn agent_of(here: &Here, session: &SessionId) -> Option<String> {
    let tree = read(here, session).ok()?.tree;
    agent_at(&tree, tree.main_head())
}

/// This one cannot. `instead` is how to go on with the one that always can.
pub(crate) fn cannot_answer(agent: &str, instead: &str) -> Failure {
    let Some(known) = programs::named(agent) else {
        return Failure::failed(scripts::no_such_agent(agent)).hint(scripts::NO_SUCH_AGENT_HINT);
    };
    match programs::on_path(known) {
        Some(_) => Failure::failed(scripts::agent_not_asked(known.title))
            .hint(scripts::agent_not_asked_hint(instead)),
        None => Failure::failed(scripts::agent_not_installed(known.title))
            .hint(scripts::agent_not_installed_hint(known.install, instead)),
    }
}
