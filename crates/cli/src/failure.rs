//! Why a command did not do what was asked, and what to do about it.

use crate::look::{Ink, Look};
use crate::text;

#[derive(Debug)]
pub(crate) struct Failure {
    /// One lower-case sentence that names the thing in backticks.
    message: String,
    hint: Option<String>,
    pub(crate) exit: Exit,
}

/// The codes that scripts may rely on. Wrong usage is 2 and an interruption 130; clap and the shell say those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Failed,
    /// Not found, or more than one.
    NotFound,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::NotFound => 3,
        }
    }
}

impl Failure {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit: Exit::Failed }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { exit: Exit::NotFound, ..Self::failed(message) }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn told(&self, look: &Look) -> String {
        let line = |word: &str, ink, text: &str| {
            format!("{} {}\n", look.paint_error(ink, word), text::harmless_line(text, look.ascii))
        };
        let mut told = line("error:", Ink::Error, &self.message);
        if let Some(hint) = self.hint.as_ref().filter(|_| !look.quiet) {
            told.push_str(&line("hint:", Ink::Accent, hint));
        }
        told
    }
}
