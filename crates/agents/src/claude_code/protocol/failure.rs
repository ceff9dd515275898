//! Kinds of failures, from what the CLI tells of them.

use std::time::Duration;

use offshoot_session::agent::{AgentFailure, FailureKind};

use super::json::{Map, number, text};

pub(super) const NOT_SIGNED_IN: &str =
    "Claude Code is not signed in: run `claude` and enter `/login`, or set ANTHROPIC_API_KEY";

const REFUSED: &str = "Claude Code is not signed in: the API refused its key. Run `claude` and enter `/login`, or set a valid ANTHROPIC_API_KEY";

pub(super) fn not_signed_in() -> AgentFailure {
    AgentFailure::new(FailureKind::SignIn, NOT_SIGNED_IN)
}

pub(super) fn key_refused() -> AgentFailure {
    AgentFailure::new(FailureKind::SignIn, REFUSED)
}

/// A request to the model that the CLI sends again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Retry {
    pub(super) attempt: u32,
    pub(super) of: u32,
    pub(super) wait: Duration,
    pub(super) cause: AgentFailure,
}

pub(super) fn retry_of(line: &Map) -> Retry {
    let count = |key: &str| number(line, key).and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    let wait = line
        .get("retry_delay_ms")
        .and_then(serde_json::Value::as_f64)
        .unwrap_or(0.0)
        .clamp(0.0, 86_400_000.0);
    let (status, error) = (status_of(line, "error_status"), text(line, "error"));
    let kind = kind_of(status, error, true);
    let text = match (status, error) {
        (Some(status), Some(error)) => format!("{status} {error}"),
        (Some(status), None) => status.to_string(),
        (None, Some(error)) => error.to_owned(),
        (None, None) => "connection lost".to_owned(),
    };
    Retry {
        attempt: count("attempt"),
        of: count("max_retries"),
        wait: Duration::from_millis(wait as u64),
        cause: AgentFailure::new(kind, text),
    }
}

/// The final error of a turn. `synthetic` is the reply in which the CLI told it.
pub(super) fn failure_of(result: &Map, synthetic: Option<&Told>) -> AgentFailure {
    let errors = result.get("errors").and_then(serde_json::Value::as_array);
    let errors = errors.into_iter().flatten().filter_map(serde_json::Value::as_str);
    let errors = errors.collect::<Vec<_>>().join("\n");
    let told = [text(result, "result"), synthetic.map(|told| told.text.as_str()), Some(errors.as_str())];
    let told = told.into_iter().flatten().find(|text| !text.trim().is_empty());
    let text = told.unwrap_or("Claude Code reported an error without a text").to_owned();
    let status = status_of(result, "api_error_status").or(synthetic.and_then(|told| told.status));
    let error = synthetic.and_then(|told| told.error.as_deref());
    let is_api = self::text(result, "terminal_reason") == Some("api_error");
    let kind = match kind_of(status, error, is_api) {
        FailureKind::Api { status: 400 | 413 } if is_context_full(&text) => FailureKind::ContextFull,
        FailureKind::Network | FailureKind::Other if is_context_full(&text) => FailureKind::ContextFull,
        FailureKind::Network | FailureKind::Other if text.contains("/login") => FailureKind::SignIn,
        kind => kind,
    };
    AgentFailure::new(kind, text)
}

/// What a `<synthetic>` reply told: the CLI's own words, not the model's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) text: String,
    error: Option<String>,
    status: Option<u16>,
}

impl Told {
    pub(super) fn of(line: &Map, words: String) -> Self {
        let error = text(line, "error").map(str::to_owned);
        Self { text: words, error, status: status_of(line, "api_error_status") }
    }
}

fn status_of(map: &Map, key: &str) -> Option<u16> {
    number(map, key).and_then(|status| u16::try_from(status).ok())
}

/// `is_api`: the request to the model failed, so that without a status the connection did.
fn kind_of(status: Option<u16>, error: Option<&str>, is_api: bool) -> FailureKind {
    match (status, error) {
        (Some(401 | 403), _) | (None, Some("authentication_failed" | "oauth_org_not_allowed")) => {
            FailureKind::SignIn
        }
        (Some(429), _) | (None, Some("rate_limit")) => FailureKind::RateLimited { until: None },
        (Some(529), _) | (None, Some("overloaded")) => FailureKind::Overloaded,
        (Some(status), _) => FailureKind::Api { status },
        (None, _) if is_api => FailureKind::Network,
        (None, _) => FailureKind::Other,
    }
}

fn is_context_full(text: &str) -> bool {
    let text = text.to_lowercase();
    ["prompt is too long", "context window", "context length", "context limit", "input length and"]
        .iter()
        .any(|words| text.contains(words))
}
