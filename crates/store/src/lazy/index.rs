//! The envelopes of a file, kept beside it so that the next opening does not read the file.
//!
//! ```text
//! "offshoot index 3" · format · which file (device, inode, length, time) · covered length · hashes of the first
//! and last bytes covered · names · envelopes · small lines · checksum of all of it
//! ```
//! An index is believed as far as it can be checked: it must be whole, of this file, and the file must still begin
//! and, where the index ends, still look as it did. A file that only grew is read from there on. Links between
//! entries are not in the index but computed, and the id of a line is checked when the line is read; so an index
//! that lies leads to a second reading and not to a wrong answer. Any doubt: there is no index.

use std::io;
use std::path::Path;

use offshoot_session::format::BlobName;
use offshoot_session::skeleton::{Envelope, Log, Names};

use super::skim::Known;
use super::{Format, LazySession};
use crate::files::{About, FileError, Files, Open, OpenFile, Stat, append_all, read_exactly};

const MAGIC: &[u8; 16] = b"offshoot index 3";
const ENVELOPE: usize = 41;
/// So many bytes at both ends of what is covered are compared.
const ENDS: u64 = 4096;
const CHUNK: usize = 256 << 10;

pub(super) fn load(
    files: &dyn Files,
    path: &Path,
    format: Format,
    log: &dyn OpenFile,
    stat: &Stat,
) -> Option<Known> {
    let file = files.open(path, Open::Read).ok()?;
    let length = file.stat().ok()?.length;
    let mut input = Input { file: file.as_ref(), left: length.checked_sub(4)?, ..Input::new(file.as_ref()) };
    let known = read(&mut input, format, log, stat)?;
    let sum = input.finish()?;
    (sum == input.tail(length)?).then_some(known)
}

fn read(input: &mut Input<'_>, format: Format, file: &dyn OpenFile, stat: &Stat) -> Option<Known> {
    if input.take(16)? != MAGIC || input.byte()? != format_byte(format) {
        return None;
    }
    let is_oh_my_pi = input.byte()? == 1;
    let (device, inode) = (input.long()?, input.long()?);
    let length = input.long()?;
    let modified = i128::from_le_bytes(input.take(16)?.try_into().ok()?);
    let (end, last_batch) = (input.long()?, input.long()?);
    let first = input.take(64)?.to_vec();
    let last = input.take(64)?.to_vec();
    let is_same = (stat.identity.device, stat.identity.inode) == (device, inode)
        && if stat.length == length { stat.modified == modified } else { stat.length > length }
        && end <= length
        && last_batch <= end;
    if !is_same || ends(file, end)? != (first, last) {
        return None;
    }
    let (names, text) = (input.word()? as usize, input.word()? as usize);
    if (names * 4 + text) as u64 > input.remaining() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text);
    while bytes.len() < text {
        bytes.extend_from_slice(input.take((text - bytes.len()).min(CHUNK / 4))?);
    }
    let text = String::from_utf8(bytes).ok()?;
    let mut ends = Vec::with_capacity(names);
    for _ in 0..names {
        ends.push(input.word()?);
    }
    let mut log = Log::with_names(Names::from_parts(text, ends)?);
    let count = input.word()? as usize;
    if (count * ENVELOPE) as u64 > input.remaining() {
        return None;
    }
    log.reserve(count);
    let small = input.word()?;
    let mut smalls = Vec::new();
    for _ in 0..small {
        let (before, offset, length) = (input.word()?, input.long()?, input.word()? as usize);
        if offset.checked_add(length as u64)? > end || before as usize > count {
            return None;
        }
        smalls.push((before, offset, input.take(length)?.to_vec()));
    }
    let mut smalls = smalls.into_iter().peekable();
    for at in 0..count {
        while let Some((_, offset, line)) = smalls.next_if(|(before, ..)| *before as usize <= at) {
            log.push_small(&line, offset).ok()?;
        }
        let envelope = envelope(input.take(ENVELOPE)?)?;
        if envelope.offset.checked_add(u64::from(envelope.length))? > end || !log.push_known(envelope) {
            return None;
        }
    }
    for (_, offset, line) in smalls {
        log.push_small(&line, offset).ok()?;
    }
    Some(Known { log, end, last_batch, is_oh_my_pi })
}

pub(super) fn save(session: &LazySession, path: &Path) -> Result<(), FileError> {
    let extent = &session.extent;
    // A line that still lacks its newline is not covered; it is simplest to wait for it.
    if extent.is_open_ended || extent.end.offset == 0 {
        return Ok(());
    }
    let Some((first, last)) = &extent.ends else { return Ok(()) };
    let log = &session.skeleton.log;
    let folder = path.parent().unwrap_or(Path::new("."));
    session.files.create_folder(folder).about("create the folder", folder)?;
    let temporary = path.with_extension(format!("idx-{}", std::process::id()));
    let file = match session.files.open(&temporary, Open::CreateNew) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            session.files.remove(&temporary).about("remove", &temporary)?;
            session.files.open(&temporary, Open::CreateNew)
        }
        file => file,
    };
    let mut output =
        Output { file: file.about("create", &temporary)?, buffer: Vec::new(), sum: crc32fast::Hasher::new() };
    let written = (|| -> io::Result<()> {
        output.put(MAGIC)?;
        output.put(&[format_byte(session.format), u8::from(extent.is_oh_my_pi)])?;
        let stat = &extent.stat;
        for number in [stat.identity.device, stat.identity.inode, stat.length] {
            output.put(&number.to_le_bytes())?;
        }
        output.put(&stat.modified.to_le_bytes())?;
        output.put(&extent.end.offset.to_le_bytes())?;
        output.put(&extent.last_batch.offset.to_le_bytes())?;
        output.put(first)?;
        output.put(last)?;
        let (text, ends) = log.names.text_and_ends();
        output.put(&(ends.len() as u32).to_le_bytes())?;
        output.put(&(text.len() as u32).to_le_bytes())?;
        output.put(text.as_bytes())?;
        for end in ends {
            output.put(&end.to_le_bytes())?;
        }
        output.put(&(log.envelopes().len() as u32).to_le_bytes())?;
        output.put(&(log.small_lines().count() as u32).to_le_bytes())?;
        for small in log.small_lines() {
            output.put(&small.before.to_le_bytes())?;
            output.put(&small.offset.to_le_bytes())?;
            output.put(&(small.line.len() as u32).to_le_bytes())?;
            output.put(small.line)?;
        }
        for envelope in log.envelopes() {
            let (longs, words, kind) = envelope.to_numbers();
            for long in longs {
                output.put(&long.to_le_bytes())?;
            }
            for word in words {
                output.put(&word.to_le_bytes())?;
            }
            output.put(&[kind])?;
        }
        output.finish()
    })();
    let saved = written
        .about("write", &temporary)
        .and_then(|()| session.files.rename(&temporary, path).about("rename", &temporary));
    if saved.is_err() {
        let _ = session.files.remove(&temporary);
    }
    saved
}

fn format_byte(format: Format) -> u8 {
    match format {
        Format::Journal => 1,
        Format::Pi => 2,
    }
}

fn envelope(bytes: &[u8]) -> Option<Envelope> {
    let (longs, rest) = bytes.split_first_chunk::<16>()?;
    let (words, kind) = rest.split_first_chunk::<24>()?;
    let long = |at: usize| longs.as_chunks::<8>().0.get(at).map(|long| u64::from_le_bytes(*long));
    let mut numbers = [0; 6];
    for (number, word) in numbers.iter_mut().zip(words.as_chunks::<4>().0) {
        *number = u32::from_le_bytes(*word);
    }
    Envelope::from_numbers([long(0)?, long(1)?], numbers, *kind.first()?)
}

/// Hashes of the first and the last bytes before `end`.
pub(super) fn ends(file: &dyn OpenFile, end: u64) -> Option<(Vec<u8>, Vec<u8>)> {
    let hash = |offset: u64, length: u64| {
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        let is_whole = read_exactly(file, offset, &mut bytes).ok()?;
        is_whole.then(|| BlobName::of(&bytes).as_str().as_bytes().to_vec())
    };
    let length = end.min(ENDS);
    Some((hash(0, length)?, hash(end - length, length)?))
}

/// The bytes of an index in chunks, summed up as they pass.
struct Input<'f> {
    file: &'f dyn OpenFile,
    offset: u64,
    /// Not yet in the buffer.
    left: u64,
    buffer: Vec<u8>,
    at: usize,
    sum: crc32fast::Hasher,
}

impl<'f> Input<'f> {
    fn new(file: &'f dyn OpenFile) -> Self {
        Self { file, offset: 0, left: 0, buffer: Vec::new(), at: 0, sum: crc32fast::Hasher::new() }
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        if self.buffer.len() - self.at < count {
            self.fill(count)?;
        }
        self.at += count;
        self.buffer.get(self.at - count..self.at)
    }

    fn fill(&mut self, count: usize) -> Option<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let have = self.buffer.len();
        let missing = (count - have) as u64;
        if missing > self.left {
            return None;
        }
        let more = self.left.min((CHUNK as u64).max(missing));
        self.buffer.resize(have + usize::try_from(more).ok()?, 0);
        let room = self.buffer.get_mut(have..)?;
        if !read_exactly(self.file, self.offset, room).ok()? {
            return None;
        }
        self.sum.update(room);
        self.offset += more;
        self.left -= more;
        Some(())
    }

    fn remaining(&self) -> u64 {
        self.left + (self.buffer.len() - self.at) as u64
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// The sum, if all was read and nothing is left.
    fn finish(&self) -> Option<u32> {
        (self.left == 0 && self.at == self.buffer.len()).then(|| self.sum.clone().finalize())
    }

    fn tail(&self, length: u64) -> Option<u32> {
        let mut sum = [0; 4];
        read_exactly(self.file, length - 4, &mut sum).ok()?.then(|| u32::from_le_bytes(sum))
    }
}

struct Output {
    file: Box<dyn OpenFile>,
    buffer: Vec<u8>,
    sum: crc32fast::Hasher,
}

impl Output {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sum.update(&self.buffer);
        append_all(self.file.as_mut(), &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        append_all(self.file.as_mut(), &self.sum.clone().finalize().to_le_bytes())
    }
}
