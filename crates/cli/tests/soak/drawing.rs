//! Journals drawn as text, for the tests of the checks: one batch a line, and one byte long, so that lengths are states.
//!
//! ```text
//! s1 append u1 one      the step s1: an entry u1 below the head that says "one"
//! s2 send u2 two        a prompt that the agent answers
//! s2 aside u2 two       the same while the head stays
//! - reply a2 u2 fine    its answer
//! - ended u2            the end of that turn
//! s3 label u1 red       s4 rename Title    s5 fork u1    s6 branch child    s7 edit u1 u3 three
//! s8 undo s5            s9 redo s5         - undo s6: by the other session
//! ```

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, Entry, EntryId, Fact, HeadMove, HeadName, OperationId, Prompt, Record, Reply, SessionHeader,
    SessionId, SessionTree, TitleSource, TurnId,
};

use crate::history::{Acknowledged, Answer, Ran, Refusal, StepKey, What};
use crate::journal::{Batch, Journal};

pub(crate) fn journal_of(session: &str, drawing: &str) -> Journal {
    let header = SessionHeader::new(session.into(), Timestamp::UNIX_EPOCH);
    let mut tree = SessionTree::default();
    let opened = Record::opened(header);
    tree.apply(&opened).expect("an empty tree");
    let mut batches = Vec::new();
    for (number, line) in drawing.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let mut records = drawn(line, &tree);
        // What a test draws wrong on purpose is found by the checks.
        let _ = tree.extend(&records);
        if number == 0 {
            records.insert(0, opened.clone());
        }
        batches.push(Batch { records, end: number as u64 + 1 });
    }
    Journal { session: session.into(), batches }
}

pub(crate) fn journals<const N: usize>(journals: [Journal; N]) -> BTreeMap<SessionId, Journal> {
    journals.into_iter().map(|journal| (journal.session.clone(), journal)).collect()
}

fn drawn(line: &str, tree: &SessionTree) -> Vec<Record> {
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (step, kind, first, second, third) = (word(), word(), word(), word(), word());
    let at = Timestamp::UNIX_EPOCH;
    let named = |name: &str| Record::marked(at, Fact::Operation { name: name.to_owned() });
    let head_to = |to: &str| {
        let (from, to) = (tree.main_head().cloned(), Some(EntryId::from(to)));
        Record::head_moved(HeadMove { head: HeadName::main(), moved_at: at, from, to })
    };
    let entry = |id: &str, parent: Option<EntryId>, turn: Option<TurnId>, body| {
        Record::entry(Entry { id: id.into(), parent, written_at: at, turn, body })
    };
    let head = || tree.main_head().cloned();
    let records = match kind {
        "append" => vec![named(kind), entry(first, head(), None, prompt(second)), head_to(first)],
        "send" => vec![named(kind), entry(first, head(), Some(step.into()), prompt(second)), head_to(first)],
        // What waited is sent below the answer it waited for, and the head stays where it is.
        "aside" => vec![named("send"), entry(first, head(), Some(step.into()), prompt(second))],
        "edit" => {
            let above = tree.parent(&first.into()).map(|above| above.id.clone());
            vec![named(kind), entry(second, above, Some("own".into()), prompt(third)), head_to(second)]
        }
        "reply" => {
            let turn = tree.entry(&second.into()).and_then(|prompt| prompt.turn.clone());
            vec![entry(first, Some(second.into()), turn, reply(third))]
        }
        "ended" => {
            let turn = tree.entry(&first.into()).and_then(|prompt| prompt.turn.clone()).expect("a turn");
            vec![Record::marked(at, Fact::TurnEnded { turn })]
        }
        "label" => {
            let fact = Fact::Label { target: first.into(), label: Some(second.to_owned()) };
            vec![named(kind), Record::marked(at, fact)]
        }
        "rename" => {
            let fact = Fact::Title { title: Some(first.to_owned()), source: TitleSource::User };
            vec![named(kind), Record::marked(at, fact)]
        }
        "fork" => vec![named(kind), head_to(first)],
        "branch" => {
            let fact = Fact::Forked { session: first.into() };
            vec![named("fork to a new session"), Record::marked(at, fact)]
        }
        "began" => vec![Record::marked(at, Fact::Began { name: "fork".to_owned() })],
        "undo" => vec![Record::marked(at, Fact::Undone { operation: first.into() })],
        "redo" => vec![Record::marked(at, Fact::Redone { operation: first.into() })],
        _ => panic!("`{line}` cannot be drawn"),
    };
    match step {
        "-" => records,
        step => {
            let step = OperationId::from(step);
            records.into_iter().map(|record| record.in_operation(step.clone())).collect()
        }
    }
}

fn prompt(text: &str) -> Body {
    let blocks = vec![Block::Text(text.to_owned())];
    Body::Prompt(Prompt { blocks, attachments: Vec::new(), said_at: None })
}

fn reply(text: &str) -> Body {
    Body::Reply(Reply { blocks: vec![Block::Text(text.to_owned())], ..Reply::default() })
}

/// A command in the session `main` that saw these states.
pub(crate) fn ran(what: What, answer: Answer, states: std::ops::RangeInclusive<u64>) -> Ran {
    let lengths = |state: u64| HashMap::from([("main".into(), state), ("child".into(), state)]);
    let (before, after) = (lengths(*states.start()), lengths(*states.end()));
    Ran { session: "main".into(), what, answer, before, after }
}

pub(crate) fn acknowledged(step: StepKey) -> Answer {
    Answer { steps: vec![Acknowledged { step, heads: None }], ..Answer::default() }
}

pub(crate) fn refused(refusal: Refusal) -> Answer {
    Answer { refusal: Some(refusal), ..Answer::default() }
}
