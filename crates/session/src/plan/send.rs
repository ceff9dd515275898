//! Saying something: a prompt below the head, with a turn of its own that the head follows.

use thiserror::Error;

use super::Plan;
use crate::{Block, Body, EntryId, HeadName, Prompt, SessionTree, Stamps, TurnId};

/// A prompt that is on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub plan: Plan,
    pub prompt: EntryId,
    /// All that answers the prompt is written under this turn.
    pub turn: TurnId,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SendRefused {
    #[error("a prompt needs some text")]
    Blank,
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
}

pub fn plan_send(
    tree: &SessionTree,
    head: &HeadName,
    prompt: Prompt,
    stamps: &mut dyn Stamps,
) -> Result<Sent, SendRefused> {
    plan_send_at(tree, head, tree.head(head), prompt, stamps)
}

/// The same below any entry; `None` is before the first one. The head goes there.
pub fn plan_send_at(
    tree: &SessionTree,
    head: &HeadName,
    below: Option<&EntryId>,
    prompt: Prompt,
    stamps: &mut dyn Stamps,
) -> Result<Sent, SendRefused> {
    if is_blank(&prompt) {
        return Err(SendRefused::Blank);
    }
    if !tree.has_head(head) {
        return Err(SendRefused::UnknownHead(head.clone()));
    }
    Ok(say("send", tree, head, below.cloned(), prompt, stamps))
}

/// The same while the head stays where it is.
pub fn plan_send_aside(
    below: Option<&EntryId>,
    prompt: Prompt,
    stamps: &mut dyn Stamps,
) -> Result<Sent, SendRefused> {
    if is_blank(&prompt) {
        return Err(SendRefused::Blank);
    }
    let mut plan = Plan::named("send", stamps);
    let turn = stamps.turn_id();
    let prompt = plan.write(below.cloned(), Some(turn.clone()), Body::Prompt(prompt), stamps);
    Ok(Sent { plan, prompt, turn })
}

/// A new prompt below `parent`, and the head upon it.
pub(super) fn say(
    name: &str,
    tree: &SessionTree,
    head: &HeadName,
    parent: Option<EntryId>,
    prompt: Prompt,
    stamps: &mut dyn Stamps,
) -> Sent {
    let mut plan = Plan::named(name, stamps);
    let turn = stamps.turn_id();
    let prompt = plan.write(parent, Some(turn.clone()), Body::Prompt(prompt), stamps);
    plan.move_head(tree, head, Some(prompt.clone()), stamps);
    Sent { plan, prompt, turn }
}

/// No words, and nothing else that could be meant.
fn is_blank(prompt: &Prompt) -> bool {
    prompt.attachments.is_empty()
        && prompt.blocks.iter().all(|block| match block {
            Block::Text(text) => text.trim().is_empty(),
            Block::Thinking(_) | Block::ToolUse(_) => true,
            Block::Image { .. } | Block::Other { .. } => false,
        })
}
