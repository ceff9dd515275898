//! Lines of the standard input, put together to what somebody wants to say.
//!
//! A line that ends with `\` goes on in the next. At a terminal, lines that come faster than anybody types are pasted: they
//! are kept together until the person presses Enter once more.

use std::io::BufRead;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

/// Lines that may lie ready; who types more waits.
const LINES_AHEAD: usize = 16;

/// Nobody types a line in so many nanoseconds, and what is pasted comes at once.
const AT_ONCE: i64 = 10_000_000;

pub(super) struct Line {
    text: String,
    /// It came with others.
    is_pasted: bool,
    /// More of them are about to come.
    has_more: bool,
}

/// Lines are read on a thread of their own: it cannot be told to stop and ends with the program.
pub(super) fn lines(is_terminal: bool) -> mpsc::Receiver<Line> {
    let (sender, lines) = mpsc::channel(LINES_AHEAD);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut bytes = Vec::new();
        let mut had_more = false;
        while matches!(input.read_until(b'\n', &mut bytes), Ok(read) if read > 0) {
            // A terminal gives one line at a time, so the reader has none of the next.
            let has_more = is_terminal && more_is_there();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let line = Line { text, is_pasted: has_more || had_more, has_more };
            if sender.blocking_send(line).is_err() {
                return;
            }
            had_more = has_more;
            bytes.clear();
        }
    });
    lines
}

fn more_is_there() -> bool {
    let stdin = std::io::stdin();
    let mut polled = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: AT_ONCE };
    matches!(poll(&mut polled, Some(&wait)), Ok(1..)) && polled.iter().all(|it| it.revents() == PollFlags::IN)
}

/// What was typed so far of something that has several lines.
#[derive(Debug, Default)]
pub(super) struct Block {
    lines: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// All of it.
    Whole(String),
    /// The next line belongs to it.
    GoesOn,
    /// So many lines were pasted; Enter says them.
    Pasted(usize),
    /// More of what is pasted is about to come.
    Pasting,
}

impl Block {
    pub(super) fn take(&mut self, line: Line) -> Came {
        let text = line.text.trim_end_matches(['\n', '\r']);
        if line.is_pasted {
            self.lines.push(text.to_owned());
            return if line.has_more { Came::Pasting } else { Came::Pasted(self.lines.len()) };
        }
        let (text, goes_on) = continued(text);
        if !text.trim().is_empty() || self.lines.is_empty() || goes_on {
            self.lines.push(text.to_owned());
        }
        if goes_on {
            return Came::GoesOn;
        }
        Came::Whole(std::mem::take(&mut self.lines).join("\n"))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn forget(&mut self) {
        self.lines.clear();
    }
}

/// Two backslashes at the end stand for one that is meant.
fn continued(line: &str) -> (&str, bool) {
    match line.strip_suffix('\\') {
        Some(one) if one.ends_with('\\') => (one, false),
        Some(rest) => (rest, true),
        None => (line, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Line {
        Line { text: format!("{text}\n"), is_pasted: false, has_more: false }
    }

    fn pasted(text: &str, has_more: bool) -> Line {
        Line { text: format!("{text}\r\n"), is_pasted: true, has_more }
    }

    #[test]
    fn a_backslash_at_the_end_goes_on_and_two_stand_for_one() {
        let mut block = Block::default();
        assert_eq!(block.take(typed("one")), Came::Whole("one".into()));
        assert_eq!(block.take(typed("one\\")), Came::GoesOn);
        assert_eq!(block.take(typed("\\")), Came::GoesOn);
        assert_eq!(block.take(typed("C:\\\\")), Came::Whole("one\n\nC:\\".into()));
        assert_eq!(block.take(typed("")), Came::Whole(String::new()));
    }

    #[test]
    fn what_is_pasted_waits_for_enter() {
        let mut block = Block::default();
        assert_eq!(block.take(pasted("one", true)), Came::Pasting);
        assert_eq!(block.take(pasted("", true)), Came::Pasting);
        assert_eq!(block.take(pasted("two\\", false)), Came::Pasted(3));
        assert_eq!(block.take(typed("")), Came::Whole("one\n\ntwo\\".into()));
        // Without an end of its last line that line is still being typed.
        block.take(pasted("one", true));
        block.take(pasted("two", false));
        assert_eq!(block.take(typed("three")), Came::Whole("one\ntwo\nthree".into()));
        block.take(pasted("one", true));
        block.forget();
        assert!(block.is_empty());
    }
}
