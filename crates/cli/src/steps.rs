//! What a step did, in a few words: `edit #3`, `label #3 [works]`. The list of steps holds only their names, so the
//! rest is read from the records of each step, also of those that are undone.

use std::collections::HashMap;

use offshoot_session::{Change, EntryId, Fact, HeadName, Operation, OperationId, Record, SessionTree};

use crate::which::beginning_of;
use crate::words;

#[derive(Debug)]
pub(crate) struct Steps<'t> {
    records: HashMap<&'t OperationId, Vec<&'t Record>>,
    turns: HashMap<&'t EntryId, usize>,
}

impl<'t> Steps<'t> {
    pub(crate) fn of(tree: &'t SessionTree) -> Self {
        let mut steps = Self { records: HashMap::new(), turns: HashMap::new() };
        for record in tree.log() {
            if let Some(entry) = record.as_entry() {
                // A parent stands before its children in everything that we wrote.
                let above = entry.parent.as_ref().and_then(|parent| steps.turns.get(parent)).copied();
                let number = above.unwrap_or(0) + usize::from(entry.body.is_prompt());
                steps.turns.entry(&entry.id).or_insert(number);
            }
            if let Some(operation) = &record.operation {
                steps.records.entry(operation).or_default().push(record);
            }
        }
        steps
    }

    pub(crate) fn told(&self, step: &Operation) -> String {
        let records = self.records.get(&step.id).map(Vec::as_slice).unwrap_or_default();
        let entries = records.iter().filter(|record| record.as_entry().is_some()).count();
        let object = records.iter().find_map(|record| self.object(record)).unwrap_or_default();
        match entries {
            0 | 1 => format!("{}{object}", step.name),
            more => format!("{}{}", step.name, words::several_entries(more)),
        }
    }

    fn object(&self, record: &Record) -> Option<String> {
        match &record.change {
            Change::Entry(entry) => Some(format!(" {}", self.place(Some(&entry.id)))),
            Change::HeadMoved(moved) if moved.head == HeadName::main() => {
                Some(words::to_place(&self.place(moved.to.as_ref())))
            }
            Change::HeadMoved(moved) => {
                Some(format!(" {}{}", moved.head, words::to_place(&self.place(moved.to.as_ref()))))
            }
            Change::Marked(mark) => match &mark.fact {
                Fact::Label { target, label } => {
                    let label = label.as_deref().map_or(words::GONE.to_owned(), |label| format!("[{label}]"));
                    Some(format!(" {} {label}", self.place(Some(target))))
                }
                Fact::Title { title, .. } => Some(words::to_place(title.as_deref().unwrap_or(words::GONE))),
                Fact::BranchName { at, name } => {
                    let name = name.as_deref().unwrap_or(words::GONE);
                    Some(format!(" {} {name}", self.place(Some(at))))
                }
                Fact::Archived { target, .. } => Some(format!(" {}", self.place(Some(target)))),
                Fact::Forked { session } => Some(format!(" {}", beginning_of(session))),
                Fact::Checkpoint { .. }
                | Fact::Bound { .. }
                | Fact::TurnEnded { .. }
                | Fact::Spent { .. }
                | Fact::Operation { .. }
                | Fact::Began { .. }
                | Fact::Undone { .. }
                | Fact::Redone { .. } => None,
            },
            Change::Opened(_) | Change::Unknown => None,
        }
    }

    fn place(&self, at: Option<&EntryId>) -> String {
        match at.and_then(|at| self.turns.get(at)) {
            Some(number) if *number > 0 => format!("#{number}"),
            Some(_) | None => words::BEFORE_FIRST.to_owned(),
        }
    }
}
