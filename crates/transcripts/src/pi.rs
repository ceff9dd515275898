//! Sessions of pi (versions 1 to 3) and of oh-my-pi, which adds to version 3 without a number of its own.
//!
//! A file is a header and then entries, each with an id and the id of its parent. [`read`] takes two steps: a line
//! becomes a draft that knows nothing of other lines, then the drafts become records. Labels, names and other
//! facts are lines in the chain of entries; they become marks and leave the tree, so their children move up to
//! the nearest entry above. The price is that a writer has to find out which ids in the file are such lines.
//!
//! [`write()`] gives version 3 back byte for byte and migrates older lines; [`append`] adds to a file that lies
//! there, whatever its last line looks like.

mod chain;
mod draft;
pub(crate) mod follow;
mod hand_over;
mod message;
mod migrate;
mod ours;
mod passes;
mod quick;
mod read;
mod render;
pub mod skim;
mod sources;
mod write;

pub use draft::is_known_type;
pub use hand_over::{file_name, hand_over};
pub(crate) use message::blocks;
pub use message::{body_of_message, usage_of};
pub use migrate::migrate_lines;
pub use read::{read, read_entries};
pub(crate) use render::blocks_json;
pub use write::{TooOld, Written, append, write, write_branch};
