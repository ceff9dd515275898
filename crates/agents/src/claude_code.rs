//! Claude Code, driven through its `stream-json` protocol.

#![expect(dead_code, reason = "the driver that uses these follows")]

mod launch;
mod protocol;

#[cfg(feature = "laws")]
pub use protocol::laws::broken_laws;
