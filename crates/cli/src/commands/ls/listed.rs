//! One session as a list tells it.

use std::cmp::Reverse;
use std::path::PathBuf;

use jiff::Timestamp;
use offshoot_api::views::StatusView;
use offshoot_session::Lineage;
use offshoot_session::cost::{PriceLookup, Spent};
use offshoot_store::Archive;
use offshoot_store::catalog::{self, SessionRow, SpentText};
use offshoot_transcripts::gist::HeaderGist;
use serde_json::{Value, json};

use crate::commands::json::lineage;
use crate::known::Known;
use crate::naming::{Lies, Name, Standing};
use crate::words;

#[derive(Debug)]
pub(super) struct Listed {
    /// Tells sessions of the same id apart, such as copies.
    pub(super) key: i64,
    pub(super) id: String,
    pub(super) path: PathBuf,
    /// Kept by Offshoot, and not by another program.
    pub(super) is_own: bool,
    /// The id of the journal in which changes of another program's session are kept.
    pub(super) changed_as: Option<String>,
    /// When something was last written, as the records say; where there is none, as the disk says.
    pub(super) updated_at: Timestamp,
    pub(super) state: State,
    /// Where its program had it; only the archive has it any more.
    pub(super) kept_from: Option<PathBuf>,
    /// The one that a command without SESSION means.
    pub(super) is_current: bool,
}

#[derive(Debug)]
pub(super) enum State {
    Whole(Box<About>),
    /// So many records are lost; the others are told of.
    Damaged(Box<About>, u64),
    /// Nothing can be told of it but why.
    Unreadable(String),
}

#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) title: Option<String>,
    pub(super) first_prompt: Option<String>,
    pub(super) project: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) header: Option<Box<HeaderGist>>,
    pub(super) labels: Vec<String>,
    pub(super) opened_at: Option<Timestamp>,
    pub(super) entries: u64,
    pub(super) branches: u64,
    pub(super) prompts: usize,
    /// What was used, by the file and by what was added here.
    pub(super) spent: Vec<SpentText>,
    pub(super) beginning: Option<i64>,
}

impl Listed {
    /// Whether it is no session of its own, or a file of others that tells nothing.
    pub(super) fn is_aside(row: &SessionRow) -> bool {
        row.is_side || (!row.is_own && matches!(row.state, catalog::State::Unreadable(_)))
    }

    /// `None` for what no list shows.
    pub(super) fn of(row: SessionRow, archive: &Archive) -> Option<Self> {
        if Self::is_aside(&row) {
            return None;
        }
        let moment = |at: i64| Timestamp::from_microsecond(at).ok();
        let about = Box::new(About {
            title: row.title,
            first_prompt: row.first_prompt,
            project: row.project,
            agent: row.agent,
            model: row.model,
            parent: row.parent,
            header: row.header,
            labels: row.labels,
            opened_at: row.opened_at.and_then(moment),
            entries: row.entries,
            branches: row.branches,
            prompts: usize::try_from(row.prompts).unwrap_or(usize::MAX),
            spent: row.spent.into_iter().collect(),
            beginning: row.beginning,
        });
        let state = match row.state {
            catalog::State::Whole => State::Whole(about),
            catalog::State::Damaged(lost) => State::Damaged(about, lost),
            catalog::State::Unreadable(reason) => State::Unreadable(reason),
        };
        let updated_at = moment(row.updated_at).unwrap_or_default();
        let (key, is_own) = (row.key, row.is_own);
        let kept_from = archive.kept_at(&row.path).map(|kept| kept.original);
        let (changed_as, is_current) = (None, false);
        let path = row.path;
        Some(Self { key, id: row.id, path, is_own, changed_as, updated_at, state, kept_from, is_current })
    }

    /// Takes up what its journal adds to it. Each entry and each cost is told by one of the two.
    pub(super) fn add(&mut self, journal: Self) {
        self.changed_as = Some(journal.id);
        self.updated_at = self.updated_at.max(journal.updated_at);
        let (State::Whole(about) | State::Damaged(about, _)) = &mut self.state else { return };
        match journal.state {
            State::Whole(added) => about.add(*added),
            State::Damaged(added, lost) => {
                about.add(*added);
                self.state = State::Damaged(about.clone(), lost);
            }
            State::Unreadable(reason) => self.state = State::Unreadable(reason),
        }
    }

    /// What was used for it, also elsewhere.
    pub(super) fn has_spent(&mut self, spent: SpentText) {
        if let State::Whole(about) | State::Damaged(about, _) = &mut self.state {
            about.spent = vec![spent];
        }
    }

    pub(super) fn is(&self, known: &Known) -> bool {
        let journal = self.changed_as.as_deref().or(Some(self.id.as_str()).filter(|_| self.is_own));
        match known.journal.as_ref() {
            Some(id) => journal == Some(id.as_str()),
            None => self.path == known.path,
        }
    }

    pub(super) fn name(&self) -> Name {
        let lies = match (self.is_own, &self.kept_from) {
            (true, _) => Lies::Here,
            (false, Some(_)) => Lies::InArchive,
            (false, None) => Lies::WithProgram,
        };
        let updated_at = Reverse(self.updated_at.as_microsecond());
        let standing = Standing { lies, updated_at, path: Reverse(self.path.clone()) };
        Name { id: self.id.clone(), standing }
    }

    pub(super) fn about(&self) -> Option<&About> {
        match &self.state {
            State::Whole(about) | State::Damaged(about, _) => Some(about),
            State::Unreadable(_) => None,
        }
    }

    /// Where and why it branched, as its header says.
    pub(super) fn lineage(&self) -> Option<Lineage> {
        let about = self.about()?;
        let parent = about.parent.as_deref()?;
        Some(match &about.header {
            Some(header) => header.lineage(parent),
            None => HeaderGist::default().lineage(parent),
        })
    }

    /// What its header says, as trees of sessions show it.
    pub(super) fn header_as_json(&self) -> Value {
        let (about, lineage) = (self.about(), self.lineage());
        let header = about.and_then(|about| about.header.as_ref());
        json!({
            "id": self.id,
            "timestamp": about.and_then(|about| about.opened_at).map(|at| at.to_string()),
            "cwd": about.and_then(|about| about.project.as_deref()),
            "agent": about.and_then(|about| about.agent.as_deref()),
            "provider": header.and_then(|header| header.provider.as_deref()),
            "model": header.and_then(|header| header.model.as_deref()),
            "parent_id": lineage.as_ref().map(|lineage| lineage.parent.as_str()),
            "branch_point": header.and_then(|header| header.branch_point),
            "branch_reason": header.and_then(|header| header.branch_reason.as_deref()),
            "branch_metadata": header.and_then(|header| header.branch_metadata.as_ref()),
        })
    }

    pub(super) fn about_mut(&mut self) -> Option<&mut About> {
        match &mut self.state {
            State::Whole(about) | State::Damaged(about, _) => Some(about),
            State::Unreadable(_) => None,
        }
    }

    /// `called` names it; `parent` is the session it came from, where that is listed too.
    pub(super) fn as_json(
        &self,
        called: &str,
        parent: Option<&str>,
        status: Option<&StatusView>,
        prices: &PriceLookup,
    ) -> Value {
        let about = self.about();
        let (damaged, error) = match &self.state {
            State::Whole(_) => (0, None),
            State::Damaged(_, lost) => (*lost, None),
            State::Unreadable(reason) => (0, Some(reason)),
        };
        let named = about.and_then(|about| about.parent.as_deref());
        json!({
            "id": self.id,
            "named": called,
            "current": self.is_current,
            "title": about.and_then(|about| about.title.as_deref()),
            "first_prompt": about.and_then(|about| about.first_prompt.as_deref()),
            "agent": about.and_then(|about| about.agent.as_deref()),
            "model": about.and_then(|about| about.model.as_deref()),
            "project": about.and_then(|about| about.project.as_deref()),
            "labels": about.map(|about| about.labels.as_slice()),
            "entries": about.map(|about| about.entries),
            "branches": about.map(|about| about.branches),
            "prompts": about.map(|about| about.prompts),
            "updated_at": self.updated_at.to_string(),
            "opened_at": about.and_then(|about| about.opened_at).map(|at| at.to_string()),
            "parent": parent.or(named),
            "lineage": lineage(self.lineage().as_ref()),
            "cost_micros": about.and_then(|about| about.cost(prices)),
            "damaged_records": damaged,
            "error": error,
            "path": self.path.to_string_lossy(),
            "kept_from": self.kept_from.as_ref().map(|path| path.to_string_lossy()),
            "changed_as": self.changed_as,
            "status": status,
        })
    }
}

impl About {
    fn add(&mut self, added: Self) {
        self.title = added.title.or(self.title.take());
        self.model = added.model.or(self.model.take());
        let new = added.labels.into_iter().filter(|label| !self.labels.contains(label));
        self.labels = self.labels.iter().cloned().chain(new.collect::<Vec<_>>()).collect();
        self.entries += added.entries;
        self.branches += added.branches;
        self.prompts += added.prompts;
        self.spent.extend(added.spent);
    }

    /// In millionths of a dollar; `None` where nobody knows a price.
    pub(super) fn cost(&self, prices: &PriceLookup) -> Option<i64> {
        let mut all = Spent::default();
        self.spent.iter().for_each(|spent| all.plus(&spent.understood()));
        all.money(|model| prices.price_of(model))
    }

    /// The model of the header, else that of the last reply.
    pub(super) fn model_name(&self) -> Option<String> {
        let header = self.header.as_ref();
        header.and_then(|header| header.model.clone()).or_else(|| self.model.clone())
    }

    /// The model with its provider, as far as the header names it.
    pub(super) fn whole_model(&self) -> Option<String> {
        let header = self.header.as_ref();
        let provider = header.and_then(|header| header.provider.as_deref()).filter(|name| !name.is_empty());
        match (provider, header.and_then(|header| header.model.as_ref())) {
            (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
            (Some(_) | None, _) => self.model_name(),
        }
    }

    /// The title; where there is none, what was asked first.
    pub(super) fn name(&self) -> &str {
        self.title.as_deref().or(self.first_prompt.as_deref()).unwrap_or(words::UNTITLED)
    }
}
