//! Tokens and money.
//!
//! What a session has used is a list of [`Charge`]s, one for each reply, compaction, branch summary and tool result
//! that reports its usage. A charge has names that a
//! copy of the reply has too ([`ChargeName`]), so that histories which several sessions hold are counted once
//! ([`CountedOnce`]), and whatever is asked about (a branch, a day, a model) is a sum of charges. Money comes from the
//! session where it says it, else from a table of [`Prices`].

mod branches;
mod charges;
mod names;
mod prices;
mod spent;
mod turns;

pub use branches::{BranchCost, BranchKind, by_branch};
pub use charges::{Charge, Counted, Counting, charges, once, priced, used};
pub use names::{ChargeName, CountedOnce, ReplyWords};
pub use prices::{Price, PriceLookup, Prices, fits};
pub use spent::Spent;
pub use turns::{TurnCost, by_turn, tally_by_prompt};

use crate::{SessionTree, Usage};

/// Everything a session has used: all entries that report usage on all branches, each once, and what belongs to no
/// entry.
pub fn usage_of(tree: &SessionTree) -> Usage {
    let of_entries = tree.entries().filter_map(|entry| entry.body.usage());
    of_entries.chain(tree.spent()).fold(Usage::default(), |sum, usage| sum.plus(usage))
}

/// A sum of charges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub usage: Usage,
    /// Replies with tokens that neither the session nor the table has a price for.
    pub unpriced: u64,
    /// Replies whose price is known.
    pub priced: u64,
}

impl Tally {
    pub fn of<'c>(charges: impl IntoIterator<Item = &'c Charge>) -> Self {
        let mut tally = Self::default();
        for charge in charges {
            tally.usage = tally.usage.plus(&charge.usage);
            tally.unpriced += u64::from(charge.is_unpriced);
            let is_something = charge.usage.context_tokens() > 0 || charge.usage.cost_micros != 0;
            tally.priced += u64::from(is_something && !charge.is_unpriced);
        }
        tally
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            usage: self.usage.plus(&other.usage),
            unpriced: self.unpriced + other.unpriced,
            priced: self.priced + other.priced,
        }
    }

    /// In millionths of a dollar; `None` where nobody knows any of the prices.
    pub fn money(&self) -> Option<i64> {
        (self.priced > 0 || self.unpriced == 0).then_some(self.usage.cost_micros)
    }

    /// All tokens that went in and came out.
    pub fn tokens(&self) -> i64 {
        let usage = &self.usage;
        [usage.input, usage.output, usage.cache_read, usage.cache_write]
            .into_iter()
            .fold(0, i64::saturating_add)
    }
}

impl Usage {
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            total: self.context_tokens().saturating_add(other.context_tokens()),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }
}
