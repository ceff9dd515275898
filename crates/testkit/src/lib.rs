//! Help for tests: trees drawn as text, and stamps that are the same in every run.

mod drawing;
mod stamps;

pub use drawing::{draw, drawn, tree_of};
pub use stamps::FixedStamps;
