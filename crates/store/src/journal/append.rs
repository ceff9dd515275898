//! From records to bytes that survive.
//!
//! The order is the whole point: what a crash left at the end is set aside, blobs are made safe, the lines are
//! written and synced, and only then is it told. A failure on the way cuts the file back, and the tree with it.

use std::io;
use std::path::Path;

use offshoot_session::format::{
    EncodedBatch, Position, SEAL_LENGTH, Tail, encode_batch, encode_batch_watched,
};
use offshoot_session::{Record, SessionHeader};

use super::room::Room;
use super::{Journal, Seen, Writer};
use crate::blobs;
use crate::files::{About, FileError, Open, OpenFile, append_all};
use crate::short_lines::Between;
use crate::store::{AppendError, Appended, CreateError, Left, Repaired};

impl Journal {
    /// The file gets its name and the name is made safe before the header is written: whoever can see the
    /// session may rely on it.
    pub(super) fn begin(&mut self, records: &[Record]) -> Result<Appended, CreateError> {
        let _lock = self.lock().map_err(AppendError::from)?;
        if self.load().map_err(AppendError::from)? {
            return Err(CreateError::Exists(self.id.clone()));
        }
        let batch = encode_batch_watched(records, &self.watch).map_err(AppendError::from)?;
        self.make_file().map_err(AppendError::from)?;
        self.fold(records.to_vec());
        Ok(self.save(batch, records.len())?)
    }

    /// Under the lock, with all read that there is.
    pub(super) fn append(&mut self, records: &[Record]) -> Result<Appended, AppendError> {
        if records.is_empty() {
            return Ok(Appended::default());
        }
        let before = self.tree.log_length();
        self.tree.extend(records)?;
        let appended = self.save_all(records);
        match appended {
            Ok(_) => {
                self.own_records += records.len();
                self.generation = self.generation.next();
            }
            Err(_) => self.tree.take_back_to(before),
        }
        appended
    }

    fn save_all(&mut self, records: &[Record]) -> Result<Appended, AppendError> {
        match self.unwritten.clone() {
            Some(header) => self.save_first(header, records),
            None => self.save(encode_batch(records)?, records.len()),
        }
    }

    /// The header and the first change are one batch: there is a whole journal, or none.
    fn save_first(&mut self, header: SessionHeader, records: &[Record]) -> Result<Appended, AppendError> {
        let batch: Vec<Record> =
            [Record::opened(header)].into_iter().chain(records.iter().cloned()).collect();
        let lines = encode_batch(&batch)?;
        self.make_file()?;
        let appended = self.save(lines, batch.len())?;
        self.unwritten = None;
        Ok(appended)
    }

    fn save(&mut self, lines: EncodedBatch, records: usize) -> Result<Appended, AppendError> {
        let path = self.path();
        // It is put back when all went well; after a failure the next write opens it anew.
        let Writer { mut file, identity, mut room } = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let file = self.files.open(&path, Open::Append).about("open", &path)?;
                let identity = file.stat().about("read", &path)?.identity;
                Writer { file, identity, room: Room::default() }
            }
        };
        let repaired = match self.tail {
            Some(tail) => Some(self.set_aside(file.as_mut(), tail)?),
            None => None,
        };
        for blob in &lines.blobs {
            blobs::put(self.files.as_ref(), &self.home, blob)?;
        }
        let start = self.seen.end.offset;
        let bytes = lines.bytes;
        room.make(file.as_mut(), start, bytes.len() as u64 + u64::from(self.seen.end.owes_newline));
        if let Err(source) =
            self.end_last_line(file.as_mut()).and_then(|()| write_and_sync(file.as_mut(), &bytes, &path))
        {
            let left = take_back(file.as_mut(), start);
            return Err(AppendError::NotSaved { path, source, left });
        }
        self.writer = Some(Writer { file, identity, room });
        self.seen = Seen {
            identity,
            end: Position {
                offset: start + u64::from(self.seen.end.owes_newline) + bytes.len() as u64,
                lines: self.seen.end.lines + lines.lines,
                owes_newline: false,
            },
            seal: seal_of(&bytes),
        };
        Ok(Appended { records, bytes: bytes.len() as u64, repaired })
    }

    /// Takes the name, or takes over a file in which no session was ever born.
    fn make_file(&mut self) -> Result<(), FileError> {
        let path = self.path();
        match self.files.open(&path, Open::CreateNew) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => {
                file.about("create", &path)?;
            }
        }
        let folder = self.home.sessions();
        self.files.sync_folder(&folder).about("sync the folder", &folder)
    }

    /// Gives the last line the newline it lost. Synced on its own: a hole behind the line must not reach it.
    fn end_last_line(&mut self, file: &mut dyn OpenFile) -> Result<(), FileError> {
        if self.seen.end.owes_newline {
            write_and_sync(file, b"\n", &self.path())?;
        }
        Ok(())
    }

    /// Keeps the torn tail in a file of its own, then cuts it off. Synced on its own: lines written over a cut
    /// that did not last would leave a rest of the tail behind them.
    fn set_aside(&mut self, file: &mut dyn OpenFile, tail: Tail) -> Result<Repaired, FileError> {
        let path = self.path();
        let end = self.seen.end.offset;
        let mut number = 1;
        let (kept_in, mut copy) = loop {
            let kept_in = self.home.torn(&self.id, number);
            match self.files.open(&kept_in, Open::CreateNew) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                copy => break (kept_in.clone(), copy.about("create", &kept_in)?),
            }
        };
        let kept = self.copy_tail(file, end, copy.as_mut(), &kept_in).and_then(|()| {
            let folder = self.home.sessions();
            self.files.sync_folder(&folder).about("sync the folder", &folder)
        });
        if let Err(error) = kept {
            let _ = self.files.remove(&kept_in);
            return Err(error);
        }
        file.truncate(end).about("cut the torn end of", &path)?;
        file.sync().about("sync", &path)?;
        self.tail = None;
        Ok(Repaired { bytes: tail.bytes, kept_in })
    }

    fn copy_tail(
        &self,
        file: &dyn OpenFile,
        from: u64,
        copy: &mut dyn OpenFile,
        kept_in: &Path,
    ) -> Result<(), FileError> {
        let path = self.path();
        let to = file.stat().about("read", &path)?.length;
        let mut tail = Between { file, from, to };
        let mut chunk = vec![0; CHUNK];
        loop {
            match io::Read::read(&mut tail, &mut chunk) {
                Ok(0) => return copy.sync().about("sync", kept_in),
                Ok(count) => {
                    append_all(copy, chunk.get(..count).unwrap_or_default()).about("write", kept_in)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error).about("read", &path),
            }
        }
    }
}

/// Larger tails are copied in chunks of this size.
const CHUNK: usize = 1 << 20;

/// The end of what was written, by which the next reading knows it again.
fn seal_of(bytes: &[u8]) -> Vec<u8> {
    bytes.get(bytes.len().saturating_sub(SEAL_LENGTH + 1)..).unwrap_or_default().to_vec()
}

fn write_and_sync(file: &mut dyn OpenFile, bytes: &[u8], path: &Path) -> Result<(), FileError> {
    append_all(file, bytes).about("write", path)?;
    file.sync().about("sync", path)
}

/// A failed append must leave nothing of itself. After a failed sync the disk may hold any part of the bytes, so
/// they go even when all of them were written.
fn take_back(file: &mut dyn OpenFile, length: u64) -> Left {
    match file.truncate(length) {
        Ok(()) => {
            // The old length is what was acknowledged. If it does not last, the bytes that come back are a torn
            // tail or a whole step, and both are sound.
            let _ = file.sync();
            Left::Nothing
        }
        Err(_) => Left::Perhaps,
    }
}
