//! All sessions that can be named, looked up as needed: journals as they lie in the home, everything else as the catalog
//! tells it. No journal is read for that.

use std::collections::HashSet;

use offshoot_session::{ForeignSource, SessionId};
use offshoot_store::catalog::{SessionRow, State};
use offshoot_store::{Archive, SessionStore};

use crate::cataloged::{Cataloged, Fresh, cataloged};
use crate::failure::Failure;
use crate::here::Here;
use crate::known::{Known, together};
use crate::naming::begins;
use crate::stored::list_failed;

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

    pub(crate) fn titled(&mut self, title: &str) -> Result<Vec<Known>, Failure> {
        let Some(ready) = &mut self.ready else { return Ok(Vec::new()) };
        let mut rows = ready.ask(self.here, |catalog, _| catalog.titled(title))?;
        // a session of another program may have been given another title here
        let journals: Vec<String> = self.references.iter().map(|(id, _)| id.to_string()).collect();
        let more = ready.ask(self.here, |catalog, _| catalog.beginning_like(&journals))?;
        rows.extend(more.into_iter().filter(|row| row.is_own && !is_titled(row.title.as_deref(), title)));
        let mut known = self.together(rows);
        known.retain(|known| is_titled(known.title.as_deref(), title));
        Ok(known)
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

    fn together(&self, rows: Vec<SessionRow>) -> Vec<Known> {
        together(rows, &self.references, &self.archive)
    }
}

fn is_titled(own: Option<&str>, title: &str) -> bool {
    own.is_some_and(|own| own.to_lowercase() == title.to_lowercase())
}
