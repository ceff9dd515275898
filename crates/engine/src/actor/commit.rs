//! Durable, then visible.

use offshoot_api::event::EventKind;
use offshoot_api::response::Notice;
use offshoot_api::views::{BoundView, EntryView, HeadView, MissingView, StatusView, SubAgentView};
use offshoot_api::{ApiError, ErrorCode};
use offshoot_session::status::{State, Status};
use offshoot_session::sub_agents::sub_agent_of_turn;
use offshoot_session::{Change, Fact, Mark, Model, Record, SessionTree, TurnId};
use serde_json::json;
use tracing::error;

use offshoot_store::{Basis, Generation, WriteError};

use super::errands::Away;
use super::halt::Halt;
use super::recovery::{REPAIRED, Unended};
use super::turns::Running;
use super::{Message, SessionActor};
use crate::failure::{internal, not_appended, not_locked, not_read};
use crate::feed::About;
use crate::hooks::HookEvent;
use crate::shelf::{Book, Written};

/// A request is planned so often; the last time under the lock, so that it cannot be outrun any more.
pub(super) const ATTEMPTS: usize = 4;

/// The session as a book has it.
pub(super) struct Snapshot {
    pub(super) tree: SessionTree,
    generation: Generation,
}

/// What a request is planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Nothing is written, whatever a crash has left.
    Look,
    Change,
}

impl Snapshot {
    /// `None`: it is the state that is known already.
    pub(super) fn newer(book: &dyn Book, known: Generation) -> Option<Self> {
        let generation = book.generation();
        (generation != known).then(|| Self { tree: book.tree().clone(), generation })
    }
}

impl SessionActor {
    /// Writes what a request has planned on the tree of the actor; then everybody is told.
    pub(super) async fn commit(&mut self, records: Vec<Record>) -> Result<(), Halt> {
        let basis = if self.plans_under_lock { Basis::Lock } else { Basis::Generation(self.generation) };
        self.write(basis, records).await
    }

    /// Writes what a running turn says. The lock is held while it runs, and it writes below its own prompt only.
    pub(super) async fn commit_turn(&mut self, records: Vec<Record>) -> Result<(), ApiError> {
        match self.write(Basis::Lock, records).await {
            Err(Halt::Refused(error)) => Err(error),
            Err(_) => Err(internal("the writes of a turn are never planned again")),
            Ok(()) => Ok(()),
        }
    }

    /// Writes what is neither planned for a request nor said by a turn.
    pub(super) async fn commit_without_request(&mut self, records: Vec<Record>) -> Result<(), ApiError> {
        self.lock_and_catch_up().await?;
        let written = self.commit_turn(records).await;
        if self.turns.is_empty() {
            self.unlock().await;
        }
        written
    }

    /// One append. Whatever comes of it, the actor has the tree of the book afterwards.
    async fn write(&mut self, basis: Basis, records: Vec<Record>) -> Result<(), Halt> {
        let known = self.generation;
        let written = self.with_book(move |book| {
            let written = book.append(basis, &records);
            (written, Snapshot::newer(book, known), records)
        });
        let (written, snapshot, records) = written.await.map_err(Halt::Refused)?;
        let written = match written {
            Ok(written) => Ok(written),
            Err(WriteError::Declined(_)) => Err(Halt::Again),
            Err(WriteError::Failed(error)) => Err(Halt::Refused(not_appended(&error))),
        };
        let is_full = |halt: &Halt| matches!(halt, Halt::Refused(error) if error.code == ErrorCode::DiskFull);
        self.cannot_write = written.as_ref().is_err_and(is_full);
        match written {
            Ok(written) => {
                self.tell_written(written, snapshot, &records);
                Ok(())
            }
            Err(halt) => {
                self.caught_up(snapshot);
                Err(halt)
            }
        }
    }

    fn tell_written(&mut self, written: Written, snapshot: Option<Snapshot>, records: &[Record]) {
        let Some(snapshot) = snapshot else { return };
        if written.repaired.is_some() {
            self.publish(None, EventKind::Notice { text: REPAIRED.to_owned() });
            self.notices.push(Notice::new(Notice::REPAIRED, REPAIRED));
        }
        let before = self.replace_tree(snapshot);
        if written.has_foreign_changes {
            self.publish(None, EventKind::Rearranged);
        }
        self.tell_records(records);
        self.tell_heads(&before);
    }

    /// Runs on a thread that may block. The actor waits: what comes meanwhile comes after.
    pub(super) async fn with_book<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut dyn Book) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let mut book = self.book.take().ok_or_else(|| internal("the session is no longer in hand"))?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work(book.as_mut());
            (book, done)
        });
        let Ok((book, done)) = done.await else {
            // The session is not in hand any more. It is closed as a crash would leave it; whoever asks next opens it.
            error!(name: "store broke", session = %self.id);
            self.afterwards.push_back(Message::Broke);
            return Err(internal("the store broke down"));
        };
        self.book = Some(book);
        Ok(done)
    }

    /// No other process writes the session while turns of ours run. What was planned before the lock was taken is planned
    /// again if the session has changed since.
    pub(super) async fn hold_the_book(&mut self) -> Result<(), Halt> {
        if self.plans_under_lock {
            return Ok(());
        }
        let planned_on = self.generation;
        self.lock_and_catch_up().await.map_err(Halt::Refused)?;
        if self.generation == planned_on {
            return Ok(());
        }
        if self.turns.is_empty() {
            self.unlock().await;
        }
        Err(Halt::Again)
    }

    /// From here to the end of the attempt everything is written under the lock, as planned.
    pub(super) async fn lock_plan(&mut self) -> Result<(), Halt> {
        self.hold_the_book().await?;
        self.plans_under_lock = true;
        Ok(())
    }

    /// The lock for a turn that begins without a request.
    pub(super) async fn lock_for_turn(&mut self) -> Result<(), ApiError> {
        self.lock_and_catch_up().await
    }

    async fn lock_and_catch_up(&mut self) -> Result<(), ApiError> {
        let (known, is_held) = (self.generation, !self.turns.is_empty());
        let held = self.with_book(move |book| {
            book.hold().map_err(|error| not_locked(&error))?;
            match book.refresh() {
                Ok(_) => Ok(Snapshot::newer(book, known)),
                Err(error) => {
                    if !is_held {
                        book.release();
                    }
                    Err(not_read(&error))
                }
            }
        });
        let snapshot = held.await??;
        self.caught_up(snapshot);
        Ok(())
    }

    async fn unlock(&mut self) {
        // A book that is lost holds nothing.
        let _ = self.with_book(|book| book.release()).await;
    }

    /// Before a request is planned: everything that others have written is read. The last attempt locks them out first.
    pub(super) async fn begin_attempt(&mut self, number: usize, purpose: Purpose) -> Result<(), ApiError> {
        if number < ATTEMPTS {
            self.catch_up().await?;
            return match purpose {
                Purpose::Look => Ok(()),
                Purpose::Change => self.recover().await,
            };
        }
        self.lock_and_catch_up().await?;
        self.plans_under_lock = true;
        Ok(())
    }

    /// The lock stays with a turn that has begun.
    pub(super) async fn end_attempt(&mut self) {
        if std::mem::take(&mut self.plans_under_lock) && self.turns.is_empty() {
            self.unlock().await;
        }
    }

    pub(super) async fn let_go_of_the_book(&mut self) {
        self.drafting.clear();
        // Drafts that stay behind are in the journal already, and a book that is lost holds nothing.
        let _ = self
            .with_book(|book| {
                let _ = book.clear_drafts();
                book.release();
            })
            .await;
    }

    /// Others may have written while no turn of ours ran.
    async fn catch_up(&mut self) -> Result<(), ApiError> {
        if !self.turns.is_empty() {
            return Ok(());
        }
        let (known, whole, transcripts) = (self.generation, self.whole, self.transcripts());
        let refreshed = self.with_book(move |book| match book.refresh() {
            Ok(_) => {
                let unended = Unended::of(book, whole, &transcripts);
                Ok((Snapshot::newer(book, known), unended))
            }
            Err(error) => Err(not_read(&error)),
        });
        let (snapshot, unended) = refreshed.await??;
        self.caught_up(snapshot);
        self.whole = unended.is_nothing().then_some(self.generation);
        self.unended = unended;
        Ok(())
    }

    /// The tree that was there before.
    pub(super) fn replace_tree(&mut self, now: Snapshot) -> SessionTree {
        self.generation = now.generation;
        std::mem::replace(&mut self.tree, now.tree)
    }

    /// Others have written: their tree counts from now on.
    pub(super) fn caught_up(&mut self, snapshot: Option<Snapshot>) {
        let Some(snapshot) = snapshot else { return };
        let before = self.replace_tree(snapshot);
        self.publish(None, EventKind::Rearranged);
        self.tell_heads(&before);
    }

    pub(super) fn publish(&mut self, turn: Option<&TurnId>, kind: EventKind) {
        self.publish_about(About { turn: turn.cloned(), sub_agent: None }, kind);
    }

    pub(super) fn publish_about(&mut self, about: About, kind: EventKind) {
        let at = self.stamps.now();
        self.feed.publish(at, about, kind);
    }

    /// The most urgent of all turns, where that has changed.
    pub(super) fn tell_status(&mut self) {
        let now = (self.state(), self.background());
        if now != self.told {
            self.told = now;
            let status = self.status();
            self.tell_hooks(HookEvent::StatusChanged, || json!({ "status": status.clone() }));
            self.publish(None, EventKind::Status { status });
        }
    }

    pub(super) fn status(&self) -> StatusView {
        StatusView { background: self.background(), ..StatusView::from(Status::of_stream(self.state())) }
    }

    /// How many tasks agents run in the background.
    pub(super) fn background(&self) -> u32 {
        let tasks: usize = self.connections.values().map(|connection| connection.background.len()).sum();
        u32::try_from(tasks).unwrap_or(u32::MAX)
    }

    pub(super) fn state(&self) -> State {
        let writes = self.away.values().any(Away::is_summary).then_some(State::Compacting);
        let preparing = self.pending().into_iter().map(|pending| pending.turn.state());
        let states = self.turns.values().map(Running::state).chain(preparing).chain(writes);
        let nothing_runs = if self.cannot_write { State::Error } else { State::Ready };
        states.max_by_key(|state| state.urgency()).unwrap_or(nothing_runs)
    }

    fn tell_records(&mut self, records: &[Record]) {
        for record in records {
            self.tell_hooks_of_sub_agent(record);
            let (about, kind) = match &record.change {
                Change::Entry(entry) => {
                    let replaces = self.replaced.remove(&entry.id).map(|live| live.to_string());
                    let price_of = |model: &Model| self.settings.prices.of(model).cloned();
                    let entry_view = EntryView::from(&**entry).priced(price_of);
                    let told = EventKind::Entry { entry: entry_view, replaces };
                    (self.about(entry.turn.as_ref()), Some(told))
                }
                Change::Marked(mark) => (About::default(), told_fact(&mark.fact)),
                Change::Opened(_) | Change::HeadMoved(_) | Change::Unknown => (About::default(), None),
            };
            if let Some(kind) = kind {
                self.publish_about(about, kind);
            }
        }
    }

    /// The first entry of a sub-agent is a note, and its turn ends by itself.
    fn tell_hooks_of_sub_agent(&mut self, record: &Record) {
        let (event, own_turn) = match &record.change {
            Change::Entry(entry) if entry.parent.is_none() => {
                (HookEvent::SubAgentStarted, entry.turn.clone())
            }
            Change::Marked(Mark { fact: Fact::TurnEnded { turn }, .. }) => {
                (HookEvent::SubAgentEnded, Some(turn.clone()))
            }
            _ => return,
        };
        let Some(own_turn) = own_turn.filter(|_| !self.hooks_for(event).is_empty()) else { return };
        let About { turn: Some(turn), sub_agent: Some(_) } = self.about(Some(&own_turn)) else { return };
        // The message with the call that started it may not be complete.
        let shown = self.shown();
        let Some(view) = sub_agent_of_turn(&shown, &own_turn).as_ref().map(SubAgentView::from) else {
            return;
        };
        let prompt = self.turns.get(&turn).map(|running| running.turn.prompt().to_string());
        self.tell_hooks(event, || json!({ "turn": turn.as_str(), "prompt": prompt, "subAgent": view }));
    }

    /// A sub-agent has a turn id of its own in the journal; whoever follows hears of it under the turn that started it.
    pub(super) fn about(&self, turn: Option<&TurnId>) -> About {
        let Some(turn) = turn else { return About::default() };
        let started = self.turns.values().find_map(|running| {
            let call = running.turn.sub_agent_of_turn(turn)?;
            Some(About { turn: Some(running.turn.id().clone()), sub_agent: Some(call.clone()) })
        });
        started.unwrap_or_else(|| About { turn: Some(turn.clone()), sub_agent: None })
    }

    /// Heads move by themselves along with what a turn writes, so the two trees are compared.
    fn tell_heads(&mut self, before: &SessionTree) {
        let heads: Vec<HeadView> = self
            .tree
            .heads()
            .into_iter()
            .filter(|(name, at)| before.head(name) != *at)
            .map(|(name, _)| HeadView::of(&self.tree, &name))
            .collect();
        for head in heads {
            self.publish(None, EventKind::HeadMoved { head });
        }
    }
}

/// What followers hear of a fact. The end of a turn is told when its agent is free.
fn told_fact(fact: &Fact) -> Option<EventKind> {
    match fact {
        Fact::Label { target, label } => {
            Some(EventKind::Labelled { target: target.to_string(), label: label.clone() })
        }
        Fact::Title { title, .. } => Some(EventKind::Titled { title: title.clone() }),
        Fact::BranchName { at, name } => {
            Some(EventKind::BranchNamed { target: at.to_string(), name: name.clone() })
        }
        Fact::Checkpoint { at, .. } => Some(EventKind::CheckpointTaken { target: at.to_string() }),
        Fact::Bound {
            at,
            agent_session,
            provenance,
            last_message: _,
            agent,
            missing,
            inherited: _,
            model: _,
        } => {
            let bound = BoundView {
                agent: agent.clone(),
                agent_session: agent_session.as_ref().map(ToString::to_string),
                provenance: (*provenance).into(),
                missing: MissingView::of(*missing),
            };
            Some(EventKind::Bound { prompt: at.to_string(), bound })
        }
        Fact::Undone { .. } | Fact::Redone { .. } | Fact::Archived { .. } => Some(EventKind::Rearranged),
        Fact::TurnEnded { .. }
        | Fact::Delivered { .. }
        | Fact::Spent { .. }
        | Fact::Operation { .. }
        | Fact::Began { .. }
        | Fact::Forked { .. } => None,
    }
}
