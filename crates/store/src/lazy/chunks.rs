//! A file in large pieces, each with the places of its newlines.
//!
//! A long file is read by two threads: both copy out of the page cache and look for newlines while the bytes are still
//! in their core's cache, and one looks at the beginnings of lines, in order, as soon as there are some. Where only one
//! core is free this costs next to nothing.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, sync_channel};

use crate::files::{OpenFile, Pages};

/// Large enough to be worth handing over.
const CHUNK: u64 = 512 << 10;
/// Small enough to stay in a core's own cache between copying and looking.
const PIECE: usize = 128 << 10;
/// So many are filled while others are looked at.
const AHEAD: usize = 4;
/// Less than this is not worth a thread.
const WORTH_A_THREAD: u64 = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Chunk {
    pages: Pages,
    length: usize,
    /// The file ends before the chunk does.
    is_cut: bool,
    /// Where in the bytes they are.
    pub(super) newlines: Vec<usize>,
}

impl Chunk {
    fn with_room() -> Self {
        let mut chunk = Self::default();
        chunk.pages.room(CHUNK as usize);
        chunk
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.pages.filled(self.length)
    }

    /// Reads the chunk of this number, as far as it lies between two offsets. All reads begin at a page but the first.
    fn fill(&mut self, file: &dyn OpenFile, number: u64, from: u64, to: u64) -> io::Result<()> {
        let begin = (number * CHUNK).max(from);
        let end = ((number + 1) * CHUNK).min(to);
        let room = self.pages.room((end - begin) as usize);
        self.newlines.clear();
        self.length = 0;
        self.is_cut = false;
        while let Some(piece) = room.get_mut(self.length..).filter(|rest| !rest.is_empty()) {
            let length = piece.len().min(PIECE);
            let piece = piece.get_mut(..length).unwrap_or_default();
            let count = read(file, begin + self.length as u64, piece)?;
            if count == 0 {
                self.is_cut = true;
                break;
            }
            let found = memchr::memchr_iter(b'\n', piece.get(..count).unwrap_or_default());
            self.newlines.extend(found.map(|at| self.length + at));
            self.length += count;
        }
        Ok(())
    }
}

/// Bytes between two offsets, or up to where the file ends now.
pub(super) fn each_chunk<E>(
    file: &dyn OpenFile,
    from: u64,
    to: u64,
    mut take: impl FnMut(&Chunk) -> Result<(), E>,
) -> Result<(), E>
where
    E: From<io::Error>,
{
    if from >= to {
        return Ok(());
    }
    if to - from >= WORTH_A_THREAD {
        return by_two(file, from, to, take);
    }
    let mut chunk = Chunk::default();
    for number in from / CHUNK..to.div_ceil(CHUNK) {
        chunk.fill(file, number, from, to)?;
        take(&chunk)?;
        if chunk.is_cut {
            break;
        }
    }
    Ok(())
}

/// Another thread reads ahead. Whenever nothing is ready, this one reads a chunk too instead of waiting.
fn by_two<E>(
    file: &dyn OpenFile,
    from: u64,
    to: u64,
    mut take: impl FnMut(&Chunk) -> Result<(), E>,
) -> Result<(), E>
where
    E: From<io::Error>,
{
    // What was given back once is kept by the allocator the next time: the pages are there for the first messages
    // that are read, and the kernel need not make them anew.
    drop(std::hint::black_box(Chunk::with_room()));
    let numbers = from / CHUNK..to.div_ceil(CHUNK);
    let (unread, end) = (&AtomicU64::new(numbers.start), numbers.end);
    let claim = move || Some(unread.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < end);
    std::thread::scope(|scope| {
        let (give_back, empty) = channel::<Chunk>();
        let (hand_over, ready) = sync_channel::<io::Result<Chunk>>(AHEAD);
        for _ in 0..AHEAD {
            let _ = give_back.send(Chunk::with_room());
        }
        scope.spawn(move || {
            // Whoever looks at them may have seen enough.
            while let Ok(mut chunk) = empty.recv() {
                let Some(number) = claim() else { return };
                let filled = chunk.fill(file, number, from, to).map(|()| chunk);
                if hand_over.send(filled).is_err() {
                    return;
                }
            }
        });
        let mut own = Chunk::with_room();
        let mut own_number = None;
        for number in numbers {
            let mut handed = None;
            if own_number.is_none() {
                handed = ready.try_recv().ok().transpose()?;
                if handed.is_none() {
                    own_number = claim();
                    own_number.map_or(Ok(()), |number| own.fill(file, number, from, to))?;
                }
            }
            if own_number == Some(number) {
                own_number = None;
                take(&own)?;
                if own.is_cut {
                    break;
                }
                continue;
            }
            // The other one has it, or is about to: all before ours are taken, and it hands over in order.
            let chunk = match handed {
                Some(chunk) => chunk,
                None => ready.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))??,
            };
            take(&chunk)?;
            if chunk.is_cut {
                break;
            }
            let _ = give_back.send(chunk);
        }
        Ok(())
    })
}

fn read(file: &dyn OpenFile, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read_at(offset, buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
