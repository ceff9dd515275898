//! Requests, each with the function that answers it.

use offshoot_api::{ApiError, ErrorCode, Request, Response};
use offshoot_session::TurnId;
use tracing::debug;

use super::changed::answered;
use super::commit::{ATTEMPTS, Purpose};
use super::halt::{Halt, refused};
use super::news::Cause;
use super::{Brought, Call, Message, SessionActor};
use crate::engine::disconnected;
use crate::failure::internal;

impl SessionActor {
    pub(super) async fn on_call(&mut self, mut call: Call) {
        let is_begun = call.brought.taken_there().is_some();
        let is_still_done =
            call.brought.cause() == Cause::Hook || call.brought.goes_on_by_itself() || is_begun;
        if self.is_ending && !is_still_done {
            return self.refuse(call, disconnected());
        }
        if let Request::Settle(_) = call.request {
            return self.settling.push(call);
        }
        if let Err(error) = self.enter_call(&call.context, &call.request).await {
            return self.refuse(call, error);
        }
        self.notices.clear();
        if let Some(response) = call.brought.take_done_there() {
            return reply(call, Ok(response));
        }
        match self.planned_and_answered(&call).await {
            Ok(mut response) => {
                if let Response::Changed(changed) = &mut response {
                    changed.notices.append(&mut self.notices);
                }
                let wishes = call.brought.take_wishes();
                reply(call, Ok(response));
                self.grant(wishes);
            }
            Err(Halt::Refused(error)) => {
                let wishes = call.brought.take_wishes();
                match call.brought.taken_there().cloned() {
                    Some(taken) => self.put_back(call, &taken, Some(error)),
                    None => self.refuse(call, error),
                }
                self.grant(wishes);
            }
            Err(Halt::AbortFirst(turn)) if self.cancel_pending(&turn) => {
                self.afterwards.push_back(Message::Call(call));
            }
            Err(Halt::AbortFirst(turn)) => {
                self.interrupt(&turn).await;
                match is_message(&call.request) {
                    // Its place is fixed now, not when the agent has stopped.
                    true => {
                        call.brought.aborts(turn);
                        self.afterwards.push_back(Message::Call(call));
                    }
                    false => self.park(turn, call),
                }
            }
            Err(Halt::Prepare { pending, needs }) => self.suspend_message(call, *pending, needs),
            Err(Halt::After(turn)) => self.park(turn, call),
            Err(Halt::Errand(errand)) => self.send_on_errand(call, errand),
            Err(Halt::Again) => self.refuse(call, outrun()),
        }
    }

    /// Another process may write between planning and writing. Then the request is planned again on what is there; what
    /// was brought for it counts on.
    async fn planned_and_answered(&mut self, call: &Call) -> Result<Response, Halt> {
        let purpose = if call.request.only_looks() { Purpose::Look } else { Purpose::Change };
        for attempt in 1..=ATTEMPTS {
            self.begin_attempt(attempt, purpose).await.map_err(Halt::Refused)?;
            let answer = self.answer_once(call).await;
            self.end_attempt().await;
            if !matches!(answer, Err(Halt::Again)) {
                return answer;
            }
            debug!(name: "request planned again", session = %self.id, attempt = attempt as u64);
        }
        Err(Halt::Again)
    }

    /// Where the beginning of a session was undone, only that can be taken again: what was said there would be found by
    /// nobody.
    fn must_stand(&self, request: &Request) -> Result<(), ApiError> {
        let is_allowed = request.only_looks() || matches!(request, Request::Undo(_) | Request::Redo(_));
        match is_allowed || !self.tree.is_taken_back() {
            true => Ok(()),
            false => Err(ApiError::taken_back(self.id.as_str())),
        }
    }

    pub(super) fn park(&mut self, turn: TurnId, call: Call) {
        if self.is_busy(&turn) {
            self.parked.push((turn, call));
        } else {
            self.afterwards.push_back(Message::Call(call));
        }
    }

    /// Calls that waited for a turn come again when it is over.
    pub(super) fn release_parked(&mut self) {
        if self.parked.is_empty() {
            return;
        }
        for (turn, call) in std::mem::take(&mut self.parked) {
            self.park(turn, call);
        }
    }

    pub(super) fn refuse(&mut self, call: Call, error: ApiError) {
        let complaint = call.brought.complaint(&error);
        // A title that is missing is nothing to complain about: the first prompt stands for it.
        if let Some(complaint) = complaint.filter(|_| !is_title(&call)) {
            self.publish(None, complaint);
        }
        let (error, pending) = (self.completed(error), call.brought.pending().cloned());
        let is_cancelled = error.code == ErrorCode::Cancelled;
        reply(call, Err(error));
        match pending {
            Some(pending) if is_cancelled => self.send_next_in_place_of(&pending),
            Some(pending) => self.tell_held(pending.turn.id()),
            None => {}
        }
    }

    /// A request that was answered before is answered again, also where its outcome would keep it from being done now.
    async fn answer_once(&mut self, call: &Call) -> Result<Response, Halt> {
        if let Some(changed) = self.done_before(&call.request).map_err(Halt::Refused)? {
            return Ok(answered(changed));
        }
        self.must_stand(&call.request).map_err(Halt::Refused)?;
        self.answer_call(&call.request, &call.brought).await
    }

    /// Clones only what its answer consumes: an append may bring thousands of entries, and be planned again.
    async fn answer_call(&mut self, request: &Request, brought: &Brought) -> Result<Response, Halt> {
        match request {
            Request::Open(open) => self.session_view(open),
            Request::Show(show) => self.show_branch(show),
            Request::Tree(_) => Ok(self.tree_rows()),
            Request::Status => Ok(self.status_rows()),
            Request::Send(send) => self.send(send.clone(), brought).await,
            Request::Edit(edit) => self.edit(edit, brought).await,
            Request::Retry(retry) => self.retry(retry, brought).await,
            Request::Resume(resume) => self.resume(resume, brought).await,
            Request::Append(append) => self.append(append).await,
            Request::Queue(_) => Ok(self.queue_view()),
            Request::ChangeQueued(change) => self.change_queued(change.clone()).await,
            Request::CancelQueued(cancel) => self.cancel_queued(cancel.clone()).await,
            Request::SayQueued(say) => self.say_held(say.clone(), brought).await,
            Request::Version(version) => self.version(version).await,
            Request::Switch(switch) => self.switch(switch, brought).await,
            Request::Navigate(navigate) => self.navigate(navigate, brought).await,
            Request::Rewind(rewind) => self.rewind(rewind, brought).await,
            Request::Fork(fork) => self.fork(fork, brought).await,
            Request::Undo(undo) => self.undo(undo, brought).await,
            Request::Redo(redo) => self.redo(redo, brought).await,
            Request::Configure(configure) => self.configure(configure.clone(), brought).await,
            Request::Rename(_) if brought.is_by_itself() => self.give_title(brought).await,
            Request::Rename(rename) => self.rename(rename).await,
            Request::Label(label) => self.label(label).await,
            Request::NameBranch(name) => self.name_branch(name).await,
            Request::Archive(archive) => self.archive(archive).await,
            Request::Clear(clear) => self.clear(clear).await,
            Request::Interrupt(interrupt) => self.interrupt_by_request(interrupt.turn.clone()).await,
            Request::Answer(answer) => self.answer(answer.clone()).await,
            Request::CancelSummary(_) => self.cancel_summary(brought),
            Request::Compact(compact) => self.compact(compact, brought).await,
            Request::Hello(_)
            | Request::Engine(_)
            | Request::List(_)
            | Request::Agents
            | Request::Begin(_)
            | Request::Introduce(_)
            | Request::Permissions(_)
            | Request::RevokePermission(_)
            | Request::Follow(_)
            | Request::Unfollow(_)
            | Request::Settle(_) => Err(refused(internal("this is not about one session"))),
        }
    }

    async fn interrupt_by_request(&mut self, turn: Option<String>) -> Result<Response, Halt> {
        let turn = self.turn_to_interrupt(turn).map_err(refused)?;
        if !self.cancel_pending(&turn) {
            self.interrupt(&turn).await;
        }
        Ok(Response::Done { changed: true })
    }
}

/// Whether it begins a turn, or waits to.
fn is_message(request: &Request) -> bool {
    matches!(request, Request::Send(_) | Request::Edit(_) | Request::Retry(_) | Request::Resume(_))
}

/// Under the lock a plan cannot be stale, so this is never seen.
pub(super) fn outrun() -> ApiError {
    internal("the session has changed while it was locked")
}

pub(super) fn reply(call: Call, answer: Result<Response, ApiError>) {
    // Who does not wait any more need not hear it.
    let _ = call.reply.send(answer);
}

/// The engine asks a model for a title.
pub(super) fn is_title(call: &Call) -> bool {
    matches!(call.request, Request::Rename(_)) && call.brought.is_by_itself()
}
