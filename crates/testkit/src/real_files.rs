//! Session files that real programs have written, where a folder with them is at hand.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a test says that is skipped without such a folder.
pub const NO_REAL_FILES: &str = "set OFFSHOOT_SHARED to a folder with `fixtures`";

/// The files with this ending in some parts of the folder, sorted by name; none where the folder is not there. `named`
/// is what the person calls it; otherwise it is `shared` beside the repository that `manifest` lies in.
pub fn real_files(named: Option<OsString>, manifest: &str, parts: &[&str], ending: &str) -> Vec<PathBuf> {
    let root = Path::new(manifest).ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    let beside = || root.map(|root| root.join("../shared"));
    let Some(shared) = named.map(PathBuf::from).or_else(beside) else { return Vec::new() };
    let mut open: Vec<PathBuf> = parts.iter().map(|part| shared.join(part)).collect();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
