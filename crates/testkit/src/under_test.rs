//! Which program a test drives.

use std::path::PathBuf;

/// Names the program, so that tests that were built once hold the released program too.
pub const PROGRAM_VARIABLE: &str = "OFFSHOOT_UNDER_TEST";

/// The program that [`PROGRAM_VARIABLE`] names, otherwise the one that cargo has built for the test.
#[must_use]
pub fn program_under_test(built: &str) -> PathBuf {
    std::env::var_os(PROGRAM_VARIABLE).map_or_else(|| PathBuf::from(built), PathBuf::from)
}
