//! Lines of output, up to a limit. A longer line is skipped, and only counted.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that is read.
pub(crate) const LONGEST_LINE: usize = 64 * 1024 * 1024;

const READ_AHEAD: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// A skipped line, with its length.
    TooLong(u64),
}

#[derive(Debug)]
pub(super) struct Lines<R> {
    source: BufReader<R>,
    /// The beginning of the line that is being read.
    line: Vec<u8>,
    /// Bytes of a line that is too long.
    skipped: u64,
    longest: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(source: R) -> Self {
        Self::up_to(LONGEST_LINE, source)
    }

    fn up_to(longest: usize, source: R) -> Self {
        let source = BufReader::with_capacity(READ_AHEAD, source);
        Self { source, line: Vec::new(), skipped: 0, longest }
    }

    /// The next line without its newline. `None`: the output has ended; a last line without a newline was cut off and is
    /// dropped. Cancelling loses nothing.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = self.source.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            if self.skipped > 0 || self.line.len() + part.len() > self.longest {
                self.skipped += (std::mem::take(&mut self.line).len() + part.len()) as u64;
            } else {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.source.consume(taken);
            if end.is_some() {
                let (line, skipped) = (std::mem::take(&mut self.line), std::mem::take(&mut self.skipped));
                return Ok(Some(if skipped > 0 { Line::TooLong(skipped) } else { Line::Whole(line) }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<Line> {
        let mut lines = Lines::up_to(5, text);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(line);
        }
        found
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_counted_and_the_next_one_is_read() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(
            lines(b"one\n\n12345\n123456\ntwo\ncut o").await,
            [whole("one"), whole(""), whole("12345"), Line::TooLong(6), whole("two"),]
        );
    }
}
