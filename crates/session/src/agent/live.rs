//! The names of the parent module, for drivers that were begun beside the older interface.

pub use super::*;
