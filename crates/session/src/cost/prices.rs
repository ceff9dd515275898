//! What tokens cost, by the name of the model.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::{Model, Usage};

/// In millionths of a dollar for a million tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// The name of a model, or `provider/name`; `*` stands for any letters.
    pub model: String,
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    pub cache_write: i64,
}

/// The first that fits counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(pub Vec<Price>);

impl Prices {
    /// What providers listed in November 2026, in dollars: input, output, read from the cache, written to it. Each is
    /// in the catalogs of models that pi 0.87.1 and oh-my-pi 18.2.3 ship, and the same in both where both have it; what
    /// Claude Code says its own replies cost agrees with it. Where writing to the cache has no price of its own, it costs
    /// what input costs. A model that is not named has no price: its successor may cost something else.
    pub fn listed() -> Self {
        const LISTED: &[(&str, [f64; 4])] = &[
            ("claude-opus-5-5", [4.0, 20.0, 0.2, 5.0]),
            ("claude-opus-5", [5.0, 25.0, 0.5, 6.25]),
            ("claude-opus-4-8", [5.0, 25.0, 0.5, 6.25]),
            ("claude-opus-4-7", [5.0, 25.0, 0.5, 6.25]),
            ("claude-opus-4-6", [5.0, 25.0, 0.5, 6.25]),
            ("claude-opus-4-5", [5.0, 25.0, 0.5, 6.25]),
            ("claude-opus-4-1", [15.0, 75.0, 1.5, 18.75]),
            ("claude-opus-4-0", [15.0, 75.0, 1.5, 18.75]),
            ("claude-opus-4", [15.0, 75.0, 1.5, 18.75]),
            ("claude-sonnet-5", [2.0, 10.0, 0.2, 2.5]),
            ("claude-sonnet-4-6", [3.0, 15.0, 0.3, 3.75]),
            ("claude-sonnet-4-5", [3.0, 15.0, 0.3, 3.75]),
            ("claude-sonnet-4-0", [3.0, 15.0, 0.3, 3.75]),
            ("claude-sonnet-4", [3.0, 15.0, 0.3, 3.75]),
            ("claude-3-5-sonnet", [3.0, 15.0, 0.3, 3.75]),
            ("claude-haiku-4-5", [1.0, 5.0, 0.1, 1.25]),
            ("claude-3-haiku", [0.25, 1.25, 0.03, 0.3]),
            ("claude-fable-5-1", [10.0, 50.0, 0.25, 12.5]),
            ("claude-fable-5", [10.0, 50.0, 1.0, 12.5]),
            ("gpt-6-astra", [10.0, 50.0, 1.0, 12.5]),
            ("gpt-5.6-sol", [4.0, 20.0, 0.4, 5.0]),
            ("gpt-5.6-terra", [2.0, 12.0, 0.2, 2.5]),
            ("gpt-5.6-luna", [0.2, 1.2, 0.02, 0.25]),
            ("gpt-5.5", [5.0, 30.0, 0.5, 5.0]),
            ("gpt-5.4", [2.5, 15.0, 0.25, 2.5]),
            ("gpt-5.4-mini", [0.75, 4.5, 0.075, 0.75]),
            ("gpt-5.4-nano", [0.2, 1.25, 0.02, 0.2]),
            ("gpt-5.3-codex", [1.75, 14.0, 0.175, 1.75]),
            ("gpt-5.2", [1.75, 14.0, 0.175, 1.75]),
            ("gpt-5.2-codex", [1.75, 14.0, 0.175, 1.75]),
            ("gpt-5.1", [1.25, 10.0, 0.125, 1.25]),
            ("gpt-5.1-codex", [1.25, 10.0, 0.125, 1.25]),
            ("gpt-5.1-codex-max", [1.25, 10.0, 0.125, 1.25]),
            ("gpt-5.1-codex-mini", [0.25, 2.0, 0.025, 0.25]),
            ("gpt-5", [1.25, 10.0, 0.125, 1.25]),
            ("gpt-5-codex", [1.25, 10.0, 0.125, 1.25]),
            ("gpt-5-mini", [0.25, 2.0, 0.025, 0.25]),
            ("gpt-5-nano", [0.05, 0.4, 0.005, 0.05]),
            ("gpt-4.1", [2.0, 8.0, 0.5, 2.0]),
            ("gpt-4.1-mini", [0.4, 1.6, 0.1, 0.4]),
            ("gpt-4.1-nano", [0.1, 0.4, 0.025, 0.1]),
            ("gpt-4o", [2.5, 10.0, 1.25, 2.5]),
            ("gpt-4o-mini", [0.15, 0.6, 0.075, 0.15]),
            ("o4-mini", [1.1, 4.4, 0.275, 1.1]),
            ("o3", [2.0, 8.0, 0.5, 2.0]),
            ("gemini-3.5-flash", [1.5, 9.0, 0.15, 1.5]),
            ("gemini-2.5-pro", [1.25, 10.0, 0.125, 1.25]),
            ("gemini-2.5-flash", [0.3, 2.5, 0.03, 0.3]),
            ("gemini-2.5-flash-lite", [0.1, 0.4, 0.01, 0.1]),
        ];
        // Anthropic dates the names of its models and keeps their prices
        let dated = |model: &str| model.starts_with("claude-").then(|| format!("{model}-20*"));
        let names = |model: &str| std::iter::once(model.to_owned()).chain(dated(model)).collect::<Vec<_>>();
        let prices = LISTED.iter().flat_map(|(model, dollars)| {
            names(model).into_iter().map(|name| Price::in_dollars(&name, *dollars))
        });
        Self(prices.collect())
    }

    pub fn of(&self, model: &Model) -> Option<&Price> {
        let whole = format!("{}/{}", model.provider, model.name);
        self.0.iter().find(|price| fits(&price.model, &model.name) || fits(&price.model, &whole))
    }
}

/// Prices, each looked up once: lists and branches name the same few models again and again.
#[derive(Debug, Default)]
pub struct PriceLookup {
    prices: Prices,
    found: Mutex<HashMap<Model, Option<Price>>>,
}

impl PriceLookup {
    pub fn new(prices: Prices) -> Self {
        Self { prices, found: Mutex::default() }
    }

    pub fn price_of(&self, model: &Model) -> Option<Price> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(price) = found.get(model) {
            return price.clone();
        }
        let price = self.prices.of(model).cloned();
        found.insert(model.clone(), price.clone());
        price
    }
}

impl Price {
    pub fn in_dollars(model: &str, [input, output, cache_read, cache_write]: [f64; 4]) -> Self {
        let micros = |dollars: f64| (dollars * 1e6).round() as i64;
        Self {
            model: model.to_owned(),
            input: micros(input),
            output: micros(output),
            cache_read: micros(cache_read),
            cache_write: micros(cache_write),
        }
    }

    /// In millionths of a dollar.
    pub fn cost(&self, usage: &Usage) -> i64 {
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        let sum: i128 = parts.iter().map(|(tokens, price)| i128::from(*tokens) * i128::from(*price)).sum();
        i64::try_from((sum + 500_000).div_euclid(1_000_000)).unwrap_or(i64::MAX)
    }
}

/// Whether a name has the shape of a pattern, large and small letters alike.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}
