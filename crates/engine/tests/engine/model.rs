//! A person does anything in any order, and a simple model says what must be there.
//!
//! The model is a list of texts with parents, where the head is, and which child was visited last. After every step the
//! session in view is compared with it, and the invariants of the architecture hold.

use std::collections::HashMap;
use std::time::Duration;

use offshoot_api::request::{self, IfRunning, Step, Summary};
use offshoot_api::views::AnswerView;
use offshoot_api::{ErrorCode, Request, Response};
use offshoot_session::agent::Said;
use offshoot_session::{Body, Entry, EntryId, SessionTree};
use proptest::prelude::*;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::World;

const INTERRUPTED: &str = "<interrupted>";

#[derive(Clone, Debug)]
enum Act {
    Send,
    /// A turn that says something and then waits.
    SendSlow,
    /// A turn that asks.
    SendAsking,
    Edit {
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
    Interrupt,
    Answer,
    OpenGate,
    Crash,
}

fn act() -> impl Strategy<Value = Act> {
    let if_running = prop_oneof![3 => Just(IfRunning::Wait), 1 => Just(IfRunning::AbortFirst)];
    prop_oneof![
        6 => Just(Act::Send),
        2 => Just(Act::SendSlow),
        2 => Just(Act::SendAsking),
        3 => (0..20usize, if_running).prop_map(|(prompt, if_running)| Act::Edit { prompt, if_running }),
        4 => (0..20usize, any::<bool>()).prop_map(|(prompt, next)| Act::Arrow { prompt, next }),
        3 => (0..60usize).prop_map(|entry| Act::Navigate { entry }),
        2 => Just(Act::Interrupt),
        2 => Just(Act::Answer),
        3 => Just(Act::OpenGate),
        1 => Just(Act::Crash),
    ]
}

#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    text: String,
    is_prompt: bool,
    /// The agent's session that a prompt was said in.
    session: Option<usize>,
}

/// What the turn that runs is waiting for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Waits {
    ForGate,
    ForAnswer,
}

#[derive(Debug, Default)]
struct Model {
    nodes: Vec<Node>,
    head: Option<usize>,
    visited: HashMap<Option<usize>, usize>,
    running: Option<Waits>,
    /// What waits, and the prompt below whose answer it will be said.
    queue: Vec<(String, usize)>,
    /// How many sessions the agent has begun.
    sessions: usize,
}

impl Model {
    fn add(&mut self, text: &str, is_prompt: bool) {
        let parent = self.head;
        self.nodes.push(Node { parent, text: text.to_owned(), is_prompt, session: None });
        self.go(Some(self.nodes.len() - 1));
    }

    fn go(&mut self, to: Option<usize>) {
        self.head = to;
        let mut at = to;
        while let Some(node) = at {
            at = self.nodes[node].parent;
            self.visited.insert(at, node);
        }
    }

    fn path(&self) -> Vec<usize> {
        self.path_to(self.head)
    }

    /// The agent's session that knows this place and nothing more: the one of the last prompt, if the place is the end of
    /// its answer and nobody went on with the session elsewhere.
    fn session_at(&self, at: Option<usize>) -> Option<usize> {
        let path = self.path_to(at);
        let prompt = path.iter().rev().find(|node| self.nodes[**node].is_prompt)?;
        let session = self.nodes[*prompt].session?;
        let goes_on = self.nodes.iter().any(|node| node.parent == at && !node.is_prompt);
        let is_elsewhere = |(at, node): (usize, &Node)| node.session == Some(session) && !path.contains(&at);
        (!goes_on && !self.nodes.iter().enumerate().any(is_elsewhere)).then_some(session)
    }

    fn path_to(&self, at: Option<usize>) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = at;
        while let Some(node) = at {
            path.push(node);
            at = self.nodes[node].parent;
        }
        path.reverse();
        path
    }

    fn prompts_on_path(&self) -> Vec<usize> {
        self.path().into_iter().filter(|node| self.nodes[*node].is_prompt).collect()
    }

    fn say(&mut self, text: &str) {
        self.say_and_then(text, None);
    }

    /// What waits on this branch for nobody any more waits for this, and `later` behind it.
    fn say_and_then(&mut self, text: &str, later: Option<&str>) {
        let session = self.session_at(self.head).unwrap_or_else(|| {
            self.sessions += 1;
            self.sessions
        });
        self.add(text, true);
        let prompt = self.nodes.len() - 1;
        self.nodes[prompt].session = Some(session);
        let path = self.path();
        for (_, place) in self.queue.iter_mut().filter(|(_, place)| path.contains(place)) {
            *place = prompt;
        }
        self.queue.extend(later.map(|later| (later.to_owned(), prompt)));
        match text.split(' ').next() {
            Some("slow") => self.running = Some(Waits::ForGate),
            Some("ask") => self.running = Some(Waits::ForAnswer),
            _ => {
                self.add(&format!("re: {text}"), false);
                self.say_next(prompt);
            }
        }
    }

    fn say_next(&mut self, prompt: usize) {
        if let Some(next) = self.queue.iter().position(|(_, place)| *place == prompt) {
            let (next, _) = self.queue.remove(next);
            self.say(&next);
        }
    }

    /// What waits on the way to the head for a turn that was cut off.
    fn held(&self) -> Option<usize> {
        let path = self.path();
        self.queue.iter().position(|(_, place)| path.contains(place))
    }

    fn send(&mut self, text: &str) {
        if self.running.is_some() {
            let prompt = self.prompts_on_path().pop().expect("a turn has a prompt");
            return self.queue.push((text.to_owned(), prompt));
        }
        match self.held() {
            Some(first) => {
                let (first, _) = self.queue.remove(first);
                self.say_and_then(&first, Some(text));
            }
            None => self.say(text),
        }
    }

    /// What had been said is kept, and one entry says that it was cut off.
    fn cut(&mut self) {
        if self.running.take() == Some(Waits::ForGate) {
            self.add("Let me ", false);
        }
        self.add(INTERRUPTED, false);
    }

    fn finish(&mut self) {
        let said = match self.running.take() {
            Some(Waits::ForGate) => "Let me see.",
            Some(Waits::ForAnswer) => "It ran.",
            None => return,
        };
        let prompt = self.prompts_on_path().pop().expect("a turn has a prompt");
        self.add(said, false);
        self.say_next(prompt);
    }

    /// Another version of a prompt, if there is one.
    fn arrow(&self, prompt: usize, next: bool) -> Option<usize> {
        let is_version = |node: &Node| node.is_prompt && node.parent == self.nodes[prompt].parent;
        let versions: Vec<usize> = (0..self.nodes.len()).filter(|at| is_version(&self.nodes[*at])).collect();
        let at = versions.iter().position(|version| *version == prompt)?;
        let wanted = if next { at + 1 } else { at.checked_sub(1)? };
        let mut leaf = *versions.get(wanted)?;
        while let Some(child) = self.visited.get(&Some(leaf)) {
            leaf = *child;
        }
        Some(leaf)
    }
}

struct Play {
    world: World,
    model: Model,
    said: usize,
    log_seen: usize,
    checks: usize,
}

impl Play {
    async fn begin() -> Self {
        Self {
            world: World::new(ScriptedAgent::new()).await,
            model: Model::default(),
            said: 0,
            log_seen: 0,
            checks: 0,
        }
    }

    /// Everything comes to rest before time goes on, and drafts are kept.
    async fn rest(&self) {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    fn words(&mut self, kind: &str) -> String {
        self.said += 1;
        let words = format!("{kind} {}", self.said);
        let does = match kind {
            "slow" => vec![Do::Say(Said::words("m", "Let me ")), Do::Gate, Do::Say(Said::words("m", "see."))],
            "ask" => vec![Do::AskToRun("ls"), Do::Say(crate::scripted::whole("It ran."))],
            _ => return words,
        };
        self.world.agent.also_on(&words, does);
        words
    }

    async fn act(&mut self, act: &Act) {
        match act {
            Act::Send => self.send("say").await,
            Act::SendSlow => self.send("slow").await,
            Act::SendAsking => self.send("ask").await,
            Act::Edit { prompt, if_running } => self.edit(*prompt, *if_running).await,
            Act::Arrow { prompt, next } => self.arrow(*prompt, *next).await,
            Act::Navigate { entry } => self.navigate(*entry).await,
            Act::Interrupt => self.interrupt().await,
            Act::Answer => self.answer().await,
            Act::OpenGate => self.open_gate().await,
            Act::Crash => self.crash().await,
        }
        self.rest().await;
        self.check().await;
    }

    async fn send(&mut self, kind: &str) {
        let words = self.words(kind);
        let sent = self.world.send(&words).await.unwrap();
        let Response::Sent(sent) = sent else { panic!("{sent:?}") };
        let waits = self.model.running.is_some() || self.model.held().is_some();
        assert_eq!(sent.queued.is_some(), waits);
        self.model.send(&words);
    }

    async fn edit(&mut self, prompt: usize, if_running: IfRunning) {
        let prompts = self.model.prompts_on_path();
        let Some(prompt) = pick(&prompts, prompt) else { return };
        let words = self.words("say");
        let edit = request::Edit {
            session: "s".into(),
            at: self.id_of(prompt).to_string(),
            text: words.clone(),
            if_running,
            ..Default::default()
        };
        let edited = self.world.call(Request::Edit(edit)).await;
        if self.model.running.is_some() && if_running == IfRunning::Wait {
            return refused(edited);
        }
        edited.unwrap();
        if self.model.running.is_some() {
            self.model.cut();
        }
        self.model.head = self.model.nodes[prompt].parent;
        self.model.say(&words);
    }

    async fn arrow(&mut self, prompt: usize, next: bool) {
        let prompts = self.model.prompts_on_path();
        let Some(prompt) = pick(&prompts, prompt) else { return };
        let step = if next { Step::Next } else { Step::Previous };
        let at = self.id_of(prompt).to_string();
        let version =
            request::Version { session: "s".into(), at: Some(at), step, if_running: IfRunning::Wait };
        let moved = self.world.call(Request::Version(version)).await;
        match (self.model.running, self.model.arrow(prompt, next)) {
            (Some(_), _) => refused(moved),
            (None, None) => assert_eq!(moved.unwrap_err().code, ErrorCode::NoSuchVersion),
            (None, Some(leaf)) => {
                moved.unwrap();
                self.model.go(Some(leaf));
            }
        }
    }

    async fn navigate(&mut self, entry: usize) {
        let all: Vec<usize> = (0..self.model.nodes.len()).collect();
        let Some(to) = pick(&all, entry) else { return };
        let to_id = self.id_of(to).to_string();
        let (summary, if_running) = (Summary::None, IfRunning::Wait);
        let navigate = request::Navigate { session: "s".into(), to: to_id, summary, if_running };
        let moved = self.world.call(Request::Navigate(navigate)).await;
        if self.model.running.is_some() {
            return refused(moved);
        }
        moved.unwrap();
        if self.model.head != Some(to) {
            let node = &self.model.nodes[to];
            let place = if node.is_prompt { node.parent } else { Some(to) };
            self.model.go(place);
        }
    }

    async fn interrupt(&mut self) {
        let interrupt = request::Interrupt { session: "s".into(), turn: None };
        let stopped = self.world.call(Request::Interrupt(interrupt)).await;
        assert_eq!(stopped.is_ok(), self.model.running.is_some());
        if self.model.running.is_some() {
            self.model.cut();
        }
    }

    async fn answer(&mut self) {
        let asks = self.world.view().await.asks;
        assert_eq!(asks.len(), usize::from(self.model.running == Some(Waits::ForAnswer)));
        let Some(ask) = asks.first() else { return };
        let answer = AnswerView::Allow { input: None };
        let answer = request::Answer { session: "s".into(), ask: ask.id.clone(), answer };
        assert_eq!(self.world.call(Request::Answer(answer)).await, Ok(Response::Done { changed: true }));
        self.model.finish();
    }

    async fn open_gate(&mut self) {
        if self.model.running == Some(Waits::ForGate) {
            self.world.agent.open_gate();
            self.model.finish();
        }
    }

    async fn crash(&mut self) {
        self.world.crash().await;
        if self.model.running.is_some() {
            self.model.cut();
        }
    }

    /// The entry that a node of the model is, found by what was said on the way to it.
    fn id_of(&self, node: usize) -> EntryId {
        let mut texts = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at {
            texts.push(self.model.nodes[node].text.as_str());
            at = self.model.nodes[node].parent;
        }
        let tree = self.world.tree();
        let mut place: Option<EntryId> = None;
        for text in texts.into_iter().rev() {
            let children = tree.children(place.as_ref());
            let child = children.iter().find(|child| said(child) == text).expect("the model knows more");
            place = Some(child.id.clone());
        }
        place.expect("a node has a text")
    }

    async fn check(&mut self) {
        let view = self.world.view().await;
        let tree = self.world.tree();
        // What is seen is what the model says. What is being said is seen as well.
        let mut expected: Vec<String> =
            self.model.path().into_iter().map(|node| self.model.nodes[node].text.clone()).collect();
        if self.model.running == Some(Waits::ForGate) {
            expected.push("Let me ".to_owned());
        }
        let seen: Vec<String> = view.branch.entries.iter().map(seen_text).collect();
        assert_eq!(seen, expected);
        assert_eq!(view.status.state == "ready", self.model.running.is_none(), "{:?}", view.status);
        assert_eq!(view.queue.len(), self.model.queue.len());
        // All of it is safe, but for what is being said.
        let safe: Vec<String> = tree.path_to(tree.main_head()).into_iter().map(|entry| said(entry)).collect();
        assert_eq!(safe, expected[..safe.len()]);
        assert!(expected.len() - safe.len() <= 1);
        assert_eq!(tree.len(), self.model.nodes.len());
        // Nothing that was written changes, and the same records make the same tree.
        assert!(tree.log().count() >= self.log_seen);
        self.log_seen = tree.log().count();
        self.checks += 1;
        if self.checks.is_multiple_of(10) {
            let (again, oddities) = SessionTree::replay(tree.log().cloned());
            assert!(oddities.is_empty(), "{oddities:?}");
            assert_eq!(offshoot_testkit::draw(&again), offshoot_testkit::draw(&tree));
        }
        turns_write_below_their_prompts(&tree);
        // Whoever looks at a branch looks at its agent's session, or at none.
        if self.model.running.is_none() {
            let own = self.model.session_at(self.model.head).map(|session| format!("agent-{session}"));
            assert_eq!(view.branch.agent_session, own);
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
    if entry.body == Body::Interrupted { INTERRUPTED.to_owned() } else { entry.body.text() }
}

fn seen_text(entry: &offshoot_api::views::EntryView) -> String {
    use offshoot_api::views::{BlockView, BodyView};
    match &entry.body {
        BodyView::Prompt(prompt) => prompt.text.clone(),
        BodyView::Interrupted => INTERRUPTED.to_owned(),
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
    for entry in tree.entries().filter(|entry| !entry.body.is_prompt()) {
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
