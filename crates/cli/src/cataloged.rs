//! The catalog, ready to be asked.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use offshoot_session::Stamps;
use offshoot_store::Archive;
use offshoot_store::catalog::{
    Catalog, CatalogError, Keep, Keeping, Reached, Rebuilt, SessionRow, Sources, Synced,
};

use tracing::{debug, info};

use crate::failure::Failure;
use crate::here::Here;
use crate::known::together;
use crate::own_catalog;
use crate::progress::Progress;
use crate::settings;
use crate::stored::{list_failed, store_failed};
use crate::sync_turn::Turn;
use crate::words::{catalog as words, keep as keep_words};

/// How fresh an answer has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// Whoever asks sees to it.
    Whatever,
    /// Every file is looked at.
    Now,
    /// The last look was not long ago.
    Lately,
}

/// Once in a while an answer takes longer by this, and the indexes come further.
const A_MOMENT: Duration = Duration::from_millis(100);

/// How far the indexes are that are made little by little.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Indexes {
    pub(crate) parts: Reached,
    pub(crate) tools: Reached,
}

#[derive(Debug)]
pub(crate) struct Cataloged {
    pub(crate) catalog: Catalog,
    pub(crate) sources: Sources,
    /// `None` where the last sync was fresh enough.
    pub(crate) synced: Option<Synced>,
    /// What came into the archive with it.
    pub(crate) keeping: Keeping,
    /// Said beside the answer.
    pub(crate) notes: Vec<String>,
}

pub(crate) fn cataloged(here: &Here, named: &[PathBuf], fresh: Fresh) -> Result<Cataloged, Failure> {
    let sources = here.sources(named)?;
    let mut notes = Vec::new();
    if !named.is_empty() {
        own_catalog::forget_old(sources.home.root(), here.stamps().now());
    }
    let catalog = open(here, &sources, &own_catalog::file_name(named, here), &mut notes)?;
    let mut cataloged = Cataloged { catalog, sources, synced: None, keeping: Keeping::default(), notes };
    match fresh {
        Fresh::Now => cataloged.sync(here)?,
        Fresh::Lately if cataloged.is_old(here)? => {
            cataloged.sync(here)?;
            cataloged.go_on(here, Some(A_MOMENT))?;
        }
        Fresh::Lately | Fresh::Whatever => {}
    }
    if let Some(rebuilt) = cataloged.catalog.rebuilt() {
        match rebuilt {
            Rebuilt::Damaged => cataloged.notes.push(words::REBUILT.to_owned()),
            Rebuilt::OtherVersion => {}
        }
    }
    Ok(cataloged)
}

/// A home is made for it where there is something to list; whoever may not write gets one for this moment.
fn open(
    here: &Here,
    sources: &Sources,
    file_name: &str,
    notes: &mut Vec<String>,
) -> Result<Catalog, Failure> {
    let is_wanted = sources.folders.iter().chain(&sources.databases).any(|place| place.exists());
    let root = sources.home.root();
    if !root.is_dir() && !is_wanted {
        return Catalog::in_memory().map_err(store_failed);
    }
    let kept = make_home(root)
        .map_err(|source| CatalogError::File { path: root.to_owned(), source })
        .and_then(|()| Catalog::open(&root.join(file_name)))
        .and_then(|catalog| match catalog.is_read_only() {
            false => Ok(catalog),
            true => Err(CatalogError::File {
                path: root.join(file_name),
                source: std::io::ErrorKind::PermissionDenied.into(),
            }),
        });
    match kept {
        Ok(catalog) => Ok(catalog),
        Err(error) => {
            if here.look.for_a_person {
                notes.push(words::not_kept(&error));
            }
            Catalog::in_memory().map_err(store_failed)
        }
    }
}

/// Whether it is time for another look. A clock that was put back makes it so too.
pub(crate) fn is_long_ago(synced_at: Option<i64>, here: &Here) -> bool {
    let age = synced_at.and_then(|at| here.stamps().now().as_microsecond().checked_sub(at));
    let lately = i64::try_from(settings::sync_interval(here).as_micros()).unwrap_or(i64::MAX);
    !age.is_some_and(|age| (0..lately).contains(&age))
}

fn make_home(root: &Path) -> std::io::Result<()> {
    offshoot_store::private::create_directory(root)
}

impl Cataloged {
    fn is_old(&self, here: &Here) -> Result<bool, Failure> {
        let synced_at = match self.catalog.synced_at() {
            Err(CatalogError::Damaged { .. }) => None,
            synced_at => synced_at.map_err(store_failed)?,
        };
        Ok(is_long_ago(synced_at, here))
    }

    /// Brings it up to date. One that turns out to be damaged is made anew.
    pub(crate) fn sync(&mut self, here: &Here) -> Result<(), Failure> {
        let _turn = self.turn();
        let now = here.stamps().now();
        self.pack_while_reading(here);
        let mut progress = Progress::of("sessions", &here.look);
        let mut at = |done, of| progress.at(done, of);
        let synced = match self.catalog.sync(&self.sources, now, &mut at) {
            Err(CatalogError::Damaged { .. }) => {
                self.rebuild()?;
                self.catalog.sync(&self.sources, now, &mut at)
            }
            Err(error @ CatalogError::NoRoom { .. }) => {
                self.keep_in_memory(&error, here)?;
                self.catalog.sync(&self.sources, now, &mut at)
            }
            synced => synced,
        };
        self.synced = Some(synced.map_err(store_failed)?);
        drop(progress);
        self.keep(here)
    }

    /// Held while we are at it, where nobody else is.
    fn turn(&self) -> Option<Turn> {
        self.catalog.is_on_disk().then(|| Turn::take(self.sources.home.root())).flatten()
    }

    /// A sync that found nothing new is hardly worth a line.
    fn tell_log(&self) {
        let Some(synced) = &self.synced else { return };
        let Synced { files, new, changed, gone, kept, bytes_read, problems, .. } = synced;
        let [files, new, changed, gone, kept, problems] =
            [*files, *new, *changed, *gone, *kept, problems.len()].map(|count| count as u64);
        let bytes = *bytes_read;
        if new + changed + gone + problems > 0 {
            info!(name: "sync", files, new, changed, gone, kept, bytes, problems);
        } else {
            debug!(name: "sync", files, new, changed, gone, kept, bytes, problems);
        }
    }

    /// Whether the settings can be read is told when there is something to keep.
    fn pack_while_reading(&mut self, here: &Here) {
        if self.catalog.is_on_disk() && settings::keeps(here).unwrap_or(false) {
            self.catalog.pack_while_reading();
        }
    }

    /// Puts what was found into the archive, unless the person does not want that. Where it cannot be kept it is still
    /// listed, so that is only said.
    fn keep(&mut self, here: &Here) -> Result<(), Failure> {
        self.tell_log();
        if !self.catalog.is_on_disk() {
            return Ok(());
        }
        let keep = match settings::keeps(here) {
            Ok(true) => Keep::All,
            Ok(false) => Keep::NoMore,
            Err(failure) => {
                self.notes.push(failure.message().to_owned());
                Keep::NoMore
            }
        };
        let mut progress = Progress::of("files kept", &here.look);
        let now = here.stamps().now();
        let kept = self.catalog.keep(&self.sources, keep, now, &mut |done, of| progress.at(done, of));
        let keeping = match kept {
            Err(error @ CatalogError::NoRoom { .. }) => {
                self.notes.push(words::not_kept(&error));
                return Ok(());
            }
            kept => kept.map_err(store_failed)?,
        };
        if let Some(first) = keeping.problems.first() {
            self.notes.push(keep_words::not_all_kept(keeping.problems.len(), first));
        }
        self.keeping = keeping;
        Ok(())
    }

    /// Goes on with what is done little by little, for so long or to its end: the indexes, and packing what is kept. A
    /// catalog that is damaged, or has no room, is seen by whoever asks next.
    pub(crate) fn go_on(&mut self, here: &Here, time: Option<Duration>) -> Result<Indexes, Failure> {
        let began = Instant::now();
        let mut has_time = || time.is_none_or(|time| began.elapsed() < time);
        let parts = self.catalog.index_parts(&self.sources, &mut has_time);
        let tools = self.catalog.index_tools(&self.sources, &mut has_time);
        let packed = self.catalog.pack_loose(&self.sources, here.stamps().now(), &mut has_time);
        match (parts, tools, packed) {
            (Ok(parts), Ok(tools), Ok(())) => Ok(Indexes { parts, tools }),
            (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => match error {
                CatalogError::Damaged { .. } | CatalogError::NoRoom { .. } => Ok(Indexes::default()),
                error => Err(store_failed(error)),
            },
        }
    }

    /// What does not fit on the disk is found out for this moment only.
    fn keep_in_memory(&mut self, why: &CatalogError, here: &Here) -> Result<(), Failure> {
        if here.look.for_a_person {
            self.notes.push(words::not_kept(why));
        }
        self.catalog = Catalog::in_memory().map_err(store_failed)?;
        Ok(())
    }

    fn rebuild(&mut self) -> Result<(), Failure> {
        let damaged = std::mem::replace(&mut self.catalog, Catalog::in_memory().map_err(store_failed)?);
        self.catalog = damaged.rebuild().map_err(store_failed)?;
        Ok(())
    }

    /// All sessions, after every file was looked at.
    pub(crate) fn list(&mut self, here: &Here) -> Result<Vec<SessionRow>, Failure> {
        let _turn = self.turn();
        self.pack_while_reading(here);
        let mut progress = Progress::of("sessions", &here.look);
        let mut at = |done, of| progress.at(done, of);
        match self.catalog.sync_and_list(&self.sources, here.stamps().now(), &mut at) {
            Ok((synced, rows)) => {
                self.synced = Some(synced);
                drop(progress);
                self.keep(here)?;
                return match self.keeping.lists_others {
                    false => Ok(rows),
                    true => self.ask(here, |catalog, _| catalog.sessions()),
                };
            }
            Err(error @ CatalogError::NoRoom { .. }) => self.keep_in_memory(&error, here)?,
            Err(CatalogError::Damaged { .. }) => {
                self.rebuild()?;
                self.notes.push(words::REBUILT.to_owned());
            }
            Err(error) => return Err(store_failed(error)),
        }
        drop(progress);
        self.sync(here)?;
        self.ask(here, |catalog, _| catalog.sessions())
    }

    /// How many sessions there are, and of how many agents. A file and the journal that goes on with it are one.
    pub(crate) fn count(&mut self, here: &Here) -> Result<(usize, usize), Failure> {
        let (rows, agents) = self.ask(here, |catalog, _| catalog.count())?;
        let references = here.store()?.references().map_err(|error| list_failed(&error))?;
        if references.is_empty() {
            return Ok((rows, agents));
        }
        let names = references.iter().flat_map(|(id, source)| [id.to_string(), source.session.clone()]);
        let names: Vec<String> = names.collect();
        let concerned = self.ask(here, |catalog, _| catalog.listed_like(&names))?;
        let (archive, before) = (Archive::of(&self.sources.home), concerned.len());
        let joined = before.saturating_sub(together(concerned, &references, &archive).len());
        Ok((rows.saturating_sub(joined), agents))
    }

    /// Asks; where the catalog turns out to be damaged it is made anew and asked again.
    pub(crate) fn ask<T>(
        &mut self,
        here: &Here,
        question: impl Fn(&Catalog, &Sources) -> Result<T, CatalogError>,
    ) -> Result<T, Failure> {
        match question(&self.catalog, &self.sources) {
            Err(CatalogError::Damaged { .. }) => {
                self.rebuild()?;
                self.sync(here)?;
                self.notes.push(words::REBUILT.to_owned());
                question(&self.catalog, &self.sources).map_err(store_failed)
            }
            answer => answer.map_err(store_failed),
        }
    }
}

/// Programs that people write in another way than they call themselves.
pub(crate) const NAMED_AGENTS: [&str; 5] = ["claude-code", "codex", "gemini", "gemini-cli", "built_in"];

/// The name of a program, in a sentence.
pub(crate) fn spoken_name(agent: &str) -> &str {
    if agent == "built_in" { "the built-in agent" } else { agent_name(agent) }
}

/// As a column calls it.
pub(crate) fn agent_name(agent: &str) -> &str {
    match agent {
        "claude-code" => "Claude Code",
        "codex" => "Codex",
        "gemini" | "gemini-cli" => "Gemini CLI",
        "built_in" => "Built-in",
        other => other,
    }
}
