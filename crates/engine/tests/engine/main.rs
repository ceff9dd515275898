//! The engine with an agent that says what it is told, on sessions in memory.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a helper cannot unwrap fails the test"
)]

mod broken;
mod delegating;
mod disk;
mod following;
mod foreign;
mod hooks;
mod journeys;
mod many;
mod model;
mod places;
mod scripted;
mod storm;
mod summaries;
mod world;
