//! `offshoot show [SESSION]`: a branch turn by turn, one turn, or what the model reads at a point.

mod context;
mod long;
mod turn;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use offshoot_api::views::SubAgentView;
use offshoot_session::address::{ShortIds, Want};
use offshoot_session::cost::Tally;
use offshoot_session::outline::{Lines, Turn, turns_of, turns_through};
use offshoot_session::sub_agents::{SubAgent, sub_agents_on};
use offshoot_session::versions::AllVersions;
use offshoot_session::{Body, Entry, EntryId, SessionTree};
use offshoot_store::ending::{Ending, Last};
use serde_json::{Value, json};

use super::json::{add_version, entry, lineage, printed};
use super::{heading, reason_of};
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::light::{self, light_session};
use crate::living::{Running, has_open_turn, looked_at};
use crate::long::long_session;
use crate::look::{Ink, Look, Sign};
use crate::opened::{Opened, point};
use crate::table::Painted;
use crate::which::{Which, which};
use crate::{Answer, prices, text, words};

pub(crate) fn run(args: &ShowArgs, here: &Here) -> Result<Answer, Failure> {
    let which = which(here, args.session.named())?;
    // before anybody looks whether it is a file of pi, which takes a look at all of it
    if let Some(text) = last_turns(args, here, &which) {
        return Ok(Answer { text, ..Answer::default() });
    }
    let running = Running::now(here);
    if let Some(session) = long_session(here, &which).filter(|session| !has_open_turn(here, &which, session))
        && let Some(answer) = long::shown(args, session, &running, here)
    {
        return answer;
    }
    let Opened { tree, notes } = &match in_parts(args, here, &which) {
        Some(opened) => opened?,
        None => looked_at(here, &which)?,
    };
    let at = args.at.as_deref().map(|text| point(tree, &text.into(), Want::End)).transpose()?;
    let text = match args.context {
        true => {
            let place = at.as_ref().or(tree.main_head());
            context::Read::at(tree, place, args.last).told(tree, place, args, &here.look)
        }
        false => {
            let part = Part { tree, short_ids: ShortIds::of(tree), known_turn: None, running: &running };
            part.told(at.as_ref(), args, here)
        }
    };
    Ok(Answer { text, notes: notes.clone(), ..Answer::default() })
}

/// The end of a long file of Claude Code, of which nothing else is read.
fn last_turns(args: &ShowArgs, here: &Here, which: &Which) -> Option<String> {
    let count = args.last.filter(|_| args.at.is_none() && !args.context)?;
    let last = if args.json.json.is_some() { Last::Entries(count) } else { Last::Turns(count) };
    let Ending { tree, turn, similar, .. } = light::last_turns(here, which, last)?;
    let ids = tree.entries().map(|entry| entry.id.as_str()).chain(similar.iter().map(String::as_str));
    let known_turn = tree.main_head().map(|head| (head.clone(), turn));
    let running = Running::default();
    let part = Part { tree: &tree, short_ids: ShortIds::among(ids), known_turn, running: &running };
    Some(part.told(None, args, here))
}

/// A long file of another program, with the words of what is shown.
fn in_parts(args: &ShowArgs, here: &Here, which: &Which) -> Option<Result<Opened, Failure>> {
    let session = light_session(here, which)?;
    match shown(session.tree(), args) {
        Ok(entries) => light::opened(here, &session, entries).map(Ok),
        Err(failure) => Some(Err(failure)),
    }
}

/// The entries whose words are asked for.
fn shown(tree: &SessionTree, args: &ShowArgs) -> Result<Vec<EntryId>, Failure> {
    let at = args.at.as_deref().map(|text| point(tree, &text.into(), Want::End)).transpose()?;
    let place = at.as_ref().or(tree.main_head());
    if args.context {
        return Ok(context::Read::at(tree, place, None).entries());
    }
    let (is_for_scripts, ids) = (args.json.json.is_some(), |turn: &Turn<'_>| {
        turn.entries.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>()
    });
    let entries: Vec<EntryId> = match &at {
        _ if is_for_scripts => {
            let path = turns_of(tree, place).iter().flat_map(ids).collect::<Vec<_>>();
            let shown = last_of(&path, args.last).to_vec();
            return Ok(shown.into_iter().chain(sub_agent_entries(tree)).collect());
        }
        Some(at) => turns_through(tree, at).iter().filter(|turn| turn.contains(at)).flat_map(ids).collect(),
        None => last_of(&turns_of(tree, place), args.last).iter().flat_map(ids).collect(),
    };
    Ok(light::with_calls(tree, entries.into_iter().chain(sub_agent_entries(tree)).collect()))
}

/// The notes and tasks of sub-agents.
fn sub_agent_entries(tree: &SessionTree) -> Vec<EntryId> {
    let roots = tree.children(None).into_iter().filter(|root| matches!(root.body, Body::Note(_)));
    let with_task = |root: &Arc<Entry>| {
        let task = tree.children(Some(&root.id)).first().map(|task| task.id.clone());
        std::iter::once(root.id.clone()).chain(task)
    };
    roots.flat_map(with_task).collect()
}

/// What is shown. The tree may hold only a part of the session.
struct Part<'t> {
    tree: &'t SessionTree,
    /// Those of the whole session.
    short_ids: ShortIds<'t>,
    /// The number of an entry's turn, where prompts above it are missing.
    known_turn: Option<(EntryId, usize)>,
    running: &'t Running,
}

impl<'t> Part<'t> {
    fn told(&self, at: Option<&EntryId>, args: &ShowArgs, here: &Here) -> String {
        match args.json.json {
            Some(shape) => printed(self.as_json(at, args.last), "entries", shape),
            None => self.drawn(at, args.last, here),
        }
    }

    fn drawn(&self, at: Option<&EntryId>, last: Option<usize>, here: &Here) -> String {
        let (tree, look) = (self.tree, &here.look);
        let path = tree.path_to(at.or(tree.main_head()));
        let about = About {
            short_ids: &self.short_ids,
            lines: Lines::of(tree),
            running: self.running,
            sub_agents: sub_agents_on(tree, &path),
            costs: prices::of_turns(tree, &prices::usable(here)),
        };
        if let Some(at) = at {
            let turns = self.numbered(turns_through(tree, at));
            let found = turns.iter().rev().find(|turn| turn.contains(at));
            return found.map(|found| turn::drawn(tree, found, &about, None, look)).unwrap_or_default();
        }
        let turns = self.numbered(turns_of(tree, tree.main_head()));
        let mut text = String::new();
        if !look.quiet {
            text.push_str(&heading(tree, &Painted::default(), look).text);
            text.push('\n');
            text.push_str(&branched(tree, look));
            text.push('\n');
        }
        if turns.is_empty() {
            let nothing = if tree.is_empty() { words::NOTHING_SAID } else { words::HEAD_AT_START };
            text.push_str(nothing);
            text.push('\n');
        }
        let mut before = None;
        let mut shown = Vec::new();
        for one in last_of(&turns, last).iter().filter(|turn| turn::says_anything(turn)) {
            shown.push(turn::drawn(tree, one, &about, before, look));
            before = one.entries.first().map(|entry| entry.written_at);
        }
        if last.is_none() {
            shown.extend(turn::tasks_of_no_turn(&about, look));
        }
        text.push_str(&shown.join("\n"));
        text
    }

    /// The path to a point, or to the head.
    fn as_json(&self, at: Option<&EntryId>, last: Option<usize>) -> Value {
        let tree = self.tree;
        let turns = self.numbered(turns_of(tree, at.or(tree.main_head())));
        let path: Vec<_> =
            turns.iter().flat_map(|turn| turn.entries.iter().map(|entry| (turn.number, *entry))).collect();
        let versions = AllVersions::of(tree);
        let shown = last_of(&path, last);
        let entries: Vec<&Arc<Entry>> = shown.iter().map(|(_, entry)| *entry).collect();
        let is_shown = |one: &SubAgent<'_>| last.is_none() || one.entry.is_some();
        let sub_agents: Vec<SubAgentView> = sub_agents_on(tree, &entries)
            .iter()
            .filter(|one| is_shown(one))
            .map(SubAgentView::from)
            .collect();
        let entries: Vec<Value> = shown
            .iter()
            .map(|(number, one)| {
                let mut fields = entry(tree, one);
                fields.insert("turn".to_owned(), json!(Some(*number).filter(|number| *number > 0)));
                add_version(&mut fields, tree, &versions, &one.id);
                if let Some(status) = self.running.of_prompt(&one.id) {
                    fields.insert("status".to_owned(), json!(status));
                }
                Value::Object(fields)
            })
            .collect();
        json!({
            "session": tree.header().map(|header| header.id.as_str()),
            "title": tree.title(),
            "lineage": lineage(tree.header().and_then(|header| header.lineage.as_ref())),
            "head": tree.main_head().map(|head| head.as_str()),
            "at": at.or(tree.main_head()).map(|at| at.as_str()),
            "entries": entries,
            "sub_agents": sub_agents,
        })
    }

    fn numbered(&self, mut turns: Vec<Turn<'t>>) -> Vec<Turn<'t>> {
        if let Some((entry, number)) = &self.known_turn
            && let Some(found) = turns.iter().find(|turn| turn.contains(entry))
        {
            let missing = number.saturating_sub(found.number);
            turns.iter_mut().for_each(|turn| turn.number += missing);
        }
        turns
    }
}

/// The session that this one branched from, and why; empty for a root.
fn branched(tree: &SessionTree, look: &Look) -> String {
    let Some(lineage) = tree.header().and_then(|header| header.lineage.as_ref()) else {
        return String::new();
    };
    let parent = text::harmless_line(short_parent(&lineage.parent), look.ascii);
    let line = words::branched_from(&parent, reason_of(lineage, look).as_deref());
    let line = text::cut(&line, look.width.unwrap_or(usize::MAX), look.sign(Sign::Cut));
    format!("{}\n", look.paint(Ink::Faint, &line))
}

/// Headers name a parent by its id or by its file, which ends with the id. Long ids are cut as in headings.
fn short_parent(parent: &str) -> &str {
    let stem = Path::new(parent).file_stem().and_then(OsStr::to_str).unwrap_or(parent);
    let is_file = stem != parent;
    let id = stem.rsplit('_').next().filter(|_| is_file).unwrap_or(stem);
    let is_long = id.len() == 36 && id.split('-').count() == 5;
    id.get(..6).filter(|_| is_long).unwrap_or(id)
}

fn last_of<T>(list: &[T], last: Option<usize>) -> &[T] {
    let from = last.map_or(0, |last| list.len().saturating_sub(last));
    list.get(from..).unwrap_or_default()
}

/// What a turn's title line says beyond the turn itself.
struct About<'p, 't> {
    short_ids: &'p ShortIds<'t>,
    lines: Lines<'t>,
    running: &'p Running,
    /// Those that the branch shows.
    sub_agents: Vec<SubAgent<'t>>,
    /// What each turn has used, by its prompt.
    costs: HashMap<EntryId, Tally>,
}
