//! Sessions of Gemini CLI: one JSON document (older), or lines that patch each other.
//!
//! The lines are a log of changes to a list of messages: a message is added or, under an id that is there,
//! replaced; `$set` replaces fields and even the whole list; `$rewindTo` cuts the list. The list is what Gemini
//! sees. The tree is all lists that ever were: a message hangs below the one before it in its list, so what a
//! rewind cuts off stays as a branch. The price is that a message found behind two different messages stands
//! in the tree twice, the second time under a longer id.

mod list;
mod message;
mod read;

pub use read::read;
pub(crate) use read::{is_document, is_line};
