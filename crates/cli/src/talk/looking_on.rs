//! What happens in a session while a command asks something of it: what hooks did wrong, and whatever else is worth
//! knowing, is told beside the answer.

use futures_util::{FutureExt, StreamExt};
use offshoot_api::event::EventKind;
use offshoot_api::{ApiError, ErrorCode, Event, EventStream, Request, request};
use tokio::signal::unix::{SignalKind, signal};

use super::{note_now, open};
use crate::engine::Reached;
use crate::text::harmless_line;
use crate::words::talking as words;

pub(crate) struct LookingOn {
    session: String,
    events: EventStream,
    /// The number of the last event that was heard.
    seq: u64,
    ascii: bool,
}

impl LookingOn {
    /// `None`: there is nothing to look at. Why, the request itself is told.
    pub(crate) async fn begin(reached: &Reached, session: &str, ascii: bool) -> Option<Self> {
        let seq = open(reached, session, Some(0)).await.ok()?.seq;
        Self::after(reached, session, seq, ascii).await.ok()
    }

    /// Everything behind this event.
    pub(crate) async fn after(
        reached: &Reached,
        session: &str,
        seq: u64,
        ascii: bool,
    ) -> Result<Self, ApiError> {
        let events = reached.follow(session, seq).await?;
        Ok(Self { session: session.to_owned(), events, seq, ascii })
    }

    /// The next event. Who does not keep up is told that some are `gone`; without an engine there are no more.
    pub(crate) async fn next(&mut self) -> Result<Event, ApiError> {
        let ended = || ApiError::new(ErrorCode::Disconnected, words::NOTHING_RUNS_HERE);
        let event = self.events.next().await.ok_or_else(ended)??;
        self.seq = event.seq;
        Ok(event)
    }

    /// An answer may overtake what was told before it.
    pub(crate) async fn catch_up(&mut self, reached: &Reached) {
        let Ok(now) = open(reached, &self.session, Some(0)).await else { return };
        while self.seq < now.seq
            && let Ok(event) = self.next().await
        {
            tell(&event, self.ascii);
        }
    }

    pub(crate) async fn catch_up_and_leave(mut self, reached: Reached) {
        self.catch_up(&reached).await;
        self.leave(reached).await;
    }

    /// Hooks may have to be told of what was done, and what goes wrong there is reported.
    pub(crate) async fn leave(self, reached: Reached) {
        let ascii = self.ascii;
        leave_settled(reached, &self.session, self.events, |event| tell(event, ascii)).await;
    }
}

/// Leaves when hooks have been told everything, and hands over what is heard until then. A person who does not want to
/// wait presses Ctrl-C; the hooks are told all the same.
pub(crate) async fn leave_settled(
    reached: Reached,
    session: &str,
    events: EventStream,
    mut hear: impl FnMut(&Event),
) {
    let mut events = events.fuse();
    let settle = Request::Settle(request::Session { session: session.to_owned() });
    {
        let mut settled = std::pin::pin!(reached.call(settle));
        let mut told_to_leave = std::pin::pin!(told_to_leave());
        loop {
            tokio::select! {
                biased;
                () = &mut told_to_leave => break,
                Some(Ok(event)) = events.next() => hear(&event),
                _ = &mut settled => break,
            }
        }
    }
    // What was told before the answer may be here already.
    while let Some(Some(Ok(event))) = events.next().now_or_never() {
        hear(&event);
    }
    reached.leave().await;
}

async fn told_to_leave() {
    let (Ok(mut ctrl_c), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = ctrl_c.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn tell(event: &Event, ascii: bool) {
    if let Some(text) = worth_knowing(event) {
        note_now(&harmless_line(&text, ascii));
    }
}

/// What concerns no turn but whoever looks on. What belongs to a turn is told with its answer.
pub(crate) fn worth_knowing(event: &Event) -> Option<String> {
    match &event.kind {
        EventKind::HookFailed { hook, message } => Some(words::hook_failed(hook, message)),
        EventKind::Notice { text } if event.turn.is_none() => Some(words::sentence(text)),
        _ => None,
    }
}
