//! `offshoot append [SESSION]`: entries from standard input, one JSON object per line.
//!
//! Each line is a step of its own, and its id is printed when it is safe. Lines that have arrived together share one
//! sync, so a script that waits for every answer and one that does not are both as fast as the disk allows. The engine
//! writes them: the one that runs, or the same code in this process. Lines that are too long for the connection to an
//! engine are written in this process too.

mod connection;
mod input;

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use offshoot_api::request::{self, IfRunning};
use offshoot_api::{ApiError, ErrorCode};
use offshoot_session::said::Said;
use offshoot_session::{SessionId, Stamps};
use serde_json::Value;

use connection::Connection;
use input::{Input, Line};

use super::head::session_note;
use crate::args::AppendArgs;
use crate::change::if_running;
use crate::failure::Failure;
use crate::here::Here;
use crate::last_used;
use crate::refusals::explained;
use crate::stamps::SystemStamps;
use crate::which::stored;
use crate::{Answer, stdin, words};

/// Others look whether it is their turn every few milliseconds. Whoever writes without end would never leave them a
/// gap that long, so it pauses now and then.
const TURN: Duration = Duration::from_millis(150);
const PAUSE: Duration = Duration::from_millis(12);

pub(crate) fn run(args: &AppendArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, []) = args.words.split("")?;
    let id = stored(here, session)?;
    let mut append = Append {
        connection: Connection::open(here, &id)?,
        here,
        id,
        stamps: here.stamps(),
        as_json: args.json,
        if_running: if_running(args.running.abort_first),
        lines: 0,
        began: Instant::now(),
    };
    stdin::say_that_it_is_read(&here.look);
    let mut input = Input::of(std::io::stdin().lock());
    let done = if args.batch { append.all_as_one(&mut input) } else { append.one_by_one(&mut input) };
    append.connection.close();
    if append.lines > 0 {
        last_used::record_stored(here, &append.id);
    }
    let notes = session_note(here, &append.id).filter(|_| append.lines > 0).into_iter().collect();
    done.map(|()| Answer { notes, ..Answer::default() })
}

struct Append<'h> {
    here: &'h Here,
    id: SessionId,
    connection: Connection<'h>,
    /// Ids of requests; those of entries are the engine's.
    stamps: SystemStamps,
    as_json: bool,
    if_running: IfRunning,
    /// Lines that are written.
    lines: usize,
    /// When this turn began.
    began: Instant,
}

impl Append<'_> {
    fn one_by_one(&mut self, input: &mut Input<impl Read>) -> Result<(), Failure> {
        loop {
            let group = input.group()?;
            if group.is_empty() {
                return Ok(());
            }
            if let Some(trouble) = self.write_each(&group)? {
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
        let (entries, trouble) = understood(&lines);
        match trouble {
            None if lines.is_empty() => Ok(()),
            None => match self.write(&lines, entries, Steps::One)? {
                Some(trouble) => Err(trouble.failure(0)),
                None => Ok(()),
            },
            Some(trouble) => Err(trouble.failure(0)),
        }
    }

    /// Writes what stands before the first line that is wrong, and gives the reason why that one was not written.
    fn write_each(&mut self, lines: &[Line]) -> Result<Option<Trouble>, Failure> {
        let (mut entries, mut trouble) = understood(lines);
        let mut lines = lines.get(..entries.len()).unwrap_or_default();
        while !entries.is_empty() {
            match self.write(lines, entries, Steps::Each)? {
                None => break,
                Some(wrong) => {
                    lines = lines.get(..wrong.index).unwrap_or_default();
                    entries = understood(lines).0;
                    trouble = Some(wrong);
                }
            }
        }
        Ok(trouble)
    }

    /// Writes all of them and prints their ids, or none and says which one does not fit. `entries` is what the lines say.
    fn write(
        &mut self,
        lines: &[Line],
        entries: Vec<Value>,
        steps: Steps,
    ) -> Result<Option<Trouble>, Failure> {
        let bytes = lines.iter().map(|line| line.bytes.len()).sum();
        let (session, if_running) = (self.id.to_string(), self.if_running);
        let client_id = self.stamps.operation_id().to_string();
        let request = |entries| request::Append {
            session: session.clone(),
            entries,
            each: steps == Steps::Each,
            if_running,
            client_id: Some(client_id.clone()),
        };
        // The lines are parsed again for a second try: keeping a copy would cost every append what few need.
        let again = || request(understood(lines).0);
        match self.connection.append(request(entries), again, bytes)? {
            Ok(changed) => {
                self.acknowledge(&changed.entries)?;
                Ok(None)
            }
            Err(error) => self.trouble(lines, &error).map(Some),
        }
    }

    /// A line that does not fit; any other error ends the command.
    fn trouble(&self, lines: &[Line], error: &ApiError) -> Result<Trouble, Failure> {
        let is_about_a_line = matches!(
            error.code,
            ErrorCode::Invalid | ErrorCode::PointNotFound | ErrorCode::PointAmbiguous | ErrorCode::NotFound
        );
        match (error.data.index, &error.data.problem) {
            (Some(index), Some(problem)) if is_about_a_line => {
                let number = lines.get(index).map_or(0, |line| line.number);
                Ok(Trouble { index, number, reason: problem.clone() })
            }
            _ => Err(self.with_lines(explained(self.here, &self.id, error))),
        }
    }

    /// What was written before it stays, and that is more worth knowing than any other hint.
    fn with_lines(&self, failure: Failure) -> Failure {
        match self.lines {
            0 => failure,
            lines => failure.hint(words::lines_written(lines)),
        }
    }

    /// If the reader of our output is gone, the other lines are still worth writing. Any other error ends the command: the
    /// caller would wait for ids that never come.
    fn acknowledge(&mut self, ids: &[String]) -> Result<(), Failure> {
        self.lines += ids.len();
        let mut text = String::new();
        for id in ids {
            match self.as_json {
                true => text
                    .push_str(&format!("{}\n", serde_json::json!({"id": id, "session": self.id.as_str()}))),
                false => text.push_str(&format!("{}\n", crate::text::harmless_line(id, false))),
            }
        }
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(self.with_lines(Failure::failed(crate::words::cannot_print(&error))))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// What undo takes back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    Each,
    One,
}

/// A line that cannot be written.
struct Trouble {
    /// Among those that were to be written, from 0.
    index: usize,
    number: usize,
    reason: String,
}

impl Trouble {
    fn failure(&self, lines_written: usize) -> Failure {
        Failure::failed(words::bad_line(self.number, &self.reason)).hint(words::lines_written(lines_written))
    }
}

/// The lines as JSON, up to the first one that is not.
fn understood(lines: &[Line]) -> (Vec<Value>, Option<Trouble>) {
    let mut entries = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        if line.is_too_long {
            let trouble = Trouble { index, number: line.number, reason: words::TOO_LONG.to_owned() };
            return (entries, Some(trouble));
        }
        match serde_json::from_slice(&line.bytes) {
            Ok(entry) => entries.push(entry),
            Err(_) => {
                let reason = Said::of(&line.bytes).err().map(|reason| reason.to_string());
                let trouble = Trouble { index, number: line.number, reason: reason.unwrap_or_default() };
                return (entries, Some(trouble));
            }
        }
    }
    (entries, None)
}
