//! Commands that look at stored sessions, prove them and hand them out: what is printed and how it ends.
//!
//! A home is filled with the store itself; ids and the clock are fixed.

#![expect(clippy::expect_used, reason = "a test that cannot run the program has failed")]

mod database;
mod every_fixture;
mod exports;
mod fixtures;
mod half_written;
mod home;
mod json_page;
mod lists;
mod proofs;
mod views;

use home::TestHome;

/// Runs the lines in a home and compares what they print.
#[track_caller]
fn check(name: &str, home: &TestHome, lines: &[&str]) {
    let told: Vec<String> =
        lines.iter().map(|line| format!("$ offshoot {line}\n{}", home.run(line))).collect();
    insta::assert_snapshot!(name, told.join("\n"));
}
