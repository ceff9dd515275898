//! Kept copies that are not what was written any more: cut, emptied, deleted or changed by anything but us.
//!
//! A copy is only worth something if it can be read when the original is gone, so it is checked while the original still
//! exists and can be packed again.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::frames::{finished, unpack};
use super::keep::ends_of;
use super::place::{self, Kept};
use super::{Archive, Hold};
use crate::private;

/// How thoroughly a copy is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// That it exists, begins as a copy does, and ends with a mark for at least as many bytes as were kept.
    Ends,
    /// Also every byte.
    Whole,
}

/// The first bytes of a compressed frame.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

impl Archive {
    /// Why the copy of an original cannot be trusted; `None` if it is sound. `length` is how much of it was kept.
    pub fn damage(&self, original: &Path, length: u64, depth: Depth) -> Option<io::Error> {
        let kept = place::kept(&self.root, original)?;
        checked(&kept, length, depth).err()
    }

    /// Takes a damaged copy out of the way, so that its original is packed again. It is deleted if the original still has
    /// all of it, and renamed otherwise. Returns whether the original can be packed.
    pub fn clear_damaged(&self, _: &Hold, original: &Path) -> io::Result<bool> {
        let Some(kept) = place::kept(&self.root, original) else { return Ok(false) };
        let is_there = kept.database().unwrap_or(original).is_file();
        if is_there {
            clear(&kept, original)?;
        }
        Ok(is_there)
    }

    /// The original is gone and its second name is left: a damaged copy is packed again from that.
    pub(super) fn clear_for_link(&self, kept: &Kept) -> io::Result<()> {
        let link = kept.link();
        let is_damaged = || checked(kept, 0, Depth::Whole).is_err();
        if link.is_file() && is_damaged() { clear(kept, &link) } else { Ok(()) }
    }
}

impl Kept {
    /// Reads every byte of the copy.
    pub fn prove(&self) -> io::Result<()> {
        checked(self, 0, Depth::Whole)
    }
}

fn clear(kept: &Kept, source: &Path) -> io::Result<()> {
    kept.refuse_links()?;
    match kept.path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_file() && has_all_of_it(kept, source).unwrap_or(false) => {
            std::fs::remove_file(&kept.path)
        }
        // A directory, a link or a FIFO in its place is moved as it is.
        Ok(_) => std::fs::rename(&kept.path, free_name(kept)),
    }
}

fn checked(kept: &Kept, length: u64, depth: Depth) -> io::Result<()> {
    let damaged = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidData, why.to_owned()));
    let file = match kept.open_to_read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return damaged("the copy is missing"),
        file => file?,
    };
    let Some((_, mark)) = finished(&file)? else { return damaged("the copy is cut short") };
    let mut first = [0; FRAME.len()];
    let begins = file.read_exact_at(&mut first, 0).is_ok() && first == FRAME;
    if mark.length < length {
        return damaged("the copy is cut short");
    }
    if !begins && mark.length > 0 {
        return damaged("the copy does not begin as it was written");
    }
    match depth {
        Depth::Ends => Ok(()),
        Depth::Whole => unpack(file, &mut io::sink()).map(drop),
    }
}

/// Whether a file begins and ends, at the length of the copy, as the original did when it was kept.
fn has_all_of_it(kept: &Kept, source: &Path) -> io::Result<bool> {
    let file = kept.open_to_read()?;
    let Some((_, mark)) = finished(&file)? else { return Ok(true) };
    match private::open_foreign(source) {
        Ok(original) if original.metadata()?.len() >= mark.length => {
            Ok(ends_of(&original, mark.length)? == (mark.head, mark.tail))
        }
        Ok(_) | Err(_) => Ok(false),
    }
}

fn free_name(kept: &Kept) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = kept.path.as_os_str().to_owned();
        name.push(format!(".damaged-{number}"));
        PathBuf::from(name)
    };
    (1..).map(numbered).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| numbered(0))
}
