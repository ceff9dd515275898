//! Files of pi and oh-my-pi, read and written.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper that cannot go on fails the test")]

mod file;
mod laws;
mod reading;
mod versions;
mod writing;
