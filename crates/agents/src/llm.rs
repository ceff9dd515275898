//! Models of any provider, asked directly: Offshoot is their agent. It owns the context, runs the tools, and so can fork
//! anywhere.
//!
//! | idea | module |
//! |---|---|
//! | what the model reads of a branch | `conversation` |
//! | the protocols: requests and streams | `wire` |
//! | an answer as it grows | `answer` |
//! | servers, keys, lists of models | `provider`, `secrets`, `models` |
//! | one request | `request`, `failure`, `retry` |
//! | a turn: requests and tools until the model stops | `turn` |
//! | what the model can do | `tools`, `limits` |
//!
//! The first four decide and do nothing; `request` and `turn` act.

mod answer;
mod channel;
mod conversation;
mod failure;
mod limits;
mod models;
mod provider;
mod request;
mod retry;
mod secrets;
mod system;
mod tools;
mod turn;
pub mod wire;

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use futures_util::future::join_all;
use offshoot_session::agent::{
    Abilities, AgentInfo, AgentInput, AgentStart, ConnectionEvent, Environment, FailureKind, FromAgent, Host,
    SettingSupport, SettingsSupport, list,
};
use offshoot_session::tokens::context_window;
use offshoot_session::{Model, Setting};
use tokio::sync::mpsc;

use channel::{Listener, Reporter, Stopped};
use limits::{Limits, MODES};
use request::Asking;
use tools::Workspace;
use turn::{Place, Turn};

use crate::http::{self, Client, Proxies};
use crate::{Agent, AgentConnection, ConnectError, Connecting, Probe, ProbedProvider, Probing};

pub const NAME: &str = "llm";
pub const TITLE: &str = "models by API";

/// Of a server that has not said which models it has.
const SILENT: &str = "it does not answer";

#[derive(Debug, Default)]
pub struct Llm {
    /// Turns that use the same proxies share connections.
    clients: Mutex<HashMap<Proxies, Client>>,
}

impl Agent for Llm {
    fn name(&self) -> &str {
        NAME
    }

    fn title(&self) -> &str {
        TITLE
    }

    /// It comes with this program; its models are those of all providers that can be asked.
    fn probe<'a>(&'a self, host: &'a Host, environment: &'a Environment) -> Probing<'a> {
        Box::pin(async move {
            let names = provider::names(&host.providers);
            let lists = join_all(names.iter().map(|name| self.probe_provider(name, host, environment))).await;
            let version = Some(env!("CARGO_PKG_VERSION").to_owned());
            let (providers, models): (Vec<_>, Vec<_>) = lists.into_iter().unzip();
            Ok(Probe { version, models: Some(models.concat()), providers })
        })
    }

    fn abilities(&self, model: Option<&Model>) -> Abilities {
        let tools: Vec<&str> = tools::definitions().iter().map(|tool| tool.name).collect();
        let settings = SettingsSupport {
            mode: SettingSupport::No { reason: "it has none" },
            service_tier: SettingSupport::No { reason: "it has none" },
            ..SettingsSupport::default()
        };
        Abilities {
            many_turns: true,
            stateless: true,
            // It reads the branch for every prompt, so it continues anywhere.
            resume: true,
            fork_at_tip: true,
            fork_at_message: true,
            interrupt: true,
            permissions: true,
            images: true,
            compaction: true,
            context_window: model.and_then(context_window),
            tools: list(&tools),
            permission_modes: list(&MODES),
            settings,
            ..Abilities::default()
        }
    }

    fn connect(&self, start: AgentStart) -> Connecting<'_> {
        Box::pin(async move {
            let place = self.place(&start).await?;
            let limits = Limits::of(&start.settings);
            Ok(AgentConnection::served_by(move |inputs, events| serve(start, place, limits, inputs, events)))
        })
    }
}

impl Llm {
    /// A server and its models. One that cannot be asked has those of the settings.
    async fn probe_provider(
        &self,
        name: &str,
        host: &Host,
        environment: &Environment,
    ) -> (ProbedProvider, Vec<Model>) {
        let mut probed = ProbedProvider { name: name.to_owned(), url: None, problem: None };
        let server = match provider::server(name, &host.providers, environment) {
            Ok(server) => server,
            Err(error) => {
                probed.problem = Some(error.to_string());
                return (probed, Vec::new());
            }
        };
        probed.url = Some(server.shown_url());
        let mut names = server.models.clone();
        match self.client(environment) {
            Err(error) => probed.problem = Some(http::told(error)),
            Ok(client) => match Asking::prepare(server, client, &host.providers, environment).await {
                Err(error) => probed.problem = Some(error.to_string()),
                Ok(asking) => {
                    let listed = models::list(&asking, host.cache.as_deref()).await;
                    names = listed.models;
                    probed.problem = (!listed.answers && names.is_empty()).then(|| SILENT.to_owned());
                }
            },
        }
        let model = |model: String| Model { provider: name.to_owned(), name: model };
        (probed, names.into_iter().map(model).collect())
    }

    fn client(&self, environment: &Environment) -> Result<Client, http::Error> {
        let proxies = Proxies::of(environment);
        // A client is inserted whole, so a thread that died here left nothing half done.
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&proxies) {
            return Ok(client.clone());
        }
        let client = http::client(&proxies)?;
        clients.insert(proxies, client.clone());
        Ok(client)
    }

    async fn place(&self, start: &AgentStart) -> Result<Place, ConnectError> {
        let failed = |kind, text: String| ConnectError::Failed { kind, text };
        let model = start.settings.iter().rev().find_map(|setting| match setting {
            Setting::Model { role: None, model } => Some(model.clone()),
            _ => None,
        });
        let providers = &start.host.providers;
        let server = provider::server_of(model.as_ref(), providers, &start.environment);
        let server = server.map_err(|error| failed(FailureKind::Other, error.to_string()))?;
        let client = self.client(&start.environment);
        let client = client.map_err(|error| failed(FailureKind::Network, http::told(error)))?;
        let asking = Asking::prepare(server, client, providers, &start.environment).await;
        let asking = asking.map_err(|error| failed(FailureKind::SignIn, error.to_string()))?;
        let has_tools = start.workspace.is_some() && !Limits::of(&start.settings).tools().is_empty();
        let (folder, host, session) = (start.workspace.clone(), start.host.clone(), start.session.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let workspace = folder.as_deref().map(Workspace::open).transpose();
            let workspace =
                workspace.map(|opened| opened.map(|opened| opened.for_session(host, NAME, &session)));
            (workspace, system::prompt(folder.as_deref(), has_tools))
        });
        let broke = |error: tokio::task::JoinError| failed(FailureKind::Other, error.to_string());
        let (workspace, system) = opened.await.map_err(broke)?;
        let workspace = workspace.map_err(|error| {
            let folder = start.workspace.clone().unwrap_or_default();
            failed(FailureKind::Other, format!("the folder `{}` cannot be opened: {error}", folder.display()))
        })?;
        let system = asking.secrets.taken_out(&system);
        let hidden = provider::key_variables(providers);
        let environment = tools::without_secrets(&start.environment, hidden.iter().map(String::as_str));
        // `server_of` has refused a missing model.
        let model = model.unwrap_or(Model { provider: String::new(), name: String::new() });
        Ok(Place { model, asking, system, workspace, environment })
    }
}

/// Serves a connection until the engine lets go of it.
async fn serve(
    start: AgentStart,
    place: Place,
    mut limits: Limits,
    mut inputs: mpsc::Receiver<AgentInput>,
    events: mpsc::Sender<FromAgent>,
) {
    let mut path: Vec<_> = start.context.entries().collect();
    let (mut is_open, mut asks, mut later) = (false, 0, VecDeque::new());
    loop {
        let input = match later.pop_front() {
            Some(input) => input,
            None => match inputs.recv().await {
                Some(input) => input,
                None => return,
            },
        };
        match input {
            AgentInput::Prompt { turn, entry, prompt, .. } => {
                if !std::mem::replace(&mut is_open, true) && events.send(opened(&place)).await.is_err() {
                    return;
                }
                let reporter = Reporter { turn, events: events.clone() };
                let listener = Listener { inputs: &mut inputs, later: &mut later, asks: &mut asks };
                let turn = Turn::new(&place, &limits, reporter, listener, &mut path, (entry, prompt));
                if let Err(Stopped::Closed) = turn.run().await {
                    return;
                }
            }
            AgentInput::Configure(settings) => limits.set(&settings),
            // Nothing is asked between turns.
            AgentInput::Answer { .. }
            | AgentInput::Interrupt { .. }
            | AgentInput::StopTask(_)
            | AgentInput::Rename(_) => {}
        }
    }
}

/// It keeps no session: the branch is read again for every prompt.
fn opened(place: &Place) -> FromAgent {
    FromAgent::Connection(ConnectionEvent::Opened(AgentInfo {
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        model: Some(place.model.clone()),
        ..AgentInfo::default()
    }))
}
