//! Why something was not done. Codes are stable; words are for people and may change.

use jiff::Timestamp;
use offshoot_session::EntryId;
use offshoot_session::address::AddressError;
use offshoot_session::agent::Unsupported;
use offshoot_session::asks::AnswerRefused;
use offshoot_session::guard::{self, Refusal};
use offshoot_session::pending::LandingGone;
use offshoot_session::plan::{
    ArchiveRefused, ConfigRefused, EditRefused, ForkRefused, NamingRefused, NavigationRefused, NotAppended,
    RetryRefused, RewindRefused, SendRefused, SwitchRefused, VersionRefused, WhyNotAppended,
};
use offshoot_session::queue::NotQueued;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::views::{HeadView, PlaceView};

#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
#[error("{message}")]
pub struct ApiError {
    pub code: ErrorCode,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
    /// What the code is about, so that a front end can write a sentence of its own.
    #[serde(default, skip_serializing_if = "ErrorData::is_empty")]
    pub data: Box<ErrorData>,
    /// The turn that is in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Since when, where that helps: of what is no longer asked.
    #[serde(default, with = "crate::views::time::maybe", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Needed {
    Read,
    Write,
}

/// The `problem` of [`ErrorCode::DiskFull`] if a limit of the process on the size of files is in the way.
pub const FILE_SIZE_LIMIT: &str = "file_size_limit";

/// Which codes have which fields is in docs/api.md.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorData {
    /// What was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where it is about one entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceView>,
    /// Where the head is, and stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadView>,
    /// The name that cannot be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A word for what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why a fork cannot begin at `place`: `inside_turn` or `not_a_message`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Which of several: an entry of `append` from 0, a version from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// The turn in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnRef>,
    /// Another session that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// What is too large: its size in bytes, and how many there may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Who holds the lock, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// An agent, and one of its own sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<String>,
    /// The process that holds the lock, or runs the agent's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The access to `path` that is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<Needed>,
    /// The format that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
    /// The newest format that this program knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<u64>,
}

impl ErrorData {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A turn, as an answer about another thing names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnRef {
    pub turn: String,
    pub prompt: String,
    /// Which prompt of its branch it is, from 1.
    pub number: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Who answers, by name and as people call it.
    pub agent: String,
    pub agent_title: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    NotFound,
    /// A session or a turn that could be several.
    Ambiguous,
    /// No entry of the session is addressed by this text.
    PointNotFound,
    /// Several are.
    PointAmbiguous,
    /// The entry is not a prompt, so no agent can answer it. An edit with `only_write` is possible.
    NotAPrompt,
    /// The entry has no text, so it cannot be edited.
    NoText,
    /// No fork can begin before the entry, because it is not a prompt.
    CannotForkHere,
    /// Another branch has the name.
    NameTaken,
    /// The name could not be used to address what it names.
    BadName,
    /// More bytes, or more pieces, than are accepted.
    TooLarge,
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
    /// Another process runs the agent's own session.
    AgentElsewhere,
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
    /// The operating system does not let this program read or write a file.
    NoAccess,
    /// A newer version of this program wrote the session.
    NewerFormat,
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
    /// The session can be followed as the agent writes it, or forked.
    FollowOrFork,
    /// Say `turn`: several run, and none is nearer than the others.
    SayTurn,
}

impl ApiError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, turn: None, since: None, data: Box::default() }
    }

    #[must_use]
    pub fn about(self, data: ErrorData) -> Self {
        Self { data: Box::new(data), ..self }
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
        let problem = match why {
            WhyNotAppended::Nowhere(error) => Self::from(error),
            WhyNotAppended::Rejected(rejected) => Self::new(ErrorCode::Invalid, rejected.to_string()),
        };
        let data = ErrorData { index: Some(index), problem: Some(problem.message.clone()), ..*problem.data };
        Self::new(problem.code, format!("entry {}: {}", index + 1, problem.message)).about(data)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::Running { .. } | Refusal::Connecting { .. } | Refusal::Preparing { .. } => {
                ErrorCode::Running
            }
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

/// Errors about one entry: with its place, which the engine completes.
macro_rules! placed {
    ($($error:ty { $($pattern:pat => $code:ident $(at $entry:ident)?,)* })*) => {$(
        impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                let (code, place) = match &error {
                    $($pattern => (ErrorCode::$code, [$(PlaceView::only($entry))?].into_iter().next()),)*
                };
                Self::new(code, error.to_string()).about(ErrorData { place, ..ErrorData::default() })
            }
        }
    )*};
}

placed! {
    EditRefused {
        EditRefused::NotFound(_) | EditRefused::UnknownHead(_) => NotFound,
        EditRefused::NotAPrompt(at) => NotAPrompt at at,
        EditRefused::NoText(at) => NoText at at,
        EditRefused::OnlyText(at) => Invalid at at,
        EditRefused::Blank => Blank,
        EditRefused::SameText { .. } => SameText,
        EditRefused::Unchanged(at) => SameText at at,
    }
    ArchiveRefused {
        ArchiveRefused::NotFound(_) => NotFound,
        ArchiveRefused::HeadBelow { target, .. } => HeadBelow at target,
    }
}

impl From<ForkRefused> for ApiError {
    fn from(refused: ForkRefused) -> Self {
        let message = refused.to_string();
        let (code, data) = match &refused {
            ForkRefused::NotFound(at) => {
                (ErrorCode::PointNotFound, ErrorData { text: Some(at.to_string()), ..ErrorData::default() })
            }
            ForkRefused::NotAMessage(at) => (ErrorCode::CannotForkHere, not_here(at, "not_a_message")),
            ForkRefused::InsideTurn(at) => (ErrorCode::CannotForkHere, not_here(at, "inside_turn")),
        };
        Self::new(code, message).about(data)
    }
}

fn not_here(at: &EntryId, reason: &str) -> ErrorData {
    let (place, reason) = (Some(PlaceView::only(at)), Some(reason.to_owned()));
    ErrorData { place, reason, ..ErrorData::default() }
}

impl From<NamingRefused> for ApiError {
    fn from(refused: NamingRefused) -> Self {
        let message = refused.to_string();
        let (code, data) = match refused {
            NamingRefused::NotFound(_) => (ErrorCode::NotFound, ErrorData::default()),
            NamingRefused::Number(name) => {
                let problem = Some("number".to_owned());
                (ErrorCode::BadName, ErrorData { name: Some(name), problem, ..ErrorData::default() })
            }
            NamingRefused::Taken { name, at } => {
                let place = Some(PlaceView::only(&at));
                (ErrorCode::NameTaken, ErrorData { name: Some(name), place, ..ErrorData::default() })
            }
        };
        Self::new(code, message).about(data)
    }
}

/// What a person typed names no entry, or several.
impl From<AddressError> for ApiError {
    fn from(error: AddressError) -> Self {
        let message = error.to_string();
        let (code, problem, text, total) = match error {
            AddressError::Ambiguous { text, total, .. } => {
                (ErrorCode::PointAmbiguous, None, Some(text), Some(total))
            }
            AddressError::TooShort(text) => {
                (ErrorCode::PointNotFound, Some("too_short".to_owned()), Some(text), None)
            }
            AddressError::NoTurn { number, .. } => (ErrorCode::PointNotFound, None, Some(number), None),
            AddressError::NoMessage { index, .. } => (ErrorCode::PointNotFound, None, Some(index), None),
            AddressError::NoHead => (ErrorCode::PointNotFound, None, None, None),
            AddressError::NotFound(text) => (ErrorCode::PointNotFound, None, Some(text), None),
        };
        Self::new(code, message).about(ErrorData { text, problem, total, ..ErrorData::default() })
    }
}

coded! {
    Unsupported { Unsupported::Value { .. } => Invalid, Unsupported::Kind { .. } => Invalid, }
    LandingGone {
        LandingGone::Below(_) | LandingGone::Version(_) | LandingGone::Answer(_) => PointNotFound,
    }
    SendRefused { SendRefused::Blank => Blank, SendRefused::UnknownHead(_) => NotFound, }
    RetryRefused {
        RetryRefused::NotFound(_) | RetryRefused::UnknownHead(_) => NotFound,
        RetryRefused::NoPrompt(_) => NothingToDo,
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
    ConfigRefused { ConfigRefused::UnknownHead(_) => NotFound, }
    RewindRefused {
        RewindRefused::NotFound(_) => NotFound,
        RewindRefused::NotAPrompt(_) => Invalid,
        RewindRefused::FilesNotKept { .. } | RewindRefused::NothingToPreview { .. } => NoCheckpoint,
    }
    NotQueued { NotQueued(_) => NotFound, }
}
