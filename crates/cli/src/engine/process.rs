//! `offshoot engine`: the engine of a home as a process of its own, like a server of tmux. It belongs to no terminal, so
//! closing, killing or leaving a front end ends no turn. It exits when it is asked to, when nobody has used it for a
//! while, and when its home is gone.
//!
//! One home has one engine: the process that holds `engine.lock`. What a crash leaves is a socket that nobody listens on,
//! which the next one replaces.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use offshoot_api::serve::serve;
use offshoot_api::{Access, CallerContext};
use offshoot_engine::{Engine, Parts, RuleBook, installed};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tracing::info;

use super::attended::Attended;
use super::host::host;
use super::run_directory::{RunDirectory, try_lock};
use super::socket::{self, Socket};
use super::start::{Started, answers};
use crate::failure::Failure;
use crate::here::{Here, engine_store};
use crate::settings;
use crate::settings::keys::ENGINE_IDLE;
use crate::settings::reader::Reader;
use crate::stamps::SystemStamps;
use crate::words::{disk_says, engine as words, not_saved_hint};
use crate::{Answer, talk};

/// So long a predecessor that is about to exit may hold the lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// So often it is checked whether the home is still there and the engine still used.
const BETWEEN_CHECKS: Duration = Duration::from_secs(2);
const SHORTEST_BETWEEN_CHECKS: Duration = Duration::from_millis(20);

/// A client that has connected before the socket was hidden is seen within this time.
const BACKLOG_WAIT: Duration = Duration::from_millis(20);

/// Last answers are sent before connections are closed.
const LAST_ANSWERS: Duration = Duration::from_millis(200);

/// Runs the engine of this home until it ends. The first line of its output says whether it is there.
pub(crate) fn run(here: &Here) -> Result<Answer, Failure> {
    // One that leads a group already was started by hand or by a service manager, and stays where it is.
    let _ = rustix::process::setsid();
    let served = home_of(here).and_then(|home| {
        let runtime = talk::runtime()?;
        runtime.block_on(serve_home(here, &home))
    });
    if let Err(failure) = &served {
        announce(&Started::Failed(failure.into()));
    }
    served.map(|()| Answer::default())
}

fn home_of(here: &Here) -> Result<PathBuf, Failure> {
    Ok(here.folder.join(super::home_of(here)?))
}

async fn serve_home(here: &Here, home: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::failed(words::not_started(home, error));
    let not_written = |error: std::io::Error| failed(&disk_says(&error)).hint(not_saved_hint(&error));
    let run = RunDirectory::prepare(home).map_err(not_written)?;
    std::env::set_current_dir(home).map_err(not_written)?;
    let Some(lock) = locked(home).await? else {
        announce(&Started::Ready);
        return Ok(());
    };
    run.prepare_agents().map_err(not_written)?;
    let scratch = run.prepare_scratch().map_err(not_written)?;
    let epoch = run.next_epoch().map_err(not_written)?;
    let rules = RuleBook::at(home.join("permissions.json"));
    let engine = Arc::new(Engine::new(Parts {
        shelf: Arc::new(engine_store(home, scratch)),
        agents: installed(),
        stamps: Arc::new(|context: &CallerContext| Box::new(SystemStamps::counting(context.stamps.clone()))),
        rules,
        settings: settings::engine::source(home),
        host: host(home),
        epoch,
    }));
    let mut signals = Signals::listen().map_err(not_written)?;
    let (listener, socket) = socket::listen(home, &here.short_lived()).map_err(not_written)?;
    info!(name: "engine process begins", epoch, version = env!("CARGO_PKG_VERSION"));
    announce(&Started::Ready);
    let attended = Attended::new(engine, home.to_owned(), epoch);
    let mut connections = JoinSet::new();
    let serving = Serving { home, lock: &lock, listener: &listener, socket: &socket, attended: &attended };
    let end = serving.serve(&mut signals, &mut connections).await;
    info!(name: "engine process ends", end = end.word());
    attended.close();
    socket.remove();
    if end != End::HomeGone {
        tokio::select! {
            () = attended.engine().shut_down() => {}
            // Hooks that are told something have their time limits, but nobody has to wait for those.
            () = signals.told_to_end() => {}
        }
    }
    let answered = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_ANSWERS, answered).await;
    connections.shutdown().await;
    drop(lock);
    Ok(())
}

/// Why it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Asked,
    Signal,
    Idle,
    HomeGone,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Signal => "signal",
            Self::Idle => "idle",
            Self::HomeGone => "home_gone",
        }
    }
}

struct Serving<'s> {
    home: &'s Path,
    lock: &'s File,
    listener: &'s UnixListener,
    socket: &'s Socket,
    attended: &'s Arc<Attended>,
}

impl Serving<'_> {
    async fn serve(&self, signals: &mut Signals, connections: &mut JoinSet<()>) -> End {
        loop {
            let idle = engine_idle(self.home);
            let next_check = (idle / 4).clamp(SHORTEST_BETWEEN_CHECKS, BETWEEN_CHECKS);
            tokio::select! {
                accepted = self.listener.accept() => {
                    if self.is_home_gone() {
                        return End::HomeGone;
                    }
                    match accepted {
                        Ok((stream, _)) => self.take(stream, connections),
                        // Too many files are open: whoever waits is accepted when one of them is closed.
                        Err(_) => tokio::time::sleep(BETWEEN_TRIES).await,
                    }
                }
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                () = signals.told_to_end() => return End::Signal,
                () = self.attended.stop.notified() => return End::Asked,
                () = tokio::time::sleep(next_check) => {
                    if self.is_home_gone() {
                        return End::HomeGone;
                    }
                    if self.attended.is_unused_for(idle).await && self.leaves(connections).await {
                        return End::Idle;
                    }
                }
            }
        }
    }

    /// Whether nobody comes at the last moment. Once the socket is hidden no new client finds it, so whoever is not in the
    /// backlog by then starts the next engine.
    async fn leaves(&self, connections: &mut JoinSet<()>) -> bool {
        if self.socket.hide().is_err() {
            return false;
        }
        if let Ok(Ok((stream, _))) = tokio::time::timeout(BACKLOG_WAIT, self.listener.accept()).await {
            self.take(stream, connections);
        } else if self.attended.close_if_unused().await {
            return true;
        }
        // One that cannot be shown any more is found by nobody: then it ends, and the next one begins.
        self.socket.show().is_err()
    }

    /// Serves a connection of the person whose home it is, and of nobody else.
    fn take(&self, stream: UnixStream, connections: &mut JoinSet<()>) {
        let us = rustix::process::geteuid().as_raw();
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == us) {
            info!(name: "connection refused", ok = false);
            return;
        }
        let (attended, counted) = (self.attended.clone(), self.attended.connection());
        connections.spawn(async move {
            let (reader, writer) = stream.into_split();
            // How a client goes is its own affair.
            drop(serve(attended.as_ref(), Access::Owner, reader, writer).await);
            drop(counted);
        });
    }

    /// The home was removed, or somebody has replaced the lock: this process is the engine of nothing.
    fn is_home_gone(&self) -> bool {
        !is_same_file(self.lock, &lock_path(self.home))
    }
}

/// The lock of the home. `None`: an engine is there and answers.
async fn locked(home: &Path) -> Result<Option<File>, Failure> {
    let failed = |error: std::io::Error| Failure::failed(words::not_started(home, &disk_says(&error)));
    let until = Instant::now() + LOCK_WAIT;
    loop {
        // A lock on a file that was replaced meanwhile locks nothing.
        if let Some(lock) = try_lock(&lock_path(home)).map_err(failed)?
            && is_same_file(&lock, &lock_path(home))
        {
            return Ok(Some(lock));
        }
        if answers(home).await {
            return Ok(None);
        }
        if Instant::now() >= until {
            return Err(Failure::locked(words::engine_silent(home)).hint(words::ENGINE_SILENT_HINT));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
}

pub(super) fn lock_path(home: &Path) -> PathBuf {
    home.join("engine.lock")
}

fn is_same_file(file: &File, path: &Path) -> bool {
    let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
    let there = std::fs::symlink_metadata(path).map(identity);
    matches!((file.metadata().map(identity), there), (Ok(ours), Ok(there)) if ours == there)
}

/// Of the person's own file: the process has no variables and no flags.
fn engine_idle(home: &Path) -> Duration {
    let settings = Reader::of_caller(home, &CallerContext::default()).read(None);
    // The default of the key stands for a file that is wrong.
    let idle = settings.get::<Duration>(&ENGINE_IDLE).ok().flatten();
    idle.unwrap_or(Duration::from_secs(600))
}

/// Says it to the command that has started us, and lets go of its pipe.
fn announce(started: &Started) {
    let mut stdout = std::io::stdout();
    // A command that was killed meanwhile need not know.
    let _ = writeln!(stdout, "{}", started.line()).and_then(|()| stdout.flush());
    if let Ok(nowhere) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nowhere);
    }
}

/// A terminal that is closed is none of ours; whoever wants us to end says so.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn told_to_end(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => {}
            }
        }
    }
}
