//! The engine with an agent that says what it is told, on sessions in memory.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what a helper cannot unwrap fails the test"
)]

mod again;
mod appended;
mod asked;
mod broken;
mod callers;
mod children;
mod configured;
mod connections;
mod delegating;
mod disk;
mod ear;
mod faulty;
mod following;
mod foreign;
mod hooks;
mod journeys;
mod keeping_place;
mod killed;
mod ladder;
mod looking;
mod many;
mod measured;
mod mismatches;
mod model;
mod once;
mod one_process;
mod own_sessions;
mod places;
mod points;
mod races;
mod rival;
mod scripted;
mod shared_steps;
mod shown;
mod storm;
mod summaries;
mod told_hooks;
mod unwilling;
mod world;
