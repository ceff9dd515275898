//! A worker: one command after the other, chosen by its dice.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use offshoot_session::{EntryId, SessionId};
use serde_json::json;

use crate::dice::Dice;
use crate::history::{Answer, AppendSteps, Ran, Refusal, StepKey, What};
use crate::home::Home;

/// Lines of more bytes are written by the command itself, even while an engine runs.
const LONG: usize = 4 * 1024 * 1024 + 4096;

/// Lines of more bytes are kept in blobs.
const MEDIUM: usize = 100 * 1024;

/// So many long lines a worker appends at most: every process that opens the session reads them.
const LONG_LINES: usize = 3;

/// Asks the agent for a long answer.
pub(crate) const COUNT: &str = "count to ";

const TITLES: [&str; 3] = ["One", "Two", "Three"];
const LABELS: [&str; 2] = ["red", "blue"];

/// What the workers know of the sessions.
pub(crate) struct Known {
    sessions: Vec<SessionId>,
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Sessions forked from others, oldest first.
    children: Vec<SessionId>,
    /// Prompts of each session and what they say; some of them are undone.
    prompts: HashMap<SessionId, Vec<(EntryId, String)>>,
}

impl Known {
    pub(crate) fn new(sessions: &[SessionId]) -> Self {
        Self { sessions: sessions.to_vec(), shared: Mutex::default() }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, ran: &Ran) {
        let mut shared = self.shared();
        shared.children.extend(ran.answer.new_session.iter().map(|new| new.id.clone()));
        for acknowledged in &ran.answer.steps {
            let prompts = match &acknowledged.step {
                StepKey::Append(entries) => entries.clone(),
                StepKey::Edit(id, text) | StepKey::Send(id, text) => vec![(id.clone(), text.clone())],
                StepKey::Undo(_)
                | StepKey::Redo(_)
                | StepKey::Fork { .. }
                | StepKey::ForkToNewSession(_)
                | StepKey::Label(..)
                | StepKey::Rename(_)
                | StepKey::Compact
                | StepKey::Other(_) => Vec::new(),
            };
            shared.prompts.entry(ran.session.clone()).or_default().extend(prompts);
        }
    }
}

/// Runs commands until the time is over.
pub(crate) fn work(home: &Home, known: &Known, number: u64, ends: Instant) -> Vec<Ran> {
    let mut worker = Worker { number, dice: Dice::seeded(number), commands: 0, long_lines: 0, next: None };
    let mut history = Vec::new();
    while Instant::now() < ends {
        let (session, what) = worker.choose(known);
        let ran = run(home, number, session, what);
        known.learn(&ran);
        worker.plan_ahead(&ran);
        history.push(ran);
    }
    history
}

struct Worker {
    number: u64,
    dice: Dice,
    commands: usize,
    long_lines: usize,
    /// What is to be done at once after the last command.
    next: Option<(SessionId, What)>,
}

impl Worker {
    fn choose(&mut self, known: &Known) -> (SessionId, What) {
        self.commands += 1;
        if let Some(next) = self.next.take() {
            return next;
        }
        let session = self.session(known);
        let is_fork = !known.sessions.contains(&session);
        let what = match self.dice.roll(4) {
            // Both sessions of a fork can undo and redo it.
            0 if is_fork => What::Undo,
            1 if is_fork => What::Redo,
            _ => self.what(known, &session),
        };
        (session, what)
    }

    /// Half of the commands meet in one session.
    fn session(&mut self, known: &Known) -> SessionId {
        let child = match self.dice.roll(10) {
            0 => {
                let shared = known.shared();
                let latest = shared.children.len().saturating_sub(3);
                self.dice.one_of(shared.children.get(latest..).unwrap_or_default()).cloned()
            }
            _ => None,
        };
        let own = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2];
        let own = self.dice.one_of(&own).copied().unwrap_or_default();
        child.unwrap_or_else(|| known.sessions[own].clone())
    }

    fn what(&mut self, known: &Known, session: &SessionId) -> What {
        let (at, old) = match self.prompt(known, session) {
            Some((at, old)) => (at, old),
            None => return self.append(),
        };
        match self.dice.roll(100) {
            0..22 => self.append(),
            22..34 => {
                // Now and then the words that are there already.
                let text = if self.dice.roll(6) == 0 { old } else { self.text() };
                What::Edit { at, text }
            }
            34..48 => What::Undo,
            48..59 => What::Redo,
            59..66 => What::Fork { at },
            66..68 => What::ForkToNewSession { at: (self.dice.roll(2) == 0).then_some(at) },
            68..76 => {
                let own = self.text();
                let label = match self.dice.roll(2) {
                    0 => own,
                    _ => self.dice.one_of(&LABELS).copied().unwrap_or_default().to_owned(),
                };
                What::Label { at, label }
            }
            76..84 => {
                What::Rename { title: self.dice.one_of(&TITLES).copied().unwrap_or_default().to_owned() }
            }
            _ => What::Send { text: self.message() },
        }
    }

    /// One of the prompts that were said last.
    fn prompt(&mut self, known: &Known, session: &SessionId) -> Option<(EntryId, String)> {
        let shared = known.shared();
        let prompts = shared.prompts.get(session)?;
        let latest = prompts.len().saturating_sub(12);
        self.dice.one_of(prompts.get(latest..)?).cloned()
    }

    fn append(&mut self) -> What {
        let (count, steps) = match self.dice.roll(8) {
            0 => (2 + self.dice.roll(3), AppendSteps::One),
            1 => (2 + self.dice.roll(3), AppendSteps::Each),
            _ => (1, AppendSteps::Each),
        };
        let mut texts: Vec<String> = (0..count).map(|line| format!("{} line {line}", self.text())).collect();
        let length = match self.dice.roll(40) {
            0 if self.long_lines < LONG_LINES => {
                self.long_lines += 1;
                LONG
            }
            1 => MEDIUM,
            _ => 0,
        };
        if let Some(text) = texts.first_mut() {
            let filler = length.saturating_sub(text.len());
            text.extend(std::iter::repeat_n('.', filler));
        }
        What::Append { texts, steps }
    }

    /// A message with a short answer or a long one, during which others are refused or wait.
    fn message(&mut self) -> String {
        match self.dice.roll(3) {
            0 => format!("{COUNT}{}", 1500 + 8 * self.commands as u64 + self.number),
            _ => self.text(),
        }
    }

    /// Words that no other command has.
    fn text(&self) -> String {
        format!("worker {} command {}", self.number, self.commands)
    }

    /// What was undone is sometimes redone at once, while others take other steps. A new session is sometimes undone at once,
    /// from either side.
    fn plan_ahead(&mut self, ran: &Ran) {
        let new = ran.answer.new_session.as_ref().map(|new| &new.id);
        let undone = ran.answer.steps.iter().find_map(|acknowledged| match &acknowledged.step {
            StepKey::Undo(step) => Some(step),
            _ => None,
        });
        // A fork to a new session has the id of that session.
        let fork = undone.map(|step| SessionId::from(step.as_str()));
        let other = fork.filter(|fork| ran.after.contains_key(fork));
        let here = ran.session.clone();
        self.next = match (self.dice.roll(4), new, undone, other, &ran.answer.refusal) {
            (0, Some(_), ..) => Some((here, What::Undo)),
            (1, Some(new), ..) => Some((new.clone(), What::Undo)),
            (0, _, Some(_), Some(other), _) => Some((other, What::Redo)),
            (0 | 1, _, Some(_), ..) | (0, _, _, _, Some(Refusal::TakenBack)) => Some((here, What::Redo)),
            (2, _, Some(_), ..) => Some((here, What::Undo)),
            (..) => None,
        };
    }
}

fn run(home: &Home, worker: u64, session: SessionId, what: What) -> Ran {
    let input = home.file(&format!("input-{worker}"));
    let at = |at: &EntryId| format!("id:{at}");
    let name = session.to_string();
    let words: Vec<String> = match &what {
        What::Append { texts, steps } => {
            let mut file = std::fs::File::create(&input).expect("own file");
            for text in texts {
                writeln!(file, "{}", json!({"role": "user", "text": text})).expect("own file");
            }
            let batch = (*steps == AppendSteps::One).then(|| "--batch".to_owned());
            ["append".to_owned(), name, "--json".to_owned()].into_iter().chain(batch).collect()
        }
        What::Edit { at: point, text } => {
            vec!["edit".into(), name, at(point), text.clone(), "--json".into()]
        }
        What::Undo => vec!["undo".into(), name, "--json".into()],
        What::Redo => vec!["redo".into(), name, "--json".into()],
        What::Fork { at: point } => {
            vec!["fork".into(), name, at(point), "--exact".into(), "--json".into()]
        }
        What::ForkToNewSession { at: point } => {
            let point = point.iter().map(at);
            let words = ["fork".to_owned(), name].into_iter().chain(point);
            words.chain(["--new-session", "--exact", "--json"].map(str::to_owned)).collect()
        }
        What::Label { at: point, label } => vec!["label".into(), name, at(point), label.clone()],
        What::Rename { title } => vec!["rename".into(), name, title.clone()],
        What::Send { text } => vec!["send".into(), name, text.clone(), "--json".into()],
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let before = home.lengths();
    let output = home.output(&words, matches!(what, What::Append { .. }).then_some(input.as_path()));
    let after = home.lengths();
    let answer = Answer::of(&what, &output);
    Ran { session, what, answer, before, after }
}
