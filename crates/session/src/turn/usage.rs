//! Tokens and money of a turn, each counted once.
//!
//! Entries carry usage, and agents report sums. The turn adds up what its entries carry and writes of a sum only the
//! rest: the tokens of each model, and apart from them the money, which counts only where no reply has a price
//! ([`crate::cost::priced`]).

use super::message::written;
use super::{Effect, Turn};
use crate::agent::ModelUsage;
use crate::{Fact, Model, Record, Stamps, Usage};

/// What entries carry since the agent reported a sum, by model.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted(Vec<ModelUsage>);

impl Counted {
    fn add(&mut self, model: Option<&Model>, usage: &Usage) {
        match self.0.iter_mut().find(|one| one.model.as_ref() == model) {
            Some(one) => one.usage = one.usage.plus(usage),
            None => self.0.push(ModelUsage { model: model.cloned(), usage: *usage }),
        }
    }

    /// Removes from a sum what entries of its model carry, or of any model.
    fn remove_from(&mut self, sum: &mut ModelUsage, of: Of) {
        let is_it = |one: &ModelUsage| match of {
            Of::SameModel => one.model == sum.model,
            Of::AnyModel => true,
        };
        for one in self.0.iter_mut().filter(|one| is_it(one)) {
            let (carried, rest) = (&mut one.usage, &mut sum.usage);
            for (carried, rest) in [
                (&mut carried.input, &mut rest.input),
                (&mut carried.output, &mut rest.output),
                (&mut carried.cache_read, &mut rest.cache_read),
                (&mut carried.cache_write, &mut rest.cache_write),
                (&mut carried.cost_micros, &mut rest.cost_micros),
            ] {
                let both = (*carried).min(*rest).max(0);
                (*carried, *rest) = (*carried - both, *rest - both);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Of {
    SameModel,
    /// Agents do not always call a model by the same name.
    AnyModel,
}

impl Turn {
    /// Entries of the turn carry this.
    pub(super) fn count(&mut self, model: Option<&Model>, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            self.counted.add(model, usage);
        }
    }

    /// Usage that has no entry to belong to.
    pub(super) fn count_without_entry(
        &mut self,
        usage: Option<Usage>,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let model = self.bound.model.clone();
        self.count(model.as_ref(), usage.as_ref());
        written(usage.into_iter().map(|usage| spent(usage, model.clone(), stamps)).collect())
    }

    /// A sum of everything since the last sum. An entry that carries more than the sum is believed: what is written
    /// stays.
    pub(super) fn spent(&mut self, sums: &[ModelUsage], stamps: &mut dyn Stamps) -> Vec<Effect> {
        let mut counted = std::mem::take(&mut self.counted);
        let mut rests = sums.to_vec();
        for of in [Of::SameModel, Of::AnyModel] {
            rests.iter_mut().for_each(|rest| counted.remove_from(rest, of));
        }
        let cost_micros = rests.iter().fold(0_i64, |sum, rest| sum.saturating_add(rest.usage.cost_micros));
        let tokens = rests.into_iter().map(|ModelUsage { model, usage }| {
            let usage = Usage { total: 0, cost_micros: 0, ..usage };
            ModelUsage { model, usage }
        });
        let money = ModelUsage { model: None, usage: Usage { cost_micros, ..Usage::default() } };
        let rests = tokens.chain([money]).filter(|rest| rest.usage != Usage::default());
        written(rests.map(|rest| spent(rest.usage, rest.model, stamps)).collect())
    }
}

pub(super) fn spent(usage: Usage, model: Option<Model>, stamps: &mut dyn Stamps) -> Record {
    Record::marked(stamps.now(), Fact::Spent { usage, model })
}
