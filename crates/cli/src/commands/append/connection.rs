//! The engine that writes the lines, kept for as long as there are more.

use offshoot_api::frame::MAX_LINE;
use offshoot_api::response::Changed;
use offshoot_api::{ApiError, ErrorCode, Request, Response, request};
use offshoot_session::SessionId;
use tokio::runtime::Runtime;

use crate::change::tell_of_news;
use crate::engine::{self, Purpose, Reached, Rules};
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::{runtime, unexpected};

/// So many bytes fit into one line of the connection, whatever has to be escaped in them.
const MOST_BYTES: usize = MAX_LINE / 4;

/// How often a lost engine is replaced.
const TRIES: usize = 5;

pub(super) struct Connection<'h> {
    here: &'h Here,
    session: SessionId,
    runtime: Runtime,
    reached: Option<Reached>,
    /// The engine in this process, for lines that are too long for the one that runs.
    in_process: Option<Reached>,
}

impl<'h> Connection<'h> {
    pub(super) fn open(here: &'h Here, session: &SessionId) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let mut connection =
            Self { here, session: session.clone(), runtime, reached: None, in_process: None };
        connection.reached = Some(connection.reach()?);
        Ok(connection)
    }

    /// The request has an id, so it is written once, also where the engine ends before it answers. `again` makes the same
    /// request for another try.
    pub(super) fn append(
        &mut self,
        mut append: request::Append,
        again: impl Fn() -> request::Append,
        bytes: usize,
    ) -> Result<Result<Changed, ApiError>, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = match self.ask(Request::Append(append), bytes)? {
                Ok(Response::Changed(changed)) => return Ok(Ok(*changed)),
                Ok(other) => return Err(unexpected(other)),
                Err(error) => error,
            };
            let engine_holds_it = answer.code == ErrorCode::Locked && engine::is_there(self.here);
            if tries == TRIES || !(answer.code == ErrorCode::Disconnected || engine_holds_it) {
                return Ok(Err(answer));
            }
            self.leave();
            append = again();
        }
    }

    pub(super) fn close(mut self) {
        let wrote_beside = self.in_process.is_some();
        self.leave();
        if wrote_beside {
            tell_of_news(self.here, &self.session);
        }
    }

    fn ask(&mut self, request: Request, bytes: usize) -> Result<Result<Response, ApiError>, Failure> {
        if self.reached.is_none() {
            self.reached = Some(self.reach()?);
        }
        let is_too_long =
            bytes > MOST_BYTES && self.reached.as_ref().is_some_and(|reached| !reached.is_in_process());
        if is_too_long && self.in_process.is_none() {
            let _runtime = self.runtime.enter();
            self.in_process = Some(engine::in_process(self.here, Some(&self.session), Rules::None)?);
        }
        let reached = if is_too_long { &self.in_process } else { &self.reached };
        match reached {
            Some(reached) => Ok(self.runtime.block_on(reached.call(request))),
            None => Ok(Err(ApiError::new(ErrorCode::Disconnected, "no engine was found"))),
        }
    }

    fn reach(&self) -> Result<Reached, Failure> {
        self.runtime.block_on(async {
            match engine::running_for(self.here, Purpose::Change).await? {
                Some(running) => Ok(running),
                None => engine::in_process(self.here, Some(&self.session), Rules::None),
            }
        })
    }

    fn leave(&mut self) {
        for reached in [self.reached.take(), self.in_process.take()].into_iter().flatten() {
            self.runtime.block_on(reached.leave());
        }
    }
}
