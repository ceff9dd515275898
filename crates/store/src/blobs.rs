//! Long strings beside the journals, each under the hash of its bytes.
//!
//! A blob appears under its name in one step, whole and synced, so a name in the folder is a promise about the
//! bytes; reading checks it all the same.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_session::format::{Blob, BlobName, BlobTrouble, Blobs};
use thiserror::Error;

use crate::files::{About, FileError, Files, Open, append_all, read_from};
use crate::home::Home;

#[derive(Debug, Error)]
pub enum BlobError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{}` is damaged: its bytes do not have the hash it is named by", path.display())]
    Damaged { path: PathBuf },
}

/// The blobs of a home, for whoever decodes lines.
#[derive(Debug)]
pub(crate) struct StoredBlobs<'h> {
    pub(crate) files: &'h dyn Files,
    pub(crate) home: &'h Home,
}

impl Blobs for StoredBlobs<'_> {
    fn blob(&self, name: &BlobName) -> Result<Vec<u8>, BlobTrouble> {
        match get(self.files, self.home, name) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(BlobTrouble::Missing),
            Err(BlobError::Damaged { .. }) => Err(BlobTrouble::Damaged),
            Err(BlobError::File(error)) => Err(BlobTrouble::Unreadable(error.source.to_string())),
        }
    }
}

/// Puts a blob where it belongs and makes it safe. One that is there and sound is left alone; one that is
/// damaged is replaced.
pub(crate) fn put(files: &dyn Files, home: &Home, blob: &Blob) -> Result<(), FileError> {
    let folder = home.blob_folder(&blob.name);
    files.create_folder(&folder).about("create the folder", &folder)?;
    match get(files, home, &blob.name) {
        Ok(Some(_)) => {}
        Ok(None) | Err(BlobError::Damaged { .. }) => write(files, home, blob)?,
        Err(BlobError::File(error)) => return Err(error),
    }
    // Also for one that was there: whoever wrote it may not have come this far.
    for folder in [folder.as_path(), &home.blobs(), home.root()] {
        files.sync_folder(folder).about("sync the folder", folder)?;
    }
    Ok(())
}

/// `None` where there is none of this name.
pub(crate) fn get(files: &dyn Files, home: &Home, name: &BlobName) -> Result<Option<Vec<u8>>, BlobError> {
    let path = home.blob(name);
    let file = match files.open(&path, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        result => result.about("open", &path)?,
    };
    let bytes = read_from(file.as_ref(), 0).about("read", &path)?;
    if BlobName::of(&bytes) != *name {
        return Err(BlobError::Damaged { path });
    }
    Ok(Some(bytes))
}

fn write(files: &dyn Files, home: &Home, blob: &Blob) -> Result<(), FileError> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let path = home.blob(&blob.name);
    let unfinished = path.with_file_name(format!(".{}-{}-{number}", blob.name, std::process::id()));
    let mut file = create(files, &unfinished)?;
    let written = append_all(file.as_mut(), &blob.bytes)
        .about("write", &unfinished)
        .and_then(|()| file.sync().about("sync", &unfinished))
        .and_then(|()| files.rename(&unfinished, &path).about("rename to", &path));
    if written.is_err() {
        let _ = files.remove(&unfinished);
    }
    written
}

/// A name left by a process of the same number that was killed is taken over.
fn create(files: &dyn Files, path: &std::path::Path) -> Result<Box<dyn crate::files::OpenFile>, FileError> {
    match files.open(path, Open::CreateNew) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            files.remove(path).about("remove", path)?;
            files.open(path, Open::CreateNew).about("create", path)
        }
        result => result.about("create", path),
    }
}
