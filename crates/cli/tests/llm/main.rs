//! The agent `llm` as a person meets it: the program, its engine, and a scripted server of models on loopback that speaks both
//! protocols.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot run the program has failed")]

mod answers;
mod attacks;
mod compacting;
mod failures;
mod keys;
mod own_work;
mod permissions;
mod person;
mod providers;
mod requests;
mod several;
mod tools;
#[path = "../shared/under_test.rs"]
mod under_test;

/// The two protocols, by a model that the scripted server plays.
const MODELS: [&str; 2] = ["anthropic/claude-scripted", "openai/gpt-scripted"];
