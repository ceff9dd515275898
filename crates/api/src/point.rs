//! A point of a session, as a request names it.

use offshoot_session::EntryId;
use offshoot_session::address;
use serde::{Deserialize, Serialize};

/// `"text"`, `{"exact": "text"}` or `{"entry": "<full id>"}`. What each request makes of it is in docs/api.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Point {
    /// What a person typed: a turn number, an id or its beginning, a label, the name of a branch, `head`, `m:3`.
    Text(String),
    /// Exactly the entry that the text names, even where it addresses a turn.
    Exact { exact: String },
    /// A full entry id, as programs give it.
    Entry { entry: String },
}

impl Point {
    pub fn exactly(text: impl Into<String>) -> Self {
        Self::Exact { exact: text.into() }
    }

    /// What a person typed, for whatever prints it.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Exact { exact: text } | Self::Entry { entry: text } => text,
        }
    }
}

impl Default for Point {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<&str> for Point {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Point {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&EntryId> for Point {
    fn from(id: &EntryId) -> Self {
        Self::Entry { entry: id.to_string() }
    }
}

impl From<&Point> for address::Point {
    fn from(point: &Point) -> Self {
        match point {
            Point::Text(text) => Self::Text(text.clone()),
            Point::Exact { exact } => Self::Exact(exact.clone()),
            Point::Entry { entry } => Self::Entry(EntryId::from(entry.as_str())),
        }
    }
}
