//! Sessions of Codex: rollouts of three generations, alone or as the family they form.
//!
//! A rollout is a straight line of items (what was said, called and answered) and events (where turns begin and
//! end, what was spent, what was rolled back). Items make the tree; an event that only repeats an item makes
//! nothing. Lines have no ids, so an id is the rollout and the place in it: `<rollout>:<ordinal>`. Since a fork
//! or revert starts a file of its own that names its base and counts on, the same line has the same id whoever
//! reads it, and [`resolve`] makes one tree of all files that share a past. The price is that a file must be
//! read under its own name: a revert carries the id of its thread, and its own only in its name.
//!
//! [`write_branch`] makes a rollout of a branch, of the second generation: it needs neither ordinals nor the database
//! beside the files, and Codex goes on with it as with its own.

mod bases;
mod echo;
mod family;
pub(crate) mod follow;
mod header;
mod item;
mod names;
mod read;
mod said;
mod settings;
mod usage;
mod write;

pub use bases::read_with_bases;
pub use family::{Belongs, HistoryBase, RolloutFile, belongs, families, resolve};
pub use names::{ThreadName, rollout_id_from_file_name, thread_names};
pub(crate) use read::Lines;
pub use read::read;
pub(crate) use said::is_line;
pub use write::{file_name, write_branch};
