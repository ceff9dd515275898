//! Commands that speak with the engine: where they wait, and its refusals as failures of a command.

pub(crate) mod asking;
pub(crate) mod choices;
pub(crate) mod given;
pub(crate) mod looking_on;
pub(crate) mod printing;
pub(crate) mod sign_in;
pub(crate) mod suggested;
pub(crate) mod telling;
mod wrapping;

use std::io::Write;
use std::path::Path;

use offshoot_api::views::SessionView;
use offshoot_api::{ApiError, ErrorCode, FILE_SIZE_LIMIT, Hint, Needed, Point, Request, Response, request};

use crate::engine::Reached;
use crate::failure::{Exit, Failure};
use crate::text::harmless_output;
use crate::words::talking as words;

/// Runs a command that waits for others.
pub(crate) fn wait_for<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    runtime()?.block_on(command)
}

/// For a command that waits for others now and then.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::failed(words::cannot_wait(&error)))
}

pub(crate) fn refused(error: &ApiError) -> Failure {
    let mut failure = Failure::failed(error.message.clone());
    failure.exit = match error.code {
        ErrorCode::NotFound
        | ErrorCode::Ambiguous
        | ErrorCode::PointNotFound
        | ErrorCode::PointAmbiguous
        | ErrorCode::NoAgent => Exit::NotFound,
        // Nothing is wrong with the words: a decision is missing.
        ErrorCode::Invalid if error.hint == Some(Hint::SayBranching) => Exit::Refused,
        ErrorCode::Invalid => Exit::Usage,
        ErrorCode::Running
        | ErrorCode::Waiting
        | ErrorCode::Blank
        | ErrorCode::SameText
        | ErrorCode::NoSuchVersion
        | ErrorCode::NotAPrompt
        | ErrorCode::NoText
        | ErrorCode::CannotForkHere
        | ErrorCode::NameTaken
        | ErrorCode::BadName
        | ErrorCode::TooLarge
        | ErrorCode::HeadBelow
        | ErrorCode::NothingToDo
        | ErrorCode::Stale
        | ErrorCode::AnsweredOtherwise
        | ErrorCode::WrongAnswer
        | ErrorCode::NoCheckpoint
        | ErrorCode::Cancelled
        | ErrorCode::AgentElsewhere
        | ErrorCode::ReadOnly => Exit::Refused,
        ErrorCode::Locked => Exit::Locked,
        ErrorCode::UnsupportedMessage
        | ErrorCode::AgentFailed
        | ErrorCode::NoModel
        | ErrorCode::DiskFull
        | ErrorCode::NoAccess
        | ErrorCode::NewerFormat
        | ErrorCode::Gone
        | ErrorCode::Disconnected
        | ErrorCode::EngineOutdated
        | ErrorCode::Internal => Exit::Failed,
    };
    match (error.hint, error.code) {
        (Some(Hint::AbortFirst), _) => failure.hint(words::ABORT_FIRST_HINT),
        (Some(Hint::Redo), _) => failure.hint(words::REDO_HINT),
        (Some(Hint::SayBranching), _) => failure.hint(words::SAY_BRANCHING_HINT),
        (Some(Hint::FollowOrFork), _) => failure.hint(words::FOLLOW_OR_FORK_HINT),
        (Some(Hint::SayTurn), _) => failure.hint(words::SAY_TURN_HINT),
        (None, ErrorCode::NoAgent) => failure.hint(words::NO_AGENT_HINT),
        (None, ErrorCode::DiskFull) if error.data.problem.as_deref() == Some(FILE_SIZE_LIMIT) => {
            failure.hint(crate::words::FILE_LIMIT_HINT)
        }
        (None, ErrorCode::DiskFull) => failure.hint(crate::words::DISK_FULL_HINT),
        (None, ErrorCode::NewerFormat) => failure.hint(crate::words::reading::NEWER_HINT),
        (None, ErrorCode::NoAccess) => match no_access_hint(error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        },
        (None, ErrorCode::Locked) => failure.hint(crate::words::BEING_WRITTEN_HINT),
        (None, ErrorCode::Disconnected) => failure.hint(words::DISCONNECTED_HINT),
        (None, ErrorCode::PointNotFound) if error.data.problem.as_deref() == Some("too_short") => {
            failure.hint(crate::words::TOO_SHORT_HINT)
        }
        (None, ErrorCode::PointAmbiguous) => failure.hint(crate::words::AMBIGUOUS_HINT),
        (None, ErrorCode::NotFound | ErrorCode::Ambiguous | ErrorCode::PointNotFound) => {
            failure.hint(crate::words::POINT_HINT)
        }
        (None, _) => failure,
    }
}

fn no_access_hint(error: &ApiError) -> Option<String> {
    let data = &error.data;
    match data.needed? {
        Needed::Read => Some(crate::words::not_allowed_hint(Path::new(data.path.as_ref()?))),
        Needed::Write => Some(crate::words::not_saved_hint(&std::io::ErrorKind::PermissionDenied.into())),
    }
}

/// An answer of a kind that was not asked for: another version is at the other end.
pub(crate) fn unexpected(_: Response) -> Failure {
    Failure::failed(words::OTHER_VERSION)
}

/// The session without turns, and with the settings that are in force at a point; at the head if there is none.
pub(crate) async fn open_at(
    reached: &Reached,
    session: &str,
    at: Option<Point>,
) -> Result<SessionView, ApiError> {
    opened(reached, request::Open { session: session.to_owned(), turns: Some(0), turn: None, at }).await
}

/// The session with its last turns in view.
pub(crate) async fn open(
    reached: &Reached,
    session: &str,
    turns: Option<usize>,
) -> Result<offshoot_api::views::SessionView, ApiError> {
    opened(reached, request::Open { session: session.to_owned(), turns, turn: None, at: None }).await
}

/// The session with one turn in view, wherever the head is. The whole branch may be longer than a line of the connection.
pub(crate) async fn open_turn(
    reached: &Reached,
    session: &str,
    turn: &str,
) -> Result<offshoot_api::views::SessionView, ApiError> {
    let (session, turn) = (session.to_owned(), Some(turn.to_owned()));
    opened(reached, request::Open { session, turns: Some(1), turn, at: None }).await
}

async fn opened(
    reached: &Reached,
    open: request::Open,
) -> Result<offshoot_api::views::SessionView, ApiError> {
    match reached.call(Request::Open(open)).await? {
        Response::Session(view) => Ok(*view),
        _ => Err(ApiError::new(ErrorCode::UnsupportedMessage, words::OTHER_VERSION)),
    }
}

/// Beside it, for a person, while it comes.
pub(crate) fn note_now(text: &str) {
    // Who cannot read it any more does not miss it.
    let _ = writeln!(std::io::stderr(), "{}", harmless_output(text));
}

#[cfg(test)]
mod tests {
    use offshoot_api::ErrorData;
    use offshoot_session::format::NewerFormat;
    use offshoot_store::{AppendError, FileError, ReadError};

    use super::*;
    use crate::look::Look;
    use crate::stored::{append_failed, read_failed};

    #[test]
    fn a_full_disk_says_what_helps() {
        let text = "could not save `a`: no space left on the disk; nothing was half written";
        let told = refused(&ApiError::new(ErrorCode::DiskFull, text)).told(&Look::plain(None));
        assert_eq!(told, format!("error: {text}\nhint: free some space, then try again\n"));
    }

    /// The same sentence whether the command reads the journal or the engine does.
    #[test]
    fn what_the_store_refuses_reads_the_same_from_the_engine() {
        let path = Path::new("/home/sessions/a.jsonl");
        let read = ErrorData {
            path: Some(path.display().to_string()),
            needed: Some(Needed::Read),
            ..ErrorData::default()
        };
        let write = ErrorData { needed: Some(Needed::Write), ..read.clone() };
        let denied = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let file = |doing| FileError { doing, path: path.to_owned(), source: denied() };
        let newer = NewerFormat { version: 99 };
        let pairs = [
            (
                read_failed(&ReadError::File(file("open"))),
                ApiError::new(ErrorCode::NoAccess, "no permission to read `/home/sessions/a.jsonl`")
                    .about(read),
            ),
            (
                append_failed(&AppendError::Disk(file("open"))),
                ApiError::new(
                    ErrorCode::NoAccess,
                    "could not save `/home/sessions/a.jsonl`: no permission; nothing was half written",
                )
                .about(write),
            ),
            (
                read_failed(&ReadError::Newer { path: path.to_owned(), source: newer }),
                ApiError::new(ErrorCode::NewerFormat, format!("session `a` cannot be read: {newer}")),
            ),
        ];
        for (alone, by_engine) in pairs {
            let by_engine = refused(&by_engine);
            assert_eq!(by_engine.exit, alone.exit);
            assert_eq!(by_engine.told(&Look::plain(None)), alone.told(&Look::plain(None)));
        }
    }
}
