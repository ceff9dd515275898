//! Long strings live beside the journal, under the hash of their bytes.

use std::fmt;

use thiserror::Error;

/// The BLAKE3 hash of some bytes in 64 lower-case hex digits, which is also their name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobName(String);

/// Bytes on their way to a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub name: BlobName,
    pub bytes: Vec<u8>,
}

/// Where blobs come from while a line is decoded.
pub trait Blobs {
    /// The bytes that have this name; their hash has been checked.
    fn blob(&self, name: &BlobName) -> Result<Vec<u8>, BlobTrouble>;
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BlobTrouble {
    #[error("missing")]
    Missing,
    #[error("its bytes do not have the hash it is named by")]
    Damaged,
    #[error("not readable: {0}")]
    Unreadable(String),
}

/// A place without blobs.
#[derive(Clone, Copy, Debug)]
pub struct NoBlobs;

impl BlobName {
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }

    /// `None` where the text is not the name of a blob.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Blob {
    pub fn of(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self { name: BlobName::of(&bytes), bytes }
    }
}

impl Blobs for NoBlobs {
    fn blob(&self, _: &BlobName) -> Result<Vec<u8>, BlobTrouble> {
        Err(BlobTrouble::Missing)
    }
}

impl fmt::Display for BlobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BlobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobName({})", self.0)
    }
}
