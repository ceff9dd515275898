//! Sessions of rollouts: one file per trajectory, a straight line of messages with one configuration.
//!
//! A child names its parent and the message it leaves from in its header, and repeats the messages before it.
//! Lines have no ids, so an id is made from the line and the id before it: the copies in a child have the ids of
//! the parent's lines, and the point where two files part is where their ids part. The price is that a file
//! which was reformatted counts as another one.

mod branch;
pub(crate) mod follow;
mod read;
mod store;
mod trajectory;
mod write;

pub use branch::{Child, Message, NoSuchMessage, Rollout, branch_for_config_change, branch_for_edit};
pub use read::read;
pub use store::{Filter, Summary, list, session_id};
pub use write::{RolloutFile, write, write_all};
