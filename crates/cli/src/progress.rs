//! One line on the terminal while something takes longer than a second: count, rate, time left.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use offshoot_session::Watch;

use crate::look::Look;
use crate::numbers::grouped;

const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_millis(100);

/// Less than this is done before anybody asks.
const WORTH_WATCHING: u64 = 16_000_000;

/// The line goes when this does.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    began: Instant,
    next: Instant,
    is_wanted: bool,
    is_shown: bool,
}

impl Progress {
    pub(crate) fn of(what: &'static str, look: &Look) -> Self {
        let began = Instant::now();
        let is_wanted = !look.quiet && std::io::stderr().is_terminal();
        Self { what, began, next: began + PATIENCE, is_wanted, is_shown: false }
    }

    pub(crate) fn at(&mut self, done: usize, of: usize) {
        let now = Instant::now();
        if !self.is_wanted || now < self.next {
            return;
        }
        self.next = now + BETWEEN;
        self.is_shown = true;
        let line = line(self.what, done, of, self.began.elapsed());
        // Nobody is worse off where it cannot be shown.
        let _ = write!(std::io::stderr(), "\r\u{1b}[K{line}");
    }
}

/// The same for the bytes of one long piece of work; the line goes when the watch does.
pub(crate) fn of_bytes(what: &'static str, total: u64, look: &Look) -> Watch {
    let progress = Progress::of(what, look);
    if !progress.is_wanted || total < WORTH_WATCHING {
        return Watch::nobody();
    }
    let state = Mutex::new((progress, 0));
    Watch::by(move |bytes| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (progress, done) = &mut *state;
        *done = (*done + bytes).min(total);
        progress.at(megabytes(*done), megabytes(total));
    })
}

fn megabytes(bytes: u64) -> usize {
    usize::try_from(bytes / 1_000_000).unwrap_or(usize::MAX)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// `412 of 1,284 sessions, 830 per second, 1 s left`
fn line(what: &str, done: usize, of: usize, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let left = if rate > 0.0 {
        format!(", {:.0} s left", (of.saturating_sub(done) as f64 / rate).ceil())
    } else {
        String::new()
    };
    format!("{} of {} {what}, {} per second{left}", grouped(done), grouped(of), grouped(rate as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_how_fast_and_how_long() {
        assert_eq!(
            line("sessions", 412, 1284, Duration::from_secs(2)),
            "412 of 1,284 sessions, 206 per second, 5 s left"
        );
        assert_eq!(line("files", 0, 10, Duration::from_secs(2)), "0 of 10 files, 0 per second");
    }
}
