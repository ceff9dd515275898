//! One change of a session, asked of the engine.
//!
//! A running engine answers it. Where none runs, the same engine code answers in this process, unless the request needs an
//! agent or a hook has a say in it: then the engine process is started. Whoever answers, the journal's lock and the
//! generation that a plan was made on keep the change safe, so the choice is one of cost alone.
//!
//! The request carries an id of its own. An engine that ends before it has answered is replaced by the next one, which
//! recognises the request: it is never done twice.

use offshoot_api::request::IfRunning;
use offshoot_api::response::{Changed, Notice};
use offshoot_api::{ApiError, ErrorCode, Request, Response};
use offshoot_engine::hook_events;
use offshoot_session::SessionId;

use crate::engine::{self, Purpose, Reached, Rules};
use crate::failure::Failure;
use crate::here::Here;
use crate::last_used;
use crate::refusals::explained;
use crate::settings::is_hooked;
use crate::talk::asking::{Answered, ctrl_c, unless_called_off};
use crate::talk::looking_on::LookingOn;
use crate::talk::{note_now, refused, unexpected, wait_for};
use crate::text::harmless_line;
use crate::words;

/// How often a lost engine is replaced.
const TRIES: u32 = 5;

/// Makes the change. What is refused is told in the words that every command has for it.
pub(crate) fn change(here: &Here, session: &SessionId, request: Request) -> Result<Changed, Failure> {
    asked(here, request)?.map_err(|error| explained(here, session, &error))
}

/// The same for commands with sentences of their own.
pub(crate) fn asked(here: &Here, request: Request) -> Result<Result<Changed, ApiError>, Failure> {
    let changed = match answered(here, request)? {
        Ok(Response::Changed(changed)) => *changed,
        Ok(other) => return Err(unexpected(other)),
        Err(error) => return Ok(Err(error)),
    };
    if !here.look.quiet {
        changed.notices.iter().for_each(|notice| note_now(&harmless_line(&told(notice), here.look.ascii)));
    }
    Ok(Ok(changed))
}

fn told(notice: &Notice) -> String {
    match notice.code.as_str() {
        Notice::REPAIRED => words::reading::REPAIRED.to_owned(),
        _ => words::talking::sentence(&notice.message),
    }
}

/// Any answer of the engine.
pub(crate) fn answered(here: &Here, request: Request) -> Result<Result<Response, ApiError>, Failure> {
    wait_for(async {
        let mut tries = 0;
        loop {
            let reached = engine_for(here, &request).await?;
            let is_in_process = reached.is_in_process();
            let Answered { answer, .. } = asked_looking_on(here, reached, request.clone()).await?;
            tries += 1;
            match answer {
                Err(error) if error.code == ErrorCode::Disconnected && tries < TRIES => {}
                // An engine began while we looked for one, and holds the session: it answers.
                Err(error)
                    if error.code == ErrorCode::Locked
                        && is_in_process
                        && tries < TRIES
                        && engine::is_there(here) => {}
                answer => {
                    if let Ok(answer) = &answer {
                        used(here, answer);
                    }
                    return Ok(answer);
                }
            }
        }
    })
}

/// Commands without SESSION mean the session that was changed last in this directory, or that began with the change.
fn used(here: &Here, answer: &Response) {
    match answer {
        Response::Changed(changed) => last_used::record_stored(here, &changed.continues_in().into()),
        Response::Session(begun) => last_used::record_stored(here, &begun.id.as_str().into()),
        _ => {}
    }
}

async fn engine_for(here: &Here, request: &Request) -> Result<Reached, Failure> {
    let purpose = if request.only_looks() { Purpose::Look } else { Purpose::Change };
    if let Some(running) = engine::running_for(here, purpose).await? {
        return Ok(running);
    }
    let has_hook = hook_events(request).iter().any(|event| is_hooked(here, *event));
    if request.needs_agent() || has_hook {
        return engine::reach(here).await;
    }
    let rules = match request {
        Request::Permissions(_) | Request::RevokePermission(_) => Rules::OfHome,
        _ => Rules::None,
    };
    engine::in_process(here, request.session().map(SessionId::from).as_ref(), rules)
}

/// Waits for the answer, which Ctrl-C cancels while the request is being prepared, and leaves. What hooks did wrong is
/// reported beside it.
async fn asked_looking_on(here: &Here, reached: Reached, request: Request) -> Result<Answered, Failure> {
    let looking_on = match request.session() {
        Some(session) if !hook_events(&request).is_empty() && !reached.is_in_process() => {
            LookingOn::begin(&reached, session, here.look.ascii).await
        }
        Some(_) | None => None,
    };
    let answered = match ctrl_c() {
        Ok(mut ctrl_c) => unless_called_off(&reached, request, &mut ctrl_c).await,
        Err(failure) => Err(failure),
    };
    match looking_on {
        Some(looking_on) if answered.is_ok() => looking_on.catch_up_and_leave(reached).await,
        Some(looking_on) => looking_on.leave(reached).await,
        None => reached.leave().await,
    }
    answered
}

pub(crate) fn if_running(abort_first: bool) -> IfRunning {
    if abort_first { IfRunning::AbortFirst } else { IfRunning::Wait }
}

/// A session that was written without the engine that runs: it looks at it again, so that its followers hear of it.
pub(crate) fn tell_of_news(here: &Here, session: &SessionId) {
    if !engine::is_there(here) {
        return;
    }
    let open =
        offshoot_api::request::Open { session: session.to_string(), turns: Some(0), turn: None, at: None };
    let told = wait_for(async {
        let Some(reached) = engine::running(here).await? else { return Ok(()) };
        let answer = reached.call(Request::Open(open)).await;
        reached.leave().await;
        answer.map(drop).map_err(|error| refused(&error))
    });
    // It is safe already; at worst it is seen later.
    drop(told);
}
