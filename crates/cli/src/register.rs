//! All sessions that can be named, looked up as needed: journals as they lie in the home, everything else as the catalog
//! tells it. No journal is read for that.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;

use offshoot_session::{ForeignSource, SessionId};
use offshoot_store::catalog::{SessionRow, State};
use offshoot_store::{Archive, SessionStore};

use crate::cataloged::{Cataloged, Fresh, cataloged};
use crate::failure::Failure;
use crate::foreign::{is_there, journal_of};
use crate::here::Here;
use crate::known::{Known, together};
use crate::last_used::UsedSession;
use crate::listed_name::{NameMatch, TypedName};
use crate::naming::{Lies, begins};
use crate::stored::list_failed;
use crate::which::Among;

pub(crate) struct Register<'h> {
    here: &'h Here,
    /// `None` where there is none, and none is needed.
    ready: Option<Cataloged>,
    journals: Vec<SessionId>,
    references: Vec<(SessionId, ForeignSource)>,
    archive: Archive,
}

impl<'h> Register<'h> {
    pub(crate) fn open(here: &'h Here) -> Result<Self, Failure> {
        // whoever may not look into the home is told so
        here.store()?.list().map_err(|error| list_failed(&error))?;
        Self::over(here, cataloged(here, &[], Fresh::Lately)?)
    }

    pub(crate) fn over(here: &'h Here, ready: Cataloged) -> Result<Self, Failure> {
        Self::with(here, Some(ready))
    }

    /// As it was left; nothing is looked for and nothing is made.
    pub(crate) fn as_it_is(here: &'h Here) -> Result<Self, Failure> {
        let is_there = here.store()?.home().root().join("catalog.db").is_file();
        let ready = is_there.then(|| cataloged(here, &[], Fresh::Whatever)).transpose()?;
        Self::with(here, ready)
    }

    fn with(here: &'h Here, ready: Option<Cataloged>) -> Result<Self, Failure> {
        let store = here.store()?;
        let journals = store.list().map_err(|error| list_failed(&error))?;
        let references = store.references().map_err(|error| list_failed(&error))?;
        Ok(Self { here, ready, journals, references, archive: Archive::of(store.home()) })
    }

    /// The catalog that it was made over.
    pub(crate) fn into_catalog(self) -> Option<Cataloged> {
        self.ready
    }

    /// Looks at every file, unless that was just done.
    pub(crate) fn refresh(&mut self) -> Result<(), Failure> {
        match &mut self.ready {
            Some(ready) if ready.synced.is_none() => ready.sync(self.here),
            Some(_) | None => Ok(()),
        }
    }

    /// All whose id begins so.
    pub(crate) fn beginning_like(&mut self, beginnings: &[String]) -> Result<Vec<Known>, Failure> {
        let rows = match &mut self.ready {
            Some(ready) => ready.ask(self.here, |catalog, _| catalog.beginning_like(beginnings))?,
            None => Vec::new(),
        };
        let mut known = self.together(rows);
        let is_new = |id: &&SessionId| {
            beginnings.iter().any(|beginning| begins(id.as_str(), beginning))
                && !known.iter().any(|known| known.journal.as_ref() == Some(*id))
        };
        // those that nobody has looked at yet, or whose beginning was undone
        let new: Vec<Known> = self.journals.iter().filter(is_new).map(Known::by_journal).collect();
        known.extend(new);
        Ok(known)
    }

    /// The sessions that `ls` shows under this name. Those with the title come alone: it wins over a first prompt.
    pub(crate) fn named(&mut self, typed: &TypedName) -> Result<Vec<(NameMatch, Known)>, Failure> {
        let Some(ready) = &mut self.ready else { return Ok(Vec::new()) };
        let fits = |title: Option<&str>, prompt: Option<&str>| typed.matches(title, prompt).is_some();
        let mut rows = ready.ask(self.here, |catalog, _| catalog.named(fits))?;
        // A journal may have given another agent's session another title, and it has no first prompt of its own.
        let is_found = |id: &SessionId| rows.iter().any(|row| row.is_own && row.id == id.as_str());
        let files =
            self.references.iter().filter(|(id, _)| is_found(id)).map(|(_, file)| file.session.clone());
        let concerned = self.references.iter().map(|(id, _)| id.to_string()).chain(files);
        let concerned: Vec<String> = concerned.collect();
        let more = ready.ask(self.here, |catalog, _| catalog.beginning_like(&concerned))?;
        let keys: HashSet<i64> = rows.iter().map(|row| row.key).collect();
        rows.extend(more.into_iter().filter(|row| !keys.contains(&row.key)));
        let named = self.together(rows).into_iter().filter_map(|known| {
            let by = typed.matches(known.title.as_deref(), known.first_prompt.as_deref())?;
            let is_listed = by.is_title() || known.name.standing.lies != Lies::Aside;
            is_listed.then_some((by, known))
        });
        let mut named: Vec<(NameMatch, Known)> = named.collect();
        let best = named.iter().map(|(by, _)| *by).min();
        named.retain(|(by, _)| Some(*by) == best);
        Ok(named)
    }

    /// Those about this folder, or one above it.
    pub(crate) fn about_this_folder(&mut self) -> Result<Vec<Known>, Failure> {
        let folder = &self.here.folder;
        let Some(ready) = &mut self.ready else { return Ok(Vec::new()) };
        let rows = ready.ask(self.here, |catalog, _| catalog.about(folder))?;
        Ok(self.together(rows))
    }

    /// Journals of which the catalog tells nothing: their beginning was undone, or they cannot be read.
    pub(crate) fn untold_journals(&mut self) -> Result<Vec<SessionId>, Failure> {
        let ids: Vec<String> = self.journals.iter().map(SessionId::to_string).collect();
        let rows = match &mut self.ready {
            Some(ready) => ready.ask(self.here, |catalog, _| catalog.beginning_like(&ids))?,
            None => Vec::new(),
        };
        let told = rows.iter().filter(|row| row.is_own && !matches!(row.state, State::Unreadable(_)));
        let told: HashSet<&str> = told.map(|row| row.id.as_str()).collect();
        Ok(self.journals.iter().filter(|id| !told.contains(id.as_str())).cloned().collect())
    }

    /// The session that a file of `last-used/` names. Returns `None` if it does not exist any more, or if its beginning
    /// was undone and only standing sessions are wanted.
    pub(crate) fn used(&mut self, used: &UsedSession, among: Among) -> Result<Option<Known>, Failure> {
        if let Some(journal) = used.journal.as_ref().filter(|journal| self.journals.contains(journal)) {
            let is_wanted = among == Among::All || self.is_listed(journal)?;
            return Ok(is_wanted.then(|| Known::by_journal(journal)));
        }
        let Some(file) = &used.file else { return Ok(None) };
        if is_there(file) {
            return Ok(Some(match journal_of(self.here, file)? {
                Some(journal) => Known::by_journal(&journal),
                None => Known::by_file(&used.id, file),
            }));
        }
        self.refresh()?;
        let alike = self.beginning_like(std::slice::from_ref(&used.id))?;
        let is_kept = |known: &Known| {
            let original = self.archive.kept_at(&known.path).map(|kept| kept.original);
            known.name.id == used.id && original.as_ref() == Some(file)
        };
        Ok(alike.into_iter().filter(is_kept).min_by(|one, other| one.name.cmp(&other.name)))
    }

    /// Whether the catalog has a row for the journal. One whose beginning was undone has none. Other files are looked at
    /// only if the row is older than the journal.
    fn is_listed(&mut self, journal: &SessionId) -> Result<bool, Failure> {
        let is_current = self.row_of(journal)?.is_some_and(|row| is_as_on_disk(&row));
        if !is_current {
            self.refresh()?;
        }
        Ok(self.ready.is_none() || is_current || self.row_of(journal)?.is_some())
    }

    fn row_of(&mut self, journal: &SessionId) -> Result<Option<SessionRow>, Failure> {
        let Some(ready) = &mut self.ready else { return Ok(None) };
        let rows = ready.ask(self.here, |catalog, _| catalog.beginning_like(&[journal.to_string()]))?;
        Ok(rows.into_iter().find(|row| row.is_own && row.id == journal.as_str()))
    }

    fn together(&self, rows: Vec<SessionRow>) -> Vec<Known> {
        together(rows, &self.references, &self.archive)
    }
}

/// Whether the file has not been written since the catalog read it.
fn is_as_on_disk(row: &SessionRow) -> bool {
    std::fs::metadata(&row.path).is_ok_and(|file| {
        let modified = file.mtime().checked_mul(NANOSECONDS).and_then(|at| at.checked_add(file.mtime_nsec()));
        file.len() == row.length && modified == Some(row.modified)
    })
}

const NANOSECONDS: i64 = 1_000_000_000;
