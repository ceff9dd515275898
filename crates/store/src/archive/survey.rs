//! How much is kept, and proof that it is whole.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::frames::{finished, unpack};
use super::{Archive, Kept};

/// What is kept, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub files: usize,
    /// Those whose original is gone.
    pub without_original: usize,
    /// Earlier states of files that were written anew.
    pub earlier: usize,
    /// As their programs wrote them.
    pub bytes: u64,
    /// As they lie on the disk.
    pub packed: u64,
    /// Only the archive has a name for these bytes any more: the original is gone, and not yet packed.
    pub linked: u64,
    /// Databases that are kept whole besides, and how large these backups are.
    pub backups: usize,
    pub backed_up: u64,
    /// When the first was kept, in microseconds since 1970.
    pub since: Option<i64>,
}

/// What is wrong with what is kept.
#[derive(Debug, Default)]
pub struct Proof {
    pub files: u64,
    pub bytes: u64,
    /// Copies in the trash, which are not counted as kept.
    pub in_trash: u64,
    /// Ends that were never finished. Nothing of them was promised.
    pub unfinished: u64,
    pub problems: Vec<(PathBuf, io::Error)>,
}

impl Archive {
    pub fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        for backup in self.backups() {
            survey.backups += 1;
            survey.backed_up += std::fs::metadata(backup).map_or(0, |file| file.len());
        }
        for file in self.files() {
            let Some(kept) = self.kept_at(&file) else {
                let metadata = std::fs::metadata(&file).ok();
                survey.linked += metadata.filter(|file| file.nlink() == 1).map_or(0, |file| file.len());
                continue;
            };
            let Some(mark) = kept.mark() else { continue };
            survey.files += 1;
            survey.bytes += mark.length;
            survey.packed += std::fs::metadata(&file).map_or(0, |file| file.len());
            survey.since = survey.since.map_or(Some(mark.since), |since| Some(since.min(mark.since)));
            match kept.version {
                super::place::Version::Last => {
                    let is_there = kept.database().unwrap_or(&kept.original).exists();
                    survey.without_original += usize::from(!is_there);
                }
                super::place::Version::Was(_) | super::place::Version::Old(_) => survey.earlier += 1,
            }
        }
        survey
    }

    /// Reads every frame.
    pub fn prove(&self, progress: &mut dyn FnMut(usize, usize)) -> Proof {
        let mut proof = Proof::default();
        let files: Vec<Kept> = self.files().iter().filter_map(|file| self.kept_at(file)).collect();
        for (done, kept) in files.iter().enumerate() {
            progress(done, files.len());
            match proven(kept) {
                Ok((bytes, is_finished)) => {
                    proof.files += u64::from(bytes.is_some());
                    proof.bytes += bytes.unwrap_or_default();
                    proof.unfinished += u64::from(!is_finished);
                }
                Err(error) => proof.problems.push((kept.path.clone(), error)),
            }
        }
        proof
    }

    /// The originals of all copies that were finished once, as they were last seen.
    pub(crate) fn last_copies(&self) -> Vec<PathBuf> {
        let copies = self.files().into_iter().filter_map(|file| self.kept_at(&file));
        let last = copies.filter(|kept| kept.version == super::Version::Last && kept.mark().is_some());
        last.map(|kept| kept.original).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match item.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(item.path()),
                    Ok(_) => found.push(item.path()),
                    Err(_) => {}
                }
            }
        }
        let backups = self.place_of_backups();
        let lists = [self.place_of_titles(), self.place_of_forgotten()];
        found.retain(|file| !lists.contains(file) && !file.starts_with(&backups));
        found.sort();
        found
    }
}

/// How many bytes are kept, and whether the file ends where they do.
fn proven(kept: &Kept) -> io::Result<(Option<u64>, bool)> {
    let file = kept.open_to_read()?;
    let Some((end, _)) = finished(&file)? else { return Ok((None, false)) };
    let is_finished = end == file.metadata()?.len();
    Ok((Some(unpack(file, &mut io::sink())?.length), is_finished))
}
