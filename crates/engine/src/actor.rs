//! One open session.
//!
//! The actor owns all that is known of its session: the tree, the turns that run, the agents that are connected, what is
//! asked and what waits. It takes one message after the other ([`Message`]) and nobody else touches its state, so two
//! requests never see each other half done.
//!
//! Whatever takes long happens elsewhere and comes back as a message: reaching an agent, its words, a summary. Only
//! appends are waited for, because nothing is told before it is safe.

mod agent_events;
mod agents;
mod appending;
mod asking;
mod changed;
mod changes;
mod children;
mod commit;
mod delivery;
mod drafting;
mod edit_message;
mod errands;
mod halt;
mod looks;
mod measured;
mod moves;
mod news;
mod open;
mod pending;
mod recovery;
mod requests;
mod resting;
mod resuming;
mod scope;
mod shared_step;
mod shorten;
mod talk;
mod titling;
mod told_agents;
mod transcript;
mod turns;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use offshoot_api::event::EventKind;
use offshoot_api::response::Notice;
use offshoot_api::{ApiError, CallerContext, EventStream, Request, Response};
use offshoot_session::agent::{AgentFailure, FromAgent};
use offshoot_session::asks::Asks;
use offshoot_session::cost::Tally;
use offshoot_session::queue::{QueuedId, SendQueue};
use offshoot_session::status::State;
use offshoot_session::{EntryId, SessionId, SessionTree, Stamps, TurnId};
use offshoot_store::Generation;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, error, info, warn};

pub(crate) use changed::{chosen_ids, require_client_id};
pub(crate) use errands::Brought;

use crate::connection::{Connected, ConnectionId};
use crate::engine::Shared;
use crate::feed::{About, Feed};
use crate::hooks::Verdict;
use crate::open_sessions::OpenSessions;
use crate::settings::Settings;
use crate::shelf::Book;
use agents::Connection;
use drafting::Drafting;
use errands::{Away, Back, Waiting, nobody_waits};
use news::{Cause, News};
use open::Opened;
use recovery::Unended;
use scope::Scope;
use shared_step::{SharedStep, TakenThere};
use turns::{Ended, Running};

/// How long connections and errands may take to end when the session is closed …
const END_WAIT: Duration = Duration::from_secs(5);

/// … and how much longer than the slowest agent.
const END_MARGIN: Duration = Duration::from_secs(1);

/// Everything that can happen to an open session.
pub(crate) enum Message {
    Call(Call),
    Follow {
        after: u64,
        reply: oneshot::Sender<Result<EventStream, ApiError>>,
        context: Arc<CallerContext>,
    },
    /// The agent of a turn has been reached, or not.
    Reached {
        turn: TurnId,
        reached: Result<Connected, AgentFailure>,
    },
    Heard {
        connection: ConnectionId,
        event: FromAgent,
    },
    /// The agent is not there any more.
    Gone {
        connection: ConnectionId,
    },
    /// An agent with nothing to do has to end: others wait too, and they are too many.
    EndIdle {
        connection: ConnectionId,
    },
    /// A turn is over and its agent is free.
    TurnClosed(Ended),
    /// Somebody who was asked elsewhere has answered.
    Back {
        errand: u64,
        back: Back,
    },
    /// Another session takes back, or again, a step that is one of this session too.
    SharedStep {
        step: SharedStep,
        reply: oneshot::Sender<TakenThere>,
        context: Arc<CallerContext>,
    },
    /// Hooks have been told what happened.
    Told {
        verdict: Verdict,
        cause: Cause,
        scope: Scope,
    },
    /// The caller of a request that waits is gone.
    NobodyWaits(Waiting),
    /// Whether the engine may end without disturbing anybody here.
    IsIdle {
        reply: oneshot::Sender<bool>,
    },
    /// Something is due.
    Tick,
    /// Nobody uses the session any more.
    Rest,
    /// Something that it started has panicked.
    Broke,
    Stop,
}

impl Message {
    /// Whether somebody wants something of the session, or has got it. To ask what runs is not to use it.
    fn is_use(&self) -> bool {
        match self {
            Self::Call(call) => !matches!(call.request, Request::Status),
            Self::Follow { .. } | Self::SharedStep { .. } | Self::TurnClosed { .. } => true,
            Self::Reached { .. }
            | Self::Heard { .. }
            | Self::Gone { .. }
            | Self::EndIdle { .. }
            | Self::Back { .. }
            | Self::Told { .. }
            | Self::NobodyWaits(_)
            | Self::IsIdle { .. }
            | Self::Broke
            | Self::Tick
            | Self::Rest
            | Self::Stop => false,
        }
    }

    /// What the caller has handed over, where a caller sent it.
    pub(crate) fn context(&self) -> Option<&Arc<CallerContext>> {
        match self {
            Self::Call(call) => Some(&call.context),
            Self::Follow { context, .. } | Self::SharedStep { context, .. } => Some(context),
            Self::Reached { .. }
            | Self::Heard { .. }
            | Self::Gone { .. }
            | Self::EndIdle { .. }
            | Self::TurnClosed(_)
            | Self::Back { .. }
            | Self::Told { .. }
            | Self::NobodyWaits(_)
            | Self::IsIdle { .. }
            | Self::Tick
            | Self::Rest
            | Self::Broke
            | Self::Stop => None,
        }
    }

    fn cause(&self) -> Cause {
        match self {
            Self::Call(call) => call.brought.cause(),
            Self::Follow { .. }
            | Self::Reached { .. }
            | Self::Heard { .. }
            | Self::Gone { .. }
            | Self::EndIdle { .. }
            | Self::TurnClosed(_)
            | Self::SharedStep { .. }
            | Self::Back { .. }
            | Self::Told { .. }
            | Self::NobodyWaits(_)
            | Self::IsIdle { .. }
            | Self::Tick
            | Self::Rest
            | Self::Broke
            | Self::Stop => Cause::Other,
        }
    }
}

/// A request and whoever waits for its answer.
pub(crate) struct Call {
    pub(crate) request: Request,
    pub(crate) reply: oneshot::Sender<Result<Response, ApiError>>,
    /// What had to be asked elsewhere for it.
    pub(crate) brought: Brought,
    /// What its caller has handed over.
    pub(crate) context: Arc<CallerContext>,
}

pub(crate) struct SessionActor {
    id: SessionId,
    shared: Arc<Shared>,
    /// The way to other sessions.
    sessions: Weak<OpenSessions>,
    /// On whose behalf the message in hand is handled …
    context: Arc<CallerContext>,
    /// … and the settings of that caller, as they were before somebody broke them.
    settings: Arc<Settings>,
    /// What is wrong with them now.
    bad_settings: Option<String>,
    /// Whether `settings` were ever read, and do not merely stand for what could not be.
    has_settings: bool,
    /// Away only while a thread writes with it.
    book: Option<Box<dyn Book>>,
    tree: SessionTree,
    /// The state of the book that the tree is.
    generation: Generation,
    /// The lock was taken before the request in hand is planned.
    plans_under_lock: bool,
    stamps: Box<dyn Stamps + Send>,
    feed: Feed,
    /// The disk took nothing the last time.
    cannot_write: bool,
    /// What the answer to the request in hand has to mention.
    notices: Vec<Notice>,
    /// What a crash has left, which is seen and not written.
    unended: Unended,
    /// The last state in which a crash had left nothing.
    whole: Option<Generation>,
    /// What followers were told last.
    told: (State, u32),
    turns: BTreeMap<TurnId, Running>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// Live entries by the entries that replace them, until those are written.
    replaced: BTreeMap<EntryId, EntryId>,
    next_connection: u64,
    /// When processes of agents ended by themselves.
    lost: Vec<(String, Instant)>,
    /// How long the slowest of the agents that were connected may take to end.
    longest_end: Duration,
    asks: Asks,
    queue: SendQueue,
    /// The scope of each queued message's sender. One that an earlier engine has left has none.
    queue_scopes: BTreeMap<QueuedId, Scope>,
    /// Calls that wait until a turn is over.
    parked: Vec<(TurnId, Call)>,
    /// Calls that wait until hooks have been told everything.
    settling: Vec<Call>,
    /// How many messages had to wait before their prompts were written.
    accepted: u64,
    /// Requests for which somebody is asked elsewhere.
    away: BTreeMap<u64, Away>,
    next_errand: u64,
    /// What hooks are to be told.
    news: News,
    /// Where the message in hand comes from, and all that follows from it.
    cause: Cause,
    /// Nobody is served any more; only what hooks are told is told to its end.
    is_ending: bool,
    drafting: Drafting,
    /// How often a model was asked for a title.
    titles_tried: u32,
    /// What was used, and how many records there were then.
    spent: Option<(usize, Tally)>,
    /// When somebody last wanted something of it.
    used_at: Instant,
    mailbox: mpsc::Receiver<Message>,
    to_self: mpsc::Sender<Message>,
    /// What follows from the message in hand, taken before the next one.
    afterwards: VecDeque<Message>,
    /// Connections, agents that are being reached, errands. They end with the actor.
    tasks: JoinSet<()>,
}

/// Opens the session and serves it until it is told to stop, or until nobody uses it any more. Messages that came too
/// late for that are given back.
pub(crate) async fn run(
    id: SessionId,
    shared: Arc<Shared>,
    context: Arc<CallerContext>,
    sessions: Weak<OpenSessions>,
    mut mailbox: mpsc::Receiver<Message>,
    to_self: mpsc::Sender<Message>,
) -> Vec<Message> {
    match open::open(&id, &shared, &context).await {
        Ok(opened) => {
            let is_process = shared.is_process();
            match is_process {
                true => info!(name: "session opened", session = %id),
                false => debug!(name: "session opened", session = %id),
            }
            let actor = SessionActor::new(id.clone(), shared, context, sessions, opened, mailbox, to_self);
            let too_late = actor.serve().await;
            match is_process {
                true => info!(name: "session closed", session = %id),
                false => debug!(name: "session closed", session = %id),
            }
            too_late
        }
        Err(error) => {
            warn!(name: "session not opened", session = %id, code = ?error.code);
            mailbox.close();
            while let Some(message) = mailbox.recv().await {
                refuse(message, &error);
            }
            Vec::new()
        }
    }
}

/// Whether a message that came too late opens the session again. A step of another session is not refused by an end that
/// has nothing to do with it.
fn is_served_anew(message: &Message, is_broken: bool) -> bool {
    match message {
        Message::SharedStep { .. } => true,
        message => is_broken && matches!(message, Message::Call(_) | Message::Follow { .. }),
    }
}

fn refuse(message: Message, error: &ApiError) {
    // Who does not wait any more need not hear it.
    match message {
        Message::Call(call) => drop(call.reply.send(Err(error.clone()))),
        Message::Follow { reply, .. } => drop(reply.send(Err(error.clone()))),
        Message::SharedStep { reply, .. } => drop(reply.send(Err(error.clone()))),
        Message::Reached { .. }
        | Message::Heard { .. }
        | Message::Gone { .. }
        | Message::EndIdle { .. }
        | Message::TurnClosed(_)
        | Message::Back { .. }
        | Message::Told { .. }
        | Message::NobodyWaits(_)
        | Message::IsIdle { .. }
        | Message::Tick
        | Message::Rest
        | Message::Broke
        | Message::Stop => {}
    }
}

impl SessionActor {
    fn new(
        id: SessionId,
        shared: Arc<Shared>,
        context: Arc<CallerContext>,
        sessions: Weak<OpenSessions>,
        opened: Opened,
        mailbox: mpsc::Receiver<Message>,
        to_self: mpsc::Sender<Message>,
    ) -> Self {
        let Opened { book, waiting, settings } = opened;
        let has_settings = settings.is_some();
        let settings = settings.unwrap_or_default();
        let stamps = (shared.stamps)(&context);
        let feed = Feed::new(id.clone(), &shared.numbers, settings.kept_events);
        Self {
            id,
            tree: book.tree().clone(),
            generation: book.generation(),
            plans_under_lock: false,
            shared,
            context,
            sessions,
            settings,
            has_settings,
            bad_settings: None,
            stamps,
            feed,
            cannot_write: false,
            notices: Vec::new(),
            unended: Unended::default(),
            whole: None,
            told: (State::Ready, 0),
            turns: BTreeMap::new(),
            connections: BTreeMap::new(),
            replaced: BTreeMap::new(),
            next_connection: 0,
            lost: Vec::new(),
            longest_end: Duration::ZERO,
            asks: Asks::default(),
            queue: waiting,
            queue_scopes: BTreeMap::new(),
            book: Some(book),
            parked: Vec::new(),
            settling: Vec::new(),
            accepted: 0,
            away: BTreeMap::new(),
            next_errand: 0,
            news: News::default(),
            cause: Cause::default(),
            is_ending: false,
            drafting: Drafting::default(),
            titles_tried: 0,
            spent: None,
            used_at: Instant::now(),
            mailbox,
            to_self,
            afterwards: VecDeque::new(),
            tasks: JoinSet::new(),
        }
    }

    async fn serve(mut self) -> Vec<Message> {
        let mut too_late = Vec::new();
        let is_broken = loop {
            let message = self.next_message().await;
            if message.is_use() {
                self.used_at = Instant::now();
            }
            self.cause = message.cause();
            if let Some(scope) = self.scope_of(&message) {
                self.enter(scope);
            }
            match message {
                Message::Call(call) => self.on_call(call).await,
                Message::Follow { after, reply, .. } => drop(reply.send(self.feed.follow(after))),
                Message::Reached { turn, reached } => self.on_reached(&turn, reached).await,
                Message::Heard { connection, event } => self.on_heard(connection, event).await,
                Message::Gone { connection } => self.on_gone(connection).await,
                Message::EndIdle { connection } => self.end_idle(connection),
                Message::TurnClosed(ended) => self.on_turn_closed(&ended),
                Message::Back { errand, back } => self.on_back(errand, back).await,
                Message::SharedStep { step, reply, .. } => self.on_shared_step(step, reply).await,
                Message::Told { verdict, cause, .. } => self.on_told(verdict, cause),
                Message::NobodyWaits(waiting) => self.on_nobody_waits(waiting),
                Message::IsIdle { reply } => drop(reply.send(self.is_idle())),
                Message::Tick => self.on_tick().await,
                Message::Rest => {
                    too_late = self.close_mailbox().await;
                    break false;
                }
                Message::Broke => break true,
                Message::Stop => self.begin_to_end().await,
            }
            self.release_parked();
            // What follows at once is one thing with it: a session is not ready between two prompts of its queue.
            if self.afterwards.is_empty() {
                self.tell_status();
            }
            self.flush_full_drafts().await;
            let is_done = self.afterwards.is_empty() && !self.is_at_something() && self.news.is_all_told();
            if is_done {
                for call in std::mem::take(&mut self.settling) {
                    requests::reply(call, Ok(Response::Done { changed: false }));
                }
            }
            if self.is_ending && is_done {
                break false;
            }
        };
        // Whoever heard that the turn is over may speak before the mailbox is closed.
        let meanwhile = self.stop().await;
        too_late.extend(meanwhile.into_iter().filter(|message| is_served_anew(message, is_broken)));
        too_late
    }

    /// Nobody can speak to it any more; what those said who did at this very moment.
    async fn close_mailbox(&mut self) -> Vec<Message> {
        let mut too_late = Vec::new();
        self.mailbox.close();
        while let Some(message) = self.mailbox.recv().await {
            if message.is_use() {
                too_late.push(message);
            }
        }
        too_late
    }

    async fn next_message(&mut self) -> Message {
        if let Some(message) = self.afterwards.pop_front() {
            return message;
        }
        let due = self.next_due();
        loop {
            tokio::select! {
                message = self.mailbox.recv() => return message.unwrap_or(Message::Stop),
                () = until(due) => return Message::Tick,
                waiting = nobody_waits(&mut self.away, &mut self.parked) => return Message::NobodyWaits(waiting),
                Some(ended) = self.tasks.join_next() => if ended.is_err_and(|error| error.is_panic()) {
                    // Somebody may wait for it for ever. The session is closed as a crash would leave it, and
                    // opened anew by whoever asks next.
                    error!(name: "session broke", session = %self.id);
                    return Message::Broke;
                },
            }
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let stopping = self.turns.values().filter_map(|running| running.give_up_at).min();
        let idle = self.idle_agents_due();
        let rests = self.turns.is_empty().then(|| self.used_at + self.settings.idle_close);
        [stopping, self.drafting.due(), idle, rests].into_iter().flatten().min()
    }

    /// No turn and no background task runs, no request waits for its answer, and the session has no followers.
    fn is_idle(&self) -> bool {
        let nobody_waits = self.away.is_empty()
            && self.parked.is_empty()
            && self.settling.is_empty()
            && self.news.is_all_told();
        let is_quiet = self.turns.is_empty() && self.background() == 0;
        is_quiet && nobody_waits && !self.feed.is_followed()
    }

    async fn on_tick(&mut self) {
        let now = Instant::now();
        if self.drafting.due().is_some_and(|due| due <= now) {
            self.flush_drafts().await;
        }
        self.give_up_on_the_slow(now).await;
        self.end_long_idle(now);
        if now < self.used_at + self.settings.idle_close {
            return;
        }
        match self.is_idle() {
            true => self.afterwards.push_back(Message::Rest),
            // Whoever looks on need not say when it goes, so that is looked at again later.
            false => self.used_at = now,
        }
    }

    /// Nothing new is begun. What hooks are told is told to its end, each within its limit, and what they want is done; so is
    /// a branch that is being made shorter.
    async fn begin_to_end(&mut self) {
        self.is_ending = true;
        self.interrupt_all().await;
        self.give_up_what_was_asked_for();
    }

    /// Turns that still run are interrupted, so that what they said is kept, and end: whoever follows hears it before the
    /// session is closed. No agent is waited for, because all of them end with it.
    async fn interrupt_all(&mut self) {
        let running: Vec<TurnId> = self.turns.keys().cloned().collect();
        for turn in running {
            self.interrupt(&turn).await;
            self.give_up(&turn, AgentFailure::other("the session was closed")).await;
        }
    }

    /// Everything that was started ends. What was said to the session meanwhile is given back.
    async fn stop(mut self) -> Vec<Message> {
        if !self.is_ending {
            self.interrupt_all().await;
        }
        let meanwhile = self.close_mailbox().await;
        self.connections.clear();
        self.give_up_errands();
        let at = self.stamps.now();
        self.feed.publish(at, About::default(), EventKind::Closed);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // Each agent ends within its own time, and there may be as many as there are.
        if timeout(END_WAIT.max(self.longest_end + END_MARGIN), ended).await.is_err() {
            self.tasks.shutdown().await;
        }
        if !self.shared.is_process() {
            // The command ends next, and freeing a large tree node by node takes longer than most changes to it.
            std::mem::forget(self.tree.clone());
        }
        meanwhile
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
