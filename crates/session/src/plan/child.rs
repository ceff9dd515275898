//! A session out of this one in which one thing differs: its settings, a message, or an answer.
//!
//! The child is complete in itself. It begins with all that was said above the difference, then has the settings that
//! were chosen for it and its first message of its own, if there is one. Its header carries the agent and the model it starts
//! with, and says why it branched: the reason, with the old and the new values.
//!
//! ```text
//! u1 - a1 - u2 - a2      other settings behind a2:   u1 - a1 - u2 - a2 - m1*
//!                        u2 is edited:               u1 - a1 - u3*
//!                        a1 is edited:               u1 - a3*
//! ```

use serde_json::{Map, Value};

use super::child_title::child_title;
use super::fork::{Copied, NewSession, copy_path};
use crate::in_force::InForce;
use crate::lineage::{TURN, beginning, changed_settings, edited_message, name_and_value};
use crate::{
    Body, BranchReason, Entry, EntryId, HeadMove, HeadName, Record, SessionTree, Setting, Stamps, TurnId,
};

/// What a child session has of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Child<'c> {
    pub difference: Difference<'c>,
    /// The last entry that it shares; `None` shares nothing.
    pub above: Option<&'c EntryId>,
    /// What was chosen for it. Settings that are in force above are dropped.
    pub settings: Vec<Setting>,
    /// Its first message of its own: a prompt that is sent there, or an edited message of another role.
    pub message: Option<Body>,
}

/// Why a child branches. The message that is edited and the prompt that is asked again are in the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference<'c> {
    Settings,
    Edit { of: &'c EntryId },
    Retry { of: &'c EntryId },
}

/// A child that is about to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewChild {
    pub session: NewSession,
    /// Its first message of its own.
    pub message: Option<EntryId>,
    /// The turn that is to answer the message, if that is a prompt.
    pub turn: Option<TurnId>,
}

/// Longer texts are cut in a title.
const TEXT_IN_TITLE: usize = 40;

pub fn plan_child(tree: &SessionTree, child: Child<'_>, stamps: &mut dyn Stamps) -> NewChild {
    let Child { difference, above, settings, message } = child;
    let before = InForce::at(tree, above);
    let mut after = before.clone();
    let changes = after.choose_all(settings);
    let copied = Copied {
        reason: difference.reason(),
        metadata: Some(Value::Object(difference.metadata(tree, &before, &after, &changes, message.as_ref()))),
        in_force: Some(&after),
        begins_at_next_message: !matches!(difference, Difference::Settings),
        title: child_title(tree, &difference.in_title(&changes, message.as_ref())),
    };
    let mut session = copy_path(tree, above, copied, stamps);
    let from = session.head.clone();
    let mut write = |body: Body, turn: Option<TurnId>, stamps: &mut dyn Stamps| {
        let (id, written_at) = (stamps.entry_id(), stamps.now());
        let parent = session.head.replace(id.clone());
        session.records.push(Record::entry(Entry { id: id.clone(), parent, written_at, turn, body }));
        id
    };
    for setting in changes {
        write(Body::Setting(setting), None, stamps);
    }
    let turn = message.as_ref().filter(|message| message.is_prompt()).map(|_| stamps.turn_id());
    let message = message.map(|message| write(message, turn.clone(), stamps));
    if session.head != from {
        let to = session.head.clone();
        let head_move = HeadMove { head: HeadName::main(), moved_at: stamps.now(), from, to };
        session.records.push(Record::head_moved(head_move));
    }
    NewChild { session, message, turn }
}

impl Difference<'_> {
    pub fn reason(&self) -> BranchReason {
        match self {
            Self::Settings => BranchReason::ConfigChange,
            Self::Edit { .. } => BranchReason::MessageEdit,
            Self::Retry { .. } => BranchReason::Retry,
        }
    }

    /// The old and the new values, and which turn was edited or asked again.
    fn metadata(
        &self,
        tree: &SessionTree,
        before: &InForce,
        after: &InForce,
        changes: &[Setting],
        message: Option<&Body>,
    ) -> Map<String, Value> {
        let mut metadata = Map::new();
        if let Self::Edit { of } | Self::Retry { of } = self {
            metadata.insert(TURN.into(), turn_number(tree, of).into());
        }
        if let (Self::Edit { of }, Some(new)) = (self, message)
            && let Some(old) = tree.entry(of)
        {
            metadata.extend(edited_message(&old.body, new));
        }
        if *self == Self::Settings || !changes.is_empty() {
            metadata.extend(changed_settings(before, after, changes));
        }
        metadata
    }

    /// What differs, in a word or two.
    fn in_title(&self, changes: &[Setting], message: Option<&Body>) -> String {
        match self {
            Self::Settings => {
                let told = changes.iter().map(|change| match change {
                    Setting::Model { role: None, model } => model.name.clone(),
                    Setting::Agent(agent) => agent.clone(),
                    other => match name_and_value(other) {
                        (name, Value::String(value)) => format!("{} {value}", name.replace('_', " ")),
                        (name, _) => name.replace('_', " "),
                    },
                });
                told.collect::<Vec<_>>().join(", ")
            }
            Self::Edit { .. } => {
                message.map(|message| beginning(&message.text(), TEXT_IN_TITLE)).unwrap_or_default()
            }
            Self::Retry { .. } => "retry".to_owned(),
        }
    }
}

/// The number of the turn that a message belongs to, as trees show it.
fn turn_number(tree: &SessionTree, message: &EntryId) -> usize {
    tree.path_to(Some(message)).into_iter().filter(|entry| entry.body.is_prompt()).count()
}
