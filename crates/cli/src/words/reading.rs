//! What commands say that look at sessions, prove them and hand them out.

use std::path::Path;

use offshoot_store::foreign::SourceTrouble;
use offshoot_transcripts::Lost;

use crate::numbers::{counted, grouped};

/// Before the title of a session that only the archive has.
pub(crate) const KEPT: &str = "(kept) ";

pub(crate) const NO_SESSIONS: &str =
    "No sessions yet. Begin one: offshoot new   Take one over: offshoot import FILE";
pub(crate) const NO_SUCH_SESSIONS: &str = "No session is like that. All: offshoot ls --all";

/// Behind the title of another program's session.
pub(crate) const CHANGED_HERE: &str = " (changed here)";

/// `4 of 1,284 sessions. All: offshoot ls --all`
pub(crate) fn sessions_shown(shown: usize, of: usize) -> String {
    if shown < of {
        format!("{} of {} sessions. All: offshoot ls --all\n", grouped(shown), grouped(of))
    } else {
        format!("{}.\n", counted(of, "session", "sessions"))
    }
}

pub(crate) fn sessions_damaged(count: usize) -> String {
    let are = if count == 1 { "is" } else { "are" };
    let sessions = counted(count, "session", "sessions");
    format!("{sessions} {are} damaged or cannot be read. Details: offshoot fsck\n")
}

pub(crate) fn no_moment(text: &str) -> String {
    format!("`{text}` is no moment")
}

pub(crate) const MOMENT_HINT: &str = "write a day (`2025-03-04`), a time (`2025-03-04T14:00:00Z`), `today`, `yesterday`, or how long ago: `90m`, `8h`, `3d`, `2w`";

pub(crate) fn damaged(count: usize) -> String {
    let (are, were) = if count == 1 { ("is", "was") } else { ("are", "were") };
    let records = counted(count, "record", "records");
    format!("{records} of this session {are} damaged and {were} set aside. Details: offshoot fsck")
}

/// About a file of another program that a session goes on with.
pub(crate) fn source(trouble: &SourceTrouble) -> String {
    match trouble {
        SourceTrouble::Gone { path } => format!(
            "`{path}` is gone, with what another program wrote of this session. What was added here is shown."
        ),
        SourceTrouble::Kept { path } => format!("`{path}` is gone. A copy that was kept is shown."),
        SourceTrouble::Rewritten { path } => format!(
            "`{path}` was written anew by its program, and something that was changed here is not in it any more. \
             Details: offshoot inspect"
        ),
    }
}

pub(crate) const TORN: &str = "The end of this session is damaged: 1 unfinished record is left out, and is set aside \
     with the next change. Details: offshoot fsck";

pub(crate) const REPAIRED: &str = "The end of this session was damaged and has been repaired: 1 unfinished record was set \
     aside. Details: offshoot fsck";

pub(crate) const UNFINISHED: &str = "The last line of the file is not complete: it is being written, or its program \
     ended in the middle. What is whole is shown.";

/// A clause about a file that is not ours becomes a sentence.
pub(crate) fn changed(what: &str) -> String {
    let mut letters = what.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    format!("{}.", first.into_iter().chain(letters).collect::<String>())
}

pub(crate) fn newer(journal: &Path, newer: &offshoot_session::format::NewerFormat) -> String {
    let session = journal.file_stem().unwrap_or_default().to_string_lossy();
    format!("session `{session}` cannot be read: {newer}")
}

pub(crate) const NEWER_HINT: &str = "a newer Offshoot wrote it and can read it; this one has not touched it";

pub(crate) const NO_VERSIONS: &str =
    "No turn of this branch has several versions. Make one: offshoot edit POINT TEXT";

pub(crate) fn no_prompt(point: &str) -> String {
    format!("`{point}` belongs to no turn, so it has no versions")
}

pub(crate) const NO_PROMPT_HINT: &str = "`offshoot tree` shows every turn; a plain number names one";

pub(crate) fn not_written(path: &Path, error: &std::io::Error) -> String {
    let because = match error.kind() {
        std::io::ErrorKind::StorageFull => "no space left on the disk".to_owned(),
        std::io::ErrorKind::PermissionDenied => "no permission".to_owned(),
        std::io::ErrorKind::NotFound => "the folder is not there".to_owned(),
        _ => error.to_string(),
    };
    format!("could not write `{}`: {because}", path.display())
}

pub(crate) fn is_there(path: &Path) -> String {
    format!("`{}` is there already", path.display())
}

pub(crate) const IS_THERE_HINT: &str = "`--force` replaces it, `-o` names another place";

pub(crate) fn pages_written(count: usize, folder: &Path) -> String {
    format!("{} in {}\n", counted(count, "page", "pages"), folder.display())
}

pub(crate) fn lost(lost: &Lost) -> String {
    format!("Not in this export: {lost}")
}

pub(crate) fn other_branches(count: usize) -> String {
    format!("Not in this export: {}", counted(count, "other branch", "other branches"))
}

pub(crate) fn blobs_left(count: usize) -> String {
    let texts = counted(count, "long text", "long texts");
    format!("Not in this export: {texts} beside the journal. With a folder they come along: -o DIR/")
}

pub(crate) const BRANCH_OF_JOURNAL: &str = "a journal is written whole";
pub(crate) const BRANCH_OF_JOURNAL_HINT: &str = "`--to claude`, `codex`, `pi`, `rollouts` and `markdown` write a branch; `offshoot fork --new-session` makes a session of one";

pub(crate) fn several_files(count: usize) -> String {
    format!("{count} branches make {count} files")
}

pub(crate) const SEVERAL_FILES_HINT: &str = "`-o DIR` names a folder for them, `--branch POINT` picks one";

pub(crate) const JSON_OF_EXPORT: &str = "there is no place for a report: the export itself is printed";
pub(crate) const JSON_OF_EXPORT_HINT: &str = "`--json` goes with `--install` or `-o PATH`";

pub(crate) fn no_install(format: &str) -> String {
    format!("no program goes on with `{format}`")
}

pub(crate) const NO_INSTALL_HINT: &str = "`--install` goes with `--to claude`, `--to codex` and `--to pi`";

pub(crate) fn no_place_for(program: &str, variable: &str) -> String {
    format!("where {program} keeps its sessions is not known: `HOME` and `{variable}` are not set")
}

pub(crate) fn other_project(told: &str, taken: &Path) -> String {
    format!("`{told}` is not here; the session goes on in `{}`", taken.display())
}

pub(crate) fn no_folder(path: &Path) -> String {
    format!("no folder `{}`", path.display())
}

/// `Go on: cd /home/me/gatehouse && claude --resume 6f2a91…`
pub(crate) fn go_on(project: &str, command: &str) -> String {
    format!("Go on: cd {project} && {command}\n")
}

pub(crate) fn tool_translated(calls: usize, tool: &str, into: &str) -> String {
    format!("Tools: {} of {tool} became {into}", counted(calls, "call", "calls"))
}

pub(crate) fn tool_summarised(calls: usize, tool: &str, program: &str) -> String {
    let are = if calls == 1 { "is" } else { "are" };
    format!("Tools: {program} has no {tool}; {} {are} told in words", counted(calls, "call", "calls"))
}

pub(crate) const COUNTED_ONCE: &str = "every turn counted once";
pub(crate) const BESIDE_TURNS: &str = "beside the turns";
pub(crate) const NOT_SAID: &str = "(not said)";
pub(crate) const LISTED: &str = "listed";

pub(crate) fn unpriced(replies: usize) -> String {
    let have = if replies == 1 { "has" } else { "have" };
    let replies = counted(replies, "reply", "replies");
    format!("{replies} {have} tokens and no price. Prices: offshoot cost --prices")
}

pub(crate) fn edit_prices(file: &Path) -> String {
    format!("Dollars for a million tokens; the first that fits counts. Yours go into {}\n", file.display())
}

pub(crate) fn bad_prices(file: &Path, why: &str) -> String {
    format!("`{}` cannot be used: {why}", file.display())
}

pub(crate) const NOTHING_TO_EXPORT: &str = "nothing has been said in this session yet";

pub(crate) fn exported(files: usize, place: &Path) -> String {
    match files {
        1 => format!("{}\n", place.display()),
        several => format!("{} in {}\n", counted(several, "file", "files"), place.display()),
    }
}

/// `12 sessions, 3,481 records, 4 blobs: clean`, and what imported files were odd about before.
pub(crate) fn proof(sessions: u64, records: u64, blobs: u64, findings: usize, came_odd: u64) -> String {
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let looked_at = [
        counted(number(sessions), "session", "sessions"),
        counted(number(records), "record", "records"),
        counted(number(blobs), "blob", "blobs"),
    ];
    let verdict = if findings == 0 { "clean".to_owned() } else { counted(findings, "finding", "findings") };
    let came_odd = match number(came_odd) {
        0 => String::new(),
        odd => format!("{} came with imported files\n", counted(odd, "oddity", "oddities")),
    };
    format!("{}: {verdict}\n{came_odd}", looked_at.join(", "))
}

/// Behind the findings that are listed.
pub(crate) fn more_findings(more: usize) -> String {
    format!("{} more not listed\n", counted(more, "finding", "findings"))
}

pub(crate) fn proof_of_kept(files: u64, findings: usize) -> String {
    let files = counted(usize::try_from(files).unwrap_or(usize::MAX), "kept file", "kept files");
    let verdict = if findings == 0 { "clean".to_owned() } else { counted(findings, "finding", "findings") };
    format!("{files}: {verdict}\n")
}

pub(crate) fn not_whole(error: &std::io::Error) -> String {
    format!("its bytes are not as they were kept: {error}")
}
