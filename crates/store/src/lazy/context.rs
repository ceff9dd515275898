//! What the model reads at a place, of which each message is parsed when somebody reads it.
//!
//! Most of a conversation is what tools answered, and most of that is never looked at again. So a context knows its
//! messages, in order and by role, and has made sure that each line is the line of its entry; it parses those it
//! cannot do without: settings, the compaction, the latest reply that names its model, and, where failed turns or
//! unanswered calls are left out, the replies. What the rest says is known when it is asked for; damage in it too.

use std::collections::HashMap;
use std::sync::Arc;

use offshoot_session::context::{
    Context, ContextOptions, Edits, Message, Role, Spoken, View, instructions_of, looks_at_answers,
    remove_results_of, settings_of, settled,
};
use offshoot_session::skeleton::Kind;
use offshoot_session::{Body, CustomMessage, Entry, EntryId, Reply, ToolCallId};

use super::{LazyError, LazySession};

/// A context whose messages are read when they are asked for. A file that is replaced meanwhile stays open for it; one
/// that is cut or written over is [`LazyError::Changed`] or [`LazyError::Damaged`] when its line is read.
#[derive(Debug)]
pub struct LazyContext<'s> {
    session: &'s LazySession,
    settings: Context,
    messages: Vec<Sighted>,
}

/// One message of a context, which may not have been read yet.
#[derive(Clone, Copy, Debug)]
pub struct LazyMessage<'c> {
    session: &'c LazySession,
    sighted: &'c Sighted,
}

/// A message as far as the rules of a context look at it.
#[derive(Debug)]
struct Sighted {
    node: u32,
    role: Role,
    /// Where it had to be read.
    entry: Option<Arc<Entry>>,
    answered_call: Option<ToolCallId>,
    stripped: Vec<ToolCallId>,
}

/// What is known of the lines of a context before it is given away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// Each is the line of its entry.
    AreChecked,
    WillBeRead,
}

impl LazySession {
    /// What the model reads at a place. It costs what is read, not how long the session is.
    pub fn context_at(
        &mut self,
        at: Option<&EntryId>,
        options: &ContextOptions,
    ) -> Result<LazyContext<'_>, LazyError> {
        let (settings, messages) =
            self.once_more(|session| session.sighted(session.node_at(at)?, options, Lines::AreChecked))?;
        Ok(LazyContext { session: self, settings, messages })
    }

    /// The same with every message read. To parse a line is to check it, so each is read once.
    pub fn read_context_at(
        &mut self,
        at: Option<&EntryId>,
        options: &ContextOptions,
    ) -> Result<Context, LazyError> {
        self.once_more(|session| {
            let (settings, messages) = session.sighted(session.node_at(at)?, options, Lines::WillBeRead)?;
            LazyContext { session, settings, messages }.read()
        })
    }

    fn sighted(
        &self,
        leaf: Option<u32>,
        options: &ContextOptions,
        lines: Lines,
    ) -> Result<(Context, Vec<Sighted>), LazyError> {
        let header = self.skeleton.header();
        let Some(leaf) = leaf else { return Ok((settings_of(header, &[], options), Vec::new())) };
        let start = match options.view {
            View::Model | View::Transcript { collapse_compacted: true } => self.start_of_context(leaf)?,
            View::Transcript { collapse_compacted: false } => None,
        };
        let above = start.and_then(|start| self.skeleton.parent(start));
        let still_read = |node: &u32| Some(*node) != above;
        let mut path: Vec<u32> = self.skeleton.ancestors(Some(leaf)).take_while(still_read).collect();
        path.reverse();
        let spoken = self.spoken(&path, leaf, options.view);
        let mut messages = self.messages(&spoken, options, lines)?;
        if options.view == View::Model {
            self.carry_instructions(&mut messages)?;
            self.edit(&path, &mut messages, options)?;
        }
        let messages = settled(messages, options);
        let in_force = self.in_force(&path, above)?;
        let settings = settings_of(header, &in_force.iter().collect::<Vec<_>>(), options);
        Ok((settings, messages))
    }

    /// The entries that speak, in the order in which they are read. Among compactions only the latest has a word, and
    /// for a model the first one.
    fn spoken(&self, path: &[u32], leaf: u32, view: View) -> Vec<u32> {
        let kind = |node: u32| self.skeleton.kind(node);
        let speaks = |node: &u32| kind(*node).is_some_and(Kind::may_speak);
        let is_compaction = |node: u32| kind(node) == Some(Kind::Compaction);
        let latest = self.skeleton.boundary(leaf).filter(|boundary| is_compaction(*boundary));
        let words = path.iter().copied().filter(speaks);
        match view {
            View::Transcript { collapse_compacted: false } => words.collect(),
            View::Transcript { collapse_compacted: true } => {
                words.filter(|node| !is_compaction(*node) || Some(*node) == latest).collect()
            }
            View::Model => latest.into_iter().chain(words.filter(|node| !is_compaction(*node))).collect(),
        }
    }

    fn messages(
        &self,
        spoken: &[u32],
        options: &ContextOptions,
        lines: Lines,
    ) -> Result<Vec<Sighted>, LazyError> {
        match lines {
            Lines::AreChecked => {
                let mut in_file_order = spoken.to_vec();
                in_file_order.sort_unstable();
                self.check(&in_file_order)?;
            }
            Lines::WillBeRead => {}
        }
        let asks = looks_at_answers(options);
        let has_to_be_read = |node: &u32| match self.skeleton.kind(*node) {
            Some(Kind::BranchSummary | Kind::Merge) => true, // without words they say nothing
            Some(Kind::Reply | Kind::CustomMessage) => asks,
            _ => false,
        };
        let read: Vec<u32> = spoken.iter().copied().filter(has_to_be_read).collect();
        let mut read = read.iter().copied().zip(self.entries(&read)?).peekable();
        let mut answered = if asks { self.answered_calls(spoken)? } else { HashMap::new() };
        let mut messages = Vec::with_capacity(spoken.len());
        for node in spoken.iter().copied() {
            let entry = read.next_if(|(read, _)| *read == node).map(|(_, entry)| entry);
            if entry.as_ref().is_some_and(|entry| Message::from_entry(entry).is_none()) {
                continue;
            }
            let Some(role) = self.skeleton.kind(node).and_then(Role::of_kind) else { continue };
            let answered_call = answered.remove(&node);
            messages.push(Sighted { node, role, entry, answered_call, stripped: Vec::new() });
        }
        Ok(messages)
    }

    /// Puts the instructions of the compaction first, in place of those among the entries that it kept.
    fn carry_instructions(&self, messages: &mut Vec<Sighted>) -> Result<(), LazyError> {
        let Some(first) = messages.first().filter(|first| first.role == Role::CompactionSummary) else {
            return Ok(());
        };
        let compaction = first.node;
        let Some(system) = instructions_of(&self.entry(compaction)?) else { return Ok(()) };
        let depth = self.skeleton.depth(compaction);
        messages.retain(|one| one.role != Role::System || self.skeleton.depth(one.node) > depth);
        messages.insert(
            0,
            Sighted {
                node: compaction,
                role: Role::System,
                entry: Some(system),
                answered_call: None,
                stripped: Vec::new(),
            },
        );
        Ok(())
    }

    /// Applies the context edits on the path.
    fn edit(
        &self,
        path: &[u32],
        messages: &mut Vec<Sighted>,
        options: &ContextOptions,
    ) -> Result<(), LazyError> {
        let is_edit = |node: &u32| self.skeleton.kind(*node) == Some(Kind::ContextEdit);
        let nodes: Vec<u32> = path.iter().copied().filter(is_edit).collect();
        if nodes.is_empty() {
            return Ok(());
        }
        let entries = self.entries(&nodes)?;
        let edits = Edits::of(&entries);
        let mut omitted = Vec::new();
        let mut edited = Vec::with_capacity(messages.len());
        for mut message in std::mem::take(messages) {
            let id = self.skeleton.id(message.node);
            if id.is_some_and(|id| edits.touches(&id)) {
                let entry = match message.entry.take() {
                    Some(entry) => entry,
                    None => self.entry(message.node)?,
                };
                message.entry = edits.apply(&entry);
                if message.entry.is_none() {
                    omitted.push(entry);
                    continue;
                }
            }
            edited.push(message);
        }
        *messages = edited;
        if looks_at_answers(options) {
            remove_results_of(messages, omitted.iter().map(|entry| &entry.body));
        }
        Ok(())
    }

    /// The calls that the results among these entries answer.
    fn answered_calls(&self, spoken: &[u32]) -> Result<HashMap<u32, ToolCallId>, LazyError> {
        let is_result = |node: &u32| self.skeleton.kind(*node) == Some(Kind::ToolResult);
        let results: Vec<u32> = spoken.iter().copied().filter(is_result).collect();
        let (mut calls, mut unread, mut untold) = (HashMap::new(), Vec::new(), Vec::new());
        let call_of = |entry: &Entry| match &entry.body {
            Body::ToolResult(result) => Ok(result.call.clone()),
            _ => Err(self.changed()),
        };
        for (node, kept) in results.iter().zip(self.kept_of(&results)) {
            match kept {
                Some(entry) => drop(calls.insert(*node, call_of(&entry)?)),
                None => unread.push(*node),
            }
        }
        self.look_over(&unread, |node, line| {
            match self.head(line).and_then(|head| head.answered_call) {
                Some(call) => drop(calls.insert(node, call.into())),
                None => untold.push(node),
            }
            Ok(())
        })?;
        for (node, entry) in untold.iter().zip(self.entries(&untold)?) {
            calls.insert(*node, call_of(&entry)?);
        }
        Ok(calls)
    }

    /// The first entry that counts, or the boundary where it keeps nothing. `None`: all of the path counts.
    fn start_of_context(&self, leaf: u32) -> Result<Option<u32>, LazyError> {
        let Some(boundary) = self.skeleton.boundary(leaf) else { return Ok(None) };
        if self.skeleton.kind(boundary) != Some(Kind::Compaction) {
            return Ok(Some(boundary));
        }
        let entry = self.entry(boundary)?;
        let Body::Compaction(compaction) = &entry.body else { return Err(self.changed()) };
        let kept = compaction.first_kept.as_ref().and_then(|id| self.skeleton.node(id));
        Ok(Some(kept.filter(|kept| self.is_kept(*kept, boundary)).unwrap_or(boundary)))
    }

    /// Whether an entry lies above a compaction with no clearing between.
    fn is_kept(&self, kept: u32, compaction: u32) -> bool {
        let depth = self.skeleton.depth(kept);
        let parent = self.skeleton.parent(compaction);
        for node in self.skeleton.ancestors(parent) {
            if self.skeleton.depth(node) < depth || self.skeleton.kind(node) == Some(Kind::Cleared) {
                return false;
            }
            if node == kept {
                return true;
            }
        }
        false
    }

    /// What holds at the end of a path: the settings on it, those that still hold from above it, and the latest reply
    /// that names its model.
    fn in_force(&self, path: &[u32], above: Option<u32>) -> Result<Vec<Arc<Entry>>, LazyError> {
        let is_setting = |node: &u32| self.skeleton.kind(*node).is_some_and(Kind::is_setting);
        let mut nodes: Vec<u32> = path.iter().copied().filter(is_setting).collect();
        let mut seen = [false; 256];
        let mut setting = above.and_then(|above| self.skeleton.setting(above));
        while let Some(node) = setting {
            let Some(kind) = self.skeleton.kind(node) else { break };
            let is_new = seen.get_mut(kind as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            if is_new || kind.adds_up() {
                nodes.push(node);
            }
            setting = self.skeleton.parent(node).and_then(|parent| self.skeleton.setting(parent));
        }
        let upwards = path.iter().rev().copied().chain(self.skeleton.ancestors(above));
        for node in upwards.filter(|node| self.skeleton.kind(*node) == Some(Kind::Reply)) {
            if names_model(self.entry(node)?.as_ref()) {
                nodes.push(node);
                break;
            }
        }
        nodes.sort_unstable_by_key(|node| self.skeleton.depth(*node));
        self.entries(&nodes)
    }
}

fn names_model(entry: &Entry) -> bool {
    matches!(&entry.body, Body::Reply(reply) if reply.model.is_some())
}

impl Spoken for Sighted {
    fn reply(&self) -> Option<&Reply> {
        match self.entry.as_deref() {
            Some(Entry { body: Body::Reply(reply), .. }) => Some(reply),
            _ => None,
        }
    }

    fn answered_call(&self) -> Option<&ToolCallId> {
        self.answered_call.as_ref()
    }

    fn custom(&self) -> Option<&CustomMessage> {
        match self.entry.as_deref() {
            Some(Entry { body: Body::CustomMessage(custom), .. }) => Some(custom),
            _ => None,
        }
    }

    fn strip(&mut self, calls: Vec<ToolCallId>) {
        self.stripped = calls;
    }

    fn stripped(&self) -> &[ToolCallId] {
        &self.stripped
    }
}

impl<'s> LazyContext<'s> {
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// In the order in which they are read.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = LazyMessage<'_>> + ExactSizeIterator {
        self.messages.iter().map(|sighted| LazyMessage { session: self.session, sighted })
    }

    /// The settings alone: a context in which nothing is said.
    pub fn settings(&self) -> &Context {
        &self.settings
    }

    /// Every message read.
    pub fn read(self) -> Result<Context, LazyError> {
        let count = self.messages.len();
        self.read_last(count)
    }

    /// The last so many messages read, and the others left out.
    pub fn read_last(self, count: usize) -> Result<Context, LazyError> {
        let Self { session, settings, mut messages } = self;
        messages.drain(..messages.len().saturating_sub(count));
        let unread = messages.iter().filter(|message| message.entry.is_none()).map(|message| message.node);
        let unread: Vec<u32> = unread.collect();
        let mut read = session.entries(&unread)?.into_iter();
        let said = messages.into_iter().filter_map(|Sighted { entry, stripped, .. }| {
            Some(Message { entry: entry.or_else(|| read.next())?, stripped })
        });
        Ok(Context { messages: said.collect(), ..settings })
    }
}

impl LazyMessage<'_> {
    pub fn id(&self) -> Option<EntryId> {
        self.session.skeleton.id(self.sighted.node)
    }

    pub fn role(&self) -> Role {
        self.sighted.role
    }

    /// The whole message. A line that is damaged is named now.
    pub fn read(&self) -> Result<Message, LazyError> {
        let Sighted { node, entry, stripped, .. } = self.sighted;
        let entry = match entry {
            Some(entry) => entry.clone(),
            None => self.session.entry(*node)?,
        };
        Ok(Message { entry, stripped: stripped.clone() })
    }
}
