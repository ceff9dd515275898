//! One home, one engine.
//!
//! The first process that needs an engine becomes it: it holds `engine.lock` and listens on a socket in the home. Whoever
//! comes later speaks to it. The lock ends with its process, however that ends, so a socket that a crash has left is taken
//! over; a file that merely lies there says nothing.
//!
//! Limitation: the engine ends with the command that it lives in. Who was connected finds or becomes the next one, and a
//! turn that ran for them is interrupted.

mod host;
mod in_process;
mod served;
mod socket;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use offshoot_api::remote::Remote;
use offshoot_api::request::{Client, Hello, Introduce};
use offshoot_api::views::StatusRow;
use offshoot_api::{Caller, PROTOCOL, Request, Response, Service};
use offshoot_engine::Engine;
use offshoot_session::SessionId;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

use crate::engine::host::Host;
use crate::failure::Failure;
use crate::here::Here;
use crate::settings;
use crate::talk::refused;
use crate::words::talking as words;

/// As the log and other front ends know this one.
const NAME: &str = "cli";

/// Between holding the lock and listening lies the start of an engine; so often it is looked for …
const TRIES: u32 = 1500;
/// … with so much time between.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// An engine that is there says so at once, even on a busy machine.
const HELLO_WAIT: Duration = Duration::from_secs(5);

/// A list is not held up longer than this by an engine that is stopped.
const LOOK_WAIT: Duration = Duration::from_secs(2);

/// An engine, in this process or in another one.
pub(crate) struct Reached {
    service: Arc<dyn Service>,
    caller: Caller,
    end: End,
}

/// What is to be ended when it is left.
enum End {
    Host(Host),
    Connection(JoinHandle<()>),
    InProcess(Arc<Engine>),
}

impl Reached {
    pub(crate) async fn call(&self, request: Request) -> Result<Response, offshoot_api::ApiError> {
        self.service.call(&self.caller, request).await
    }

    /// The same for whoever does something else while it waits.
    pub(crate) fn asked(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Response, offshoot_api::ApiError>> + use<> {
        let (service, caller) = (self.service.clone(), self.caller.clone());
        async move { service.call(&caller, request).await }
    }

    pub(crate) async fn follow(
        &self,
        session: &str,
        after_seq: u64,
    ) -> Result<offshoot_api::EventStream, offshoot_api::ApiError> {
        self.service.follow(&self.caller, session, after_seq).await
    }

    /// An engine of this process ends: its turns are interrupted, its sessions closed.
    pub(crate) async fn leave(self) {
        match self.end {
            End::Host(host) => host.end().await,
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
pub(crate) fn in_process(here: &Here, session: Option<&SessionId>) -> Result<Reached, Failure> {
    let engine = in_process::engine(here, session)?;
    let caller = Caller::local(NAME).with(Arc::new(here.context()));
    Ok(Reached { service: engine.clone(), caller, end: End::InProcess(engine) })
}

/// The engine of this home. This process becomes it where there is none.
pub(crate) async fn reach(here: &Here) -> Result<Reached, Failure> {
    let home = home_of(here)?;
    settings::engine::check(here)?;
    for _ in 0..TRIES {
        if let Some(host) = host::become_it(here, &home).await? {
            let caller = Caller::local(NAME).with(Arc::new(here.context()));
            return Ok(Reached { service: host.service(), caller, end: End::Host(host) });
        }
        if let Some(reached) = connect(here, &home).await? {
            introduce(&reached, here).await?;
            return Ok(reached);
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
    Err(Failure::locked(words::engine_silent(&home)).hint(words::ENGINE_SILENT_HINT))
}

/// The engine that runs already, for commands that have nothing to do without one.
pub(crate) async fn running(here: &Here) -> Result<Option<Reached>, Failure> {
    let reached = connect(here, &home_of(here)?).await?;
    if let Some(reached) = &reached {
        introduce(reached, here).await?;
    }
    Ok(reached)
}

/// What runs just now in all sessions, for whoever only looks: nobody is waited for, and nothing is said where an engine
/// does not answer.
pub(crate) async fn running_turns(here: &Here) -> Vec<StatusRow> {
    let asked = async {
        let reached = connect(here, &home_of(here).ok()?).await.ok()??;
        let answer = reached.call(Request::Status).await.ok();
        reached.leave().await;
        answer
    };
    match tokio::time::timeout(LOOK_WAIT, asked).await {
        Ok(Some(Response::Status { rows })) => rows,
        Ok(_) | Err(_) => Vec::new(),
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

async fn connect(here: &Here, home: &std::path::Path) -> Result<Option<Reached>, Failure> {
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
    let hello = tokio::time::timeout(HELLO_WAIT, remote.call(&caller, Request::Hello(hello_of(here))));
    let Ok(hello) = hello.await else {
        speaking.abort();
        return Err(Failure::locked(words::engine_silent(home)).hint(words::ENGINE_SILENT_HINT));
    };
    match hello {
        Ok(_) => Ok(Some(Reached { service: Arc::new(remote), caller, end: End::Connection(speaking) })),
        // It ended just now: there is none.
        Err(error) if error.code == offshoot_api::ErrorCode::Disconnected => Ok(None),
        Err(error) => Err(refused(&error)),
    }
}

/// Who we are, and what the engine has to know to act for us.
fn hello_of(here: &Here) -> Hello {
    let client = Client { name: NAME.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    Hello { client: Some(client), protocol: Some(PROTOCOL), context: here.context() }
}

/// There is no socket, nobody listens on it, or whoever did ends at this very moment.
fn is_nobody(kind: ErrorKind) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};
    matches!(kind, NotFound | ConnectionRefused | ConnectionReset | BrokenPipe)
}

fn home_of(here: &Here) -> Result<PathBuf, Failure> {
    Ok(here.store()?.home().root().to_owned())
}
