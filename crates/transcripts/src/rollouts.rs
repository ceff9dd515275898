//! Sessions of rollouts: one file per trajectory, a straight line of messages with one configuration.
//!
//! A child names its parent and the message it leaves from in its header, and repeats the messages before it.
//! Lines have no ids, so an id is made from the line and the id before it: the copies in a child have the ids of
//! the parent's lines, and the point where two files part is where their ids part. The price is that a file
//! which was reformatted counts as another one.

pub(crate) mod follow;
mod read;
mod trajectory;
mod write;

pub use read::read;
pub use write::{RolloutFile, write, write_all};
