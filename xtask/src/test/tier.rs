//! The tiers, cheapest first, and what each of them runs. Data only.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    Fmt,
    Clippy,
    Test,
    Docs,
    Deny,
    Cases,
    Release,
    Programs,
}

pub(crate) enum Action {
    Run(Step),
    /// Builds the program people get and uses it as the README says.
    Smoke,
    /// Holds conversations with real agents and reads what they wrote.
    Programs,
}

/// One call of cargo.
pub(crate) struct Step {
    pub(crate) args: &'static [&'static str],
    pub(crate) env: &'static [(&'static str, &'static str)],
    pub(crate) counting: Counting,
}

pub(crate) enum Counting {
    AsOne,
    TestResults,
    Cases,
}

/// Without it the tier is skipped.
pub(crate) enum Need {
    Nothing,
    CargoCommand(&'static str),
    /// Seen from the root of the repository.
    Folder(&'static str),
}

impl Tier {
    pub(crate) const ALL: [Self; 8] = [
        Self::Fmt,
        Self::Clippy,
        Self::Test,
        Self::Docs,
        Self::Deny,
        Self::Cases,
        Self::Release,
        Self::Programs,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Test => "test",
            Self::Docs => "docs",
            Self::Deny => "deny",
            Self::Cases => "cases",
            Self::Release => "release",
            Self::Programs => "programs",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }

    pub(crate) fn need(self) -> Need {
        match self {
            Self::Fmt => Need::CargoCommand("fmt"),
            Self::Clippy => Need::CargoCommand("clippy"),
            Self::Deny => Need::CargoCommand("deny"),
            Self::Cases => Need::Folder("../shared/cases"),
            Self::Test | Self::Docs | Self::Release | Self::Programs => Need::Nothing,
        }
    }

    pub(crate) fn action(self) -> Action {
        let run = |args, counting| Action::Run(Step { args, env: &[], counting });
        match self {
            Self::Fmt => run(&["fmt", "--all", "--check"], Counting::AsOne),
            Self::Clippy => {
                run(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], Counting::AsOne)
            }
            // Every failure is worth knowing, not only those of the first test binary; and what a test says that passed
            // tells whether it ran at all.
            Self::Test => {
                run(&["test", "--workspace", "--no-fail-fast", "--", "--show-output"], Counting::TestResults)
            }
            Self::Docs => Action::Run(Step {
                args: &["doc", "--workspace", "--no-deps"],
                env: &[("RUSTDOCFLAGS", "-D warnings")],
                counting: Counting::AsOne,
            }),
            Self::Deny => run(&["deny", "check"], Counting::AsOne),
            Self::Cases => run(&["run", "--quiet", "--package", "xtask", "--", "cases"], Counting::Cases),
            Self::Release => Action::Smoke,
            Self::Programs => Action::Programs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tier_is_found_by_its_name() {
        for tier in Tier::ALL {
            assert_eq!(Tier::named(tier.name()), Some(tier));
        }
        assert_eq!(Tier::named("lint"), None);
    }
}
