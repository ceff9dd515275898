//! One file per branch, as in rollouts.
