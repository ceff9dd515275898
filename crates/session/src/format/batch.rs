//! The lines of one append: they count together or not at all.

use super::blob::Blob;
use super::line::{InBatch, Unwritable, encode};
use crate::{Record, Watch};

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
    let mut batch = EncodedBatch::default();
    for (index, record) in records.iter().enumerate() {
        let in_batch = if index + 1 < records.len() { InBatch::MoreFollow } else { InBatch::Last };
        let encoded = encode(record, in_batch)?;
        batch.bytes.extend_from_slice(&encoded.line);
        watch.passed(record.source.as_ref().map_or(encoded.line.len(), |source| source.bytes().len()));
        batch.lines += 1;
        batch.blobs.extend(encoded.blobs);
    }
    Ok(batch)
}
