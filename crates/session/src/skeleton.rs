//! The shape of a session without its words: who hangs below whom, of what kind, where in the file.
//!
//! A file of a gigabyte holds some hundred thousand entries, and to show the end of one branch only their
//! envelopes are needed. A [`Log`] is the list of those in the order of the file; [`Skeleton::fold`] makes the
//! tree of it, with the same rules as [`crate::SessionTree::replay`] and the same result, at about eighty bytes
//! per entry. Bodies are read by whoever holds the file, one line at a time.
//!
//! One decision: the log is kept and the links are always computed from it. A log that somebody tampered with
//! can then be wrong, but it cannot send a reader around in circles. The price is one pass over the envelopes.
//!
//! Limitations: a file in which a parent stands behind its children is [`Unusual`]; such a file is read whole.

mod anchor;
mod cursor;
mod fold;
mod hollow;
mod kind;
mod log;
mod moment;
mod names;
mod read;
mod slots;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use thiserror::Error;

pub use cursor::Cursor;
pub use kind::Kind;
pub use log::{Envelope, Fields, Length, LineHead, Log, SmallLine};
pub use moment::Moment;
pub use names::{Name, Names};

use crate::{Binding, EntryId, HeadName, Record, SessionHeader};

/// No node, no name.
pub(crate) const NONE: u32 = u32::MAX;

/// The tree of a log. Nodes are named by their place in the order of writing.
#[derive(Clone, Debug, Default)]
pub struct Skeleton {
    pub log: Log,
    header: Option<SessionHeader>,
    nodes: Vec<Node>,
    /// By node. Apart from the nodes, so that a long way up stays within a core's cache.
    parents: Vec<u32>,
    /// From the name of an entry to its node.
    node_of: Vec<u32>,
    first_root: u32,
    remembered_root: u32,
    heads: BTreeMap<HeadName, u32>,
    labels: BTreeMap<EntryId, String>,
    branch_names: BTreeMap<EntryId, String>,
    checkpoints: BTreeMap<EntryId, String>,
    archived: BTreeSet<EntryId>,
    ended_turns: BTreeSet<crate::TurnId>,
    bindings: BTreeMap<EntryId, Binding>,
    user_title: Option<String>,
    auto_title: Option<String>,
    passes: HashMap<Name, Option<Name>>,
    oddities: u32,
    is_taken_back: bool,
}

/// What the small lines of a log say, and how its entries reach over lines that are none.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Each with the number of envelopes before it.
    pub records: Vec<(u32, Record)>,
    /// Ids in the chain that are no entries, with what stands above them.
    pub passes: HashMap<Name, Option<Name>>,
}

/// The file is in a state that only a whole reading gets right.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Unusual {
    #[error("a parent stands behind its child")]
    ParentBehindChild,
    #[error("a line does not have the shape this program writes")]
    Shape,
    #[error("more entries or longer lines than a skeleton can hold")]
    TooLarge,
}

/// Links to other nodes; [`NONE`] where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// Its place among the envelopes: entries that do not count have one too.
    envelope: u32,
    first_child: u32,
    next_sibling: u32,
    depth: u32,
    /// The nearest compaction or clearing at or above it.
    boundary: u32,
    /// The nearest setting at or above it.
    setting: u32,
    /// The child on the way to the place a head last stood at.
    remembered: u32,
}
