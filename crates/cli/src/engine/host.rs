//! The engine in this process, and whoever connects to it.

use std::fs::File;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use offshoot_api::serve::serve;
use offshoot_api::{Access, Caller, CallerContext, Request, Response, Service};
use offshoot_engine::{Engine, Parts, RuleBook, installed};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinHandle, JoinSet};

use super::served::Served;
use super::socket;
use crate::failure::Failure;
use crate::here::Here;
use crate::settings;
use crate::stamps::SystemStamps;
use crate::talk::note_now;
use crate::words::{disk_says, not_saved_hint, talking as words};

/// Nothing runs for anybody when it was so a few times in a row: somebody may be about to speak.
const QUIET_LOOKS: u32 = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(40);
const LOOKS_UNTIL_TOLD: u32 = 25;

pub(super) struct Host {
    engine: Arc<Engine>,
    /// The same for others.
    served: Arc<Served>,
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
    let not_written = |error: std::io::Error| failed(&disk_says(&error)).hint(not_saved_hint(&error));
    let Some(lock) = locked(home).map_err(not_written)? else { return Ok(None) };
    let rules = RuleBook::at(home.join("permissions.json")).map_err(|error| failed(&error))?;
    let engine = Arc::new(Engine::new(Parts {
        shelf: Arc::new(here.store()?),
        agents: installed(),
        stamps: Arc::new(|context: &CallerContext| Box::new(SystemStamps::counting(context.stamps.clone()))),
        rules,
        settings: settings::engine::source(home),
    }));
    let present = Arc::new(());
    let (listener, socket) = socket::listen(home, &here.short_lived()).map_err(not_written)?;
    let served = Served::of(engine.clone());
    let listening = tokio::spawn(accept(listener, served.clone(), Arc::downgrade(&present)));
    Ok(Some(Host { engine, served, listening, present, home: home.to_owned(), socket, lock }))
}

impl Host {
    pub(super) fn service(&self) -> Arc<dyn Service> {
        self.engine.clone()
    }

    /// Others get their answers, and whoever comes meanwhile is served too: nobody else can be the engine before this one
    /// has ended. Then new callers find nobody, sessions are closed, all are let go.
    pub(super) async fn end(self) {
        self.let_others_finish().await;
        socket::forget(&self.home, &self.socket);
        self.shut_down().await;
        self.listening.abort();
        let _ = self.listening.await;
        drop(self.lock);
    }
}

impl Host {
    /// Waits while a turn runs for somebody else or something else is asked for, or could be at any moment. Who waits for a person may
    /// wait for ever: that turn is interrupted, as by a crash.
    async fn let_others_finish(&self) {
        let Ok(mut ctrl_c) = signal(SignalKind::interrupt()) else { return };
        let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
        let mut quiet_looks = 0;
        let mut looks = 0;
        // The last look is the last thing before the end, so that nothing begins behind it.
        while Arc::weak_count(&self.present) > 1 {
            quiet_looks = if self.is_running().await { 0 } else { quiet_looks + 1 };
            if quiet_looks == QUIET_LOOKS {
                return;
            }
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

    /// Hooks are told what they have to be told, unless a person does not wait for them: then they are ended.
    async fn shut_down(&self) {
        let Ok(mut ctrl_c) = signal(SignalKind::interrupt()) else { return self.engine.shut_down().await };
        let Ok(mut terminate) = signal(SignalKind::terminate()) else { return self.engine.shut_down().await };
        tokio::select! {
            () = self.engine.shut_down() => {}
            _ = ctrl_c.recv() => {}
            _ = terminate.recv() => {}
        }
    }

    async fn is_running(&self) -> bool {
        if self.served.is_asked() {
            return true;
        }
        let caller = Caller::local("cli");
        match self.engine.call(&caller, Request::Status).await {
            Ok(Response::Status { rows }) => rows.iter().any(|row| row.status.state != "waiting"),
            _ => false,
        }
    }
}

/// Serves everybody who connects. Dropping it lets all of them go.
async fn accept(listener: UnixListener, served: Arc<Served>, present: Weak<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            connected = listener.accept() => {
                // Too many files are open: whoever waits is taken when one of them is closed.
                let Ok((stream, _)) = connected else {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let (served, present) = (served.clone(), present.clone());
                connections.spawn(async move {
                    let (reader, writer) = stream.into_split();
                    // A caller that went away in the middle of something is the caller's affair.
                    drop(serve(served.as_ref(), Access::Owner, reader, writer).await);
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
