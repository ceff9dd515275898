//! Giving names: labels of entries, the title of the session, names of branches.
//!
//! Names are facts about the tree, not nodes of it: giving one moves no head and lengthens no path. A blank name
//! clears, and a name that is there already is no step.

use thiserror::Error;

use super::Plan;
use crate::{EntryId, Fact, Record, SessionTree, Stamps, TitleSource};

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NamingRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    /// A plain number always means a turn, so it could never be used to address the branch.
    #[error("`{0}` cannot name a branch: it would be read as a turn")]
    Number(String),
    #[error("`{name}` is the name of another branch already")]
    Taken { name: String, at: EntryId },
}

pub fn plan_label(
    tree: &SessionTree,
    target: &EntryId,
    label: Option<&str>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, NamingRefused> {
    require(tree, target)?;
    let label = written(label);
    if tree.label(target) == label {
        return Ok(None);
    }
    let fact = Fact::Label { target: target.clone(), label: label.map(String::from) };
    Ok(Some(one_fact("label", fact, stamps)))
}

/// Names the branch that begins at `at`. A name that could not be used to address the branch is refused: it has to be
/// unique, whatever its case, and must not look like a turn number.
pub fn plan_branch_name(
    tree: &SessionTree,
    at: &EntryId,
    name: Option<&str>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, NamingRefused> {
    require(tree, at)?;
    let name = written(name);
    if let Some(name) = name {
        require_addressable(tree, at, name)?;
    }
    if tree.branch_name(at) == name {
        return Ok(None);
    }
    let fact = Fact::BranchName { at: at.clone(), name: name.map(String::from) };
    Ok(Some(one_fact("name branch", fact, stamps)))
}

/// An automatic title is no step while a person's title stands.
pub fn plan_rename(
    tree: &SessionTree,
    title: Option<&str>,
    source: TitleSource,
    stamps: &mut dyn Stamps,
) -> Option<Plan> {
    let title = written(title);
    let standing = match source {
        TitleSource::User => tree.title().filter(|_| tree.title_is_by_user()),
        TitleSource::Auto if tree.title_is_by_user() => return None,
        TitleSource::Auto => tree.title(),
    };
    if standing == title {
        return None;
    }
    let fact = Fact::Title { title: title.map(String::from), source };
    Some(one_fact("rename", fact, stamps))
}

fn require(tree: &SessionTree, id: &EntryId) -> Result<(), NamingRefused> {
    if tree.contains(id) { Ok(()) } else { Err(NamingRefused::NotFound(id.clone())) }
}

fn require_addressable(tree: &SessionTree, at: &EntryId, name: &str) -> Result<(), NamingRefused> {
    if name.trim_start_matches('#').bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NamingRefused::Number(name.to_owned()));
    }
    let lower = name.to_lowercase();
    let mut others = tree.branch_names().into_iter().filter(|(other, _)| *other != at);
    match others.find(|(_, taken)| taken.to_lowercase() == lower) {
        Some((other, _)) => Err(NamingRefused::Taken { name: name.to_owned(), at: other.clone() }),
        None => Ok(()),
    }
}

fn written(name: Option<&str>) -> Option<&str> {
    name.map(str::trim).filter(|name| !name.is_empty())
}

fn one_fact(step: &str, fact: Fact, stamps: &mut dyn Stamps) -> Plan {
    let mut plan = Plan::named(step, stamps);
    plan.push(Record::marked(stamps.now(), fact));
    plan
}
