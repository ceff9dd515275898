//! The conversation as one person sees it: which session, what runs in it, what it asks.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use offshoot_api::event::EventKind;
use offshoot_api::request::{Begin, Configure, Show};
use offshoot_api::views::{
    AskView, BodyView, BoundView, BranchView, EntryView, ModelView, QueuedView, SessionView, SubAgentView,
};
use offshoot_api::{ApiError, ErrorCode, EventStream, Point, Request, Response};
use offshoot_session::Stamps;

use super::hearing::MAIN;
use super::input::Block;
use super::measured::Measured;
use super::signals::Signals;
use super::storage::Storage;
use super::turns::Turns;
use crate::attached::Attached;
use crate::cataloged::spoken_name;
use crate::engine::Reached;
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::look::{Ink, Sign};
use crate::stamps::SystemStamps;
use crate::talk::looking_on::leave_settled;
use crate::talk::printing::Printing;
use crate::talk::telling::Telling;
use crate::talk::{open, refused};
use crate::words::chatting as words;
use crate::words::scripts::THE_AGENT;
use crate::words::talking::{NOTHING_RUNS_HERE, OTHER_VERSION, hook_failed};

/// So much of what was said before is shown to whoever comes back.
const TURNS_SHOWN: usize = 2;

/// So many are looked at for what was missed.
const TURNS_CAUGHT_UP: usize = 20;

/// So many engines may end while it catches up.
const RECONNECT_TRIES: usize = 5;

/// A second Ctrl-C within this time means the same as the first.
const TWICE: Duration = Duration::from_secs(5);

/// Whoever is told to leave does not wait longer for a terminal that is stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What the command line says of who answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) agent: Option<String>,
    pub(super) model: Option<ModelView>,
}

pub(super) struct Chat<'h> {
    pub(super) here: &'h Here,
    pub(super) storage: Storage,
    reached: Option<Reached>,
    /// Who answers, in a session that is not begun yet.
    wanted: Wanted,
    /// It begins with the first message.
    pub(super) session: Option<String>,
    /// The folder it is about.
    pub(super) project: Option<PathBuf>,
    /// Go with the next message.
    pub(super) attached: Vec<Attached>,
    pub(super) events: Option<EventStream>,
    pub(super) signals: Signals,
    pub(super) out: Printing,
    pub(super) telling: Telling<'h>,
    pub(super) turns: Turns,
    pub(super) measured: Measured,
    pub(super) asks: VecDeque<AskView>,
    pub(super) queue: Vec<QueuedView>,
    /// Where the head was last heard to be. Other chats move it too.
    pub(super) head: Option<String>,
    /// The end of the branch that is shown here, which is where the next message goes.
    pub(super) place: Option<String>,
    /// Entries that were heard of since the head moved last: it goes along with those.
    pub(super) written: HashSet<String>,
    /// A prompt on another branch, until its turn begins.
    pub(super) said: Option<EntryView>,
    /// Entries that were told for good: whoever comes back to them says only what is new.
    pub(super) told: HashSet<String>,
    pub(super) stamps: SystemStamps,
    /// What was said here last.
    pub(super) own_prompt: Option<String>,
    pub(super) is_terminal: bool,
    /// Whether the person was told that it is their turn.
    pub(super) is_invited: bool,
    /// When Ctrl-C came last, and nothing else since.
    pub(super) stopped_at: Option<Instant>,
    /// The answer is interrupted and about to end.
    pub(super) is_interrupted: bool,
    /// Ctrl-C came while something was asked of the engine that could not be called off.
    pub(super) unheard_stop: bool,
    /// The engine was told to give up what is waited for.
    pub(super) is_called_off: bool,
    leaves: Option<Leaves>,
    /// How the last message ended, for scripts.
    pub(super) ended: Option<Exit>,
    /// A change of which the person is to say where it goes.
    pub(super) undecided: Option<Configure>,
}

/// Why nothing more is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    ByWish,
    /// By a signal of the system.
    Told,
}

impl<'h> Chat<'h> {
    pub(super) fn new(
        here: &'h Here,
        storage: Storage,
        reached: Reached,
        wanted: Wanted,
        signals: Signals,
        is_terminal: bool,
    ) -> Self {
        Self {
            here,
            storage,
            reached: Some(reached),
            wanted,
            session: None,
            project: None,
            attached: Vec::new(),
            events: None,
            signals,
            out: Printing::begin(),
            telling: Telling::to_a_person(&here.look),
            turns: Turns::default(),
            measured: Measured::default(),
            asks: VecDeque::new(),
            queue: Vec::new(),
            head: None,
            place: None,
            written: HashSet::new(),
            said: None,
            told: HashSet::new(),
            stamps: here.stamps(),
            own_prompt: None,
            is_terminal,
            is_invited: false,
            stopped_at: None,
            is_interrupted: false,
            unheard_stop: false,
            is_called_off: false,
            leaves: None,
            ended: None,
            undecided: None,
        }
    }

    /// Opens the session, or greets where there is none yet.
    pub(super) async fn enter(&mut self, session: Option<String>) -> Result<(), Failure> {
        if let Some(agent) = self.wanted.agent.clone() {
            self.must_exist(&agent).await?;
        }
        if let Some(session) = session {
            match self.open(&session, Some(TURNS_SHOWN)).await {
                Ok(()) => {}
                Err(error) if error.code == ErrorCode::Disconnected => {
                    self.session = Some(session.clone());
                    self.reconnect().await?;
                }
                Err(error) => return Err(refused(&error)),
            }
            return self.answer_as_wanted(session).await;
        }
        if self.is_terminal && !self.here.look.quiet {
            self.tell(Ink::Plain, words::WELCOME)?;
        }
        if self.storage.is_memory() && !self.here.look.quiet {
            self.tell(Ink::Plain, words::IN_MEMORY)?;
        }
        if self.storage.is_empty(self.here) && self.wanted.agent.is_none() && !self.here.look.quiet {
            self.tell(Ink::Plain, words::FIRST_RUN)?;
        }
        Ok(())
    }

    /// How the program ends.
    pub(super) async fn leave(mut self) -> Option<Exit> {
        let events = self.events.take();
        if let Some(reached) = self.reached.take() {
            match (events, self.session.clone()) {
                (Some(events), Some(session)) if self.leaves != Some(Leaves::Told) => {
                    self.leave_telling_of_hooks(reached, &session, events).await;
                }
                _ => reached.leave().await,
            }
        }
        let is_answering = !self.turns.own_running().is_empty();
        if self.is_terminal && self.is_invited {
            // The sign that invites stands on this line.
            let _ = self.out.print("\n");
        }
        let tells_name = self.is_terminal && !self.here.look.quiet && !self.storage.is_memory();
        if let Some(session) = self.session.take().filter(|_| tells_name) {
            let name = self.storage.short(self.here, &session.as_str().into());
            let text = match is_answering {
                true => words::still_answering(&name),
                false => words::go_on_with(&name),
            };
            // Who cannot read it any more does not miss it.
            let _ = self.tell(Ink::Faint, &text);
        }
        let is_told = self.leaves == Some(Leaves::Told);
        self.out.end(is_told.then_some(LAST_WORDS)).await;
        match is_told {
            true => Some(Exit::Interrupted),
            false => self.ended.filter(|_| !self.is_terminal),
        }
    }

    pub(super) fn is_left(&self) -> bool {
        self.leaves.is_some()
    }

    pub(super) fn leaves_by_wish(&mut self) {
        self.leaves.get_or_insert(Leaves::ByWish);
    }

    pub(super) fn is_told_to_leave(&mut self) {
        self.leaves = Some(Leaves::Told);
    }

    /// Whether an answer is on its way. Somebody who is asked something is not kept waiting.
    pub(super) fn is_busy(&self) -> bool {
        self.turns.any_here() && self.asks.is_empty()
    }

    /// Whether something is still to come that was wanted from here.
    pub(super) fn has_work(&self) -> bool {
        self.is_busy() || (self.asks.is_empty() && !self.turns.own_running().is_empty())
    }

    /// Ctrl-C was heard; `true` for the second of two.
    pub(super) fn is_stopped_twice(&mut self) -> bool {
        let now = Instant::now();
        let before = self.stopped_at.replace(now);
        before.is_some_and(|before| now.duration_since(before) < TWICE)
    }

    pub(super) fn takes_unheard_stop(&mut self) -> bool {
        let is_unheard = std::mem::take(&mut self.unheard_stop);
        if is_unheard {
            // It is the same one.
            self.stopped_at = None;
        }
        is_unheard
    }

    pub(super) fn is_about_to_invite(&self) -> bool {
        self.is_terminal && !self.is_invited && !self.is_busy()
    }

    /// Tells the person at a terminal that it is their turn.
    pub(super) fn invite(&mut self, block: &Block) -> Result<(), Failure> {
        if !self.is_about_to_invite() {
            return Ok(());
        }
        self.is_invited = true;
        if block.is_empty() {
            return self.out.print("> ");
        }
        self.out.print(&format!("{} ", self.here.look.sign(Sign::Cut)))
    }

    /// The session was closed, or too much has happened in it to be told one by one: the engine is there all the same.
    pub(super) async fn follow_anew(&mut self) -> Result<(), Failure> {
        self.events = None;
        let Some(session) = self.session.clone() else { return Ok(()) };
        match self.catch_up(&session).await {
            Ok(()) => Ok(()),
            Err(error) if error.code == ErrorCode::Disconnected => self.reconnect().await,
            Err(error) => Err(refused(&error)),
        }
    }

    /// The engine is gone: finds the next one, or starts it. What was missed is told.
    pub(super) async fn reconnect(&mut self) -> Result<(), Failure> {
        let mut tries = 0;
        loop {
            self.events = None;
            if let Some(old) = self.reached.take() {
                old.leave().await;
            }
            self.reached = Some(self.storage.engine(self.here).await?);
            self.asks.clear();
            self.interrupt_invitation()?;
            self.tell(Ink::Faint, words::RECONNECTED)?;
            let Some(session) = self.session.clone() else { return Ok(()) };
            tries += 1;
            match self.catch_up(&session).await {
                Ok(()) => return Ok(()),
                Err(error) if error.code == ErrorCode::Disconnected && tries < RECONNECT_TRIES => {}
                Err(error) => return Err(refused(&error)),
            }
        }
    }

    /// Tells what was missed. Many turns can be too large for one response; then it is the last one.
    async fn catch_up(&mut self, session: &str) -> Result<(), ApiError> {
        match self.open(session, Some(TURNS_CAUGHT_UP)).await {
            Err(error) if error.code == ErrorCode::TooLarge => self.open(session, Some(1)).await,
            opened => opened,
        }
    }

    /// Opens a session, tells its last turns and follows it from there.
    pub(super) async fn open(&mut self, session: &str, turns: Option<usize>) -> Result<(), ApiError> {
        let mut view = open(self.reached()?, session, turns).await?;
        let is_again = self.session.as_deref() == Some(session);
        if is_again && let Some(branch) = self.own_branch(session, &view, turns).await? {
            view.branch = branch;
        }
        let is_new = view.branch.entries.is_empty();
        if turns == Some(TURNS_SHOWN) && !is_new {
            let name = self.storage.short(self.here, &session.into());
            let _ = self.tell(Ink::Bold, &words::session_line(&name, view.title.as_deref()));
        }
        let _ = self.tell_earlier_binding(&view);
        let is_live = |turn: &Option<String>| view.turns.iter().any(|it| Some(&it.turn) == turn.as_ref());
        // Turns above those that were shown when the chat began are not shown now either.
        let unknown = if is_again { self.first_unknown(&view.branch.entries) } else { 0 };
        for entry in view.branch.entries.iter().skip(unknown) {
            let is_running = is_live(&entry.turn);
            let _ = match is_running && is_unfinished(entry) {
                true => self.tell_unfinished(entry),
                false => self.tell_missed(entry),
            };
            // While it happened the end of the turn has said so.
            if let (BodyView::Reply { error: Some(error), .. }, false) = (&entry.body, is_running) {
                let _ = self.tell_failure(entry.turn.as_deref().unwrap_or(&entry.id), error);
            }
            for sub_agent in view.branch.sub_agents.iter().filter(|it| it.entry.as_ref() == Some(&entry.id)) {
                let _ = self.tell_sub_agent(sub_agent);
            }
        }
        for sub_agent in view.branch.sub_agents.iter().filter(|it| it.entry.is_none()) {
            let _ = self.tell_sub_agent(sub_agent);
        }
        // The line of an unfinished answer stays open for its next words.
        let last = view.branch.entries.last().filter(|_| view.asks.is_empty());
        if !last.is_some_and(|last| is_live(&last.turn) && is_unfinished(last)) {
            let _ = self.out.print(&self.telling.line_end());
        }
        self.see(&view);
        self.hear_missed_end(&view);
        for ask in &view.asks {
            if self.asks.iter().all(|known| known.id != ask.id) {
                let text = self.telling.asked(ask);
                let _ = self.print(&text);
            }
        }
        self.events = Some(self.reached()?.follow(session, view.seq).await?);
        (self.asks, self.queue) = (view.asks.clone().into(), view.queue.clone());
        self.session = Some(session.to_owned());
        self.storage.record_use(self.here, &session.into());
        self.project = view.project.as_deref().map(PathBuf::from);
        let _ = self.tell_unanswered(&view);
        Ok(())
    }

    /// Where what this chat has shown begins; if it has shown nothing, what is behind its place.
    fn first_unknown(&self, entries: &[EntryView]) -> usize {
        let told = entries.iter().position(|entry| self.told.contains(&entry.id));
        let place = || entries.iter().position(|entry| self.place.as_ref() == Some(&entry.id));
        told.or_else(|| place().map(|at| at + 1)).unwrap_or_default()
    }

    /// The branch that is shown here, if the head is on another one by now. `None` also if it was undone.
    async fn own_branch(
        &self,
        session: &str,
        view: &SessionView,
        turns: Option<usize>,
    ) -> Result<Option<BranchView>, ApiError> {
        let Some(place) = self.place.clone() else { return Ok(None) };
        if view.branch.entries.iter().any(|entry| entry.id == place) {
            return Ok(None);
        }
        let show = Show { session: session.to_owned(), at: Some(place.into()), turns };
        match self.reached()?.call(Request::Show(show)).await {
            Ok(Response::Branch(branch)) => Ok(Some(branch)),
            Ok(_) => Ok(None),
            Err(error) if error.code == ErrorCode::PointNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The point that a request has to name to act on the branch that is shown here. `None` if the head is there.
    pub(super) fn point_here(&self) -> Option<Point> {
        let place = self.place.as_ref().filter(|place| self.head.as_ref() != Some(place))?;
        Some(Point::exactly(place.as_str()))
    }

    /// Prints what is new in a reply that the agent is still writing. Its final entry prints the rest.
    fn tell_unfinished(&mut self, entry: &EntryView) -> Result<(), Failure> {
        if self.told.contains(&entry.id) {
            return Ok(());
        }
        let text = self.telling.unfinished(entry, self.stamps.now());
        self.print(&text)
    }

    fn tell_missed(&mut self, entry: &EntryView) -> Result<(), Failure> {
        if self.told.contains(&entry.id) {
            return Ok(());
        }
        self.telling.is_found(entry);
        self.tell_said(entry)?;
        match &entry.bound {
            Some(bound) => self.tell_bound(bound),
            None => Ok(()),
        }
    }

    /// Prints the failure of a turn once, whether its end was heard or found in a view.
    fn tell_failure(&mut self, turn: &str, error: &str) -> Result<(), Failure> {
        match self.told.insert(end_of(turn)) {
            true => {
                let text = self.telling.failed(error);
                self.print(&text)
            }
            false => Ok(()),
        }
    }

    fn tell_sub_agent(&mut self, sub_agent: &SubAgentView) -> Result<(), Failure> {
        match self.told.insert(format!("sub-agent {}", sub_agent.begins)) {
            true => {
                let text = self.telling.sub_agent(sub_agent);
                self.print(&text)
            }
            false => Ok(()),
        }
    }

    /// The end of a turn is an event, and may be among those that were missed.
    fn hear_missed_end(&mut self, view: &SessionView) {
        if !self.turns.any_here() {
            (self.is_interrupted, self.stopped_at) = (false, None);
        }
        if let Some(turn) = self.turns.ended_of_own(&view.queue) {
            let is_of_turn = |entry: &&EntryView| entry.turn.as_deref() == Some(turn);
            let mut entries = view.branch.entries.iter().filter(is_of_turn).peekable();
            if entries.peek().is_some() {
                self.ended = exit_of_entries(entries);
            }
        }
    }

    /// A turn on another branch keeps nobody waiting here.
    pub(super) fn see(&mut self, view: &SessionView) {
        let is_here = |prompt: &str| view.branch.entries.iter().any(|entry| entry.id == prompt);
        self.turns.see(view.turns.iter().map(|it| (it.turn.clone(), is_here(&it.prompt))));
        self.measured.see(view);
        self.place.clone_from(&view.branch.tip);
        let main = view.heads.iter().find(|head| head.name == MAIN);
        self.head = main.map_or_else(|| view.branch.tip.clone(), |head| head.at.clone());
        self.said = None;
    }

    /// What the agent knows of the branch only as it was told it, above what is shown.
    fn tell_earlier_binding(&mut self, view: &SessionView) -> Result<(), Failure> {
        let is_shown = view.branch.entries.iter().any(|entry| entry.bound.as_ref().is_some_and(is_lossy));
        match view.branch.missing {
            Some(missing) if !is_shown => {
                let agent = view.agent.as_deref().map_or(THE_AGENT, spoken_name);
                let text = words::was_not_told(agent, missing);
                // Once, however often the session is opened to catch up.
                if self.told.insert(text.clone()) { self.tell(Ink::Faint, &text) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn tell_bound(&mut self, bound: &BoundView) -> Result<(), Failure> {
        match reconstructed(bound) {
            Some(text) => self.tell(Ink::Faint, &text),
            None => Ok(()),
        }
    }

    /// The prompt at the head has no answer, and nobody writes one.
    fn tell_unanswered(&mut self, view: &SessionView) -> Result<(), Failure> {
        if !is_unanswered(view) {
            return Ok(());
        }
        self.tell(Ink::Accent, words::NO_ANSWER_YET)
    }

    /// The session, begun where there is none yet.
    pub(super) async fn begun(&mut self) -> Result<String, ApiError> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let project = Some(self.here.folder.to_string_lossy().into_owned());
        let Wanted { agent, model } = self.wanted.clone();
        let begin = Begin { project, agent, model, ..Begin::default() };
        match self.reached()?.call(Request::Begin(begin)).await? {
            Response::Session(view) => {
                self.open(&view.id, None).await?;
                Ok(view.id)
            }
            _ => Err(ApiError::new(ErrorCode::UnsupportedMessage, OTHER_VERSION)),
        }
    }

    /// What was wanted on the command line counts from here on.
    async fn answer_as_wanted(&mut self, session: String) -> Result<(), Failure> {
        let Wanted { agent, model } = std::mem::take(&mut self.wanted);
        if agent.is_none() && model.is_none() {
            return Ok(());
        }
        self.change(Configure { session, agent, model, ..Configure::default() }).await
    }

    /// What hooks are told at the end they can fail at, too.
    async fn leave_telling_of_hooks(&mut self, reached: Reached, session: &str, events: EventStream) {
        leave_settled(reached, session, events, |event| {
            if let EventKind::HookFailed { hook, message } = &event.kind {
                // Who cannot read it any more does not miss it.
                let _ = self.tell(Ink::Error, &hook_failed(hook, message));
            }
        })
        .await;
    }

    pub(super) fn reached(&self) -> Result<&Reached, ApiError> {
        let gone = || ApiError::new(ErrorCode::Disconnected, NOTHING_RUNS_HERE);
        self.reached.as_ref().ok_or_else(gone)
    }

    pub(super) fn tell(&mut self, ink: Ink, text: &str) -> Result<(), Failure> {
        let text = match self.here.look.ascii {
            true => text.replace(['“', '”'], "\""),
            false => text.to_owned(),
        };
        self.measure();
        self.out.print(&self.telling.line(ink, &text))
    }

    /// A terminal may have been made wider or narrower since.
    pub(super) fn measure(&mut self) {
        self.telling.is_wide(self.here.look.as_wide_as_now().width);
    }

    pub(super) fn complain(&mut self, failure: &Failure) {
        // Who cannot read it any more does not miss it.
        let _ = self.out.print(&self.telling.line_end());
        let look = self.here.look.as_wide_as_now();
        self.out.print_beside(&failure.told_within(&look, look.width));
    }
}

/// The end of a turn, among what was told.
pub(super) fn end_of(turn: &str) -> String {
    format!("end of {turn}")
}

/// Whether the agent may still be writing this reply: it has no reason to have stopped.
fn is_unfinished(entry: &EntryView) -> bool {
    matches!(entry.body, BodyView::Reply { stop: None, .. })
}

/// How a turn ended that has these entries.
fn exit_of_entries<'e>(entries: impl Iterator<Item = &'e EntryView>) -> Option<Exit> {
    let exit = |entry: &EntryView| match &entry.body {
        BodyView::Interrupted { .. } => Some(Exit::Interrupted),
        BodyView::Reply { error: Some(_), .. } => Some(Exit::Failed),
        _ => None,
    };
    entries.filter_map(exit).last()
}

fn is_lossy(bound: &BoundView) -> bool {
    reconstructed(bound).is_some()
}

fn reconstructed(bound: &BoundView) -> Option<String> {
    let agent = bound.agent.as_deref().map_or(THE_AGENT, spoken_name);
    words::reconstructed(agent, bound.provenance, bound.missing)
}

/// Whether the branch in view ends in a prompt that nobody answers. What was set behind it is meant for its answer.
pub(super) fn is_unanswered(view: &SessionView) -> bool {
    let last = view.branch.entries.iter().rfind(|entry| !matches!(entry.body, BodyView::Setting(_)));
    let is_prompt = last.is_some_and(|entry| matches!(entry.body, BodyView::Prompt(_)));
    is_prompt
        && !view.branch.before_answer
        && last.is_some_and(|last| view.turns.iter().all(|turn| turn.prompt != last.id))
}
