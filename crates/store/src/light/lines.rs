//! A file line by line with large reads, and the same lines made light by a second thread.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use offshoot_session::long_lines::LONGEST_LINE;
use offshoot_transcripts::is_joined;
use offshoot_transcripts::light::{Marks, lighten, lighten_first};

use crate::files::{OpenFile, Pages, read_exactly};

const CHUNK: u64 = 512 << 10;
/// So many batches are made while another is read.
const AHEAD: usize = 2;

/// Light lines one after the other.
#[derive(Debug, Default)]
pub(super) struct Batch {
    light: Vec<u8>,
    /// Where each line ends: in the file, and here.
    ends: Vec<(u64, usize)>,
}

impl Batch {
    pub(super) fn light(&self) -> &[u8] {
        &self.light
    }

    /// Each light line and where the true one ends.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let mut from = 0;
        self.ends.iter().map(move |(end, to)| {
            let line = self.light.get(from..*to).unwrap_or_default();
            from = *to;
            (line, *end)
        })
    }
}

/// Whether the first line of a file may say how the session is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstLine {
    Names,
    IsLikeOthers,
}

/// Gives the batches of a file to somebody who takes them while others are made. Who takes may stop early.
pub(super) fn batches<T>(
    file: &dyn OpenFile,
    length: u64,
    first: FirstLine,
    marks: Marks,
    take: impl FnOnce(Receiver<io::Result<Batch>>) -> T,
) -> T {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(AHEAD);
        scope.spawn(move || make(file, length, first, marks, &sender));
        take(receiver)
    })
}

fn make(
    file: &dyn OpenFile,
    length: u64,
    first: FirstLine,
    marks: Marks,
    to: &SyncSender<io::Result<Batch>>,
) {
    let mut batch = Batch::default();
    let mut is_first = first == FirstLine::Names;
    let all = each_line(file, length, |line, end| {
        match std::mem::take(&mut is_first) {
            true => lighten_first(line, marks, &mut batch.light),
            false => lighten(line, marks, &mut batch.light),
        }
        batch.ends.push((end, batch.light.len()));
        let is_full = batch.light.len() as u64 >= CHUNK / 4;
        !is_full || to.send(Ok(std::mem::take(&mut batch))).is_ok()
    });
    // Whoever does not listen any more has what it wanted.
    drop(to.send(all.map(|()| batch)));
}

/// Every line and where it ends, until `take` has enough. A file that became shorter ends where it does. A file with
/// lines that are too long or have lost their newline is refused: the whole reading takes it.
pub(super) fn each_line(
    file: &dyn OpenFile,
    length: u64,
    mut take: impl FnMut(&[u8], u64) -> bool,
) -> io::Result<()> {
    let mut begun: Vec<u8> = Vec::new();
    let mut pages = Pages::default();
    let mut offset = 0;
    while offset < length {
        let room = pages.room(CHUNK.min(length - offset) as usize);
        if !read_exactly(file, offset, room)? {
            break;
        }
        let (mut chunk, mut at): (&[u8], u64) = (room, offset);
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (line, behind) = chunk.split_at(end + 1);
            at += line.len() as u64;
            let goes_on = if begun.is_empty() {
                take(usual(line)?, at)
            } else {
                begun.extend_from_slice(line);
                let goes_on = take(usual(&begun)?, at);
                begun.clear();
                goes_on
            };
            if !goes_on {
                return Ok(());
            }
            chunk = behind;
        }
        begun.extend_from_slice(chunk);
        if begun.len() > LONGEST_LINE {
            return Err(unusual());
        }
        offset += room.len() as u64;
    }
    if !begun.is_empty() {
        take(usual(&begun)?, offset);
    }
    Ok(())
}

fn usual(line: &[u8]) -> io::Result<&[u8]> {
    if is_joined(line) { Err(unusual()) } else { Ok(line) }
}

fn unusual() -> io::Error {
    io::Error::other("a line is too long or has lost its newline")
}
