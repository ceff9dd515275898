//! What is asked of the engine, and how it is called off.

use std::time::Duration;

use offshoot_api::request::{Interrupt, Session, Summary};
use offshoot_api::{ApiError, ErrorCode, Request, Response};

use super::session::Chat;
use super::signals::Told;
use crate::failure::Failure;
use crate::look::Ink;
use crate::words::chatting as words;

/// Whoever waits longer wants to know that something is being done.
const A_MOMENT: Duration = Duration::from_millis(400);

impl Chat<'_> {
    /// Waits for the answer. Most come at once; a summary, or a hook that is asked first, takes its time, and Ctrl-C calls it
    /// off. Events wait meanwhile: the answer belongs before what follows from it.
    pub(super) async fn call(&mut self, request: Request) -> Result<Response, ApiError> {
        let session = request.session().map(str::to_owned);
        let mut is_told = !(self.is_terminal || writes_a_summary(&request));
        let mut moment = std::pin::pin!(tokio::time::sleep(A_MOMENT));
        let mut answering = std::pin::pin!(self.reached()?.asked(request));
        loop {
            tokio::select! {
                biased;
                answer = &mut answering => return answer,
                told = self.signals.next() => match told {
                    Told::Leave => self.is_told_to_leave(),
                    Told::Stop if self.is_stopped_twice() => self.leaves_by_wish(),
                    Told::Stop => self.call_off(session.as_deref()).await,
                },
                () = &mut moment, if !is_told => {
                    is_told = true;
                    // Who cannot read it is noticed by what is told next.
                    let _ = self.tell(Ink::Faint, words::TAKES_TIME);
                }
            }
            if self.is_left() {
                return Err(ApiError::new(ErrorCode::Cancelled, words::LEFT));
            }
        }
    }

    /// What cannot be called off is done in a moment: then Ctrl-C is heard as if it came after it.
    async fn call_off(&mut self, session: Option<&str>) {
        let _ = self.out.print("\n");
        self.telling.is_at_line_start();
        let cancelled = match (self.reached(), session) {
            (Ok(reached), Some(session)) => {
                let cancel = Request::CancelSummary(Session { session: session.to_owned() });
                reached.call(cancel).await.is_ok()
            }
            _ => false,
        };
        self.is_called_off |= cancelled;
        self.unheard_stop |= !cancelled;
    }

    /// Whoever has called it off knows why it was not done.
    pub(super) fn takes_calling_off(&mut self, error: &ApiError) -> bool {
        std::mem::take(&mut self.is_called_off) && error.code == ErrorCode::Cancelled
    }

    pub(super) async fn interrupt(&mut self) -> Result<(), Failure> {
        self.is_invited = false;
        self.telling.is_at_line_start();
        self.out.print("\n")?;
        if self.is_stopped_twice() {
            self.leaves_by_wish();
            return Ok(());
        }
        let turn = self.turns.here().filter(|_| !self.is_interrupted).map(str::to_owned);
        let (Some(session), Some(turn)) = (self.session.clone(), turn) else {
            return self.tell(Ink::Faint, words::CTRL_C_AGAIN);
        };
        self.tell(Ink::Faint, words::INTERRUPTING)?;
        // The answer that is seen here, wherever the head went meanwhile.
        self.do_this(Request::Interrupt(Interrupt { session, turn: Some(turn) })).await
    }
}

fn writes_a_summary(request: &Request) -> bool {
    match request {
        Request::Compact(_) => true,
        Request::Navigate(navigate) => navigate.summary != Summary::None,
        _ => false,
    }
}
