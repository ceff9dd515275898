//! Trees as they are seen, and what a path says about itself.

use jiff::Timestamp;
use offshoot_api::views::{
    BoundView, BranchView, EntryView, HeadView, MissingView, SessionRow, StatusView, SubAgentView, TreeRow,
    VersionBrief, VersionView,
};
use offshoot_session::address::end_of_turn;
use offshoot_session::cost::{PriceLookup, Prices};
use offshoot_session::handoff::{branch_missing, branch_provenance, branch_session};
use offshoot_session::in_force::InForce;
use offshoot_session::outline::{TurnOutline, TurnTreeRow, is_task};
use offshoot_session::status::{State, Status};
use offshoot_session::sub_agents::sub_agents_on;
use offshoot_session::versions::AllVersions;
use offshoot_session::{Entry, EntryId, SessionId, SessionTree, Setting, TurnId};
use offshoot_transcripts::gist::of_tree;

use crate::shelf::Glance;

/// What was chosen on the way to an entry, the header included: what an agent is told.
pub(crate) fn settings_of(tree: &SessionTree, at: Option<&EntryId>) -> Vec<Setting> {
    InForce::at(tree, at).into_chosen()
}

pub(crate) fn heads(tree: &SessionTree) -> Vec<HeadView> {
    tree.heads().into_iter().map(|(name, _)| HeadView::of(tree, &name)).collect()
}

/// The way to an entry, the last `turns` of it where a number is given.
pub(crate) fn branch_view(
    tree: &SessionTree,
    at: Option<&EntryId>,
    turns: Option<usize>,
    prices: &Prices,
) -> BranchView {
    let path = tree.path_to(at);
    let prompts: Vec<usize> =
        path.iter().enumerate().filter(|(_, entry)| entry.body.is_prompt()).map(|(at, _)| at).collect();
    let above = match turns {
        None => 0,
        Some(turns) if turns >= prompts.len() => 0,
        Some(turns) => prompts.get(prompts.len() - turns).copied().unwrap_or(path.len()),
    };
    let seen = path.get(above..).unwrap_or_default();
    let all_versions = AllVersions::of(tree);
    let versions = seen.iter().filter_map(|entry| {
        let version = all_versions.get(tree, &entry.id)?;
        let edit_group = all_versions.edit_group(tree, &entry.id)?.to_string();
        let prompt = entry.id.to_string();
        Some(VersionView { prompt, edit_group, number: version.number, of: version.of })
    });
    let prices = PriceLookup::new(prices.clone());
    let entries = seen.iter().map(|entry| entry_view(tree, entry, &prices));
    BranchView {
        tip: at.map(ToString::to_string),
        entries: entries.collect(),
        before_answer: at.is_some_and(|at| is_before_answer(tree, at)),
        above,
        versions: versions.collect(),
        agent_session: branch_session(tree, at).map(|session| session.to_string()),
        provenance: branch_provenance(tree, at).map(Into::into),
        missing: MissingView::of(branch_missing(tree, at)),
        sub_agents: sub_agents_on(tree, seen).iter().map(SubAgentView::from).collect(),
    }
}

fn entry_view(tree: &SessionTree, entry: &Entry, prices: &PriceLookup) -> EntryView {
    let bound = tree.binding(&entry.id).map(BoundView::from);
    EntryView { bound, ..EntryView::from(entry).priced(|model| prices.price_of(model)) }
}

/// Whether an entry is a prompt that was answered, settings behind it aside.
fn is_before_answer(tree: &SessionTree, at: &EntryId) -> bool {
    let is_prompt = tree.entry(at).is_some_and(|entry| entry.body.is_prompt());
    is_prompt && end_of_turn(tree, at) != *at
}

/// The prompt of a turn and what was written for it. A turn that was undone was answered all the same.
pub(crate) fn turn_view(tree: &SessionTree, turn: &TurnId, prices: &Prices) -> BranchView {
    let is_of_turn = |entry: &&Entry| entry.turn.as_ref() == Some(turn);
    let standing: Vec<&Entry> = tree.entries().map(|entry| &**entry).filter(is_of_turn).collect();
    let entries = match standing.is_empty() {
        true => tree.log().filter_map(|record| record.as_entry()).filter(is_of_turn).collect(),
        false => standing,
    };
    let prices = PriceLookup::new(prices.clone());
    let viewed = entries.iter().map(|entry| entry_view(tree, entry, &prices));
    let tip = entries.last().map(|entry| entry.id.to_string());
    BranchView { tip, entries: viewed.collect(), ..BranchView::default() }
}

pub(crate) fn tree_rows(tree: &SessionTree) -> Vec<TreeRow> {
    let rows = TurnOutline::of(tree).rows.into_iter().filter_map(|row| match row {
        TurnTreeRow::Turn(row) => Some(row),
        TurnTreeRow::Folded(_) => None,
    });
    let all_versions = AllVersions::of(tree);
    rows.map(|row| {
        let above = std::iter::successors(tree.parent(&row.entry), |entry| tree.parent(&entry.id));
        let parent = above.into_iter().find(|entry| entry.body.is_prompt());
        let is_task = tree.entry(&row.entry).is_some_and(|prompt| is_task(tree, prompt));
        TreeRow {
            id: row.entry.to_string(),
            parent: parent.map(|parent| parent.id.to_string()),
            number: row.number.unwrap_or_default(),
            text: row.text,
            label: row.labels.into_iter().next(),
            branch_name: row.branch_names.into_iter().next(),
            on_path: row.on_active_path,
            is_head: row.is_head,
            version: row.version.and_then(|version| {
                let edit_group = all_versions.edit_group(tree, &row.entry)?.to_string();
                Some(VersionBrief { edit_group, index: version.number, total: version.of })
            }),
            is_task,
        }
    })
    .collect()
}

/// What a list tells of a session, as the catalog does. `None` for one that is not there (any more).
pub(crate) fn glance_at(tree: &SessionTree) -> Option<Glance> {
    if tree.is_taken_back() {
        return None;
    }
    let (gist, _) = of_tree(tree);
    Some(Glance {
        title: gist.user_title.or(gist.auto_title).or(gist.first_prompt),
        project: gist.project,
        agent: gist.agent,
        prompts: usize::try_from(gist.prompts).ok()?,
        parent: gist.parent,
        active_at: Timestamp::from_microsecond(gist.updated_at?).ok()?,
    })
}

/// Where nothing runs.
pub(crate) fn session_row(id: &SessionId, glance: Glance) -> SessionRow {
    let Glance { title, project, agent, prompts, parent, active_at } = glance;
    let status = StatusView::from(Status::of_stream(State::Ready));
    SessionRow { id: id.to_string(), title, project, agent, prompts, parent, active_at, status }
}
