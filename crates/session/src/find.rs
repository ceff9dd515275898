//! Finding sessions in a list: words in any order, `"phrases"`, or `re:` a pattern.
//!
//! A word may leave out letters ("brv" finds "brave"), as in a picker; a phrase must stand there, white space aside.
//! Lower scores are better.

use jiff::Timestamp;
use regex::{Regex, RegexBuilder};

/// A session as the list knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: String,
    pub name: Option<String>,
    pub project: String,
    pub text: String,
    pub active_at: Timestamp,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As given.
    #[default]
    Recent,
    /// Best match first; of equals the one active last.
    Relevance,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameFilter {
    #[default]
    All,
    /// Only sessions that somebody named.
    Named,
}

/// The candidates that match, in order. A pattern that is not one matches nothing.
pub fn find<'c>(
    candidates: &'c [Candidate],
    query: &str,
    order: Order,
    name_filter: NameFilter,
) -> Vec<&'c Candidate> {
    let query = Query::parse(query);
    let mut found: Vec<(f64, &Candidate)> = candidates
        .iter()
        .filter(|candidate| name_filter == NameFilter::All || candidate.is_named())
        .filter_map(|candidate| query.score(candidate).map(|score| (score, candidate)))
        .collect();
    if order == Order::Relevance && query != Query::Everything {
        found.sort_by(|(one, a), (other, b)| one.total_cmp(other).then(b.active_at.cmp(&a.active_at)));
    }
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

#[derive(Clone, Debug)]
enum Query {
    Everything,
    Nothing,
    Pattern(Regex),
    Terms(Vec<Term>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Word(String),
    Phrase(String),
}

impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Everything, Self::Everything) | (Self::Nothing, Self::Nothing))
    }
}

impl Query {
    fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self::Everything;
        }
        if let Some(pattern) = text.strip_prefix("re:") {
            let pattern = pattern.trim();
            let built = RegexBuilder::new(pattern).case_insensitive(true).build();
            return match built {
                Ok(regex) if !pattern.is_empty() => Self::Pattern(regex),
                Ok(_) | Err(_) => Self::Nothing,
            };
        }
        Self::Terms(terms(text))
    }

    fn score(&self, candidate: &Candidate) -> Option<f64> {
        match self {
            Self::Everything => Some(0.0),
            Self::Nothing => None,
            Self::Pattern(regex) => {
                regex.find(&candidate.searched_text()).map(|found| found.start() as f64 * NEARNESS)
            }
            Self::Terms(terms) => {
                let text = candidate.searched_text().to_lowercase();
                terms.iter().map(|term| term.score(&text)).sum()
            }
        }
    }
}

/// What one character further back in the text costs.
const NEARNESS: f64 = 0.1;

impl Term {
    fn score(&self, text: &str) -> Option<f64> {
        match self {
            Self::Word(word) => skipping_score(word, text),
            Self::Phrase(phrase) => normal_space(text).find(phrase.as_str()).map(|at| at as f64 * NEARNESS),
        }
    }
}

impl Candidate {
    fn searched_text(&self) -> String {
        format!("{} {} {} {}", self.id, self.name.as_deref().unwrap_or_default(), self.text, self.project)
    }

    fn is_named(&self) -> bool {
        self.name.as_deref().is_some_and(|name| !name.trim().is_empty())
    }
}

/// Words and phrases; a quotation mark without its partner is a letter like any other.
fn terms(text: &str) -> Vec<Term> {
    if text.matches('"').count() % 2 == 1 {
        return text.split_whitespace().map(|word| Term::Word(word.to_lowercase())).collect();
    }
    let mut terms = Vec::new();
    for (place, part) in text.split('"').enumerate() {
        if place % 2 == 1 {
            let phrase = normal_space(&part.to_lowercase());
            if !phrase.is_empty() {
                terms.push(Term::Phrase(phrase));
            }
        } else {
            terms.extend(part.split_whitespace().map(|word| Term::Word(word.to_lowercase())));
        }
    }
    terms
}

fn normal_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All letters of the word in order within one word of the text. Where it stands there whole, or begins there,
/// or leaves out little, the match is better.
fn skipping_score(word: &str, text: &str) -> Option<f64> {
    if let Some(at) = text.find(word) {
        let starts_word = text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
        let whole = word.chars().count() as f64 * -10.0;
        return Some(whole + if starts_word { -10.0 } else { 0.0 } + at as f64 * NEARNESS);
    }
    let mut start = 0;
    let mut best: Option<f64> = None;
    for candidate in text.split_whitespace() {
        if let Some(left_out) = letters_left_out(word, candidate) {
            let score = left_out as f64 * 2.0 + start as f64 * NEARNESS;
            best = Some(best.map_or(score, |best| best.min(score)));
        }
        start += candidate.len() + 1;
    }
    best
}

fn letters_left_out(word: &str, candidate: &str) -> Option<usize> {
    let mut wanted = word.chars().peekable();
    for letter in candidate.chars() {
        if wanted.peek() == Some(&letter) {
            wanted.next();
        }
    }
    wanted.peek().is_none().then(|| candidate.chars().count() - word.chars().count())
}
