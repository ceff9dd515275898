//! Names of things. Every kind of id is its own type, so two kinds cannot be swapped.
//!
//! Ids are opaque text: ours are made outside this crate (see [`crate::Stamps`]), and those of other
//! programs (uuids, eight hex digits, anything) are kept as they are. Cloning one is cheap.

use std::fmt;
use std::sync::Arc;

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), &self.0)
            }
        }
    )*};
}

text_ids! {
    /// One session: a conversation tree with its journal.
    SessionId;
    /// One node of the tree. Unique within its session, together with the ids of marks.
    EntryId;
    /// One turn: a prompt and all that answers it.
    TurnId;
    /// One step that undo takes back as a whole.
    OperationId;
    /// A named position in the tree; see [`HeadName::main`].
    HeadName;
    /// A session that an agent keeps on its own side.
    AgentSessionId;
    /// One call of a tool, as named by the agent.
    ToolCallId;
    /// One message that an agent writes, as named by the agent. Unique in its connection.
    MessageKey;
    /// Work that an agent runs in the background, as named by the agent.
    TaskId;
}

impl HeadName {
    /// The head that every session has, and the one a person moves.
    pub fn main() -> Self {
        Self::new("main")
    }
}
