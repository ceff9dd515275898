//! A file in large pieces, each with the places of its newlines.
//!
//! A long file is read ahead by a second thread: one copies out of the page cache and looks for newlines while the
//! bytes are still in its core's cache, the other looks at the beginnings of lines. Where only one core is free
//! this costs next to nothing.

use std::io;
use std::sync::mpsc::{channel, sync_channel};

use crate::files::{OpenFile, Pages};

/// Large enough for few calls, small enough to stay in the cache between copying and looking.
const CHUNK: u64 = 512 << 10;
/// So many are filled while others are looked at.
const AHEAD: usize = 4;
/// Less than this is not worth a thread.
const WORTH_A_THREAD: u64 = 4 << 20;

#[derive(Debug, Default)]
pub(super) struct Chunk {
    pages: Pages,
    length: usize,
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

    /// Reads up to the next whole chunk of the file, so that all further reads begin at a page. Nothing is read
    /// where the file ends.
    fn fill(&mut self, file: &dyn OpenFile, offset: u64, to: u64) -> io::Result<()> {
        let until = ((offset / CHUNK + 1) * CHUNK).min(to);
        let room = self.pages.room((until - offset) as usize);
        self.length = read(file, offset, room)?;
        self.newlines.clear();
        self.newlines.extend(memchr::memchr_iter(b'\n', room.get(..self.length).unwrap_or_default()));
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
    if to.saturating_sub(from) >= WORTH_A_THREAD {
        return read_ahead(file, from, to, take);
    }
    let mut chunk = Chunk::default();
    let mut offset = from;
    while offset < to {
        chunk.fill(file, offset, to)?;
        if chunk.length == 0 {
            break;
        }
        offset += chunk.length as u64;
        take(&chunk)?;
    }
    Ok(())
}

fn read_ahead<E>(
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
    std::thread::scope(|scope| {
        let (give_back, empty) = channel::<Chunk>();
        let (hand_over, filled) = sync_channel::<io::Result<Chunk>>(AHEAD);
        for _ in 0..AHEAD {
            let _ = give_back.send(Chunk::with_room());
        }
        scope.spawn(move || {
            let mut offset = from;
            while offset < to {
                // Whoever looks at them may have seen enough.
                let Ok(mut chunk) = empty.recv() else { return };
                let read = chunk.fill(file, offset, to).map(|()| chunk);
                let length = read.as_ref().map_or(0, |chunk| chunk.length);
                offset += length as u64;
                if hand_over.send(read).is_err() || length == 0 {
                    return;
                }
            }
        });
        for chunk in filled {
            let chunk = chunk?;
            take(&chunk)?;
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
