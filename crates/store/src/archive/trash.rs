//! Forgetting a session: its copies go to the trash of the home for 30 days, or are deleted.
//!
//! ```text
//! archive/forgotten.json                          the session is not kept again
//! trash/0f5c-1700000000000000/home/dev/.claude/…  its copies, under the path they have in the archive
//! ```
//!
//! The list is written first and the copies are moved then: a process that is killed in between leaves a session that is
//! not kept any more, and forgetting it again moves the rest. Restoring does it the other way round.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use offshoot_session::file_name::file_name;

use super::beside::list_of;
use super::forgotten::{Forgotten, ForgottenSession};
use super::frames::unpack;
use super::place::{Version, mirrored};
use super::shared::{Shared, may_tell_of, names, newer_than};
use super::{Archive, Hold};
use crate::opencode_storage::{Messages, files_of};
use crate::private;

/// How long copies are in the trash, in microseconds.
pub(super) const TRASH_TIME: i64 = 30 * 24 * 60 * 60 * 1_000_000;

/// How long to wait for another process that keeps copies at this moment.
const PATIENCE: Duration = Duration::from_secs(30);
const A_MOMENT: Duration = Duration::from_millis(10);

/// What happens to the copies of a forgotten session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    ToTrash,
    Delete,
}

/// Which session to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forget {
    pub id: String,
    pub agent: Option<String>,
    pub original: PathBuf,
    pub copies: Copies,
    /// In microseconds since 1970.
    pub now: i64,
}

/// How many files were moved or deleted, and how large they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub files: usize,
    pub bytes: u64,
}

impl Moved {
    /// Called before the file is moved or deleted.
    fn count(&mut self, file: &Path) {
        self.files += 1;
        self.bytes += std::fs::symlink_metadata(file).map_or(0, |file| file.len());
    }
}

impl Archive {
    /// Waits for a process that is keeping copies.
    pub fn hold(&self) -> io::Result<Hold> {
        let begun = Instant::now();
        loop {
            if let Some(hold) = self.try_hold()? {
                return Ok(hold);
            }
            if begun.elapsed() >= PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process is keeping copies"));
            }
            std::thread::sleep(A_MOMENT);
        }
    }

    /// Removes the copies of a session and sees to it that it is not kept again.
    pub fn forget(&self, hold: &mut Hold, forget: &Forget) -> io::Result<(ForgottenSession, Moved)> {
        let mut all = hold.forgotten.clone();
        let at = all.position(&forget.original);
        let earlier = at.map(|at| all.0.remove(at));
        let copies = self.copies_of(&forget.id, &forget.original);
        let in_trash = earlier.as_ref().and_then(|session| session.trash.clone());
        let trash = match forget.copies {
            Copies::Delete => None,
            Copies::ToTrash if copies.is_empty() && in_trash.is_none() => None,
            Copies::ToTrash => Some(in_trash.clone().unwrap_or_else(|| trash_name(forget))),
        };
        let session = ForgottenSession {
            id: forget.id.clone(),
            agent: forget.agent.clone(),
            original: forget.original.clone(),
            // What goes to the trash now is there for 30 days from now.
            forgotten_at: earlier
                .filter(|_| copies.is_empty())
                .map_or(forget.now, |session| session.forgotten_at),
            trash,
        };
        all.0.push(session.clone());
        self.write_forgotten(hold, all)?;
        let mut moved = Moved::default();
        // Parts of a message are found through it, so it goes behind them: names of parts sort behind those of messages.
        for copy in copies.into_iter().rev() {
            moved.count(&copy);
            match &session.trash {
                Some(name) => self.move_to_trash(name, &copy)?,
                None => std::fs::remove_file(&copy)?,
            }
            self.remove_empty_directories(&copy);
        }
        if forget.copies == Copies::Delete {
            let own = in_trash.map_or(Ok(Moved::default()), |name| self.delete_trash(&name))?;
            let others = self.delete_from_other_trash(&session)?;
            for deleted in [own, others] {
                moved = Moved { files: moved.files + deleted.files, bytes: moved.bytes + deleted.bytes };
            }
        }
        self.take_titles(hold, &session)?;
        Ok((session, moved))
    }

    /// Brings the copies of a session back, if they are still in the trash, and allows that it is kept again. A list or
    /// backup is not brought back if a newer one was kept meanwhile, or if it has words of another forgotten session.
    pub fn restore(&self, hold: &mut Hold, session: &ForgottenSession) -> io::Result<Moved> {
        let mut moved = Moved::default();
        if let Some(name) = &session.trash {
            let top = self.trash().join(name);
            // All places are checked before the first file is moved.
            for (file, place) in self.places_to_restore(hold, session, &top)? {
                moved.count(&file);
                self.make_directory_of(&self.root, &place)?;
                std::fs::rename(&file, &place)?;
            }
            self.give_titles(hold, &top.join(TITLES))?;
        }
        let mut all = hold.forgotten.clone();
        all.0.retain(|one| one.original != session.original);
        self.write_forgotten(hold, all)?;
        if let Some(name) = &session.trash {
            self.delete_trash(name)?;
        }
        Ok(moved)
    }

    /// The files of the trash to bring back, and where to.
    fn places_to_restore(
        &self,
        hold: &Hold,
        session: &ForgottenSession,
        top: &Path,
    ) -> io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut places = Vec::new();
        for file in files_below(top) {
            let Some(below) = file.strip_prefix(top).ok().filter(|below| *below != Path::new(TITLES)) else {
                continue;
            };
            let place = self.root.join(below);
            let shared = Shared::of(below);
            let mut others = hold.forgotten.iter().filter(|other| other.original != session.original);
            match shared {
                Some(shared) if newer_than(shared, &place).symlink_metadata().is_ok() => continue,
                Some(shared) if others.any(|other| names(&file, shared, &other.id)) => continue,
                Some(_) => {}
                None if place.symlink_metadata().is_ok() => {
                    let why = format!("`{}` already exists", place.display());
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
                }
                None => {}
            }
            places.push((file, place));
        }
        Ok(places)
    }

    /// Words of a session are also in lists and backups that went to the trash with another session.
    fn delete_from_other_trash(&self, session: &ForgottenSession) -> io::Result<Moved> {
        let (trash, mut deleted) = (self.trash(), Moved::default());
        for file in files_below(&trash) {
            let below = file.strip_prefix(&trash).ok().and_then(|below| {
                let mut parts = below.components();
                parts.next().map(|_| parts.as_path())
            });
            let Some(shared) = below.and_then(Shared::of) else { continue };
            if may_tell_of(&file, shared, session) {
                deleted.count(&file);
                std::fs::remove_file(&file)?;
            }
        }
        Ok(deleted)
    }

    /// Deletes what has been in the trash for 30 days. The sessions stay forgotten.
    pub fn empty_trash(&self, now: i64) -> io::Result<()> {
        let is_over = |session: &ForgottenSession| {
            session.trash.is_some() && now.saturating_sub(session.forgotten_at) > TRASH_TIME
        };
        if !self.forgotten()?.iter().any(is_over) {
            return Ok(());
        }
        let Some(mut hold) = self.try_hold()? else { return Ok(()) };
        let mut all = hold.forgotten.clone();
        for session in all.0.iter_mut().filter(|session| is_over(session)) {
            if let Some(name) = session.trash.take() {
                self.delete_trash(&name)?;
            }
        }
        self.write_forgotten(&mut hold, all)
    }

    /// Reads every copy in the trash; returns how many there are and which cannot be read.
    pub fn prove_trash(&self) -> (u64, Vec<(PathBuf, io::Error)>) {
        let copies = files_below(&self.trash()).into_iter();
        let copies = copies.filter(|file| self.kept_at_trash(file).is_some());
        let (mut count, mut problems) = (0, Vec::new());
        for copy in copies {
            count += 1;
            let read = private::open(&copy, OpenOptions::new().read(true));
            if let Err(error) = read.and_then(|file| unpack(file, &mut io::sink())) {
                problems.push((copy, error));
            }
        }
        (count, problems)
    }

    fn trash(&self) -> PathBuf {
        self.root.with_file_name("trash")
    }

    /// A copy of the trash, and not a backup of a database or a second name.
    fn kept_at_trash(&self, file: &Path) -> Option<()> {
        let trash = self.trash();
        let mut below = file.strip_prefix(&trash).ok()?.components();
        below.next()?;
        let below = below.as_path();
        (!below.starts_with(BACKUPS)).then(|| self.kept_at(&self.root.join(below))).flatten().map(drop)
    }

    /// Every file of the archive that has something of a session: its copies, earlier ones, its second name, the files
    /// that belong to it, lists of sessions that name it, and backups of the database that it is in.
    fn copies_of(&self, id: &str, original: &Path) -> Vec<PathBuf> {
        let Some(place) = mirrored(&self.root, original) else { return Vec::new() };
        let mut found = named_after(&place);
        let own_directory = original.with_extension("");
        if own_directory != original {
            found.extend(
                mirrored(&self.root, &own_directory).map(|top| files_below(&top)).unwrap_or_default(),
            );
        }
        let messages = files_of(original, Messages::ThatWereThere, self).into_iter();
        let copies = |file: PathBuf| mirrored(&self.root, &file).map(|place| named_after(&place));
        found.extend(messages.filter_map(copies).flatten());
        let lists = copies(list_of(original)).unwrap_or_default().into_iter();
        found.extend(lists.filter(|list| names(list, Shared::List, id)));
        let database = original.parent().filter(|folder| folder.extension().is_some_and(|end| end == "db"));
        found.extend(database.map(|database| self.backups_of(database)).unwrap_or_default());
        found.sort();
        found.dedup();
        found
    }

    fn move_to_trash(&self, name: &str, copy: &Path) -> io::Result<()> {
        let below = copy.strip_prefix(&self.root).map_err(io::Error::other)?;
        let place = self.trash().join(name).join(below);
        self.make_directory_of(&self.trash(), &place)?;
        // It can have been kept again, for example while the list of forgotten sessions was gone.
        if place.symlink_metadata().is_ok() {
            match Shared::of(below) {
                // The newer one is kept. Renaming one name of a file over another name of it would change nothing.
                Some(_) => std::fs::remove_file(&place)?,
                None => std::fs::rename(&place, self.earlier_in_trash(&place, copy))?,
            }
        }
        std::fs::rename(copy, place)
    }

    /// A free name in the trash for a copy that a newer one takes the place of.
    fn earlier_in_trash(&self, place: &Path, copy: &Path) -> PathBuf {
        let numbered = |number: u32| match self.kept_at(copy) {
            Some(kept) => {
                let name = kept.as_version(Version::Old(number)).path;
                place.with_file_name(name.file_name().unwrap_or_default())
            }
            None => {
                let mut name = place.as_os_str().to_owned();
                name.push(format!(".old-{number}"));
                name.into()
            }
        };
        (1..).map(numbered).find(|free| free.symlink_metadata().is_err()).unwrap_or_else(|| numbered(0))
    }

    /// No directory below `top` may be a link.
    fn make_directory_of(&self, top: &Path, file: &Path) -> io::Result<()> {
        let depth = file.strip_prefix(top).map_or(0, |below| below.components().count());
        private::refuse_links(file, depth)?;
        private::create_directory(file.parent().unwrap_or(top))
    }

    fn delete_trash(&self, name: &str) -> io::Result<Moved> {
        let top = self.trash().join(name);
        let files = files_below(&top);
        let bytes =
            files.iter().map(|file| std::fs::symlink_metadata(file).map_or(0, |file| file.len())).sum();
        match std::fs::remove_dir_all(&top) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(Moved { files: files.len(), bytes }),
        }
    }

    /// A path can be as private as what is said in it.
    fn remove_empty_directories(&self, copy: &Path) {
        let above = copy.ancestors().skip(1).take_while(|folder| *folder != self.root);
        for folder in above {
            if std::fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }

    /// Titles of the session, from the archive into the trash.
    fn take_titles(&self, hold: &Hold, session: &ForgottenSession) -> io::Result<()> {
        let one = Forgotten(vec![session.clone()]);
        let (gone, stays): (Vec<_>, Vec<_>) =
            self.titles().into_iter().partition(|title| one.has_id(&title.agent, &title.session));
        if gone.is_empty() {
            return Ok(());
        }
        if let Some(name) = &session.trash {
            let place = self.trash().join(name).join(TITLES);
            self.make_directory_of(&self.trash(), &place)?;
            private::replace(&place, super::titles::lines_of(&gone).as_bytes())?;
        }
        self.replace_titles(hold, &stays)
    }

    fn give_titles(&self, hold: &Hold, from: &Path) -> io::Result<()> {
        match private::read(from) {
            Ok(bytes) => self.keep_all_titles(hold, &super::titles::titles_of(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

const TITLES: &str = "titles.jsonl";
pub(super) const BACKUPS: &str = "backups";

fn trash_name(forget: &Forget) -> String {
    format!("{}-{}", file_name(&forget.id), forget.now)
}

/// The copies of one file: `a.jsonl.zst`, `.link`, `.was-1.zst`, `.old-1.zst`, and unfinished or damaged ones.
fn named_after(place: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else { return Vec::new() };
    let is_copy = |file: &Path| {
        let file = file.file_name().map(|file| file.as_encoded_bytes().to_vec()).unwrap_or_default();
        let ending = file.strip_prefix(name.as_encoded_bytes()).unwrap_or_default();
        [&b".zst"[..], b".link", b".was-", b".old-"].iter().any(|known| ending.starts_with(known))
    };
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = items.filter(|item| item.file_type().is_ok_and(|kind| !kind.is_dir()));
    files.map(|item| item.path()).filter(|file| is_copy(file)).collect()
}

fn files_below(top: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![top.to_owned()]);
    while let Some(folder) = open.pop() {
        for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match item.file_type() {
                Ok(kind) if kind.is_dir() => open.push(item.path()),
                Ok(_) => found.push(item.path()),
                Err(_) => {}
            }
        }
    }
    found
}
