//! The protocols: what a request says in each, and how each says a reply.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use super::asked::Asked;
use super::http::Head;
use super::script::{Part, Tokens};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    Gemini,
}

/// What a path asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Endpoint {
    Reply { protocol: Protocol, is_streamed: Option<bool>, model: Option<String> },
    CountTokens(Protocol),
    Models,
    Alive,
    Unknown,
}

/// How a protocol says a reply. Methods return the events that go onto the wire.
pub(super) trait Voice {
    fn begin(&mut self) -> Vec<Event>;
    /// A part begins; its pieces follow.
    fn open(&mut self, kind: Kind<'_>) -> Vec<Event>;
    fn piece(&mut self, piece: &str) -> Vec<Event>;
    fn close(&mut self) -> Vec<Event>;
    fn end(&mut self) -> Vec<Event>;
    fn error(&mut self) -> Vec<Event>;
    /// The reply in one document.
    fn whole(&mut self, parts: &[Part]) -> Value;
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind<'p> {
    Text,
    Thinking,
    /// Its pieces are the input as JSON.
    Call {
        name: &'p str,
    },
}

/// A server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    name: Option<&'static str>,
    data: String,
}

/// What every voice knows of the reply it gives.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// Makes the ids of this reply its own.
    pub(super) number: usize,
    pub(super) model: String,
    pub(super) input_tokens: usize,
    /// As the script says. Only Messages and Chat Completions tell it.
    pub(super) used: Option<Tokens>,
    pub(super) stop: Option<String>,
    pub(super) wants_usage: bool,
}

impl Event {
    fn named(name: &'static str, data: Value) -> Self {
        Self { name: Some(name), data: data.to_string() }
    }

    fn plain(data: Value) -> Self {
        Self { name: None, data: data.to_string() }
    }

    /// What no program can read.
    pub(super) fn broken() -> Self {
        Self { name: None, data: "{\"this is\": no JSON".to_owned() }
    }

    pub(super) fn wire(&self) -> String {
        let name = self.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data)
    }
}

impl Protocol {
    pub(super) fn voice(self, answer: Answer) -> Box<dyn Voice> {
        match self {
            Self::Messages => Box::new(anthropic::Messages::new(answer)),
            Self::Chat => Box::new(chat::Chat::new(answer)),
            Self::Responses => Box::new(responses::Responses::new(answer)),
            Self::Gemini => Box::new(gemini::Gemini::new(answer)),
        }
    }

    pub(super) fn asked(self, body: &Value) -> Asked {
        match self {
            Self::Messages => anthropic::asked(body),
            Self::Chat => chat::asked(body),
            Self::Responses => responses::asked(body),
            Self::Gemini => gemini::asked(body),
        }
    }

    /// Whether the real server would take this request; its words if not. Responses and Gemini are not checked.
    pub(super) fn check(self, head: &Head, body: &Value) -> Result<(), String> {
        match self {
            Self::Messages => anthropic::rules::check(head, body),
            Self::Chat => chat::rules::check(body),
            Self::Responses | Self::Gemini => Ok(()),
        }
    }

    /// The body of an answer with this status.
    pub(super) fn error_body(self, status: u16) -> Value {
        // Of 404 the real servers say what is missing.
        let what = if status == 404 { "model: " } else { "" };
        self.error_with(status, &format!("{what}scripted failure {status}"))
    }

    pub(super) fn error_with(self, status: u16, message: &str) -> Value {
        match self {
            Self::Messages => {
                let kind = match status {
                    400 => "invalid_request_error",
                    401 => "authentication_error",
                    403 => "permission_error",
                    413 => "request_too_large",
                    404 => "not_found_error",
                    429 => "rate_limit_error",
                    529 => "overloaded_error",
                    _ => "api_error",
                };
                json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"})
            }
            Self::Chat | Self::Responses => {
                let (kind, code) = match status {
                    401 => ("invalid_request_error", "invalid_api_key"),
                    404 => ("invalid_request_error", "model_not_found"),
                    429 => ("requests", "rate_limit_exceeded"),
                    400..500 => ("invalid_request_error", "scripted"),
                    _ => ("server_error", "scripted"),
                };
                json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
            }
            Self::Gemini => {
                let word = match status {
                    400 => "INVALID_ARGUMENT",
                    401 => "UNAUTHENTICATED",
                    429 => "RESOURCE_EXHAUSTED",
                    503 | 529 => "UNAVAILABLE",
                    _ => "INTERNAL",
                };
                json!({"error": {"code": status, "message": message, "status": word}})
            }
        }
    }

    /// The body of an answer to a conversation that is too long.
    pub(super) fn too_long(self) -> Value {
        let mut body = self.error_body(400);
        match self {
            Self::Messages => body["error"]["message"] = "prompt is too long: 9 tokens > 8 maximum".into(),
            Self::Chat | Self::Responses => body["error"]["code"] = "context_length_exceeded".into(),
            Self::Gemini => body["error"]["message"] = "The input token count exceeds the maximum".into(),
        }
        body
    }

    pub(super) fn token_count(self, tokens: usize) -> Value {
        match self {
            Self::Gemini => json!({"totalTokens": tokens}),
            Self::Messages | Self::Chat | Self::Responses => json!({"input_tokens": tokens}),
        }
    }
}

impl Endpoint {
    pub(super) fn of(method: &str, path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let reply = |protocol| Self::Reply { protocol, is_streamed: None, model: None };
        match method {
            "HEAD" => Self::Alive,
            "GET" if path.is_empty() => Self::Alive,
            "GET" if path.ends_with("/models") => Self::Models,
            "POST" if path.ends_with("/messages/count_tokens") => Self::CountTokens(Protocol::Messages),
            "POST" if path.ends_with("/messages") => reply(Protocol::Messages),
            "POST" if path.ends_with("/chat/completions") => reply(Protocol::Chat),
            "POST" if path.ends_with("/responses") => reply(Protocol::Responses),
            "POST" => match path.rsplit('/').next().and_then(|last| last.split_once(':')) {
                Some((_, "countTokens")) => Self::CountTokens(Protocol::Gemini),
                Some((model, "streamGenerateContent")) => Self::gemini(model, true),
                Some((model, "generateContent")) => Self::gemini(model, false),
                Some(_) | None => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }

    fn gemini(model: &str, is_streamed: bool) -> Self {
        let (protocol, is_streamed) = (Protocol::Gemini, Some(is_streamed));
        Self::Reply { protocol, is_streamed, model: Some(model.to_owned()) }
    }
}

/// One list for everybody: `data` is read by clients of Anthropic and OpenAI, `models` by those of Gemini.
pub(super) fn models() -> Value {
    json!({
        "object": "list",
        "data": [{"id": "scripted", "type": "model", "object": "model", "created": 0, "owned_by": "test",
            "display_name": "Scripted", "created_at": "1970-01-01T00:00:00Z"}],
        "models": [{"name": "models/scripted", "displayName": "Scripted",
            "supportedGenerationMethods": ["generateContent", "countTokens"]}],
        "has_more": false, "first_id": "scripted", "last_id": "scripted",
    })
}

/// A model without words costs one token all the same.
fn tokens(bytes: usize) -> usize {
    (bytes / 4).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_what_is_asked() {
        let of = |line: &str| {
            let (method, path) = line.split_once(' ').unwrap();
            Endpoint::of(method, path)
        };
        let reply = |protocol| Endpoint::Reply { protocol, is_streamed: None, model: None };
        assert_eq!(of("POST /v1/messages?beta=true"), reply(Protocol::Messages));
        assert_eq!(of("POST /v1/messages/count_tokens"), Endpoint::CountTokens(Protocol::Messages));
        assert_eq!(of("POST /chat/completions"), reply(Protocol::Chat));
        assert_eq!(of("POST /v1/responses"), reply(Protocol::Responses));
        assert_eq!(of("POST /v1beta/models/g-1:generateContent"), Endpoint::gemini("g-1", false));
        assert_eq!(
            of("POST /v1beta/models/g-1:streamGenerateContent?alt=sse"),
            Endpoint::gemini("g-1", true)
        );
        assert_eq!(of("POST /v1beta/models/g-1:countTokens"), Endpoint::CountTokens(Protocol::Gemini));
        assert_eq!(of("GET /v1/models?limit=3"), Endpoint::Models);
        assert_eq!(of("HEAD /"), Endpoint::Alive);
        assert_eq!(of("POST /v1/embeddings"), Endpoint::Unknown);
        assert_eq!(of("DELETE /v1/messages"), Endpoint::Unknown);
    }
}
