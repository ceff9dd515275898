//! The bytes of a kept file: frames of zstd, and behind each a mark that says what it completes.
//!
//! ```text
//! frame  mark  frame  mark  …
//! ```
//!
//! What a file grew by is one frame more, and several where it is much. A mark is a frame that every reader of zstd steps over, so `zstd -d` gives the
//! file back. What stands behind the last mark was never finished and is not read. Each frame carries a checksum of
//! what it holds.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use serde_json::{Value, json};
use zstd::stream::read::Decoder;
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx, ResetDirective};

use crate::files::Pages;

/// How the original was when it was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// So many bytes are kept.
    pub length: u64,
    /// When it was written last, in nanoseconds since 1970.
    pub modified: i64,
    pub inode: u64,
    pub device: u64,
    /// Checksums of the first and the last bytes that are kept.
    pub head: u32,
    pub tail: u32,
    /// In so many pieces, each behind the other.
    pub frames: u32,
    /// Some of it was only laid there, to be packed when there is time.
    pub is_loose: bool,
    /// When the first and the last of it were kept, in microseconds since 1970.
    pub since: i64,
    pub kept_at: i64,
}

/// Little more than a copy, which a first look has time for.
const LOOSE: i32 = -500;
const QUICK: i32 = 1;
const THOROUGH: i32 = 6;

/// Frames that begin so are stepped over (zstd leaves sixteen such numbers to everybody).
const MAGIC: [u8; 4] = 0x184D_2A5E_u32.to_le_bytes();
const ROOM: usize = 312;
/// A mark is always this long, so the last one is found from the end.
pub(super) const MARK: usize = 8 + ROOM;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    Loose,
    Quick,
    Thorough,
}

impl Mark {
    fn encoded(&self) -> Vec<u8> {
        let mut said = json!({
            "offshoot": 1, "length": self.length, "modified": self.modified, "inode": self.inode,
            "device": self.device, "head": self.head, "tail": self.tail, "frames": self.frames,
            "since": self.since, "kept_at": self.kept_at,
        });
        if let (true, Some(said)) = (self.is_loose, said.as_object_mut()) {
            said.insert("loose".to_owned(), true.into());
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend((ROOM as u32).to_le_bytes());
        bytes.extend(said.to_string().into_bytes());
        bytes.resize(MARK, b' ');
        bytes
    }

    fn decoded(bytes: &[u8]) -> Option<Self> {
        let room = bytes.strip_prefix(&MAGIC)?.strip_prefix(&(ROOM as u32).to_le_bytes())?;
        let said: Value = serde_json::from_slice(room.get(..ROOM)?).ok()?;
        (said.get("offshoot")?.as_u64()? == 1).then_some(())?;
        let number = |name: &str| u32::try_from(said.get(name)?.as_u64()?).ok();
        Some(Self {
            length: said.get("length")?.as_u64()?,
            modified: said.get("modified")?.as_i64()?,
            inode: said.get("inode")?.as_u64()?,
            device: said.get("device")?.as_u64()?,
            head: number("head")?,
            tail: number("tail")?,
            frames: number("frames")?,
            is_loose: said.get("loose").and_then(Value::as_bool).unwrap_or(false),
            since: said.get("since")?.as_i64()?,
            kept_at: said.get("kept_at")?.as_i64()?,
        })
    }
}

/// How far the file is finished, and the mark that says so.
pub(super) fn finished(file: &File) -> io::Result<Option<(u64, Mark)>> {
    let length = file.metadata()?.len();
    let mut last = [0; MARK];
    if length >= MARK as u64
        && file.read_exact_at(&mut last, length - MARK as u64).is_ok()
        && let Some(mark) = Mark::decoded(&last)
    {
        return Ok(Some((length, mark)));
    }
    let mut bytes = Vec::new();
    (&*file).seek(SeekFrom::Start(0))?;
    (&*file).read_to_end(&mut bytes)?;
    Ok(last_mark(&bytes))
}

/// Steps from frame to frame as long as they are whole.
fn last_mark(bytes: &[u8]) -> Option<(u64, Mark)> {
    let (mut at, mut found) = (0, None);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(mark) = Mark::decoded(rest) {
            at += MARK;
            found = Some((at as u64, mark));
            continue;
        }
        match zstd_safe::find_frame_compressed_size(rest) {
            Ok(length) if length > 0 => at += length,
            Ok(_) | Err(_) => break,
        }
    }
    found
}

/// Adds what `from` still gives, as one frame and the mark `of` makes for so many bytes. The file must be readable and end
/// where it is finished. What was written is read back before the mark says that it is kept.
pub(super) fn add(
    into: &mut File,
    from: &mut dyn Read,
    effort: Effort,
    of: impl FnOnce(u64) -> Mark,
) -> io::Result<Mark> {
    into.seek(SeekFrom::End(0))?;
    let level = match effort {
        Effort::Loose => LOOSE,
        Effort::Quick => QUICK,
        Effort::Thorough => THOROUGH,
    };
    let length = TOOLS.with_borrow_mut(|tools| pack(into, from, level, tools))?;
    let mark = of(length);
    let mark = Mark { is_loose: mark.is_loose || effort == Effort::Loose, ..mark };
    into.write_all(&mark.encoded())?;
    Ok(mark)
}

/// A frame holds no more of an original than this. It is packed where it lies: a stream would copy it once more.
const FRAME: usize = 2 << 20;

/// What packing needs is large, and the same for every file: each thread has it once.
struct Tools {
    context: CCtx<'static>,
    plain: Pages,
    packed: Vec<u8>,
    read_back: ReadBack,
}

struct ReadBack {
    context: DCtx<'static>,
    packed: Vec<u8>,
    plain: Vec<u8>,
}

impl ReadBack {
    /// Fails unless the frame at this place of the file unpacks to these bytes.
    fn check(&mut self, file: &File, at: u64, length: usize, plain: &[u8]) -> io::Result<()> {
        self.packed.resize(length, 0);
        file.read_exact_at(&mut self.packed, at)?;
        self.plain.clear();
        self.context.decompress(&mut self.plain, &self.packed).map_err(not_packed)?;
        if self.plain == plain { Ok(()) } else { Err(damaged()) }
    }
}

thread_local! {
    static TOOLS: RefCell<Tools> = RefCell::new(Tools {
        context: CCtx::create(),
        plain: Pages::default(),
        packed: Vec::with_capacity(zstd_safe::compress_bound(FRAME)),
        read_back: ReadBack {
            context: DCtx::create(),
            packed: Vec::new(),
            plain: Vec::with_capacity(FRAME),
        },
    });
}

fn pack(into: &mut File, from: &mut dyn Read, level: i32, tools: &mut Tools) -> io::Result<u64> {
    let Tools { context, plain, packed, read_back } = tools;
    let set = |context: &mut CCtx<'static>| {
        // the file before may have ended in the middle
        context.reset(ResetDirective::SessionAndParameters)?;
        context.set_parameter(CParameter::CompressionLevel(level))?;
        context.set_parameter(CParameter::ChecksumFlag(true))
    };
    set(context).map_err(not_packed)?;
    let mut length = 0;
    loop {
        let count = fill(from, plain.room(FRAME))?;
        // nothing at all is one frame too
        if count > 0 || length == 0 {
            packed.clear();
            context.compress2(packed, plain.filled(count)).map_err(not_packed)?;
            let at = into.stream_position()?;
            into.write_all(packed)?;
            read_back.check(into, at, packed.len(), plain.filled(count))?;
            length += count as u64;
        }
        if count < FRAME {
            return Ok(length);
        }
    }
}

/// As much as there is.
fn fill(from: &mut dyn Read, room: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn not_packed(code: zstd_safe::ErrorCode) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

/// All that is kept, into `to`.
pub(super) fn unpack(file: File, to: &mut dyn Write) -> io::Result<Mark> {
    let mut reader = unpacked(file)?;
    let length = io::copy(&mut reader.bytes, to)?;
    if length == reader.mark.length { Ok(reader.mark) } else { Err(damaged()) }
}

pub(super) struct Unpacked {
    pub(super) mark: Mark,
    pub(super) bytes: Box<dyn Read>,
}

pub(super) fn unpacked(mut file: File) -> io::Result<Unpacked> {
    let (end, mark) = finished(&file)?.ok_or_else(damaged)?;
    file.rewind()?;
    let bytes = Box::new(Decoder::new(BufReader::with_capacity(256 << 10, file.take(end)))?);
    Ok(Unpacked { mark, bytes })
}

pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what is kept is damaged")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn open(path: &Path) -> File {
        File::open(path).expect("own file")
    }

    fn mark_in(path: &Path) -> Option<Mark> {
        finished(&open(path)).expect("own file").map(|(_, mark)| mark)
    }

    fn packed(pieces: &[&[u8]]) -> (tempfile::NamedTempFile, Mark) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let mut mark = Mark::default();
        for piece in pieces {
            let before = mark.length;
            let of = |length| Mark {
                length: before + length,
                since: i64::MIN,
                device: u64::MAX,
                is_loose: true,
                ..mark
            };
            mark = add(file.as_file_mut(), &mut &**piece, Effort::Quick, of).expect("own file");
        }
        (file, mark)
    }

    #[test]
    fn what_was_packed_in_pieces_comes_back_whole() {
        let (file, mark) = packed(&[b"one ", b"", b"two "]);
        let mut bytes = Vec::new();
        assert_eq!(unpack(open(file.path()), &mut bytes).expect("own file"), mark);
        assert_eq!(bytes, b"one two ");
        assert_eq!(mark_in(file.path()), Some(mark));
    }

    #[test]
    fn an_end_that_was_never_finished_is_not_read() {
        let (file, mark) = packed(&[b"one ", b"two "]);
        let whole = std::fs::read(file.path()).expect("own file");
        let (longer, _) = packed(&[b"one ", b"two ", b"three and more"]);
        let longer = std::fs::read(longer.path()).expect("own file");
        for end in whole.len()..longer.len() {
            std::fs::write(file.path(), &longer[..end]).expect("own file");
            let mut bytes = Vec::new();
            assert_eq!(unpack(open(file.path()), &mut bytes).expect("own file"), mark, "cut at {end}");
            assert_eq!(bytes, b"one two ");
        }
        for end in 0..MARK {
            std::fs::write(file.path(), &whole[..end]).expect("own file");
            assert_eq!(mark_in(file.path()), None);
        }
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let (file, mark) = packed(&[b"a long sentence that is said once, and is said once more"]);
        let whole = std::fs::read(file.path()).expect("own file");
        for at in 0..whole.len() - MARK {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(file.path(), &bytes).expect("own file");
            let mut out = Vec::new();
            let is_same = unpack(open(file.path()), &mut out).is_ok_and(|read| read == mark);
            // the frame's header has bits that mean nothing
            assert!(
                !is_same || out == b"a long sentence that is said once, and is said once more",
                "byte {at}"
            );
        }
    }
}
