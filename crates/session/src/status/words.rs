//! Our states in the words of others, and theirs in ours.
//!
//! | ours | of a terminal | of a chat window | of a bridge | of a log |
//! |---|---|---|---|---|
//! | starting | running | Connecting | starting | pending |
//! | ready | ready | Ready, or WaitingForInput after a turn | idle | completed |
//! | running | running | Processing | running | pending |
//! | waiting | waiting | Processing | waiting_approval | pending |
//! | compacting | running | Processing | compacting | pending |
//! | interrupted | ready | WaitingForInput | idle | aborted |
//! | exited | idle | Disconnected | idle | completed |
//! | error | ready | Error | idle | truncated |
//! | unknown | idle | Disconnected | idle | pending |
//!
//! A chat window says Processing as long as a turn runs, and tells waiting apart by what is pending beside its word.

use super::{State, WaitingFor};

/// What a terminal shows of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalWord {
    Idle,
    Ready,
    Running,
    Waiting,
}

/// The same in three answers, of which the first comes from the process and not from the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalFlags {
    pub is_running: bool,
    pub is_waiting: bool,
    pub is_processing: bool,
}

/// What a chat window with one session knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatWord {
    Disconnected,
    Connecting,
    Ready,
    Processing,
    WaitingForInput,
    Error,
}

/// What a chat window remembers beside the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    NotYet,
    /// A turn runs.
    Running,
    /// Turns have run.
    Before,
}

/// What a bridge between a phone and an agent says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BridgeWord {
    Starting,
    Idle,
    Running,
    WaitingApproval,
    Compacting,
}

/// How a log of trajectories calls their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogWord {
    Pending,
    Completed,
    Truncated,
    Aborted,
}

/// What a hook of an agent reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    PromptSubmitted,
    BeforeTool,
    AfterTool,
    Stopped,
    /// A dialog for a permission is open.
    AsksPermission,
    /// It sits at its empty prompt.
    SitsIdle,
    SessionStarted,
    SessionEnded,
    OtherNotice,
}

impl State {
    pub fn of_terminal(self) -> TerminalWord {
        match self {
            Self::Starting | Self::Running | Self::Compacting => TerminalWord::Running,
            Self::Ready | Self::Interrupted | Self::Error => TerminalWord::Ready,
            Self::Waiting(_) => TerminalWord::Waiting,
            Self::Exited | Self::Unknown => TerminalWord::Idle,
        }
    }

    /// A chat window is processing while a turn runs, whatever the turn does, and says differently whether it was ever
    /// asked anything.
    pub fn of_chat(self, talk: Talk) -> ChatWord {
        match (self, talk) {
            (_, Talk::Running) | (Self::Running | Self::Waiting(_) | Self::Compacting, _) => {
                ChatWord::Processing
            }
            (Self::Starting, _) => ChatWord::Connecting,
            (Self::Ready, Talk::NotYet) => ChatWord::Ready,
            (Self::Ready, Talk::Before) | (Self::Interrupted, _) => ChatWord::WaitingForInput,
            (Self::Error, _) => ChatWord::Error,
            (Self::Exited | Self::Unknown, _) => ChatWord::Disconnected,
        }
    }

    pub fn of_bridge(self) -> BridgeWord {
        match self {
            Self::Starting => BridgeWord::Starting,
            Self::Running => BridgeWord::Running,
            Self::Waiting(_) => BridgeWord::WaitingApproval,
            Self::Compacting => BridgeWord::Compacting,
            Self::Ready | Self::Interrupted | Self::Exited | Self::Error | Self::Unknown => BridgeWord::Idle,
        }
    }

    pub fn of_log(self) -> LogWord {
        match self {
            Self::Ready | Self::Exited => LogWord::Completed,
            Self::Interrupted => LogWord::Aborted,
            Self::Error => LogWord::Truncated,
            Self::Starting | Self::Running | Self::Waiting(_) | Self::Compacting | Self::Unknown => {
                LogWord::Pending
            }
        }
    }
}

impl From<TerminalWord> for State {
    fn from(word: TerminalWord) -> Self {
        match word {
            TerminalWord::Idle => Self::Exited,
            TerminalWord::Ready => Self::Ready,
            TerminalWord::Running => Self::Running,
            TerminalWord::Waiting => Self::Waiting(WaitingFor::Other),
        }
    }
}

impl From<ChatWord> for State {
    fn from(word: ChatWord) -> Self {
        match word {
            ChatWord::Disconnected => Self::Exited,
            ChatWord::Connecting => Self::Starting,
            ChatWord::Ready | ChatWord::WaitingForInput => Self::Ready,
            ChatWord::Processing => Self::Running,
            ChatWord::Error => Self::Error,
        }
    }
}

impl From<BridgeWord> for State {
    fn from(word: BridgeWord) -> Self {
        match word {
            BridgeWord::Starting => Self::Starting,
            BridgeWord::Idle => Self::Ready,
            BridgeWord::Running => Self::Running,
            BridgeWord::WaitingApproval => Self::Waiting(WaitingFor::Permission),
            BridgeWord::Compacting => Self::Compacting,
        }
    }
}

impl From<LogWord> for State {
    fn from(word: LogWord) -> Self {
        match word {
            LogWord::Pending => Self::Running,
            LogWord::Completed => Self::Ready,
            LogWord::Truncated => Self::Error,
            LogWord::Aborted => Self::Interrupted,
        }
    }
}

impl TerminalWord {
    /// What the screen says of waiting and working; whether there is a process, it cannot say.
    pub fn flags(self) -> TerminalFlags {
        TerminalFlags {
            is_running: false,
            is_waiting: self == Self::Waiting,
            is_processing: self == Self::Running,
        }
    }

    /// The same, seen from a list that knows whether the process is there.
    pub fn of_process(word: Option<Self>, is_running: bool) -> Self {
        match (is_running, word) {
            (false, _) => Self::Idle,
            (true, None | Some(Self::Idle | Self::Ready)) => Self::Ready,
            (true, Some(busy @ (Self::Running | Self::Waiting))) => busy,
        }
    }
}

impl TerminalFlags {
    /// Waiting counts more than working: a person is needed.
    pub fn word(self) -> TerminalWord {
        match self {
            Self { is_waiting: true, .. } => TerminalWord::Waiting,
            Self { is_processing: true, .. } => TerminalWord::Running,
            Self { is_running: true, .. } => TerminalWord::Ready,
            Self { .. } => TerminalWord::Idle,
        }
    }

    /// The same where no process means that nothing can be said.
    pub fn word_of_process(self) -> Option<TerminalWord> {
        self.is_running.then(|| self.word())
    }
}

impl HookEvent {
    /// Events and their details as agents name them; `None` for a name that nobody uses.
    pub fn named(event: &str, detail: Option<&str>) -> Option<Self> {
        Some(match (event, detail) {
            ("user_prompt_submit", _) => Self::PromptSubmitted,
            ("pre_tool_use", _) => Self::BeforeTool,
            ("post_tool_use", _) => Self::AfterTool,
            ("stop", _) => Self::Stopped,
            ("notification", Some("permission_prompt")) => Self::AsksPermission,
            ("notification", Some("idle_prompt")) => Self::SitsIdle,
            ("notification", _) => Self::OtherNotice,
            ("session_start", _) => Self::SessionStarted,
            ("session_end", _) => Self::SessionEnded,
            _ => return None,
        })
    }

    /// `None` where the event decides nothing: a session that starts may stand before a dialog of which no hook tells,
    /// and one that ends may go on under another name.
    pub fn state(self) -> Option<State> {
        match self {
            Self::PromptSubmitted | Self::BeforeTool | Self::AfterTool => Some(State::Running),
            Self::Stopped | Self::SitsIdle => Some(State::Ready),
            Self::AsksPermission => Some(State::Waiting(WaitingFor::Permission)),
            Self::SessionStarted | Self::SessionEnded | Self::OtherNotice => None,
        }
    }

    /// For logs: which event has decided.
    pub fn reason(self) -> &'static str {
        match self {
            Self::PromptSubmitted => "hook_prompt_submit",
            Self::BeforeTool => "hook_pre_tool_use",
            Self::AfterTool => "hook_post_tool_use",
            Self::Stopped => "hook_stop",
            Self::AsksPermission => "hook_permission_prompt",
            Self::SitsIdle => "hook_idle_prompt",
            Self::SessionStarted => "hook_session_start",
            Self::SessionEnded => "hook_session_end",
            Self::OtherNotice => "hook_notification",
        }
    }
}
