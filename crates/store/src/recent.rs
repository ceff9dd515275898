//! The last messages of a file of Claude Code, without reading all of it where that is not needed.
//!
//! The end of the file is understood, and the rest is only searched for what would change the answer
//! ([`offshoot_transcripts::claude::recent`]), by all cores. Where the end does not tell enough, a longer one is
//! taken, and at last the whole file is read. The answer is the same whichever way it was found.

use std::path::Path;

use offshoot_session::SessionTree;
use offshoot_session::context::Message;
use offshoot_transcripts::claude::read;
use offshoot_transcripts::claude::recent::{Earlier, OVERLAP, recent, recent_of};

use crate::files::{About, DiskFiles, FileError, Files, Open, OpenFile, Pages, read_exactly};
use crate::short_lines::{Between, read_short_lines};

const FIRST_END: u64 = 1 << 20;
const LONGEST_END: u64 = 64 << 20;
const CHUNK: u64 = 512 << 10;
const MOST_THREADS: u64 = 4;
/// Less than this is not worth a thread.
const WORTH_A_THREAD: u64 = 4 << 20;

/// How the last messages were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From so many bytes at the end.
    FromTheEnd(u64),
    Whole,
}

#[derive(Debug)]
pub struct RecentMessages {
    /// Oldest first. Where a setting stands between two messages it is passed over.
    pub messages: Vec<Message>,
    pub way: Way,
}

/// The last messages on the way to the head.
pub fn recent_messages(path: &Path, count: usize) -> Result<RecentMessages, FileError> {
    recent_messages_from(path, count, FIRST_END)
}

/// The same, beginning with an end of this length.
pub fn recent_messages_from(path: &Path, count: usize, first_end: u64) -> Result<RecentMessages, FileError> {
    let file = DiskFiles.open(path, Open::ReadForeign).about("open", path)?;
    let length = file.stat().about("read", path)?.length;
    let mut end = first_end.max(1);
    while end < length && end <= LONGEST_END {
        if let Some(messages) = from_the_end(file.as_ref(), length, end, count).about("read", path)? {
            return Ok(RecentMessages { messages, way: Way::FromTheEnd(end) });
        }
        end *= 4;
    }
    let content = Between { file: file.as_ref(), from: 0, to: length };
    let bytes = read_short_lines(content, length).about("read", path)?.bytes;
    let name = path.file_name().map(|name| name.to_string_lossy());
    let (tree, _) = SessionTree::replay(read(name.as_deref(), &bytes).records);
    Ok(RecentMessages { messages: recent_of(&tree, count), way: Way::Whole })
}

fn from_the_end(
    file: &dyn OpenFile,
    length: u64,
    end: u64,
    count: usize,
) -> std::io::Result<Option<Vec<Message>>> {
    let begin = length - end;
    let mut bytes = vec![0; end as usize];
    if !read_exactly(file, begin, &mut bytes)? {
        return Ok(None); // it became shorter
    }
    let Some(line) = memchr::memchr(b'\n', &bytes).and_then(|at| bytes.get(at + 1..)) else {
        return Ok(None);
    };
    let before = length - line.len() as u64;
    let Some(found) = recent(line, count) else { return Ok(None) };
    Ok((!names_any_before(file, before, &found.earlier)?).then_some(found.messages))
}

/// Searches everything before an offset, in shares.
fn names_any_before(file: &dyn OpenFile, before: u64, earlier: &Earlier) -> std::io::Result<bool> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let threads = cores.min(MOST_THREADS).min(before / WORTH_A_THREAD + 1);
    let share = before.div_ceil(threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|at| {
                let (from, to) = (at * share, ((at + 1) * share).min(before));
                scope.spawn(move || names_any_between(file, from, to, earlier))
            })
            .collect();
        let mut names_any = false;
        for worker in workers {
            let searched =
                worker.join().unwrap_or_else(|_| Err(std::io::Error::other("a search ended early")));
            names_any |= searched?;
        }
        Ok(names_any)
    })
}

fn names_any_between(file: &dyn OpenFile, from: u64, to: u64, earlier: &Earlier) -> std::io::Result<bool> {
    let mut pages = Pages::default();
    let mut offset = from;
    while offset < to {
        let begin = offset.saturating_sub(OVERLAP as u64);
        let until = ((offset / CHUNK + 1) * CHUNK).min(to);
        let room = pages.room((until - begin) as usize);
        if !read_exactly(file, begin, room)? {
            return Ok(true); // it became shorter: nothing is certain
        }
        if earlier.names_any(room) {
            return Ok(true);
        }
        offset = until;
    }
    Ok(false)
}
