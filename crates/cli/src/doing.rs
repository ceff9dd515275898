//! One step in a stored session: done by the engine of the home where one runs, and else alone.
//!
//! Where an engine runs it holds the session while a turn is being written, and whoever looks on listens to it; so what
//! is changed is changed there, by the rules for what may be done meanwhile. Where none runs this process writes. Either
//! way the session is read first and the same function decides, so a person reads the same words.
//!
//! A session of another program that nobody has changed yet has no journal, and nobody can be writing it: its first
//! change is made alone. Where hooks are set for what is done, only an engine asks them: then this process is one.

use offshoot_api::request::{ForkTo, IfRunning, Open};
use offshoot_api::{ApiError, ErrorCode, Request, Response};
use offshoot_engine::HookEvent;
use offshoot_session::plan::Plan;
use offshoot_session::{SessionId, SessionTree, Stamps};

use crate::engine::{self, Reached, reach};
use crate::failure::Failure;
use crate::here::Here;
use crate::refusals::explained;
use crate::settings::{has_hooks, is_hooked};
use crate::stored::{Changed, change, read};
use crate::talk::asking::{Answered, ctrl_c, unless_called_off};
use crate::talk::looking_on::LookingOn;
use crate::talk::{refused, wait_for};

/// The same step for both: a plan for whoever is alone, and words for an engine.
pub(crate) struct Step {
    pub(crate) plan: Plan,
    pub(crate) request: Request,
}

impl Step {
    pub(crate) fn of(plan: Option<Plan>, request: Request) -> Option<Self> {
        plan.map(|plan| Self { plan, request })
    }
}

/// What has become of a step.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) changed: Changed,
    /// What the engine answered, where one did it.
    pub(crate) answer: Option<Response>,
}

/// Takes the step that `decide` finds with the session as it is; `None` is nothing to do.
pub(crate) fn take(
    here: &Here,
    id: &SessionId,
    mut decide: impl FnMut(&SessionTree, &mut dyn Stamps) -> Result<Option<Step>, Failure>,
) -> Result<Done, Failure> {
    if has_engine(here, id) || has_hooks(here) {
        let before = read(here, id)?.tree;
        let Some(step) = decide(&before, &mut here.stamps())? else {
            return Ok(Done { changed: Changed::nothing(before), answer: None });
        };
        match asked_where_it_must(here, id, step.request)? {
            Asked::Answered(answer) => {
                let changed = Changed { after: read(here, id)?.tree, before, is_change: true };
                return Ok(Done { changed, answer: Some(answer) });
            }
            Asked::Nobody => {}
            Asked::Lost(error) => return alone_unless_done(here, id, &before, &error, decide),
        }
    }
    let changed = change(here, id, |tree, stamps| Ok(decide(tree, stamps)?.map(|step| step.plan)))?;
    // An engine may have it open all the same: its first change, by whoever makes it, begins its journal.
    tell_of_news(here, id);
    Ok(Done { changed, answer: None })
}

/// Says it to the engine that runs. Where none does and a hook wants a say in it, this process is one.
pub(crate) fn asked_where_it_must(here: &Here, id: &SessionId, request: Request) -> Result<Asked, Failure> {
    let concerns_hooks = hook_events(&request).iter().any(|event| is_hooked(here, *event));
    if has_engine(here, id) {
        match asked(here, request.clone())? {
            Asked::Nobody if concerns_hooks => {}
            answer => return Ok(answer),
        }
    }
    match concerns_hooks {
        true => asked_through(here, request, reach(here)),
        false => Ok(Asked::Nobody),
    }
}

/// Of what hooks are told when it is done.
fn hook_events(request: &Request) -> &'static [HookEvent] {
    use HookEvent::{SessionBeforeBranch, SessionBeforeTree, SessionBranch, SessionTree};
    match request {
        Request::Switch(_) | Request::Navigate(_) | Request::Rewind(_) => &[SessionBeforeTree, SessionTree],
        Request::Fork(fork) if fork.to == ForkTo::Here => &[SessionBeforeTree, SessionTree],
        Request::Fork(_) => &[SessionBeforeBranch, SessionBranch],
        _ => &[],
    }
}

/// An engine that ended in the middle has done the step or it has not, and the journal tells which.
fn alone_unless_done(
    here: &Here,
    id: &SessionId,
    before: &SessionTree,
    error: &ApiError,
    mut decide: impl FnMut(&SessionTree, &mut dyn Stamps) -> Result<Option<Step>, Failure>,
) -> Result<Done, Failure> {
    let known = before.log().count();
    let changed = change(here, id, |tree, stamps| {
        if tree.log().count() != known {
            return Err(refused(error));
        }
        Ok(decide(tree, stamps)?.map(|step| step.plan))
    })?;
    Ok(Done { changed, answer: None })
}

pub(crate) enum Asked {
    Answered(Response),
    /// No engine runs.
    Nobody,
    /// It ended before it answered.
    Lost(ApiError),
}

/// Says it to the engine that runs.
pub(crate) fn asked(here: &Here, request: Request) -> Result<Asked, Failure> {
    asked_through(here, request, engine::running(here))
}

fn asked_through<R: Into<Option<Reached>>>(
    here: &Here,
    request: Request,
    reaching: impl Future<Output = Result<R, Failure>>,
) -> Result<Asked, Failure> {
    let session = request.session().map(SessionId::from);
    wait_for(async {
        let Some(reached) = reaching.await?.into() else { return Ok(Asked::Nobody) };
        let Answered { answer, .. } = asked_looking_on(here, reached, request).await?;
        match answer {
            Ok(answer) => Ok(Asked::Answered(answer)),
            Err(error) if error.code == ErrorCode::Disconnected => Ok(Asked::Lost(error)),
            Err(error) => Err(match &session {
                Some(session) => explained(here, session, &error),
                None => refused(&error),
            }),
        }
    })
}

/// Waits for the answer, which Ctrl-C calls off, and leaves. What hooks did wrong is told beside it.
pub(crate) async fn asked_looking_on(
    here: &Here,
    reached: Reached,
    request: Request,
) -> Result<Answered, Failure> {
    let looking_on = match request.session() {
        Some(session) if !hook_events(&request).is_empty() => {
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

/// Something was written alone: an engine that runs looks at the session again, so that whoever follows it is told.
pub(crate) fn tell_of_news(here: &Here, id: &SessionId) {
    if has_engine(here, id) {
        // It is safe already; at worst it is seen later.
        drop(asked(here, Request::Open(Open { session: id.to_string(), turns: Some(0) })));
    }
}

/// Whether there may be an engine to say it to.
pub(crate) fn has_engine(here: &Here, id: &SessionId) -> bool {
    engine::is_there(here) && here.store().is_ok_and(|store| store.home().journal(id).exists())
}

/// An entry for an engine, whatever its id looks like.
pub(crate) fn exactly(id: &offshoot_session::EntryId) -> String {
    format!("id:{id}")
}

pub(crate) fn if_running(abort_first: bool) -> IfRunning {
    if abort_first { IfRunning::AbortFirst } else { IfRunning::Wait }
}
