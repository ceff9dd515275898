//! Catalogs of places that were named with `--source`.
//!
//! A catalog knows only the places that it is about, so those that are named instead have one of their own: nothing is
//! forgotten of the others. Nobody counts how often a place is named, so one that was not used for a month is given up.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use offshoot_session::format::BlobName;

use crate::here::Here;

const USUAL: &str = "catalog.db";
const A_MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The name of the catalog of these places.
pub(crate) fn file_name(named: &[PathBuf], here: &Here) -> String {
    if named.is_empty() {
        return USUAL.to_owned();
    }
    let places: Vec<PathBuf> = named.iter().map(|place| here.folder.join(place)).collect();
    let places: Vec<&[u8]> = places.iter().map(|place| place.as_os_str().as_encoded_bytes()).collect();
    let hash = BlobName::of(&places.join(&b"\n"[..]));
    format!("catalog-{}.db", hash.as_str().get(..16).unwrap_or_default())
}

/// Takes those away that were not written for long. A sync writes down now and then that it was there, so one in use is
/// young; and what is lost is only the time to read it all again.
pub(crate) fn forget_old(home: &Path, now: Timestamp) {
    let is_old = |file: &Path| {
        let written = file.metadata().and_then(|file| file.modified());
        let age = written.ok().and_then(|written| SystemTime::from(now).duration_since(written).ok());
        age.is_some_and(|age| age > A_MONTH)
    };
    for files in all_in(home) {
        let is_young = |file: &PathBuf| file.exists() && !is_old(file);
        if !files.iter().any(is_young) {
            remove(&files);
        }
    }
}

/// Removes all of them. They are made again from the files they are about.
pub(crate) fn remove_all(home: &Path) {
    all_in(home).iter().for_each(|files| remove(files));
}

/// The files of each catalog.
fn all_in(home: &Path) -> Vec<[PathBuf; 3]> {
    let names = std::fs::read_dir(home).into_iter().flatten().flatten();
    let catalogs = names.map(|item| item.path()).filter(|path| is_named(path));
    let files = |path: PathBuf| {
        ["-wal", "-shm", ""].map(|end| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        })
    };
    catalogs.map(files).collect()
}

/// A file that cannot be removed does no harm.
fn remove(files: &[PathBuf]) {
    for file in files {
        let _ = std::fs::remove_file(file);
    }
}

/// `catalog-`, the hash and `.db`.
fn is_named(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let hash = name.strip_prefix("catalog-").and_then(|name| name.strip_suffix(".db"));
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
