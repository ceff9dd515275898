//! What is said when something was done, or refused: in the words of somebody who talks.

use offshoot_api::{ApiError, ErrorCode, Hint, Request};

use super::session::Chat;
use crate::failure::Failure;
use crate::refusals::{agent_at, cannot_answer, reason};
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
    /// With the new label; `None` if it was removed.
    Labelled(Option<String>),
    /// With the new title; `None` if it was removed.
    Renamed(Option<String>),
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
            Request::Label(label) => Self::Labelled(label.label.clone()),
            Request::Rename(rename) => Self::Renamed(rename.title.clone()),
            // An edit comes here only if no agent answers it; then the head has moved to the edited message.
            Request::Fork(_) | Request::Version(_) | Request::Navigate(_) | Request::Edit(_) => Self::Moved,
            Request::Rewind(rewind) => Self::Rewound(rewind.to.text().to_owned()),
            _ => Self::Done,
        }
    }
}

/// A refusal with the hint that helps while talking: other commands and their flags are not at hand. `why` is what the
/// session knows of it.
fn refused_here(error: &ApiError, why: Option<String>) -> Failure {
    let refusal = refused_as(error, why.unwrap_or_else(|| error.message.clone()));
    match (error.code, error.hint) {
        (ErrorCode::Waiting, _) => refusal.hint(words::ANSWER_FIRST_HINT),
        (_, Some(Hint::AbortFirst)) => refusal.hint(words::CTRL_C_HINT),
        (_, Some(Hint::Redo)) => refusal.hint(words::REDO_HINT),
        (
            ErrorCode::NotFound | ErrorCode::Ambiguous | ErrorCode::PointNotFound | ErrorCode::PointAmbiguous,
            _,
        ) => refusal.hint(words::TREE_HINT),
        (ErrorCode::NoAgent, _) => refusal.hint(words::NO_AGENT_HINT),
        (ErrorCode::Stale, _) => refusal,
        (_, Some(Hint::SayBranching | Hint::FollowOrFork | Hint::SayTurn) | None) => refused(error),
    }
}

/// In other words, with the same code.
fn refused_as(error: &ApiError, message: impl Into<String>) -> Failure {
    let mut failure = Failure::failed(message);
    failure.exit = refused(error).exit;
    failure
}

impl Chat<'_> {
    /// Why it was not done, in words for whoever talks.
    pub(super) fn refusal(&self, error: &ApiError) -> Failure {
        let session = self.session.as_deref();
        match (error.code, session) {
            (ErrorCode::NoAgent, Some(session)) => {
                let tree = self.storage.read(self.here, &session.into()).ok();
                match tree.and_then(|tree| agent_at(&tree, tree.main_head())) {
                    Some(agent) => cannot_answer(&agent, words::GO_ON_WITHOUT),
                    None => refused_here(error, None),
                }
            }
            (_, Some(_)) => refused_here(error, reason(self.here, error)),
            (_, None) => refused_here(error, None),
        }
    }

    pub(super) fn is_refused(&mut self, error: &ApiError) {
        let failure = self.refusal(error);
        self.complain(&failure);
    }
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
            refused_here(&error, None)
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
