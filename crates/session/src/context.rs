//! What the model reads at a point of the tree, and what a person is shown of the same path.
//!
//! [`context_of`] is a function of one path: going elsewhere in the tree changes what is read only by changing the
//! path. Agents disagree on what to do with a fallback model, with failed turns and with calls that nothing
//! answered, so those are named choices in [`ContextOptions`].

mod answers;
mod edits;
mod message;
mod options;
mod reach;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub use answers::{Spoken, looks_at_answers, remove_results_of, settled};
pub use edits::Edits;
pub use message::{Message, Role};
pub use options::{ContextOptions, FailedTurns, ModelRule, UnansweredCalls, View};
pub(crate) use reach::{Reach, as_compaction};

use crate::in_force::InForce;
use crate::{Body, Compaction, Entry, EntryId, Model, SessionHeader, SessionTree, Setting, System};

#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    pub messages: Vec<Message>,
    pub thinking: String,
    /// The usual model; `None` where nothing on the path names one.
    pub model: Option<Model>,
    /// All models by role, the usual one under [`USUAL_MODEL`].
    pub models: BTreeMap<String, Model>,
    pub agent: Option<String>,
    pub tools: Option<Vec<String>>,
    pub permission_mode: Option<String>,
    pub mode: Option<String>,
    pub mode_data: Option<Value>,
    pub service_tier: Option<String>,
    /// The rules that oh-my-pi has told the model so far (TTSR).
    pub injected_rules: Vec<String>,
    /// The latest change that is known only as data.
    pub config: Option<Value>,
}

/// The role of the model that answers unless another role is asked for.
pub const USUAL_MODEL: &str = "default";

/// How hard the model thinks where nobody has said it.
pub const NO_THINKING: &str = "off";

/// The context at an entry; `None` is before the first one. What the path leaves open comes from the header.
pub fn context_of(tree: &SessionTree, at: Option<&EntryId>, options: &ContextOptions) -> Context {
    context_under(tree.header(), &tree.path_to(at), options)
}

/// The same for a path given root first. What it leaves open comes from the header.
pub fn context_under(
    header: Option<&SessionHeader>,
    path: &[&Arc<Entry>],
    options: &ContextOptions,
) -> Context {
    context_below(header, &[], path, options)
}

/// The same for the end of a path. Of what stands above it only settings count: it says nothing any more.
pub fn context_below(
    header: Option<&SessionHeader>,
    above: &[&Arc<Entry>],
    path: &[&Arc<Entry>],
    options: &ContextOptions,
) -> Context {
    let all: Vec<&Arc<Entry>> = above.iter().chain(path).copied().collect();
    let mut context = settings_of(header, &all, options);
    context.messages = messages_of(path, options);
    context
}

/// A context without its messages. Settings reach over compactions: those shorten what is read, not how it is run.
pub fn settings_of(
    header: Option<&SessionHeader>,
    path: &[&Arc<Entry>],
    options: &ContextOptions,
) -> Context {
    Context::under(&InForce::on(header, path.iter().map(|entry| &***entry)), options.model)
}

/// The same for a path that belongs to no session.
pub fn context_of_path(path: &[&Arc<Entry>], options: &ContextOptions) -> Context {
    let mut context = settings_of(None, path, options);
    context.messages = messages_of(path, options);
    context
}

/// The entry that was asked for; where it is unknown, the one written last.
pub fn leaf_or_last<'t>(tree: &'t SessionTree, leaf: Option<&EntryId>) -> Option<&'t EntryId> {
    let known = leaf.and_then(|leaf| tree.entry(leaf));
    known.or_else(|| tree.entries().last()).map(|entry| &entry.id)
}

fn messages_of(path: &[&Arc<Entry>], options: &ContextOptions) -> Vec<Message> {
    let messages = match options.view {
        View::Model => read_by_model(path, options),
        View::Transcript { collapse_compacted: true } => messages_in(in_order(path)),
        View::Transcript { collapse_compacted: false } => messages_in(path.iter().copied()),
    };
    settled(messages, options)
}

fn messages_in<'p>(entries: impl IntoIterator<Item = &'p Arc<Entry>>) -> Vec<Message> {
    entries.into_iter().filter_map(Message::from_entry).collect()
}

/// The instructions and the summary of the latest compaction, then what it kept and what came later, all of it as
/// context edits leave it. An earlier compaction is not read: the latest has taken up its summary.
fn read_by_model(path: &[&Arc<Entry>], options: &ContextOptions) -> Vec<Message> {
    let reach = Reach::of(path);
    let summary = reach.compaction.and_then(|at| path.get(at).copied());
    let system = summary.and_then(instructions_of);
    let is_replaced = |at: usize, entry: &Entry| {
        system.is_some() && Some(at) < reach.compaction && matches!(entry.body, Body::System(_))
    };
    let kept = path
        .iter()
        .enumerate()
        .skip(reach.start)
        .filter(|(at, entry)| as_compaction(entry).is_none() && !is_replaced(*at, entry));
    let entries: Vec<&Arc<Entry>> = summary.into_iter().chain(kept.map(|(_, entry)| *entry)).collect();
    let edits = Edits::of(entries.iter().copied());
    let system = system.filter(|_| summary.is_some_and(|summary| !edits.omits(&summary.id)));
    let edited: Vec<Arc<Entry>> = entries.iter().filter_map(|entry| edits.apply(entry)).collect();
    let mut messages: Vec<Message> = system.iter().chain(&edited).filter_map(Message::from_entry).collect();
    if looks_at_answers(options) && !edits.is_empty() {
        let omitted = entries.iter().filter(|entry| edits.omits(&entry.id));
        remove_results_of(&mut messages, omitted.map(|entry| &entry.body));
    }
    messages
}

/// The instructions that a compaction carries, as an entry of their own under the same id.
pub fn instructions_of(compaction: &Arc<Entry>) -> Option<Arc<Entry>> {
    let Compaction { system, .. } = as_compaction(compaction)?;
    let body = Body::System(System { text: system.as_deref()?.to_owned() });
    Some(Arc::new(Entry { body, ..(**compaction).clone() }))
}

fn in_order<'p>(path: &[&'p Arc<Entry>]) -> Vec<&'p Arc<Entry>> {
    let reach = Reach::of(path);
    let still_read = path.iter().enumerate().skip(reach.start);
    let spoken =
        still_read.filter(|(at, entry)| as_compaction(entry).is_none() || Some(*at) == reach.compaction);
    spoken.map(|(_, entry)| *entry).collect()
}

impl Default for Context {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            thinking: NO_THINKING.to_owned(),
            model: None,
            models: BTreeMap::new(),
            agent: None,
            tools: None,
            permission_mode: None,
            mode: None,
            mode_data: None,
            service_tier: None,
            injected_rules: Vec::new(),
            config: None,
        }
    }
}

impl Context {
    /// Without messages.
    fn under(in_force: &InForce, rule: ModelRule) -> Self {
        let mut context = Self::default();
        in_force.chosen().iter().for_each(|setting| context.apply(setting));
        let usual = match rule {
            ModelRule::SettingWins => in_force.model(),
            ModelRule::LatestWins => in_force.latest_model(),
        };
        if let Some(model) = usual {
            context.models.insert(USUAL_MODEL.to_owned(), model.clone());
        }
        context.model = usual.cloned();
        context.injected_rules = in_force.injected_rules().to_vec();
        context
    }

    fn apply(&mut self, setting: &Setting) {
        match setting {
            Setting::Agent(agent) => self.agent = Some(agent.clone()),
            Setting::Model { role: Some(role), model } => {
                self.models.insert(role.clone(), model.clone());
            }
            Setting::Model { role: None, .. } => {} // a reply may name it too: the rule decides
            Setting::Thinking(level) => {
                self.thinking = level.clone().unwrap_or_else(|| NO_THINKING.to_owned());
            }
            Setting::Tools(tools) => self.tools = Some(tools.clone()),
            Setting::PermissionMode(mode) => self.permission_mode = Some(mode.clone()),
            Setting::Mode { mode, data } => {
                self.mode = Some(mode.clone());
                self.mode_data = data.clone();
            }
            Setting::ServiceTier(tier) => self.service_tier = tier.clone(),
            Setting::Config(config) => self.config = Some(config.clone()),
        }
    }
}
