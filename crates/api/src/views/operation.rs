//! Steps of a session: what each of them did, as far as the list of steps shows it.

use std::collections::HashMap;

use jiff::Timestamp;
use offshoot_session::{Change, EntryId, Fact, HeadName, Operation, OperationId, Record, SessionTree};
use serde::{Deserialize, Serialize};

use super::place::PlaceView;
use super::session::SessionBrief;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationView {
    pub id: String,
    /// The name under which it was recorded: `edit`, `label`, `fork to a new session`.
    pub kind: String,
    #[serde(with = "super::time")]
    pub at: Timestamp,
    pub undone: bool,
    /// The turn it is about, or where it moved the head; absent where that is before the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceView>,
    /// The head it moved, where that is all it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The name it gave: a label, a title, the name of a branch. Empty where it took one away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How many entries it wrote.
    #[serde(default)]
    pub entries: usize,
    /// The session that it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<SessionBrief>,
}

impl OperationView {
    /// All steps in their order, undone ones included.
    pub fn all(tree: &SessionTree) -> Vec<Self> {
        let records = Records::of(tree);
        tree.operations().map(|operation| records.view(operation)).collect()
    }

    /// Any step, undone or not; `None` where there is no such step.
    pub fn of(tree: &SessionTree, operation: &OperationId) -> Option<Self> {
        let operation = tree.operation(operation)?;
        Some(Records::of(tree).view(operation))
    }

    /// The step that was written last, found without reading the others.
    pub fn latest(tree: &SessionTree, operation: &OperationId) -> Option<Self> {
        let step = tree.operations().next_back().filter(|step| step.id == *operation)?;
        let number = |at: &EntryId| Some(PlaceView::without_short_ids(tree, at).number);
        Some(view_of(step, &tree.latest_records(operation), &number))
    }
}

/// The records of each step. The list of steps has only their names, and the tree does not have what is undone.
struct Records<'t> {
    by_operation: HashMap<&'t OperationId, Vec<&'t Record>>,
    /// The turn of each entry that was ever written.
    turns: HashMap<&'t EntryId, usize>,
}

impl<'t> Records<'t> {
    fn of(tree: &'t SessionTree) -> Self {
        let mut records = Self { by_operation: HashMap::new(), turns: HashMap::new() };
        for record in tree.log() {
            if let Some(entry) = record.as_entry() {
                // A parent stands before its children in everything that we wrote.
                let above = entry.parent.as_ref().and_then(|parent| records.turns.get(parent)).copied();
                let number = above.unwrap_or(0) + usize::from(entry.body.is_prompt());
                records.turns.entry(&entry.id).or_insert(number);
            }
            if let Some(operation) = &record.operation {
                records.by_operation.entry(operation).or_default().push(record);
            }
        }
        records
    }

    fn view(&self, operation: &Operation) -> OperationView {
        let records = self.by_operation.get(&operation.id).map(Vec::as_slice).unwrap_or_default();
        view_of(operation, records, &|at| self.turns.get(at).copied())
    }
}

/// `number` tells the turn of an entry.
fn view_of(
    operation: &Operation,
    records: &[&Record],
    number: &dyn Fn(&EntryId) -> Option<usize>,
) -> OperationView {
    let mut view = OperationView {
        id: operation.id.to_string(),
        kind: operation.name.clone(),
        at: operation.at,
        undone: operation.undone,
        place: None,
        head: None,
        text: None,
        entries: records.iter().filter(|record| record.as_entry().is_some()).count(),
        other: None,
    };
    // The first record that says what the step is about decides.
    let _ = records.iter().any(|record| describe(record, number, &mut view));
    view
}

fn describe(record: &Record, number: &dyn Fn(&EntryId) -> Option<usize>, view: &mut OperationView) -> bool {
    let place = |at: Option<&EntryId>| {
        let at = at?;
        let number = number(at).filter(|number| *number > 0)?;
        Some(PlaceView { number, ..PlaceView::only(at) })
    };
    match &record.change {
        Change::Entry(entry) => view.place = place(Some(&entry.id)),
        Change::HeadMoved(moved) => {
            view.place = place(moved.to.as_ref());
            view.head = Some(moved.head.to_string());
        }
        Change::Marked(mark) => match &mark.fact {
            Fact::Label { target, label } => {
                view.place = place(Some(target));
                view.text = Some(label.clone().unwrap_or_default());
            }
            Fact::Title { title, .. } => view.text = Some(title.clone().unwrap_or_default()),
            Fact::BranchName { at, name } => {
                view.place = place(Some(at));
                view.text = Some(name.clone().unwrap_or_default());
            }
            Fact::Archived { target, .. } => view.place = place(Some(target)),
            Fact::Forked { session } => {
                view.other = Some(SessionBrief { id: session.to_string(), title: None });
            }
            Fact::Checkpoint { .. }
            | Fact::Bound { .. }
            | Fact::TurnEnded { .. }
            | Fact::Delivered { .. }
            | Fact::Spent { .. }
            | Fact::Operation { .. }
            | Fact::Began { .. }
            | Fact::Undone { .. }
            | Fact::Redone { .. } => return false,
        },
        Change::Opened(_) | Change::Unknown => return false,
    }
    true
}

impl OperationView {
    /// Whether it moved the main head and did nothing else.
    pub fn moves_main_head(&self) -> bool {
        self.head.as_deref() == Some(HeadName::main().as_str())
    }
}
