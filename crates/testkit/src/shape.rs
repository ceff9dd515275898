//! Trees of any shape, given as numbers, so that a property test can make and shrink them.
//!
//! They have settings, clears, summaries, labels, branch names, archived branches, several answers, entries whose parent is
//! missing, and a head that has been anywhere: also shapes that no command makes.

use jiff::{SignedDuration, Timestamp};
use offshoot_session::{
    Body, BranchSummary, Compaction, CustomMessage, Entry, EntryId, Fact, FileLists, HeadMove, HeadName,
    Interruption, Model, Record, SessionHeader, Setting, ToolResult,
};

use crate::FixedStamps;

/// How many kinds of entries there are; prompts and replies have several numbers, so that they are more frequent.
pub const KINDS: u8 = 20;

/// A tree as numbers. Numbers that are too large count on from the first entry.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Of each entry the distance to its parent, from 0 for the entry before it, and its kind, below [`KINDS`].
    pub entries: Vec<(usize, u8)>,
    /// Where the head has been, in this order. It ends at the last entry.
    pub visits: Vec<usize>,
    pub labels: Vec<usize>,
    pub names: Vec<usize>,
    pub archived: Vec<usize>,
    /// Entries whose parent is missing.
    pub orphans: Vec<usize>,
}

impl Shape {
    /// The journal of the tree: a session `s` of the agent `scripted`, with entries one second apart.
    pub fn records(&self) -> Vec<Record> {
        let mut header = SessionHeader::new("s".into(), at(0));
        header.agent = Some("scripted".to_owned());
        let mut records = vec![Record::opened(header)];
        records.extend(self.entries.iter().enumerate().map(|(number, _)| self.entry(number)));
        let count = self.entries.len().max(1);
        let mark = |fact: Fact| Record::marked(at(count), fact);
        let numbered = |targets: &[usize]| -> Vec<(usize, EntryId)> {
            targets.iter().map(|target| id(target % count)).enumerate().collect()
        };
        for (number, target) in numbered(&self.labels) {
            records.push(mark(Fact::Label { target, label: Some(format!("label {number}")) }));
        }
        for (number, at) in numbered(&self.names) {
            records.push(mark(Fact::BranchName { at, name: Some(format!("name {number}")) }));
        }
        for (_, target) in numbered(&self.archived) {
            records.push(mark(Fact::Archived { target, archived: true }));
        }
        let mut from = None;
        for visit in self.visits.iter().chain([&(count - 1)]) {
            let to = Some(id(visit % count));
            let (head, moved_at) = (HeadName::main(), at(count));
            records.push(Record::head_moved(HeadMove { head, moved_at, from, to: to.clone() }));
            from = to;
        }
        records
    }

    fn entry(&self, number: usize) -> Record {
        let (distance, kind) = self.entries.get(number).copied().unwrap_or_default();
        let is_orphan = self.orphans.iter().any(|orphan| orphan % self.entries.len() == number);
        let parent = (number > distance).then(|| id(number - distance - 1));
        let parent = if is_orphan { Some("missing".into()) } else { parent };
        let body = body(kind, number);
        Record::entry(Entry { id: id(number), parent, written_at: at(number), turn: None, body })
    }
}

fn at(second: usize) -> Timestamp {
    FixedStamps::start() + SignedDuration::from_secs(second as i64)
}

fn id(number: usize) -> EntryId {
    format!("e{number:02}entry").into()
}

fn body(kind: u8, number: usize) -> Body {
    let text = format!("text {number}");
    let model = || Model { provider: "p".to_owned(), name: format!("m{number}") };
    match kind {
        0..=4 => Body::prompt(text),
        5..=9 => Body::reply(text),
        10 | 11 => Body::Setting(Setting::Model { role: None, model: model() }),
        12 | 13 => Body::Setting(Setting::Thinking(Some(format!("level {number}")))),
        14 => Body::Cleared,
        15 => Body::BranchSummary(BranchSummary {
            summary: text,
            from: None,
            left: None,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
        }),
        16 => Body::Compaction(Compaction {
            summary: text,
            first_kept: None,
            tokens_before: 1,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: None,
        }),
        17 => Body::Interrupted(Interruption::Wanted),
        18 => Body::ToolResult(ToolResult {
            call: format!("call {number}").into(),
            tool: "read".to_owned(),
            blocks: Body::prompt(text).blocks().to_vec(),
            failed: false,
            usage: None,
            changed_input: None,
        }),
        _ => Body::CustomMessage(CustomMessage {
            kind: "extension".to_owned(),
            blocks: Body::prompt(text).blocks().to_vec(),
            display: true,
            attribution: None,
        }),
    }
}
