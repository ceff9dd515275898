//! The engine in this process, and whoever connects to it.

use std::fs::File;
use std::io::IsTerminal;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use offshoot_api::serve::serve;
use offshoot_api::{Access, Caller, Request, Response, Service};
use offshoot_engine::{Engine, Parts, RuleBook, installed};
use offshoot_session::Stamps;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinHandle, JoinSet};

use super::socket;
use crate::failure::Failure;
use crate::here::Here;
use crate::settings;
use crate::talk::note_now;
use crate::words::talking as words;

/// The built-in agent speaks like somebody who types fast, where somebody watches.
const PAUSE: Duration = Duration::from_millis(12);

/// Nothing runs for anybody when it was so a few times in a row: somebody may be about to speak.
const QUIET_LOOKS: u32 = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(40);
const LOOKS_UNTIL_TOLD: u32 = 25;

pub(super) struct Host {
    engine: Arc<Engine>,
    listening: JoinHandle<()>,
    /// Held by every connection, so that they can be counted.
    present: Arc<()>,
    home: PathBuf,
    socket: PathBuf,
    /// Nobody else is the engine while this file is open.
    lock: File,
}

/// `None`: another process is the engine.
pub(super) async fn become_it(here: &Here, home: &Path) -> Result<Option<Host>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::failed(words::engine_not_started(home, error));
    let Some(lock) = locked(home).map_err(|error| failed(&error))? else { return Ok(None) };
    settings::engine::check(here)?;
    let rules = RuleBook::at(home.join("permissions.json")).map_err(|error| failed(&error))?;
    let pause = std::io::stdout().is_terminal().then_some(PAUSE);
    let stamps = here.stamps_for_many();
    let engine = Arc::new(Engine::new(Parts {
        shelf: Arc::new(here.store()?),
        agents: installed(pause),
        stamps: Arc::new(move || Box::new(stamps.clone()) as Box<dyn Stamps + Send>),
        rules,
        settings: settings::engine::source(here.settings.clone()),
    }));
    let present = Arc::new(());
    let (listener, socket) = socket::listen(home, &here.short_lived()).map_err(|error| failed(&error))?;
    let listening = tokio::spawn(accept(listener, engine.clone(), Arc::downgrade(&present)));
    Ok(Some(Host { engine, listening, present, home: home.to_owned(), socket, lock }))
}

impl Host {
    pub(super) fn service(&self) -> Arc<dyn Service> {
        self.engine.clone()
    }

    /// New callers find nobody, those who are connected get their answers, sessions are closed, all are let go.
    pub(super) async fn end(self) {
        socket::forget(&self.home, &self.socket);
        self.let_others_finish().await;
        self.engine.shut_down().await;
        self.listening.abort();
        let _ = self.listening.await;
        drop(self.lock);
    }
}

impl Host {
    /// Waits while a turn runs for somebody else, or could begin at any moment. Who waits for a person may
    /// wait for ever: that turn is interrupted, as by a crash.
    async fn let_others_finish(&self) {
        let Ok(mut ctrl_c) = signal(SignalKind::interrupt()) else { return };
        let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
        let mut quiet_looks = 0;
        let mut looks = 0;
        while Arc::weak_count(&self.present) > 1 && quiet_looks < QUIET_LOOKS {
            quiet_looks = if self.is_running().await { 0 } else { quiet_looks + 1 };
            looks += 1;
            if looks == LOOKS_UNTIL_TOLD {
                note_now(words::OTHERS_STILL_TALK);
            }
            tokio::select! {
                () = tokio::time::sleep(BETWEEN_LOOKS) => {}
                _ = ctrl_c.recv() => return,
                _ = terminate.recv() => return,
            }
        }
    }

    async fn is_running(&self) -> bool {
        let caller = Caller::local("cli");
        match self.engine.call(&caller, Request::Status).await {
            Ok(Response::Status { rows }) => rows.iter().any(|row| row.status.state != "waiting"),
            _ => false,
        }
    }
}

/// Serves everybody who connects. Dropping it lets all of them go.
async fn accept(listener: UnixListener, engine: Arc<Engine>, present: Weak<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            connected = listener.accept() => {
                // Too many files are open: whoever waits is taken when one of them is closed.
                let Ok((stream, _)) = connected else {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let (engine, present) = (engine.clone(), present.clone());
                connections.spawn(async move {
                    let (reader, writer) = stream.into_split();
                    // A caller that went away in the middle of something is the caller's affair.
                    drop(serve(engine.as_ref(), Access::Write, reader, writer).await);
                    drop(present);
                });
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

/// `None` while another process holds it.
fn locked(home: &Path) -> std::io::Result<Option<File>> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    let mut options = std::fs::OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(home.join("engine.lock"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
