//! The last turns of a long file of Claude Code, with their numbers and versions.
//!
//! All cores skim the lines, a stripe of the file at a time ([`offshoot_transcripts::claude::spine`]), then the lines that matter are read
//! ([`offshoot_transcripts::claude::excerpt`]). Where the file is not as it mostly is the answer is `None`, and
//! [`LightSession`](crate::LightSession) has to read its shape.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_session::long_lines::LONGEST_LINE;
use offshoot_transcripts::claude::excerpt::Excerpt;
pub use offshoot_transcripts::claude::excerpt::{Ending, Last};
use offshoot_transcripts::claude::spine::{Skim, Spine, begins_like_ours};

use crate::files::{About, DiskFiles, FileError, Files, Open, OpenFile, Pages, read_exactly};

/// So much tells whose file it is.
const BEGINNING: u64 = 64 << 10;
/// What is read at once stays in the cache of a core until all of it was looked at.
const CHUNK: u64 = 128 << 10;
/// A line that goes on behind its stripe is read in smaller pieces.
const MORE: u64 = 16 << 10;
const MOST_THREADS: u64 = 4;
/// What a core takes at a time. One that has others to serve takes fewer.
const STRIPE: u64 = 4 << 20;
/// What is longer is for a reading of the shape, which takes less memory then.
const LONGEST: u64 = 24 << 20;

/// Some lines, and how many stand before them.
type Piece = (usize, Vec<u8>);

/// `name` may tell more than the path by which the file is reached.
pub fn ending(path: &Path, name: &Path, last: Last) -> Result<Option<Ending>, FileError> {
    let file = DiskFiles.open(path, Open::ReadForeign).about("open", path)?;
    let stat = file.stat().about("read", path)?;
    let name = name.to_string_lossy();
    let ending = of_file(file.as_ref(), stat.length, &name, last).about("read", path)?;
    let is_same = file.stat().about("read", path)? == stat;
    Ok(ending.filter(|_| is_same))
}

fn of_file(file: &dyn OpenFile, length: u64, name: &str, last: Last) -> io::Result<Option<Ending>> {
    if !is_ours(file, length, name)? {
        return Ok(None);
    }
    let Some(spine) = spine_of(file, length)? else { return Ok(None) };
    let Some(excerpt) = spine.excerpt(last) else { return Ok(None) };
    let Some(pieces) = pieces_of(file, length, &spine, &excerpt)? else { return Ok(None) };
    let pieces: Vec<(usize, &[u8])> = pieces.iter().map(|(before, bytes)| (*before, &bytes[..])).collect();
    Ok(excerpt.read(&spine, name, &pieces))
}

fn is_ours(file: &dyn OpenFile, length: u64, name: &str) -> io::Result<bool> {
    let mut beginning = vec![0; BEGINNING.min(length) as usize];
    if !read_exactly(file, 0, &mut beginning)? {
        return Ok(false);
    }
    let end = memchr::memrchr(b'\n', &beginning).map_or(0, |at| at + 1);
    Ok(begins_like_ours(name, beginning.get(..end).unwrap_or_default()))
}

fn pieces_of(
    file: &dyn OpenFile,
    length: u64,
    spine: &Spine,
    excerpt: &Excerpt,
) -> io::Result<Option<Vec<Piece>>> {
    let mut bounds = Vec::new();
    for line in &excerpt.before {
        let Some((from, to)) = spine.bounds(*line, length) else { return Ok(None) };
        bounds.push((*line, from, to));
    }
    let Some((from, _)) = spine.bounds(excerpt.start, length) else { return Ok(None) };
    bounds.push((excerpt.start, from, length));
    if bounds.iter().map(|(_, from, to)| to.saturating_sub(*from)).sum::<u64>() > LONGEST {
        return Ok(None);
    }
    let mut pieces = Vec::new();
    for (line, from, to) in bounds {
        let mut bytes = vec![0; to.saturating_sub(from) as usize];
        if !read_exactly(file, from, &mut bytes)? {
            return Ok(None); // it became shorter
        }
        pieces.push((line, bytes));
    }
    Ok(Some(pieces))
}

/// `None` where a line is not usual, or the last one has no end.
fn spine_of(file: &dyn OpenFile, length: u64) -> io::Result<Option<Spine>> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let stripes = length.div_ceil(STRIPE);
    let next = AtomicU64::new(0);
    let skimmed = std::thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(MOST_THREADS).min(stripes))
            .map(|_| scope.spawn(|| some_stripes(file, length, &next)))
            .collect();
        let mut skimmed = vec![some_stripes(file, length, &next)];
        for other in others {
            let ended = other.join().unwrap_or_else(|_| Err(io::Error::other("a search ended early")));
            skimmed.push(ended);
        }
        skimmed
    });
    let mut parts = Vec::new();
    for skimmed in skimmed {
        let Some(skimmed) = skimmed? else { return Ok(None) };
        parts.extend(skimmed);
    }
    parts.sort_unstable_by_key(|(stripe, _)| *stripe);
    Ok(Some(Spine::joined(parts.into_iter().map(|(_, part)| part).collect())))
}

/// Takes stripes until none is left.
fn some_stripes(file: &dyn OpenFile, length: u64, next: &AtomicU64) -> io::Result<Option<Vec<(u64, Spine)>>> {
    let (mut pages, skim, mut parts) = (Pages::default(), Skim::default(), Vec::new());
    loop {
        let stripe = next.fetch_add(1, Ordering::Relaxed);
        let from = stripe.saturating_mul(STRIPE);
        if from >= length {
            return Ok(Some(parts));
        }
        let skimmed = lines_between(file, from, (from + STRIPE).min(length), length, &skim, &mut pages);
        match skimmed {
            Ok(Some(part)) => parts.push((stripe, part)),
            found => {
                next.store(length.div_ceil(STRIPE), Ordering::Relaxed); // nobody has to go on
                return found.map(|_| None);
            }
        }
    }
}

/// The lines that begin between two places.
fn lines_between(
    file: &dyn OpenFile,
    from: u64,
    to: u64,
    length: u64,
    skim: &Skim,
    pages: &mut Pages,
) -> io::Result<Option<Spine>> {
    let mut spine = Spine::default();
    // A line begins behind the end of another one.
    let mut at = from.saturating_sub(1);
    let mut is_begun = from == 0;
    // A line that goes on in the next chunk, and where it began.
    let mut open: Vec<u8> = Vec::new();
    let mut begin = 0;
    while at < length {
        let piece = if at < to { CHUNK } else { MORE };
        let until = ((at / piece + 1) * piece).min(length);
        let room = pages.room((until - at) as usize);
        if !read_exactly(file, at, room)? {
            return Ok(None); // it became shorter
        }
        let mut rest = &*room;
        if !is_begun || !open.is_empty() {
            let end = memchr::memchr(b'\n', rest).map(|end| end + 1);
            let (line, behind) = rest.split_at(end.unwrap_or(rest.len()));
            if is_begun {
                open.extend_from_slice(line);
            }
            at += line.len() as u64;
            rest = behind;
            if end.is_some() && is_begun {
                if spine.take(skim, &open, begin).is_err() {
                    return Ok(None);
                }
                open.clear();
            }
            is_begun |= end.is_some();
        }
        while at < to
            && let Some(end) = memchr::memchr(b'\n', rest)
        {
            let (line, behind) = rest.split_at(end + 1);
            if spine.take(skim, line, at).is_err() {
                return Ok(None);
            }
            at += line.len() as u64;
            rest = behind;
        }
        if at >= to && open.is_empty() {
            return Ok(Some(spine));
        }
        if open.len() > LONGEST_LINE {
            return Ok(None);
        }
        if open.is_empty() && !rest.is_empty() {
            begin = at;
            open.extend_from_slice(rest);
        }
        at = until;
    }
    Ok(open.is_empty().then_some(spine))
}
