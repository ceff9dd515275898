//! Keys of providers, taken out of everything that a server or a tool says.
//!
//! All that the person has set are known, not only that of the server that is asked: a tool may find any of them, and what
//! it prints goes to the journal and to this server. A key may be split over two pieces of a stream, so the end of a piece
//! that may be the beginning of a key is held back until more of it is known.

use std::fmt;
use std::sync::Arc;

use offshoot_session::{Block, Reply, Stop};
use serde_json::Value;

use super::wire::{Piece, Refusal};

/// Takes the place of a key.
const GONE: &str = "[secret]";

/// A shorter one would be found in words.
const SHORTEST: usize = 8;

/// The longest first: one may begin with another.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secrets(Arc<Vec<String>>);

impl FromIterator<String> for Secrets {
    fn from_iter<T: IntoIterator<Item = String>>(values: T) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.len() >= SHORTEST).collect();
        values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        Self(Arc::new(values))
    }
}

impl Secrets {
    pub(crate) fn with(&self, value: &str) -> Self {
        self.0.iter().cloned().chain([value.to_owned()]).collect()
    }

    pub(crate) fn taken_out(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), GONE),
            false => text,
        })
    }

    /// Keys may have been written in pieces or with escapes.
    pub(crate) fn clean(&self, reply: &mut Reply) {
        if self.0.is_empty() {
            return;
        }
        for block in &mut reply.blocks {
            match block {
                Block::Text(text) | Block::Thinking(text) => *text = self.taken_out(text),
                Block::ToolUse(call) => self.clean_value(&mut call.input),
                _ => {}
            }
        }
    }

    fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.taken_out(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean_value(value)),
            Value::Object(object) => object.values_mut().for_each(|value| self.clean_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The text without keys, and how much of its end may be the beginning of one.
    fn split(&self, text: &str) -> (String, usize) {
        let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(first) = rest.chars().next() {
            if self.0.iter().any(|secret| secret.len() > rest.len() && secret.starts_with(rest)) {
                break;
            }
            rest = match self.0.iter().find_map(|secret| rest.strip_prefix(secret.as_str())) {
                Some(behind) => {
                    clean.push_str(GONE);
                    behind
                }
                None => {
                    clean.push(first);
                    rest.get(first.len_utf8()..).unwrap_or_default()
                }
            };
        }
        (clean, rest.len())
    }
}

/// Without the keys.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// The pieces of one answer without keys.
#[derive(Debug)]
pub(crate) struct CleanPieces<'s> {
    secrets: &'s Secrets,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    kind: Kind,
    block: u32,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    CallInput,
}

impl Held {
    fn piece(kind: Kind, block: u32, text: String) -> Piece {
        match kind {
            Kind::Text => Piece::Text { block, text },
            Kind::Thinking => Piece::Thinking { block, text },
            Kind::CallInput => Piece::CallInput { block, json: text },
        }
    }
}

impl<'s> CleanPieces<'s> {
    pub(crate) fn new(secrets: &'s Secrets) -> Self {
        Self { secrets, held: None }
    }

    pub(crate) fn push(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        let mut clean = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece {
                Piece::Text { block, text } => clean.extend(self.grow(Kind::Text, block, text)),
                Piece::Thinking { block, text } => clean.extend(self.grow(Kind::Thinking, block, text)),
                Piece::CallInput { block, json } => clean.extend(self.grow(Kind::CallInput, block, json)),
                Piece::Usage(_) => clean.push(piece),
                Piece::Signature { .. }
                | Piece::RedactedThinking { .. }
                | Piece::BlockEnded { .. }
                | Piece::End => {
                    clean.extend(self.finish());
                    clean.push(piece);
                }
                Piece::CallStarted { block, id, name } => {
                    clean.extend(self.finish());
                    let id = id.map(|id| self.secrets.taken_out(&id));
                    clean.push(Piece::CallStarted { block, id, name: self.secrets.taken_out(&name) });
                }
                Piece::Stop(stop) => {
                    clean.extend(self.finish());
                    clean.push(Piece::Stop(match stop {
                        Stop::Error(text) => Stop::Error(self.secrets.taken_out(&text)),
                        Stop::Other(text) => Stop::Other(self.secrets.taken_out(&text)),
                        Stop::EndTurn | Stop::ToolUse | Stop::Length | Stop::Aborted => stop,
                    }));
                }
                Piece::Error(Refusal { kind, text }) => {
                    clean.extend(self.finish());
                    clean.push(Piece::Error(Refusal { kind, text: self.secrets.taken_out(&text) }));
                }
            }
        }
        clean
    }

    /// What was held back: nothing more comes.
    pub(crate) fn finish(&mut self) -> Option<Piece> {
        let Held { kind, block, text } = self.held.take()?;
        Some(Held::piece(kind, block, self.secrets.taken_out(&text)))
    }

    fn grow(&mut self, kind: Kind, block: u32, text: String) -> Vec<Piece> {
        let mut clean = Vec::new();
        let text = match self.held.take() {
            Some(held) if held.kind == kind && held.block == block => held.text + &text,
            held => {
                self.held = held;
                clean.extend(self.finish());
                text
            }
        };
        let (shown, begun) = self.secrets.split(&text);
        if begun > 0 {
            let begun = text.get(text.len() - begun..).unwrap_or_default().to_owned();
            self.held = Some(Held { kind, block, text: begun });
        }
        if !shown.is_empty() || text.is_empty() {
            clean.push(Held::piece(kind, block, shown));
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use offshoot_session::ToolUse;
    use proptest::prelude::*;

    use super::*;

    fn secrets() -> Secrets {
        ["sk-first-key", "sk-first-key-longer", "abababab"].into_iter().map(str::to_owned).collect()
    }

    /// What is shown of pieces of one text.
    fn shown(pieces: &[&str]) -> Vec<String> {
        let secrets = secrets();
        let mut clean = CleanPieces::new(&secrets);
        let pieces = pieces.iter().map(|text| Piece::Text { block: 0, text: (*text).to_owned() });
        let mut out: Vec<Piece> = pieces.flat_map(|piece| clean.push(vec![piece])).collect();
        out.extend(clean.push(vec![Piece::End]));
        let text = |piece: Piece| match piece {
            Piece::Text { text, .. } => Some(text),
            _ => None,
        };
        out.into_iter().filter_map(text).collect()
    }

    #[test]
    fn what_may_be_the_beginning_of_a_key_is_held_back() {
        assert_eq!(shown(&["the key is sk-fi", "rst-key."]), ["the key is ", "[secret]."]);
        assert_eq!(shown(&["sk-first-key", "-longer!"]), ["[secret]!"]);
        assert_eq!(shown(&["it is s", "o"]), ["it is ", "so"]);
        assert_eq!(shown(&["it ends in sk-f"]), ["it ends in ", "sk-f"]);
        assert_eq!(shown(&["Hello", " there"]), ["Hello", " there"]);
        assert_eq!(shown(&["aababababab"]), ["a[secret]", "ab"]);
    }

    #[test]
    fn another_block_shows_what_was_held_back_first() {
        let secrets = secrets();
        let mut clean = CleanPieces::new(&secrets);
        let thinking = Piece::Thinking { block: 0, text: "yes".into() };
        let text = Piece::Text { block: 1, text: "No.".into() };
        let held = Piece::Thinking { block: 0, text: "s".into() };
        assert_eq!(
            clean.push(vec![thinking, text.clone()]),
            [Piece::Thinking { block: 0, text: "ye".into() }, held, text]
        );
        assert_eq!(clean.finish(), None);
    }

    #[test]
    fn calls_and_errors_are_clean_too() {
        let input = serde_json::json!({ "content": ["key: sk-first-key"] });
        let call = Block::ToolUse(ToolUse { id: "1".into(), name: "write".into(), input });
        let mut reply = Reply { blocks: vec![call], ..Reply::default() };
        secrets().clean(&mut reply);
        let clean = reply.tool_uses().next().unwrap();
        assert_eq!(clean.input.to_string(), r#"{"content":["key: [secret]"]}"#);
        let secrets = secrets();
        let stop = CleanPieces::new(&secrets).push(vec![Piece::Stop(Stop::Other("sk-first-key".into()))]);
        assert_eq!(stop, [Piece::Stop(Stop::Other(GONE.into()))]);
        assert_eq!(format!("{secrets:?}"), "Secrets(3)");
    }

    proptest! {
        /// However a text is cut, no key is shown, and nothing else is lost.
        #[test]
        fn no_key_is_shown_however_a_text_is_cut(
            words in prop::collection::vec(
                prop::sample::select(vec!["sk-first-key", "-longer", "ab", "x", "sk-f", "ä", " "]), 0..12),
            cuts in prop::collection::vec(1_usize..6, 1..12),
        ) {
            let text = words.concat();
            let mut pieces: Vec<&str> = Vec::new();
            let (mut rest, mut cuts) = (text.as_str(), cuts.iter().cycle());
            while !rest.is_empty() {
                let at = rest.ceil_char_boundary(*cuts.next().unwrap_or(&1));
                let (piece, behind) = rest.split_at(at.min(rest.len()));
                pieces.push(piece);
                rest = behind;
            }
            let shown = shown(&pieces).concat();
            for secret in secrets().0.iter() {
                prop_assert!(!shown.contains(secret.as_str()), "{shown}");
            }
            if secrets().taken_out(&text) == text {
                prop_assert_eq!(shown, text);
            }
        }
    }
}
