//! Files of rollouts: one per branch.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]

mod branches;
mod files;
mod laws;
mod trajectories;
