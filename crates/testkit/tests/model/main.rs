//! The scripted model, asked over plain sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot ask has failed")]

mod client;
mod failing;
mod recording;
mod rules;
mod speaking;
mod timing;
