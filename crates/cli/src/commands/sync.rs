//! `offshoot sync [--watch]`: looks for sessions of all agents and brings the catalog up to date.

use std::io::Write;
use std::time::{Duration, Instant};

use offshoot_store::catalog::{Problem, Reached, Synced};
use serde_json::{Value, json};

use super::json::printed_object;
use crate::args::{OnOff, SyncArgs};
use crate::cataloged::{Cataloged, Fresh, Indexes, cataloged};
use crate::failure::Failure;
use crate::here::Here;
use crate::stored::store_failed;
use crate::watching::{Watching, Woken};
use crate::words::catalog as words;
use crate::{Answer, text};

/// A sync that was done sooner than this has time for the indexes that are made little by little, and for no more.
const SOON: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &SyncArgs, here: &Here) -> Result<Answer, Failure> {
    let began = Instant::now();
    let mut ready = cataloged(here, &args.source, Fresh::Now)?;
    if let Some(wish) = args.index_tools {
        ready.catalog.want_tools(wish == OnOff::On).map_err(store_failed)?;
    }
    let time = if args.finish { None } else { Some(SOON.saturating_sub(began.elapsed())) };
    let indexes = ready.go_on(here, time)?;
    let synced = ready.synced.take().unwrap_or_default();
    let said = told(args, here, &mut ready, &synced, &indexes)?;
    let mut notes: Vec<String> =
        ready.notes.iter().cloned().chain(synced.problems.iter().map(problem)).collect();
    if here.look.for_a_person {
        notes.extend(left(&indexes));
    }
    if args.watch {
        return watch(args, here, ready, &said, &notes);
    }
    Ok(Answer { text: said, notes, ..Answer::default() })
}

/// What the next syncs go on with.
fn left(indexes: &Indexes) -> Option<String> {
    let parts = (!indexes.parts.is_all()).then(|| words::parts_reached(&indexes.parts));
    parts.or_else(|| (!indexes.tools.is_all()).then(|| words::tools_reached(&indexes.tools)))
}

/// Goes on until it is ended, or nobody reads any more. Whoever ends it with a signal loses nothing: what is written
/// is written in whole steps.
fn watch(
    args: &SyncArgs,
    here: &Here,
    mut ready: Cataloged,
    said: &str,
    notes: &[String],
) -> Result<Answer, Failure> {
    let mut known_problems = Vec::new();
    let mut out = std::io::stdout().lock();
    for note in notes {
        let _ = writeln!(std::io::stderr(), "{}", text::harmless_line(note, here.look.ascii));
    }
    let mut is_read = out.write_all(said.as_bytes()).and_then(|()| out.flush()).is_ok();
    let mut watching = Watching::new();
    while is_read {
        // what was written before a folder was watched is seen at once
        if !watching.add(&ready.sources) && watching.wait() == Woken::Unheard {
            break;
        }
        ready.sync(here)?;
        let indexes = ready.go_on(here, Some(SOON))?;
        let synced = ready.synced.take().unwrap_or_default();
        for problem in synced.problems.iter().filter(|problem| !known_problems.contains(*problem)) {
            let line = text::harmless_line(&words::not_read(&problem.path, &problem.reason), here.look.ascii);
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        if synced.new + synced.changed + synced.gone + synced.kept > 0 {
            let said = told(args, here, &mut ready, &synced, &indexes)?;
            is_read = out.write_all(said.as_bytes()).and_then(|()| out.flush()).is_ok();
        }
        known_problems = synced.problems;
    }
    Ok(Answer::default())
}

fn told(
    args: &SyncArgs,
    here: &Here,
    ready: &mut Cataloged,
    synced: &Synced,
    indexes: &Indexes,
) -> Result<String, Failure> {
    let (sessions, agents) = ready.count(here)?;
    if args.json.json.is_some() {
        let kept = ready.keeping.kept;
        return Ok(printed_object(as_json(sessions, agents, synced, kept, indexes)));
    }
    Ok(words::synced(sessions, agents, synced))
}

fn as_json(sessions: usize, agents: usize, synced: &Synced, archived: usize, indexes: &Indexes) -> Value {
    let reached = |reached: &Reached| json!({ "done": reached.done, "of": reached.of });
    let problem =
        |problem: &Problem| json!({ "path": problem.path.to_string_lossy(), "reason": problem.reason });
    json!({
        "sessions": sessions,
        "agents": agents,
        "files": synced.files,
        "new": synced.new,
        "changed": synced.changed,
        "gone": synced.gone,
        "kept": synced.kept,
        "archived": archived,
        "bytes_read": synced.bytes_read,
        "parts": reached(&indexes.parts),
        "tools": reached(&indexes.tools),
        "problems": synced.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn problem(problem: &Problem) -> String {
    words::not_read(&problem.path, &problem.reason)
}
