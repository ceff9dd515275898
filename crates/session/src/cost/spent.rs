//! What a session has used in all, as far as prices that may change later need to know it.

use super::{Charge, Price};
use crate::{Model, Usage};

/// Small, where the charges themselves are many: a list of sessions has one for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Money that the session tells of its replies, in millionths of a dollar.
    pub told: i64,
    /// Money that it tells as a sum only.
    pub sums: i64,
    /// Tokens whose price it does not tell.
    pub unpriced: Vec<(Option<Model>, Usage)>,
}

impl Spent {
    pub fn of<'c>(charges: impl IntoIterator<Item = &'c Charge>) -> Self {
        let mut spent = Self::default();
        for charge in charges {
            let micros = charge.usage.cost_micros;
            match (charge.is_sum, micros) {
                (true, _) => spent.sums = spent.sums.saturating_add(micros),
                (false, 0) => spent.add(charge.model.as_ref(), &charge.usage),
                (false, _) => spent.told = spent.told.saturating_add(micros),
            }
        }
        spent
    }

    fn add(&mut self, model: Option<&Model>, usage: &Usage) {
        match self.unpriced.iter_mut().find(|(of, _)| of.as_ref() == model) {
            Some((_, sum)) => *sum = sum.plus(usage),
            None if usage.context_tokens() > 0 => self.unpriced.push((model.cloned(), *usage)),
            None => {}
        }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// In millionths of a dollar; `None` where something was used and nobody knows any of its prices. Sums count where
    /// nothing else does.
    pub fn money(&self, price_of: impl Fn(&Model) -> Option<Price>) -> Option<i64> {
        let by_table = |(model, usage): &(Option<Model>, Usage)| Some(price_of(model.as_ref()?)?.cost(usage));
        let known: Vec<i64> = self.unpriced.iter().filter_map(by_table).collect();
        let replies = known.iter().fold(self.told, |sum, micros| sum.saturating_add(*micros));
        let money = if replies == 0 { self.sums } else { replies };
        (money != 0 || known.len() == self.unpriced.len()).then_some(money)
    }

    pub fn plus(&mut self, other: &Self) {
        self.told = self.told.saturating_add(other.told);
        self.sums = self.sums.saturating_add(other.sums);
        for (model, usage) in &other.unpriced {
            self.add(model.as_ref(), usage);
        }
    }
}
