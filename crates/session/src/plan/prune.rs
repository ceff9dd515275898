//! Clearing away branches that nothing ever answered. Only on request, and only out of sight: pruning archives,
//! so undo brings everything back.
//!
//! ```text
//! u1 - a1 - u2 - a2*
//!      a1 - u3            goes: nobody answered
//!      a1 - u4 - a4 - u5  u5 goes: the answer above it was to u4
//! ```
//! What is on the way to a head stays whatever it is.

use std::collections::HashSet;

use super::Plan;
use super::archive::marks;
use crate::{Body, EntryId, Reply, SessionTree, Stamps, Stop};

/// Archives the top of each branch that is [`prunable`].
pub fn plan_prune(tree: &SessionTree, stamps: &mut dyn Stamps) -> Option<Plan> {
    let going = prunable(tree);
    let all: HashSet<&EntryId> = going.iter().collect();
    let tops = going
        .iter()
        .filter(|id| !tree.parent(id).is_some_and(|parent| all.contains(&parent.id)))
        .cloned()
        .collect();
    marks("prune", tops, true, stamps)
}

/// Every entry that pruning would put out of sight, each before those below it.
pub fn prunable(tree: &SessionTree) -> Vec<EntryId> {
    let order = tree.walk();
    let archived = archived_with_all_below(tree);
    let mut stays = on_the_way_to_heads(tree);
    // Children come before parents this way round: a reason to stay climbs up.
    for entry in order.iter().rev() {
        if archived.contains(&entry.id) || answers(&entry.body) {
            stays.insert(&entry.id);
        }
        if stays.contains(&entry.id)
            && let Some(parent) = tree.parent(&entry.id)
        {
            stays.insert(&parent.id);
        }
    }
    // And this way round the traces of an answer, such as results of its tools, follow it down.
    let mut traces: HashSet<&EntryId> = HashSet::new();
    let mut going = Vec::new();
    for entry in order {
        let below_answer =
            tree.parent(&entry.id).is_some_and(|parent| answers(&parent.body) || traces.contains(&parent.id));
        if below_answer && !has_own_verdict(&entry.body) {
            traces.insert(&entry.id);
        } else if !stays.contains(&entry.id) {
            going.push(entry.id.clone());
        }
    }
    going
}

/// A reply that stopped to call a tool is a question to the tool; the answer is the reply that comes after.
fn answers(body: &Body) -> bool {
    let Body::Reply(reply) = body else { return false };
    !reply.failed() && !waits_for_tools(reply)
}

fn waits_for_tools(reply: &Reply) -> bool {
    match reply.stop {
        Some(Stop::ToolUse) => true,
        None => reply.tool_uses().next().is_some(),
        Some(Stop::EndTurn | Stop::Length | Stop::Aborted | Stop::Error(_) | Stop::Other(_)) => false,
    }
}

/// Words are judged by what answers them; everything else belongs to the words above it.
fn has_own_verdict(body: &Body) -> bool {
    matches!(body, Body::Prompt(_) | Body::Reply(_))
}

fn on_the_way_to_heads(tree: &SessionTree) -> HashSet<&EntryId> {
    let mut on_the_way = HashSet::new();
    for (_, at) in tree.heads() {
        on_the_way.extend(tree.path_to(at).into_iter().map(|entry| &entry.id));
    }
    on_the_way
}

fn archived_with_all_below(tree: &SessionTree) -> HashSet<&EntryId> {
    let mut archived: HashSet<&EntryId> = HashSet::new();
    for entry in tree.walk() {
        let hidden_above = tree.parent(&entry.id).is_some_and(|parent| archived.contains(&parent.id));
        if hidden_above || tree.is_archived(&entry.id) {
            archived.insert(&entry.id);
        }
    }
    archived
}
