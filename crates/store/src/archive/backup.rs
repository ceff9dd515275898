//! The database of another program whole, once a day.
//!
//! Sessions are kept row by row with every change; what else a database holds (projects, lists of tasks, permissions)
//! is in these backups, so that a person can give the program its database back. They are made by SQLite itself, as one
//! state of the whole, and packed: `zstd -d` makes a database of each.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::trash::BACKUPS;
use super::{Archive, Hold};
use crate::opencode_database::{OpencodeDatabase, remove_sessions};
use crate::private;

/// So many of each database stay.
const LAST: usize = 2;

/// A larger one takes longer than a command should, and more room than all sessions together.
const LARGEST: u64 = 256 << 20;

const EFFORT: i32 = 3;

impl Archive {
    pub(super) fn place_of_backups(&self) -> PathBuf {
        self.root.join(BACKUPS)
    }

    /// Takes today's backup, where there is none yet; `now` is in microseconds since 1970. Older ones go.
    pub fn back_up(&self, hold: &Hold, database: &mut OpencodeDatabase, now: i64) -> io::Result<()> {
        let folder = self.place_of_backups();
        let of_database = format!("{}-", name_of(database.path()));
        let day = Timestamp::from_microsecond(now).unwrap_or_default().to_zoned(TimeZone::UTC).date();
        let place = folder.join(format!("{of_database}{day}.db.zst"));
        let is_large = std::fs::metadata(database.path())?.len() > LARGEST;
        if is_large || place.exists() {
            return Ok(());
        }
        private::create_directory(&folder)?;
        let copy = tempfile::Builder::new().prefix("unfinished-").tempdir_in(&folder)?;
        let (whole, packed) = (copy.path().join("whole.db"), copy.path().join("packed"));
        database.back_up(&whole).map_err(io::Error::other)?;
        remove_sessions(&whole, &hold.forgotten.ids_in(database.path())).map_err(io::Error::other)?;
        let file = private::open(&packed, OpenOptions::new().write(true).create_new(true))?;
        zstd::stream::copy_encode(BufReader::new(File::open(&whole)?), &file, EFFORT)?;
        file.sync_all()?;
        std::fs::rename(&packed, &place)?;
        File::open(&folder)?.sync_all()?;
        // days sort as their names do
        self.backups_of(database.path()).iter().rev().skip(LAST).try_for_each(std::fs::remove_file)
    }

    pub(super) fn backups_of(&self, database: &Path) -> Vec<PathBuf> {
        let mut all = self.backups();
        all.retain(|path| is_backup_of(path, database));
        all
    }

    /// All that there are, by name.
    pub fn backups(&self) -> Vec<PathBuf> {
        let items = std::fs::read_dir(self.place_of_backups()).into_iter().flatten().flatten();
        let mut backups: Vec<PathBuf> = items.map(|item| item.path()).filter(|path| path.is_file()).collect();
        backups.sort();
        backups
    }
}

/// By its name.
pub(super) fn is_backup_of(backup: &Path, database: &Path) -> bool {
    let of_database = format!("{}-", name_of(database));
    backup.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&of_database))
}

/// Tells databases of one name in several places apart.
fn name_of(database: &Path) -> String {
    let stem = database.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{stem}-{:08x}", crc32fast::hash(database.as_os_str().as_encoded_bytes()))
}
