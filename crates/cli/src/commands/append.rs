//! `offshoot append [SESSION]`: entries from standard input, one JSON object per line.
//!
//! Each line is a step of its own, and its id is printed when it is safe. Lines that have arrived together share one
//! sync, so a script that waits for every answer and one that does not are both as fast as the disk allows. Where an
//! engine runs it writes them; what is too long to be said to it is written alone.

mod by_engine;
mod input;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use offshoot_api::request::IfRunning;
use offshoot_session::plan::{AppendSteps, ManyAppended, NotAppended, plan_append};
use offshoot_session::said::Said;
use offshoot_session::{EntryId, SessionId, SessionTree, Stamps};
use offshoot_store::{AppendError, Journal, LockError, Refreshed, WriteError};

use by_engine::Engine;
use input::{Input, Line};

use crate::args::AppendArgs;
use crate::doing::{self, has_engine, if_running};
use crate::failure::Failure;
use crate::here::Here;
use crate::refusals::explained;
use crate::stored::{append_failed, journal, read_failed};
use crate::which::stored;
use crate::{Answer, stdin, words};

/// Others look whether it is their turn every few milliseconds. Whoever writes without end would never leave them a
/// gap that long, so it pauses now and then.
const TURN: Duration = Duration::from_millis(150);
const PAUSE: Duration = Duration::from_millis(12);

/// How often to wait for somebody who does not write, each time as long as the store does: a disk may be busy.
const PATIENCE: usize = 4;

pub(crate) fn run(args: &AppendArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, []) = args.words.split("")?;
    let id = stored(here, session)?;
    let mut append = Append {
        here,
        journal: journal(here, &id)?,
        id,
        stamps: here.stamps(),
        as_json: args.json,
        if_running: if_running(args.running.abort_first),
        engine: None,
        wrote_alone: false,
        lines: 0,
        began: Instant::now(),
    };
    stdin::say_that_it_is_read(&here.look);
    let mut input = Input::of(std::io::stdin().lock());
    let done = if args.batch { append.all_as_one(&mut input) } else { append.one_by_one(&mut input) };
    append.end();
    done.map(|()| Answer::default())
}

struct Append<'h, S> {
    here: &'h Here,
    id: SessionId,
    journal: Journal,
    stamps: S,
    as_json: bool,
    if_running: IfRunning,
    /// The one that was spoken to last.
    engine: Option<Engine>,
    wrote_alone: bool,
    /// Lines that are written.
    lines: usize,
    /// When this turn began.
    began: Instant,
}

impl<S: Stamps> Append<'_, S> {
    fn one_by_one(&mut self, input: &mut Input<impl Read>) -> Result<(), Failure> {
        loop {
            let group = input.group()?;
            if group.is_empty() {
                return Ok(());
            }
            let trouble = self.write(&group, AppendSteps::Each)?;
            if let Some(trouble) = trouble {
                return Err(trouble.failure(self.lines));
            }
            if self.began.elapsed() >= TURN {
                std::thread::sleep(PAUSE);
                self.began = Instant::now();
            }
        }
    }

    fn all_as_one(&mut self, input: &mut Input<impl Read>) -> Result<(), Failure> {
        let lines = input.rest()?;
        if lines.is_empty() {
            return Ok(());
        }
        match self.write(&lines, AppendSteps::One)? {
            Some(trouble) => Err(trouble.failure(0)),
            None => Ok(()),
        }
    }

    /// Writes what can be written of them, says their ids, and gives the reason why the next one was not.
    ///
    /// Whoever holds the session without writing is waited for only so long; many that write in turn are waited for
    /// until it is our turn. An engine that holds it may have begun a moment ago: then it writes.
    fn write(&mut self, lines: &[Line], steps: AppendSteps) -> Result<Option<Trouble>, Failure> {
        let mut waits = 0;
        loop {
            if let Some(Planned { entries, trouble }) = self.by_engine(lines, steps)? {
                self.acknowledge(&entries);
                return Ok(trouble);
            }
            let mut planned = Planned::default();
            let stamps = &mut self.stamps;
            let written = self.journal.write(|tree| {
                let (appended, trouble) = plan(tree, lines, steps, stamps);
                planned = Planned { entries: appended.entries, trouble };
                Ok::<_, Failure>(appended.records)
            });
            let error = match written {
                Ok(_) => {
                    self.wrote_alone |= !planned.entries.is_empty();
                    self.acknowledge(&planned.entries);
                    return Ok(planned.trouble);
                }
                Err(WriteError::Declined(failure)) => return Err(failure),
                Err(WriteError::Failed(error)) => error,
            };
            let is_held = matches!(error, AppendError::Locked(LockError::Held { .. }));
            let others_write = matches!(self.journal.refresh(), Ok(Refreshed::More(_) | Refreshed::Reloaded));
            waits = if others_write { 0 } else { waits + 1 };
            if !is_held || waits >= PATIENCE {
                return Err(self.with_lines(append_failed(&error)));
            }
        }
    }

    /// `None`: there is no engine to write them.
    fn by_engine(&mut self, lines: &[Line], steps: AppendSteps) -> Result<Option<Planned>, Failure> {
        if !has_engine(self.here, &self.id) || !by_engine::fit(lines) {
            return Ok(None);
        }
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => match Engine::running(self.here)? {
                Some(engine) => engine,
                None => return Ok(None),
            },
        };
        self.journal.refresh().map_err(|error| read_failed(&error))?;
        let (appended, trouble) = plan(self.journal.tree(), lines, steps, &mut self.stamps);
        if appended.entries.is_empty() {
            self.engine = Some(engine);
            return Ok(Some(Planned { entries: Vec::new(), trouble }));
        }
        let request = by_engine::request(self.id.to_string(), lines, &appended, steps, self.if_running);
        match engine.append(request) {
            Ok(Some(_)) => self.engine = Some(engine),
            Ok(None) => {
                engine.leave();
                self.journal.refresh().map_err(|error| read_failed(&error))?;
                let is_written = |id: &EntryId| self.journal.tree().contains(id);
                if !appended.entries.iter().all(is_written) {
                    return Ok(None);
                }
            }
            Err(error) => {
                engine.leave();
                return Err(self.with_lines(explained(self.here, &self.id, &error)));
            }
        }
        Ok(Some(Planned { entries: appended.entries, trouble }))
    }

    /// What was written before it stays, and that is more worth knowing than any other hint.
    fn with_lines(&self, failure: Failure) -> Failure {
        match self.lines {
            0 => failure,
            lines => failure.hint(words::lines_written(lines)),
        }
    }

    /// Where nobody listens any more, the lines are still worth writing.
    fn acknowledge(&mut self, ids: &[EntryId]) {
        self.lines += ids.len();
        let mut text = String::new();
        for id in ids {
            match self.as_json {
                true => text.push_str(&format!("{}\n", serde_json::json!({"id": id.as_str()}))),
                false => text.push_str(&format!("{}\n", crate::text::harmless_line(id.as_str(), false))),
            }
        }
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }

    fn end(self) {
        if let Some(engine) = self.engine {
            engine.leave();
        }
        if self.wrote_alone {
            doing::tell_of_news(self.here, &self.id);
        }
    }
}

/// Lines that are written, or about to be.
#[derive(Default)]
struct Planned {
    entries: Vec<EntryId>,
    trouble: Option<Trouble>,
}

/// A line that cannot be written.
struct Trouble {
    number: usize,
    reason: String,
}

impl Trouble {
    fn failure(&self, lines_written: usize) -> Failure {
        Failure::failed(words::bad_line(self.number, &self.reason)).hint(words::lines_written(lines_written))
    }
}

/// What can be written of the lines. What stands before one that is wrong is written all the same, unless all of them
/// are one step.
fn plan(
    tree: &SessionTree,
    lines: &[Line],
    steps: AppendSteps,
    stamps: &mut dyn Stamps,
) -> (ManyAppended, Option<Trouble>) {
    let (said, trouble) = understood(lines);
    match (plan_append(tree, said, steps, stamps), trouble) {
        (Ok(_), Some(trouble)) if steps == AppendSteps::One => (ManyAppended::default(), Some(trouble)),
        (Ok(appended), trouble) => (appended, trouble),
        (Err(NotAppended { why, before, index }), _) => {
            let number = lines.get(index).map_or(0, |line| line.number);
            (*before, Some(Trouble { number, reason: why.to_string() }))
        }
    }
}

/// Up to the first one that is not.
fn understood(lines: &[Line]) -> (Vec<Said>, Option<Trouble>) {
    let mut said = Vec::with_capacity(lines.len());
    for line in lines {
        match Said::of(&line.bytes) {
            Ok(it) => said.push(it),
            Err(reason) => {
                return (said, Some(Trouble { number: line.number, reason: reason.to_string() }));
            }
        }
    }
    (said, None)
}
