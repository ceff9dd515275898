//! The catalog over real files in a temporary folder.

#![expect(clippy::expect_used, reason = "tests fail by panicking")]

mod damage;
mod finding;
mod following;
mod kept;
mod machine;
mod parts;
mod together;
