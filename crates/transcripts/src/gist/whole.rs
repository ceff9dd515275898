//! The gist of a session that was read whole.

use jiff::Timestamp;
use offshoot_session::about::prompts;
use offshoot_session::cost::{self, Charge};
use offshoot_session::outline::{TurnOutline, one_line};
use offshoot_session::{Body, Change, Note, SessionTree};
use std::collections::HashMap;

use super::header::HeaderGist;
use super::{Beginning, Gist, Role, Said, beginning, said_in, tools_in};
use crate::claude::billed_as;

/// The gist, and all that was said, in the order of writing.
pub fn of_tree(tree: &SessionTree) -> (Gist, Vec<Said>) {
    let header = tree.header();
    let asked = prompts(tree);
    let title = tree.title().map(str::to_owned);
    let (user_title, auto_title) = if tree.title_is_by_user() { (title, None) } else { (None, title) };
    let models = tree.entries().filter_map(|entry| match &entry.body {
        Body::Reply(reply) => reply.model.as_ref(),
        _ => None,
    });
    // The file that the session continues is one session with it.
    let theirs = header.and_then(|header| header.foreign.as_ref()).map(|source| source.session.as_str());
    let bound = tree.bindings().map(|(_, binding)| binding).filter(|binding| binding.was_made_here());
    let bound = bound.filter_map(|binding| {
        let session = binding.agent_session.as_ref().filter(|session| theirs != Some(session.as_str()))?;
        Some((binding.agent.clone()?, session.to_string()))
    });
    let gist = Gist {
        id: header.map(|header| header.id.to_string()),
        agent: header.and_then(|header| header.agent.clone()),
        project: header.and_then(|header| header.project.clone()),
        user_title,
        auto_title,
        first_prompt: asked
            .iter()
            .map(|prompt| one_line(&prompt.body))
            .find(|text| !text.is_empty())
            .map(|line| beginning(&line)),
        model: models.last().map(|model| model.name.clone()),
        parent: header.and_then(|header| header.lineage.as_ref()).map(|lineage| lineage.parent.clone()),
        header: header.map(HeaderGist::of).unwrap_or_default(),
        is_side: false,
        labels: tree.labels().into_iter().map(|(id, label)| (id.to_string(), label.to_owned())).collect(),
        bound: bound.collect(),
        opened_at: header.map(|header| header.opened_at.as_microsecond()),
        updated_at: last_written(tree).map(Timestamp::as_microsecond),
        entries: tree.len() as u64,
        branches: TurnOutline::of(tree).branches as u64,
        prompts: asked.len() as u64,
        beginning: None,
    };
    let mut said = words_of_tree(tree);
    said.retain(|said| said.role != Role::Tool);
    let mut beginning = Beginning::default();
    beginning.hear(&said);
    (Gist { beginning: beginning.told(), ..gist }, said)
}

/// What the session has used.
pub fn charges_of_tree(tree: &SessionTree) -> Vec<Charge> {
    cost::used(tree, |record| record.source.as_ref().and_then(billed_as))
}

fn last_written(tree: &SessionTree) -> Option<Timestamp> {
    let moment = |change: &Change| match change {
        Change::Opened(header) => Some(header.opened_at),
        Change::Entry(entry) => Some(entry.written_at),
        Change::HeadMoved(head_move) => Some(head_move.moved_at),
        Change::Marked(mark) => Some(mark.marked_at),
        Change::Unknown => None,
    };
    tree.log().filter_map(|record| moment(&record.change)).max()
}

/// Where an entry stands, as far as what is written above it tells.
#[derive(Clone, Copy, Default)]
struct Way<'t> {
    turn: u32,
    branch: Option<&'t str>,
    /// What agents ask of others is nobody's turn.
    is_delegated: bool,
}

/// All that was said, and what tools were given and answered, in the order of writing.
pub fn words_of_tree(tree: &SessionTree) -> Vec<Said> {
    let mut ways: HashMap<&str, Way<'_>> = HashMap::with_capacity(tree.len());
    let mut all = Vec::new();
    for entry in tree.entries() {
        let above = entry.parent.as_ref().and_then(|parent| ways.get(parent.as_str())).copied();
        let mut way = above.unwrap_or_default();
        way.is_delegated |= matches!(&entry.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
        way.turn += u32::from(entry.body.is_prompt());
        way.branch = tree.branch_name(&entry.id).or(way.branch);
        ways.insert(entry.id.as_str(), way);
        let tools = tools_in(&entry.body).map(|text| (Role::Tool, text));
        for (role, text) in said_in(&entry.body).into_iter().chain(tools) {
            all.push(Said {
                entry: entry.id.to_string(),
                role,
                turn: Some(way.turn).filter(|turn| *turn > 0 && !way.is_delegated),
                branch: way.branch.map(str::to_owned),
                at: Some(entry.written_at.as_microsecond()),
                text,
                place: None,
            });
        }
    }
    all
}
