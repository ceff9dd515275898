//! The journal as it is: a copy that was checked on the way.

use std::cell::RefCell;
use std::collections::BTreeMap;

use offshoot_session::format::{BlobName, BlobTrouble, Blobs, Position, encode_batch, scan};
use offshoot_session::{Record, SessionTree};
use offshoot_store::{Home, JournalStore, SessionStore};

use super::{Export, ExportFile, id_of};
use crate::failure::Failure;
use crate::here::Here;
use crate::imported::for_the_store;
use crate::session_file::cannot_read;
use crate::stored::store_failed;
use crate::which::Which;
use crate::words::reading as words;

/// In a folder the copy is a home of its own, with the long texts that lie beside the journal.
pub(super) fn export(
    here: &Here,
    which: &Which,
    tree: &SessionTree,
    into_folder: bool,
) -> Result<Export, Failure> {
    let (lines, blobs) = match which {
        Which::Stored(id) if here.store()?.reference(id).is_none() => {
            let store = here.store()?;
            let path = store.home().journal(id);
            let mut bytes =
                offshoot_store::private::read(&path).map_err(|error| cannot_read(&path, &error))?;
            let seen = SeenBlobs { store: &store, seen: RefCell::default() };
            let scanned = scan(&bytes, Position::default(), &seen).map_err(store_failed)?;
            // What a crash left at the end was never acknowledged.
            bytes.truncate(usize::try_from(scanned.end.offset).unwrap_or(usize::MAX));
            (bytes, seen.seen.into_inner())
        }
        // With what another program wrote: a copy is complete in itself.
        Which::Stored(_) | Which::File(_) => {
            let records: Vec<Record> = for_the_store(tree.log().cloned().collect());
            let encoded = encode_batch(&records).map_err(store_failed)?;
            (encoded.bytes, encoded.blobs.into_iter().map(|blob| (blob.name, blob.bytes)).collect())
        }
    };
    let id = id_of(tree);
    if !into_folder {
        let notes = if blobs.is_empty() { Vec::new() } else { vec![words::blobs_left(blobs.len())] };
        let file = ExportFile { name: format!("{id}.jsonl").into(), bytes: lines };
        return Ok(Export { files: vec![file], notes, ..Export::default() });
    }
    let layout = Home::at("");
    let mut files = vec![ExportFile { name: layout.journal(&id.as_str().into()), bytes: lines }];
    files.extend(blobs.into_iter().map(|(name, bytes)| ExportFile { name: layout.blob(&name), bytes }));
    Ok(Export { files, needs_folder: true, ..Export::default() })
}

/// Remembers which blobs the lines refer to.
struct SeenBlobs<'s> {
    store: &'s JournalStore,
    seen: RefCell<BTreeMap<BlobName, Vec<u8>>>,
}

impl Blobs for SeenBlobs<'_> {
    fn blob(&self, name: &BlobName) -> Result<Vec<u8>, BlobTrouble> {
        match self.store.blob(name) {
            Ok(Some(bytes)) => {
                self.seen.borrow_mut().insert(name.clone(), bytes.clone());
                Ok(bytes)
            }
            Ok(None) => Err(BlobTrouble::Missing),
            Err(error) => Err(BlobTrouble::Unreadable(error.to_string())),
        }
    }
}
