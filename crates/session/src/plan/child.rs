//! A session out of this one in which one thing differs: its settings, a message, or an answer.
//!
//! The child is complete in itself. It begins with all that was said above the difference, then has the settings that
//! were chosen for it and the prompt, if one is sent with them. Its header carries the agent and the model it starts
//! with, and says why it branched: the reason, with the old and the new values.
//!
//! ```text
//! u1 - a1 - u2 - a2      other settings behind a2:   u1 - a1 - u2 - a2 - m1*
//!                        u2 is edited:               u1 - a1 - u3*
//! ```

use serde_json::{Map, Value, json};

use super::fork::{Copied, NewSession, copy_path};
use crate::in_force::InForce;
use crate::{
    Body, BranchReason, Entry, EntryId, HeadMove, HeadName, Model, Prompt, Record, SessionTree, Setting,
    Stamps, TurnId, text_of,
};

/// What a child session has of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Child<'c> {
    pub difference: Difference<'c>,
    /// The last entry that it shares; `None` shares nothing.
    pub above: Option<&'c EntryId>,
    /// What was chosen for it. Settings that are in force above are dropped.
    pub settings: Vec<Setting>,
    /// What is sent there first.
    pub prompt: Option<Prompt>,
}

/// Why a child branches. The prompt that is edited or asked again is in the parent.
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
    /// The prompt of the child and its turn.
    pub sent: Option<(EntryId, TurnId)>,
}

/// So much of a text tells what was changed about it.
const TEXT_IN_METADATA: usize = 200;
const TEXT_IN_TITLE: usize = 40;

pub fn plan_child(tree: &SessionTree, child: Child<'_>, stamps: &mut dyn Stamps) -> NewChild {
    let Child { difference, above, settings, prompt } = child;
    let before = InForce::at(tree, above);
    let mut after = before.clone();
    let changes = after.choose_all(settings);
    let copied = Copied {
        reason: difference.reason(),
        metadata: Some(Value::Object(difference.metadata(tree, &before, &after, &changes, prompt.as_ref()))),
        in_force: Some(&after),
        begins_at_next_message: !matches!(difference, Difference::Settings),
        title: own_title(tree).map(|title| difference.title(title, &changes, prompt.as_ref())),
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
    let sent = prompt.map(|prompt| {
        let turn = stamps.turn_id();
        (write(Body::Prompt(prompt), Some(turn.clone()), stamps), turn)
    });
    if session.head != from {
        let to = session.head.clone();
        let head_move = HeadMove { head: HeadName::main(), moved_at: stamps.now(), from, to };
        session.records.push(Record::head_moved(head_move));
    }
    NewChild { session, sent }
}

impl Difference<'_> {
    pub fn reason(&self) -> BranchReason {
        match self {
            Self::Settings => BranchReason::ConfigChange,
            Self::Edit { .. } => BranchReason::MessageEdit,
            Self::Retry { .. } => BranchReason::Retry,
        }
    }

    /// The old and the new values. The model is told also where another setting has changed.
    fn metadata(
        &self,
        tree: &SessionTree,
        before: &InForce,
        after: &InForce,
        changes: &[Setting],
        prompt: Option<&Prompt>,
    ) -> Map<String, Value> {
        let mut metadata = Map::new();
        if let (Self::Edit { of }, Some(prompt)) = (self, prompt) {
            let old = tree.entry(of).map(|old| old.body.text()).unwrap_or_default();
            metadata.insert("old_text".into(), beginning(&old, TEXT_IN_METADATA).into());
            metadata.insert("new_text".into(), beginning(&text_of(&prompt.blocks), TEXT_IN_METADATA).into());
        }
        if *self == Self::Settings || !changes.is_empty() {
            metadata.extend(changed_settings(before, after, changes));
        }
        metadata
    }

    /// Sessions of one name could not be told apart, so the child is named after what differs.
    fn title(&self, of_parent: &str, changes: &[Setting], prompt: Option<&Prompt>) -> String {
        let what = match self {
            Self::Settings => {
                let told = changes.iter().map(|change| match change {
                    Setting::Model { role: None, model } => model.name.clone(),
                    Setting::Agent(agent) => agent.clone(),
                    other => match told(other) {
                        (name, Value::String(value)) => format!("{} {value}", name.replace('_', " ")),
                        (name, _) => name.replace('_', " "),
                    },
                });
                told.collect::<Vec<_>>().join(", ")
            }
            Self::Edit { .. } => {
                prompt.map(|prompt| beginning(&text_of(&prompt.blocks), TEXT_IN_TITLE)).unwrap_or_default()
            }
            Self::Retry { .. } => "retry".to_owned(),
        };
        if what.is_empty() { of_parent.to_owned() } else { format!("{of_parent} ({what})") }
    }
}

/// The title without what the session itself was named after when it branched.
fn own_title(tree: &SessionTree) -> Option<&str> {
    let title = tree.title()?;
    let reason = tree.header().and_then(|header| header.lineage.as_ref()?.reason.as_ref());
    match reason {
        Some(BranchReason::ConfigChange | BranchReason::MessageEdit | BranchReason::Retry) => {
            let name = title.strip_suffix(')').and_then(|title| title.rsplit_once(" ("));
            Some(name.map_or(title, |(name, _)| name))
        }
        Some(BranchReason::Fork | BranchReason::Other(_)) | None => Some(title),
    }
}

/// `old_` and `new_` of the model and of every other setting that has changed.
fn changed_settings(before: &InForce, after: &InForce, changes: &[Setting]) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("old_model".into(), json!(before.model().map(model_name)));
    metadata.insert("new_model".into(), json!(after.model().map(model_name)));
    let others = changes.iter().filter(|change| !matches!(change, Setting::Model { role: None, .. }));
    for (name, new) in others.map(told) {
        let old = before.chosen().iter().map(told).find(|(other, _)| *other == name).map(|(_, old)| old);
        metadata.insert(format!("old_{name}"), old.unwrap_or(Value::Null));
        metadata.insert(format!("new_{name}"), new);
    }
    metadata
}

/// The name of a setting, and its value.
fn told(setting: &Setting) -> (String, Value) {
    let (name, value) = match setting {
        Setting::Agent(agent) => ("agent", json!(agent)),
        Setting::Model { role: None, model } => ("model", json!(model_name(model))),
        Setting::Model { role: Some(role), model } => {
            return (format!("model_{role}"), json!(model_name(model)));
        }
        Setting::Thinking(level) => ("thinking", json!(level)),
        Setting::Tools(tools) => ("tools", json!(tools)),
        Setting::PermissionMode(mode) => ("permission_mode", json!(mode)),
        Setting::Mode { mode, data: _ } => ("mode", json!(mode)),
        Setting::ServiceTier(tier) => ("service_tier", json!(tier)),
        Setting::Config(value) => ("config", value.clone()),
    };
    (name.to_owned(), value)
}

fn model_name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.name)
}

/// The first line, cut where it is long.
fn beginning(text: &str, longest: usize) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default().trim_end();
    let cut: String = line.chars().take(longest).collect();
    if cut.len() < text.len() { format!("{}…", cut.trim_end()) } else { cut }
}
