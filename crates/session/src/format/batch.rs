//! The lines of one append: they count together or not at all.

use super::blob::Blob;
use super::line::{InBatch, USUAL_LENGTH, Unwritable, write};
use crate::{Record, Watch};

/// No more room than this is made before it is known how much is needed.
const MOST_ROOM: usize = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedBatch {
    /// Whole lines, in order.
    pub bytes: Vec<u8>,
    pub lines: u64,
    /// What the lines refer to; it must be safe before they are written.
    pub blobs: Vec<Blob>,
}

pub fn encode_batch(records: &[Record]) -> Result<EncodedBatch, Unwritable> {
    encode_batch_watched(records, &Watch::nobody())
}

/// The same, while somebody hears of every line.
pub fn encode_batch_watched(records: &[Record], watch: &Watch) -> Result<EncodedBatch, Unwritable> {
    let room = (records.len() * USUAL_LENGTH).min(MOST_ROOM);
    let mut batch = EncodedBatch { bytes: Vec::with_capacity(room), ..EncodedBatch::default() };
    for (index, record) in records.iter().enumerate() {
        let in_batch = if index + 1 < records.len() { InBatch::MoreFollow } else { InBatch::Last };
        let start = batch.bytes.len();
        batch.blobs.extend(write(record, in_batch, &mut batch.bytes)?);
        let length = batch.bytes.len() - start;
        watch.passed(record.source.as_ref().map_or(length, |source| source.bytes().len()));
        batch.lines += 1;
    }
    Ok(batch)
}
