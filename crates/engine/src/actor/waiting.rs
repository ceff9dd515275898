//! What waits to be said.
//!
//! A prompt that waits has an id already, and its turn will have the same one. So whoever lost the connection says the
//! message again under that id and it counts once, whether it still waits, is being answered, or is answered. The queue
//! is kept beside the journal: a crash leaves it as it was, waiting.

use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::response::Changed;
use offshoot_api::views::QueuedView;
use offshoot_api::{ApiError, ErrorCode, Point, Response, request};
use offshoot_session::address::end_of_turn;
use offshoot_session::guard::Refusal;
use offshoot_session::pending::Landing;
use offshoot_session::queue::{NotQueued, Queued, QueuedId, SendQueue};
use offshoot_session::{Body, Entry, EntryId, HeadName, SessionTree, Stop, TurnId, text_of};

use super::changed::answered;
use super::halt::{Halt, nothing_to_do, refused};
use super::pending::{MessageIds, Outgoing};
use super::requests::reply;
use super::talk::{Head, chosen, telling};
use super::{Brought, Message, SessionActor};
use crate::failure::not_drafted;
use crate::shelf::Book;

/// What an earlier engine has left waiting. What was said and not yet taken out of the queue waits no more.
pub(super) fn left_waiting(book: &dyn Book) -> SendQueue {
    let mut queue = SendQueue::default();
    // A queue that cannot be read keeps nobody from the session.
    for waits in book.waiting_left().unwrap_or_default() {
        if prompt_of(book.tree(), &TurnId::from(waits.id.as_str())).is_none() {
            queue.add(waits);
        }
    }
    queue
}

impl SessionActor {
    /// What was said under this id before, and what became of it. What waits and need not wait any more is said now.
    pub(super) async fn said_before(
        &mut self,
        client_id: Option<&str>,
        brought: &Brought,
    ) -> Result<Option<Response>, Halt> {
        let Some(id) = client_id else { return Ok(None) };
        let waits = self.queue.iter().find(|waits| waits.id.as_str() == id).cloned();
        if let Some(waits) = waits {
            return self.said_while_waiting(waits, brought).await.map(Some);
        }
        let turn = TurnId::from(id);
        // It is being prepared for another call. What becomes of that is the answer to both.
        if self.is_pending(&turn) {
            return Err(Halt::After(turn));
        }
        let Some(prompt) = prompt_of(&self.tree, &turn) else { return Ok(None) };
        if self.is_unanswered(&prompt, &turn) {
            let at = Some(Point::from(&prompt));
            let resume = request::Resume { session: self.id.to_string(), at, client_id: None };
            // Hooks have let it pass when it was said.
            return self.answer_prompt(&resume, &Brought::asked()).await.map(Some);
        }
        let is_running = self.turns.contains_key(&turn);
        let end = (!is_running).then(|| end_of(&self.tree, &turn));
        let sent = self.sent(self.head_now(), Some(&prompt), Some(&turn));
        Ok(Some(answered(Changed { end, repeated: true, ..sent })))
    }

    /// A crash came between the prompt and the agent.
    fn is_unanswered(&self, prompt: &EntryId, turn: &TurnId) -> bool {
        self.tree.main_head() == Some(prompt)
            && !self.tree.turn_ended(turn)
            && !self.turns.contains_key(turn)
            && !self.tree.has_children(prompt)
    }

    async fn said_while_waiting(&mut self, waits: Queued, brought: &Brought) -> Result<Response, Halt> {
        if self.is_busy(&waits.behind) {
            return Ok(self.waits(&waits.id));
        }
        if self.is_pending(&waits.id.turn()) {
            return Err(Halt::After(waits.id.turn()));
        }
        let landing = self.accepted_landing(brought)?;
        let landing = landing.unwrap_or_else(|| Landing::Below(self.place_of(&waits)));
        let response = self.say_queued(&waits, &landing, brought).await?;
        // It is said: that it is not in the queue any more follows from that.
        let _ = self.queue.cancel(&waits.id);
        self.queue_changed().await;
        Ok(response)
    }

    fn waits(&self, id: &QueuedId) -> Response {
        let sent = self.sent(self.head_now(), None, None);
        answered(Changed { queued: Some(id.to_string()), ..sent })
    }

    pub(super) async fn enqueue(&mut self, send: request::Send, behind: TurnId) -> Result<Response, Halt> {
        let id = QueuedId::named(send.client_id.unwrap_or_else(|| self.stamps.turn_id().to_string()));
        let place = self.place_behind(&behind);
        let (queued_at, head) = (self.stamps.now(), HeadName::main());
        let chosen = chosen(send.agent.as_ref(), send.model.as_ref());
        let prompt = send.prompt.into_prompt();
        let before = self.queue.clone();
        self.queue.add(Queued { id: id.clone(), behind, place, head, chosen, prompt, queued_at });
        self.keep_queue_or(before).await?;
        self.queue_scopes.insert(id.clone(), self.scope());
        Ok(self.waits(&id))
    }

    /// The prompt of a turn, or the entry above it where the prompt is not written yet.
    fn place_behind(&self, turn: &TurnId) -> Option<EntryId> {
        if let Some(running) = self.turns.get(turn) {
            return Some(running.turn.prompt().clone());
        }
        let pending = self.pending_turns().into_iter().find(|pending| pending.id() == turn)?;
        match pending.landing() {
            Landing::Below(below) | Landing::Version { below, .. } => below.clone(),
            Landing::Answer(prompt) => Some(prompt.clone()),
        }
    }

    /// The first that waits on the branch of the head for a turn that did not end well.
    pub(super) fn held_here(&self) -> Option<Queued> {
        let head = self.tree.main_head();
        let is_here = |queued: &Queued| match (&queued.place, head) {
            (None, _) => true,
            (Some(place), Some(head)) => self.tree.is_ancestor(place, head),
            (Some(_), None) => false,
        };
        self.queue.iter().find(|queued| self.is_held(queued) && is_here(queued)).cloned()
    }

    /// What was said first is answered first: this goes behind what is held, and both go on from where the person is.
    pub(super) async fn say_after(&mut self, send: request::Send, first: &Queued) -> Result<Response, Halt> {
        let landing = Landing::Below(self.tree.main_head().cloned());
        self.send_queued(first, landing);
        let queued = self.enqueue(send, first.id.turn()).await;
        if queued.is_err() {
            self.take_pending_call(&first.id.turn());
        }
        queued
    }

    fn is_held(&self, queued: &Queued) -> bool {
        !self.is_busy(&queued.behind) && !self.is_pending(&queued.id.turn())
    }

    /// A prompt was written: messages that wait for its turn wait below it now. Messages that waited for a turn that did not
    /// end well wait for the next one on their branch. Their new place is kept, so that a crash does not move them back.
    pub(super) async fn queue_behind(&mut self, turn: &TurnId, prompt: &EntryId) {
        let before = self.queue.clone();
        let held: Vec<QueuedId> =
            self.queue.iter().filter(|queued| self.is_held(queued)).map(|queued| queued.id.clone()).collect();
        let tree = &self.tree;
        self.queue.go_behind(turn, prompt, |queued| {
            let is_below = queued.place.as_ref().is_none_or(|place| tree.is_ancestor(place, prompt));
            queued.behind == *turn || (held.contains(&queued.id) && is_below)
        });
        // A queued message whose own turn this is leaves the queue next, which keeps it.
        let is_other = |queued: &&Queued| queued.id.turn() != *turn;
        if self.queue.iter().filter(is_other).ne(before.iter().filter(is_other)) {
            self.queue_changed().await;
        }
    }

    /// The turn has not ended well: whoever waits for it hears that.
    pub(super) fn tell_held(&mut self, turn: &TurnId) {
        if self.queue.iter().any(|queued| queued.behind == *turn) {
            self.tell_queue();
        }
    }

    /// The turn is done: the first message behind it is sent below its answer. `false`: none waited.
    pub(super) fn say_next(&mut self, turn: &TurnId) -> bool {
        let Some(next) = self.queue.advance(turn) else { return false };
        let landing = Landing::Below(self.place_of(&next));
        self.send_queued(&next, landing);
        true
    }

    /// Writes a queued message at its place. The head goes along where it stands there.
    async fn say_queued(
        &mut self,
        queued: &Queued,
        landing: &Landing,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let below = landing.below(&self.tree).cloned();
        let chosen = queued.chosen.clone();
        let agent = self.agent_for(&chosen, below.as_ref()).map_err(refused)?;
        let (client_id, text) = (Some(queued.id.as_str()), text_of(&queued.prompt.blocks));
        let attachments = queued.prompt.attachments.as_slice();
        let message = Outgoing {
            landing,
            at: None,
            client_id,
            text: &text,
            attachments,
            agent: &agent,
            begins_session: false,
        };
        self.prepare(&message, brought)?;
        let landing = self.catch_up_with_agent(landing.clone(), &agent).await?;
        let below = landing.below(&self.tree).cloned();
        let head = if self.tree.head(&queued.head) == below.as_ref() { Head::Goes } else { Head::Stays };
        let ids = MessageIds::of_queued(queued).for_agent(Some(&agent));
        let sent = self.plan_saying(below.as_ref(), queued.prompt.clone(), chosen, ids, head)?;
        self.say(sent, agent).await
    }

    fn place_of(&self, queued: &Queued) -> Option<EntryId> {
        match queued.place.as_ref().filter(|place| self.tree.contains(place)) {
            Some(prompt) => Some(end_of_turn(&self.tree, prompt)),
            None => self.tree.head(&queued.head).cloned(),
        }
    }

    pub(super) fn queue_view(&self) -> Response {
        Response::Queue { queue: self.queued_views() }
    }

    /// Hooks are asked when the message is about to be sent; a message that they are being asked about is asked about again.
    pub(super) async fn change_queued(&mut self, change: request::ChangeQueued) -> Result<Response, Halt> {
        if telling(&change.prompt).trim().is_empty() {
            return Err(refused(Refusal::Blank));
        }
        let (id, before) = (QueuedId::named(change.queued), self.queue.clone());
        let prompt = change.prompt.in_place_of(&self.queue.get(&id).map_err(refused)?.prompt);
        self.queue.change(&id, prompt).map_err(refused)?;
        self.keep_queue_or(before).await?;
        if let Some(mut call) = self.take_pending_call(&id.turn()) {
            call.brought.forget_verdict();
            self.afterwards.push_back(Message::Call(call));
        }
        Ok(Response::Done { changed: true })
    }

    pub(super) async fn cancel_queued(&mut self, cancel: request::CancelQueued) -> Result<Response, Halt> {
        let (id, before) = (QueuedId::named(cancel.queued), self.queue.clone());
        self.queue.cancel(&id).map_err(|gone: NotQueued| refused(gone))?;
        self.keep_queue_or(before).await?;
        if let Some(call) = self.take_pending_call(&id.turn()) {
            let pending = call.brought.pending().cloned();
            let cancelled = ApiError::new(ErrorCode::Cancelled, "the message was removed from the queue");
            reply(call, Err(cancelled));
            if let Some(pending) = pending {
                self.send_next_in_place_of(&pending);
            }
        }
        Ok(Response::Done { changed: true })
    }

    /// What is held goes on: the turn it waited for did not come to its end, and somebody wants it said all the same.
    pub(super) async fn say_held(
        &mut self,
        say: request::SayQueued,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let held = match say.queued {
            Some(id) => self.queue.get(&QueuedId::named(id)).map_err(refused)?.clone(),
            None => {
                let anywhere = || self.queue.iter().find(|queued| self.is_held(queued)).cloned();
                self.held_here().or_else(anywhere).ok_or_else(|| nothing_to_do("nothing is held"))?
            }
        };
        self.require_not_busy(&held.behind)?;
        self.require_not_busy(&held.id.turn())?;
        self.said_while_waiting(held, brought).await
    }

    /// Durable, then visible; what could not be kept did not happen.
    async fn keep_queue_or(&mut self, before: SendQueue) -> Result<(), Halt> {
        if let Err(error) = self.keep_queue().await {
            self.queue = before;
            return Err(Halt::Refused(error));
        }
        self.tell_queue();
        Ok(())
    }

    /// Something that waited is said. The journal knows it, so a queue that could not be kept says too much at worst.
    async fn queue_changed(&mut self) {
        let _ = self.keep_queue().await;
        self.tell_queue();
    }

    async fn keep_queue(&mut self) -> Result<(), ApiError> {
        let waiting: Vec<Queued> = self.queue.iter().cloned().collect();
        self.queue_scopes.retain(|id, _| waiting.iter().any(|queued| queued.id == *id));
        self.with_book(move |book| book.keep_waiting(&waiting).map_err(|error| not_drafted(&error))).await?
    }

    pub(super) fn tell_queue(&mut self) {
        let queue = self.queued_views();
        self.publish(None, EventKind::Queue { queue });
    }

    pub(super) fn queued_views(&self) -> Vec<QueuedView> {
        let held = |queued: &Queued| QueuedView { held: self.is_held(queued), ..QueuedView::from(queued) };
        self.queue.iter().map(held).collect()
    }
}

/// The prompt of a turn, undone or not: what was taken back was said all the same.
fn prompt_of(tree: &SessionTree, turn: &TurnId) -> Option<EntryId> {
    let is_it = |entry: &&Entry| entry.turn.as_ref() == Some(turn) && entry.body.is_prompt();
    tree.log().filter_map(|record| record.as_entry()).find(is_it).map(|entry| entry.id.clone())
}

/// How a turn that does not run any more has ended, by what it left.
fn end_of(tree: &SessionTree, turn: &TurnId) -> TurnEnd {
    if !tree.turn_ended(turn) {
        return TurnEnd::Interrupted;
    }
    let last = tree.entries().filter(|entry| entry.turn.as_ref() == Some(turn)).last();
    match last.map(|entry| &entry.body) {
        Some(Body::Interrupted(_)) => TurnEnd::Interrupted,
        Some(Body::Reply(reply)) => match &reply.stop {
            Some(Stop::Error(message)) => TurnEnd::Failed { message: message.clone(), hint: None },
            Some(Stop::Length) => TurnEnd::Limit,
            _ => TurnEnd::Done,
        },
        _ => TurnEnd::Done,
    }
}
