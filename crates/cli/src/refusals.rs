//! Refusals of the engine, told with what the session itself knows: who answers, at which turn.

use offshoot_api::{ApiError, ErrorCode};
use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::outline::turns_of;
use offshoot_session::{EntryId, SessionId, SessionTree};

use crate::cataloged::agent_name;
use crate::failure::Failure;
use crate::here::Here;
use crate::programs;
use crate::stored::read;
use crate::talk::refused;
use crate::which::short;
use crate::words::{self, scripts};

/// Why the engine has not done something with this session.
pub(crate) fn explained(here: &Here, session: &SessionId, error: &ApiError) -> Failure {
    let (message, hint) = match error.code {
        ErrorCode::Running => {
            let (agent, turn) = in_the_way(here, session, error);
            (scripts::still_answering(&agent, turn), scripts::RUNNING_HINT.to_owned())
        }
        ErrorCode::Waiting => {
            let (_, turn) = in_the_way(here, session, error);
            (scripts::waits_for_your_answer(turn), scripts::waiting_hint(&short(here, session)))
        }
        ErrorCode::NotFound if *error == ApiError::session_not_found(session.as_str()) => {
            return Failure::not_found(words::no_session(session.as_str())).hint(words::NO_SESSION_HINT);
        }
        _ => return refused(error),
    };
    Failure::refused(message).hint(hint)
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
    (
        agent_at(&tree, at)
            .map_or_else(|| scripts::THE_AGENT.to_owned(), |agent| agent_name(&agent).to_owned()),
        number,
    )
}

/// Who answers there.
fn agent_at(tree: &SessionTree, at: Option<&EntryId>) -> Option<String> {
    let said = context_of(tree, at, &ContextOptions::pi()).agent;
    said.or_else(|| tree.header().and_then(|header| header.agent.clone()))
}

/// Nobody can answer: who was meant, and how to get them.
pub(crate) fn no_agent(here: &Here, session: &SessionId, chosen: Option<&str>) -> Failure {
    let of_session = || {
        let tree = read(here, session).ok()?.tree;
        agent_at(&tree, tree.main_head())
    };
    match chosen.map(str::to_owned).or_else(of_session) {
        Some(agent) => cannot_answer(&agent),
        None => Failure::failed(scripts::NO_AGENT_CHOSEN).hint(scripts::NO_SUCH_AGENT_HINT),
    }
}

/// This one cannot.
pub(crate) fn cannot_answer(agent: &str) -> Failure {
    let Some(known) = programs::named(agent) else {
        return Failure::failed(scripts::no_such_agent(agent)).hint(scripts::NO_SUCH_AGENT_HINT);
    };
    match programs::on_path(known) {
        Some(_) => Failure::failed(scripts::agent_not_asked(known.title)).hint(scripts::AGENT_NOT_ASKED_HINT),
        None => Failure::failed(scripts::agent_not_installed(known.title))
            .hint(scripts::agent_not_installed_hint(known.install)),
    }
}
