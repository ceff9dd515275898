//! Lines of the standard input, put together to a message.
//!
//! A line that ends with `\` continues in the next. At a terminal, lines that arrive faster than anybody types are pasted:
//! they are kept together until you press Enter once more. A line that the terminal has cut is refused with all that
//! belongs to it ([`LONGEST_LINE`]).

use std::io::BufRead;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

/// Lines that may lie ready; who types more waits.
const LINES_AHEAD: usize = 16;

/// Nobody types a line in so many nanoseconds, and what is pasted comes at once.
const AT_ONCE: i64 = 10_000_000;

/// A terminal that edits lines itself keeps so many bytes of a line and drops the others without a word. A line of this
/// length has most likely lost its end.
pub(super) const LONGEST_LINE: usize = if cfg!(target_os = "macos") { 1023 } else { 4095 };

#[derive(Clone, Debug)]
pub(super) struct Line {
    text: String,
    /// It came with others.
    is_pasted: bool,
    /// More of them are about to come.
    has_more: bool,
    /// Its end has not been typed yet.
    is_open: bool,
    /// The terminal dropped its end.
    is_cut: bool,
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
            let is_pasted = has_more || had_more;
            let behind = if is_pasted && !has_more { unread_bytes() } else { Vec::new() };
            let mut new = vec![(std::mem::take(&mut bytes), has_more || !behind.is_empty())];
            new.extend(with_more(&behind));
            for (bytes, has_more) in new {
                if sender.blocking_send(Line::of(&bytes, is_terminal, is_pasted, has_more)).is_err() {
                    return;
                }
            }
            had_more = has_more;
        }
    });
    lines
}

impl Line {
    fn of(bytes: &[u8], is_terminal: bool, is_pasted: bool, has_more: bool) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let is_open = is_terminal && !text.ends_with('\n');
        let length = bytes.strip_suffix(b"\n").unwrap_or(bytes).len();
        let is_cut = is_terminal && length >= LONGEST_LINE;
        Self { text: text.trim_end_matches(['\n', '\r']).to_owned(), is_pasted, has_more, is_open, is_cut }
    }
}

/// Each line, and whether another one follows it.
fn with_more(bytes: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let last = lines.len().saturating_sub(1);
    lines.into_iter().enumerate().map(|(at, line)| (line.to_vec(), at < last)).collect()
}

fn more_is_there() -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: AT_ONCE };
    is_readable(std::io::stdin().as_fd(), &wait)
}

fn is_readable(input: BorrowedFd<'_>, wait: &Timespec) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    matches!(poll(&mut polled, Some(wait)), Ok(1..)) && polled.iter().all(|it| it.revents() == PollFlags::IN)
}

/// What stands on the terminal's line without an end, such as the last line of what was pasted. The terminal hands it out
/// only while it does not edit lines itself, so that is switched off for a moment. Nothing if that is not possible.
fn unread_bytes() -> Vec<u8> {
    let stdin = std::io::stdin();
    let mut unread = Vec::new();
    let Ok(edits) = tcgetattr(&stdin) else { return unread };
    let mut hands_out = edits.clone();
    hands_out.local_modes.remove(LocalModes::ICANON);
    for (index, least) in [(SpecialCodeIndex::VMIN, 0), (SpecialCodeIndex::VTIME, 0)] {
        hands_out.special_codes[index] = least;
    }
    if tcsetattr(&stdin, OptionalActions::Now, &hands_out).is_ok() {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = rustix::io::read(&stdin, &mut bytes) {
            unread.extend_from_slice(bytes.get(..read).unwrap_or_default());
        }
        let _ = tcsetattr(&stdin, OptionalActions::Now, &edits);
    }
    unread
}

/// What was typed so far of something that has several lines.
#[derive(Debug, Default)]
pub(super) struct Block {
    lines: Vec<String>,
    /// The next text continues the last line.
    is_open: bool,
    /// The end of a line is missing, so none of it is sent.
    is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// All of it.
    Whole(String),
    /// The next line belongs to it.
    GoesOn,
    /// So many lines were pasted; Enter sends them.
    Pasted { lines: usize, last_is_open: bool },
    /// More of what is pasted is about to come.
    Pasting,
    /// The terminal has dropped the end of a line. All lines that belong to it are dropped.
    Cut { last_is_open: bool },
}

impl Block {
    pub(super) fn take(&mut self, line: Line) -> Came {
        self.is_cut |= line.is_cut;
        if line.is_pasted {
            self.push(line.text, line.is_open);
            return match () {
                () if line.has_more => Came::Pasting,
                () if self.is_cut => self.drop_cut(line.is_open),
                () => Came::Pasted { lines: self.lines.len(), last_is_open: line.is_open },
            };
        }
        if self.is_cut {
            return self.drop_cut(false);
        }
        let (text, goes_on) = continued(&line.text);
        if !text.trim().is_empty() || self.lines.is_empty() || goes_on {
            self.push(text.to_owned(), false);
        }
        self.is_open = false;
        if goes_on {
            return Came::GoesOn;
        }
        Came::Whole(std::mem::take(&mut self.lines).join("\n"))
    }

    fn push(&mut self, text: String, is_open: bool) {
        match self.lines.last_mut().filter(|_| self.is_open) {
            Some(last) => last.push_str(&text),
            None => self.lines.push(text),
        }
        self.is_open = is_open;
    }

    fn drop_cut(&mut self, last_is_open: bool) -> Came {
        self.forget();
        Came::Cut { last_is_open }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
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
        Line::of(format!("{text}\n").as_bytes(), true, false, false)
    }

    fn pasted(text: &str, has_more: bool) -> Line {
        Line::of(format!("{text}\r\n").as_bytes(), true, true, has_more)
    }

    /// The last line of what was pasted has no end.
    fn open(text: &str) -> Line {
        Line::of(text.as_bytes(), true, true, false)
    }

    fn closed(lines: usize) -> Came {
        Came::Pasted { lines, last_is_open: false }
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
        assert_eq!(block.take(pasted("two\\", false)), closed(3));
        assert_eq!(block.take(typed("")), Came::Whole("one\n\ntwo\\".into()));
        block.take(pasted("one", true));
        block.take(pasted("two", false));
        assert_eq!(block.take(typed("three")), Came::Whole("one\ntwo\nthree".into()));
        block.take(pasted("one", true));
        block.forget();
        assert!(block.is_empty());
    }

    /// A1: the last line was not counted, and what was typed behind it became a line of its own.
    #[test]
    fn the_last_pasted_line_needs_no_end() {
        let mut block = Block::default();
        block.take(pasted("one", true));
        block.take(pasted("two", true));
        assert_eq!(block.take(open("thr")), Came::Pasted { lines: 3, last_is_open: true });
        assert_eq!(block.take(typed("ee")), Came::Whole("one\ntwo\nthree".into()));
        block.take(pasted("one", true));
        block.take(open("two"));
        assert_eq!(block.take(typed("")), Came::Whole("one\ntwo".into()));
        let lines = |bytes: &[u8]| with_more(bytes).into_iter().map(|(_, more)| more).collect::<Vec<_>>();
        assert_eq!(
            (lines(b"a\nb\nc"), lines(b"a\n"), lines(b"")),
            (vec![true, true, false], vec![false], vec![])
        );
    }

    /// A1: a line over 4095 bytes was sent without its end.
    #[test]
    fn a_line_that_the_terminal_has_cut_is_refused_with_what_belongs_to_it() {
        let (short, long) = ("x".repeat(LONGEST_LINE - 1), "x".repeat(LONGEST_LINE));
        let mut block = Block::default();
        assert_eq!(block.take(typed(&short)), Came::Whole(short));
        assert_eq!(block.take(typed(&long)), Came::Cut { last_is_open: false });
        assert_eq!(block.take(typed("next")), Came::Whole("next".into()));
        block.take(pasted("first", true));
        assert_eq!(block.take(pasted(&long, true)), Came::Pasting);
        assert_eq!(block.take(open("end")), Came::Cut { last_is_open: true });
        assert!(block.is_empty());
        block.take(typed("begun\\"));
        assert_eq!(block.take(typed(&long)), Came::Cut { last_is_open: false });
        // A pipe has no such limit.
        let piped = Line::of(long.as_bytes(), false, false, false);
        assert_eq!(block.take(piped), Came::Whole(long));
    }
}
