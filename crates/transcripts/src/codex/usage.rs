//! Tokens. Codex tells the same count again whenever its limits change; the running total says which is new.

use offshoot_session::Usage;

use crate::json::{Map, integer};
use crate::nested::object;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// Of the thread so far. A count with the total of the one before is the same count.
    pub(super) total: Option<Usage>,
    /// Of the last answer of the model.
    pub(super) last: Usage,
}

/// `token_count`; `None` where it only tells of limits.
pub(super) fn count_of_event(payload: &Map) -> Option<Count> {
    let info = object(payload, "info")?;
    let last = usage_of(object(info, "last_token_usage")?);
    Some(Count { total: object(info, "total_token_usage").map(usage_of), last })
}

/// `token_usage_record`
pub(super) fn count_of_record(payload: &Map) -> Option<Count> {
    let last = usage_of(object(payload, "usage")?);
    Some(Count { total: object(payload, "thread_token_usage").map(usage_of), last })
}

/// What Codex calls input holds the cached part.
fn usage_of(usage: &Map) -> Usage {
    let count = |key| integer(usage, key).unwrap_or(0);
    let (cache_read, cache_write) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
    Usage {
        input: count("input_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
        output: count("output_tokens"),
        cache_read,
        cache_write,
        total: count("total_tokens"),
        cost_micros: 0,
    }
}
