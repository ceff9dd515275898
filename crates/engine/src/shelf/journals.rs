//! Sessions on disk.

use std::collections::HashMap;
use std::path::Path;

use offshoot_session::foreign::journal_id;
use offshoot_session::queue::{Queued, QueuedId};
use offshoot_session::{Body, Entry, HeadName, Record, SessionId, SessionTree};
use offshoot_store::drafts::DraftError;
use offshoot_store::files::Held;
use offshoot_store::{
    AppendError, Basis, CreateError, Drafts, Generation, Journal, JournalStore, ListError, LockError,
    ReadError, Refreshed, SessionStore, Stale, Waiting, WriteError,
};

use super::{Book, Drafted, Glance, Shelf, Written};

/// So many files may claim to be the same session of another program.
const COPIES: usize = 100;

/// A journal of this many bytes is read in a few milliseconds.
const SMALL: u64 = 2 << 20;

#[derive(Debug)]
struct JournalBook {
    store: JournalStore,
    journal: Journal,
    drafts: Drafts,
    waiting: Waiting,
}

impl Shelf for JournalStore {
    fn create(&self, records: &[Record]) -> Result<(), CreateError> {
        SessionStore::create(self, records).map(|_| ())
    }

    fn remove_created(&self, records: &[Record]) -> Result<bool, AppendError> {
        SessionStore::remove_created(self, records)
    }

    fn open(&self, id: &SessionId) -> Result<Option<Box<dyn Book>>, ReadError> {
        let Some(journal) = self.journal(id)? else { return Ok(None) };
        let (drafts, waiting) = (self.drafts(id), self.waiting(id));
        Ok(Some(Box::new(JournalBook { store: self.clone(), journal, drafts, waiting })))
    }

    fn introduce(&self, id: &SessionId, path: &Path) -> Result<(), String> {
        let others = self.others().ok_or_else(|| format!("`{}` is not known here", path.display()))?;
        let known = others.introduce(path, |source| {
            // Several files may claim to be the same session; whoever asks says which one this is.
            let copies = (0..COPIES).map(|copy| journal_id(&source.agent, &source.session, copy));
            copies
                .into_iter()
                .find(|copy| copy == id)
                .unwrap_or_else(|| journal_id(&source.agent, &source.session, 0))
        });
        match known {
            Ok(known) if known == *id => Ok(()),
            Ok(_) => Err(format!("session `{id}` does not lie at `{}`", path.display())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn lock_steps(&self) -> Result<Box<dyn Held>, LockError> {
        JournalStore::lock_steps(self)
    }

    fn is_small(&self, id: &SessionId) -> bool {
        let is_short = |path: &Path| std::fs::metadata(path).is_ok_and(|file| file.len() <= SMALL);
        is_short(&self.home().journal(id))
            && self.reference(id).is_none_or(|source| is_short(Path::new(&source.path)))
    }

    fn list(&self) -> Result<Vec<SessionId>, ListError> {
        SessionStore::list(self)
    }

    fn glances(&self) -> HashMap<SessionId, Glance> {
        super::glances::glances(self)
    }
}

impl Book for JournalBook {
    fn tree(&self) -> &SessionTree {
        self.journal.tree()
    }

    fn generation(&self) -> Generation {
        self.journal.generation()
    }

    fn refresh(&mut self) -> Result<bool, ReadError> {
        Ok(self.journal.refresh()? != Refreshed::Nothing)
    }

    fn is_written_elsewhere(&self) -> bool {
        !self.journal.is_held() && self.store.is_being_written(self.journal.id())
    }

    fn hold(&mut self) -> Result<(), LockError> {
        self.journal.hold()
    }

    fn release(&mut self) {
        self.journal.release();
    }

    fn append(&mut self, basis: Basis, records: &[Record]) -> Result<Written, WriteError<Stale>> {
        let appended = self.journal.append_planned(basis, records)?;
        // The records are safe. A foreign file that cannot be read now is read by the next refresh.
        let refreshed = self.journal.refresh_foreign().unwrap_or(Refreshed::Nothing);
        Ok(Written { repaired: appended.repaired, has_foreign_changes: refreshed != Refreshed::Nothing })
    }

    fn draft(&mut self, steps: &[Drafted]) -> Result<(), DraftError> {
        for step in steps {
            match step {
                Drafted::Entry(entry) => self.drafts.note(entry)?,
                Drafted::Words { .. } | Drafted::Thinking { .. } => {
                    if let Some((entry, delta)) = step.delta() {
                        self.drafts.extend(entry, &delta)?;
                    }
                }
            }
        }
        self.drafts.flush()
    }

    fn drafts_left(&self) -> Result<Vec<Entry>, DraftError> {
        self.drafts.left(self.journal.tree())
    }

    fn clear_drafts(&mut self) -> Result<(), DraftError> {
        self.drafts.clear()
    }

    fn keep_waiting(&mut self, waiting: &[Queued]) -> Result<(), DraftError> {
        let prompts: Vec<Entry> = waiting.iter().flat_map(as_entries).collect();
        self.waiting.keep(&prompts)
    }

    fn waiting_left(&self) -> Result<Vec<Queued>, DraftError> {
        Ok(as_queue(self.waiting.left()?))
    }
}

/// Below the prompt it waits for; before it what was chosen for it.
fn as_entries(queued: &Queued) -> Vec<Entry> {
    let entry = |id: String, body: Body| Entry {
        id: id.into(),
        parent: queued.place.clone(),
        written_at: queued.queued_at,
        turn: Some(queued.behind.clone()),
        body,
    };
    let chosen = queued.chosen.iter().enumerate();
    let chosen = chosen
        .map(|(at, setting)| entry(format!("{}-chosen-{at}", queued.id), Body::Setting(setting.clone())));
    let prompt = entry(queued.id.to_string(), Body::Prompt(queued.prompt.clone()));
    chosen.chain([prompt]).collect()
}

fn as_queue(entries: Vec<Entry>) -> Vec<Queued> {
    let (mut queue, mut chosen) = (Vec::new(), Vec::new());
    for entry in entries {
        match (entry.body, entry.turn) {
            (Body::Setting(setting), _) => chosen.push(setting),
            (Body::Prompt(prompt), Some(behind)) => queue.push(Queued {
                id: QueuedId::named(entry.id.as_str()),
                behind,
                place: entry.parent,
                head: HeadName::main(),
                chosen: std::mem::take(&mut chosen),
                prompt,
                queued_at: entry.written_at,
            }),
            _ => {}
        }
    }
    queue
}
