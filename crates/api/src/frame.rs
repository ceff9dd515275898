//! The wire as lines of JSON, for a socket that only its owner may open.
//!
//! ```text
//! > {"id":1,"caller":"cli","request":{"type":"open","session":"6f2a91"}}
//! < {"id":1,"response":{"type":"session","id":"6f2a91","seq":41, …}}
//! > {"id":2,"caller":"cli","request":{"type":"follow","session":"6f2a91","after_seq":41}}
//! < {"id":2,"response":{"type":"done","changed":false}}
//! < {"event":{"seq":42,"session":"6f2a91","type":"words","entry":"e7","text":"Good"}}
//! > {"id":3,"caller":"cli","request":{"type":"dance"}}
//! < {"id":3,"error":{"code":"unsupported_message","message":"messages of type `dance` are not supported"}}
//! ```
//! A line that cannot be understood is answered with an error, and the connection goes on. A line that is longer than
//! [`MAX_LINE`] ends it: there is no telling where the next one begins.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::{ApiError, ErrorCode, Event, Request, Response};

/// Attachments travel by name, so no line needs to be longer.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Call {
    /// Chosen by the client; the answer carries it.
    pub id: u64,
    /// For the log, and for "answered on another device".
    #[serde(skip_serializing_if = "String::is_empty")]
    pub caller: String,
    pub request: Request,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reply {
    Event {
        event: Box<Event>,
    },
    Response {
        id: u64,
        response: Box<Response>,
    },
    Error {
        /// `null` where the line did not say.
        id: Option<u64>,
        error: ApiError,
    },
}

/// A call that cannot be answered but with this error.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{error}")]
pub struct BadCall {
    pub id: Option<u64>,
    pub error: ApiError,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LineError {
    #[error("a line is longer than {MAX_LINE} bytes")]
    TooLong,
}

/// Bytes in, whole lines out.
#[derive(Debug, Default)]
pub struct Lines {
    gathered: Vec<u8>,
    /// Up to here there is no newline.
    looked: usize,
}

impl Lines {
    /// Adds what has arrived. Take all lines before adding more.
    pub fn push(&mut self, bytes: &[u8]) {
        self.gathered.extend_from_slice(bytes);
    }

    /// The next whole line without its end; `None` where it has not arrived yet. Blank lines are stepped over.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            let rest = self.gathered.get(self.looked..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| *byte == b'\n').map(|at| self.looked + at) else {
                self.looked = self.gathered.len();
                return if self.looked > MAX_LINE { Err(LineError::TooLong) } else { Ok(None) };
            };
            let mut line: Vec<u8> = self.gathered.drain(..=end).collect();
            self.looked = 0;
            if line.len() > MAX_LINE {
                return Err(LineError::TooLong);
            }
            while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                line.pop();
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(line));
            }
        }
    }
}

/// Lines on their way out. Both ends go on reading while they write: two that only write wait for each other for ever.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

/// Who has so much to send takes on nothing new.
const FULL: usize = 1024 * 1024;

impl Outbox {
    pub(crate) fn add<T: Serialize>(&mut self, frame: &T) -> Result<(), serde_json::Error> {
        self.add_line(encode(frame)?);
        Ok(())
    }

    pub(crate) fn add_line(&mut self, mut line: Vec<u8>) {
        self.bytes.append(&mut line);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rest().len() >= FULL
    }

    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        }
    }
}

/// One line, with its newline.
pub fn encode<T: Serialize>(frame: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(frame)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads a call. What is wrong is told as precisely as it is known, under the id that the line has.
pub fn decode_call(line: &[u8]) -> Result<Call, BadCall> {
    let invalid =
        |id: Option<u64>, message: String| BadCall { id, error: ApiError::new(ErrorCode::Invalid, message) };
    let value: Value =
        serde_json::from_slice(line).map_err(|error| invalid(None, format!("not JSON: {error}")))?;
    let id = value.get("id").and_then(Value::as_u64);
    let caller = value.get("caller").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(request) = value.get("request") else { return Err(invalid(id, "there is no `request`".into())) };
    let Some(kind) = request.get("type").and_then(Value::as_str) else {
        return Err(invalid(id, "the request has no `type`".into()));
    };
    if !Request::NAMES.contains(&kind) {
        return Err(BadCall { id, error: ApiError::unsupported_message(kind) });
    }
    let request = serde_json::from_value(request.clone())
        .map_err(|error| invalid(id, format!("`{kind}` is not understood: {error}")))?;
    match id {
        Some(id) => Ok(Call { id, caller, request }),
        None => Err(invalid(None, "there is no `id`".into())),
    }
}

/// Reads what a server said.
pub fn decode_reply(line: &[u8]) -> Result<Reply, serde_json::Error> {
    serde_json::from_slice(line)
}
