//! One session as a list tells it.

use jiff::Timestamp;
use offshoot_session::about::prompts;
use offshoot_session::outline::{TurnOutline, one_line};
use offshoot_session::{Change, SessionId, SessionTree, cost};
use offshoot_store::{Loaded, ReadError, SessionStore};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::here::Here;
use crate::opened::is_damage;
use crate::progress::Progress;
use crate::stored::list_failed;
use crate::words;

#[derive(Debug)]
pub(super) struct Listed {
    pub(super) id: SessionId,
    /// When something was last written, as the records say; of a journal without any, as the disk says.
    pub(super) updated_at: Timestamp,
    pub(super) state: State,
}

#[derive(Debug)]
pub(super) enum State {
    Whole(About),
    /// So many records are lost; the others are told of.
    Damaged(About, usize),
    /// Nothing can be told of it but why.
    Unreadable(String),
}

#[derive(Debug)]
pub(super) struct About {
    pub(super) title: Option<String>,
    pub(super) first_prompt: Option<String>,
    pub(super) project: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) labels: Vec<String>,
    pub(super) opened_at: Option<Timestamp>,
    pub(super) entries: usize,
    pub(super) branches: usize,
    pub(super) prompts: usize,
    pub(super) cost_micros: i64,
}

pub(super) fn all(here: &Here) -> Result<Vec<Listed>, Failure> {
    let store = here.store()?;
    let ids = store.list().map_err(|error| list_failed(&error))?;
    let mut progress = Progress::of("sessions", &here.look);
    let mut sessions = Vec::with_capacity(ids.len());
    let count = ids.len();
    for (done, id) in ids.into_iter().enumerate() {
        progress.at(done, count);
        let written = || {
            let modified = std::fs::metadata(store.home().journal(&id)).and_then(|file| file.modified());
            modified.ok().and_then(|moment| Timestamp::try_from(moment).ok()).unwrap_or_default()
        };
        let (updated_at, state) = match store.read(&id) {
            // A crash stopped it from being born; nobody was told that it exists.
            Ok(None) => continue,
            Ok(Some(Loaded { tree, .. })) if tree.is_taken_back() => continue,
            Ok(Some(Loaded { tree, findings })) => {
                let about = About::of(&tree);
                let lost = findings.iter().filter(|finding| is_damage(finding)).count();
                let state = if lost == 0 { State::Whole(about) } else { State::Damaged(about, lost) };
                (last_written(&tree).unwrap_or_else(written), state)
            }
            Err(ReadError::Newer { source, .. }) => (written(), State::Unreadable(source.to_string())),
            Err(ReadError::File(error)) => (written(), State::Unreadable(error.source.to_string())),
            Err(ReadError::Gone { .. }) => continue,
        };
        sessions.push(Listed { id, updated_at, state });
    }
    Ok(sessions)
}

fn last_written(tree: &SessionTree) -> Option<Timestamp> {
    let moment = |change: &Change| match change {
        Change::Opened(header) => Some(header.opened_at),
        Change::Entry(entry) => Some(entry.written_at),
        Change::HeadMoved(head_move) => Some(head_move.moved_at),
        Change::Marked(mark) => Some(mark.marked_at),
        Change::Unknown => None,
    };
    tree.log().filter_map(|record| moment(&record.change)).max()
}

impl Listed {
    pub(super) fn about(&self) -> Option<&About> {
        match &self.state {
            State::Whole(about) | State::Damaged(about, _) => Some(about),
            State::Unreadable(_) => None,
        }
    }

    /// `parent` is the session it came from, where that is stored too.
    pub(super) fn as_json(&self, parent: Option<&SessionId>) -> Value {
        let about = self.about();
        let (damaged, error) = match &self.state {
            State::Whole(_) => (0, None),
            State::Damaged(_, lost) => (*lost, None),
            State::Unreadable(reason) => (0, Some(reason)),
        };
        let named = about.and_then(|about| about.parent.as_deref());
        json!({
            "id": self.id.as_str(),
            "title": about.and_then(|about| about.title.as_deref()),
            "first_prompt": about.and_then(|about| about.first_prompt.as_deref()),
            "agent": about.and_then(|about| about.agent.as_deref()),
            "project": about.and_then(|about| about.project.as_deref()),
            "entries": about.map(|about| about.entries),
            "branches": about.map(|about| about.branches),
            "prompts": about.map(|about| about.prompts),
            "updated_at": self.updated_at.to_string(),
            "opened_at": about.and_then(|about| about.opened_at).map(|at| at.to_string()),
            "parent": parent.map(|parent| parent.as_str()).or(named),
            "cost_micros": about.map(|about| about.cost_micros),
            "damaged_records": damaged,
            "error": error,
        })
    }
}

impl About {
    fn of(tree: &SessionTree) -> Self {
        let header = tree.header();
        let outline = TurnOutline::of(tree);
        let asked = prompts(tree);
        Self {
            title: tree.title().map(str::to_owned),
            first_prompt: asked.iter().map(|prompt| one_line(&prompt.body)).find(|text| !text.is_empty()),
            project: header.and_then(|header| header.project.clone()),
            agent: header.and_then(|header| header.agent.clone()),
            parent: header.and_then(|header| header.lineage.as_ref()).map(|lineage| lineage.parent.clone()),
            labels: tree.labels().into_iter().map(|(_, label)| label.to_owned()).collect(),
            opened_at: header.map(|header| header.opened_at),
            entries: tree.len(),
            branches: outline.branches,
            prompts: asked.len(),
            cost_micros: cost::usage_of(tree).cost_micros,
        }
    }

    /// The title; where there is none, what was asked first.
    pub(super) fn name(&self) -> &str {
        self.title.as_deref().or(self.first_prompt.as_deref()).unwrap_or(words::UNTITLED)
    }
}
