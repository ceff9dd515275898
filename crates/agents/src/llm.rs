//! Models that are asked through their API: the agent is this program, which owns the context and runs the tools.

pub(crate) mod tools;
