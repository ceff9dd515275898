//! What of a session is not in its journal: turns that run, words that are not final yet, and those that a crash has left.
//!
//! Whoever looks sees all of it, and nothing is written: a turn that nobody ends any more is shown as it will be when
//! the session is opened to be written.

use std::path::Path;

use offshoot_api::views::{StatusRow, StatusView};
use offshoot_api::{Request, Response};
use offshoot_engine::Transcripts;
use offshoot_session::turn::{Writer, has_unfinished_turn, shown_of_unfinished, unfinished_turns};
use offshoot_session::{Entry, EntryId, SessionId, SessionTree};
use offshoot_store::{Journal, LazySession, Loaded};

use crate::engine::{self, Reached};
use crate::failure::Failure;
use crate::here::Here;
use crate::look::{Ink, Look, Sign};
use crate::opened::{Opened, open_this, told};
use crate::settings::engine::engine_settings;
use crate::stored::journal;
use crate::talk::wait_for;
use crate::which::Which;

/// The turns that run in this home.
#[derive(Debug, Default)]
pub(crate) struct Running(Vec<StatusRow>);

impl Running {
    pub(crate) fn now(here: &Here) -> Self {
        if !engine::is_there(here) {
            return Self::default();
        }
        Self(wait_for(async { Ok(engine::running_turns(here).await) }).unwrap_or_default())
    }

    /// For whoever speaks with the engine anyway.
    pub(crate) async fn told_by(reached: &Reached) -> Self {
        match reached.call(Request::Status).await {
            Ok(Response::Status { rows }) => Self(rows),
            Ok(_) | Err(_) => Self::default(),
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// How a session is; where several turns run, what waits for a person counts.
    pub(crate) fn in_session(&self, id: &str) -> Option<&StatusView> {
        most_urgent(self.0.iter().filter(|row| row.session == id))
    }

    /// How the turn of a prompt is.
    pub(crate) fn of_prompt(&self, prompt: &EntryId) -> Option<&StatusView> {
        most_urgent(self.0.iter().filter(|row| row.prompt == prompt.as_str()))
    }

    /// How it is at this entry or anywhere below it.
    pub(crate) fn at_or_below(&self, tree: &SessionTree, entry: &EntryId) -> Option<&StatusView> {
        most_urgent(self.0.iter().filter(|row| {
            let prompt = EntryId::from(row.prompt.as_str());
            prompt == *entry || tree.is_ancestor(entry, &prompt)
        }))
    }
}

fn most_urgent<'r>(rows: impl Iterator<Item = &'r StatusRow>) -> Option<&'r StatusView> {
    rows.map(|row| &row.status).max_by_key(|status| status.state == "waiting")
}

/// `◐ running`
pub(crate) fn state_in_words(state: &str, look: &Look) -> (String, Ink) {
    let (sign, ink) = sign_of(state);
    (format!("{} {state}", look.sign(sign)), ink)
}

/// A session that is only looked at, with all that can be seen of it.
pub(crate) fn looked_at(here: &Here, which: &Which) -> Result<Opened, Failure> {
    match which {
        Which::File(_) => open_this(here, which),
        Which::Stored(id) => {
            let Loaded { tree, findings } = seen(here, id)?;
            Ok(Opened { tree, notes: told(&findings) })
        }
    }
}

/// Whether a turn of a long session is not complete: it runs, or a crash has cut it off. Then all of the session is read.
pub(crate) fn has_open_turn(here: &Here, which: &Which, session: &LazySession) -> bool {
    match which {
        Which::File(_) => false,
        Which::Stored(id) => {
            let has_words = || here.store().is_ok_and(|store| store.home().drafts(id).exists());
            has_unfinished_turn(session.skeleton()) || has_words()
        }
    }
}

/// A stored session with all that can be seen of it.
pub(crate) fn seen(here: &Here, id: &SessionId) -> Result<Loaded, Failure> {
    let read = journal(here, id)?;
    if unfinished_turns(read.tree(), &drafts_of(here, id, &read)).is_empty() {
        return Ok(read.into_loaded());
    }
    let writer = if here.store()?.is_being_written(id) { Writer::Alive } else { Writer::Gone };
    // It may have ended since it was read.
    let read = if writer == Writer::Alive { read } else { journal(here, id)? };
    let left = drafts_of(here, id, &read);
    let loaded = read.into_loaded();
    let transcripts = transcripts(here, &loaded.tree);
    let caught_up = transcripts.map(|transcripts| transcripts.catch_up(&loaded.tree, &left));
    let records = shown_of_unfinished(&loaded.tree, &left, &caught_up.unwrap_or_default(), writer);
    let tree = loaded.tree.extended(&records).unwrap_or_else(|_| loaded.tree.clone());
    Ok(Loaded { tree, ..loaded })
}

/// Transcripts of agents, in which a turn may be further than the session knows. Settings that cannot be read are reported by
/// the next writer.
fn transcripts(here: &Here, tree: &SessionTree) -> Option<Transcripts> {
    let project = tree.header().and_then(|header| header.project.as_deref()).map(Path::new);
    let settings = engine_settings(&here.settings.read(project)).ok()?;
    Some(Transcripts::of(offshoot_engine::installed(), &here.context(), &settings))
}

/// What drafts have of turns without an end. Drafts that cannot be read are missed by the next writer, who says so.
fn drafts_of(here: &Here, id: &SessionId, read: &Journal) -> Vec<Entry> {
    let left = here.store().ok().and_then(|store| store.drafts(id).left(read.tree()).ok());
    left.unwrap_or_default()
}

pub(crate) fn sign_of(state: &str) -> (Sign, Ink) {
    match state {
        "starting" => (Sign::Starting, Ink::Faint),
        "ready" => (Sign::OffPath, Ink::Faint),
        "running" => (Sign::Running, Ink::Accent),
        "waiting" => (Sign::Waiting, Ink::Bold),
        "compacting" => (Sign::Compacting, Ink::Accent),
        "interrupted" => (Sign::Interrupted, Ink::Faint),
        "exited" => (Sign::Exited, Ink::Faint),
        "error" => (Sign::Error, Ink::Error),
        _ => (Sign::NobodyKnows, Ink::Faint),
    }
}
