//! What is said about the archive.

use std::path::Path;

use jiff::Timestamp;
use offshoot_store::archive::Survey;
use offshoot_store::catalog::Problem;

use crate::look::Look;
use crate::numbers::{bytes, counted, moment};

pub(crate) fn not_all_kept(count: usize, first: &Problem) -> String {
    let others = match count.saturating_sub(1) {
        0 => String::new(),
        others => format!(" (and {})", counted(others, "other", "others")),
    };
    format!(
        "Could not keep `{}`: {}{others}. Nothing else is wrong with it.",
        first.path.display(),
        first.reason
    )
}

pub(crate) fn damaged(copies: usize) -> String {
    match copies {
        0 => String::new(),
        copies => format!(
            "{} damaged: `offshoot keep --now` packs what still has its original again\n",
            counted(copies, "copy is", "copies are")
        ),
    }
}

pub(crate) fn forgotten(all: usize, in_trash: usize) -> String {
    super::forget::counts(all, in_trash)
        .map(|counts| format!("{counts}: `offshoot forget --list`\n"))
        .unwrap_or_default()
}

pub(crate) fn copy_lost(path: &Path, reason: &str) -> String {
    format!("`{}` is damaged, and its original cannot be packed again: {reason}", path.display())
}

/// `1,284 files are kept since 2025-03-04 14:00: 1.7 GB, 210 MB on disk`
pub(crate) fn status(
    survey: &Survey,
    place: Option<&Path>,
    is_on: bool,
    timer: Option<&str>,
    look: &Look,
) -> String {
    let mut told = match survey.since.and_then(|since| Timestamp::from_microsecond(since).ok()) {
        None => "Nothing is kept yet.\n".to_owned(),
        Some(since) => format!(
            "{} kept since {}: {}, {} on disk\n",
            counted(survey.files, "file is", "files are"),
            moment(since, look),
            bytes(survey.bytes),
            bytes(survey.packed + survey.linked),
        ),
    };
    if survey.without_original > 0 {
        told.push_str(&format!("{} only here\n", counted(survey.without_original, "is", "are")));
    }
    if survey.earlier > 0 {
        told.push_str(&counted(survey.earlier, "is an earlier version\n", "are earlier versions\n"));
    }
    if let Some(place) = place {
        told.push_str(&format!("in {}\n", place.display()));
    }
    told.push_str(if is_on {
        "New ones are kept with every sync.\n"
    } else {
        "New ones are not kept: `keep --on`\n"
    });
    match timer {
        Some(timer) => told.push_str(&format!("Every hour by {timer}\n")),
        None => told.push_str("Not by itself: `keep --install`\n"),
    }
    told
}

pub(crate) fn kept_now(count: usize) -> String {
    match count {
        0 => "Everything is kept already.\n".to_owned(),
        count => format!("{} kept.\n", counted(count, "file", "files")),
    }
}

pub(crate) const IS_OFF: &str = "nothing is kept, as was asked for";
pub(crate) const IS_OFF_HINT: &str = "`offshoot keep --on` keeps again";
pub(crate) const TURNED_ON: &str = "New sessions are kept with every sync.\n";
pub(crate) const TURNED_OFF: &str = "Nothing new is kept. What is kept stays.\n";

pub(crate) fn would_install(shown: &str) -> String {
    format!("To keep what is new every hour, this is written:\n\n{shown}")
}

pub(crate) fn nothing_installed(shown: &str) -> String {
    format!("{shown}Nothing was written. `--yes` writes it.\n")
}

pub(crate) const AGREE: &str = "Write it? [y/N] ";
pub(crate) const INSTALLED: &str = "Done. `offshoot keep --uninstall` takes it away again.\n";
pub(crate) const UNINSTALLED: &str = "Taken away. What is kept stays.\n";
pub(crate) const NOT_INSTALLED: &str = "There was nothing to take away.\n";
pub(crate) const NO_SCHEDULER: &str = "neither systemd nor cron runs things for you here";

pub(crate) fn no_scheduler_hint(line: &str) -> String {
    format!("let something else run this every hour: {line}")
}

pub(crate) fn no_program(error: &std::io::Error) -> String {
    format!("could not tell where this program lies: {error}")
}

pub(crate) fn did_not_work(program: &str, why: &str) -> String {
    format!("`{program}` did not do it: {why}")
}

/// `1,284 kept files with 210 MB, for 1.7 GB`
pub(crate) fn disk_use(survey: &Survey) -> String {
    let on_disk = bytes(survey.packed + survey.linked);
    let files = counted(survey.files, "file", "files");
    let backups = match survey.backups {
        0 => String::new(),
        count => {
            let backups = counted(count, "backup of a database", "backups of databases");
            format!("; {backups} with {}", bytes(survey.backed_up))
        }
    };
    format!("{files} with {on_disk}, for {}{backups}", bytes(survey.bytes))
}
