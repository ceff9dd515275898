//! What the model says, and to which prompt.

use std::time::Duration;

use serde_json::Value;

use super::words;

/// Rules, tried in their order: the first whose words are in the last prompt answers.
///
/// A prompt that no rule fits may carry its own instructions, one per line, which is how a person drives the server:
///
/// ```text
/// %say Some words.          %think Some words.       %call NAME {"key": "value"}
/// %wait 500                 %gate name               %then
/// %fail 429 | 500 | 529 | error | drop | silence | json | long | cut | torn | page | endless | flood
/// ```
///
/// `%wait` counts milliseconds, and `%then` begins the next reply: the one behind the results of the calls.
#[derive(Clone, Debug, Default)]
pub struct Script {
    rules: Vec<Rule>,
    chunk_bytes: Option<usize>,
    is_never_streamed: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    words: String,
    replies: Vec<Reply>,
}

/// One answer of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub(super) parts: Vec<Part>,
    /// What it answers instead, the first times it is asked.
    pub(super) failures_first: Vec<Failure>,
}

/// What a reply is made of, in the order it is streamed.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(Said),
    Thinking(Said),
    Call {
        name: String,
        input: Value,
    },
    Wait(Duration),
    /// Nothing more before [`ModelServer::open`](super::ModelServer::open).
    Gate(String),
    /// Before all other parts it comes instead of a reply, else in the middle of one.
    Fail(Failure),
    /// What the server says that the reply has used. Without it tokens are bytes divided by four.
    Used(Tokens),
    /// Why the reply ends, in the word of the protocol.
    Stop(String),
}

/// Tokens that a reply has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Without those of the cache.
    pub input: usize,
    pub cache_read: usize,
    /// OpenAI does not count it.
    pub cache_write: usize,
    pub output: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub(super) text: String,
    pub(super) pieces: usize,
    pub(super) every: Duration,
}

/// The ways in which a model does not answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// An HTTP status with the protocol's words for it. In the middle of a stream it is told as [`Failure::Error`].
    Status { code: u16, retry_after: Option<u64> },
    /// The protocol's event for an error.
    Error,
    /// The connection is closed without a word.
    Drop,
    /// Nothing comes until the client leaves.
    Silence,
    /// What comes is no JSON.
    BadJson,
    /// The conversation is too long, in the protocol's words. In the middle of a stream it is told as [`Failure::Error`].
    TooLong,
    /// The answer ends without its end, as when a proxy cuts it off.
    Cut,
    /// The answer ends within an event: the end of the stream comes as it should.
    Torn,
    /// A page for people, of a proxy that reaches no model.
    Page,
    /// Text without end, until the client leaves.
    Endless,
    /// A line without end, until the client leaves.
    Flood,
}

impl Failure {
    /// 429, to be tried again after so many seconds.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::Status { code: 429, retry_after: Some(seconds) }
    }

    pub fn status(code: u16) -> Self {
        Self::Status { code, retry_after: None }
    }
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// What is said first to a prompt with these words in it.
    #[must_use]
    pub fn when(mut self, words: impl Into<String>, reply: impl Into<Reply>) -> Self {
        self.rules.push(Rule { words: words.into(), replies: vec![reply.into()] });
        self
    }

    /// What is said next to the prompt of the last rule, behind the results of the calls.
    #[must_use]
    pub fn then(mut self, reply: impl Into<Reply>) -> Self {
        if let Some(rule) = self.rules.last_mut() {
            rule.replies.push(reply.into());
        }
        self
    }

    /// The last reply comes only when it has failed in these ways, one after the other.
    #[must_use]
    pub fn only_after(mut self, failures: impl IntoIterator<Item = Failure>) -> Self {
        if let Some(reply) = self.rules.last_mut().and_then(|rule| rule.replies.last_mut()) {
            reply.failures_first.extend(failures);
        }
        self
    }

    /// Streams are cut into chunks of so many bytes, wherever that falls: into events, words and characters.
    #[must_use]
    pub fn in_chunks_of(mut self, bytes: usize) -> Self {
        self.chunk_bytes = Some(bytes.max(1));
        self
    }

    /// Replies come whole, whatever a request asks for, as from servers that do not stream.
    #[must_use]
    pub fn never_streamed(mut self) -> Self {
        self.is_never_streamed = true;
        self
    }

    pub(super) fn is_never_streamed(&self) -> bool {
        self.is_never_streamed
    }

    pub(super) fn chunk_bytes(&self) -> Option<usize> {
        self.chunk_bytes
    }

    /// The reply at a step of the answer to a prompt.
    pub(super) fn reply(&self, prompt: &str, step: usize) -> Reply {
        if let Some(rule) = self.rules.iter().find(|rule| prompt.contains(&rule.words)) {
            return rule.replies.get(step).cloned().unwrap_or_else(nothing_more);
        }
        match words::replies(prompt) {
            Some(replies) => replies.get(step).cloned().unwrap_or_else(nothing_more),
            None => [say(format!("You said: {prompt}"))].into(),
        }
    }
}

fn nothing_more() -> Reply {
    [say("The script has no more to say.")].into()
}

impl<const N: usize> From<[Part; N]> for Reply {
    fn from(parts: [Part; N]) -> Self {
        Vec::from(parts).into()
    }
}

impl From<Vec<Part>> for Reply {
    fn from(parts: Vec<Part>) -> Self {
        Self { parts, failures_first: Vec::new() }
    }
}

pub fn say(text: impl Into<String>) -> Part {
    Part::Text(said(text))
}

pub fn think(text: impl Into<String>) -> Part {
    Part::Thinking(said(text))
}

/// A call of a tool. In Responses a tool of a namespace is called `namespace.tool`.
pub fn call(name: impl Into<String>, input: Value) -> Part {
    Part::Call { name: name.into(), input }
}

pub fn wait(time: Duration) -> Part {
    Part::Wait(time)
}

pub fn gate(name: impl Into<String>) -> Part {
    Part::Gate(name.into())
}

pub fn used(tokens: Tokens) -> Part {
    Part::Used(tokens)
}

pub fn stop(reason: impl Into<String>) -> Part {
    Part::Stop(reason.into())
}

pub fn fail(failure: Failure) -> Part {
    Part::Fail(failure)
}

fn said(text: impl Into<String>) -> Said {
    Said { text: text.into(), pieces: 3, every: Duration::ZERO }
}

impl Part {
    /// Words and thoughts are streamed in so many pieces, or fewer where the text is shorter.
    #[must_use]
    pub fn in_pieces(mut self, pieces: usize) -> Self {
        if let Self::Text(said) | Self::Thinking(said) = &mut self {
            said.pieces = pieces.max(1);
        }
        self
    }

    /// So long between two pieces.
    #[must_use]
    pub fn every(mut self, time: Duration) -> Self {
        if let Self::Text(said) | Self::Thinking(said) = &mut self {
            said.every = time;
        }
        self
    }
}

impl Said {
    /// The text in pieces that are about equally long.
    pub(super) fn in_pieces(&self) -> Vec<String> {
        let characters: Vec<char> = self.text.chars().collect();
        let length = characters.len().div_ceil(self.pieces).max(1);
        characters.chunks(length).map(|piece| piece.iter().collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        let Part::Text(said) = say("größer").in_pieces(4) else { panic!() };
        assert_eq!(said.in_pieces(), ["gr", "öß", "er"]);
        let Part::Text(said) = say("") else { panic!() };
        assert!(said.in_pieces().is_empty());
    }

    #[test]
    fn the_first_rule_that_fits_answers_step_by_step() {
        let script = Script::new().when("red", [say("one")]).then([say("two")]).when("re", [say("other")]);
        assert_eq!(script.reply("a red car", 0), [say("one")].into());
        assert_eq!(script.reply("a red car", 1), [say("two")].into());
        assert_eq!(script.reply("a red car", 2), nothing_more());
        assert_eq!(script.reply("green", 0), [say("other")].into());
        assert_eq!(script.reply("blue", 0), [say("You said: blue")].into());
    }
}
