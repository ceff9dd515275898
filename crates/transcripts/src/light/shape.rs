//! The tree of light lines that come one by one. None of them is kept.

use std::fmt;

use offshoot_session::RawLine;

use crate::dialect::{Family, family_of, sure_family_of};
use crate::lines::{Content, Line, Sources};
use crate::{Transcript, claude, codex};

pub struct ShapeReader {
    reading: Reading,
    lines: u64,
}

impl fmt::Debug for ShapeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShapeReader({} lines)", self.lines)
    }
}

enum Reading {
    Claude(Box<claude::Reading>),
    Codex(codex::Lines),
}

/// How much of a file its first lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    Some,
    All,
}

impl ShapeReader {
    /// `None` where these first lines do not tell, or tell of a program whose lines are read otherwise.
    pub fn of(file_name: Option<&str>, lines: &[u8], beginning: Beginning) -> Option<Self> {
        let family = match beginning {
            Beginning::Some => sure_family_of(file_name, lines),
            Beginning::All => family_of(file_name, lines).ok(),
        };
        let reading = match family? {
            Family::Claude => Reading::Claude(Box::new(claude::Reading::keeping(Sources::counted()))),
            Family::Codex => Reading::Codex(codex::Lines::keeping(Sources::counted())),
            Family::Gemini | Family::OpenCode | Family::Pi | Family::Rollouts => return None,
        };
        Some(Self { reading, lines: 0 })
    }

    /// A line that may have been made light. One that cannot be read is not taken, and has to come as it is.
    #[must_use]
    pub fn take_light(&mut self, line: &[u8]) -> bool {
        let line = Line::new(self.lines + 1, RawLine::new(line));
        let is_read = matches!(line.content, Content::Object(_) | Content::Blank);
        if is_read {
            self.take_line(line);
        }
        is_read
    }

    /// A line as it is.
    pub fn take(&mut self, line: &[u8]) {
        self.take_line(Line::new(self.lines + 1, RawLine::new(line)));
    }

    fn take_line(&mut self, line: Line) {
        self.lines += 1;
        match &mut self.reading {
            Reading::Claude(reading) => reading.take(line),
            Reading::Codex(reading) => reading.take(line),
        }
    }

    /// The lines that follow stand in a file of a sub-agent; only Claude Code has such files.
    pub fn begin_agent(&mut self, name: &str, meta: Option<&[u8]>) {
        if let Reading::Claude(reading) = &mut self.reading {
            reading.begin_agent(name, meta);
        }
    }

    /// Records with sources that only count lines.
    pub fn finish(self, file_name: Option<&str>) -> Transcript {
        match self.reading {
            Reading::Claude(reading) => reading.finish(file_name),
            Reading::Codex(reading) => reading.finish(file_name),
        }
    }
}
