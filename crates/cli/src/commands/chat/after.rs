//! What is said when something was done, or refused: in the words of somebody who talks.

use offshoot_api::{ApiError, ErrorCode, Hint, Request, Response, response};

use crate::failure::Failure;
use crate::talk::refused;
use crate::words::talking as words;

/// What a request leaves to be said. Most of it is told by the events that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Its events say it.
    Nothing,
    Done,
    Moved,
    Undone,
    Redone,
}

impl After {
    pub(super) fn of(request: &Request) -> Self {
        match request {
            Request::Answer(_) | Request::Interrupt(_) | Request::Compact(_) | Request::Clear(_) => {
                Self::Nothing
            }
            Request::Undo(_) => Self::Undone,
            Request::Redo(_) => Self::Redone,
            Request::Fork(_) | Request::Version(_) | Request::Navigate(_) | Request::Rewind(_) => Self::Moved,
            _ => Self::Done,
        }
    }

    pub(super) fn says(self, response: &Response) -> Option<String> {
        let moved = if let Response::Moved(moved) = response { Some(moved) } else { None };
        let stayed = moved.is_none_or(|moved| moved.from == moved.to);
        match self {
            Self::Nothing => None,
            Self::Done => Some(words::DONE.to_owned()),
            Self::Moved => Some(place(moved)),
            Self::Undone if stayed => Some(words::UNDONE.to_owned()),
            Self::Undone => Some(format!("{} {}", words::UNDONE, words::MOVED)),
            Self::Redone if stayed => Some(words::REDONE.to_owned()),
            Self::Redone => Some(format!("{} {}", words::REDONE, words::MOVED)),
        }
    }
}

fn place(moved: Option<&response::Moved>) -> String {
    match moved.and_then(|moved| moved.version) {
        Some((number, of)) => words::version_line(number, of),
        None => words::MOVED.to_owned(),
    }
}

/// A refusal with the hint that helps while talking: other commands are not at hand.
pub(super) fn refused_here(error: &ApiError) -> Failure {
    match (error.hint, error.code) {
        (Some(Hint::AbortFirst), _) => Failure::refused(error.message.clone()).hint(words::CTRL_C_HINT),
        (None, ErrorCode::NotFound | ErrorCode::Ambiguous) => {
            Failure::not_found(error.message.clone()).hint(words::TREE_HINT)
        }
        (Some(Hint::Redo | Hint::SayBranching) | None, _) => refused(error),
    }
}
