//! From drafts to records, in the order of the file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::{
    Body, Change, Entry, EntryId, Fact, HeadMove, HeadName, Note, Oddity, Record, SessionHeader, Setting,
    TitleSource, ToolResult, Usage,
};

use super::chain::{Part, Threads};
use super::draft::{Draft, ParentField, What};
use super::read::{File, Piece, task_of};
use crate::ids::fresh_id_where;

pub(super) fn records(mut file: File, header: SessionHeader) -> (Vec<Record>, Vec<Oddity>) {
    let pieces = std::mem::take(&mut file.pieces);
    let mut journal = Journal {
        records: Vec::with_capacity(pieces.len() + 2),
        now: header.opened_at,
        made_up: HashSet::new(),
        session: header.id.to_string(),
        file,
        previous: HashMap::new(),
        threads: Threads::default(),
        agents: HashMap::new(),
        waiting: Vec::new(),
        permission_mode: None,
        mode: None,
        cost: 0,
        head: Head::default(),
    };
    journal.records.push(Record::opened(header));
    for (at, piece) in pieces.into_iter().enumerate() {
        journal.take(at, piece);
    }
    journal.finish()
}

struct Journal {
    file: File,
    records: Vec<Record>,
    session: String,
    now: Timestamp,
    /// Ids that are not in the file.
    made_up: HashSet<EntryId>,
    /// The last entry of the session (`None`) and of each sub-agent.
    previous: HashMap<Option<String>, EntryId>,
    threads: Threads,
    /// The note above each sub-agent that has an id.
    agents: HashMap<String, EntryId>,
    /// Settings that wait for the entry they hang above: where they stand among the records.
    waiting: Vec<(usize, u64, Setting)>,
    permission_mode: Option<Setting>,
    mode: Option<Setting>,
    cost: i64,
    head: Head,
}

/// Where a line stands: among the pieces, and in what was read.
#[derive(Clone, Copy)]
struct Spot {
    at: usize,
    line: u64,
    is_beside: bool,
}

/// Where the program goes on.
#[derive(Default)]
struct Head {
    /// The last entry of the session itself, and of anybody.
    last: Option<(usize, EntryId)>,
    last_of_any: Option<EntryId>,
    /// Where the last marker stands, and what it points to.
    marker: Option<(usize, EntryId)>,
}

impl Journal {
    fn take(&mut self, at: usize, piece: Piece) {
        let Piece { line, raw, draft, is_beside } = piece;
        let spot = Spot { at, line, is_beside };
        let Some(mut draft) = draft else {
            self.records.push(Record::unknown(raw));
            return;
        };
        if let Some(moment) = draft.written_at {
            self.now = moment;
        }
        let what = std::mem::replace(&mut draft.what, What::Silent);
        let change = match what {
            What::Entry { results, body } => {
                let entry = self.entry(spot, &draft, results, body);
                Change::Entry(Arc::new(entry))
            }
            What::Fact(fact) => self.marked(fact),
            What::Summary { title, leaf } => self.summary(title, leaf),
            What::CostSoFar(cost) => self.spent(cost),
            What::Leaf(leaf) => {
                let leaf = leaf.and_then(|leaf| self.file.passes.entry_above(leaf));
                let leaf = leaf.filter(|leaf| self.file.places.contains_key(leaf));
                self.head.marker = leaf.map(|leaf| (at, leaf));
                Change::Unknown
            }
            What::Setting(setting) => {
                self.setting(line, setting);
                Change::Unknown
            }
            What::Pass | What::Silent | What::Nameless => Change::Unknown,
        };
        self.records.push(Record::new(change).from_line(raw));
    }

    fn entry(&mut self, spot: Spot, draft: &Draft, results: Vec<ToolResult>, body: Body) -> Entry {
        let Spot { at, line, is_beside } = spot;
        let (id, is_first) = match &draft.id {
            Some(id) => (id.clone(), self.file.places.get(id) == Some(&at)),
            None => {
                self.file.repaired(line, "the entry has no id; one is made from its place");
                (self.fresh(&line.to_le_bytes()), true)
            }
        };
        if draft.written_at.is_none() {
            self.file.repaired(line, "the time is missing or not readable; the one before is taken");
        }
        let named = self.named_parent(line, draft);
        let mut parent = self.below_its_agent(draft, named.clone(), &id, &body);
        if is_first {
            let first = results.first().map(|result| Part::Answer(&result.call));
            let part = first.unwrap_or_else(|| Part::of(&body, draft.message.as_ref()));
            parent = self.threads.place(&id, parent, &part);
        }
        // prompts below the same parent are versions of each other: nothing may come between
        let keeps_its_parent = draft.is_sidechain || (body.is_prompt() && results.is_empty());
        if !keeps_its_parent {
            parent = self.place_settings(parent);
        }
        for (nth, result) in results.into_iter().enumerate() {
            let own = self.fresh(&[id.as_str().as_bytes(), &nth.to_le_bytes()].concat());
            let body = self.completed(at, draft, None, Body::ToolResult(result));
            self.records.push(Record::entry(self.written(own.clone(), parent, body)));
            parent = Some(own);
        }
        let body = self.completed(at, draft, named.as_ref(), body);
        let body = match self.file.outputs.get(&id) {
            Some((_, output)) => with_output(body, output),
            None => body,
        };
        self.previous.insert(chain_of(draft), id.clone());
        if is_first && !is_beside {
            self.head.last_of_any = Some(id.clone());
            if !draft.is_sidechain {
                self.head.last = Some((at, id.clone()));
            }
        }
        self.written(id, parent, body)
    }

    /// As the file has it. A line without the field stands below the one before.
    fn named_parent(&mut self, line: u64, draft: &Draft) -> Option<EntryId> {
        match &draft.parent {
            ParentField::Of(parent) => self.file.passes.entry_above(parent.clone()),
            ParentField::Root => None,
            ParentField::Absent => {
                let previous = self.previous.get(&chain_of(draft)).cloned();
                if previous.is_some() {
                    self.file.repaired(line, "the line names no parent; it is put below the one before");
                }
                previous
            }
        }
    }

    /// A sub-agent hangs below a note of its own, also where the file hangs it into the session.
    fn below_its_agent(
        &mut self,
        draft: &Draft,
        parent: Option<EntryId>,
        id: &EntryId,
        body: &Body,
    ) -> Option<EntryId> {
        let is_in_session = |parent: &EntryId| {
            self.file.places.contains_key(parent) && !self.file.sidechains.contains(parent)
        };
        if !draft.is_sidechain || parent.as_ref().is_some_and(|parent| !is_in_session(parent)) {
            return parent;
        }
        if let Some(note) = draft.agent.as_ref().and_then(|agent| self.agents.get(agent)) {
            return Some(note.clone());
        }
        let start = self.file.starts.start_of(draft.agent.as_deref(), parent.as_ref(), task_of(body));
        let name = EntryId::from(format!("agent-{}", draft.agent.as_deref().unwrap_or(id.as_str())));
        let is_free = !self.file.places.contains_key(&name) && self.made_up.insert(name.clone());
        let note = if is_free { name } else { self.fresh(name.as_str().as_bytes()) };
        self.records.push(Record::entry(self.written(note.clone(), None, start.into_note())));
        if let Some(agent) = &draft.agent {
            self.agents.insert(agent.clone(), note.clone());
        }
        Some(note)
    }

    /// What a body can only say when other lines are known.
    fn completed(&self, at: usize, draft: &Draft, parent: Option<&EntryId>, mut body: Body) -> Body {
        match &mut body {
            Body::ToolResult(result) => {
                result.tool = self.file.tools.get(&result.call).cloned().unwrap_or_default();
            }
            Body::Reply(reply) => {
                let counted_at = draft.message.as_ref().and_then(|message| self.file.counted_at.get(message));
                if counted_at.is_some_and(|counted_at| *counted_at != at) {
                    reply.usage = None;
                }
            }
            Body::Compaction(compaction) => {
                if let Some(told) = parent.and_then(|parent| self.file.compacted.get(parent)) {
                    compaction.tokens_before = told.tokens_before;
                    compaction.first_kept = told.first_kept.clone();
                }
            }
            Body::CustomMessage(_) => {
                let shell = parent.filter(|parent| self.file.shells.contains(parent));
                let output = shell.and_then(|shell| self.file.outputs.get(shell));
                if output.is_some_and(|(place, _)| *place == at) {
                    return Body::Note(Note { kind: "bash-output".to_owned(), data: None });
                }
            }
            _ => {}
        }
        body
    }

    /// The same setting said again changes nothing.
    fn setting(&mut self, line: u64, setting: Setting) {
        let in_force = match setting {
            Setting::PermissionMode(_) => &mut self.permission_mode,
            _ => &mut self.mode,
        };
        if in_force.as_ref() != Some(&setting) {
            *in_force = Some(setting.clone());
            self.waiting.push((self.records.len(), line, setting));
        }
    }

    /// Settings that were changed since the last answer stand above the next one.
    fn place_settings(&mut self, mut parent: Option<EntryId>) -> Option<EntryId> {
        for (at, line, setting) in std::mem::take(&mut self.waiting) {
            let id = self.fresh(&line.to_le_bytes());
            let entry = self.written(id.clone(), parent.take(), Body::Setting(setting));
            if let Some(record) = self.records.get_mut(at) {
                record.change = Change::Entry(Arc::new(entry));
            }
            parent = Some(id);
        }
        parent
    }

    /// In old files most summaries are titles of other sessions.
    fn summary(&self, title: String, leaf: Option<EntryId>) -> Change {
        let places = &self.file.places;
        if places.is_empty() || leaf.is_some_and(|leaf| places.contains_key(&leaf)) {
            self.marked(Fact::Title { title: Some(title), source: TitleSource::Auto })
        } else {
            Change::Unknown
        }
    }

    /// The file tells what was spent in all, beginning again where a process began again.
    fn spent(&mut self, cost: i64) -> Change {
        let since = if cost >= self.cost { cost.saturating_sub(self.cost) } else { cost };
        self.cost = cost;
        if since == 0 {
            return Change::Unknown;
        }
        self.marked(Fact::Spent { usage: Usage { cost_micros: since, ..Usage::default() }, model: None })
    }

    fn marked(&self, fact: Fact) -> Change {
        Record::marked(self.now, fact).change
    }

    fn written(&self, id: EntryId, parent: Option<EntryId>, body: Body) -> Entry {
        Entry { id, parent, written_at: self.now, turn: None, body }
    }

    fn fresh(&mut self, seed: &[u8]) -> EntryId {
        let Self { file, made_up, session, .. } = self;
        fresh_id_where(&[session.as_bytes(), seed], |id| {
            !file.places.contains_key(id) && made_up.insert(id.clone())
        })
    }

    fn finish(mut self) -> (Vec<Record>, Vec<Oddity>) {
        if let Some(to) = self.head.at(&self.file) {
            let head_move = HeadMove { head: HeadName::main(), moved_at: self.now, from: None, to: Some(to) };
            self.records.push(Record::head_moved(head_move));
        }
        (self.records, self.file.oddities)
    }
}

impl Head {
    /// A marker may stand before the entry it points to. What was written behind both has moved on.
    fn at(self, file: &File) -> Option<EntryId> {
        let Some((last, tip)) = self.last else {
            return self.marker.map(|(_, leaf)| leaf).or(self.last_of_any);
        };
        let marked = self.marker.filter(|(at, leaf)| {
            let leaf_at = file.places.get(leaf).copied().unwrap_or(0);
            leaf_at.max(*at) >= last
        });
        Some(marked.map_or(tip, |(_, leaf)| leaf))
    }
}

fn chain_of(draft: &Draft) -> Option<String> {
    draft.is_sidechain.then(|| draft.agent.clone().unwrap_or_default())
}

fn with_output(body: Body, output: &str) -> Body {
    match body {
        Body::Shell(shell) => Body::Shell(offshoot_session::Shell { output: output.to_owned(), ..shell }),
        other => other,
    }
}
