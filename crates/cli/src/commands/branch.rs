//! `offshoot branch [SESSION]`: where the ways through the tree end. `offshoot branch name` names one.

use std::collections::HashMap;

use jiff::Timestamp;
use offshoot_api::{Request, request};
use offshoot_session::address::ShortIds;
use offshoot_session::outline::one_line;
use offshoot_session::versions::turn_prompt;
use offshoot_session::{Body, EntryId, Note, SessionTree};
use serde_json::{Value, json};

use super::head::{Told, session_line, short_of};
use super::json::printed;
use crate::args::{BranchArgs, BranchCommand, BranchNameArgs};
use crate::change::change;
use crate::failure::Failure;
use crate::here::Here;
use crate::living::seen;
use crate::look::{Ink, Look, Sign};
use crate::numbers::{counted, moment};
use crate::table::{self, Row};
use crate::text::{cut, harmless_line, padded, width};
use crate::which::stored;
use crate::{Answer, words};

/// A branch name longer than this is cut where there is a width to keep.
const LONGEST_NAME: usize = 24;

pub(crate) fn run(args: &BranchArgs, here: &Here) -> Result<Answer, Failure> {
    match &args.command {
        Some(BranchCommand::Name(args)) => name(args, here),
        None => list(args, here),
    }
}

fn name(args: &BranchNameArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [at, name]) = args.words.split("POINT NAME")?;
    let id = stored(here, session)?;
    let request = request::NameBranch {
        session: id.to_string(),
        at: at.into(),
        name: Some(name.to_owned()),
        client_id: Some(here.client_id()),
    };
    let changed = change(here, &id, Request::NameBranch(request))?;
    let named = &short_of(changed.place.as_ref(), &here.look);
    let first = match (changed.changed, name.trim()) {
        (false, _) => return Ok(Answer { text: words::nothing_to_change(), ..Answer::default() }),
        (true, "") => words::branch_name_gone(named),
        (true, name) => words::branch_named(named, &harmless_line(name, here.look.ascii)),
    };
    let rest = session_line(here, &changed.session);
    Ok(Told { first, rest, ..Told::default() }.answer(&here.look))
}

fn list(args: &BranchArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, []) = args.words.split("")?;
    let id = stored(here, session)?;
    let tree = seen(here, &id)?.tree;
    let branches = branches(&tree, args.all);
    let look = &here.look;
    let text = match args.json.json {
        Some(shape) => {
            let list: Vec<Value> = branches.iter().map(|branch| branch.as_json(&tree)).collect();
            printed(json!({"session": id.as_str(), "branches": list}), "branches", shape)
        }
        None => told(&tree, &branches, look),
    };
    Ok(Answer { text, ..Answer::default() })
}

/// The branches that are not archived.
pub(crate) fn listed(tree: &SessionTree, look: &Look) -> String {
    told(tree, &branches(tree, false), look)
}

fn told(tree: &SessionTree, branches: &[Branch<'_>], look: &Look) -> String {
    match look.for_a_person {
        false => branches.iter().map(|branch| branch.as_fields(tree, look)).collect(),
        true if branches.is_empty() => format!("{}\n", words::NOTHING_SAID),
        true => drawn(tree, branches, look),
    }
}

/// A way from the last fork on it to its end.
struct Branch<'t> {
    tip: &'t EntryId,
    /// Names that lead to this end; the nearest to it last.
    names: Vec<&'t str>,
    /// Turns of its own, behind the last fork.
    turns: usize,
    number: usize,
    active_at: Timestamp,
    is_head: bool,
    is_archived: bool,
}

/// What is known at an entry about the way to it.
#[derive(Clone, Copy, Default)]
struct Way {
    number: usize,
    turns: usize,
    is_archived: bool,
    /// An agent goes it that was started by another one.
    is_delegated: bool,
}

/// The branch that was used last comes first. What sub-agents say is no branch: it hangs below the turn that started them.
fn branches(tree: &SessionTree, with_archived: bool) -> Vec<Branch<'_>> {
    let mut names: HashMap<&EntryId, Vec<(usize, &str)>> = HashMap::new();
    for (at, name) in tree.branch_names() {
        if let Some(tip) = tree.remembered_leaf(at) {
            names.entry(&tip.id).or_default().push((tree.depth(at).unwrap_or(0), name));
        }
    }
    // The head may stand above several ends: it belongs to the one that would be gone to.
    let head_tip = tree.main_head().and_then(|head| tree.remembered_leaf(head)).map(|tip| &tip.id);
    let parent_of = |id: &EntryId| tree.parent(id).map(|parent| &parent.id);
    let mut children: HashMap<Option<&EntryId>, usize> = HashMap::new();
    for entry in tree.entries() {
        *children.entry(parent_of(&entry.id)).or_default() += 1;
    }
    let mut ways: HashMap<&EntryId, Way> = HashMap::new();
    let mut branches = Vec::new();
    for entry in tree.walk() {
        let parent = parent_of(&entry.id);
        let is_behind_fork = children.get(&parent).is_some_and(|children| *children > 1);
        let above = parent.and_then(|parent| ways.get(parent)).copied().unwrap_or_default();
        let is_prompt = usize::from(entry.body.is_prompt());
        let way = Way {
            number: above.number + is_prompt,
            turns: if is_behind_fork { is_prompt } else { above.turns + is_prompt },
            is_archived: above.is_archived || tree.is_archived(&entry.id),
            is_delegated: above.is_delegated || begins_sub_agent(&entry.body),
        };
        ways.insert(&entry.id, way);
        if tree.has_children(&entry.id) || way.is_delegated || (way.is_archived && !with_archived) {
            continue;
        }
        let mut names = names.remove(&entry.id).unwrap_or_default();
        names.sort();
        branches.push(Branch {
            tip: &entry.id,
            names: names.into_iter().map(|(_, name)| name).collect(),
            turns: way.turns,
            number: way.number,
            active_at: entry.written_at,
            is_head: head_tip == Some(&entry.id),
            is_archived: way.is_archived,
        });
    }
    branches.sort_by_key(|branch| std::cmp::Reverse(branch.active_at));
    branches
}

fn begins_sub_agent(body: &Body) -> bool {
    matches!(body, Body::Note(note) if note.kind == Note::SUB_AGENT)
}

impl Branch<'_> {
    fn name(&self, look: &Look) -> String {
        harmless_line(&self.names.join(", "), look.ascii)
    }

    /// The id by which its last turn is addressed, as `tree` prints it.
    fn last_turn<'t>(&'t self, tree: &'t SessionTree) -> &'t EntryId {
        turn_prompt(tree, self.tip).map_or(self.tip, |prompt| &prompt.id)
    }

    /// What was asked last on it.
    fn said(&self, tree: &SessionTree, look: &Look) -> String {
        let prompt = turn_prompt(tree, self.tip);
        harmless_line(&prompt.map(|prompt| one_line(&prompt.body)).unwrap_or_default(), look.ascii)
    }

    fn as_json(&self, tree: &SessionTree) -> Value {
        json!({
            "name": self.names.last(),
            "names": self.names,
            "tip": self.tip.as_str(),
            "prompt": turn_prompt(tree, self.tip).map(|prompt| prompt.id.as_str()),
            "turn": self.number,
            "turns": self.turns,
            "text": turn_prompt(tree, self.tip).map(|prompt| prompt.body.text()),
            "active_at": self.active_at.to_string(),
            "head": self.is_head,
            "archived": self.is_archived,
        })
    }

    fn as_fields(&self, tree: &SessionTree, look: &Look) -> String {
        let head = if self.is_head { "head" } else { "" };
        let fields = [
            head.to_owned(),
            self.name(look),
            format!("#{}", self.number),
            self.last_turn(tree).to_string(),
            self.said(tree, look),
            self.turns.to_string(),
            moment(self.active_at, look),
        ];
        format!("{}\n", fields.map(|field| harmless_line(&field, look.ascii)).join("\t"))
    }
}

fn drawn(tree: &SessionTree, branches: &[Branch<'_>], look: &Look) -> String {
    let short_ids = ShortIds::of(tree);
    let name = |branch: &Branch<'_>| cut(&branch.name(look), LONGEST_NAME, look.sign(Sign::Cut));
    let widest = |column: &dyn Fn(&Branch<'_>) -> String| {
        branches.iter().map(|branch| width(&column(branch))).max().unwrap_or(0)
    };
    let number = |branch: &Branch<'_>| format!("#{}", branch.number);
    let id = |branch: &Branch<'_>| harmless_line(&short_ids.get(branch.last_turn(tree)), look.ascii);
    let turns = |branch: &Branch<'_>| counted(branch.turns, "turn", "turns");
    let (names, numbers, ids, counts) = (widest(&name), widest(&number), widest(&id), widest(&turns));
    let rows: Vec<Row> = branches
        .iter()
        .map(|branch| {
            let mut row =
                Row { text: branch.said(tree, look), lead_below: "  ".to_owned(), ..Row::default() };
            let mark = if branch.is_head { look.sign(Sign::Shown) } else { " " };
            row.lead.push(look, Ink::Accent, &format!("{mark} "));
            row.lead.push(look, Ink::Plain, &format!("{}  ", padded(&number(branch), numbers)));
            row.lead.push(look, Ink::Faint, &format!("{}  ", padded(&id(branch), ids)));
            if names > 0 {
                row.lead.push(look, Ink::Plain, &format!("{}  ", padded(&name(branch), names)));
            }
            let count = turns(branch);
            let archived = if branch.is_archived { words::ARCHIVED } else { "" };
            let gap = " ".repeat(counts.saturating_sub(width(&count)));
            let active = moment(branch.active_at, look);
            row.right.push(look, Ink::Faint, &format!("{gap}{count}  {active}{archived}"));
            row
        })
        .collect();
    table::drawn(&rows, look, 0)
}
