//! A session file of another program, opened.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use offshoot_session::format::{VERSION, version_of};
use offshoot_session::{Odd, Oddity, SessionId, SessionTree};
use offshoot_store::archive::Kept;
use offshoot_store::opencode_storage::Messages;
use offshoot_store::steady::{Changed, Steady, read_steadily};
use offshoot_store::titles_beside::titled;
use offshoot_store::{DiskFiles, Finding, Loaded, beside};
use offshoot_transcripts::{Transcript, Unreadable, Watched};

use crate::failure::Failure;
use crate::here::Here;
use crate::{database, progress, stored, words};

#[derive(Debug)]
pub(crate) struct SessionFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: usize,
    pub(crate) lines: usize,
    pub(crate) dialect: String,
    pub(crate) unknown_types: Vec<(String, u64)>,
    /// What reading forgave, then what building the tree forgave.
    pub(crate) oddities: Vec<Forgiven>,
    /// What somebody who only looks should know: the file is half written, or changed under its reader.
    pub(crate) notes: Vec<String>,
    pub(crate) tree: SessionTree,
}

#[derive(Debug)]
pub(crate) struct Forgiven {
    pub(crate) line: Option<u64>,
    pub(crate) text: String,
}

impl From<&Oddity> for Forgiven {
    fn from(oddity: &Oddity) -> Self {
        Self { line: oddity.line, text: oddity.to_string() }
    }
}

impl From<&Finding> for Forgiven {
    fn from(finding: &Finding) -> Self {
        let line = match finding {
            Finding::Flaw(found) => Some(found.line),
            Finding::TornTail(_) | Finding::Source(_) => None,
            Finding::Odd(oddity) | Finding::Theirs(oddity) => oddity.line,
        };
        Self { line, text: finding.to_string() }
    }
}

/// The journal of a stored session, seen as a file like any other.
pub(crate) fn journal(here: &Here, id: &SessionId) -> Result<SessionFile, Failure> {
    let Loaded { tree, findings } = stored::read(here, id)?;
    let path = here.store()?.home().journal(id);
    let bytes = bytes_of(&path)?;
    Ok(SessionFile {
        path,
        bytes: bytes.len(),
        lines: count_lines(&bytes),
        dialect: format!("offshoot v{}", tree.header().map_or(VERSION, version_of)),
        unknown_types: Vec::new(),
        oddities: findings.iter().map(Forgiven::from).collect(),
        notes: Vec::new(),
        tree,
    })
}

pub(crate) fn open(here: &Here, path: &Path) -> Result<SessionFile, Failure> {
    let archive = here.archive();
    if let Some(kept) = archive.as_ref().and_then(|archive| archive.kept_at(path)) {
        return open_kept(here, &kept);
    }
    if let Some(place) = database::named(path) {
        return database::open(&place);
    }
    let Steady { bytes, changed } = match steady_bytes_of(path) {
        Ok(steady) => steady,
        // whoever names a file that was there gets what is kept of it
        Err(failure) => {
            let kept = std::path::absolute(path).ok().and_then(|path| archive.as_ref()?.kept(&path));
            return kept.map_or(Err(failure), |kept| open_kept(here, &kept));
        }
    };
    let watch = progress::of_bytes(words::MEGABYTES_READ, bytes.len() as u64, &here.look);
    let watched = Watched::by(&watch, &bytes);
    let transcript = beside::read(&absolute(path), watched, archive.as_ref(), Messages::ThatAreThere)
        .map_err(|unreadable| not_understood(path, &bytes, &unreadable))?;
    let file = understood(path, &bytes, changed, transcript);
    Ok(SessionFile { tree: titled(path, file.tree, archive.as_ref()), ..file })
}

/// A file that its program has no more, or not so. It is read under the name it had, with what was beside it.
fn open_kept(here: &Here, kept: &Kept) -> Result<SessionFile, Failure> {
    let bytes = kept.bytes().map_err(|error| cannot_read(&kept.path, &error))?;
    let watch = progress::of_bytes(words::MEGABYTES_READ, bytes.len() as u64, &here.look);
    let transcript = match kept.is_of_database() {
        true => kept.read(&bytes),
        false => {
            let (archive, file) = (here.archive(), Watched::by(&watch, &bytes));
            beside::read(&kept.original, file, archive.as_ref(), Messages::ThatWereThere)
        }
    };
    let transcript = transcript.map_err(|unreadable| not_understood(&kept.path, &bytes, &unreadable))?;
    let file = understood(&kept.path, &bytes, None, transcript);
    Ok(SessionFile { tree: titled(&kept.original, file.tree, here.archive().as_ref()), ..file })
}

fn understood(path: &Path, bytes: &[u8], changed: Option<Changed>, transcript: Transcript) -> SessionFile {
    let Transcript { dialect, records, mut oddities, unknown_types } = transcript;
    let (tree, more_oddities) = SessionTree::replay(records);
    oddities.extend(more_oddities);
    oddities.extend(changed.map(|changed| Oddity::new(Odd::Repaired(changed.to_string()))));
    SessionFile {
        path: path.to_owned(),
        bytes: bytes.len(),
        lines: count_lines(bytes),
        dialect: dialect.name(),
        unknown_types: unknown_types.into_iter().collect(),
        oddities: oddities.iter().map(Forgiven::from).collect(),
        notes: notes_on(&oddities, changed),
        tree,
    }
}

pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What somebody who only looks should know of these.
pub(crate) fn notes_on(oddities: &[Oddity], changed: Option<Changed>) -> Vec<String> {
    let is_torn = oddities.iter().any(|oddity| matches!(oddity.what, Odd::TornTail { .. }));
    let torn = is_torn.then(|| words::reading::UNFINISHED.to_owned());
    torn.into_iter().chain(changed.map(|changed| words::reading::changed(&changed.to_string()))).collect()
}

/// As one state, also while its program writes it.
fn steady_bytes_of(path: &Path) -> Result<Steady, Failure> {
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(Steady { bytes: bytes_of(path)?, changed: None });
    }
    read_steadily(&DiskFiles, path).map_err(|error| cannot_read(path, &error.source))
}

/// A file that was named on the command line.
pub(crate) fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let kind = std::fs::metadata(path).map_err(|error| cannot_read(path, &error))?.file_type();
    if kind.is_dir() {
        return Err(Failure::failed(words::is_a_folder(path)).hint(words::is_a_folder_hint(path)));
    }
    if is_device(kind) {
        return Err(Failure::failed(words::is_a_device(path)).hint(words::NO_FILE_HINT));
    }
    // A pipe that was named on the command line is read to its end.
    std::fs::read(path).map_err(|error| cannot_read(path, &error))
}

/// A device may never end.
#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: std::fs::FileType) -> bool {
    false
}

pub(crate) fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        // A file that vanished after its name was typed is told in the same words.
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            Failure::not_found(words::no_file(path)).hint(words::NO_FILE_HINT)
        }
        ErrorKind::PermissionDenied => {
            Failure::failed(words::not_allowed(path)).hint(words::not_allowed_hint(path))
        }
        _ => Failure::failed(words::cannot_read(path, error)),
    }
}

pub(crate) fn not_understood(path: &Path, bytes: &[u8], unreadable: &Unreadable) -> Failure {
    match unreadable {
        Unreadable::Empty => Failure::failed(words::is_empty(path)).hint(words::IS_EMPTY_HINT),
        Unreadable::NotASession(_) if bytes.contains(&0) => {
            Failure::failed(words::is_binary(path)).hint(words::FORMATS_HINT)
        }
        Unreadable::NotASession(reason) => {
            Failure::failed(words::is_not_a_session(path, reason)).hint(words::FORMATS_HINT)
        }
    }
}

fn count_lines(bytes: &[u8]) -> usize {
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
    ends + usize::from(bytes.last().is_some_and(|last| *last != b'\n'))
}
