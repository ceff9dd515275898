//! A person does anything in any order, and a simple model says what must be there.
//!
//! The model is a list of texts with parents, and of what happened to the head; which child was visited last, and what is
//! undone, follows from that. Two turns may run at a time. After every step the session in view is compared with the
//! model, and the invariants of the architecture hold.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning, Step, Summary};
use offshoot_api::views::{AnswerView, PromptView};
use offshoot_api::{ErrorCode, Request, Response};
use offshoot_session::agent::{AgentEventKind, AgentFailure};
use offshoot_session::{Body, Entry, EntryId, SessionTree};
use proptest::prelude::*;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::World;

const INTERRUPTED: &str = "<interrupted>";
/// Of a turn that failed before it said anything one entry is left, without words.
const FAILED: &str = "";

#[derive(Clone, Debug)]
enum Act {
    Send(Kind),
    /// A second turn, beside the one on the head's branch.
    Beside(Kind),
    Edit {
        prompt: usize,
        if_running: IfRunning,
    },
    Retry {
        prompt: usize,
        if_running: IfRunning,
    },
    Arrow {
        prompt: usize,
        next: bool,
    },
    Navigate {
        entry: usize,
    },
    Undo,
    Interrupt,
    Answer,
    OpenGate,
    ChangeQueued {
        queued: usize,
    },
    CancelQueued {
        queued: usize,
    },
    Crash {
        /// What was shown has been kept by then.
        at_rest: bool,
    },
    /// A message whose agent cannot be reached.
    SendToNobody,
    /// Written down by a script: a message, an answer, or both. Nobody is asked.
    Append {
        asks: bool,
        answers: bool,
    },
}

/// What a turn does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Answers at once.
    Says,
    /// Says something and then waits.
    Slow,
    /// Asks whether it may.
    Asks,
    /// Begins, and cannot go on.
    Fails,
}

fn act() -> impl Strategy<Value = Act> {
    let if_running = || prop_oneof![3 => Just(IfRunning::Wait), 1 => Just(IfRunning::AbortFirst)];
    let kind = || {
        prop_oneof![
            6 => Just(Kind::Says),
            4 => Just(Kind::Slow),
            2 => Just(Kind::Asks),
            1 => Just(Kind::Fails),
        ]
    };
    prop_oneof![
        8 => kind().prop_map(Act::Send),
        3 => kind().prop_map(Act::Beside),
        3 => (0..20usize, if_running()).prop_map(|(prompt, if_running)| Act::Edit { prompt, if_running }),
        2 => (0..20usize, if_running()).prop_map(|(prompt, if_running)| Act::Retry { prompt, if_running }),
        4 => (0..20usize, any::<bool>()).prop_map(|(prompt, next)| Act::Arrow { prompt, next }),
        3 => (0..60usize).prop_map(|entry| Act::Navigate { entry }),
        2 => Just(Act::Undo),
        2 => Just(Act::Interrupt),
        3 => Just(Act::Answer),
        4 => Just(Act::OpenGate),
        1 => (0..5usize).prop_map(|queued| Act::ChangeQueued { queued }),
        1 => (0..5usize).prop_map(|queued| Act::CancelQueued { queued }),
        1 => any::<bool>().prop_map(|at_rest| Act::Crash { at_rest }),
        1 => Just(Act::SendToNobody),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(asks, answers)| Act::Append { asks, answers }),
    ]
}

#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    text: String,
    is_prompt: bool,
    /// The prompt of its turn. What belongs to none is alone.
    turn: usize,
    /// The agent's session that a prompt was said in.
    session: Option<usize>,
    /// Of a prompt, and of what was appended: the step that it is. It is gone when that is undone, and so is everything below it.
    step: Option<usize>,
}

/// What happened, in its order. Steps can be undone.
#[derive(Clone, Debug)]
enum Happened {
    Wrote(usize),
    Moved { step: usize, to: Option<usize> },
}

#[derive(Clone, Debug)]
struct Turn {
    prompt: usize,
    tip: usize,
    waits: Waits,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Waits {
    ForGate,
    ForAnswer,
}

/// What waits, the prompt below whose answer it will be said, and whether a turn of that prompt runs.
#[derive(Clone, Debug)]
struct Waiting {
    text: String,
    place: usize,
}

#[derive(Debug, Default)]
struct Model {
    nodes: Vec<Node>,
    happened: Vec<Happened>,
    /// Steps that are not undone, the latest last.
    steps: Vec<usize>,
    next_step: usize,
    turns: Vec<Turn>,
    queue: Vec<Waiting>,
    /// How many sessions the agent has begun.
    sessions: usize,
}

/// The head, and which child was visited last, as what happened makes them.
#[derive(Debug, Default)]
struct Place {
    head: Option<usize>,
    follows: Option<usize>,
    visited: HashMap<Option<usize>, usize>,
    present: HashSet<usize>,
}

impl Place {
    fn go(&mut self, model: &Model, to: Option<usize>) {
        self.head = to;
        self.follows = to.map(|to| model.nodes[to].turn);
        let mut at = to;
        while let Some(node) = at {
            at = model.nodes[node].parent;
            self.visited.insert(at, node);
        }
    }
}

impl Model {
    fn place(&self) -> Place {
        let mut place = Place::default();
        for happened in &self.happened {
            match happened {
                Happened::Wrote(at) => {
                    let node = &self.nodes[*at];
                    let stands = node.step.is_none_or(|step| self.steps.contains(&step));
                    if !stands || node.parent.is_some_and(|parent| !place.present.contains(&parent)) {
                        continue;
                    }
                    place.present.insert(*at);
                    if place.head.is_some() && place.head == node.parent && place.follows == Some(node.turn) {
                        place.go(self, Some(*at));
                    }
                }
                Happened::Moved { step, to } => {
                    if self.steps.contains(step) {
                        place.go(self, *to);
                    }
                }
            }
        }
        place
    }

    fn head(&self) -> Option<usize> {
        self.place().head
    }

    fn path_to(&self, at: Option<usize>) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(at, |at| self.nodes[*at].parent).collect();
        path.reverse();
        path
    }

    fn path(&self) -> Vec<usize> {
        self.path_to(self.head())
    }

    fn prompts_on_path(&self) -> Vec<usize> {
        self.path().into_iter().filter(|node| self.nodes[*node].is_prompt).collect()
    }

    /// The turn that runs on the way to a place.
    fn running_on(&self, at: Option<usize>) -> Option<&Turn> {
        let path = self.path_to(at);
        self.turns.iter().find(|turn| path.contains(&turn.prompt))
    }

    /// The turn that runs where the head is.
    fn here(&self) -> Option<&Turn> {
        self.running_on(self.head())
    }

    /// The agent's session that knows this place and nothing more: the one of the last prompt, if the place is the end of
    /// its answer and nobody went on with the session elsewhere, not even in what was undone.
    fn session_at(&self, at: Option<usize>) -> Option<usize> {
        let path = self.path_to(at);
        let present = self.place().present;
        let prompt = path.iter().rev().find(|node| self.nodes[**node].is_prompt)?;
        let session = self.nodes[*prompt].session?;
        let behind = path.iter().skip_while(|node| *node != prompt).skip(1);
        if behind.into_iter().any(|node| self.nodes[*node].turn != *prompt) {
            return None; // what was appended it has not heard
        }
        let goes_on = |(child, node): (usize, &Node)| {
            node.parent == at && node.turn == *prompt && present.contains(&child)
        };
        let is_elsewhere = |(at, node): (usize, &Node)| node.session == Some(session) && !path.contains(&at);
        let mut nodes = self.nodes.iter().enumerate();
        (!nodes.clone().any(goes_on) && !nodes.any(is_elsewhere)).then_some(session)
    }

    /// the agent's session of the branch that ends here, whether or not it can be continued.
    fn branch_session(&self, at: Option<usize>) -> Option<usize> {
        self.path_to(at).into_iter().rev().find_map(|node| self.nodes[node].session)
    }

    fn step(&mut self) -> usize {
        self.next_step += 1;
        self.steps.push(self.next_step);
        self.next_step
    }

    fn go(&mut self, to: Option<usize>) {
        let step = self.step();
        self.happened.push(Happened::Moved { step, to });
    }

    fn write(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.happened.push(Happened::Wrote(self.nodes.len() - 1));
        self.nodes.len() - 1
    }

    /// A prompt below a place. The head goes there, unless it is said for somebody who has left.
    fn say_below(&mut self, below: Option<usize>, text: &str, goes: bool) -> usize {
        let session = self.session_at(below).unwrap_or_else(|| {
            self.sessions += 1;
            self.sessions
        });
        self.write_prompt(below, text, goes, Some(session))
    }

    /// A prompt, and the agent's session that it is said in, if it comes to that.
    fn write_prompt(
        &mut self,
        below: Option<usize>,
        text: &str,
        goes: bool,
        session: Option<usize>,
    ) -> usize {
        let step = self.step();
        let turn = self.nodes.len();
        let step_of = Some(step);
        let text_of = text.to_owned();
        let node = Node { parent: below, text: text_of, is_prompt: true, turn, session, step: step_of };
        let prompt = self.write(node);
        if goes {
            self.happened.push(Happened::Moved { step, to: Some(prompt) });
        }
        let path = self.path_to(Some(prompt));
        let running: Vec<usize> = self.turns.iter().map(|turn| turn.prompt).collect();
        for waiting in &mut self.queue {
            if path.contains(&waiting.place) && !running.contains(&waiting.place) {
                waiting.place = prompt;
            }
        }
        prompt
    }

    /// Below the head, which goes along, as one step.
    fn append(&mut self, said: &[(String, bool)]) {
        let step = self.step();
        let mut at = self.head();
        for (text, is_prompt) in said {
            let (turn, text, is_prompt) = (self.nodes.len(), text.clone(), *is_prompt);
            let node = Node { parent: at, text, is_prompt, turn, session: None, step: Some(step) };
            at = Some(self.write(node));
        }
        self.happened.push(Happened::Moved { step, to: at });
    }

    fn answer(&mut self, prompt: usize, parent: usize, text: &str) -> usize {
        let text = text.to_owned();
        let parent = Some(parent);
        self.write(Node { parent, text, is_prompt: false, turn: prompt, session: None, step: None })
    }

    /// A prompt and what comes of it.
    fn say(&mut self, below: Option<usize>, text: &str, goes: bool) {
        let prompt = self.say_below(below, text, goes);
        self.begin(prompt);
    }

    fn begin(&mut self, prompt: usize) {
        let text = self.nodes[prompt].text.clone();
        let waits = match text.split(' ').next() {
            Some("slow") => Waits::ForGate,
            Some("ask") => Waits::ForAnswer,
            // What waits behind it is held.
            Some("fail") => {
                self.answer(prompt, prompt, FAILED);
                return;
            }
            _ => {
                self.answer(prompt, prompt, &format!("re: {text}"));
                return self.say_next(prompt);
            }
        };
        self.turns.push(Turn { prompt, tip: prompt, waits });
    }

    /// The turn is done: the first that waits for it is said below its answer.
    fn say_next(&mut self, prompt: usize) {
        let Some(next) = self.queue.iter().position(|waiting| waiting.place == prompt) else { return };
        let next = self.queue.remove(next);
        let end = self.end_of(prompt);
        let goes = self.head() == Some(end);
        self.say(Some(end), &next.text, goes);
    }

    /// The end of the answer to a prompt.
    fn end_of(&self, prompt: usize) -> usize {
        let present = self.place().present;
        let mut end = prompt;
        while let Some(next) = (0..self.nodes.len()).find(|at| {
            let node = &self.nodes[*at];
            node.parent == Some(end) && node.turn == prompt && present.contains(at)
        }) {
            end = next;
        }
        end
    }

    /// What waits on the way to the head for a turn that was cut off.
    fn held(&self) -> Option<usize> {
        let path = self.path();
        let runs = |place: usize| self.turns.iter().any(|turn| turn.prompt == place);
        self.queue.iter().position(|waiting| path.contains(&waiting.place) && !runs(waiting.place))
    }

    fn send(&mut self, text: &str) {
        if let Some(turn) = self.here() {
            let place = turn.prompt;
            return self.queue.push(Waiting { text: text.to_owned(), place });
        }
        let below = self.head();
        match self.held() {
            Some(first) => {
                let first = self.queue.remove(first);
                let prompt = self.say_below(below, &first.text, true);
                self.queue.push(Waiting { text: text.to_owned(), place: prompt });
                self.begin(prompt);
            }
            None => self.say(below, text, true),
        }
    }

    /// What had been said is kept, and one entry says that it was cut off.
    fn cut(&mut self, prompt: usize, keeps: bool) {
        let Some(at) = self.turns.iter().position(|turn| turn.prompt == prompt) else { return };
        let turn = self.turns.remove(at);
        let mut tip = turn.tip;
        if turn.waits == Waits::ForGate && keeps {
            tip = self.answer(prompt, tip, "Let me ");
        }
        self.answer(prompt, tip, INTERRUPTED);
    }

    fn finish(&mut self, prompt: usize) {
        let Some(at) = self.turns.iter().position(|turn| turn.prompt == prompt) else { return };
        let turn = self.turns.remove(at);
        let said = match turn.waits {
            Waits::ForGate => "Let me see.",
            Waits::ForAnswer => "It ran.",
        };
        self.answer(prompt, turn.tip, said);
        self.say_next(prompt);
    }

    /// Another version of a prompt, if there is one.
    fn arrow(&self, prompt: usize, next: bool) -> Option<usize> {
        let place = self.place();
        let is_version = |at: &usize| {
            let node = &self.nodes[*at];
            node.is_prompt && node.parent == self.nodes[prompt].parent && place.present.contains(at)
        };
        let versions: Vec<usize> = (0..self.nodes.len()).filter(is_version).collect();
        let at = versions.iter().position(|version| *version == prompt)?;
        let wanted = if next { at + 1 } else { at.checked_sub(1)? };
        let mut leaf = *versions.get(wanted)?;
        loop {
            let visited = place.visited.get(&Some(leaf)).copied();
            let newest = || {
                (0..self.nodes.len())
                    .rev()
                    .find(|at| self.nodes[*at].parent == Some(leaf) && place.present.contains(at))
            };
            match visited.or_else(newest) {
                Some(child) => leaf = child,
                None => return Some(leaf),
            }
        }
    }
}

struct Play {
    world: World,
    model: Model,
    said: usize,
    log_seen: usize,
    /// What was done so far.
    done: Vec<Act>,
}

impl Play {
    async fn begin() -> Self {
        Self {
            world: World::new(ScriptedAgent::new()).await,
            model: Model::default(),
            said: 0,
            log_seen: 0,
            done: Vec::new(),
        }
    }

    /// Everything comes to rest before time goes on, and drafts are kept.
    async fn rest(&self) {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    fn words(&mut self, kind: Kind) -> String {
        self.said += 1;
        let (word, does) = match kind {
            Kind::Says => return format!("say {}", self.said),
            Kind::Slow => (
                "slow",
                vec![
                    Do::Say(AgentEventKind::text("m", "Let me ")),
                    Do::Gate,
                    Do::Say(AgentEventKind::text("m", "see.")),
                ],
            ),
            Kind::Asks => ("ask", vec![Do::AskToRun("ls"), Do::Say(crate::scripted::whole("It ran."))]),
            Kind::Fails => (
                "fail",
                vec![Do::Say(AgentEventKind::Failed(AgentFailure::other("no more tokens".to_owned())))],
            ),
        };
        let words = format!("{word} {}", self.said);
        self.world.agent.also_on(&words, does);
        words
    }

    async fn act(&mut self, act: &Act) {
        self.done.push(act.clone());
        match act {
            Act::Send(kind) => self.send(*kind).await,
            Act::Beside(kind) => self.beside(*kind).await,
            Act::Edit { prompt, if_running } => self.edit(*prompt, *if_running).await,
            Act::Retry { prompt, if_running } => self.retry(*prompt, *if_running).await,
            Act::Arrow { prompt, next } => self.arrow(*prompt, *next).await,
            Act::Navigate { entry } => self.navigate(*entry).await,
            Act::Undo => self.undo().await,
            Act::Interrupt => self.interrupt().await,
            Act::Answer => self.answer().await,
            Act::OpenGate => self.open_gate().await,
            Act::ChangeQueued { queued } => self.change_queued(*queued).await,
            Act::CancelQueued { queued } => self.cancel_queued(*queued).await,
            Act::Crash { at_rest } => self.crash(*at_rest).await,
            Act::SendToNobody => self.send_to_nobody().await,
            Act::Append { asks, answers } => self.append(*asks, *answers).await,
        }
        self.rest().await;
        self.check().await;
    }

    async fn send(&mut self, kind: Kind) {
        let words = self.words(kind);
        let sent = self.world.send(&words).await.unwrap();
        let Response::Changed(sent) = sent else { panic!("{sent:?}") };
        let waits = self.model.here().is_some() || self.model.held().is_some();
        assert_eq!(sent.queued.is_some(), waits);
        self.model.send(&words);
    }

    /// At most two turns at a time, and a third that is over at once: then the head is where none of them runs. Beside the one on
    /// the head's branch means in the place of its prompt.
    async fn beside(&mut self, kind: Kind) {
        let has_room = match self.model.turns.len() {
            0 => false,
            1 => true,
            _ => kind == Kind::Says,
        };
        if !has_room {
            return;
        }
        let words = self.words(kind);
        let beside = request::Send { if_running: IfRunning::Beside, ..crate::world::send(&words) };
        self.world.call(Request::Send(beside)).await.unwrap();
        let below = match self.model.here() {
            Some(turn) => self.model.nodes[turn.prompt].parent,
            None => self.model.head(),
        };
        self.model.say(below, &words, true);
    }

    async fn edit(&mut self, prompt: usize, if_running: IfRunning) {
        let Some(prompt) = pick(&self.model.prompts_on_path(), prompt) else { return };
        let words = self.words(Kind::Says);
        let edit = request::Edit {
            session: "s".into(),
            at: self.id_of(prompt).to_string().into(),
            text: words.clone(),
            if_running,
            ..Default::default()
        };
        let edited = self.world.call(Request::Edit(edit)).await;
        self.said_again(prompt, &words, if_running, edited);
    }

    async fn retry(&mut self, prompt: usize, if_running: IfRunning) {
        let Some(prompt) = pick(&self.model.prompts_on_path(), prompt) else { return };
        let words = self.model.nodes[prompt].text.clone();
        if !words.starts_with("say") {
            return; // the same words wait at the same gate, and which of the two goes on is chance
        }
        let at = self.id_of(prompt).to_string();
        let retry = request::Retry { session: "s".into(), at: at.into(), if_running, ..Default::default() };
        let retried = self.world.call(Request::Retry(retry)).await;
        self.said_again(prompt, &words, if_running, retried);
    }

    fn said_again(
        &mut self,
        prompt: usize,
        words: &str,
        if_running: IfRunning,
        answer: Result<Response, offshoot_api::ApiError>,
    ) {
        let in_the_way: Vec<usize> = self.in_the_way_of(prompt);
        if !in_the_way.is_empty() && if_running == IfRunning::Wait {
            return refused(answer);
        }
        answer.unwrap();
        for turn in in_the_way {
            self.model.cut(turn, true);
        }
        let below = self.model.nodes[prompt].parent;
        self.model.say(below, words, true);
    }

    /// Turns on whose path a place lies.
    fn in_the_way_of(&self, at: usize) -> Vec<usize> {
        let is_on_path = |turn: &&Turn| {
            self.model.path_to(Some(turn.prompt)).contains(&at)
                || self.model.path_to(Some(at)).contains(&turn.prompt)
        };
        self.model.turns.iter().filter(is_on_path).map(|turn| turn.prompt).collect()
    }

    async fn arrow(&mut self, prompt: usize, next: bool) {
        let Some(prompt) = pick(&self.model.prompts_on_path(), prompt) else { return };
        let step = if next { Step::Next } else { Step::Previous };
        let at = self.id_of(prompt).to_string();
        let version =
            request::Version { session: "s".into(), at: Some(at.into()), step, ..Default::default() };
        let moved = self.world.call(Request::Version(version)).await;
        match (self.in_the_way_of(prompt).is_empty(), self.model.arrow(prompt, next)) {
            (false, _) => refused(moved),
            (true, None) => assert_eq!(moved.unwrap_err().code, ErrorCode::NoSuchVersion),
            (true, Some(leaf)) => {
                moved.unwrap();
                self.model.go(Some(leaf));
            }
        }
    }

    async fn navigate(&mut self, entry: usize) {
        let present = self.model.place().present;
        let all: Vec<usize> = (0..self.model.nodes.len()).filter(|node| present.contains(node)).collect();
        let Some(to) = pick(&all, entry) else { return };
        let to_id = self.id_of(to).to_string();
        let (summary, if_running) = (Summary::None, IfRunning::Wait);
        let navigate =
            request::Navigate { session: "s".into(), to: to_id.into(), summary, if_running, client_id: None };
        let moved = self.world.call(Request::Navigate(navigate)).await;
        if self.model.here().is_some() {
            return refused(moved);
        }
        moved.unwrap();
        let node = &self.model.nodes[to];
        let place = if node.is_prompt { node.parent } else { Some(to) };
        if self.model.head() != Some(to) && self.model.head() != place {
            self.model.go(place);
        }
    }

    async fn undo(&mut self) {
        let undo = request::History { session: "s".into(), ..Default::default() };
        let undone = self.world.call(Request::Undo(undo)).await;
        if self.model.here().is_some() {
            return refused(undone);
        }
        let Some(step) = self.model.steps.last().copied() else {
            return assert_eq!(undone.unwrap_err().code, ErrorCode::NothingToDo);
        };
        // A step may not take the ground from under a turn that runs elsewhere.
        let gone = |turn: &Turn| {
            self.model.path_to(Some(turn.prompt)).iter().any(|at| self.model.nodes[*at].step == Some(step))
        };
        if self.model.turns.iter().any(gone) {
            return refused(undone);
        }
        undone.unwrap();
        self.model.steps.pop();
    }

    /// The only turn, or that of the head; of several elsewhere none.
    async fn interrupt(&mut self) {
        let interrupt = request::Interrupt { session: "s".into(), turn: None };
        let stopped = self.world.call(Request::Interrupt(interrupt)).await;
        let only = (self.model.turns.len() == 1).then(|| &self.model.turns[0]);
        match only.or_else(|| self.model.here()).map(|turn| turn.prompt) {
            Some(prompt) => {
                stopped.unwrap();
                self.model.cut(prompt, true);
            }
            None => {
                let nothing_runs = self.model.turns.is_empty();
                let why = if nothing_runs { ErrorCode::NothingToDo } else { ErrorCode::Ambiguous };
                assert_eq!(stopped.unwrap_err().code, why);
            }
        }
    }

    async fn append(&mut self, asks: bool, answers: bool) {
        self.said += 1;
        let mut said = Vec::new();
        if asks {
            said.push((format!("aside {}", self.said), true));
        }
        if answers || !asks {
            said.push((format!("noted {}", self.said), false));
        }
        let entry = |(text, is_prompt): &(String, bool)| serde_json::json!({ "role": if *is_prompt { "user" } else { "assistant" }, "text": text });
        let entries = said.iter().map(entry).collect();
        let append = request::Append { session: "s".into(), entries, ..Default::default() };
        let appended = self.world.call(Request::Append(append)).await;
        if self.model.here().is_some() {
            return refused(appended);
        }
        appended.unwrap();
        self.model.append(&said);
    }

    async fn answer(&mut self) {
        let asks = self.world.view().await.asks;
        let asking: Vec<usize> = self
            .model
            .turns
            .iter()
            .filter(|turn| turn.waits == Waits::ForAnswer)
            .map(|turn| turn.prompt)
            .collect();
        assert_eq!(asks.len(), asking.len());
        let Some(prompt) = asking.first() else { return };
        let id = self.id_of(*prompt).to_string();
        let ask = asks.iter().find(|ask| ask.prompt == id).expect("it asks");
        let answer = AnswerView::Allow { input: None, suggestion: None };
        let answer = request::Answer { session: "s".into(), ask: ask.id.clone(), answer };
        assert_eq!(self.world.call(Request::Answer(answer)).await, Ok(Response::Done { changed: true }));
        self.model.finish(*prompt);
    }

    /// The one that waits longest goes on.
    async fn open_gate(&mut self) {
        let first = self.model.turns.iter().find(|turn| turn.waits == Waits::ForGate);
        if let Some(prompt) = first.map(|turn| turn.prompt) {
            self.world.agent.open_gate();
            self.model.finish(prompt);
        }
    }

    async fn change_queued(&mut self, queued: usize) {
        let queue = self.world.view().await.queue;
        let all: Vec<usize> = (0..queue.len()).collect();
        let Some(at) = pick(&all, queued) else { return };
        let words = self.words(Kind::Says);
        let (queued, prompt) = (queue[at].id.clone(), PromptView::text(words.clone()));
        let change = request::ChangeQueued { session: "s".into(), queued, prompt };
        self.world.call(Request::ChangeQueued(change)).await.unwrap();
        self.model.queue[at].text = words;
    }

    async fn cancel_queued(&mut self, queued: usize) {
        let queue = self.world.view().await.queue;
        let all: Vec<usize> = (0..queue.len()).collect();
        let Some(at) = pick(&all, queued) else { return };
        let cancel = request::CancelQueued { session: "s".into(), queued: queue[at].id.clone() };
        self.world.call(Request::CancelQueued(cancel)).await.unwrap();
        self.model.queue.remove(at);
    }

    /// In the middle of a turn: one is begun and the process is gone before anything of it is kept.
    async fn crash(&mut self, at_rest: bool) {
        if !at_rest && self.model.here().is_none() && self.model.held().is_none() {
            let words = self.words(Kind::Slow);
            let Response::Changed(sent) = self.world.send(&words).await.unwrap() else { panic!("not sent") };
            let prompt = sent.prompt.expect("it does not wait");
            let begins =
                |kind: &EventKind| matches!(kind, EventKind::TurnStarted { prompt: of } if *of == prompt);
            self.world.until(begins).await;
            self.world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
            let below = self.model.head();
            let prompt = self.model.say_below(below, &words, true);
            self.model.turns.push(Turn { prompt, tip: prompt, waits: Waits::ForGate });
            self.world.crash().await;
            self.model.cut(prompt, false);
        } else {
            self.world.crash().await;
        }
        let cut: Vec<usize> = self.model.turns.iter().map(|turn| turn.prompt).collect();
        for prompt in cut {
            self.model.cut(prompt, true);
        }
        self.world.recover().await;
    }

    /// Behind a crash nobody is connected, and the agent cannot be reached: the prompt has no session of the agent's.
    async fn send_to_nobody(&mut self) {
        if !self.model.turns.is_empty() || self.model.held().is_some() {
            return;
        }
        self.world.crash().await;
        self.said += 1;
        let words = format!("lost {}", self.said);
        *self.world.agent.refuses.lock().unwrap() = true;
        self.world.send(&words).await.unwrap();
        self.world.until_turn_ended().await;
        *self.world.agent.refuses.lock().unwrap() = false;
        let below = self.model.head();
        let prompt = self.model.write_prompt(below, &words, true, None);
        self.model.answer(prompt, prompt, FAILED);
    }

    /// The entry that a node of the model is, found by what was said on the way to it. Of prompts that say the same the
    /// earlier one was written first.
    fn id_of(&self, node: usize) -> EntryId {
        let tree = self.world.tree();
        let present = self.model.place().present;
        let mut place: Option<EntryId> = None;
        for at in self.model.path_to(Some(node)) {
            let wanted = &self.model.nodes[at];
            let same = |other: &usize| {
                let node = &self.model.nodes[*other];
                node.parent == wanted.parent && node.text == wanted.text && present.contains(other)
            };
            let earlier = (0..at).filter(same).count();
            let children = tree.children(place.as_ref());
            let child = children.iter().filter(|child| said(child) == wanted.text).nth(earlier);
            let child = child.unwrap_or_else(|| {
                let drawn = offshoot_testkit::draw(&tree);
                panic!("the model knows more: `{}` ({earlier} before it) in\n{drawn}", wanted.text)
            });
            place = Some(child.id.clone());
        }
        place.expect("a node has a text")
    }

    async fn check(&mut self) {
        let view = self.world.view().await;
        let tree = self.world.tree();
        // What is seen is what the model says. What is being said is seen as well.
        let place = self.model.place();
        let path = self.model.path_to(place.head);
        let mut expected: Vec<String> =
            path.iter().map(|node| self.model.nodes[*node].text.clone()).collect();
        let speaks = |turn: &&Turn| turn.waits == Waits::ForGate && place.head == Some(turn.tip);
        let is_told =
            self.model.turns.iter().find(speaks).is_some() && view.branch.entries.len() > path.len();
        if is_told {
            expected.push("Let me ".to_owned());
        }
        let seen: Vec<String> = view.branch.entries.iter().map(seen_text).collect();
        assert_eq!(seen, expected);
        assert_eq!(view.status.state == "ready", self.model.turns.is_empty(), "{:?}", view.status);
        assert_eq!(view.turns.len(), self.model.turns.len());
        let waiting: Vec<&str> = view.queue.iter().map(|queued| queued.prompt.text.as_str()).collect();
        let in_line: Vec<&str> = self.model.queue.iter().map(|waiting| waiting.text.as_str()).collect();
        assert_eq!(waiting, in_line);
        // All of it is safe, but for what is being said.
        let safe: Vec<String> = tree.path_to(tree.main_head()).into_iter().map(|entry| said(entry)).collect();
        assert_eq!(safe, expected[..safe.len()]);
        assert!(expected.len() - safe.len() <= 1);
        assert_eq!(tree.len(), place.present.len());
        // Nothing that was written changes, and the same records make the same tree.
        assert!(tree.log().count() >= self.log_seen);
        self.log_seen = tree.log().count();
        if self.done.len().is_multiple_of(10) {
            let (again, oddities) = SessionTree::replay(tree.log().cloned());
            assert!(oddities.is_empty(), "{oddities:?}");
            assert_eq!(offshoot_testkit::draw(&again), offshoot_testkit::draw(&tree));
        }
        turns_write_below_their_prompts(&tree);
        // A turn that has begun is bound when its agent has said so.
        if self.model.here().is_none() {
            let own = self.model.branch_session(place.head).map(|session| format!("agent-{session}"));
            let drawn = offshoot_testkit::draw(&tree);
            assert_eq!(view.branch.agent_session, own, "{drawn}\n{:?}", self.done);
        }
        agent_sessions_belong_to_one_branch(&tree);
    }
}

fn pick(from: &[usize], wish: usize) -> Option<usize> {
    if from.is_empty() { None } else { from.get(wish % from.len()).copied() }
}

fn refused(answer: Result<Response, offshoot_api::ApiError>) {
    let code = answer.unwrap_err().code;
    assert!(matches!(code, ErrorCode::Running | ErrorCode::Waiting), "{code:?}");
}

fn said(entry: &Entry) -> String {
    if matches!(entry.body, Body::Interrupted(_)) { INTERRUPTED.to_owned() } else { entry.body.text() }
}

fn seen_text(entry: &offshoot_api::views::EntryView) -> String {
    use offshoot_api::views::{BlockView, BodyView};
    match &entry.body {
        BodyView::Prompt(prompt) => prompt.text.clone(),
        BodyView::Interrupted { .. } => INTERRUPTED.to_owned(),
        BodyView::Reply { blocks, .. } => {
            let texts = blocks.iter().filter_map(|block| match block {
                BlockView::Text { text } => Some(text.as_str()),
                _ => None,
            });
            texts.collect()
        }
        other => panic!("{other:?}"),
    }
}

fn turns_write_below_their_prompts(tree: &SessionTree) {
    for entry in tree.entries().filter(|entry| !entry.body.is_prompt() && entry.turn.is_some()) {
        let parent = tree.parent(&entry.id).expect("an answer has a prompt");
        assert_eq!(parent.turn, entry.turn, "{} left its turn", entry.id);
    }
}

fn agent_sessions_belong_to_one_branch(tree: &SessionTree) {
    let mut bound: HashMap<String, Vec<&EntryId>> = HashMap::new();
    for (at, binding) in tree.bindings() {
        if let Some(session) = &binding.agent_session {
            bound.entry(session.to_string()).or_default().push(at);
        }
    }
    for (session, places) in bound {
        for pair in places.iter().flat_map(|one| places.iter().map(move |other| (*one, *other))) {
            let (one, other) = pair;
            let related = tree.is_ancestor(one, other) || tree.is_ancestor(other, one);
            assert!(related, "`{session}` is on two branches: {one}, {other}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// the active agent session is that of the head after every step.
    /// 100 times 100 to 110 steps.
    #[test]
    fn whatever_a_person_does_the_session_is_what_the_model_says(acts in prop::collection::vec(act(), 100..110)) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut play = Play::begin().await;
            for act in &acts {
                play.act(act).await;
            }
        });
    }
}
