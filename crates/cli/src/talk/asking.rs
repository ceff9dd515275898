//! One request of a command, which may take its time: a hook is asked first, or a model writes a summary. Ctrl-C calls it
//! off, and then nothing has changed. Whoever does not wait for that either presses it again.

use offshoot_api::request::Session;
use offshoot_api::{ApiError, ErrorCode, Request, Response};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::engine::Reached;
use crate::failure::{Exit, Failure};
use crate::words::{scripts, talking as words};

/// An answer, and whether somebody wanted to call it off when it was too late for that.
pub(crate) struct Answered {
    pub(crate) answer: Result<Response, ApiError>,
    pub(crate) came_too_late: bool,
}

pub(crate) fn ctrl_c() -> Result<Signal, Failure> {
    signal(SignalKind::interrupt()).map_err(|error| Failure::failed(words::cannot_wait(&error)))
}

pub(crate) async fn unless_called_off(
    reached: &Reached,
    request: Request,
    ctrl_c: &mut Signal,
) -> Result<Answered, Failure> {
    let session = request.session().map(str::to_owned);
    let mut answering = std::pin::pin!(reached.asked(request));
    let mut is_called_off = false;
    loop {
        tokio::select! {
            answer = &mut answering => {
                let was_in_time = answer.as_ref().is_err_and(|error| error.code == ErrorCode::Cancelled);
                return match is_called_off && was_in_time {
                    true => Err(interrupted(scripts::CALLED_OFF)),
                    false => Ok(Answered { answer, came_too_late: is_called_off }),
                };
            }
            _ = ctrl_c.recv() => match &session {
                Some(session) if !is_called_off => {
                    is_called_off = true;
                    let cancel = Request::CancelSummary(Session { session: session.clone() });
                    // It may be done by now; then the answer above says so.
                    drop(tokio::spawn(reached.asked(cancel)));
                }
                Some(_) | None => return Err(interrupted(scripts::NOT_WAITED_FOR)),
            },
        }
    }
}

fn interrupted(message: &str) -> Failure {
    let mut failure = Failure::refused(message);
    failure.exit = Exit::Interrupted;
    failure
}
