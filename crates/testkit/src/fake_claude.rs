//! A fake Claude Code: a small program that speaks the stdio protocol of the real one and keeps session files like it.
//!
//! [`program`] is its path. Set `OFFSHOOT_AGENTS_CLAUDE_CODE_PATH` (or `Host::program` in a test of the driver) to it and
//! give it a private `HOME` or `CLAUDE_CONFIG_DIR`. The build script of this crate *is* the program (see `build.rs`), so
//! every test that depends on this crate can start it and no test builds anything.

use std::path::Path;

/// The program, ready to run.
#[must_use]
pub fn program() -> &'static Path {
    Path::new(concat!(env!("OUT_DIR"), "/fake-claude"))
}
