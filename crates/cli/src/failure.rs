//! Why a command did not do what was asked, and what to do about it.

use crate::look::{Ink, Look};
use crate::text;

#[derive(Debug)]
pub(crate) struct Failure {
    /// One lower-case sentence that names the thing in backticks.
    message: String,
    /// What the message counts, one per line.
    listing: Vec<String>,
    hint: Option<String>,
    pub(crate) exit: Exit,
}

/// The codes that scripts may rely on. A panic ends with 101 ([`crate::report`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Failed,
    Usage,
    /// Not found, or more than one.
    NotFound,
    /// By a rule that keeps the session whole.
    Refused,
    /// Somebody else is writing.
    Locked,
    /// By the person, as a shell says it.
    Interrupted,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Refused => 4,
            Self::Locked => 5,
            Self::Interrupted => 130,
        }
    }
}

impl Failure {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), listing: Vec::new(), hint: None, exit: Exit::Failed }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { exit: Exit::NotFound, ..Self::failed(message) }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::failed(message) }
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, ..Self::failed(message) }
    }

    pub(crate) fn locked(message: impl Into<String>) -> Self {
        Self { exit: Exit::Locked, ..Self::failed(message) }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn listing(mut self, lines: Vec<String>) -> Self {
        self.listing = lines;
        self
    }

    /// The same with one thing more that helps, where the hint names this one.
    pub(crate) fn and_where_hinted(mut self, named: &str, more: &str) -> Self {
        if let Some(hint) = self.hint.as_mut().filter(|hint| hint.contains(named)) {
            hint.push_str(more);
        }
        self
    }

    pub(crate) fn hinted(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn told(&self, look: &Look) -> String {
        self.told_within(look, None)
    }

    /// The same with lines of at most so many columns, broken between words.
    pub(crate) fn told_within(&self, look: &Look, columns: Option<usize>) -> String {
        let line = |word: &str, ink, text: &str| {
            let text = format!("{word} {}", text::harmless_line(text, look.ascii));
            let lines = text::wrapped(&text, columns).join("\n");
            let rest = lines.strip_prefix(word).unwrap_or_default();
            format!("{}{rest}\n", look.paint_error(ink, word))
        };
        let mut told = line("error:", Ink::Error, &self.message);
        for listed in &self.listing {
            told.push_str(&format!("  {}\n", text::harmless_line(listed, look.ascii)));
        }
        if let Some(hint) = self.hint.as_ref().filter(|_| !look.quiet) {
            told.push_str(&line("hint:", Ink::Accent, hint));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_failure_is_broken_between_words() {
        let look = Look::plain(None);
        let failure = Failure::failed("one two three four").hint("five");
        assert_eq!(failure.told(&look), "error: one two three four\nhint: five\n");
        assert_eq!(failure.told_within(&look, Some(15)), "error: one two\nthree four\nhint: five\n");
    }
}
