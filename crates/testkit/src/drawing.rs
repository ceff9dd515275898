//! Trees drawn as text.
//!
//! ```text
//! u1 - a1 - u2 - a2
//!      a1 - u3 - a3*
//! ```
//! A line is a chain of entries, oldest first. A line that starts with an entry drawn before continues below it;
//! any other line starts a new root. `*` is the main head, `[words]` a label, `"words"` what was said (the id,
//! unless given). The first letter of an id says what it is:
//! `u` prompt, `a` reply, `t` tool result, `c` reply that calls tool `t…`, `m` model setting, `k` compaction that
//! keeps nothing, `s` branch summary, `i` interrupted, `x` message of an extension, `n` note, `z` cleared,
//! `e` and a number context edit (`"a1"` omits `a1`, `"a1=words"` replaces it).
//! Anything else is a prompt. An id may be written `u1/turn7` to belong to a turn.

use std::collections::HashMap;

use jiff::SignedDuration;
use offshoot_session::{
    Block, Body, BranchSummary, Change, Compaction, ContextEdit, CustomMessage, Entry, EntryId, Fact,
    FileLists, HeadMove, HeadName, Interruption, Model, Note, Record, Reply, SessionHeader, SessionTree,
    Setting, ToolResult, ToolUse,
};

use crate::FixedStamps;

/// The records of a drawn tree: a header, then entries one second apart, then labels and the head.
pub fn drawn(drawing: &str) -> Vec<Record> {
    let mut drawn = Drawn::default();
    for line in drawing.lines().map(str::trim).filter(|line| !line.is_empty()) {
        drawn.chain(line);
    }
    drawn.into_records()
}

/// The drawn tree itself. Panics where the drawing is not a clean tree: a test that draws wrong is wrong.
pub fn tree_of(drawing: &str) -> SessionTree {
    let (tree, oddities) = SessionTree::replay(drawn(drawing));
    assert!(oddities.is_empty(), "the drawing is odd: {oddities:?}");
    tree
}

/// The drawing of a tree, in one canonical form: each line goes down by the oldest child, and a further branch
/// is a line of its own that begins below its fork.
pub fn draw(tree: &SessionTree) -> String {
    let mut text = String::new();
    let mut open: Vec<(Option<(&EntryId, usize)>, &EntryId)> =
        tree.roots().into_iter().rev().map(|root| (None, &root.id)).collect();
    while let Some((fork, start)) = open.pop() {
        let mut column = 0;
        if let Some((parent, indent)) = fork {
            let lead = format!("{}{parent} - ", " ".repeat(indent));
            column = lead.chars().count();
            text.push_str(&lead);
        }
        let mut at = Some(start);
        while let Some(id) = at {
            let node = node_text(tree, id);
            text.push_str(&node);
            let children = tree.children(Some(id));
            for branch in children.iter().skip(1).rev() {
                open.push((Some((id, column)), &branch.id));
            }
            column += node.chars().count() + 3;
            at = children.first().map(|child| &child.id);
            text.push_str(if at.is_some() { " - " } else { "\n" });
        }
    }
    text
}

fn node_text(tree: &SessionTree, id: &EntryId) -> String {
    let mut text = id.to_string();
    if let Some(entry) = tree.entry(id)
        && matches!(entry.body, Body::Prompt(_) | Body::Reply(_))
    {
        let said = entry.body.text();
        if said != id.as_str() && !said.is_empty() {
            text.push_str(&format!("{said:?}"));
        }
    }
    if let Some(label) = tree.label(id) {
        text.push_str(&format!("[{label}]"));
    }
    if tree.main_head() == Some(id) {
        text.push('*');
    }
    text
}

#[derive(Default)]
struct Drawn {
    entries: Vec<Record>,
    marks: Vec<Record>,
    known: HashMap<String, ()>,
    head: Option<EntryId>,
    seconds: i64,
}

impl Drawn {
    fn chain(&mut self, line: &str) {
        let mut parent: Option<EntryId> = None;
        for (place, text) in line.split(" - ").enumerate() {
            let node = NodeText::parse(text.trim());
            let id = EntryId::from(node.id);
            let is_new = self.known.insert(node.id.to_owned(), ()).is_none();
            assert!(is_new || place == 0, "`{}` is drawn twice in `{line}`", node.id);
            if is_new {
                self.add(&node, parent.clone());
            }
            if node.is_head {
                self.head = Some(id.clone());
            }
            parent = Some(id);
        }
    }

    fn add(&mut self, node: &NodeText<'_>, parent: Option<EntryId>) {
        let written_at = FixedStamps::start() + SignedDuration::from_secs(self.seconds);
        self.seconds += 1;
        let said = node.said.unwrap_or(node.id);
        self.entries.push(Record::entry(Entry {
            id: node.id.into(),
            parent,
            written_at,
            turn: node.turn.map(Into::into),
            body: body(node.id, said),
        }));
        if let Some(label) = node.label {
            let fact = Fact::Label { target: node.id.into(), label: Some(label.to_owned()) };
            self.marks.push(Record::marked(written_at, fact));
        }
    }

    fn into_records(self) -> Vec<Record> {
        let moved_at = FixedStamps::start() + SignedDuration::from_secs(self.seconds);
        let header = SessionHeader::new("drawn".into(), FixedStamps::start());
        let mut records = vec![Record::opened(header)];
        records.extend(self.entries);
        records.extend(self.marks);
        if let Some(to) = self.head {
            let head_move = HeadMove { head: HeadName::main(), moved_at, from: None, to: Some(to) };
            records.push(Record::new(Change::HeadMoved(head_move)));
        }
        records
    }
}

struct NodeText<'t> {
    id: &'t str,
    turn: Option<&'t str>,
    said: Option<&'t str>,
    label: Option<&'t str>,
    is_head: bool,
}

impl<'t> NodeText<'t> {
    fn parse(text: &'t str) -> Self {
        let is_head = text.ends_with('*');
        let text = text.trim_end_matches('*');
        let (text, label) = between(text, '[', ']');
        let (text, said) = between(text, '"', '"');
        let (id, turn) = text.split_once('/').map_or((text, None), |(id, turn)| (id, Some(turn)));
        Self { id, turn, said, label, is_head }
    }
}

fn between(text: &str, open: char, close: char) -> (&str, Option<&str>) {
    match text.split_once(open) {
        Some((before, rest)) => (before, Some(rest.trim_end_matches(close))),
        None => (text, None),
    }
}

fn body(id: &str, said: &str) -> Body {
    let blocks = vec![Block::Text(said.to_owned())];
    match id.chars().next() {
        Some('a') => Body::reply(said),
        Some('c') => {
            let call = ToolUse {
                id: format!("t{}", &id[1..]).as_str().into(),
                name: "read".into(),
                input: Default::default(),
            };
            Body::Reply(Reply { blocks: vec![Block::ToolUse(call)], ..Reply::default() })
        }
        Some('t') => Body::ToolResult(ToolResult {
            call: id.into(),
            tool: "read".into(),
            blocks,
            failed: false,
            usage: None,
            changed_input: None,
        }),
        Some('m') => Body::Setting(Setting::Model {
            role: None,
            model: Model { provider: "test".into(), name: said.to_owned() },
        }),
        Some('k') => Body::Compaction(Compaction {
            summary: said.to_owned(),
            first_kept: None,
            tokens_before: 0,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: None,
        }),
        Some('s') => Body::BranchSummary(BranchSummary {
            summary: said.to_owned(),
            from: None,
            left: None,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
        }),
        Some('i') => Body::Interrupted(Interruption::Wanted),
        Some('x') => Body::CustomMessage(CustomMessage {
            kind: "test".into(),
            blocks,
            display: true,
            attribution: None,
        }),
        Some('n') => Body::Note(Note { kind: "test".into(), data: None }),
        Some('z') => Body::Cleared,
        Some('e') if id.bytes().skip(1).all(|byte| byte.is_ascii_digit()) => {
            let (target, words) = said.split_once('=').map_or((said, None), |(id, words)| (id, Some(words)));
            let replacement = words.map(|words| vec![Block::Text(words.to_owned())]);
            Body::ContextEdit(ContextEdit { target: target.into(), replacement })
        }
        _ => Body::prompt(said),
    }
}
