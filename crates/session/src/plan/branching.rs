//! Whether a change of settings makes a branch of this session or a session of its own.

/// What the person has chosen once for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfigChangeBranching {
    /// Settings are entries: going back above them and asking again makes the branch.
    #[default]
    Entry,
    /// Each configuration is a session: [`super::plan_config_session`].
    File,
    /// The person is asked each time.
    Ask,
}

/// What a change will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigChangeWay {
    Entry,
    File,
}

impl ConfigChangeBranching {
    /// As settings files spell it.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "entry" => Some(Self::Entry),
            "file" => Some(Self::File),
            "ask" => Some(Self::Ask),
            _ => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::File => "file",
            Self::Ask => "ask",
        }
    }

    /// `None`: ask first. What was said this once counts more than what was chosen for all.
    pub fn way(self, this_once: Option<ConfigChangeWay>) -> Option<ConfigChangeWay> {
        this_once.or(match self {
            Self::Entry => Some(ConfigChangeWay::Entry),
            Self::File => Some(ConfigChangeWay::File),
            Self::Ask => None,
        })
    }
}
