//! Refusals of the engine, told with what the session itself knows: who answers, at which turn, since when.

use offshoot_api::views::PlaceView;
use offshoot_api::{ApiError, ErrorCode, Hint};
use offshoot_engine::installed::known::named;
use offshoot_session::in_force::InForce;
use offshoot_session::{EntryId, SessionId, SessionTree};

use crate::cataloged::spoken_name;
use crate::failure::Failure;
use crate::here::Here;
use crate::numbers::moment_after;
use crate::stored::read;
use crate::talk::refused;
use crate::which::short;
use crate::words::{self, scripts};

/// Why the engine has not done something with this session, and what helps outside of a conversation.
pub(crate) fn explained(here: &Here, session: &SessionId, error: &ApiError) -> Failure {
    let data = &error.data;
    match error.code {
        ErrorCode::NotFound if *error == ApiError::session_not_found(session.as_str()) => {
            Failure::not_found(words::no_session(session.as_str())).hint(words::NO_SESSION_HINT)
        }
        ErrorCode::NotFound if error.hint == Some(Hint::Redo) => {
            Failure::not_found(words::taken_back(session)).hint(words::taken_back_hint(session))
        }
        ErrorCode::NotAPrompt => {
            let failure = Failure::refused(words::not_a_prompt(short_of(data.place.as_ref())));
            failure.hint(words::NOT_A_PROMPT_HINT)
        }
        ErrorCode::NoText => {
            Failure::refused(words::no_text(short_of(data.place.as_ref()))).hint(words::NO_TEXT_HINT)
        }
        ErrorCode::CannotForkHere => {
            let why = words::cannot_fork_before(short_of(data.place.as_ref()), data.reason.as_deref());
            match data.place.as_ref().and_then(|place| place.prompt_short.as_deref()) {
                Some(prompt) => Failure::refused(why).hint(words::fork_before_prompt(prompt)),
                None => Failure::refused(why),
            }
        }
        ErrorCode::NameTaken => {
            let other = short_of(data.place.as_ref());
            let name = data.name.as_deref().unwrap_or_default();
            Failure::refused(words::name_taken(name, other)).hint(words::name_taken_hint(other))
        }
        ErrorCode::HeadBelow => Failure::refused(words::head_is_below(short_of(data.place.as_ref())))
            .hint(words::HEAD_IS_BELOW_HINT),
        code => match (reason(here, error), code) {
            (Some(why), ErrorCode::Running) => Failure::refused(why).hint(scripts::RUNNING_HINT),
            (Some(why), ErrorCode::Waiting) => {
                Failure::refused(why).hint(scripts::waiting_hint(&short(here, session)))
            }
            (Some(why), _) => Failure::refused(why),
            (None, _) => refused(error),
        },
    }
}

fn short_of(place: Option<&PlaceView>) -> &str {
    place.and_then(|place| place.short.as_deref()).unwrap_or_default()
}

/// The same without what helps; `None` where the words of the engine say all that is known.
pub(crate) fn reason(here: &Here, error: &ApiError) -> Option<String> {
    let turn = error.data.turn.as_ref();
    let number = turn.map(|turn| turn.number).filter(|number| *number > 0);
    match error.code {
        ErrorCode::Running => {
            let agent = turn.map_or(scripts::THE_AGENT, |turn| spoken_name(&turn.agent));
            Some(scripts::still_answering(agent, number))
        }
        ErrorCode::Waiting => Some(scripts::waits_for_your_answer(number)),
        ErrorCode::Stale => {
            let since = error.since.map(|since| moment_after(since, Some(since), &here.look));
            Some(scripts::no_longer_asked(since.as_deref()))
        }
        _ => None,
    }
}

/// Who answers there.
pub(crate) fn agent_at(tree: &SessionTree, at: Option<&EntryId>) -> Option<String> {
    InForce::at(tree, at).agent().map(str::to_owned)
}

/// Nobody can answer: who was meant, and how to get them.
pub(crate) fn no_agent(here: &Here, session: &SessionId, chosen: Option<&str>) -> Failure {
    match chosen.map(str::to_owned).or_else(|| agent_of(here, session)) {
        Some(agent) => cannot_answer(&agent, scripts::GO_ON_WITHOUT),
        None => Failure::not_found(scripts::NO_AGENT_CHOSEN).hint(scripts::NO_SUCH_AGENT_HINT),
    }
}

/// Who would answer the next message.
fn agent_of(here: &Here, session: &SessionId) -> Option<String> {
    let tree = read(here, session).ok()?.tree;
    agent_at(&tree, tree.main_head())
}

/// Refuses an agent that Offshoot cannot run, installed or not. `instead` is how to continue with one that it can.
pub(crate) fn cannot_answer(agent: &str, instead: &str) -> Failure {
    match named(agent) {
        Some(known) => Failure::failed(scripts::agent_not_asked(known.title))
            .hint(scripts::agent_not_asked_hint(instead)),
        None => unknown_agent(agent),
    }
}

/// No agent has this name. Every command ends with the same code.
pub(crate) fn unknown_agent(agent: &str) -> Failure {
    Failure::not_found(scripts::no_such_agent(agent)).hint(scripts::NO_SUCH_AGENT_HINT)
}
