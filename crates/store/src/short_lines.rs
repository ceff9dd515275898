//! Files of lines, read without the lines that are too long to be held in memory.

use std::io::{self, Read, Write};

use offshoot_session::long_lines::{LONGEST_LINE, LongLines, ShortLines};

use crate::files::OpenFile;

const CHUNK: usize = 1 << 20;

/// Reads all that `from` gives, which is about `length` bytes.
pub fn read_short_lines(mut from: impl Read, length: u64) -> io::Result<ShortLines> {
    let beginning = length.min(LONGEST_LINE as u64);
    let mut bytes = Vec::with_capacity(usize::try_from(beginning).unwrap_or_default());
    from.by_ref().take(LONGEST_LINE as u64).read_to_end(&mut bytes)?;
    let is_all = bytes.len() < LONGEST_LINE;
    let mut lines = LongLines::beginning_with(bytes);
    if is_all {
        return Ok(lines.finish());
    }
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(lines.finish()),
            Ok(count) => lines.push(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What lies between two offsets of a file.
pub(crate) struct Between<'f> {
    pub(crate) file: &'f dyn OpenFile,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Read for Between<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.to.saturating_sub(self.from)).unwrap_or(usize::MAX);
        let room = left.min(buffer.len());
        let count = self.file.read_at(self.from, buffer.get_mut(..room).unwrap_or_default())?;
        self.from += count as u64;
        Ok(count)
    }
}

/// Takes what is written to it.
#[derive(Default)]
pub(crate) struct Collected(LongLines);

impl Collected {
    pub(crate) fn finish(self) -> ShortLines {
        self.0.finish()
    }
}

impl Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
