//! Titles of sessions.
