//! An event as one line: when, how urgent, which process, what, and about which things.

use std::fmt::{Debug, Write};

use jiff::Timestamp;
use tracing::Level;
use tracing::field::{Field, Visit};

/// The things that are told of. A field of another name is named and left out.
const KNOWN: &[&str] = &[
    "access",
    "agent",
    "bytes",
    "caller",
    "changed",
    "code",
    "command",
    "connections",
    "count",
    "end",
    "epoch",
    "event",
    "exit",
    "files",
    "gone",
    "hook",
    "kept",
    "ms",
    "new",
    "ok",
    "problems",
    "records",
    "request",
    "session",
    "sessions",
    "signal",
    "turn",
    "version",
];

/// Longer than any id.
const LONGEST_WORD: usize = 80;

/// The fields of an event as they are written.
#[derive(Debug, Default)]
pub(super) struct Fields(String);

pub(super) fn line(at: Timestamp, level: &Level, name: &str, fields: &Fields) -> String {
    let (process, level) = (std::process::id(), super::word(level));
    format!("{at:.6} {level} {process} {name}{}\n", fields.0)
}

impl Fields {
    fn add(&mut self, field: &Field, value: &str) {
        let name = field.name();
        // A message may be put together from anything.
        if name == "message" {
            return;
        }
        let value = if KNOWN.contains(&name) { value } else { "(unknown)" };
        // Writing into a string does not fail.
        let _ = write!(self.0, " {name}={value}");
    }

    fn add_word(&mut self, field: &Field, text: &str) {
        let text = host_and_port(text).unwrap_or(text);
        if is_word(text) {
            self.add(field, text);
        } else {
            self.add(field, &format!("({}-bytes)", text.len()));
        }
    }
}

/// An id, a code, a name: nothing that could be a sentence, and nothing that ends a line.
fn is_word(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.:#@+".contains(c);
    !text.is_empty() && text.len() <= LONGEST_WORD && text.chars().all(is_part)
}

/// Of an address; what stands around it may be a secret.
fn host_and_port(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let host = rest.split(['/', '?', '#']).next()?;
    Some(host.rsplit('@').next().unwrap_or(host))
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add_word(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add_word(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, &value.to_string());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, &value.to_string());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, if value { "yes" } else { "no" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_words_are_told() {
        for word in ["6f2a91c0-0000-7000-8000-000000000001", "not_found", "#3", "built-in"] {
            assert!(is_word(word), "{word}");
        }
        for (address, told) in [
            ("http://127.0.0.1:8080/hook?key=hush", "127.0.0.1:8080"),
            ("https://me:hush@example.org#hush", "example.org"),
        ] {
            assert_eq!(host_and_port(address), Some(told));
        }
        assert_eq!(host_and_port("/home/me/hook"), None);
        for text in ["two words", "a\nb", "", "\u{1b}[2J", "naïve", &"a".repeat(81)] {
            assert!(!is_word(text), "{text:?}");
        }
    }
}
