//! Journals as docs/format.md describes them, batch by batch.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use offshoot_session::format::{BlobName, BlobTrouble, Blobs, InBatch, LONGEST_INLINE, decode};
use offshoot_session::{Record, SessionId};

/// The state `n` of a journal is what its first `n` batches say.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    pub(crate) session: SessionId,
    pub(crate) batches: Vec<Batch>,
}

/// The records of one append.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) records: Vec<Record>,
    /// The length of the journal with this batch, in bytes.
    pub(crate) end: u64,
}

/// The states of a journal that a command can have seen: from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Window {
    pub(crate) fn has_state(self, state: usize) -> bool {
        (self.first..=self.last).contains(&state)
    }

    /// Whether this batch was written in the window.
    pub(crate) fn has_batch(self, batch: usize) -> bool {
        (self.first..self.last).contains(&batch)
    }
}

impl Journal {
    pub(crate) fn records(&self) -> usize {
        self.batches.iter().map(|batch| batch.records.len()).sum()
    }

    /// What was whole at these two lengths.
    pub(crate) fn window(&self, before: u64, after: u64) -> Window {
        let whole_at = |length: u64| self.batches.partition_point(|batch| batch.end <= length);
        Window { first: whole_at(before), last: whole_at(after) }
    }

    fn read(path: &Path) -> Self {
        let session = path.file_stem().and_then(|name| name.to_str()).expect("a name").into();
        let bytes = std::fs::read(path).expect("own file");
        let home = path.ancestors().nth(2).expect("a home");
        let blobs = Summaries { folder: home.join("blobs") };
        let (mut batches, mut records, mut end) = (Vec::new(), Vec::new(), 0);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            end += line.len() as u64;
            let line = line.strip_suffix(b"\n").expect("a whole line");
            let decoded = decode(line, &blobs).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            records.push(decoded.record);
            if decoded.in_batch == InBatch::Last {
                batches.push(Batch { records: std::mem::take(&mut records), end });
            }
        }
        assert!(records.is_empty(), "`{}` ends in the middle of a batch", path.display());
        Self { session, batches }
    }
}

/// Every journal in this folder.
pub(crate) fn all(folder: &Path) -> BTreeMap<SessionId, Journal> {
    let names = std::fs::read_dir(folder).expect("own directory").map_while(Result::ok);
    let paths = names.map(|name| name.path()).filter(|path| path.extension() == Some("jsonl".as_ref()));
    let journals = paths.map(|path| Journal::read(&path));
    journals.map(|journal| (journal.session.clone(), journal)).collect()
}

/// A long text is compared by how it begins and its length; `fsck` compares the rest with its hash.
pub(crate) fn in_short(text: &str) -> String {
    match text.len() > LONGEST_INLINE {
        true => summary(text.as_bytes(), text.len() as u64),
        false => text.to_owned(),
    }
}

fn summary(beginning: &[u8], length: u64) -> String {
    let beginning = beginning.get(..BEGINNING).unwrap_or(beginning);
    format!("{} and so on, {length} bytes", String::from_utf8_lossy(beginning))
}

const BEGINNING: usize = 40;

/// Long texts without reading megabytes for each session that has a copy.
struct Summaries {
    folder: PathBuf,
}

impl Blobs for Summaries {
    fn blob(&self, name: &BlobName) -> Result<Vec<u8>, BlobTrouble> {
        let name = name.as_str();
        let path = self.folder.join(name.get(..2).unwrap_or_default()).join(name);
        let (mut beginning, length) = ([0; BEGINNING], std::fs::metadata(&path).map(|file| file.len()));
        let read = std::fs::File::open(&path).and_then(|mut file| file.read_exact(&mut beginning));
        match (read, length) {
            (Ok(()), Ok(length)) => Ok(summary(&beginning, length).into_bytes()),
            (_, _) => Err(BlobTrouble::Missing),
        }
    }
}
