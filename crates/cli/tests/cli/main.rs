//! The program as a person meets it: small session files, commands, what is printed and how it ends.

#![expect(clippy::expect_used, reason = "a test that cannot run the program has failed")]

mod beside;
mod changes;
mod continued;
mod long;
mod looking;
mod support;
mod talking;
mod together;
mod trouble;
