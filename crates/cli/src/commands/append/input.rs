//! Standard input, line by line.

use std::io::{BufRead, BufReader, Read};

use offshoot_session::long_lines::LONGEST_LINE;

use crate::failure::Failure;
use crate::words;

/// More lines than this do not wait for each other's sync …
const LARGEST_GROUP: usize = 256;
/// … nor more bytes: they have to fit into one line to an engine.
const LARGEST_GROUP_BYTES: usize = 1024 * 1024;

pub(super) struct Line {
    pub(super) number: usize,
    pub(super) bytes: Vec<u8>,
    /// Longer than [`LONGEST_LINE`]: its bytes are left out.
    pub(super) is_too_long: bool,
}

pub(super) struct Input<R> {
    reader: BufReader<R>,
    number: usize,
}

impl<R: Read> Input<R> {
    pub(super) fn of(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(256 * 1024, reader), number: 0 }
    }

    /// The next line and those that have arrived with it; empty at the end.
    pub(super) fn group(&mut self) -> Result<Vec<Line>, Failure> {
        let (mut group, mut bytes) = (Vec::new(), 0);
        while group.is_empty() || (self.has_line() && has_room(&group, bytes)) {
            let mut line = Vec::new();
            let count = self.reader.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut line);
            if count.map_err(|error| Failure::failed(words::stdin_failed(&error)))? == 0 {
                break;
            }
            self.number += 1;
            let is_too_long = line.len() > LONGEST_LINE;
            if is_too_long {
                line = Vec::new();
            }
            if is_too_long || !line.trim_ascii().is_empty() {
                bytes += line.len();
                group.push(Line { number: self.number, bytes: line, is_too_long });
            }
            if is_too_long {
                break; // nothing behind it is written
            }
        }
        Ok(group)
    }

    /// All that is left, up to a line that is too long.
    pub(super) fn rest(&mut self) -> Result<Vec<Line>, Failure> {
        let mut lines = Vec::new();
        loop {
            let group = self.group()?;
            let is_last = group.last().is_none_or(|line| line.is_too_long);
            lines.extend(group);
            if is_last {
                return Ok(lines);
            }
        }
    }

    fn has_line(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }
}

fn has_room(group: &[Line], bytes: usize) -> bool {
    group.len() < LARGEST_GROUP && bytes < LARGEST_GROUP_BYTES
}
