//! Titles that stood beside sessions, in one file of lines. The last about a session counts.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use offshoot_session::TitleSource;
use serde_json::{Value, json};

use super::{Archive, Hold};
use crate::private;
use crate::titles_beside::TitleBeside;

impl Archive {
    pub(super) fn place_of_titles(&self) -> PathBuf {
        self.root.join("titles.jsonl")
    }

    /// All that were kept, the last ones last. A line that nobody finished says nothing.
    pub fn titles(&self) -> Vec<TitleBeside> {
        let text = std::fs::read_to_string(self.place_of_titles()).unwrap_or_default();
        text.lines().filter_map(|line| title_of(&serde_json::from_str(line).ok()?)).collect()
    }

    /// They are safe when this returns.
    pub fn keep_titles(&self, _: &Hold, titles: &[TitleBeside]) -> io::Result<()> {
        let path = self.place_of_titles();
        let mut file = private::open_append(&path)?;
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            file.read_exact_at(&mut last, length - 1)?;
        }
        // what a process left that was killed is a line of its own
        let mut text = if last == [b'\n'] { String::new() } else { "\n".to_owned() };
        for TitleBeside { agent, session, title, source } in titles {
            let by = match source {
                TitleSource::User => "user",
                TitleSource::Auto => "auto",
            };
            let line = json!({ "agent": agent, "session": session, "title": title, "by": by });
            text.push_str(&format!("{line}\n"));
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        File::open(&self.root)?.sync_all()
    }
}

fn title_of(line: &Value) -> Option<TitleBeside> {
    let word = |key: &str| line.get(key)?.as_str().map(str::to_owned);
    let source = match line.get("by")?.as_str()? {
        "user" => TitleSource::User,
        _ => TitleSource::Auto,
    };
    Some(TitleBeside { agent: word("agent")?, session: word("session")?, title: word("title")?, source })
}
