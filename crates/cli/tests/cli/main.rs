//! The program as a person meets it: small session files, commands, what is printed and how it ends.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot run the program has failed, and one that is skipped says so"
)]

mod ascii;
mod attached;
mod bad_homes;
mod behind;
mod beside;
mod bytes;
mod changes;
mod chatting;
mod config;
mod continued;
mod daily;
mod hooked;
mod hostile;
mod in_force;
mod in_memory;
mod lineage;
mod living;
mod logs;
mod long;
mod looking;
mod lost;
mod meanwhile;
mod privacy;
mod reports;
mod scripts;
mod sentences;
mod slash;
mod support;
mod talking;
mod terminal;
mod together;
mod trouble;
mod wide;
