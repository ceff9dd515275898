//! Claude Code, driven through its `stream-json` protocol.

#![cfg_attr(not(test), expect(dead_code, reason = "the driver that uses these follows"))]

mod sessions;
