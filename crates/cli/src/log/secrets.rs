//! What looks like a secret is taken out of a text, whoever wrote it.
//!
//! This is the last of several filters and knows shapes only: keys and tokens by how they begin, what follows a name such
//! as `password`, headers that sign in, names and passwords in addresses, anything long that only chance makes, and the
//! values of environment variables that are called like secrets: our own, and those that callers of the engine hand over.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

/// Stands where a secret was.
const GONE: &str = "[secret]";

/// How keys and tokens of well-known services begin.
const BEGINNINGS: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "SG.",
    "shpat_",
    "lin_api_",
    "gsk_",
    "xai-",
    "AGE-SECRET-KEY-",
];

/// Less than this behind such a beginning is a word of its own.
const SHORTEST_KEY: usize = 12;

/// What follows one of these is nobody's business.
const NAMES: &[&str] =
    &["key", "token", "secret", "password", "passwd", "passphrase", "credential", "authorization", "cookie"];

/// As long as a token of 32 random bytes in base64.
const SHORTEST_CHANCE: usize = 40;

/// Shorter values of variables are words such as `true` and would be found everywhere.
const SHORTEST_VALUE: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// The longest first: one may be part of another.
    values: RwLock<Vec<String>>,
}

impl Secrets {
    pub(crate) fn of_environment() -> Self {
        let secrets = Self::default();
        let variables = std::env::vars_os();
        secrets.learn(variables.filter_map(|(name, value)| {
            let is_secret = is_secret_name(&name.to_string_lossy());
            if is_secret { value.into_string().ok() } else { None }
        }));
        secrets
    }

    /// These values are taken out from now on, too.
    pub(crate) fn learn(&self, values: impl Iterator<Item = String>) {
        // Replaced by a whole list, so a thread that died here left nothing half done.
        let mut known = self.values.write().unwrap_or_else(PoisonError::into_inner);
        for value in values.filter(|value| value.len() >= SHORTEST_VALUE) {
            if !known.contains(&value) {
                known.push(value);
            }
        }
        known.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    pub(crate) fn taken_out<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for value in self.values.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if text.contains(value.as_str()) {
                text = Cow::Owned(text.replace(value.as_str(), GONE));
            }
        }
        let parts = parts(&text);
        if !parts.iter().any(|part| part.is_secret) {
            return text;
        }
        let shown = parts.iter().map(|part| if part.is_secret { GONE } else { part.text });
        Cow::Owned(shown.collect())
    }
}

pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|secret| name.contains(secret))
}

struct Part<'t> {
    text: &'t str,
    is_secret: bool,
}

/// What the words of a line say about the word behind them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// `password`: a sign has to come between.
    Name,
    /// `password:`, `Bearer`.
    Announced,
}

/// The text cut into words and what stands between them.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut before = Before::Nothing;
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(|c: char| !is_between(c)).unwrap_or(rest.len());
        let (between, behind) = rest.split_at(length);
        before = match before {
            // A name says nothing about the next line.
            _ if between.contains('\n') => Before::Nothing,
            Before::Name if between.contains(['=', ':']) => Before::Announced,
            Before::Name => Before::Nothing,
            other => other,
        };
        parts.push(Part { text: between, is_secret: false });
        let length = behind.find(is_between).unwrap_or(behind.len());
        let (word, behind) = behind.split_at(length);
        let announces = ["bearer", "basic"].contains(&word.to_ascii_lowercase().as_str());
        let is_secret = !announces && (before == Before::Announced || is_secret_word(word));
        before = match () {
            () if announces => Before::Announced,
            () if is_secret_name(word) => Before::Name,
            () => Before::Nothing,
        };
        parts.push(Part { text: word, is_secret: is_secret && !word.is_empty() });
        rest = behind;
    }
    parts
}

fn is_between(c: char) -> bool {
    c.is_whitespace() || "=:,;\"'`()[]{}<>|&?".contains(c)
}

fn is_secret_word(word: &str) -> bool {
    let begins = |start: &&str| word.strip_prefix(*start).is_some_and(|rest| rest.len() >= SHORTEST_KEY);
    // `//name:password@host`: the word behind the colon.
    let signs_in =
        word.split_once('@').is_some_and(|(before, host)| !before.is_empty() && host.contains('.'));
    BEGINNINGS.iter().any(begins) || signs_in || is_chance(word)
}

/// Long, and of small and big letters and digits, as no word and no id of ours is.
fn is_chance(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
    word.len() >= SHORTEST_CHANCE
        && !word.contains(['/', '\\'])
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_out(text: &str) -> String {
        let secrets = Secrets::default();
        secrets.learn(["correct horse".to_owned(), "short".to_owned()].into_iter());
        secrets.taken_out(text).into_owned()
    }

    #[test]
    fn secrets_are_known_by_their_shape() {
        for (text, shown) in [
            ("key sk-ant-REDACTED", "key [secret]"),
            ("ghp_0123456789abcdefghij.", "[secret]"),
            ("password=hunter2 and on", "password=[secret] and on"),
            ("{\"api_key\": \"hunter2\"}", "{\"api_key\": \"[secret]\"}"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [secret]"),
            ("authorization: hunter2", "authorization: [secret]"),
            ("https://me:pass@host.example/x", "https://me:[secret]"),
            ("it is correct horse", "it is [secret]"),
            ("AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCd", "[secret]"),
        ] {
            assert_eq!(taken_out(text), shown);
        }
    }

    #[test]
    fn ids_and_plain_words_stay() {
        for text in [
            "info 123 turn ended session=6f2a91c0-0000-7000-8000-000000000001 turn=0a1b2c3d4e5f ms=12\n",
            "the key is lost, token by token, key.\n== next: line",
            "short words, sk-1, a@b",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "src/commands/chat/Session2.rs/and/a/long/path/that/goes/on/AndOn",
        ] {
            assert_eq!(taken_out(text), text);
        }
    }
}
