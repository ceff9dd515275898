//! Tokens and money by model, since the last report.

use std::collections::BTreeMap;

use offshoot_session::agent::ModelUsage;
use offshoot_session::{Model, Usage};
use serde_json::Value;

use super::json::{Map, number, object};

/// The totals of the process. Versions that report no differences report these, and a process that resumes a session
/// may continue those of its file.
#[derive(Debug, Default)]
pub(super) struct Totals {
    by_model: BTreeMap<String, Usage>,
    /// The first totals include what earlier processes have used; how much is not known.
    is_continued: bool,
}

impl Totals {
    pub(super) fn new(is_continued: bool) -> Self {
        Self { by_model: BTreeMap::new(), is_continued }
    }

    /// What a `result` line reports.
    pub(super) fn take(&mut self, result: &Map, main: Option<&Model>) -> Vec<ModelUsage> {
        let totals: BTreeMap<_, _> = object(result, "modelUsage").into_iter().flat_map(by_model).collect();
        let is_first = std::mem::take(&mut self.is_continued);
        let spent: Vec<_> = match object(result, "model_usage_since_last_result") {
            Some(since) => by_model(since).collect(),
            // The main loop of this turn is all that is known.
            None if is_first => {
                let name = main.map(|model| model.name.clone()).unwrap_or_default();
                object(result, "usage").map(|usage| (name, of_message(usage))).into_iter().collect()
            }
            None => totals.iter().map(|(name, total)| (name.clone(), self.since(name, total))).collect(),
        };
        self.by_model = totals;
        let spent = spent.into_iter().filter(|(_, usage)| *usage != Usage::default());
        spent.map(|(name, usage)| ModelUsage { model: model(&name), usage }).collect()
    }

    /// A smaller value counts from zero: the process has lost its earlier total.
    fn since(&self, name: &str, total: &Usage) -> Usage {
        let last = self.by_model.get(name).copied().unwrap_or_default();
        let since = |total: i64, last: i64| if total >= last { total - last } else { total };
        Usage {
            input: since(total.input, last.input),
            output: since(total.output, last.output),
            cache_read: since(total.cache_read, last.cache_read),
            cache_write: since(total.cache_write, last.cache_write),
            total: 0,
            cost_micros: since(total.cost_micros, last.cost_micros),
        }
    }
}

/// How many tokens a model reads at once, as a `result` line says it.
pub(super) fn window_of(result: &Map, model: &Model) -> Option<i64> {
    let is_it = |name: &str| without_window(name) == without_window(&model.name);
    let (_, used) = object(result, "modelUsage")?.iter().find(|(name, _)| is_it(name))?;
    number(used.as_object()?, "contextWindow").filter(|window| *window > 0)
}

/// Usage as the API counts it for one message.
pub(super) fn of_message(usage: &Map) -> Usage {
    let count = |key: &str| number(usage, key).unwrap_or(0).max(0);
    Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        total: 0,
        cost_micros: 0,
    }
}

pub(super) fn model(name: &str) -> Option<Model> {
    (!name.is_empty()).then(|| Model { provider: "anthropic".to_owned(), name: name.to_owned() })
}

fn by_model(usage: &Map) -> impl Iterator<Item = (String, Usage)> + '_ {
    usage
        .iter()
        .filter_map(|(name, usage)| Some((without_window(name).to_owned(), of_process(usage.as_object()?))))
}

fn of_process(usage: &Map) -> Usage {
    let count = |key: &str| number(usage, key).unwrap_or(0).max(0);
    let dollars = usage.get("costUSD").and_then(Value::as_f64).unwrap_or(0.0);
    Usage {
        input: count("inputTokens"),
        output: count("outputTokens"),
        cache_read: count("cacheReadInputTokens"),
        cache_write: count("cacheCreationInputTokens"),
        total: 0,
        cost_micros: (dollars * 1e6).round() as i64,
    }
}

/// `name[1m]` is the model `name` with a larger window: replies name it without.
fn without_window(name: &str) -> &str {
    name.split_once('[').map_or(name, |(name, _)| name)
}
