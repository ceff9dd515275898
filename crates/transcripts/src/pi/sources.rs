//! Which lines that records keep are lines of pi: only those may go into its files as they are.

use std::collections::HashSet;
use std::sync::Arc;

use offshoot_session::{Body, Change, Entry, EntryId, RawLine, Record, SessionTree};

use super::draft::{Draft, ParentField, Version, What};
use crate::lines::json_text;

/// What the sources of records say, where they are lines of pi.
pub(super) struct Sources {
    pub(super) drafts: Vec<Option<Draft>>,
    pub(super) version: u32,
    pub(super) are_from_pi: bool,
}

impl Sources {
    pub(super) fn of(records: &[Record]) -> Self {
        let drafts: Vec<Option<Draft>> = records.iter().map(own_draft).collect();
        let opened = records.iter().position(|record| matches!(record.change, Change::Opened(_)));
        let has_own_line = |at: &usize| records.get(*at).is_some_and(|record| record.source.is_some());
        let are_from_pi = match opened.filter(has_own_line) {
            Some(at) => drafts.get(at).is_some_and(Option::is_some),
            None => drafts.iter().flatten().any(Draft::is_surely_of_pi),
        };
        if !are_from_pi {
            return Self { drafts: records.iter().map(|_| None).collect(), version: 3, are_from_pi };
        }
        let version = opened.and_then(|at| match &drafts.get(at)?.as_ref()?.what {
            What::Header(header) => match header.version {
                Version::Number(version) => Some(version),
                Version::Unclear => None,
            },
            _ => None,
        });
        let entries = || drafts.iter().flatten().filter(|draft| matches!(draft.what, What::Entry(_)));
        let has_no_ids = entries().next().is_some() && entries().all(|draft| draft.id.is_none());
        let version = version.unwrap_or(if has_no_ids { 1 } else { 3 });
        Self { drafts, version, are_from_pi }
    }
}

/// Whether pi held this conversation: somebody speaks on the path in a line of pi, and nobody in one of another program.
pub(super) fn is_held_by_pi(tree: &SessionTree, path: &[&Arc<Entry>]) -> bool {
    let spoken: HashSet<&EntryId> = path
        .iter()
        .filter(|entry| matches!(entry.body, Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_)))
        .map(|entry| &entry.id)
        .collect();
    let is_spoken = |record: &&Record| record.as_entry().is_some_and(|entry| spoken.contains(&entry.id));
    let mut lines = tree.log().filter(is_spoken).filter(|record| record.source.is_some()).peekable();
    lines.peek().is_some() && lines.all(|record| own_draft(record).is_some())
}

/// The draft of a source, if it says the same as the record: other programs' lines do not.
fn own_draft(record: &Record) -> Option<Draft> {
    let draft = Draft::of_source(record.source.as_ref()?)?;
    let agrees = match (&record.change, &draft.what) {
        (Change::Opened(header), What::Header(old)) => {
            old.id.as_ref().is_none_or(|id| *id == header.id) && !old.is_of_rollouts
        }
        (Change::Entry(entry), What::Entry(body)) => {
            let is_same_kind = std::mem::discriminant(&entry.body) == std::mem::discriminant(body);
            // A journal may hold the line under a kind that an earlier version did not know.
            (is_same_kind || matches!(entry.body, Body::Foreign(_)))
                && draft.id.as_ref().is_none_or(|id| *id == entry.id)
        }
        (Change::Marked(mark), What::Fact(fact) | What::TitleSlot(fact)) => {
            std::mem::discriminant(&mark.fact) == std::mem::discriminant(fact)
        }
        (Change::HeadMoved(_), What::Leaf(_)) => true,
        (Change::Unknown, _) => true,
        _ => false,
    };
    agrees.then_some(draft)
}

impl Draft {
    /// Lines of other programs can look like entries of an unknown kind, but then they have no id.
    fn is_surely_of_pi(&self) -> bool {
        match &self.what {
            What::Entry(Body::Foreign(_)) => self.id.is_some(),
            What::Entry(_) => true,
            What::Header(_)
            | What::TitleSlot(_)
            | What::Fact(_)
            | What::Silent
            | What::Leaf(_)
            | What::Nameless => false,
        }
    }

    /// The parent that the file means, given the line before.
    pub(super) fn parent_behind(&self, previous: Option<&EntryId>, version: u32) -> Option<EntryId> {
        match &self.parent {
            ParentField::Of(parent) => Some(parent.clone()),
            ParentField::Root => None,
            ParentField::Absent if version == 1 || self.id.is_none() => previous.cloned(),
            ParentField::Absent => None,
        }
    }
}

pub(super) fn json_of(source: &RawLine) -> String {
    String::from_utf8_lossy(json_text(source.content())).into_owned()
}
