//! The engine as its process serves it: requests and followers are counted, so that the process knows whether it is used,
//! and requests about the process itself are answered here.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use jiff::Timestamp;
use offshoot_api::request::{EngineAction, IfRunning};
use offshoot_api::views::{EngineView, StatusRow};
use offshoot_api::{
    Answering, ApiError, Caller, ErrorCode, EventStream, Following, PROTOCOL, Request, Response, Service,
    request,
};
use offshoot_engine::Engine;
use tokio::sync::Notify;

use crate::log;
use crate::words::engine as words;

pub(super) struct Attended {
    engine: Arc<Engine>,
    home: PathBuf,
    epoch: u64,
    started_at: Timestamp,
    calls: Arc<AtomicUsize>,
    followers: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    /// When it was last seen in use. Nobody awaits while holding it.
    used_at: Mutex<Instant>,
    /// Nothing new is begun any more.
    is_closing: AtomicBool,
    /// Somebody has asked for the end.
    pub(super) stop: Notify,
}

impl Attended {
    pub(super) fn new(engine: Arc<Engine>, home: PathBuf, epoch: u64) -> Arc<Self> {
        Arc::new(Self {
            engine,
            home,
            epoch,
            started_at: Timestamp::now(),
            calls: Arc::default(),
            followers: Arc::default(),
            connections: Arc::default(),
            used_at: Mutex::new(Instant::now()),
            is_closing: AtomicBool::new(false),
            stop: Notify::new(),
        })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Counts a connection until the guard is dropped.
    pub(super) fn connection(&self) -> Counted {
        Counted::one_more(&self.connections)
    }

    /// Whether nothing has used it for so long.
    pub(super) async fn is_unused_for(&self, idle: Duration) -> bool {
        if !self.is_unused().await {
            self.touch();
        }
        self.used_at().elapsed() >= idle
    }

    /// Takes nothing new, unless it is in use after all.
    pub(super) async fn close_if_unused(&self) -> bool {
        self.is_closing.store(true, Ordering::SeqCst);
        let is_unused = self.is_unused().await;
        if !is_unused {
            self.is_closing.store(false, Ordering::SeqCst);
        }
        is_unused
    }

    pub(super) fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
    }

    async fn is_unused(&self) -> bool {
        let is_called = self.calls.load(Ordering::SeqCst) > 0 || self.followers.load(Ordering::SeqCst) > 0;
        !is_called && self.engine.is_idle().await
    }

    fn touch(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn used_at(&self) -> Instant {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn manage(&self, caller: &Caller, asked: request::Engine) -> Result<Response, ApiError> {
        let turns = match self.engine.call(caller, Request::Status).await? {
            Response::Status { rows } => rows,
            _ => Vec::new(),
        };
        if asked.action == EngineAction::Stop {
            if !turns.is_empty() && asked.if_running != IfRunning::AbortFirst {
                return Err(ApiError::new(ErrorCode::Running, words::still_running(&turns)));
            }
            self.close();
            self.stop.notify_one();
        }
        Ok(Response::Engine(self.view(turns)))
    }

    fn view(&self, turns: Vec<StatusRow>) -> EngineView {
        EngineView {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            process: std::process::id(),
            epoch: self.epoch,
            started_at: self.started_at,
            home: self.home.to_string_lossy().into_owned(),
            sessions: self.engine.open_sessions(),
            connections: self.connections.load(Ordering::SeqCst),
            followers: self.followers.load(Ordering::SeqCst),
            turns,
        }
    }

    fn begin(&self) -> Result<Counted, ApiError> {
        let counted = Counted::one_more(&self.calls);
        self.touch();
        // A client that hears this looks for the next engine, and says its message again under the same id.
        match self.is_closing.load(Ordering::SeqCst) {
            true => Err(ApiError::new(ErrorCode::Disconnected, words::STOPPING)),
            false => Ok(counted),
        }
    }
}

impl Service for Attended {
    fn call<'s>(&'s self, caller: &'s Caller, request: Request) -> Answering<'s> {
        Box::pin(async move {
            let _call = self.begin()?;
            match request {
                Request::Engine(asked) => {
                    caller.may(&Request::Engine(asked.clone()))?;
                    self.manage(caller, asked).await
                }
                request => {
                    if let Request::Hello(_) = request {
                        log::hide_secrets_of(&caller.context);
                    }
                    self.engine.call(caller, request).await
                }
            }
        })
    }

    fn follow<'s>(&'s self, caller: &'s Caller, session: &'s str, after_seq: u64) -> Following<'s> {
        Box::pin(async move {
            let _call = self.begin()?;
            let follower = Counted::one_more(&self.followers);
            let events = self.engine.follow(caller, session, after_seq).await?;
            Ok(Box::pin(events.inspect(move |_| follower.stays())) as EventStream)
        })
    }
}

/// One of something that is counted, as long as it is there.
pub(super) struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn one_more(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }

    /// Keeps it within whatever calls this.
    fn stays(&self) {}
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
