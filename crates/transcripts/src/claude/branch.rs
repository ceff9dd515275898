//! The branches of a session file: which one is active, and where a line is among them.

/// Where a message is in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// On the active branch, after its last compaction: Claude Code can resume there.
    Active,
    /// On another branch.
    OtherBranch,
    /// On the active branch, before its last compaction.
    BeforeCompaction,
    Missing,
}
