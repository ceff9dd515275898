//! Changing how the agent runs: settings below the head, in force from there on.
//!
//! A setting is a node of the tree. Going back above it and asking again makes two branches that differ in their
//! settings, so nothing more is needed to compare models. Who wants one session for each configuration takes
//! [`plan_config_session`].

use thiserror::Error;

use super::Plan;
use super::child::{Child, Difference, plan_child};
use super::fork::NewSession;
use crate::in_force::InForce;
use crate::{Body, EntryId, HeadName, SessionTree, Setting, Stamps};

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigRefused {
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
}

/// Settings that are in force already are dropped; `None` where none is left.
pub fn plan_config_change(
    tree: &SessionTree,
    head: &HeadName,
    settings: Vec<Setting>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, ConfigRefused> {
    let changes = in_force_at(tree, head)?.choose_all(settings);
    if changes.is_empty() {
        return Ok(None);
    }
    let mut plan = Plan::named("change settings", stamps);
    let mut tip = tree.head(head).cloned();
    for setting in changes {
        tip = Some(plan.write(tip, None, Body::Setting(setting), stamps));
    }
    plan.move_head(tree, head, tip, stamps);
    Ok(Some(plan))
}

/// The same change in a session of its own, which begins with all that was said up to the head.
pub fn plan_config_session(
    tree: &SessionTree,
    head: &HeadName,
    settings: Vec<Setting>,
    stamps: &mut dyn Stamps,
) -> Result<Option<NewSession>, ConfigRefused> {
    if in_force_at(tree, head)?.choose_all(settings.clone()).is_empty() {
        return Ok(None);
    }
    let child = Child { difference: Difference::Settings, above: tree.head(head), settings, message: None };
    Ok(Some(plan_child(tree, child, stamps).session))
}

/// Whether settings would split the conversation above an entry into two configurations: one of them is another than
/// the one in force there, or the first of its kind behind something that was said without it.
pub fn splits_configuration(tree: &SessionTree, above: Option<&EntryId>, settings: &[Setting]) -> bool {
    let in_force = InForce::at(tree, above);
    let is_first = |setting: &Setting| !in_force.chosen().iter().any(|other| other.is_same_kind(setting));
    let mut changes = settings.iter().filter(|setting| !in_force.holds(setting)).peekable();
    if changes.peek().is_none() {
        return false;
    }
    let was_anything_said = || tree.path_to(above).iter().any(|entry| entry.body.is_prompt());
    changes.any(|setting| !is_first(setting)) || was_anything_said()
}

fn in_force_at(tree: &SessionTree, head: &HeadName) -> Result<InForce, ConfigRefused> {
    if !tree.has_head(head) {
        return Err(ConfigRefused::UnknownHead(head.clone()));
    }
    Ok(InForce::at(tree, tree.head(head)))
}
