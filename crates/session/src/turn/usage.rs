//! Tokens and money of a turn, each counted once.
//!
//! Entries carry usage, and agents report sums. The turn adds up what its entries carry and writes of a sum only the
//! rest: tokens, and apart from them the money, which counts only where no reply has a price
//! ([`crate::cost::priced`]).

use super::message::written;
use super::{Effect, Turn};
use crate::agent::ModelUsage;
use crate::{Fact, Record, Stamps, Usage};

impl Turn {
    /// Entries of the turn carry this.
    pub(super) fn count(&mut self, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            self.counted = self.counted.plus(usage);
        }
    }

    /// Usage that has no entry to belong to.
    pub(super) fn count_without_entry(
        &mut self,
        usage: Option<Usage>,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        self.count(usage.as_ref());
        written(usage.into_iter().map(|usage| spent(usage, stamps)).collect())
    }

    /// A sum of everything since the last sum.
    pub(super) fn spent(&mut self, sums: &[ModelUsage], stamps: &mut dyn Stamps) -> Vec<Effect> {
        let sum = sums.iter().fold(Usage::default(), |sum, one| sum.plus(&one.usage));
        let counted = std::mem::take(&mut self.counted);
        // An entry that carries more than the sum is believed: what is written stays.
        let rest = |sum: i64, counted: i64| sum.saturating_sub(counted).max(0);
        let tokens = Usage {
            input: rest(sum.input, counted.input),
            output: rest(sum.output, counted.output),
            cache_read: rest(sum.cache_read, counted.cache_read),
            cache_write: rest(sum.cache_write, counted.cache_write),
            total: 0,
            cost_micros: 0,
        };
        let money = Usage { cost_micros: rest(sum.cost_micros, counted.cost_micros), ..Usage::default() };
        let rests = [tokens, money].into_iter().filter(|rest| *rest != Usage::default());
        written(rests.map(|rest| spent(rest, stamps)).collect())
    }
}

pub(super) fn spent(usage: Usage, stamps: &mut dyn Stamps) -> Record {
    Record::marked(stamps.now(), Fact::Spent { usage })
}
