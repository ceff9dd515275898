//! The words on disk: records as lines of a journal, and lines back as records. Bytes in, bytes out.
//!
//! `docs/format.md` is the specification. Three modules tell the story of a line: [`mod@line`] turns one record into
//! one sealed line and back, [`batch`] makes the lines of one append, [`mod@scan`] reads a whole journal and says
//! what it forgave; [`draft`] has the lines of replies that are still being written. The structs that are serialised live in `words` and are seen by nobody else, so the model
//! can change without the format and the format without the model.
//!
//! One decision: a line that holds anything this version does not know keeps its bytes as the record's source,
//! and a record whose source is still its own line is written as that line. So a field of a later version
//! survives being copied by this one. Its price is a comparison when such a record is written.

pub mod batch;
pub mod blob;
pub mod draft;
pub mod line;
pub mod scan;
pub mod skim;

mod from_disk;
mod seal;
mod to_disk;
mod words;

pub use batch::{EncodedBatch, encode_batch, encode_batch_watched};
pub use blob::{Blob, BlobName, BlobTrouble, Blobs, NoBlobs};
pub use line::{Decoded, Encoded, InBatch, Note, Undecodable, Unwritable, decode, encode};
pub use scan::{Flaw, Found, NewerFormat, Position, Scanned, Tail, TornBy, scan, scan_short_lines};
pub use seal::{Damage, SEAL_LENGTH};

/// The newest format that this version reads and writes. A journal gets the oldest number whose readers understand it.
pub const VERSION: u64 = 2;

/// Journals that are complete in themselves.
const COMPLETE: u64 = 1;

/// Journals that go on with a session of another program: whoever does not look there would take the half for the
/// whole.
const REFERRING: u64 = 2;

/// The format of a journal that begins with this header.
pub fn version_of(header: &crate::SessionHeader) -> u64 {
    if header.foreign.is_some() { REFERRING } else { COMPLETE }
}

/// Strings of more bytes than this lie in blobs.
pub const LONGEST_INLINE: usize = 64 * 1024;
