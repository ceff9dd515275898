//! Opening below a directory, whatever lies on the way.
//!
//! Linux resolves the whole path below the directory and refuses what leads out. Elsewhere, and on kernels without that
//! call, the path is opened name by name and no link is followed.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};

/// Opens a path that has no `..`. Nothing is created.
pub(super) fn open_beneath(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if let Some(opened) = resolved(root, path, flags, ResolveFlags::empty()) {
        return opened;
    }
    open_stepwise(root, path, flags)
}

/// Opens a folder to write in it: no link on the way is followed. One in the workspace may lead to what is not written, such
/// as `.git`.
pub(super) fn open_without_links(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if let Some(opened) = resolved(root, path, flags, ResolveFlags::NO_SYMLINKS) {
        return opened;
    }
    open_stepwise(root, path, flags)
}

/// What a path leads to, without opening it.
pub(super) fn kind(root: BorrowedFd<'_>, path: &Path) -> io::Result<FileType> {
    #[cfg(target_os = "linux")]
    if let Some(opened) = resolved(root, path, OFlags::PATH, ResolveFlags::empty()) {
        return Ok(FileType::from_raw_mode(rustix::fs::fstat(opened?)?.st_mode));
    }
    let Some(name) = path.file_name() else { return Ok(FileType::Directory) };
    let folder = open_stepwise(root, path.parent().unwrap_or(Path::new("")), super::FOLDER)?;
    kind_at(folder.as_fd(), name)
}

/// What has this name in a folder; a link is a link.
pub(super) fn kind_at(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<FileType> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode))
}

/// Opens what has this name in a folder, and follows no link.
pub(super) fn open_at(folder: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    Ok(openat(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}

/// `None`: this kernel cannot, or a sandbox forbids the call.
#[cfg(target_os = "linux")]
fn resolved(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    more: ResolveFlags,
) -> Option<io::Result<OwnedFd>> {
    use rustix::fs::openat2;
    use rustix::io::Errno;
    /// The kernel gives up where something is renamed or mounted meanwhile.
    const ATTEMPTS: usize = 32;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    let open = || openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve);
    let mut opened = open();
    for _ in 1..ATTEMPTS {
        match opened {
            Err(Errno::AGAIN | Errno::INTR) => opened = open(),
            Ok(_) | Err(_) => break,
        }
    }
    match opened {
        Err(Errno::NOSYS | Errno::PERM) => None,
        opened => Some(opened.map_err(io::Error::from)),
    }
}

fn open_stepwise(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let names: Vec<&OsStr> = path.components().map(|part| part.as_os_str()).collect();
    let Some((last, above)) = names.split_last() else { return open_at(root, OsStr::new("."), flags) };
    let mut folder: Option<OwnedFd> = None;
    for name in above {
        let next = open_at(folder.as_ref().map_or(root, AsFd::as_fd), name, super::FOLDER)?;
        folder = Some(next);
    }
    open_at(folder.as_ref().map_or(root, AsFd::as_fd), last, flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way of systems that cannot resolve a whole path.
    #[test]
    fn step_by_step_no_link_is_followed() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("in")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("a/b/link")).unwrap();
        let root = rustix::fs::open(folder.path(), super::super::FOLDER, Mode::empty()).unwrap();
        let opens = |path: &str| open_stepwise(root.as_fd(), Path::new(path), OFlags::RDONLY).is_ok();
        assert!(opens("") && opens("a/b") && opens("a/b/file"));
        for path in ["out", "out/secret", "in/b/file", "a/b/link", "missing"] {
            assert!(!opens(path), "{path}");
        }
    }
}
