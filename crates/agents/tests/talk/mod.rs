//! A session with one branch, one agent, and somebody who answers: the engine in miniature.

use std::path::PathBuf;
use std::sync::Arc;

use offshoot_agents::built_in::{BuiltIn, Pace};
use offshoot_agents::{Agent, AgentConnection};
use offshoot_session::agent::{
    AgentEvent, AgentEventKind, AgentInfo, AgentInput, AgentStart, ConnectionEvent, DeltaField, Environment,
    FromAgent, TreePath,
};
use offshoot_session::asks::{Answer, Asking};
use offshoot_session::handoff::{Handoff, HandoffAgent, branch_session, plan_handoff};
use offshoot_session::plan::plan_send;
use offshoot_session::turn::{Effect, End, Turn};
use offshoot_session::{AgentSessionId, Block, Body, HeadName, Prompt, SessionTree, Setting, text_of};
use offshoot_testkit::FixedStamps;
use offshoot_testkit::deadline::{Deadline, PATIENCE};
use tokio::time::timeout;

pub(crate) struct Talk {
    pub(crate) tree: SessionTree,
    pub(crate) heard: Vec<AgentEvent>,
    pub(crate) asked: Vec<Asking>,
    connection: AgentConnection,
    /// What it said about itself.
    info: AgentInfo,
    stamps: FixedStamps,
    workspace: tempfile::TempDir,
    answer: Option<Answer>,
    interrupt: Option<When>,
}

enum When {
    Words(usize),
    Allowed(String),
}

impl Talk {
    pub(crate) async fn begin(pace: Pace) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let start = AgentStart {
            session: "s".into(),
            workspace: Some(workspace.path().to_owned()),
            handoff: Handoff::New { session: None },
            context: Arc::new(TreePath { tree: SessionTree::default(), to: None }),
            settings: Vec::new(),
            environment: Environment::default(),
            host: Default::default(),
            is_watched: true,
            lease: Default::default(),
        };
        let connection = BuiltIn { pace }.connect(start).await.unwrap();
        Self {
            tree: SessionTree::default(),
            heard: Vec::new(),
            asked: Vec::new(),
            connection,
            info: AgentInfo::default(),
            stamps: FixedStamps::default(),
            workspace,
            answer: None,
            interrupt: None,
        }
    }

    /// Says something and listens until the turn is over.
    pub(crate) async fn send(&mut self, text: &str) -> End {
        let prompt = Prompt { blocks: vec![Block::Text(text.into())], ..Prompt::default() };
        let sent = plan_send(&self.tree, &HeadName::main(), prompt.clone(), &mut self.stamps).unwrap();
        self.tree = self.tree.extended(&sent.plan.records).unwrap();
        let can = BuiltIn { pace: Pace::AtOnce }.abilities(None);
        let handoff = plan_handoff(
            &self.tree,
            &sent.prompt,
            &HandoffAgent {
                name: "built_in",
                abilities: &can,
                live: self.session().as_ref(),
                new_session: None,
            },
        );
        let mut turn = Turn::begin(sent.turn.clone(), sent.prompt.clone(), handoff.provenance());
        let input = AgentInput::Prompt {
            turn: sent.turn,
            delivered_as: sent.prompt.clone(),
            entry: sent.prompt,
            prompt,
            before: Vec::new(),
        };
        self.tell(input).await;
        let mut words = 0;
        loop {
            let event = timeout(PATIENCE, self.connection.events.recv()).await.unwrap();
            let event = match event.unwrap() {
                FromAgent::Turn(event) => event,
                FromAgent::Connection(event) => {
                    let ConnectionEvent::Opened(info) = event else { continue };
                    self.info = info;
                    continue;
                }
            };
            turn.opened(&self.info, &mut self.stamps);
            self.heard.push(event.clone());
            words += usize::from(matches!(event.kind, AgentEventKind::Delta { field: DeltaField::Text, .. }));
            let asks = matches!(event.kind, AgentEventKind::Ask { .. });
            let effects = turn.on(event, &self.tree, &mut self.stamps);
            if let Some(end) = self.perform(&mut turn, effects).await {
                return end;
            }
            let due = match &self.interrupt {
                Some(When::Words(enough)) => words >= *enough,
                Some(When::Allowed(file)) if asks => {
                    let file = self.workspace.path().join(file);
                    until(move || file.exists()).await;
                    true
                }
                Some(When::Allowed(_)) | None => false,
            };
            if due {
                self.interrupt = None;
                let effects = turn.interrupt();
                if let Some(end) = self.perform(&mut turn, effects).await {
                    return end;
                }
            }
        }
    }

    async fn perform(&mut self, turn: &mut Turn, effects: Vec<Effect>) -> Option<End> {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.tree = self.tree.extended(&records).unwrap(),
                Effect::Tell(input) => self.tell(input).await,
                Effect::Ask(ask) => {
                    self.asked.push(ask.asking.clone());
                    let answer = self.answer.clone().unwrap();
                    turn.answered(&ask.id);
                    self.tell(AgentInput::Answer { turn: ask.turn, request: ask.request, answer }).await;
                }
                Effect::Close(end) => return Some(end),
                Effect::Replace { .. } | Effect::Show(_) | Effect::Checkpoint { .. } => {}
            }
        }
        None
    }

    /// Settings that are in force from the next prompt on.
    pub(crate) async fn configure(&mut self, settings: Vec<Setting>) {
        self.tell(AgentInput::Configure(settings)).await;
    }

    async fn tell(&mut self, input: AgentInput) {
        self.connection.inputs.send(input).await.unwrap();
    }

    /// What everything that is asked from now on is answered.
    pub(crate) fn answers(&mut self, answer: Answer) {
        self.answer = Some(answer);
    }

    pub(crate) fn interrupt_after_words(&mut self, words: usize) {
        self.interrupt = Some(When::Words(words));
    }

    /// When the command that was asked for has made this file.
    pub(crate) fn interrupt_when_there_is(&mut self, file: &str) {
        self.interrupt = Some(When::Allowed(file.to_owned()));
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.workspace.path().to_owned()
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.workspace.path().join(name)).ok()
    }

    fn path(&self) -> Vec<Arc<offshoot_session::Entry>> {
        self.tree.path_to(self.tree.main_head()).into_iter().cloned().collect()
    }

    pub(crate) fn last_reply(&self) -> String {
        let path = self.path();
        let reply = path.iter().rev().find(|entry| matches!(entry.body, Body::Reply(_))).unwrap();
        reply.body.text()
    }

    pub(crate) fn last_result(&self) -> (bool, String) {
        let path = self.path();
        let results = path.iter().rev().filter_map(|entry| match &entry.body {
            Body::ToolResult(result) => Some((result.failed, text_of(&result.blocks))),
            _ => None,
        });
        results.into_iter().next().unwrap()
    }

    /// What stands on the branch.
    pub(crate) fn kinds(&self) -> String {
        let kind = |body: &Body| match body {
            Body::Prompt(_) => "prompt",
            Body::Reply(_) => "reply",
            Body::ToolResult(_) => "tool_result",
            Body::Interrupted(_) => "interrupted",
            _ => "other",
        };
        self.path().iter().map(|entry| kind(&entry.body)).collect::<Vec<_>>().join(" ")
    }

    fn session(&self) -> Option<AgentSessionId> {
        branch_session(&self.tree, self.tree.main_head())
    }

    /// The agent's own session of each turn.
    pub(crate) fn sessions(&self) -> Vec<AgentSessionId> {
        let path = self.path();
        path.iter().filter_map(|entry| self.tree.binding(&entry.id)?.agent_session.clone()).collect()
    }

    /// Nothing of the agent is left.
    pub(crate) async fn close(self) {
        self.connection.close().await.unwrap();
    }
}

/// Lets others run until something is so.
async fn until(is_so: impl Fn() -> bool) {
    let deadline = Deadline::begin("a file of the agent");
    while !is_so() {
        deadline.check();
        tokio::task::yield_now().await;
    }
}
