//! A database with several sessions: which there are.

use std::path::PathBuf;

use offshoot_store::opencode_database::ListedSession;
use serde_json::{Value, json};

use crate::look::{Ink, Look};
use crate::numbers::{counted, grouped, moment};
use crate::{text, words};

pub(super) struct Listing {
    pub(super) path: PathBuf,
    pub(super) sessions: Vec<ListedSession>,
}

impl Listing {
    pub(super) fn block(&self, look: &Look) -> String {
        let harmless = |words: &str| text::harmless_line(words, look.ascii);
        let mut block = look.paint(Ink::Bold, &harmless(&self.path.display().to_string()));
        block.push('\n');
        for (label, value) in [("format", "opencode".to_owned()), ("sessions", grouped(self.sessions.len()))]
        {
            let label = look.paint(Ink::Faint, &text::padded(label, super::LABEL_COLUMNS));
            block.push_str(&format!("  {label}{value}\n"));
        }
        for session in &self.sessions {
            let title = session.title.as_deref().unwrap_or(words::UNTITLED);
            let updated = session.updated_at.map(|at| format!("  {}", moment(at, look))).unwrap_or_default();
            let messages = counted(session.messages as usize, "message", "messages");
            let line = format!("    {}  {}  {messages}{updated}\n", harmless(&session.id), harmless(title));
            block.push_str(&line);
        }
        block
    }

    pub(super) fn note(&self) -> Option<String> {
        let first = self.sessions.first()?;
        Some(words::one_in_database(&self.path, &first.id))
    }

    pub(super) fn as_json(&self) -> Value {
        let sessions: Vec<Value> = self
            .sessions
            .iter()
            .map(|session| {
                json!({
                    "session": session.id,
                    "title": session.title,
                    "project": session.directory,
                    "messages": session.messages,
                    "updated_at": session.updated_at.map(|at| at.to_string()),
                })
            })
            .collect();
        json!({ "file": self.path.to_string_lossy(), "dialect": "opencode", "sessions": sessions })
    }
}
