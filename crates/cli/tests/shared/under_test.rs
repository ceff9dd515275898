//! Which program the tests drive.

use std::path::PathBuf;

use offshoot_testkit::PROGRAM_VARIABLE;

/// The program that the variable names, otherwise the one that cargo has built for the tests.
pub(crate) fn program() -> PathBuf {
    std::env::var_os(PROGRAM_VARIABLE).map_or_else(|| env!("CARGO_BIN_EXE_offshoot").into(), PathBuf::from)
}
