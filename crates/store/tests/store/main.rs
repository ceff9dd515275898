//! The store, proved. Long proofs are short here; `OFFSHOOT_PROOFS=full` runs them at full length.
//!
//! | what is proved | where |
//! |---|---|
//! | every store keeps the same promises | `story` |
//! | one journal: torn tails, damage, locks, catching up | `journal` |
//! | the power fails at any moment | `crash` |
//! | the process is killed at any moment | `kill` |
//! | any call to the disk fails | `faults` |
//! | any bit flips | `flips` |
//! | what is read in parts is what is read whole | `lazy` |
//! | also while the log or its index changes | `changing` |
//! | words that are streamed survive | `drafts` |
//! | a database of another program is read and left as it is | `opencode_database` |
//! | a file read for its shape has the entries of the file | `light` |
//! | the end of a file tells what the whole tells | `recent`, `ending` |
//! | memory does not grow with what is said | `memory` |
//! | a file that changes under its reader is read, and told of | `steady` |
//! | another program's session and what was added to it are one | `foreign` |
//! | many write at once | `writers` |
//! | the specification says what is written | `doc` |
//! | what the first version wrote is read for ever | `frozen` |

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod changing;
mod crash;
mod doc;
mod drafts;
mod ending;
mod faults;
mod flips;
mod foreign;
mod frozen;
mod journal;
mod kill;
mod lazy;
mod light;
mod memory;
mod opencode_database;
mod recent;
mod steady;
mod story;
mod support;
mod writers;
