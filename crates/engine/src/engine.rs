//! Who answers requests, and which sessions are open.
//!
//! A session is opened by the first request about it and stays open while it is used, with the engine at the longest.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use offshoot_agents::Agent;
use offshoot_api::response::{Changed, Hello};
use offshoot_api::views::{ModelView, RuleView, StatusRow};
use offshoot_api::{
    Answering, ApiError, Caller, CallerContext, ErrorCode, EventStream, Following, Point, Request, Response,
    Service, request,
};
use offshoot_session::agent::{Host, canonical_name};
use offshoot_session::asks::RuleId;
use offshoot_session::plan::born;
use offshoot_session::{Fact, Record, SessionHeader, SessionId, Setting, Stamps, TitleSource};
use offshoot_store::CreateError;
use tokio::sync::oneshot;
use tracing::{debug, info};

use crate::actor::{Brought, Call, Message, chosen_ids, require_client_id};
use crate::agent_sessions::AgentSessions;
use crate::blocking::Blocking;
use crate::environment::environment_for;
use crate::failure::{bad_settings, internal, not_created, not_listed, not_read};
use crate::feed::EventNumbers;
use crate::idle_agents::IdleAgents;
use crate::installed::{listed, probed};
use crate::leftovers::Swept;
use crate::open_sessions::OpenSessions;
use crate::rules::RuleBook;
use crate::settings::{Settings, SettingsSource};
use crate::shelf::Shelf;
use crate::told::Told;
use crate::view::{glance_at, session_row};
use crate::workplaces::Workplaces;

/// What an engine is made of. Where things lie and what time it is comes from outside.
pub struct Parts {
    pub shelf: Arc<dyn Shelf>,
    pub agents: Vec<Arc<dyn Agent>>,
    /// Time and ids for a caller: of the same row for all its requests.
    pub stamps: MakeStamps,
    pub rules: RuleBook,
    pub settings: SettingsSource,
    /// How programs of agents are started; without their paths, which are settings.
    pub host: Host,
    /// Counts the engine processes of a home, so that no two of them give an event the same number. An engine inside a
    /// command has 0: no other process sees its numbers.
    pub epoch: u64,
}

pub type MakeStamps = Arc<dyn Fn(&CallerContext) -> Box<dyn Stamps + Send> + Send + Sync>;

/// What all sessions share.
pub(crate) struct Shared {
    pub(crate) shelf: Arc<dyn Shelf>,
    pub(crate) agents: Arc<BTreeMap<String, Arc<dyn Agent>>>,
    pub(crate) stamps: MakeStamps,
    pub(crate) rules: RuleBook,
    pub(crate) settings: SettingsSource,
    pub(crate) host: Host,
    pub(crate) workplaces: Workplaces,
    pub(crate) numbers: EventNumbers,
    pub(crate) agent_sessions: Arc<AgentSessions>,
    pub(crate) idle_agents: Arc<IdleAgents>,
    pub(crate) swept: Swept,
    /// Held by the request that undoes or redoes a step of two sessions.
    pub(crate) steps: Arc<tokio::sync::Mutex<()>>,
}

impl Shared {
    /// An engine inside a command lives for one request, and what it does is not worth a line every time.
    pub(crate) fn is_process(&self) -> bool {
        !self.numbers.is_of_command()
    }

    /// For reading settings: a few small files.
    fn for_settings(&self) -> Blocking {
        if self.is_process() { Blocking::OnThread } else { Blocking::Inline }
    }

    /// For opening a session. A command reads a small one at once; Ctrl-C ends the reading of a larger one.
    pub(crate) fn for_opening(&self, session: &SessionId) -> Blocking {
        let is_quick = !self.is_process() && self.shelf.is_small(session);
        if is_quick { Blocking::Inline } else { Blocking::OnThread }
    }

    /// The settings in force for a project and a caller.
    pub(crate) async fn settings_about(
        &self,
        project: Option<&str>,
        context: &Arc<CallerContext>,
    ) -> Result<Arc<Settings>, String> {
        self.settings.about(project, context, self.for_settings()).await
    }
}

/// One that is dropped without being shut down leaves its sessions as a crash would.
pub struct Engine {
    shared: Arc<Shared>,
    sessions: Arc<OpenSessions>,
}

impl Engine {
    pub fn new(parts: Parts) -> Self {
        let Parts { shelf, agents, stamps, rules, settings, host, epoch } = parts;
        let agents: BTreeMap<String, Arc<dyn Agent>> =
            agents.into_iter().map(|agent| (agent.name().to_owned(), agent)).collect();
        let (workplaces, numbers) = (Workplaces::default(), EventNumbers::of_epoch(epoch));
        let (agent_sessions, idle_agents, steps) = (Arc::default(), Arc::default(), Arc::default());
        // A command lives beside an engine that may run these agents.
        let runs = host.runs.clone().filter(|_| !numbers.is_of_command());
        let swept = runs.map_or_else(Swept::already, Swept::begin);
        let shared = Arc::new(Shared {
            shelf,
            agents: Arc::new(agents),
            stamps,
            rules,
            settings,
            host,
            workplaces,
            numbers,
            agent_sessions,
            idle_agents,
            swept,
            steps,
        });
        let (count, version) = (shared.agents.len() as u64, env!("CARGO_PKG_VERSION"));
        match shared.is_process() {
            true => info!(name: "engine begins", count, version),
            false => debug!(name: "engine begins", count, version),
        }
        Self { sessions: OpenSessions::new(shared.clone()), shared }
    }

    /// Closes a session that is open: its turns are interrupted, its agents end, its followers are told.
    pub async fn close(&self, session: &str) {
        self.sessions.close(&SessionId::from(session)).await;
    }

    /// Closes all sessions.
    pub async fn shut_down(&self) {
        let sessions = self.open_sessions() as u64;
        self.sessions.close_all().await;
        match self.shared.is_process() {
            true => info!(name: "engine ends", sessions),
            false => debug!(name: "engine ends", sessions),
        }
    }

    /// Whether nothing runs, waits for an answer, is followed or is told to a hook in any session.
    pub async fn is_idle(&self) -> bool {
        for session in self.sessions.names() {
            if !self.sessions.is_idle(&session).await {
                return false;
            }
        }
        true
    }

    pub fn open_sessions(&self) -> usize {
        self.sessions.names().len()
    }

    async fn answer(&self, caller: &Caller, request: Request) -> Result<Response, ApiError> {
        match request {
            Request::Hello(_) => Ok(hello()),
            Request::Engine(_) => Err(ApiError::new(ErrorCode::Invalid, "there is no engine process here")),
            Request::List(list) => self.list(caller, list).await,
            Request::Agents => self.agents(caller).await,
            Request::Status => Ok(Response::Status { rows: self.status(caller).await }),
            Request::Begin(begin) => self.begin(caller, begin).await,
            Request::Introduce(introduce) => self.introduce(introduce).await,
            Request::Permissions(permissions) => self.permissions(caller, permissions.session).await,
            Request::RevokePermission(revoke) => self.revoke(RuleId::named(revoke.rule)).await,
            Request::Follow(_) | Request::Unfollow(_) => {
                Err(ApiError::new(ErrorCode::Invalid, "events are followed over a connection"))
            }
            request => match request.session().map(SessionId::from) {
                Some(session) => {
                    let brought = Brought::by_caller(caller.id);
                    match self.ask_for(caller, brought, &session, request).await? {
                        Response::Changed(changed) => self.answered_in_child(caller, *changed).await,
                        response => Ok(response),
                    }
                }
                None => Err(internal("a request about no session that nobody answers")),
            },
        }
    }

    /// A message that began a session is answered there. Hooks have let it pass where it was sent.
    async fn answered_in_child(&self, caller: &Caller, changed: Changed) -> Result<Response, ApiError> {
        let (Some(child), Some(turn)) = (&changed.new_session, &changed.turn) else {
            return Ok(Response::Changed(Box::new(changed)));
        };
        let (session, child) = (child.id.clone(), SessionId::from(child.id.as_str()));
        let resume = match changed.repeated {
            // Its turn has the id of the request.
            true => request::Resume { session, at: None, client_id: Some(turn.clone()) },
            false => {
                let at = changed.prompt.clone().map(|entry| Point::Entry { entry });
                request::Resume { session, at, client_id: None }
            }
        };
        let brought = Brought::asked_for(caller.id);
        match self.ask_for(caller, brought, &child, Request::Resume(resume)).await? {
            Response::Changed(there) => {
                let Changed { prompt, turn, end, place, version, entries, .. } = *there;
                let changed = Changed { prompt, turn, end, place, version, entries, ..changed };
                Ok(Response::Changed(Box::new(changed)))
            }
            other => Ok(other),
        }
    }

    /// What the engine needs to know to answer this caller.
    async fn ask(
        &self,
        caller: &Caller,
        session: &SessionId,
        request: Request,
    ) -> Result<Response, ApiError> {
        self.ask_for(caller, Brought::default(), session, request).await
    }

    /// Hands a request to its session and waits for the answer.
    async fn ask_for(
        &self,
        caller: &Caller,
        brought: Brought,
        session: &SessionId,
        request: Request,
    ) -> Result<Response, ApiError> {
        let (reply, answer) = oneshot::channel();
        let call = Call { request, reply, brought, context: caller.context.clone() };
        self.sessions.tell(session, Message::Call(call)).await?;
        answer.await.map_err(|_| disconnected())?
    }

    async fn agents(&self, caller: &Caller) -> Result<Response, ApiError> {
        let (shared, context) = (self.shared.clone(), caller.context.clone());
        let settings = shared.settings_about(context.folder.as_deref(), &context).await;
        let settings = settings.map_err(bad_settings)?;
        let environment = environment_for(&context, &settings);
        let host_for = |agent: &str| settings.host_for(agent, &shared.host);
        let probes = probed(&shared.agents, host_for, &environment).await;
        let listed = move || Ok(listed(&shared.agents, &probes, &settings.agent_programs, &environment));
        let agents = blocking(listed).await?;
        Ok(Response::Agents { agents })
    }

    async fn begin(&self, caller: &Caller, mut begin: request::Begin) -> Result<Response, ApiError> {
        // which one is the usual may change; who was spoken with does not
        // Settings that cannot be read keep nobody from beginning: the first prompt will need them.
        let settings = self.shared.settings_about(begin.project.as_deref(), &caller.context).await;
        let settings = settings.unwrap_or_default();
        begin.agent = begin.agent.or_else(|| settings.default_agent.clone());
        if let Some(agent) = begin.agent.as_ref().and_then(|agent| self.shared.agents.get(agent)) {
            let model: Option<offshoot_session::Model> = begin.model.clone().map(Into::into);
            let environment = environment_for(&caller.context, &settings);
            let host = settings.host_for(agent.name(), &self.shared.host);
            if model.is_some() && agent.needs_probe(&host, &environment) {
                // One that cannot be asked says why when it is connected.
                let _ = agent.probe(&host, &environment).await;
            }
            let abilities = agent.abilities(model.as_ref());
            let model = model.map(|model| Setting::Model { role: None, model });
            abilities.support(agent.title(), model.as_slice())?;
        }
        if begin.agent == settings.default_agent {
            begin.model = begin.model.or_else(|| settings.default_model.as_ref().map(ModelView::from));
        }
        if begin.agent.as_ref().is_some_and(|agent| !self.shared.agents.contains_key(agent)) {
            return Err(ApiError::new(ErrorCode::NoAgent, "no such agent"));
        }
        let is_again = begin.client_id.is_some();
        if let Some(client_id) = &begin.client_id {
            require_client_id(client_id)?;
        }
        let (id, records) = beginning(begin, (self.shared.stamps)(&caller.context).as_mut());
        let shelf = self.shared.shelf.clone();
        let created = blocking(move || Ok(shelf.create(&records))).await?;
        match created {
            // Its id is that of the request, so it began with it.
            Err(CreateError::Exists(_)) if is_again => {}
            created => created.map_err(|error| not_created(&error))?,
        }
        let open = request::Open { session: id.to_string(), turns: None, turn: None, at: None };
        self.ask(caller, &id, Request::Open(open)).await
    }

    /// It is known from now on; its journal begins with the first change.
    async fn introduce(&self, introduce: request::Introduce) -> Result<Response, ApiError> {
        let (shelf, id) = (self.shared.shelf.clone(), SessionId::from(introduce.session));
        let path = PathBuf::from(introduce.path);
        let introduced = blocking(move || {
            shelf.introduce(&id, &path).map_err(|why| ApiError::new(ErrorCode::NotFound, why))
        });
        introduced.await.map(|()| Response::Done { changed: false })
    }

    async fn list(&self, caller: &Caller, list: request::List) -> Result<Response, ApiError> {
        let shared = self.shared.clone();
        let mut sessions = blocking(move || {
            let mut rows = Vec::new();
            let mut glances = shared.shelf.glances();
            for id in shared.shelf.list().map_err(|error| not_listed(&error))? {
                let glance = match glances.remove(&id) {
                    Some(glance) => Some(glance),
                    None => {
                        let book = shared.shelf.open(&id).map_err(|error| not_read(&error))?;
                        book.and_then(|book| glance_at(book.tree()))
                    }
                };
                rows.extend(glance.map(|glance| session_row(&id, glance)));
            }
            Ok(rows)
        })
        .await?;
        if let Some(project) = list.project {
            sessions.retain(|row| row.project.as_ref() == Some(&project));
        }
        let mut urgent: BTreeMap<String, StatusRow> = BTreeMap::new();
        for row in self.status(caller).await {
            urgent.entry(row.session.clone()).or_insert(row);
        }
        for row in &mut sessions {
            if let Some(status) = urgent.remove(&row.id) {
                row.status = status.status;
            }
        }
        sessions.sort_by_key(|row| std::cmp::Reverse(row.active_at));
        sessions.truncate(list.limit.unwrap_or(usize::MAX));
        Ok(Response::Sessions { sessions })
    }

    /// What runs in all sessions that are open, what waits for a person first.
    async fn status(&self, caller: &Caller) -> Vec<StatusRow> {
        let mut rows = Vec::new();
        for session in self.sessions.names() {
            if let Ok(Response::Status { rows: more }) = self.ask(caller, &session, Request::Status).await {
                rows.extend(more);
            }
        }
        rows.sort_by_key(|row| (row.status.state != "waiting", row.since));
        rows
    }

    async fn permissions(&self, caller: &Caller, session: Option<String>) -> Result<Response, ApiError> {
        let rules = match session {
            None => self.shared.rules.all().map_err(|error| internal(error.to_string()))?,
            Some(session) => {
                let id = SessionId::from(session.as_str());
                let open = Request::Open(request::Open { session, turns: Some(0), turn: None, at: None });
                let opened = self.ask(caller, &id, open).await?;
                let project = if let Response::Session(view) = opened { view.project } else { None };
                self.shared.rules.reaching(&id, project.as_deref()).iter().cloned().collect()
            }
        };
        Ok(Response::Permissions { rules: rules.iter().map(RuleView::from).collect() })
    }

    async fn revoke(&self, rule: RuleId) -> Result<Response, ApiError> {
        let rules = self.shared.rules.clone();
        let revoked =
            blocking(move || rules.revoke(&rule).map_err(|error| internal(error.to_string()))).await?;
        if !revoked {
            return Err(ApiError::new(ErrorCode::NotFound, "there is no such rule"));
        }
        Ok(Response::Done { changed: true })
    }

    async fn events(&self, caller: &Caller, session: &str, after: u64) -> Result<EventStream, ApiError> {
        let (reply, events) = oneshot::channel();
        let follow = Message::Follow { after, reply, context: caller.context.clone() };
        self.sessions.tell(&SessionId::from(session), follow).await?;
        events.await.map_err(|_| disconnected())?
    }
}

impl Service for Engine {
    fn call<'s>(&'s self, caller: &'s Caller, mut request: Request) -> Answering<'s> {
        Box::pin(async move {
            caller.may(&request)?;
            if let Some(agent) = request.agent_mut() {
                *agent = canonical_name(agent).to_owned();
            }
            let told = Told::of(&request);
            let answer = self.answer(caller, request).await;
            told.answered(&answer);
            answer
        })
    }

    fn follow<'s>(&'s self, caller: &'s Caller, session: &'s str, after_seq: u64) -> Following<'s> {
        Box::pin(self.events(caller, session, after_seq))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("open_sessions", &self.open_sessions()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("settings", &self.settings).finish_non_exhaustive()
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| internal("the store broke down"))?
}

fn beginning(begin: request::Begin, stamps: &mut (dyn Stamps + Send)) -> (SessionId, Vec<Record>) {
    let stamps = &mut chosen_ids(stamps, begin.client_id.as_deref());
    let id = stamps.session_id();
    let now = stamps.now();
    let mut header = SessionHeader::new(id.clone(), now);
    header.project = begin.project;
    header.agent = begin.agent;
    header.model = begin.model.map(Into::into);
    let mut records = vec![Record::opened(header)];
    if let Some(title) = begin.title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty()) {
        let fact = Fact::Title { title: Some(title), source: TitleSource::User };
        records.push(Record::marked(now, fact));
    }
    let operation = stamps.operation_id();
    born(&mut records, "new session", operation, stamps);
    (id, records)
}

fn hello() -> Response {
    Response::Hello(Hello {
        program: "offshoot".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: offshoot_api::PROTOCOL,
        process: std::process::id(),
    })
}

pub(crate) fn disconnected() -> ApiError {
    ApiError::new(ErrorCode::Disconnected, "the session was closed before it answered")
}
