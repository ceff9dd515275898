//! Help for tests: trees drawn as text, stamps that are the same in every run, and a model that says what it is told
//! ([`model`]).

mod drawing;
pub mod model;
mod stamps;

pub use drawing::{draw, drawn, tree_of};
pub use stamps::FixedStamps;
