//! Reading and adding files in the folder of Claude Code.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use offshoot_session::long_lines::LongLines;
use rustix::fs::OFlags;

const CHUNK: usize = 1 << 20;

/// Facts about a regular file in the folder.
pub(super) fn about(home: &Path, path: &Path) -> io::Result<Metadata> {
    refuse_way_out(home, path)?;
    let about = path.symlink_metadata()?;
    match about.is_file() {
        true => Ok(about),
        false => Err(not_regular()),
    }
}

/// Opens a regular file in the folder. A link is refused, and so is a FIFO or a device, which could block.
pub(super) fn open(home: &Path, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    refuse_way_out(home, path)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular()),
    }
}

/// A whole file without its longest lines ([`LongLines`]).
pub(super) fn read(home: &Path, path: &Path) -> io::Result<Vec<u8>> {
    let mut lines = LongLines::default();
    read_in_chunks(home, path, |chunk| lines.push(chunk))?;
    Ok(lines.finish().bytes)
}

pub(super) fn read_in_chunks(home: &Path, path: &Path, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut file = open(home, path, OpenOptions::new().read(true))?;
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => take(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes a file that must not exist, for its owner only. A file that could not be written whole is removed.
pub(super) fn write_new(home: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    refuse_way_out(home, path)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        std::fs::remove_file(path)?;
    }
    written
}

/// Gives every regular file of a folder a second name in another folder.
pub(super) fn link_all(home: &Path, from: &Path, to: &Path) -> io::Result<()> {
    refuse_way_out(home, &from.join("any"))?;
    let files = std::fs::read_dir(from)?;
    make_folder(to)?;
    refuse_way_out(home, &to.join("any"))?;
    for file in files {
        let file = file?;
        if file.file_type()?.is_file() {
            std::fs::hard_link(file.path(), to.join(file.file_name()))?;
        }
    }
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The folder of a file may be reached through links, as long as they stay in the home.
fn refuse_way_out(home: &Path, path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path).canonicalize()?;
    match folder.starts_with(home.canonicalize()?) {
        true => Ok(()),
        false => Err(io::Error::other("a link leads out of the folder of Claude Code")),
    }
}

fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file")
}
