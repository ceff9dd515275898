//! Says once that Offshoot keeps copies of other agents' sessions.
//!
//! Copies are made by the command that looks for sessions, or by a background process without a terminal. Therefore
//! every command checks at its end whether there are copies that were never announced. A file of the archive records that
//! they were; only the command that creates it prints the line.

use std::fs::OpenOptions;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use offshoot_store::private;

use crate::args::Command;
use crate::here::Here;
use crate::talk::note_now;
use crate::text::harmless_line;
use crate::words::forget as words;

const ANNOUNCED: &str = "announced";

/// To be called when the command has printed its answer.
pub(crate) fn announce_once(command: &Command, here: &Here) {
    let is_about_program = matches!(
        command,
        Command::Completions(_)
            | Command::Man(_)
            | Command::Engine(_)
            | Command::AgentExec(_)
            | Command::Doctor(_)
    );
    if is_about_program || command.writes_no_file() {
        return;
    }
    let Some(archive) = here.archive() else { return };
    let marker = archive.root().join(ANNOUNCED);
    if marker.exists() || !has_copies(archive.root()) || is_discarded() {
        return;
    }
    if private::open(&marker, OpenOptions::new().write(true).create_new(true)).is_ok() {
        note_now(&words::announced(&harmless_line(&archive.root().to_string_lossy(), here.look.ascii)));
    }
}

/// Copies are below directories that mirror the paths of their originals.
fn has_copies(archive: &Path) -> bool {
    let items = std::fs::read_dir(archive).into_iter().flatten().flatten();
    items
        .filter(|item| item.file_name() != "backups")
        .any(|item| item.file_type().is_ok_and(|kind| kind.is_dir()))
}

/// Standard error leads to `/dev/null`, as that of a sync in the background does: the line would be lost.
fn is_discarded() -> bool {
    let Ok(stderr) = rustix::fs::fstat(rustix::stdio::stderr()) else { return true };
    std::fs::metadata("/dev/null")
        .is_ok_and(|null| null.rdev() == stderr.st_rdev && null.ino() == stderr.st_ino)
}
