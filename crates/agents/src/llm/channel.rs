//! The two directions of a turn: what is reported, and what comes meanwhile.

use std::collections::VecDeque;

use offshoot_session::TurnId;
use offshoot_session::agent::{AgentEventKind, AgentInput, FromAgent};
use offshoot_session::asks::{Answer, Asking};
use tokio::sync::mpsc;

use crate::meanwhile::{Meanwhile, meanwhile};

/// Why a turn ends before its end.
#[derive(Debug)]
pub(crate) enum Stopped {
    Interrupted,
    /// The engine has let go of the connection.
    Closed,
}

/// Reports what happens in a turn.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub(crate) turn: TurnId,
    pub(crate) events: mpsc::Sender<FromAgent>,
}

/// Takes what comes in a turn.
#[derive(Debug)]
pub(crate) struct Listener<'c> {
    pub(crate) inputs: &'c mut mpsc::Receiver<AgentInput>,
    /// What belongs behind the turn.
    pub(crate) later: &'c mut VecDeque<AgentInput>,
    /// Asks of the connection so far.
    pub(crate) asks: &'c mut usize,
}

impl Reporter {
    pub(crate) async fn report(&self, kind: AgentEventKind) -> Result<(), Stopped> {
        let event = FromAgent::turn(self.turn.clone(), kind);
        self.events.send(event).await.map_err(|_| Stopped::Closed)
    }
}

impl Listener<'_> {
    /// Does something that takes time, unless it is interrupted. Then it is dropped where it is.
    pub(crate) async fn unless_interrupted<T>(
        &mut self,
        reporter: &Reporter,
        work: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                input = self.inputs.recv() => self.take(reporter, input.ok_or(Stopped::Closed)?).await?,
            }
        }
    }

    /// Waits for the answer, and confirms it.
    pub(crate) async fn ask(&mut self, reporter: &Reporter, ask: Asking) -> Result<Answer, Stopped> {
        *self.asks += 1;
        let request = format!("ask{}", self.asks);
        reporter.report(AgentEventKind::Ask { request: request.clone(), ask }).await?;
        loop {
            match self.inputs.recv().await.ok_or(Stopped::Closed)? {
                AgentInput::Answer { turn, request: answered, answer }
                    if turn == reporter.turn && answered == request =>
                {
                    reporter.report(AgentEventKind::AskConfirmed { request }).await?;
                    return Ok(answer);
                }
                input => self.take(reporter, input).await?,
            }
        }
    }

    async fn take(&mut self, reporter: &Reporter, input: AgentInput) -> Result<(), Stopped> {
        match meanwhile(&reporter.turn, input) {
            Meanwhile::Interrupted => return Err(Stopped::Interrupted),
            Meanwhile::Nothing => {}
            Meanwhile::Confirm(event) => reporter.events.send(event).await.map_err(|_| Stopped::Closed)?,
            Meanwhile::Later(input) => self.later.push_back(input),
        }
        Ok(())
    }
}
