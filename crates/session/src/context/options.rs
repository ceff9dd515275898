//! Where agents disagree about a context.

/// The default is what Offshoot does; [`ContextOptions::pi`] is what pi does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextOptions {
    pub view: View,
    pub model: ModelRule,
    pub failed_turns: FailedTurns,
    pub unanswered_calls: UnansweredCalls,
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The summary of the latest compaction first, then what it kept, then what came later.
    Model,
    /// A person: everything stays where it happened. Collapsed, what the latest compaction replaced, and what
    /// was cleared, is left out.
    Transcript { collapse_compacted: bool },
}

/// Which model is in force when a reply came from another one than the person chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelRule {
    /// The choice: a reply of a fallback model does not change it. Replies count only where nobody chose.
    SettingWins,
    /// Whichever is later on the path.
    LatestWins,
}

/// Replies that were cut off or failed, with the results of their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedTurns {
    Dropped,
    Kept,
}

/// Calls of tools without a result on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnansweredCalls {
    /// Left out and noted in [`super::Message::stripped`]. A reply that has nothing else to say is left out of
    /// what a model reads; a transcript shows it empty.
    Stripped,
    /// A transcript shows them, which is right while the tool is still running. A model never reads them: providers
    /// refuse a call without its result.
    KeptInTranscript,
    /// Also in what a model reads: pi answers such calls itself when it sends them.
    Kept,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            view: View::Model,
            model: ModelRule::SettingWins,
            failed_turns: FailedTurns::Dropped,
            unanswered_calls: UnansweredCalls::Stripped,
        }
    }
}

impl ContextOptions {
    /// Whether calls that nothing answered are left out.
    pub(super) fn strips_unanswered_calls(&self) -> bool {
        match (self.unanswered_calls, self.view) {
            (UnansweredCalls::Stripped, _) | (UnansweredCalls::KeptInTranscript, View::Model) => true,
            (UnansweredCalls::KeptInTranscript, View::Transcript { .. }) | (UnansweredCalls::Kept, _) => {
                false
            }
        }
    }

    pub fn pi() -> Self {
        Self {
            view: View::Model,
            model: ModelRule::LatestWins,
            failed_turns: FailedTurns::Kept,
            unanswered_calls: UnansweredCalls::Kept,
        }
    }

    /// The whole path as a person sees it.
    pub fn transcript() -> Self {
        Self {
            view: View::Transcript { collapse_compacted: false },
            failed_turns: FailedTurns::Kept,
            ..Self::default()
        }
    }
}
