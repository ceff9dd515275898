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

impl AgentFailure {
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    pub fn other(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Other, text)
    }
}
