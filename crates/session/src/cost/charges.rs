//! What was counted, once for each reply whoever holds it.

use std::collections::HashSet;

use jiff::Timestamp;

use super::Prices;
use crate::{Body, Change, EntryId, Fact, Model, Record, SessionTree, Usage};

#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// The same for every copy of a reply.
    pub name: String,
    /// The reply; `None` for what belongs to none.
    pub entry: Option<EntryId>,
    pub at: Timestamp,
    pub model: Option<Model>,
    pub usage: Usage,
    /// It has tokens, and nobody knows what they cost.
    pub is_unpriced: bool,
}

/// Everything a session has used, each reply once. `billed_as` tells under which name its provider counted a reply,
/// where the line it was read from says it: copies can have other ids and still be the same reply.
///
/// Some programs write down what all of it has cost so far, and take that sum along into forks. It counts only where
/// no reply has a cost of its own or a price.
pub fn charges(
    tree: &SessionTree,
    prices: &Prices,
    billed_as: impl Fn(&Record) -> Option<String>,
) -> Vec<Charge> {
    let mut seen = HashSet::new();
    let mut charges = Vec::new();
    let mut sums = Vec::new();
    for record in tree.log() {
        match &record.change {
            Change::Entry(entry) if tree.contains(&entry.id) => {
                let Body::Reply(reply) = &entry.body else { continue };
                let Some(usage) = reply.usage else { continue };
                let own = || format!("{}@{}", entry.id, entry.written_at.as_millisecond());
                let name = billed_as(record).unwrap_or_else(own);
                let price = reply.model.as_ref().and_then(|model| prices.of(model));
                let charge = Charge {
                    name,
                    entry: Some(entry.id.clone()),
                    at: entry.written_at,
                    model: reply.model.clone(),
                    usage,
                    is_unpriced: false,
                };
                charges.push(charge.priced(price.map(|price| price.cost(&usage))));
            }
            Change::Marked(mark) => {
                let Fact::Spent { usage } = &mark.fact else { continue };
                let tokens = usage.context_tokens();
                let charge = Charge {
                    name: format!("spent@{}:{tokens}:{}", mark.marked_at.as_millisecond(), usage.cost_micros),
                    entry: None,
                    at: mark.marked_at,
                    model: None,
                    usage: *usage,
                    is_unpriced: tokens > 0 && usage.cost_micros == 0,
                };
                if tokens == 0 { sums.push(charge) } else { charges.push(charge) }
            }
            Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => {}
        }
    }
    if charges.iter().all(|charge| charge.usage.cost_micros == 0) {
        charges.append(&mut sums);
    }
    charges.retain(|charge| seen.insert(charge.name.clone()));
    charges
}

impl Charge {
    fn priced(mut self, by_table: Option<i64>) -> Self {
        if self.usage.cost_micros == 0 {
            self.is_unpriced = by_table.is_none() && self.usage.context_tokens() > 0;
            self.usage.cost_micros = by_table.unwrap_or(0);
        }
        self
    }
}
