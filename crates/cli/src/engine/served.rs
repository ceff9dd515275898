//! The engine as others are served by it. Their requests that wait for an answer are counted, so that whoever is about to
//! leave knows of them: a summary that is being written is no turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot_api::{Answering, Caller, Following, Request, Service};
use offshoot_engine::Engine;

use crate::log;

pub(super) struct Served {
    engine: Arc<Engine>,
    open: AtomicUsize,
}

impl Served {
    pub(super) fn of(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Self { engine, open: AtomicUsize::new(0) })
    }

    /// Whether somebody waits for an answer.
    pub(super) fn is_asked(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }
}

impl Service for Served {
    fn call<'s>(&'s self, caller: &'s Caller, request: Request) -> Answering<'s> {
        Box::pin(async move {
            let _open = Open::count(&self.open);
            if let Request::Hello(_) = request {
                log::hide_secrets_of(&caller.context);
            }
            self.engine.call(caller, request).await
        })
    }

    fn follow<'s>(&'s self, caller: &'s Caller, session: &'s str, after_seq: u64) -> Following<'s> {
        self.engine.follow(caller, session, after_seq)
    }
}

/// One request, also where nobody waits for its answer any more.
struct Open<'c>(&'c AtomicUsize);

impl<'c> Open<'c> {
    fn count(open: &'c AtomicUsize) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
