//! What a stream says, in one vocabulary for every protocol.

use offshoot_session::{Stop, Usage};

/// The next bit of an answer. Blocks are numbered in the order in which they begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Text {
        block: u32,
        text: String,
    },
    Thinking {
        block: u32,
        text: String,
    },
    /// What the server needs to accept this thinking again.
    Signature {
        block: u32,
        data: String,
    },
    /// Thinking that only the server can read.
    RedactedThinking {
        block: u32,
        data: String,
    },
    /// `id` is absent where the server gives none.
    CallStarted {
        block: u32,
        id: Option<String>,
        name: String,
    },
    /// More of the input of a call, as JSON.
    CallInput {
        block: u32,
        json: String,
    },
    /// Nothing more of this block comes. Servers need not say so: the next block or the stop says it too.
    BlockEnded {
        block: u32,
    },
    /// Tokens used so far. A count that is zero leaves what was said before.
    Usage(Usage),
    /// Why the answer ends. Its usage may come behind.
    Stop(Stop),
    /// The answer fails.
    Error(Refusal),
    /// Nothing more comes.
    End,
}

/// Why a server does not answer, or stops in the middle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    /// In the words of the server.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Signing in fails, or the key may not do it.
    SignIn,
    RateLimited,
    Overloaded,
    /// The conversation is too long for the model.
    ContextFull,
    /// The request will fail again.
    Invalid,
    /// The server failed.
    Server,
    /// What came cannot be read.
    Unreadable,
}

/// How servers say that a conversation is too long: they have no common word for it.
const TOO_LONG: [&str; 9] = [
    "prompt is too long",
    "context length",
    "context_length",
    "context window",
    "context size",
    "context_size",
    "too many tokens",
    "input is too long",
    "exceed_context",
];

impl Refusal {
    pub fn new(kind: RefusalKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// What cannot be read.
    pub(super) fn unreadable(what: &str) -> Self {
        Self::new(RefusalKind::Unreadable, what)
    }

    /// Whether the words of a server mean that the conversation is too long.
    pub(crate) fn says_too_long(text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        TOO_LONG.iter().any(|words| text.contains(words))
    }
}

impl RefusalKind {
    /// Whether the same request may be answered a moment later.
    pub fn may_pass(self) -> bool {
        match self {
            Self::RateLimited | Self::Overloaded | Self::Server => true,
            Self::SignIn | Self::ContextFull | Self::Invalid | Self::Unreadable => false,
        }
    }
}
