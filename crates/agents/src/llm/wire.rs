//! The two protocols of model servers: how a conversation is asked for, and how an answer is read from its stream.
//!
//! Both halves are pure: `Wire::body` makes the JSON of a request, and a [`Decoder`] turns the bytes of a stream into
//! [`Piece`]s, however the network cuts them.

mod anthropic;
mod openai;
mod piece;
mod sse;
mod thinking;

use serde_json::Value;

pub use piece::{Piece, Refusal, RefusalKind};
pub use sse::{SseDecoder, SseEvent};

use super::conversation::Conversation;
use super::tools::ToolDefinition;

/// The protocol that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which most other servers speak too.
    OpenAi,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelRequest<'r> {
    /// As the server calls it.
    pub(crate) model: &'r str,
    pub(crate) conversation: &'r Conversation,
    pub(crate) tools: &'r [ToolDefinition],
    /// One of [`offshoot_session::agent::THINKING_LEVELS`]; `None` leaves it to the server.
    pub(crate) thinking: Option<&'r str>,
}

/// Reads the stream of one answer.
#[derive(Debug)]
pub struct Decoder(Protocol);

#[derive(Debug)]
enum Protocol {
    Anthropic(SseDecoder, anthropic::Decoder),
    OpenAi(SseDecoder, openai::Decoder),
}

impl Wire {
    /// The body of a request. What changes from request to request comes last, so that a server which caches prefixes finds
    /// the longest one.
    pub(crate) fn body(self, request: &ModelRequest<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::body(request),
            Self::OpenAi => openai::body(request),
        }
    }

    /// Behind the base address of a server.
    pub(crate) fn answer_path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::OpenAi => "/chat/completions",
        }
    }

    pub(crate) fn models_path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/models?limit=1000",
            Self::OpenAi => "/models",
        }
    }

    pub fn decoder(self) -> Decoder {
        Decoder(match self {
            Self::Anthropic => Protocol::Anthropic(SseDecoder::default(), anthropic::Decoder),
            Self::OpenAi => Protocol::OpenAi(SseDecoder::default(), openai::Decoder::default()),
        })
    }
}

impl Decoder {
    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        self.read(|sse| sse.push(bytes))
    }

    /// The stream has ended. Where it was cut off within an event, that event is none: the answer is not complete.
    pub fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = self.read(SseDecoder::finish);
        pieces.retain(|piece| !matches!(piece, Piece::Error(Refusal { kind: RefusalKind::Unreadable, .. })));
        pieces
    }

    /// An answer that came whole, from a server that does not stream.
    pub(crate) fn whole(&mut self, body: &[u8]) -> Vec<Piece> {
        let data = String::from_utf8_lossy(body).into_owned();
        self.read(|_| vec![SseEvent { data, ..SseEvent::default() }])
    }

    fn read(&mut self, events: impl FnOnce(&mut SseDecoder) -> Vec<SseEvent>) -> Vec<Piece> {
        match &mut self.0 {
            Protocol::Anthropic(sse, decoder) => {
                events(sse).iter().flat_map(|event| decoder.read(event)).collect()
            }
            Protocol::OpenAi(sse, decoder) => {
                events(sse).iter().flat_map(|event| decoder.read(event)).collect()
            }
        }
    }
}

/// The data of an event. `Ok(None)`: there is none, which keeps the connection open.
fn json_of(event: &SseEvent) -> Result<Option<Value>, Piece> {
    if event.is_too_long {
        return Err(Piece::Error(Refusal::unreadable("an event is too long")));
    }
    if event.data.trim().is_empty() {
        return Ok(None);
    }
    let data = serde_json::from_str(&event.data);
    data.map(Some).map_err(|_| Piece::Error(Refusal::unreadable("an event is no JSON")))
}

/// What the body of a refusal says; `None` where it is none of this protocol.
pub(crate) fn refusal_in(wire: Wire, body: &str) -> Option<Refusal> {
    let body: Value = serde_json::from_str(body).ok()?;
    let error = body.get("error")?;
    Some(match wire {
        Wire::Anthropic => anthropic::refusal(error),
        Wire::OpenAi => openai::refusal(error),
    })
}

#[cfg(test)]
mod tests;
