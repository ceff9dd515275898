//! What an agent can do, as data: one function picks the way from it ([`crate::handoff::plan_handoff`]), and front
//! ends say from it what is possible.

/// Nothing is assumed: what a driver does not claim, its agent cannot do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Takes a second prompt after its first answer.
    pub many_turns: bool,
    /// Takes up a session of its own after its process has ended.
    pub resume: bool,
    /// Goes on from the end of one of its sessions in a new one.
    pub fork_at_tip: bool,
    /// Goes on from any message of one of its sessions in a new one.
    pub fork_at_message: bool,
    /// Takes a session file that was written for it.
    pub rebuilt_transcript: bool,
    /// Keeps the state of files and can go back to it.
    pub file_checkpoints: bool,
    pub interrupt: bool,
    pub permissions: bool,
    pub questions: bool,
    pub images: bool,
    pub sub_agents: bool,
    pub compaction: bool,
    /// So many tokens it reads at most; `None` where that depends on the model.
    pub context_window: Option<i64>,
}
