//! What a person asks for: words that must all be there, `"a phrase"`, `begin*`, or `re:` and a pattern.
//!
//! A query answers in two ways that agree: as words for the index ([`Query::for_index`]), and as patterns for a text
//! that lies before us ([`Query::finds`]). Languages that put no spaces between words are indexed letter by letter,
//! so a piece of a sentence is found as a phrase.
//!
//! # Limitations
//!
//! The index takes accents off letters; a look through the files does not.

use std::borrow::Cow;
use std::ops::Range;

use regex::bytes::Regex as BytesRegex;
use regex::{Regex, RegexBuilder};
use thiserror::Error;

#[derive(Clone, Debug)]
pub struct Query {
    terms: Vec<Term>,
    /// One for each term, or the one that was given.
    patterns: Vec<Regex>,
    bounds: Bounds,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    text: String,
    is_prefix: bool,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotAQuery {
    #[error("there is no word to search for in `{0}`")]
    NoWord(String),
    #[error("`{pattern}` is not a pattern: {reason}")]
    Pattern { pattern: String, reason: String },
}

/// Where a word may begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    Words,
    /// Also in the middle of a word.
    Anywhere,
}

impl Query {
    pub fn read(text: &str, bounds: Bounds) -> Result<Self, NotAQuery> {
        if let Some(pattern) = text.trim().strip_prefix("re:") {
            return Self::pattern(pattern);
        }
        let terms = match bounds {
            Bounds::Words => terms(text),
            Bounds::Anywhere => vec![Term { text: text.trim().to_owned(), is_prefix: false }],
        };
        let terms: Vec<Term> = terms.into_iter().filter(|term| term.text.chars().any(is_in_word)).collect();
        if terms.is_empty() {
            return Err(NotAQuery::NoWord(text.to_owned()));
        }
        let patterns: Result<Vec<Regex>, _> = terms
            .iter()
            .map(|term| match bounds {
                Bounds::Words => pattern_of(term),
                Bounds::Anywhere => regex::escape(&term.text),
            })
            .map(|pattern| compiled(&pattern))
            .collect();
        Ok(Self { terms, patterns: patterns?, bounds })
    }

    fn pattern(pattern: &str) -> Result<Self, NotAQuery> {
        if pattern.trim().is_empty() {
            return Err(NotAQuery::NoWord(format!("re:{pattern}")));
        }
        Ok(Self { terms: Vec::new(), patterns: vec![compiled(pattern)?], bounds: Bounds::Words })
    }

    /// In the language of the index; `None` where the index cannot answer.
    pub fn for_index(&self) -> Option<String> {
        let quoted = |term: &Term| {
            let star = if term.is_prefix { " *" } else { "" };
            format!("\"{}\"{star}", spread(&term.text).replace('"', " "))
        };
        let all: Vec<String> = self.terms.iter().map(quoted).collect();
        (!all.is_empty()).then(|| all.join(" AND "))
    }

    /// What may stand in the middle of a word, where that was asked for.
    pub(super) fn part(&self) -> Option<&str> {
        let only = self.terms.first().filter(|_| self.bounds == Bounds::Anywhere)?;
        Some(only.text.as_str())
    }

    /// All words of it, where each is one word to any index and stands for itself.
    pub(super) fn plain_words(&self) -> Option<Vec<&str>> {
        if self.bounds == Bounds::Anywhere
            || self.terms.is_empty()
            || self.terms.iter().any(|term| term.is_prefix)
        {
            return None;
        }
        let words = self.terms.iter().flat_map(|term| term.text.split(|letter| !is_in_word(letter)));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.iter().all(|word| word.is_ascii()).then_some(words)
    }

    /// Whether all that is asked for is in the text.
    pub fn finds(&self, text: &str) -> bool {
        self.patterns.iter().all(|pattern| pattern.is_match(text))
    }

    /// Where the first of what is asked for stands.
    pub fn first(&self, text: &str) -> Option<Range<usize>> {
        let places = self.patterns.iter().filter_map(|pattern| {
            let found = pattern.captures(text)?;
            found.get(1).or_else(|| found.get(0)).map(|place| place.range())
        });
        places.min_by_key(|place| place.start)
    }

    /// What a line of JSON must hold if one of its texts does. `None`: any line may.
    pub(super) fn in_json(&self) -> Option<BytesRegex> {
        let runs = self.terms.iter().flat_map(|term| term.text.split(|letter| !is_in_word(letter)));
        let longest = runs.max_by_key(|run| run.len())?;
        let letters: String = longest.chars().map(letter_in_json).collect();
        BytesRegex::new(&format!("(?i){letters}")).ok()
    }
}

/// A letter, as it is or as JSON may write it.
fn letter_in_json(letter: char) -> String {
    if letter.is_ascii() {
        return regex::escape(&letter.to_string());
    }
    let variants: Vec<char> =
        std::iter::once(letter).chain(letter.to_lowercase()).chain(letter.to_uppercase()).collect();
    let escaped = variants.iter().map(|letter| {
        let mut units = [0; 2];
        letter.encode_utf16(&mut units).iter().map(|unit| format!(r"\\u{unit:04x}")).collect::<String>()
    });
    let mut all: Vec<String> =
        variants.iter().map(|letter| regex::escape(&letter.to_string())).chain(escaped).collect();
    all.dedup();
    format!("(?:{})", all.join("|"))
}

fn terms(text: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    for (at, piece) in text.split('"').enumerate() {
        if at % 2 == 1 {
            terms.push(Term { text: piece.to_owned(), is_prefix: false });
            continue;
        }
        for word in piece.split_whitespace() {
            let begin = word.strip_suffix('*');
            terms.push(Term { text: begin.unwrap_or(word).to_owned(), is_prefix: begin.is_some() });
        }
    }
    terms
}

/// The words of a term one after the other, whatever stands between them.
fn pattern_of(term: &Term) -> String {
    const OUTSIDE: &str = r"[^\p{L}\p{N}\p{M}\p{Co}]";
    let words: Vec<&str> =
        term.text.split(|letter| !is_in_word(letter)).filter(|word| !word.is_empty()).collect();
    let stands_alone = |letter: Option<char>| letter.is_some_and(has_no_spaces);
    let first = words.first().and_then(|word| word.chars().next());
    let last = words.last().and_then(|word| word.chars().next_back());
    let before = if stands_alone(first) { String::new() } else { format!(r"(?:\A|{OUTSIDE})") };
    let behind =
        if term.is_prefix || stands_alone(last) { String::new() } else { format!(r"(?:\z|{OUTSIDE})") };
    let words: Vec<String> = words.into_iter().map(regex::escape).collect();
    format!("{before}({}){behind}", words.join(&format!("{OUTSIDE}+")))
}

fn compiled(pattern: &str) -> Result<Regex, NotAQuery> {
    let built = RegexBuilder::new(pattern).case_insensitive(true).multi_line(true).build();
    built.map_err(|error| {
        let reason = match &error {
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            _ => error
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .trim()
                .trim_start_matches("error: ")
                .to_owned(),
        };
        NotAQuery::Pattern { pattern: pattern.to_owned(), reason }
    })
}

/// The index takes letters, digits and marks on letters as parts of words.
fn is_in_word(letter: char) -> bool {
    letter.is_alphanumeric()
}

/// Letters of languages that put no spaces between words.
fn has_no_spaces(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}'   // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3040}'..='\u{30ff}' // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7af}' // Hangul: a word and its endings are one
        | '\u{20000}'..='\u{323af}') // Han, continued
}

pub(super) fn is_without_spaces(text: &str) -> bool {
    text.chars().all(has_no_spaces)
}

/// The text as it goes into the index: each letter of such a language is a word.
pub(super) fn spread(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(has_no_spaces) {
        return Cow::Borrowed(text);
    }
    let mut spread = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        if has_no_spaces(letter) {
            spread.extend([' ', letter, ' ']);
        } else {
            spread.push(letter);
        }
    }
    Cow::Owned(spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::read(text, Bounds::Words).expect("a query")
    }

    #[test]
    fn words_phrases_and_beginnings() {
        assert_eq!(query("burst credit").for_index().as_deref(), Some(r#""burst" AND "credit""#));
        assert_eq!(
            query(r#"lost "burst credit" re*"#).for_index().as_deref(),
            Some(r#""lost" AND "burst credit" AND "re" *"#)
        );
        assert_eq!(query("src/bucket.rs").for_index().as_deref(), Some(r#""src/bucket.rs""#));
        assert_eq!(query("日本").for_index().as_deref(), Some("\" 日  本 \""));
        assert_eq!(query("re:a.c").for_index(), None);
        assert!(matches!(Query::read(" * ", Bounds::Words), Err(NotAQuery::NoWord(_))));
        assert!(matches!(Query::read("re:(", Bounds::Words), Err(NotAQuery::Pattern { .. })));
    }

    #[test]
    fn a_text_is_found_as_the_index_finds_it() {
        let text = "The Burst-credit of full_at was lost. 日本語の文章";
        for (words, is_there) in [
            ("burst credit", true),
            ("credit burst", true),
            ("\"burst credit\"", true),
            ("\"credit burst\"", false),
            ("burs", false),
            ("burs*", true),
            ("full", true),
            ("urst", false),
            ("本語", true),
            ("本文", false),
            ("lost.", true),
            ("re:full_.t", true),
        ] {
            assert_eq!(query(words).finds(text), is_there, "{words}");
        }
        assert!(Query::read("urst", Bounds::Anywhere).expect("a query").finds(text));
        assert_eq!(query("credit").first(text).and_then(|place| text.get(place)), Some("credit"));
    }

    #[test]
    fn a_line_of_json_is_not_missed() {
        let finds =
            |words: &str, line: &str| query(words).in_json().expect("a pattern").is_match(line.as_bytes());
        assert!(finds("straße", r#"{"t":"STRASSE Straße"}"#));
        assert!(finds("straße", r#"{"t":"Stra\u00dfe"}"#));
        assert!(finds("日本", r#"{"t":"\u65E5\u672c"}"#));
        assert!(finds("Word", r#"{"t":"a\nword"}"#));
        assert!(!finds("word", r#"{"t":"wo rd"}"#));
    }
}
