//! Files of Claude Code, read.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper that cannot go on fails the test")]

mod branches;
mod file;
mod laws;
mod reading;
mod speaking;
mod subagents;
mod titles;
