//! A machine with agents on it: folders of sessions, a home, a catalog.

use std::io::Write;
use std::path::PathBuf;

use jiff::Timestamp;
use offshoot_store::Home;
use offshoot_store::catalog::query::Bounds;
use offshoot_store::catalog::{Catalog, Filter, Found, Query, SessionRow, Sources, Synced, Within};
use tempfile::TempDir;

pub(crate) struct Machine {
    dir: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for folder in ["home", "pi", "claude"] {
            std::fs::create_dir(dir.path().join(folder)).expect("a folder");
        }
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("own file");
        path
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        let mut file = std::fs::OpenOptions::new().append(true).open(self.path(name)).expect("a file");
        file.write_all(text.as_bytes()).expect("own file");
    }

    pub(crate) fn sources(&self) -> Sources {
        Sources {
            home: Home::at(self.path("home")),
            folders: vec![self.path("pi"), self.path("claude")],
            databases: Vec::new(),
            scratch: self.path("scratch"),
        }
    }

    pub(crate) fn catalog_path(&self) -> PathBuf {
        self.path("home/catalog.db")
    }

    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::open(&self.catalog_path()).expect("a catalog")
    }

    pub(crate) fn sync(&self) -> Synced {
        self.sync_into(&mut self.catalog())
    }

    pub(crate) fn sync_into(&self, catalog: &mut Catalog) -> Synced {
        catalog.sync(&self.sources(), Timestamp::now(), &mut |_, _| {}).expect("a sync")
    }

    /// What the catalog answers: every session, and every hit of these words.
    pub(crate) fn answers(&self, words: &[&str]) -> (Vec<SessionRow>, Vec<String>) {
        self.answers_of(&self.catalog(), words)
    }

    pub(crate) fn answers_of(&self, catalog: &Catalog, words: &[&str]) -> (Vec<SessionRow>, Vec<String>) {
        let mut rows = catalog.sessions().expect("a list");
        rows.iter_mut().for_each(|row| row.key = 0);
        rows.sort_by(|one, other| one.path.cmp(&other.path));
        let found = words.iter().flat_map(|words| {
            let found = self.search(catalog, words, Within::Said);
            told(&found, self)
        });
        (rows, found.collect())
    }

    /// The answers of a catalog that is made anew.
    pub(crate) fn fresh_answers(&self, words: &[&str]) -> (Vec<SessionRow>, Vec<String>) {
        let mut fresh = Catalog::in_memory().expect("a catalog");
        self.sync_into(&mut fresh);
        self.answers_of(&fresh, words)
    }

    pub(crate) fn search(&self, catalog: &Catalog, words: &str, within: Within) -> Found {
        let query = Query::read(words, Bounds::Words).expect("a query");
        catalog.search(&query, within, &Filter::default(), usize::MAX, &self.sources()).expect("an answer")
    }

    pub(crate) fn found(&self, words: &str, within: Within) -> Vec<String> {
        told(&self.search(&self.catalog(), words, within), self)
    }
}

/// `pi/a.jsonl u1 #1 said`
pub(crate) fn told(found: &Found, machine: &Machine) -> Vec<String> {
    let line = |hit: &offshoot_store::catalog::Hit| {
        let path = hit.session.path.strip_prefix(machine.dir.path()).expect("a file of this machine");
        let turn = hit.turn.map_or("-".to_owned(), |turn| format!("#{turn}"));
        format!("{} {} {turn} {}", path.display(), hit.entry, hit.text.as_deref().unwrap_or("(changed)"))
    };
    found.hits.iter().map(line).collect()
}

pub(crate) fn pi_header(id: &str) -> String {
    format!(
        "{}\n",
        serde_json::json!({"type":"session","version":3,"id":id,"timestamp":"2025-03-04T14:00:00.000Z","cwd":"/home/dev/gatehouse"})
    )
}

/// A line of pi, `second` seconds into the session.
pub(crate) fn pi_message(id: &str, parent: Option<&str>, second: u32, role: &str, text: &str) -> String {
    let at = format!("2025-03-04T14:{:02}:{:02}.000Z", second / 60, second % 60);
    let mut message = serde_json::json!({"role":role,"content":[{"type":"text","text":text}]});
    if role == "assistant" {
        message["model"] = "sonnet".into();
        message["usage"] = serde_json::json!({"input":1,"output":1,"cost":{"total":0.001}});
    }
    format!(
        "{}\n",
        serde_json::json!({"type":"message","id":id,"parentId":parent,"timestamp":at,"message":message})
    )
}

/// A session of pi in which these words are asked and answered.
pub(crate) fn pi_session(id: &str, words: &[(&str, &str)]) -> String {
    let mut text = pi_header(id);
    let mut parent: Option<String> = None;
    for (n, (asked, answered)) in words.iter().enumerate() {
        let (prompt, reply) = (format!("u{n}"), format!("a{n}"));
        let second = n as u32 * 10;
        text.push_str(&pi_message(&prompt, parent.as_deref(), second, "user", asked));
        text.push_str(&pi_message(&reply, Some(&prompt), second + 5, "assistant", answered));
        parent = Some(reply);
    }
    text
}

pub(crate) fn claude_line(
    uuid: &str,
    parent: Option<&str>,
    second: u32,
    kind: &str,
    content: serde_json::Value,
) -> String {
    let line = serde_json::json!({
        "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": uuid,
        "sessionId": "0f5c0000-0000-4000-8000-000000000001", "cwd": "/home/dev/ledger",
        "timestamp": format!("2025-03-05T09:00:{second:02}.000Z"),
        "message": {"role": kind, "content": content, "id": format!("msg-{uuid}"), "model": "opus"},
    });
    format!("{line}\n")
}
