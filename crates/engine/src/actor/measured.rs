//! What a turn has used, and how full the window of its model is behind it.

use offshoot_api::event::EventKind;
use offshoot_api::views::{ContextView, SpentView};
use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::cost::{Charge, Counting, Tally, once, priced};
use offshoot_session::tokens::context_tokens_of_path;
use offshoot_session::{Change, EntryId, Fact, Model, Record};

use super::SessionActor;

/// What these records of a turn, or of its sub-agents, say that was used.
pub(super) fn charges_in(records: &[Record]) -> Vec<Charge> {
    let mut counting = Counting::default();
    let charges = records.iter().filter_map(|record| match &record.change {
        Change::Entry(entry) => counting.entry(entry.id.as_str(), entry.written_at, &entry.body, None),
        Change::Marked(mark) => match &mark.fact {
            Fact::Spent { usage, model } => {
                Some(counting.beside(mark.id.as_ref(), mark.marked_at, usage, model.as_ref()))
            }
            _ => None,
        },
        Change::Opened(_) | Change::HeadMoved(_) | Change::Unknown => None,
    });
    charges.collect()
}

impl SessionActor {
    /// `None` where nothing was counted.
    pub(super) fn cost_of_turn(&self, charges: &[Charge]) -> Option<SpentView> {
        let price_of = |model: &Model| self.settings.prices.of(model).cloned();
        let charges = priced(once(charges).cloned().collect(), price_of);
        (!charges.is_empty()).then(|| SpentView::from(&Tally::of(&charges)))
    }

    /// Where the head stands below the prompt of a turn.
    pub(super) fn context_behind(&self, prompt: &EntryId, agent: &str) -> Option<ContextView> {
        let head = self.tree.main_head().filter(|head| self.tree.is_ancestor(prompt, head))?;
        let context = context_of(&self.tree, Some(head), &ContextOptions::default());
        let window = self.window(Some(agent), context.model.as_ref());
        let tokens = context_tokens_of_path(&self.tree.path_to(Some(head))).tokens;
        Some(ContextView { tokens, window })
    }

    pub(super) fn tell_measured(&mut self, context: Option<ContextView>) {
        if let Some(context) = context {
            self.publish(None, EventKind::Measured { context });
        }
    }
}
