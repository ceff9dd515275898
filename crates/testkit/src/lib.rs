//! Help for tests: trees drawn as text, stamps that are the same in every run, files of real programs, and a model that
//! says what it is told ([`model`]). Whatever waits has a deadline ([`deadline`]).

pub mod deadline;
mod drawing;
mod engine;
pub mod fake_claude;
pub mod model;
mod real_files;
mod shape;
mod stamps;

pub use drawing::{draw, drawn, tree_of};
pub use engine::stop_engine;
pub use real_files::{NO_REAL_FILES, real_files};
pub use shape::{KINDS, Shape};
pub use stamps::{FixedStamps, SharedStamps};

/// Names the program that tests of conversations drive instead of the one that was built for them, so that they hold the
/// released program too.
pub const PROGRAM_VARIABLE: &str = "OFFSHOOT_UNDER_TEST";
