//! `offshoot sync [--watch]`: looks for sessions of all agents and brings the catalog up to date.

use std::io::Write;
use std::time::Duration;

use offshoot_store::catalog::{Problem, Synced};
use serde_json::{Value, json};

use super::json::printed_object;
use crate::args::SyncArgs;
use crate::cataloged::{Cataloged, Fresh, cataloged};
use crate::failure::Failure;
use crate::here::Here;
use crate::words::catalog as words;
use crate::{Answer, text};

/// How long a watcher rests between two looks. A look costs a stat of every file.
const REST: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &SyncArgs, here: &Here) -> Result<Answer, Failure> {
    let mut ready = cataloged(here, &args.source, Fresh::Now)?;
    let synced = ready.synced.take().unwrap_or_default();
    let said = told(args, here, &mut ready, &synced)?;
    let notes: Vec<String> = ready.notes.iter().cloned().chain(synced.problems.iter().map(problem)).collect();
    if args.watch {
        return watch(args, here, ready, &said, &notes);
    }
    Ok(Answer { text: said, notes, ..Answer::default() })
}

/// Goes on until it is interrupted, or nobody reads any more.
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
    while is_read {
        std::thread::sleep(REST);
        ready.sync(here)?;
        let synced = ready.synced.take().unwrap_or_default();
        for problem in synced.problems.iter().filter(|problem| !known_problems.contains(*problem)) {
            let line = text::harmless_line(&words::not_read(&problem.path, &problem.reason), here.look.ascii);
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        if synced.new + synced.changed + synced.gone + synced.kept > 0 {
            let said = told(args, here, &mut ready, &synced)?;
            is_read = out.write_all(said.as_bytes()).and_then(|()| out.flush()).is_ok();
        }
        known_problems = synced.problems;
    }
    Ok(Answer::default())
}

fn told(args: &SyncArgs, here: &Here, ready: &mut Cataloged, synced: &Synced) -> Result<String, Failure> {
    let (sessions, agents) = ready.ask(here, |catalog, _| catalog.count())?;
    if args.json.json.is_some() {
        let kept = ready.keeping.kept;
        return Ok(printed_object(as_json(sessions, agents, synced, kept)));
    }
    Ok(words::synced(sessions, agents, synced))
}

fn as_json(sessions: usize, agents: usize, synced: &Synced, archived: usize) -> Value {
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
        "problems": synced.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn problem(problem: &Problem) -> String {
    words::not_read(&problem.path, &problem.reason)
}
