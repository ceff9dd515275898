//! Where a file is kept: under the path it has, below the archive.
//!
//! ```text
//! /home/dev/.claude/projects/-work/0f5c.jsonl          a file of Claude Code
//! archive/home/dev/.claude/projects/-work/0f5c.jsonl.zst        what is kept of it
//! archive/home/dev/.claude/projects/-work/0f5c.jsonl.link       its second name
//! archive/home/dev/.claude/projects/-work/0f5c.jsonl.was-1.zst  how it was before it was written anew: it says
//!                                                               something that the newer one does not
//! archive/home/dev/.claude/projects/-work/0f5c.jsonl.old-1.zst  the same, and all it says is in the newer one
//! ```
//!
//! So a person finds everything again, and `zstd -d` is all that is needed to read it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::frames::{Mark, finished};
use crate::private;

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub path: PathBuf,
    /// Where its program had it.
    pub original: PathBuf,
    pub version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// As it was last seen.
    Last,
    /// As it was before it was written anew, and says what no later one says.
    Was(u32),
    /// As it was before, and others say all that it says.
    Old(u32),
}

impl Version {
    /// The last has none.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Last => 0,
            Self::Was(number) | Self::Old(number) => number,
        }
    }
}

/// The same folder, in the archive. `None` for a path that does not begin at the root, or goes up.
pub(super) fn mirrored(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut mirrored = root.to_owned();
    let mut parts = path.components();
    (parts.next()? == Component::RootDir).then_some(())?;
    for part in parts {
        match part {
            Component::Normal(name) => mirrored.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(mirrored)
}

pub(super) fn kept(root: &Path, original: &Path) -> Option<Kept> {
    let path = with_ending(&mirrored(root, original)?, ".zst");
    Some(Kept { path, original: original.to_owned(), version: Version::Last })
}

pub(super) fn kept_at(root: &Path, path: &Path) -> Option<Kept> {
    // asked of every file of a list, so what is surely no kept file is told from its letters
    path.as_os_str().as_bytes().starts_with(root.as_os_str().as_bytes()).then_some(())?;
    let below = path.strip_prefix(root).ok()?;
    let name = below.file_name()?.as_bytes().strip_suffix(b".zst")?;
    let (name, version) = split_version(name);
    let original = Path::new("/").join(below).with_file_name(OsStr::from_bytes(name));
    Some(Kept { path: path.to_owned(), original, version })
}

fn split_version(name: &[u8]) -> (&[u8], Version) {
    let split = || {
        let dot = memchr::memrchr(b'.', name)?;
        let (name, ending) = (name.get(..dot)?, std::str::from_utf8(name.get(dot..)?).ok()?);
        let numbered = |word: &str| ending.strip_prefix(word)?.parse().ok();
        let version = numbered(".was-").map(Version::Was).or_else(|| numbered(".old-").map(Version::Old))?;
        Some((name, version))
    };
    split().unwrap_or((name, Version::Last))
}

impl Kept {
    /// Opens the copy. Neither it nor a directory of the archive above it may be a symbolic link.
    pub(super) fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        self.refuse_links()?;
        private::open(&self.path, options)
    }

    pub(super) fn open_to_read(&self) -> io::Result<File> {
        self.open(OpenOptions::new().read(true))
    }

    /// The archive mirrors the path of the original, so as many directories above the copy belong to the archive.
    pub(super) fn refuse_links(&self) -> io::Result<()> {
        private::refuse_links(&self.path, self.original.components().count().saturating_sub(1))
    }

    /// The last mark of the copy. Returns `None` if nothing was ever finished in it.
    pub fn mark(&self) -> Option<Mark> {
        self.open_to_read().and_then(|file| finished(&file)).ok()?.map(|(_, mark)| mark)
    }

    /// The second name of the original.
    pub(super) fn link(&self) -> PathBuf {
        let path = self.path.as_os_str().as_bytes();
        let path = path.strip_suffix(b".zst").unwrap_or(path);
        with_ending(Path::new(OsStr::from_bytes(path)), ".link")
    }

    /// Where it is written before it takes the place of what is kept.
    pub(super) fn unfinished(&self) -> PathBuf {
        with_ending(&self.path, ".new")
    }

    /// Another version of the same file.
    pub(crate) fn as_version(&self, version: Version) -> Self {
        let ending = match version {
            Version::Last => ".zst".to_owned(),
            Version::Was(number) => format!(".was-{number}.zst"),
            Version::Old(number) => format!(".old-{number}.zst"),
        };
        let name = self.original.file_name().unwrap_or_default();
        let path = with_ending(&self.path.with_file_name(name), &ending);
        Self { path, original: self.original.clone(), version }
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_file_tells_where_it_was() {
        let root = Path::new("/h/archive");
        for original in ["/u/.pi/a.jsonl", "/u/x.db/ses_1", "/a.was-1", "/b.old-x.json"] {
            let last = kept(root, Path::new(original)).expect("a place");
            for version in [Version::Last, Version::Was(1), Version::Old(12)] {
                let one = last.as_version(version);
                if original.ends_with(".was-1") && version == Version::Last {
                    continue; // the one name that reads as another
                }
                assert_eq!(kept_at(root, &one.path), Some(one.clone()), "{one:?}");
                assert!(one.path.starts_with(root));
            }
        }
        assert_eq!(
            kept(root, Path::new("/u/a.jsonl")).expect("a place").link(),
            Path::new("/h/archive/u/a.jsonl.link")
        );
    }

    #[test]
    fn nothing_is_kept_outside() {
        let root = Path::new("/h/archive");
        assert_eq!(kept(root, Path::new("a.jsonl")), None);
        assert_eq!(kept(root, Path::new("/u/../../etc/a")), None);
        assert_eq!(kept_at(root, Path::new("/h/archived/u/a.jsonl.zst")), None);
        assert_eq!(kept_at(root, Path::new("/h/archive/u/a.jsonl.link")), None);
        assert_eq!(kept_at(root, Path::new("/h/archive/lock")), None);
    }
}
