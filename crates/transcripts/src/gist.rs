//! The gist of a session file: what a list says of it, and what people and agents said in it.
//!
//! Two ways lead to it. [`of_tree`] asks a session that was read whole. [`Follow`] takes a file line by line and can
//! stop and go on, so a file that has grown costs what is new in it; results of tools, which are most of a file, are
//! stepped over. Only formats whose lines stand for themselves can be followed ([`Lines`]), and a line that needs
//! others to be understood is [`Unusual`]: the file is for the whole reading then.
//!
//! What is kept between two visits ([`Follow::keep`]) belongs to a catalog that can be made again. It has no version
//! of its own: the catalog has.

mod beginning;
mod follow;
mod header;
mod journal;
mod shape;
mod whole;

use std::collections::{BTreeMap, BTreeSet};

use offshoot_session::{Block, Body, Fact, TitleSource};
use serde::{Deserialize, Serialize};

use beginning::Beginning;
pub use follow::{Follow, Lines, lines_of, moment_of_line, words_of_line};
pub(crate) use follow::{Heard, Taken};
pub use header::HeaderGist;
pub(crate) use shape::{Shape, Step};
pub use whole::{charges_of_tree, of_tree, words_of_tree};

/// What a list says of a session. Times are in microseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gist {
    pub id: Option<String>,
    /// The program it was held with, as headers name it.
    pub agent: Option<String>,
    pub project: Option<String>,
    pub user_title: Option<String>,
    pub auto_title: Option<String>,
    /// How the first prompt begins, as one line.
    pub first_prompt: Option<String>,
    /// The model of the last reply.
    pub model: Option<String>,
    /// The session it came from, as the file names it.
    pub parent: Option<String>,
    pub header: HeaderGist,
    /// Part of another session, such as what a sub-agent said.
    pub is_side: bool,
    pub labels: BTreeMap<String, String>,
    /// Sessions of agents in which its branches were answered, by agent and id. A session file of an agent has none.
    #[serde(default)]
    pub bound: BTreeSet<(String, String)>,
    pub opened_at: Option<i64>,
    pub updated_at: Option<i64>,
    pub entries: u64,
    /// Ways of prompts that end in different places. Where only answers part, [`Follow`] sees one way: numbers of turns
    /// are the same on both.
    pub branches: u64,
    pub prompts: u64,
    /// A hash of how it begins: a session that another one was copied from has the same. `None` where too little was
    /// said yet.
    pub beginning: Option<u64>,
}

impl Gist {
    pub fn title(&self) -> Option<&str> {
        self.user_title.as_deref().or(self.auto_title.as_deref())
    }

    /// A fact that a list tells of; others are passed over.
    pub(crate) fn tell(&mut self, fact: &Fact) {
        match fact {
            Fact::Title { title, source } => {
                let title = title.clone().filter(|title| !title.trim().is_empty());
                match source {
                    TitleSource::User => self.user_title = title,
                    TitleSource::Auto => self.auto_title = title,
                }
            }
            Fact::Label { target, label: Some(label) } if !label.is_empty() => {
                self.labels.insert(target.to_string(), label.clone());
            }
            Fact::Label { target, .. } => {
                self.labels.remove(target.as_str());
            }
            Fact::Bound { agent: Some(agent), agent_session: Some(session), inherited: false, .. } => {
                self.bound.insert((agent.clone(), session.to_string()));
            }
            _ => {}
        }
    }

    fn at(&mut self, moment: Option<i64>) {
        self.updated_at = self.updated_at.max(moment);
    }
}

/// Something that a person or an agent said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub entry: String,
    pub role: Role,
    /// The number of its turn on the way down to it.
    pub turn: Option<u32>,
    /// The last name that was given to a branch on that way.
    pub branch: Option<String>,
    pub at: Option<i64>,
    pub text: String,
    /// Where its line lies, in a file that is followed.
    pub place: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub offset: u64,
    pub length: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    User,
    Assistant,
    Tool,
    /// Nobody: it is the title of the session.
    Title,
}

/// The file cannot be followed line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unusual;

/// How many characters of a first prompt are kept.
pub const FIRST_PROMPT: usize = 240;

pub(crate) fn beginning(line: &str) -> String {
    line.chars().take(FIRST_PROMPT).collect()
}

/// Who says something for all to hear, and what.
pub fn said_in(body: &Body) -> Option<(Role, String)> {
    let role = match body {
        Body::Prompt(_) => Role::User,
        Body::Reply(_) => Role::Assistant,
        _ => return None,
    };
    let mut said = String::new();
    for block in body.blocks() {
        if let Block::Text(text) = block {
            push(&mut said, text);
        }
    }
    Some((role, said)).filter(|(_, said)| !said.is_empty())
}

/// What went to a tool or came from one, as text.
pub fn tools_in(body: &Body) -> Option<String> {
    let mut told = String::new();
    match body {
        Body::Reply(reply) => {
            for call in reply.tool_uses() {
                push(&mut told, &call.name);
                strings_of(&call.input, &mut told);
            }
        }
        Body::ToolResult(_) => {
            for block in body.blocks() {
                if let Block::Text(text) = block {
                    push(&mut told, text);
                }
            }
        }
        Body::Shell(shell) => {
            push(&mut told, &shell.command);
            push(&mut told, &shell.output);
        }
        _ => {}
    }
    Some(told).filter(|told| !told.is_empty())
}

/// The texts in a value, at any depth.
fn strings_of(value: &serde_json::Value, told: &mut String) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::String(text) => push(told, text),
            serde_json::Value::Array(items) => open.extend(items.iter().rev()),
            serde_json::Value::Object(map) => open.extend(map.values().rev()),
            _ => {}
        }
    }
}

fn push(all: &mut String, text: &str) {
    if !all.is_empty() && !text.is_empty() {
        all.push('\n');
    }
    all.push_str(text);
}
