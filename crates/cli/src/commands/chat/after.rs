//! What is said when something was done, or refused: in the words of somebody who talks.

use offshoot_api::{ApiError, ErrorCode, Hint, Request};

use crate::failure::Failure;
use crate::talk::refused;
use crate::words::chatting as words;

/// What a request leaves to be said. Most of it is told by the events that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Its events say it.
    Nothing,
    Done,
    Moved,
    /// With the point that was named.
    Rewound(String),
    Undone,
    Redone,
}

impl After {
    pub(super) fn of(request: &Request) -> Self {
        match request {
            Request::Answer(_)
            | Request::Interrupt(_)
            | Request::Compact(_)
            | Request::ChangeQueued(_)
            | Request::CancelQueued(_)
            | Request::Clear(_) => Self::Nothing,
            Request::Undo(_) => Self::Undone,
            Request::Redo(_) => Self::Redone,
            Request::Fork(_) | Request::Version(_) | Request::Navigate(_) => Self::Moved,
            Request::Rewind(rewind) => Self::Rewound(rewind.to.clone()),
            _ => Self::Done,
        }
    }
}

/// A refusal with the hint that helps while talking: other commands and their flags are not at hand.
pub(super) fn refused_here(error: &ApiError) -> Failure {
    let with = |hint: &str| refused_as(error, error.message.clone()).hint(hint);
    match (error.code, error.hint) {
        (ErrorCode::Waiting, _) => refused_as(error, words::WAITS_FOR_YOU).hint(words::ANSWER_FIRST_HINT),
        (_, Some(Hint::AbortFirst)) => with(words::CTRL_C_HINT),
        (_, Some(Hint::Redo)) => with(words::REDO_HINT),
        (ErrorCode::Blank, _) => refused_as(error, words::NEEDS_TEXT),
        (ErrorCode::NotFound | ErrorCode::Ambiguous, _) => with(words::TREE_HINT),
        (ErrorCode::NoAgent, _) => with(words::NO_AGENT_HINT),
        (_, Some(Hint::SayBranching) | None) => refused(error),
    }
}

/// In other words, with the same code.
fn refused_as(error: &ApiError, message: impl Into<String>) -> Failure {
    let mut failure = Failure::failed(message);
    failure.exit = refused(error).exit;
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;
    use crate::look::Look;

    #[test]
    fn a_refusal_names_what_is_at_hand_while_talking() {
        let look = Look::plain(None);
        let refusal = |code, hint| {
            let mut error = ApiError::new(code, "it is so");
            error.hint = hint;
            refused_here(&error)
        };
        let codes = [ErrorCode::Running, ErrorCode::Waiting, ErrorCode::NoAgent, ErrorCode::NotFound];
        for code in codes {
            for hint in [None, Some(Hint::AbortFirst), Some(Hint::Redo)] {
                let told = refusal(code, hint).told(&look);
                assert!(!told.contains("--"), "a flag that chat does not have: {told}");
            }
        }
        assert_eq!(refusal(ErrorCode::Waiting, Some(Hint::AbortFirst)).exit, Exit::Refused);
        assert_eq!(refusal(ErrorCode::NotFound, None).exit, Exit::NotFound);
    }
}
