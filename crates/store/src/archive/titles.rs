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

    /// All that were kept, the last ones last. A line that was never finished is skipped.
    pub fn titles(&self) -> Vec<TitleBeside> {
        titles_of(&private::read(&self.place_of_titles()).unwrap_or_default())
    }

    /// They are safe when this returns. Titles of forgotten sessions are skipped.
    pub fn keep_titles(&self, hold: &Hold, titles: &[TitleBeside]) -> io::Result<()> {
        let wanted = titles.iter().filter(|title| !hold.forgotten.has_id(&title.agent, &title.session));
        let wanted: Vec<TitleBeside> = wanted.cloned().collect();
        self.keep_all_titles(hold, &wanted)
    }

    pub(super) fn keep_all_titles(&self, _: &Hold, titles: &[TitleBeside]) -> io::Result<()> {
        let path = self.place_of_titles();
        let mut file = private::open_append(&path)?;
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            file.read_exact_at(&mut last, length - 1)?;
        }
        // what a process left that was killed is a line of its own
        let begin = if last == [b'\n'] { "" } else { "\n" };
        file.write_all(format!("{begin}{}", lines_of(titles)).as_bytes())?;
        file.sync_all()?;
        File::open(&self.root)?.sync_all()
    }

    pub(super) fn replace_titles(&self, _: &Hold, titles: &[TitleBeside]) -> io::Result<()> {
        private::replace(&self.place_of_titles(), lines_of(titles).as_bytes())?;
        File::open(&self.root)?.sync_all()
    }
}

pub(super) fn titles_of(bytes: &[u8]) -> Vec<TitleBeside> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter_map(|line| title_of(&serde_json::from_str(line).ok()?)).collect()
}

pub(super) fn lines_of(titles: &[TitleBeside]) -> String {
    let line = |TitleBeside { agent, session, title, source }: &TitleBeside| {
        let by = match source {
            TitleSource::User => "user",
            TitleSource::Auto => "auto",
        };
        format!("{}\n", json!({ "agent": agent, "session": session, "title": title, "by": by }))
    };
    titles.iter().map(line).collect()
}

fn title_of(line: &Value) -> Option<TitleBeside> {
    let word = |key: &str| line.get(key)?.as_str().map(str::to_owned);
    let source = match line.get("by")?.as_str()? {
        "user" => TitleSource::User,
        _ => TitleSource::Auto,
    };
    Some(TitleBeside { agent: word("agent")?, session: word("session")?, title: word("title")?, source })
}
