//! Branches handed over to other programs: what is written is read as the same conversation.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper that cannot go on fails the test"
)]

mod conversation;
mod cuts;
mod laws;
mod own_lines;
mod real_files;
