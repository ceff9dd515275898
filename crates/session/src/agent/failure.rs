//! Why an agent could not answer.

use jiff::Timestamp;

/// The text is the agent's own; the kind decides what a person is advised to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFailure {
    pub kind: FailureKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Nobody is signed in, or the key is refused.
    SignIn,
    Overloaded,
    RateLimited {
        until: Option<Timestamp>,
    },
    /// The context does not fit into the model's window.
    ContextFull,
    Network,
    /// Any other refusal of the model's API.
    Api {
        status: u16,
    },
    /// The agent's process ended or did not start.
    Process,
    /// The agent's output could not be read.
    Protocol,
    /// The agent lacks an ability that the prompt needs.
    Unsupported {
        ability: &'static str,
    },
    /// The agent gives no cause.
    Other,
}

impl FailureKind {
    /// What a person can do about it; `None` where the text of the agent has to suffice. The prompt is kept, and the next
    /// one resumes the session of the agent.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::SignIn => Some("sign in with the agent's own program or set its key, then retry"),
            Self::Overloaded => {
                Some("the provider is overloaded: retry in a moment, or choose another model")
            }
            Self::RateLimited { .. } => Some("wait until the limit is over, or choose another model"),
            Self::ContextFull => Some("compact the branch, or edit an earlier prompt"),
            Self::Network => Some("check the network, then retry"),
            Self::Api { status: 401 | 403 } => Some("check the key and what it may use, then retry"),
            Self::Api { status: 400 } => Some("edit the prompt, or compact the branch"),
            Self::Api { .. } => Some("retry, or choose another model"),
            Self::Process | Self::Protocol => Some("the prompt is kept: retry it, or send another one"),
            Self::Unsupported { .. } => Some("choose an agent or a model that can do it"),
            Self::Other => None,
        }
    }
}

impl AgentFailure {
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    pub fn other(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Other, text)
    }
}
