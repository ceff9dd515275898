//! One home, one engine: a process of its own that all commands of the home connect to ([`process`]).
//!
//! | idea | module |
//! |---|---|
//! | the process, and how it ends | [`process`] |
//! | the engine as the process serves it | `attended` |
//! | starting it on demand | `start` |
//! | the files by which it is found | `run_directory`, `socket` |
//!
//! A front end owns nothing of the engine: to leave it is to close a connection.

mod attended;
mod host;
mod in_process;
pub(crate) mod process;
mod run_directory;
mod socket;
mod start;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use offshoot_api::remote::Remote;
use offshoot_api::request::{self, Client, EngineAction, Hello, IfRunning, Introduce};
use offshoot_api::views::{EngineView, StatusRow};
use offshoot_api::{
    ApiError, Caller, ErrorCode, EventStream, PROTOCOL, Request, Response, Service, response,
};
use offshoot_engine::{Engine, MemoryShelf};
use offshoot_session::SessionId;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::here::Here;
use crate::settings;
use crate::talk::{refused, unexpected};
use crate::words::engine as words;

pub(crate) use host::launcher;
pub(crate) use in_process::Rules;

/// As the log and other front ends know this one.
const NAME: &str = "cli";

/// So long a command tries to get an engine, before it says what is in the way. With what an engine that is found at the
/// last moment gets on top ([`LAST_HELLO_WAIT`]) it is less than the 15 seconds that the documentation promises.
const REACH_WAIT: Duration = Duration::from_secs(12);

/// An engine that is there says so at once, even on a busy machine.
const HELLO_WAIT: Duration = Duration::from_secs(5);
const LAST_HELLO_WAIT: Duration = Duration::from_secs(2);

/// A list is not held up longer than this by an engine that is stopped.
const LOOK_WAIT: Duration = Duration::from_secs(2);

/// So long an engine may take to close its sessions.
const STOP_WAIT: Duration = Duration::from_secs(20);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// An engine that answers.
pub(crate) struct Reached {
    service: Arc<dyn Service>,
    caller: Caller,
    end: End,
}

/// What ends when it is left.
enum End {
    Connection(JoinHandle<()>),
    InProcess(Arc<Engine>),
}

impl Reached {
    pub(crate) async fn call(&self, request: Request) -> Result<Response, ApiError> {
        self.service.call(&self.caller, request).await
    }

    /// The same for whoever does something else while it waits.
    pub(crate) fn asked(&self, request: Request) -> impl Future<Output = Result<Response, ApiError>> + use<> {
        let (service, caller) = (self.service.clone(), self.caller.clone());
        async move { service.call(&caller, request).await }
    }

    /// Events behind `after_seq`, usually that of a view. A fast answer can outrun the events that the engine keeps before
    /// this request arrives. Such a follower is behind like any other: its first item is `gone`, not a refusal.
    pub(crate) async fn follow(&self, session: &str, after_seq: u64) -> Result<EventStream, ApiError> {
        match self.service.follow(&self.caller, session, after_seq).await {
            Err(error) if error.code == ErrorCode::Gone => {
                Ok(Box::pin(stream::once(std::future::ready(Err(error)))))
            }
            followed => followed,
        }
    }

    /// Closes the connection. What runs goes on.
    pub(crate) async fn leave(self) {
        match self.end {
            End::Connection(speaking) => speaking.abort(),
            End::InProcess(engine) => engine.shut_down().await,
        }
    }

    /// Whether nobody else can reach this engine.
    pub(crate) fn is_in_process(&self) -> bool {
        matches!(self.end, End::InProcess(_))
    }
}

/// The engine's code in this process, without a socket: for one change that needs no agent.
pub(crate) fn in_process(here: &Here, session: Option<&SessionId>, rules: Rules) -> Result<Reached, Failure> {
    Ok(reached_in_process(here, in_process::engine(here, session, rules)?))
}

/// An engine in this process for sessions that are kept on `shelf` and in no file.
pub(crate) fn in_memory(here: &Here, shelf: &MemoryShelf) -> Result<Reached, Failure> {
    let home = home_of(here)?;
    settings::engine::check(here)?;
    Ok(reached_in_process(here, in_process::engine_in_memory(shelf, &home)))
}

fn reached_in_process(here: &Here, engine: Arc<Engine>) -> Reached {
    let caller = Caller::local(NAME).with(Arc::new(here.context()));
    Reached { service: engine.clone(), caller, end: End::InProcess(engine) }
}

/// The engine of this home, started where there is none.
pub(crate) async fn reach(here: &Here) -> Result<Reached, Failure> {
    let home = home_of(here)?;
    settings::engine::check(here)?;
    let until = Instant::now() + REACH_WAIT;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match connect(here, &home, HELLO_WAIT.min(left + LAST_HELLO_WAIT)).await? {
            Some(Met::Usable(reached)) => {
                introduce(&reached, here).await?;
                return Ok(reached);
            }
            Some(Met::Other(reached, engine)) => replace(&home, reached, &engine).await?,
            None if Instant::now() >= until => {
                return Err(Failure::locked(words::engine_silent(&home)).hint(words::ENGINE_SILENT_HINT));
            }
            None => start::start(here, &home, until).await?,
        }
    }
}

/// The engine that runs already, for commands that have nothing to do without one. An engine of another version in which
/// nothing runs counts as none.
pub(crate) async fn running(here: &Here) -> Result<Option<Reached>, Failure> {
    let home = home_of(here)?;
    match connect(here, &home, HELLO_WAIT).await? {
        Some(Met::Usable(reached)) => {
            introduce(&reached, here).await?;
            Ok(Some(reached))
        }
        Some(Met::Other(reached, engine)) => match view_of(&home, &reached).await?.turns.as_slice() {
            [] => Ok(None),
            turns => Err(other_version(&engine, &words::still_running(turns))),
        },
        None => Ok(None),
    }
}

/// What a command wants of an engine that runs already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An engine of another version is left alone.
    Look,
    /// An engine of an older version in which nothing runs makes way.
    Change,
}

/// The engine that a request is asked of, where one of this version runs.
pub(crate) async fn running_for(here: &Here, purpose: Purpose) -> Result<Option<Reached>, Failure> {
    if !is_there(here) {
        return Ok(None);
    }
    let home = home_of(here)?;
    match (connect(here, &home, HELLO_WAIT).await?, purpose) {
        (Some(Met::Usable(reached)), _) => {
            introduce(&reached, here).await?;
            Ok(Some(reached))
        }
        (Some(Met::Other(reached, _)), Purpose::Look) => {
            reached.leave().await;
            Ok(None)
        }
        (Some(Met::Other(reached, engine)), Purpose::Change) => {
            replace(&home, reached, &engine).await.map(|()| None)
        }
        (None, _) => Ok(None),
    }
}

/// What runs just now in all sessions, for a command that only looks: it waits for no engine, and says nothing of one that
/// does not answer.
pub(crate) async fn running_turns(here: &Here) -> Vec<StatusRow> {
    match tokio::time::timeout(LOOK_WAIT, status(here)).await {
        Ok(Ok(Some(engine))) => engine.turns,
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// The engine process as it is, whatever its version. `None`: there is none.
pub(crate) async fn status(here: &Here) -> Result<Option<EngineView>, Failure> {
    let home = home_of(here)?;
    let Some(met) = connect(here, &home, HELLO_WAIT).await? else { return Ok(None) };
    let view = view_of(&home, met.reached()).await;
    met.leave().await;
    view.map(Some)
}

async fn view_of(home: &Path, reached: &Reached) -> Result<EngineView, Failure> {
    let status = request::Engine::default();
    match asked_of_process(home, reached, status).await?.map_err(|error| refused(&error))? {
        Response::Engine(view) => Ok(view),
        other => Err(unexpected(other)),
    }
}

/// Engines of all versions understand requests about their process, and answer them at once.
async fn asked_of_process(
    home: &Path,
    reached: &Reached,
    request: request::Engine,
) -> Result<Result<Response, ApiError>, Failure> {
    let answer = tokio::time::timeout(HELLO_WAIT, reached.call(Request::Engine(request)));
    answer.await.map_err(|_| Failure::locked(words::engine_silent(home)).hint(words::ENGINE_SILENT_HINT))
}

/// Asks the engine to stop and waits until it has. `false`: there was none.
pub(crate) async fn stop(here: &Here, if_running: IfRunning) -> Result<bool, Failure> {
    let home = home_of(here)?;
    let Some(met) = connect(here, &home, HELLO_WAIT).await? else { return Ok(false) };
    let stop = request::Engine { action: EngineAction::Stop, if_running };
    let epoch = run_directory::epoch(&home);
    let answer = asked_of_process(&home, met.reached(), stop).await?;
    met.leave().await;
    match answer {
        Err(error) if error.code == ErrorCode::Running => Err(refused(&error).hint(words::FORCE_HINT)),
        Err(error) if error.code != ErrorCode::Disconnected => Err(refused(&error)),
        Ok(_) | Err(_) => until_stopped(&home, epoch).await.map(|()| true),
    }
}

/// Files of other programs that this command is about: only this process knows their ids so far.
async fn introduce(reached: &Reached, here: &Here) -> Result<(), Failure> {
    for (session, path) in here.others().introduced_sessions() {
        let path = path.to_string_lossy().into_owned();
        let introduce = Introduce { session: session.to_string(), path };
        reached.call(Request::Introduce(introduce)).await.map_err(|error| refused(&error))?;
    }
    Ok(())
}

/// Whether one may run; a socket that a crash has left says so too.
pub(crate) fn is_there(here: &Here) -> bool {
    home_of(here).is_ok_and(|home| socket::known(&home).exists())
}

/// An engine that has answered.
enum Met {
    Usable(Reached),
    /// It speaks another version of the interface.
    Other(Reached, response::Hello),
}

impl Met {
    fn reached(&self) -> &Reached {
        match self {
            Self::Usable(reached) | Self::Other(reached, _) => reached,
        }
    }

    async fn leave(self) {
        match self {
            Self::Usable(reached) | Self::Other(reached, _) => reached.leave().await,
        }
    }
}

async fn connect(here: &Here, home: &Path, hello_wait: Duration) -> Result<Option<Met>, Failure> {
    let stream = match UnixStream::connect(socket::known(home)).await {
        Ok(stream) => stream,
        Err(error) if is_nobody(error.kind()) => return Ok(None),
        Err(error) => return Err(Failure::failed(words::not_connected(home, &error))),
    };
    let (reader, writer) = stream.into_split();
    let (remote, speaking) = Remote::over(reader, writer);
    // How a connection ends is told to whoever waits for an answer.
    let speaking = tokio::spawn(async move { drop(speaking.await) });
    let caller = Caller::local(NAME);
    // A process that is stopped keeps its socket and answers nobody.
    let hello = tokio::time::timeout(hello_wait, remote.call(&caller, Request::Hello(hello_of(here))));
    let Ok(hello) = hello.await else {
        speaking.abort();
        return Err(Failure::locked(words::engine_silent(home)).hint(words::ENGINE_SILENT_HINT));
    };
    let reached = Reached { service: Arc::new(remote), caller, end: End::Connection(speaking) };
    match hello {
        Ok(Response::Hello(engine)) if engine.protocol == PROTOCOL => Ok(Some(Met::Usable(reached))),
        Ok(Response::Hello(engine)) => Ok(Some(Met::Other(reached, engine))),
        Ok(other) => Err(unexpected(other)),
        // It ended just now: there is none.
        Err(error) if error.code == ErrorCode::Disconnected => Ok(None),
        Err(error) => Err(refused(&error)),
    }
}

/// Who we are, and what the engine has to know to act for us.
fn hello_of(here: &Here) -> Hello {
    let client = Client { name: NAME.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    Hello { client: Some(client), protocol: Some(PROTOCOL), context: here.context() }
}

/// An older engine in which nothing runs makes way for one of this version.
async fn replace(home: &Path, reached: Reached, engine: &response::Hello) -> Result<(), Failure> {
    if engine.protocol > PROTOCOL {
        return Err(other_version(engine, words::CANNOT_STOP));
    }
    let stop = request::Engine { action: EngineAction::Stop, if_running: IfRunning::Wait };
    let epoch = run_directory::epoch(home);
    match asked_of_process(home, &reached, stop).await? {
        Ok(_) => {}
        Err(error) if error.code == ErrorCode::Disconnected => {}
        Err(error) if error.code == ErrorCode::Running => return Err(other_version(engine, &error.message)),
        Err(_) => return Err(other_version(engine, words::CANNOT_STOP)),
    }
    reached.leave().await;
    until_stopped(home, epoch).await
}

fn other_version(engine: &response::Hello, why_not_stopped: &str) -> Failure {
    let outdated = |message: String| refused(&ApiError::new(ErrorCode::EngineOutdated, message));
    match engine.protocol > PROTOCOL {
        true => outdated(words::we_are_older(&engine.version)).hint(words::WE_ARE_OLDER_HINT),
        false => outdated(words::outdated(&engine.version, why_not_stopped)).hint(words::OUTDATED_HINT),
    }
}

/// The engine of this epoch has ended when its lock is free, or when an open chat has started the next one.
async fn until_stopped(home: &Path, epoch: u64) -> Result<(), Failure> {
    let until = Instant::now() + STOP_WAIT;
    let is_free = || matches!(run_directory::try_lock(&process::lock_path(home)), Ok(Some(_)));
    while !is_free() && run_directory::epoch(home) == epoch {
        if Instant::now() >= until {
            return Err(Failure::locked(words::STILL_STOPPING));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
    Ok(())
}

/// There is no socket, nobody listens on it, or the one who did ends at this very moment.
fn is_nobody(kind: ErrorKind) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, InvalidInput, NotADirectory, NotFound};
    // A path that is too long for a socket has none, and no other place is named.
    matches!(kind, NotFound | ConnectionRefused | ConnectionReset | BrokenPipe | NotADirectory | InvalidInput)
}

fn home_of(here: &Here) -> Result<PathBuf, Failure> {
    Ok(here.store()?.home().root().to_owned())
}
