//! The tree as rows to look at.
