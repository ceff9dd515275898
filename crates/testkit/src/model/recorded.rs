//! What was asked of the server, for the test to look at.

use serde_json::Value;

use super::protocol::Protocol;

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body as it came.
    pub bytes: Vec<u8>,
    /// `null` where there was none, a string where it was no JSON.
    pub body: Value,
    /// `None` for a path that is no model's.
    pub protocol: Option<Protocol>,
    /// The last thing the person said.
    pub prompt: String,
    /// `None` while it is being answered.
    pub end: Option<End>,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Answered,
    /// The request breaks a rule of its protocol, in the words of the answer.
    Refused(String),
    /// As the script wanted it.
    Failed,
    /// The client went before the end.
    ClientLeft,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}
