//! `offshoot keep`: what is kept of other programs' sessions, and whether and when more is.

mod schedule;

use std::io::{BufRead, IsTerminal, Write};

use jiff::Timestamp;
use offshoot_session::Stamps;
use offshoot_store::archive::{Depth, Survey};
use offshoot_store::catalog::{Catalog, DamagedCopy, Keep, Sources};
use serde_json::{Value, json};

use super::json::printed_object;
use crate::Answer;
use crate::args::KeepArgs;
use crate::cataloged::{Cataloged, Fresh, cataloged};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::kept_copies::{damaged_copies, forgotten_counts};
use crate::progress::Progress;
use crate::settings;
use crate::settings::keys::KEEP;
use crate::settings::layers::Layer;
use crate::settings::value::Value as Set;
use crate::stored::store_failed;
use crate::text;
use crate::words::keep as words;
use schedule::Schedule;

pub(crate) fn run(args: &KeepArgs, here: &Here) -> Result<Answer, Failure> {
    match () {
        () if args.now => now(args, here),
        () if args.install => install(args, here),
        () if args.uninstall => uninstall(here),
        () if args.on => set(here, true),
        () if args.off => set(here, false),
        () => Ok(Answer { text: status(args, here)?, ..Answer::default() }),
    }
}

fn status(args: &KeepArgs, here: &Here) -> Result<String, Failure> {
    let archive = here.archive().map(|archive| (archive.survey(), archive));
    let survey = archive.as_ref().map(|(survey, _)| *survey).unwrap_or_default();
    let is_on = settings::keeps(here)?;
    let timer = Schedule::installed();
    let damaged = damaged_copies(here, Depth::Ends);
    let (forgotten, in_trash) = forgotten_counts(here);
    if args.json.json.is_some() {
        let place = archive.as_ref().map(|(_, archive)| archive.root().to_string_lossy().into_owned());
        return Ok(printed_object(as_json(
            &survey,
            Counts { damaged: damaged.len(), forgotten, in_trash },
            is_on,
            timer.as_deref(),
            place,
        )));
    }
    let place = archive.filter(|_| survey.files > 0).map(|(_, archive)| archive.root().to_owned());
    let told = words::status(&survey, place.as_deref(), is_on, timer.as_deref(), &here.look);
    Ok(told + &words::damaged(damaged.len()) + &words::forgotten(forgotten, in_trash))
}

struct Counts {
    damaged: usize,
    forgotten: usize,
    in_trash: usize,
}

fn as_json(
    survey: &Survey,
    counts: Counts,
    is_on: bool,
    timer: Option<&str>,
    place: Option<String>,
) -> Value {
    let since = survey.since.and_then(|since| Timestamp::from_microsecond(since).ok());
    json!({
        "on": is_on,
        "timer": timer,
        "path": place,
        "files": survey.files,
        "without_original": survey.without_original,
        "earlier_versions": survey.earlier,
        "damaged": counts.damaged,
        "forgotten": counts.forgotten,
        "in_trash": counts.in_trash,
        "bytes": survey.bytes,
        "bytes_on_disk": survey.packed + survey.linked,
        "since": since.map(|since| since.to_string()),
    })
}

fn now(args: &KeepArgs, here: &Here) -> Result<Answer, Failure> {
    if !settings::keeps(here)? {
        return Err(Failure::refused(words::IS_OFF).hint(words::IS_OFF_HINT));
    }
    let mut ready = cataloged(here, &[], Fresh::Now)?;
    // mostly a timer asks, which nobody waits for
    let now = here.stamps().now();
    ready.catalog.pack_loose(&ready.sources, now, &mut || true).map_err(store_failed)?;
    let (again, damaged) = packed_again(&mut ready, here)?;
    let (kept, is_all) = (ready.keeping.kept + again, ready.keeping.problems.is_empty());
    let text = match args.json.json {
        Some(_) => status(args, here)?,
        // What could not be kept is among the notes.
        None if damaged.is_empty() && (is_all || kept > 0) => words::kept_now(kept),
        None => String::new(),
    };
    let failures = damaged.iter().map(|copy| Failure::failed(words::copy_lost(&copy.path, &copy.reason)));
    let ends = (!is_all).then_some(Exit::Failed);
    Ok(Answer { text, notes: ready.notes, failures: failures.collect(), ends, ..Answer::default() })
}

/// Reads every copy. Damaged ones are packed again and read again; the rest is what remains damaged.
fn packed_again(ready: &mut Cataloged, here: &Here) -> Result<(usize, Vec<DamagedCopy>), Failure> {
    let now = here.stamps().now();
    let mut progress = Progress::of("kept files", &here.look);
    let mut read = |catalog: &Catalog, sources: &Sources| {
        let damaged = catalog.damaged_copies(sources, Depth::Whole, &mut |done, of| progress.at(done, of));
        damaged.map_err(store_failed)
    };
    let damaged = read(&ready.catalog, &ready.sources)?;
    if damaged.is_empty() {
        return Ok((0, damaged));
    }
    let found = damaged.len();
    ready.catalog.forget_damaged(&ready.sources, damaged, now).map_err(store_failed)?;
    ready.catalog.keep(&ready.sources, Keep::All, now, &mut |_, _| {}).map_err(store_failed)?;
    let left = read(&ready.catalog, &ready.sources)?;
    Ok((found.saturating_sub(left.len()), left))
}

fn set(here: &Here, keep: bool) -> Result<Answer, Failure> {
    settings::set(Layer::User, settings::user_file(here)?, &KEEP, &Set::OnOff(keep))?;
    let text = if keep { words::TURNED_ON } else { words::TURNED_OFF };
    let notes = settings::overridden(here, &KEEP, Layer::User).into_iter().collect();
    Ok(Answer { text: text.to_owned(), notes, ..Answer::default() })
}

/// What will be written is shown before it is.
fn install(args: &KeepArgs, here: &Here) -> Result<Answer, Failure> {
    let schedule = Schedule::for_this_machine(here)?;
    let shown = words::would_install(&schedule.shown());
    if !args.yes && !is_agreed(&shown) {
        return Ok(Answer { text: words::nothing_installed(&shown), ..Answer::default() });
    }
    schedule.install()?;
    let text = if args.yes { shown + words::INSTALLED } else { words::INSTALLED.to_owned() };
    Ok(Answer { text, ..Answer::default() })
}

fn uninstall(here: &Here) -> Result<Answer, Failure> {
    let text = if Schedule::uninstall(here)? { words::UNINSTALLED } else { words::NOT_INSTALLED };
    Ok(Answer { text: text.to_owned(), ..Answer::default() })
}

/// Only a person at a terminal can be asked.
fn is_agreed(shown: &str) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return false;
    }
    let mut stderr = std::io::stderr().lock();
    let asked =
        write!(stderr, "{}{}", text::harmless_output(shown), words::AGREE).and_then(|()| stderr.flush());
    let mut answer = String::new();
    let answered = std::io::stdin().lock().read_line(&mut answer);
    asked.is_ok() && answered.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}
