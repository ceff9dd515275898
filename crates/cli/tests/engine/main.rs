//! The engine process: it is one, it outlives whoever uses it, and it gives way to what is in its place.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot run the program has failed")]

mod agents;
mod callers;
mod forks;
mod home;
mod leaving;
mod looking;
mod obstacles;
mod protocol;
mod scratch;
mod signals;
mod starting;
mod terminal;
