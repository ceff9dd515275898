//! Points of a tree, as a front end prints them.

use offshoot_session::address::short_id;
use offshoot_session::outline::one_line;
use offshoot_session::versions::{edit_group, version_of};
use offshoot_session::{EntryId, SessionTree};
use serde::{Deserialize, Serialize};

/// Longer prompts are cut in places: they name a prompt, they do not show it.
const LONGEST_TEXT: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceView {
    pub entry: String,
    /// The beginning of the entry's id that is unique in its session, at least six characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<String>,
    /// The prompt of the turn that the entry belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The same for the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_short: Option<String>,
    /// Of the turn, from 1; 0 before the first prompt.
    pub number: usize,
    /// The name of the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The label of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The prompt's text as one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Of the prompt; absent where it is the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionBrief>,
    /// The entry is a prompt, and its answer follows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub before_answer: bool,
    /// Something follows the entry.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
}

/// Which version of a prompt, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionBrief {
    /// What all versions have in common: the id of the oldest.
    #[serde(default)]
    pub edit_group: String,
    pub index: usize,
    pub total: usize,
}

impl VersionBrief {
    /// `None` for what is not a prompt, and for a prompt without other versions.
    pub fn of(tree: &SessionTree, prompt: &EntryId) -> Option<Self> {
        let version = version_of(tree, prompt)?;
        let edit_group = edit_group(tree, prompt)?.to_string();
        Some(Self { edit_group, index: version.number, total: version.of })
    }
}

impl PlaceView {
    /// All that is known of the place. Short ids are found by comparing all ids of the session.
    pub fn of(tree: &SessionTree, entry: &EntryId) -> Self {
        let place = Self::without_short_ids(tree, entry);
        let short = short_id(tree, entry);
        let prompt_short = place.prompt.as_deref().map(|prompt| match prompt == entry.as_str() {
            true => short.clone(),
            false => short_id(tree, &prompt.into()),
        });
        Self { short: Some(short), prompt_short, ..place }
    }

    pub fn without_short_ids(tree: &SessionTree, entry: &EntryId) -> Self {
        let path = std::iter::successors(tree.entry(entry), |entry| tree.parent(&entry.id));
        let (mut number, mut prompt, mut branch) = (0, None, None);
        for above in path {
            branch = branch.or_else(|| tree.branch_name(&above.id));
            if above.body.is_prompt() {
                number += 1;
                prompt = prompt.or(Some(above));
            }
        }
        let text = prompt.map(|prompt| cut(one_line(&prompt.body))).unwrap_or_default();
        let answers = || tree.children(Some(entry)).iter().any(|child| !child.body.is_prompt());
        let is_prompt = prompt.is_some_and(|prompt| prompt.id == *entry);
        Self {
            entry: entry.to_string(),
            prompt: prompt.map(|prompt| prompt.id.to_string()),
            number,
            branch: branch.map(str::to_owned),
            label: tree.label(entry).map(str::to_owned),
            text,
            version: prompt.and_then(|prompt| VersionBrief::of(tree, &prompt.id)),
            before_answer: is_prompt && answers(),
            continues: tree.has_children(entry),
            ..Self::default()
        }
    }

    /// Where nothing but the id is known, as of an entry in an error.
    pub fn only(entry: &EntryId) -> Self {
        Self { entry: entry.to_string(), ..Self::default() }
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
