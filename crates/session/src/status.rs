//! How a session is, in one vocabulary, with how sure we are and who said so.
//!
//! Other programs have words of their own for the same. [`words`] maps ours to each of theirs, totally: every state has
//! a word in every vocabulary.

pub mod words;

/// In the order in which a list shows what needs a person first: see [`State::urgency`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// An agent is being reached.
    Starting,
    Ready,
    Running,
    Waiting(WaitingFor),
    Compacting,
    Interrupted,
    /// The agent's process is gone.
    Exited,
    Error,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitingFor {
    Permission,
    Question,
    /// Something that only the agent's own screen shows.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Low,
    Medium,
    High,
}

/// Who says so, the surest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Concluded from silence.
    Heuristic,
    /// Read from a terminal.
    Screen,
    /// Read from a file that the agent keeps.
    File,
    /// Told by a hook of the agent.
    Hook,
    /// Said by the agent we speak with.
    Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub state: State,
    pub confidence: Confidence,
    pub source: Source,
}

impl State {
    pub const ALL: [Self; 11] = [
        Self::Starting,
        Self::Ready,
        Self::Running,
        Self::Waiting(WaitingFor::Permission),
        Self::Waiting(WaitingFor::Question),
        Self::Waiting(WaitingFor::Other),
        Self::Compacting,
        Self::Interrupted,
        Self::Exited,
        Self::Error,
        Self::Unknown,
    ];

    /// Our own word, as commands and the wire say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Waiting(_) => "waiting",
            Self::Compacting => "compacting",
            Self::Interrupted => "interrupted",
            Self::Exited => "exited",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }

    /// Of several turns of one session the most urgent is the state of the session.
    pub fn urgency(self) -> u8 {
        match self {
            Self::Waiting(_) => 8,
            Self::Running => 7,
            Self::Compacting => 6,
            Self::Starting => 5,
            Self::Error => 4,
            Self::Interrupted => 3,
            Self::Ready => 2,
            Self::Exited => 1,
            Self::Unknown => 0,
        }
    }
}

impl WaitingFor {
    pub fn word(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Other => "other",
        }
    }
}

impl Confidence {
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl Source {
    pub fn word(self) -> &'static str {
        match self {
            Self::Heuristic => "heuristic",
            Self::Screen => "screen",
            Self::File => "file",
            Self::Hook => "hook",
            Self::Stream => "stream",
        }
    }
}

impl Status {
    /// As the agent itself says it. What it does not say is concluded from its silence.
    pub fn of_stream(state: State) -> Self {
        match state {
            State::Unknown => Self { state, confidence: Confidence::Low, source: Source::Heuristic },
            State::Starting
            | State::Ready
            | State::Running
            | State::Waiting(_)
            | State::Compacting
            | State::Interrupted
            | State::Exited
            | State::Error => Self { state, confidence: Confidence::High, source: Source::Stream },
        }
    }

    /// The state of a session with several turns; ready where nothing happens.
    pub fn of_turns(turns: impl IntoIterator<Item = State>) -> Self {
        let most_urgent = turns.into_iter().max_by_key(|state| state.urgency());
        Self::of_stream(most_urgent.unwrap_or(State::Ready))
    }
}
