//! Why something was not done. Codes are stable; words are for people and may change.

use jiff::Timestamp;
use offshoot_session::address::AddressError;
use offshoot_session::asks::AnswerRefused;
use offshoot_session::guard::{self, Refusal};
use offshoot_session::plan::{
    ArchiveRefused, ConfigRefused, EditRefused, ForkRefused, NamingRefused, NavigationRefused, NotAppended,
    RetryRefused, RewindRefused, SendRefused, SwitchRefused, VersionRefused, WhyNotAppended,
};
use offshoot_session::queue::NotQueued;
use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[error("{message}")]
pub struct ApiError {
    pub code: ErrorCode,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
    /// The turn that is in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Since when, where that helps: of what is no longer asked.
    #[serde(default, with = "crate::views::time::maybe", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    NotFound,
    /// A point, a session or a turn that could be several.
    Ambiguous,
    /// The request cannot be understood.
    Invalid,
    /// A kind of request that this version does not know.
    UnsupportedMessage,
    /// A turn runs on the path that would be changed.
    Running,
    /// It waits for an answer.
    Waiting,
    Blank,
    SameText,
    /// There is no version before or after.
    NoSuchVersion,
    /// The head stands in what would be put out of sight.
    HeadBelow,
    NothingToDo,
    /// Nobody asks this any more.
    Stale,
    AnsweredOtherwise,
    WrongAnswer,
    NoAgent,
    AgentFailed,
    /// No model to write a summary.
    NoModel,
    /// There is no checkpoint, or the agent keeps none.
    NoCheckpoint,
    /// A hook said no.
    Cancelled,
    ReadOnly,
    /// Another process writes this session.
    Locked,
    DiskFull,
    /// The events that were asked for are no longer kept.
    Gone,
    /// The other end is not there any more. What was asked for may or may not have happened.
    Disconnected,
    /// The engine that runs is of another version and cannot be replaced now.
    EngineOutdated,
    /// A defect of this program.
    Internal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// The same request with `"if_running": "abort_first"` would interrupt the turn and then act.
    AbortFirst,
    /// `redo` would bring back what was taken back.
    Redo,
    /// Say `branching`: the settings want to be asked.
    SayBranching,
    /// Say `turn`: several run, and none is nearer than the others.
    SayTurn,
}

impl ApiError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, turn: None, since: None }
    }

    pub fn session_not_found(session: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("session `{session}` not found"))
    }

    /// Its beginning was undone, so it is in no list.
    pub fn taken_back(session: &str) -> Self {
        let error = Self::new(ErrorCode::NotFound, format!("session `{session}` was taken back"));
        Self { hint: Some(Hint::Redo), ..error }
    }

    pub fn unsupported_message(kind: &str) -> Self {
        Self::new(ErrorCode::UnsupportedMessage, format!("messages of type `{kind}` are not supported"))
    }

    pub fn read_only() -> Self {
        Self::new(ErrorCode::ReadOnly, "this caller may only read")
    }
}

impl ErrorCode {
    /// As it is on the wire.
    pub fn word(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(word)) => word,
            Ok(_) | Err(_) => String::from("internal"),
        }
    }
}

/// Which of the entries it is, counted from 1, is said with the reason.
impl From<NotAppended> for ApiError {
    fn from(refused: NotAppended) -> Self {
        let NotAppended { why, index, before: _ } = refused;
        let told = match why {
            WhyNotAppended::Nowhere(error) => Self::from(error),
            WhyNotAppended::Rejected(rejected) => Self::new(ErrorCode::Invalid, rejected.to_string()),
        };
        Self { message: format!("entry {}: {}", index + 1, told.message), ..told }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::Running { .. } | Refusal::Connecting { .. } => ErrorCode::Running,
            Refusal::Waiting { .. } => ErrorCode::Waiting,
            Refusal::Blank => ErrorCode::Blank,
            Refusal::SameText { .. } => ErrorCode::SameText,
            Refusal::NoAgent => ErrorCode::NoAgent,
            Refusal::AgentBroken => ErrorCode::AgentFailed,
            Refusal::NothingRuns => ErrorCode::NothingToDo,
            Refusal::SeveralRun { .. } => ErrorCode::Ambiguous,
        };
        let hint = refusal.hint().map(|hint| match hint {
            guard::Hint::AbortFirst => Hint::AbortFirst,
            guard::Hint::SayTurn => Hint::SayTurn,
        });
        let turn = refusal.turn().map(|turn| turn.to_string());
        Self { hint, turn, ..Self::new(code, refusal.to_string()) }
    }
}

impl From<AnswerRefused> for ApiError {
    fn from(refused: AnswerRefused) -> Self {
        let (code, since) = match &refused {
            AnswerRefused::Unknown(_) => (ErrorCode::NotFound, None),
            AnswerRefused::Stale { since, .. } => (ErrorCode::Stale, *since),
            AnswerRefused::Otherwise { .. } => (ErrorCode::AnsweredOtherwise, None),
            AnswerRefused::WrongKind(_) => (ErrorCode::WrongAnswer, None),
        };
        Self { since, ..Self::new(code, refused.to_string()) }
    }
}

/// Errors of plans: a code for each variant, and the plan's own words.
macro_rules! coded {
    ($($error:ty { $($pattern:pat => $code:ident,)* })*) => {$(
        impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                let code = match &error { $($pattern => ErrorCode::$code,)* };
                Self::new(code, error.to_string())
            }
        }
    )*};
}

coded! {
    SendRefused { SendRefused::Blank => Blank, SendRefused::UnknownHead(_) => NotFound, }
    EditRefused {
        EditRefused::NotFound(_) | EditRefused::UnknownHead(_) => NotFound,
        EditRefused::NotAPrompt(_) => Invalid,
        EditRefused::Blank => Blank,
        EditRefused::SameText { .. } => SameText,
    }
    RetryRefused {
        RetryRefused::NotFound(_) | RetryRefused::UnknownHead(_) => NotFound,
        RetryRefused::NoPrompt(_) => Invalid,
    }
    SwitchRefused { SwitchRefused::NotFound(_) | SwitchRefused::UnknownHead(_) => NotFound, }
    NavigationRefused {
        NavigationRefused::NotFound(_) | NavigationRefused::UnknownHead(_) => NotFound,
        NavigationRefused::NoModel => NoModel,
    }
    VersionRefused {
        VersionRefused::NotFound(_) | VersionRefused::UnknownHead(_) => NotFound,
        VersionRefused::NotAPrompt(_) => Invalid,
    }
    ForkRefused {
        ForkRefused::NotFound(_) => NotFound,
        ForkRefused::NotAMessage(_) | ForkRefused::NotAPrompt(_) => Invalid,
    }
    NamingRefused { NamingRefused::NotFound(_) => NotFound, }
    ArchiveRefused {
        ArchiveRefused::NotFound(_) => NotFound,
        ArchiveRefused::HeadBelow { .. } => HeadBelow,
    }
    ConfigRefused { ConfigRefused::UnknownHead(_) => NotFound, }
    RewindRefused {
        RewindRefused::NotFound(_) => NotFound,
        RewindRefused::NotAPrompt(_) => Invalid,
        RewindRefused::FilesNotKept { .. } | RewindRefused::NothingToPreview { .. } => NoCheckpoint,
    }
    NotQueued { NotQueued(_) => NotFound, }
    AddressError {
        AddressError::Ambiguous { .. } => Ambiguous,
        AddressError::TooShort(_) => Invalid,
        AddressError::NoTurn { .. }
        | AddressError::NoMessage { .. }
        | AddressError::NoHead
        | AddressError::NotFound(_) => NotFound,
    }
}
