//! Claude Code, driven through its `stream-json` protocol.

#![expect(dead_code, reason = "the driver that uses these follows")]

mod sessions;
