//! Session files of Claude Code, versions 1.0 to 2.1.
//!
//! A file has no header. Lines with a `uuid` are the nodes of a tree by `parentUuid`; all others are facts about
//! the session, or books that the program keeps for itself. [`read`] takes two steps: a line becomes a draft that
//! knows nothing of other lines, then the drafts become records.
//!
//! The tree is the one that the conversation went through, which is not always the one in the file: what stands
//! behind a compaction hangs below its logical parent, answers to calls made side by side are one chain, lines that
//! only tell of progress leave the tree, and a sub-agent is a tree of its own below a note that names the call which
//! started it ([`StartedBy`]). The price is that a writer has to go back to the lines, which every record keeps.
//!
//! [`write_branch`] makes a session of a branch. Lines that came from Claude Code go back as they were, but for the
//! session they name and the line they hang below.
//!
//! # Limitations
//!
//! A setting has no place in the file's tree: it is put above what was written next, behind the prompt if that is
//! one. After a rewind it stays on the branch where it was said, and one that nothing follows is only kept.

mod attachment;
mod billed;
mod branch;
mod chain;
mod draft;
pub mod excerpt;
pub(crate) mod follow;
mod index;
mod line;
mod message;
mod read;
pub mod recent;
mod records;
pub mod spine;
mod subagents;
mod titles;
mod write;

pub use billed::billed_as;
pub use branch::{BranchReading, Branches, Point, extract};
pub use draft::is_known_type;
pub use index::{IndexRecord, NotAnIndex, read_index, retitled_index};
pub use line::{LineEntries, entries_of_line};
pub(crate) use read::Reading;
pub use read::{read, read_with_agents};
pub(crate) use subagents::session_of_workflow;
pub use subagents::{AgentFile, StartedBy, session_in_path, session_of_sub_agent};
pub use titles::{Listing, listing, title_line};
pub use write::{project_folder, write_below, write_branch};
