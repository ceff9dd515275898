//! Why a model did not answer: as a person reads it, and whether asking again may help.

use std::time::Duration;

use jiff::Timestamp;
use offshoot_session::agent::{AgentFailure, FailureKind};
use serde_json::Value;

use super::provider::Server;
use super::secrets::Secrets;
use super::wire::{Refusal, RefusalKind, refusal_in};

/// So much of what a server says about itself is repeated, in characters.
const LONGEST_WORDS: usize = 300;

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) failure: AgentFailure,
    /// The same request may be answered later.
    pub(crate) may_pass: bool,
    /// The server says when.
    pub(crate) retry_after: Option<Duration>,
}

/// Who is asked for what: the names in sentences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) server: &'a Server,
    pub(crate) model: &'a str,
    pub(crate) secrets: &'a Secrets,
}

impl Trouble {
    pub(crate) fn is_context_full(&self) -> bool {
        self.failure.kind == FailureKind::ContextFull
    }

    fn new(kind: FailureKind, text: String, may_pass: bool) -> Self {
        Self { failure: AgentFailure::new(kind, text), may_pass, retry_after: None }
    }
}

impl Asked<'_> {
    /// The server has refused the request with a status.
    pub(crate) fn refused(
        &self,
        status: u16,
        retry_after: Option<Duration>,
        body: &str,
        now: Timestamp,
    ) -> Trouble {
        let (name, model) = (&self.server.name, self.model);
        let refusal = refusal_in(self.server.wire, body);
        let is_full = refusal.as_ref().is_some_and(|refusal| refusal.kind == RefusalKind::ContextFull);
        let is_final = refusal.as_ref().is_some_and(|refusal| refusal.kind == RefusalKind::Invalid);
        let until =
            retry_after.and_then(|wait| now.checked_add(jiff::SignedDuration::try_from(wait).ok()?).ok());
        let words = refusal.map(|refusal| refusal.text).unwrap_or_else(|| plain(body));
        let (kind, text, may_pass) = match status {
            413 => (FailureKind::ContextFull, format!("the request is too large for `{name}`"), false),
            _ if is_full => (
                FailureKind::ContextFull,
                format!("the conversation is too long for `{name}/{model}`"),
                false,
            ),
            401 => {
                (FailureKind::SignIn, format!("`{name}` does not accept {}", self.server.key_source()), false)
            }
            403 => (
                FailureKind::Api { status },
                format!("`{name}` does not permit this with {}", self.server.key_source()),
                false,
            ),
            404 if is_about_model(&words) => {
                (FailureKind::Api { status }, format!("`{name}` has no model `{model}`"), false)
            }
            404 => (
                FailureKind::Api { status },
                format!(
                    "`{name}` has nothing at `{}`: check its `base_url`",
                    self.server.url(self.server.wire.answer_path())
                ),
                false,
            ),
            400 if is_about_thinking(&words) => (
                FailureKind::Api { status },
                format!("`{name}/{model}` does not take this thinking level: choose another one, or `off`"),
                false,
            ),
            429 => (
                FailureKind::RateLimited { until },
                format!("`{name}` does not take more requests now"),
                !is_final,
            ),
            503 | 529 => (FailureKind::Overloaded, format!("`{name}` is overloaded"), true),
            408 | 500..=599 => (FailureKind::Api { status }, format!("`{name}` failed"), true),
            300..=399 => (
                FailureKind::Api { status },
                format!("`{name}` sends requests to another address, which is not followed"),
                false,
            ),
            _ => (FailureKind::Api { status }, format!("`{name}` refused the request"), false),
        };
        let text = self.with_words(format!("{text} (status {status})"), &words);
        Trouble { retry_after, ..Trouble::new(kind, text, may_pass) }
    }

    /// The server has refused in the middle of its answer.
    pub(crate) fn broke_off(&self, refusal: &Refusal) -> Trouble {
        let name = &self.server.name;
        let (kind, text) = match refusal.kind {
            RefusalKind::SignIn => {
                (FailureKind::SignIn, format!("`{name}` does not accept {}", self.server.key_source()))
            }
            RefusalKind::RateLimited => (
                FailureKind::RateLimited { until: None },
                format!("`{name}` does not take more requests now"),
            ),
            RefusalKind::Overloaded => (FailureKind::Overloaded, format!("`{name}` is overloaded")),
            RefusalKind::ContextFull => (
                FailureKind::ContextFull,
                format!("the conversation is too long for `{name}/{}`", self.model),
            ),
            RefusalKind::Invalid | RefusalKind::Server => {
                (FailureKind::Other, format!("`{name}` broke off its answer"))
            }
            RefusalKind::Unreadable => {
                (FailureKind::Protocol, format!("`{name}` sent something that cannot be read"))
            }
        };
        Trouble::new(kind, self.with_words(text, &refusal.text), refusal.kind.may_pass())
    }

    pub(crate) fn unreachable(&self, why: &str) -> Trouble {
        let text = format!("`{}` at {} cannot be reached", self.server.name, self.server.host());
        // What rustls says of an answer that is not encrypted.
        if why.contains("InvalidContentType") {
            let text = format!("{text}: it does not speak TLS: check the `https` in its `base_url`");
            return Trouble::new(FailureKind::Network, text, false);
        }
        Trouble::new(FailureKind::Network, self.with_words(text, why), true)
    }

    /// The connection ended before the answer did.
    pub(crate) fn lost(&self, why: &str) -> Trouble {
        let text =
            format!("the connection to `{}` was lost before its answer was complete", self.server.name);
        Trouble::new(FailureKind::Network, self.with_words(text, why), true)
    }

    /// Asking again would take as long again.
    pub(crate) fn silent(&self) -> Trouble {
        let limit = self.server.time_limit.as_secs_f64();
        let text = format!("`{}` has sent nothing for {limit} s", self.server.name);
        Trouble::new(FailureKind::Network, text, false)
    }

    pub(crate) fn endless(&self) -> Trouble {
        let text = format!("`{}` does not stop answering: its answer was given up", self.server.name);
        Trouble::new(FailureKind::Protocol, text, false)
    }

    pub(crate) fn too_many(&self, what: &str) -> Trouble {
        let text = format!("`{}` does not stop answering: it sent too many {what}", self.server.name);
        Trouble::new(FailureKind::Protocol, text, false)
    }

    /// The answer ended because the model, or a filter behind it, does not want to give it.
    pub(crate) fn declined(&self, reason: &str) -> AgentFailure {
        let text = format!("`{}/{}` refused to answer (`{reason}`)", self.server.name, self.model);
        AgentFailure::new(FailureKind::Other, text)
    }

    /// Another kind of server answered.
    pub(crate) fn no_stream(&self, content_type: &str) -> Trouble {
        let text = format!(
            "the server at {} does not serve models: it sent `{content_type}` instead of a stream of events",
            self.server.host()
        );
        Trouble::new(FailureKind::Protocol, self.secrets.taken_out(&text), false)
    }

    pub(crate) fn empty(&self) -> AgentFailure {
        let text = format!("`{}/{}` answered with nothing", self.server.name, self.model);
        AgentFailure::new(FailureKind::Protocol, text)
    }

    /// What the server says, if anything, in one line and without keys.
    fn with_words(&self, text: String, words: &str) -> String {
        let words = self.secrets.taken_out(words);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = words.char_indices().nth(LONGEST_WORDS).map_or(words.len(), |(at, _)| at);
        match words.get(..end).unwrap_or_default() {
            "" => text,
            words => format!("{text}: {words}"),
        }
    }
}

/// A path that a server does not have has the same status as a model.
fn is_about_model(words: &str) -> bool {
    words.to_ascii_lowercase().contains("model")
}

/// A setting of ours that this model does not take, not thinking in the messages.
fn is_about_thinking(words: &str) -> bool {
    let names = [
        "thinking.",
        "thinking is not supported",
        "output_config.effort",
        "effort parameter",
        "reasoning_effort",
    ];
    !words.starts_with("messages.") && names.iter().any(|name| words.contains(name))
}

/// A page for people says nothing in one line.
fn plain(body: &str) -> String {
    let body = body.trim();
    let is_page =
        body.starts_with('<') || serde_json::from_str::<Value>(body).is_ok_and(|json| !json.is_string());
    if is_page { String::new() } else { body.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::llm::provider::server;

    fn told(status: u16, body: &str) -> (String, bool) {
        let server = server("anthropic", &BTreeMap::new(), &Default::default()).unwrap();
        let secrets = Secrets::default();
        let asked = Asked { server: &server, model: "m", secrets: &secrets };
        let trouble = asked.refused(status, None, body, Timestamp::UNIX_EPOCH);
        (trouble.failure.text, trouble.may_pass)
    }

    #[test]
    fn every_status_is_a_sentence() {
        let body = r#"{"type":"error","error":{"type":"x","message":"the words"}}"#;
        for (status, text, may_pass) in [
            (400, "`anthropic` refused the request (status 400): the words", false),
            (
                401,
                "`anthropic` does not accept the key in `ANTHROPIC_API_KEY` (status 401): the words",
                false,
            ),
            (
                404,
                "`anthropic` has nothing at `https://api.anthropic.com/v1/messages`: check its `base_url` (status 404): \
                 the words",
                false,
            ),
            (413, "the request is too large for `anthropic` (status 413): the words", false),
            (429, "`anthropic` does not take more requests now (status 429): the words", true),
            (500, "`anthropic` failed (status 500): the words", true),
            (529, "`anthropic` is overloaded (status 529): the words", true),
            (
                302,
                "`anthropic` sends requests to another address, which is not followed (status 302): the words",
                false,
            ),
        ] {
            assert_eq!(told(status, body), (text.to_owned(), may_pass));
        }
        let no_model = r#"{"error":{"type":"not_found_error","message":"model: m"}}"#;
        assert_eq!(told(404, no_model).0, "`anthropic` has no model `m` (status 404): model: m");
        let level = r#"{"error":{"type":"invalid_request_error","message":"adaptive thinking is not supported on this model"}}"#;
        assert!(
            told(400, level).0.starts_with("`anthropic/m` does not take this thinking level: choose another")
        );
        let unsigned =
            r#"{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#;
        assert!(told(400, unsigned).0.starts_with("`anthropic` refused the request"));
        assert_eq!(told(502, "<html>Bad gateway</html>").0, "`anthropic` failed (status 502)");
        assert_eq!(told(500, "a  plain\nword").0, "`anthropic` failed (status 500): a plain word");
        let full = r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"}}"#;
        assert_eq!(
            told(400, full).0,
            "the conversation is too long for `anthropic/m` (status 400): prompt is too long: 2 > 1"
        );
    }
}
