//! What was counted, once for each reply whoever holds it.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::{ChargeName, PriceLookup, Prices, ReplyWords};
use crate::{Body, Change, EntryId, Fact, Model, Record, SessionHeader, SessionTree, Usage};

#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// A copy of the reply has at least one of them too.
    pub names: Vec<ChargeName>,
    /// The reply; `None` for what belongs to none.
    pub entry: Option<EntryId>,
    pub at: Timestamp,
    pub model: Option<Model>,
    pub usage: Usage,
    /// What all of a session has cost so far, and not one reply. Some programs write it down, and take that sum along
    /// into forks.
    pub is_sum: bool,
    /// It has tokens, and nobody knows what they cost.
    pub is_unpriced: bool,
}

/// Everything a session has used, each reply once, with what its tokens cost. `billed_as` tells under which name its
/// provider counted a reply, where the line it was read from says it.
pub fn charges(
    tree: &SessionTree,
    prices: &Prices,
    billed_as: impl Fn(&Record) -> Option<String>,
) -> Vec<Charge> {
    let prices = PriceLookup::new(prices.clone());
    priced(used(tree, billed_as), |model| prices.price_of(model))
}

/// The same as the session itself tells it: without prices, and with sums.
pub fn used(tree: &SessionTree, billed_as: impl Fn(&Record) -> Option<String>) -> Vec<Charge> {
    let mut counting = Counting::of(tree.header());
    let mut charges = Vec::new();
    if tree.log_length() == 0 {
        // A part of a long session has entries and no records, so that no line repeats the usage of a reply.
        let entries = tree.entries();
        return entries
            .filter_map(|entry| counting.entry(entry.id.as_str(), entry.written_at, &entry.body, None))
            .collect();
    }
    for record in tree.log() {
        match &record.change {
            Change::Entry(entry) if tree.contains(&entry.id) => {
                let provider = entry.body.usage().and_then(|_| billed_as(record));
                charges.extend(counting.entry(
                    entry.id.as_str(),
                    entry.written_at,
                    &entry.body,
                    provider.as_deref(),
                ));
            }
            Change::Marked(mark) => {
                let Fact::Spent { usage, model } = &mark.fact else { continue };
                charges.push(counting.beside(mark.id.as_ref(), mark.marked_at, usage, model.as_ref()));
            }
            Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => {}
        }
    }
    let mut is_last = are_last(&charges).into_iter();
    charges.retain(|_| is_last.next().unwrap_or(true));
    charges
}

/// Each reply as it was told last: a program may write the usage of a reply again when more of it has arrived.
pub fn once(charges: &[Charge]) -> impl Iterator<Item = &Charge> {
    charges.iter().zip(are_last(charges)).filter(|(_, is_last)| *is_last).map(|(charge, _)| charge)
}

/// For each charge, whether no later one has its name.
fn are_last(charges: &[Charge]) -> Vec<bool> {
    let mut later = HashSet::with_capacity(charges.len());
    let is_last = |charge: &Charge| charge.own_name().is_none_or(|name| later.insert(name));
    let mut are_last: Vec<bool> = charges.iter().rev().map(is_last).collect();
    are_last.reverse();
    are_last
}

/// With money: what the session says, else what `price_of` says. Sums count only where no reply has a cost.
///
/// Fractions of a millionth are carried over from reply to reply of a model, so that the replies add up to the price of all
/// their tokens, which is what a list of sessions computes ([`super::Spent`]).
pub fn priced(mut charges: Vec<Charge>, price_of: impl Fn(&Model) -> Option<super::Price>) -> Vec<Charge> {
    let mut so_far: HashMap<Model, Usage> = HashMap::new();
    for charge in charges.iter_mut().filter(|charge| charge.usage.cost_micros == 0) {
        let price = charge.model.as_ref().and_then(&price_of);
        charge.is_unpriced = price.is_none() && charge.usage.context_tokens() > 0;
        if let (Some(price), Some(model)) = (price, &charge.model) {
            let before = so_far.get(model).copied().unwrap_or_default();
            let after = before.plus(&charge.usage);
            charge.usage.cost_micros = price.cost(&after).saturating_sub(price.cost(&before));
            match so_far.get_mut(model) {
                Some(tokens) => *tokens = after,
                None => drop(so_far.insert(model.clone(), after)),
            }
        }
    }
    let has_cost = charges.iter().any(|charge| !charge.is_sum && charge.usage.cost_micros != 0);
    charges.retain(|charge| !(charge.is_sum && has_cost));
    charges
}

/// Charges in the order of a session, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Counting {
    /// The session itself, and the one it came from, where its program copies histories without ids and times.
    pub threads: Vec<String>,
    /// All tokens that were counted.
    pub so_far: i64,
}

impl Counting {
    pub fn of(header: Option<&SessionHeader>) -> Self {
        let header = header.filter(|header| header.agent.as_deref() == Some("codex"));
        let threads = header.map_or_else(Vec::new, |header| {
            let own = header.foreign.as_ref().map_or(header.id.as_str(), |source| source.session.as_str());
            let from = header.lineage.as_ref().map(|lineage| lineage.parent.as_str());
            std::iter::once(own).chain(from).map(str::to_owned).collect()
        });
        Self { threads, so_far: 0 }
    }

    /// `None` if the entry reports no usage. Only replies name their model.
    pub fn entry(&mut self, id: &str, at: Timestamp, body: &Body, provider: Option<&str>) -> Option<Charge> {
        let usage = *body.usage()?;
        let (model, words) = match body {
            // only names in a thread need the words
            Body::Reply(reply) if self.threads.is_empty() => (reply.model.clone(), ReplyWords::default()),
            Body::Reply(reply) => (reply.model.clone(), ReplyWords::of(reply)),
            _ => (None, ReplyWords::default()),
        };
        Some(self.counted(&Counted { entry: id, at, words }, model, usage, provider))
    }

    /// A reply that is known only as far as its names need it.
    pub fn counted(
        &mut self,
        reply: &Counted<'_>,
        model: Option<Model>,
        usage: Usage,
        provider: Option<&str>,
    ) -> Charge {
        // the name that tells replies of one session apart comes first
        let mut names: Vec<ChargeName> = provider.map(ChargeName::by_provider).into_iter().collect();
        names.push(ChargeName::of_entry(reply.entry, reply.at));
        names.extend(ChargeName::of_moment(reply.at, model.as_ref(), &usage));
        let in_thread = |thread: &String| ChargeName::in_thread(thread, self.so_far, &usage, reply.words);
        names.extend(self.threads.iter().filter_map(in_thread));
        self.so_far = self.so_far.saturating_add(usage.context_tokens());
        let entry = Some(EntryId::from(reply.entry));
        Charge { names, entry, at: reply.at, model, usage, is_sum: false, is_unpriced: false }
    }

    /// What belongs to no entry. `id` is that of its line, if its program gives such lines one.
    pub fn beside(
        &mut self,
        id: Option<&EntryId>,
        at: Timestamp,
        usage: &Usage,
        model: Option<&Model>,
    ) -> Charge {
        let tokens = usage.context_tokens();
        let spent = || format!("spent@{}:{tokens}:{}", at.as_millisecond(), usage.cost_micros);
        let mut names = vec![match id {
            Some(id) => ChargeName::of_entry(id.as_str(), at),
            None => ChargeName::by_provider(&spent()),
        }];
        let in_thread =
            |thread: &String| ChargeName::in_thread(thread, self.so_far, usage, ReplyWords::default());
        names.extend(self.threads.iter().filter_map(in_thread));
        self.so_far = self.so_far.saturating_add(tokens);
        let (entry, model) = (None, model.cloned());
        let is_unpriced = tokens > 0 && usage.cost_micros == 0;
        // Programs that write down sums give them no ids; pi's lines have one, and each is a charge of its own.
        let is_sum = tokens == 0 && id.is_none();
        Charge { names, entry, at, model, usage: *usage, is_sum, is_unpriced }
    }
}

/// A reply that was counted, as far as it is named by it.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'e> {
    pub entry: &'e str,
    pub at: Timestamp,
    pub words: ReplyWords,
}

impl Charge {
    /// Tells it from the others of its session; a reply of many lines is counted once.
    pub fn own_name(&self) -> Option<ChargeName> {
        self.names.first().copied()
    }
}
