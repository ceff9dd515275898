//! `offshoot append [SESSION]`: entries from standard input, one JSON object per line.
//!
//! Each line is a step of its own, and its id is printed when it is safe. Lines that have arrived together share one
//! sync, so a script that waits for every answer and one that does not are both as fast as the disk allows.

mod said;

use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};

use offshoot_session::plan::Plan;
use offshoot_session::{Entry, EntryId, HeadMove, HeadName, Record, SessionTree, Stamps};
use offshoot_store::{AppendError, Journal, LockError, Refreshed, WriteError};

use said::Said;

use super::head::destination;
use crate::args::AppendArgs;
use crate::doing;
use crate::failure::Failure;
use crate::here::Here;
use crate::stored::{append_failed, journal};
use crate::which::stored;
use crate::{Answer, stdin, words};

/// More lines than this do not wait for each other's sync.
const LARGEST_GROUP: usize = 256;

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
        journal: journal(here, &id)?,
        stamps: here.stamps(),
        as_json: args.json,
        lines: 0,
        began: Instant::now(),
    };
    stdin::say_that_it_is_read(&here.look);
    let mut input = Input::of(std::io::stdin().lock());
    let done = if args.batch { append.all_as_one(&mut input) } else { append.one_by_one(&mut input) };
    doing::tell_of_news(here, &id);
    done.map(|()| Answer::default())
}

struct Append<S> {
    journal: Journal,
    stamps: S,
    as_json: bool,
    /// Lines that are written.
    lines: usize,
    /// When this turn began.
    began: Instant,
}

impl<S: Stamps> Append<S> {
    fn one_by_one(&mut self, input: &mut Input<impl Read>) -> Result<(), Failure> {
        loop {
            let group = input.group()?;
            if group.is_empty() {
                return Ok(());
            }
            let mut trouble = None;
            let ids = self.write(|tree, stamps| {
                trouble = None;
                let mut tree = tree.clone();
                let mut steps = Vec::new();
                let mut ids = Vec::new();
                for line in &group {
                    let planned = understood(line).and_then(|said| {
                        let mut plan = Plan::named("append", stamps);
                        let id = place(&mut tree, said, &mut plan, stamps)?;
                        Ok((id, plan.records))
                    });
                    match planned {
                        Ok((id, records)) => {
                            ids.push(id);
                            steps.push(records);
                        }
                        // What stands before the line that is wrong is written all the same.
                        Err(reason) => {
                            trouble = Some((line.number, reason));
                            break;
                        }
                    }
                }
                Ok((ids, steps))
            })?;
            self.lines += ids.len();
            self.acknowledge(&ids);
            if let Some((number, reason)) = trouble {
                let failure = Failure::failed(words::bad_line(number, &reason));
                return Err(failure.hint(words::lines_written(self.lines)));
            }
            if self.began.elapsed() >= TURN {
                std::thread::sleep(PAUSE);
                self.began = Instant::now();
            }
        }
    }

    fn all_as_one(&mut self, input: &mut Input<impl Read>) -> Result<(), Failure> {
        let mut lines = Vec::new();
        loop {
            let group = input.group()?;
            if group.is_empty() {
                break;
            }
            lines.extend(group);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let ids = self.write(|tree, stamps| {
            let mut tree = tree.clone();
            let mut plan = Plan::named("append", stamps);
            let mut ids = Vec::new();
            for line in &lines {
                let id = understood(line).and_then(|said| place(&mut tree, said, &mut plan, stamps));
                ids.push(id.map_err(|reason| {
                    Failure::failed(words::bad_line(line.number, &reason)).hint(words::lines_written(0))
                })?);
            }
            Ok((ids, vec![plan.records]))
        })?;
        self.acknowledge(&ids);
        Ok(())
    }

    /// Whoever holds the session without writing is waited for only so long; many that write in turn are waited for
    /// until it is our turn.
    fn write(
        &mut self,
        mut plan: impl FnMut(&SessionTree, &mut S) -> Result<(Vec<EntryId>, Vec<Vec<Record>>), Failure>,
    ) -> Result<Vec<EntryId>, Failure> {
        let mut waits = 0;
        loop {
            let mut ids = Vec::new();
            let stamps = &mut self.stamps;
            let written = self.journal.write(|tree| {
                let (planned, steps) = plan(tree, stamps)?;
                ids = planned;
                Ok(steps.into_iter().flatten().collect())
            });
            let error = match written {
                Ok(_) => return Ok(ids),
                Err(WriteError::Declined(failure)) => return Err(failure),
                Err(WriteError::Failed(error)) => error,
            };
            let is_held = matches!(error, AppendError::Locked(LockError::Held { .. }));
            let others_write = matches!(self.journal.refresh(), Ok(Refreshed::More(_) | Refreshed::Reloaded));
            waits = if others_write { 0 } else { waits + 1 };
            if !is_held || waits >= PATIENCE {
                let failure = append_failed(&error);
                return Err(match self.lines {
                    0 => failure,
                    lines => failure.hint(words::lines_written(lines)),
                });
            }
        }
    }

    /// Where nobody listens any more, the lines are still worth writing.
    fn acknowledge(&self, ids: &[EntryId]) {
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
}

fn understood(line: &Line) -> Result<Said, String> {
    Said::of(&line.bytes)
}

/// Puts an entry into the tree and its records into the plan.
fn place(
    tree: &mut SessionTree,
    said: Said,
    plan: &mut Plan,
    stamps: &mut dyn Stamps,
) -> Result<EntryId, String> {
    let head = tree.main_head().cloned();
    let parent = match said.parent {
        None => head.clone(),
        // An id is taken as it is, also where it looks like a number.
        Some(parent) if tree.contains(&parent.as_str().into()) => Some(parent.into()),
        Some(parent) => Some(destination(tree, &parent).map_err(|failure| failure.message().to_owned())?),
    };
    let id = said.id.map_or_else(|| stamps.entry_id(), EntryId::from);
    let now = stamps.now();
    let written_at = said.written_at.unwrap_or(now);
    let from = plan.records.len();
    plan.push(Record::entry(Entry { id: id.clone(), parent, written_at, turn: None, body: said.body }));
    let to = Some(id.clone());
    plan.push(Record::head_moved(HeadMove { head: HeadName::main(), moved_at: now, from: head, to }));
    let records = plan.records.get(from..).unwrap_or_default();
    *tree = tree.extended(records).map_err(|rejected| rejected.to_string())?;
    Ok(id)
}

struct Line {
    number: usize,
    bytes: Vec<u8>,
}

/// Standard input, line by line.
struct Input<R> {
    reader: BufReader<R>,
    number: usize,
}

impl<R: Read> Input<R> {
    fn of(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(256 * 1024, reader), number: 0 }
    }

    /// The next line and those that have arrived with it; empty at the end.
    fn group(&mut self) -> Result<Vec<Line>, Failure> {
        let mut group = Vec::new();
        while group.is_empty() || (self.reader.buffer().contains(&b'\n') && group.len() < LARGEST_GROUP) {
            let mut bytes = Vec::new();
            let count = self.reader.read_until(b'\n', &mut bytes);
            if count.map_err(|error| Failure::failed(words::stdin_failed(&error)))? == 0 {
                break;
            }
            self.number += 1;
            if !bytes.trim_ascii().is_empty() {
                group.push(Line { number: self.number, bytes });
            }
        }
        Ok(group)
    }
}
