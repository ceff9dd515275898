//! Which sessions are open, and the way to each of them.
//!
//! A session is opened by the first message to it. It is closed by whoever ends the engine, and closes itself when nobody
//! has used it for a while. What arrives at that very moment opens it anew: nobody who speaks to a session need know
//! whether it was open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_api::{ApiError, CallerContext};
use offshoot_session::SessionId;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::actor::{self, Message};
use crate::engine::{Shared, disconnected};

/// Messages that may wait for a session; who sends more waits too.
const MAILBOX: usize = 64;

pub(crate) struct OpenSessions {
    shared: Arc<Shared>,
    /// Nobody awaits while holding it.
    open: Mutex<HashMap<SessionId, Open>>,
}

struct Open {
    mailbox: mpsc::Sender<Message>,
    actor: JoinHandle<()>,
}

impl OpenSessions {
    pub(crate) fn new(shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared, open: Mutex::default() })
    }

    pub(crate) async fn tell(
        self: &Arc<Self>,
        session: &SessionId,
        message: Message,
    ) -> Result<(), ApiError> {
        let context = message.context().cloned().unwrap_or_default();
        let Err(mpsc::error::SendError(message)) = self.mailbox(session, &context).send(message).await else {
            return Ok(());
        };
        self.mailbox(session, &context).send(message).await.map_err(|_| disconnected())
    }

    /// Those that are open now.
    pub(crate) fn names(&self) -> Vec<SessionId> {
        let open = self.open();
        let is_open = |open: &Open| !open.mailbox.is_closed();
        open.iter().filter(|(_, one)| is_open(one)).map(|(id, _)| id.clone()).collect()
    }

    /// Asks a session that is open; one that closes meanwhile is idle.
    pub(crate) async fn is_idle(&self, session: &SessionId) -> bool {
        let Some(mailbox) = self.open().get(session).map(|open| open.mailbox.clone()) else { return true };
        let (reply, is_idle) = oneshot::channel();
        if mailbox.send(Message::IsIdle { reply }).await.is_err() {
            return true;
        }
        is_idle.await.unwrap_or(true)
    }

    pub(crate) async fn close(&self, session: &SessionId) {
        let open = self.open().remove(session);
        if let Some(open) = open {
            open.end().await;
        }
    }

    pub(crate) async fn close_all(&self) {
        let open: Vec<Open> = self.open().drain().map(|(_, open)| open).collect();
        // All begin to end before the first is waited for: each may have hooks to tell.
        for open in &open {
            open.begin_to_end().await;
        }
        for open in open {
            open.end().await;
        }
    }

    /// A session that is not open is opened on behalf of this caller.
    fn mailbox(self: &Arc<Self>, session: &SessionId, context: &Arc<CallerContext>) -> mpsc::Sender<Message> {
        let mut open = self.open();
        if let Some(open) = open.get(session).filter(|open| !open.mailbox.is_closed()) {
            return open.mailbox.clone();
        }
        let (mailbox, messages) = mpsc::channel(MAILBOX);
        let (shared, sessions) = (self.shared.clone(), Arc::downgrade(self));
        let served =
            actor::run(session.clone(), shared, context.clone(), sessions, messages, mailbox.clone());
        let (sessions, id, own) = (Arc::downgrade(self), session.clone(), mailbox.downgrade());
        let actor = tokio::spawn(async move {
            let left = served.await;
            let Some(sessions) = sessions.upgrade() else { return };
            sessions.forget(&id, &own);
            for message in left {
                // Who cannot be told any more hears that nobody answers.
                let _ = sessions.tell(&id, message).await;
            }
        });
        open.insert(session.clone(), Open { mailbox: mailbox.clone(), actor });
        mailbox
    }

    /// Another one of that name may have been opened since.
    fn forget(&self, session: &SessionId, mailbox: &mpsc::WeakSender<Message>) {
        let mut open = self.open();
        let is_it = |one: &Open| mailbox.upgrade().is_none_or(|mailbox| mailbox.same_channel(&one.mailbox));
        if open.get(session).is_some_and(is_it) {
            open.remove(session);
        }
    }

    /// Each change is whole, so a thread that died here left nothing half done.
    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    async fn begin_to_end(&self) {
        // One that has ended already need not be told.
        let _ = self.mailbox.send(Message::Stop).await;
    }

    async fn end(self) {
        self.begin_to_end().await;
        // How it ended concerns nobody any more.
        let _ = self.actor.await;
    }
}

/// Sessions that nobody has closed are left as a crash would leave them.
impl Drop for OpenSessions {
    fn drop(&mut self) {
        for open in self.open().values() {
            open.actor.abort();
        }
    }
}
