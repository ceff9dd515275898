//! Both ends of the wire: who asks, and who answers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::Stream;

use crate::{ApiError, CallerContext, Event, Request, Response};

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// For the log, and for "answered on another device".
    pub name: String,
    pub access: Access,
    /// Tells it from others of the same name.
    pub id: CallerId,
    /// What it has handed over.
    pub context: Arc<CallerContext>,
}

/// One end of a conversation with the engine: a connection, or somebody in the same process. What it has asked for is
/// called off by itself alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerId(u64);

impl CallerId {
    /// One that nobody in this process has had.
    pub fn fresh() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// The person whose home it is: may also hand over a context and stop the engine.
    Owner,
}

/// An answer on its way. Written out instead of `async fn`, so that a front end can hold any service.
pub type Answering<'s> = Pin<Box<dyn Future<Output = Result<Response, ApiError>> + Send + 's>>;

pub type Following<'s> = Pin<Box<dyn Future<Output = Result<EventStream, ApiError>> + Send + 's>>;

/// Ends after [`crate::EventKind::Closed`], or with the error that cut it off.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event, ApiError>> + Send>>;

/// What a front end speaks to: the engine, or one in another process.
pub trait Service: Send + Sync {
    /// Answers when what was asked for is durable. Requests of one session happen one after the other, in the order in
    /// which they came. To drop the answer does not take the request back.
    fn call<'s>(&'s self, caller: &'s Caller, request: Request) -> Answering<'s>;

    /// Events behind `after_seq`, first those that were, then those that come. `gone` where they are so old that they
    /// are no longer kept: open the session anew and follow from there.
    fn follow<'s>(&'s self, caller: &'s Caller, session: &'s str, after_seq: u64) -> Following<'s>;
}

impl Caller {
    /// The owner of the home, in this process or behind its socket.
    pub fn local(name: impl Into<String>) -> Self {
        Self { name: name.into(), access: Access::Owner, id: CallerId::fresh(), context: Arc::default() }
    }

    pub fn with(self, context: Arc<CallerContext>) -> Self {
        Self { context, ..self }
    }

    /// Refuses what a reader may not ask for.
    pub fn may(&self, request: &Request) -> Result<(), ApiError> {
        match self.access {
            Access::Write if request.is_for_owner() => Err(ApiError::read_only()),
            Access::Owner | Access::Write => Ok(()),
            Access::Read if request.only_looks() => Ok(()),
            Access::Read => Err(ApiError::read_only()),
        }
    }
}
