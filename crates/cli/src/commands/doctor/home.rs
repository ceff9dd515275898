//! What there is to look at in a home.

use std::fs::{OpenOptions, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use offshoot_session::SessionId;
use offshoot_store::archive::Depth;
use offshoot_store::catalog::{Catalog, CatalogError};
use offshoot_store::private::{Privacy, inspect, open};
use offshoot_store::{Home, JournalStore, Loaded, SessionStore};

use super::Check;
use crate::failure::Failure;
use crate::foreign::is_there;
use crate::here::Here;
use crate::kept_copies::{damaged_copies, forgotten_counts};
use crate::numbers::{bytes, counted};
use crate::opened::is_damage;
use crate::progress::Progress;
use crate::settings;
use crate::stored::{list_failed, read_even_if_taken_back};
use crate::words as all_words;
use crate::words::forget::counts;
use crate::words::{catalog as found, keep as words};

/// Less than this and a long answer may not fit.
const SCARCE: u64 = 100 * 1024 * 1024;

pub(super) fn checks(here: &Here) -> Result<Vec<Check>, Failure> {
    let store = here.store()?;
    let home = store.home();
    let mut checks = vec![
        Check::well("program", format!("offshoot {}", env!("CARGO_PKG_VERSION"))),
        Check::well("format", format!("reads and writes {}", offshoot_session::format::VERSION)),
    ];
    let is_there = home.root().is_dir();
    checks.push(place(here, home, is_there));
    if !is_there {
        return Ok(checks);
    }
    checks.push(rights(home.root()));
    checks.extend(space(home.root()));
    match store.list() {
        Ok(sessions) => {
            checks.push(Check::well("disk use", disk_use(home)));
            checks.push(archive(here));
            checks.extend(search(home));
            checks.push(locks(home, &sessions));
            checks.push(journals(here, &sessions));
            checks.extend(sources(&store));
        }
        Err(error) => {
            let hint = format!("`ls -ld {}` shows who may look in", home.sessions().display());
            checks.push(Check::problem("sessions", list_failed(&error).message(), hint));
        }
    }
    Ok(checks)
}

fn place(here: &Here, home: &Home, is_there: bool) -> Check {
    let place = format!("{} ({})", home.root().display(), here.home_from());
    match home.root().symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Check::well("home", format!("{place}, made with the first session"))
        }
        Err(error) => Check::problem("home", format!("{place}: {error}"), "`--home DIR` names another"),
        Ok(_) if !is_there => {
            Check::problem("home", format!("{place} is not a folder"), "`--home DIR` names another")
        }
        Ok(_) => Check::well("home", place),
    }
}

/// Conversations are nobody else's business.
fn rights(root: &Path) -> Check {
    use rustix::fs::{Access, access};
    let mode = root.metadata().map(|metadata| metadata.permissions().mode() & 0o777).unwrap_or_default();
    let rights = format!("{mode:03o}");
    match inspect(root) {
        Ok(Privacy::OfAnotherUser) => {
            let told = all_words::home_of_another_user(root);
            return Check::problem("rights", told, all_words::HOME_OF_ANOTHER_USER_HINT);
        }
        Ok(Privacy::HasLink(link)) => {
            return Check::problem("rights", all_words::link_in_home(&link), all_words::LINK_IN_HOME_HINT);
        }
        Ok(Privacy::Private | Privacy::HasOpenFiles | Privacy::Open) | Err(_) => {}
    }
    if access(root, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return Check::problem(
            "rights",
            format!("{rights}, you may not write there"),
            format!("`ls -ld {}` shows who may", root.display()),
        );
    }
    match mode & 0o077 {
        0 => Check::well("rights", format!("{rights}, yours alone")),
        _ => Check::problem(
            "rights",
            format!("{rights}, others of this machine can look in"),
            format!("chmod 700 {}", root.display()),
        ),
    }
}

fn space(root: &Path) -> Option<Check> {
    let disk = rustix::fs::statvfs(root).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let text = format!("{} free", bytes(free));
    Some(if free < SCARCE {
        Check::problem("space", text, "free some space before it runs out")
    } else {
        Check::well("space", text)
    })
}

fn disk_use(home: &Home) -> String {
    let (mut journals, mut torn) = ((0, 0), (0, 0));
    for (name, length) in files_in(&home.sessions()) {
        let sum = match () {
            () if name.ends_with(".jsonl") => &mut journals,
            () if name.contains(".torn-") => &mut torn,
            () => continue,
        };
        *sum = (sum.0 + 1, sum.1 + length);
    }
    let mut blobs = (0, 0);
    let folders = std::fs::read_dir(home.blobs()).into_iter().flatten().flatten();
    for (_, length) in folders.flat_map(|folder| files_in(&folder.path())) {
        blobs = (blobs.0 + 1, blobs.1 + length);
    }
    let told = |(count, length): (usize, u64), one, more| {
        format!("{} with {}", counted(count, one, more), bytes(length))
    };
    let mut parts = vec![told(journals, "journal", "journals"), told(blobs, "blob", "blobs")];
    if torn.0 > 0 {
        parts.push(told(torn, "torn end set aside", "torn ends set aside"));
    }
    parts.join(", ")
}

/// What is kept of other programs' sessions.
fn archive(here: &Here) -> Check {
    if let Some(Err(error)) = here.archive().map(|archive| archive.forgotten()) {
        let hint = "nothing is kept until it can be read; delete it to keep all sessions again";
        return Check::problem("archive", error.to_string(), hint);
    }
    let survey = here.archive().map(|archive| archive.survey()).unwrap_or_default();
    let damaged = damaged_copies(here, Depth::Ends).len();
    if damaged > 0 {
        let text =
            format!("{}, {} damaged", words::disk_use(&survey), counted(damaged, "copy is", "copies are"));
        return Check::problem(
            "archive",
            text,
            "`offshoot keep --now` packs them again from their originals",
        );
    }
    let (forgotten, in_trash) = forgotten_counts(here);
    let forgotten = counts(forgotten, in_trash).map(|counts| format!("; {counts}")).unwrap_or_default();
    match settings::keeps(here) {
        Ok(true) => Check::well("archive", words::disk_use(&survey) + &forgotten),
        Ok(false) => {
            Check::well("archive", format!("{}, nothing new is kept{forgotten}", words::disk_use(&survey)))
        }
        Err(failure) => {
            Check::problem("archive", failure.message(), "`offshoot config show` lists what is wrong")
        }
    }
}

fn files_in(folder: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let file = |entry: std::fs::DirEntry| {
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((entry.file_name().to_string_lossy().into_owned(), metadata.len()))
    };
    entries.filter_map(file).collect()
}

/// How far what was said is indexed, where there is a catalog.
fn search(home: &Home) -> Option<Check> {
    let path = home.root().join("catalog.db");
    path.exists().then(|| {
        let read = || {
            let catalog = Catalog::open(&path)?;
            let tools = if catalog.wants_tools()? { Some(catalog.tools_reached()?) } else { None };
            Ok::<String, CatalogError>(found::indexed(&catalog.parts_reached()?, tools.as_ref()))
        };
        match read() {
            Ok(text) => Check::well("search", text),
            Err(error) => Check::problem("search", error.to_string(), "`offshoot sync` makes it anew"),
        }
    })
}

/// Who is writing now. A lock that is held is no problem; it says why a change may have to wait.
fn locks(home: &Home, sessions: &[SessionId]) -> Check {
    let held: Vec<String> = sessions
        .iter()
        .filter_map(|id| {
            let mut file = open(&home.lock(id), OpenOptions::new().read(true)).ok()?;
            // Shared and for a moment only, so whoever wants to write just looks again.
            let is_held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
            let mut holder = String::new();
            let _ = file.by_ref().take(1024).read_to_string(&mut holder);
            is_held.then(|| format!("{id} by {}", holder.trim()))
        })
        .collect();
    match held.as_slice() {
        [] => Check::well("locks", "none held"),
        held => Check::well("locks", format!("{} held: {}", held.len(), held.join(", "))),
    }
}

/// Files of other programs that sessions go on with.
fn sources(store: &JournalStore) -> Option<Check> {
    let references = store.references().ok().filter(|references| !references.is_empty())?;
    let gone: Vec<&str> = references
        .iter()
        .filter(|(_, source)| !is_there(Path::new(&source.path)))
        .map(|(_, source)| source.path.as_str())
        .collect();
    let all = counted(references.len(), "session goes", "sessions go");
    let text = format!("{all} on with a file of another program");
    Some(match gone.as_slice() {
        [] => Check::well("sources", format!("{text}, all there")),
        gone => Check::problem(
            "sources",
            format!("{text}; not there any more: {}", gone.join(", ")),
            "`offshoot sync` finds those that were moved; what was added here is kept in any case",
        ),
    })
}

fn journals(here: &Here, sessions: &[SessionId]) -> Check {
    let mut progress = Progress::of("sessions", &here.look);
    let (mut damaged, mut undone) = (Vec::new(), 0);
    for (done, id) in sessions.iter().enumerate() {
        progress.at(done, sessions.len());
        // The journal of a session that was undone is there for `redo`, and as good as any other.
        match read_even_if_taken_back(here, id) {
            Ok(Loaded { findings, .. }) if findings.iter().any(is_damage) => damaged.push(id.as_str()),
            Ok(Loaded { tree, .. }) => undone += usize::from(tree.is_taken_back()),
            Err(_) => damaged.push(id.as_str()),
        }
    }
    let mut all = counted(sessions.len(), "session", "sessions");
    if undone > 0 {
        all.push_str(&format!(", {undone} undone"));
    }
    match damaged.as_slice() {
        [] => Check::well("sessions", format!("{all}, none damaged")),
        damaged => Check::problem(
            "sessions",
            format!("{all}, {} damaged or not readable: {}", damaged.len(), damaged.join(", ")),
            "`offshoot fsck` tells what is wrong; all that is whole can still be read",
        ),
    }
}
