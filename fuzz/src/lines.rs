//! The one splitter of lines: what is too long, what has lost its newline, and what is not complete yet.

use offshoot_session::long_lines::{LongLines, skipped_length};
use offshoot_transcripts::gist::{Follow, Gist, Lines, Said, lines_of};

/// Lines longer than this are skipped here, so that small files have some.
const LONGEST: usize = 64;

/// Skipping long lines and splitting joined ones lose no other byte, and a file that is read in two parts is the same as
/// read at once.
pub fn lines(bytes: &[u8]) {
    let cut = bytes.first().map_or(0, |byte| usize::from(*byte) * bytes.len() / 256);
    short_lines(bytes, cut);
    for line in bytes.split(|byte| *byte == b'\n') {
        let pieces: Vec<(usize, &[u8])> = Lines::Pi.pieces(line).collect();
        let mut at = 0;
        for (offset, piece) in &pieces {
            assert_eq!(*offset, at, "a byte between two pieces");
            at += piece.len();
        }
        assert_eq!(at, line.len(), "a byte behind the pieces");
    }
    in_two_parts(bytes, cut);
}

fn short_lines(bytes: &[u8], cut: usize) {
    let (one, other) = bytes.split_at(cut);
    let mut in_parts = LongLines::longer_than(LONGEST);
    in_parts.push(one);
    in_parts.push(other);
    let mut at_once = LongLines::longer_than(LONGEST);
    at_once.push(bytes);
    let short = at_once.finish();
    assert_eq!(in_parts.finish(), short, "cut at {cut}");
    assert_eq!(short.length, bytes.len() as u64);
    let (mut from, mut notes) = (0, short.skipped.iter());
    let kept: Vec<&[u8]> = short.bytes.split(|byte| *byte == b'\n').collect();
    let all: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    assert_eq!(kept.len(), all.len(), "a line was lost or made up");
    for (kept, line) in kept.iter().zip(all) {
        if line.len() > LONGEST {
            let note = notes.next();
            assert_eq!(note.map(|note| (note.at, note.length)), Some((from, line.len() as u64)));
            assert_eq!(skipped_length(kept), Some(line.len() as u64));
        } else {
            assert_eq!(*kept, line);
        }
        from += kept.len() + 1;
    }
    assert!(notes.next().is_none());
}

fn in_two_parts(bytes: &[u8], cut: usize) {
    let name = Some("rollout-2026-01-01T00-00-00-t.jsonl");
    let Some(lines) = lines_of(name, bytes) else { return };
    let Some(at_once) = followed(lines, name, bytes, bytes.len()) else { return };
    let Some(in_parts) = followed(lines, name, bytes, cut) else { return };
    assert_eq!(at_once, in_parts, "cut at {cut}");
}

/// What a catalog knows that has visited the file when it had `cut` bytes, and then again.
fn followed(lines: Lines, name: Option<&str>, bytes: &[u8], cut: usize) -> Option<(Gist, Vec<Said>)> {
    let mut follow = Follow::begin(lines, name);
    let mut said = Vec::new();
    let mut read_to = 0;
    for end in [cut, bytes.len()] {
        read_to += visited(&mut follow, bytes.get(read_to..end)?, read_to, &mut said)?;
        follow = Follow::resume(&follow.keep())?;
    }
    Some((follow.gist(name).ok()?, said))
}

fn visited(follow: &mut Follow, bytes: &[u8], offset: usize, said: &mut Vec<Said>) -> Option<usize> {
    let mut at = 0;
    while let Some(length) = bytes.get(at..)?.iter().position(|byte| *byte == b'\n') {
        follow.take(bytes.get(at..at + length)?, (offset + at) as u64, said).ok()?;
        at += length + 1;
    }
    Some(at + follow.take_end(bytes.get(at..)?, (offset + at) as u64, said).ok()?)
}
