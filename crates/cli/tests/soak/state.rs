//! A session after each batch of its journal.

use std::collections::HashMap;

use offshoot_session::{Change, EntryId, Fact, SessionTree, TurnId};

use crate::journal::{Batch, Journal};
use crate::steps::Steps;

#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    pub(crate) tree: SessionTree,
    pub(crate) steps: Steps,
    /// Prompts that the agent is answering.
    pub(crate) running: HashMap<TurnId, EntryId>,
}

impl Walked {
    /// The last state, and every rule that was broken on the way there.
    pub(crate) fn through(journal: &Journal) -> (Vec<String>, Self) {
        let (mut problems, mut state) = (Vec::new(), Self::default());
        for (number, batch) in journal.batches.iter().enumerate() {
            let broken = state.take(batch);
            problems.extend(
                broken.into_iter().map(|rule| format!("{}: batch {number}: {rule}", journal.session)),
            );
        }
        (problems, state)
    }

    /// Calls `visit` with the number of each state and the state, from the empty one to the last.
    pub(crate) fn each(journal: &Journal, mut visit: impl FnMut(usize, &Self)) {
        let mut state = Self::default();
        visit(0, &state);
        for (number, batch) in journal.batches.iter().enumerate() {
            // What is wrong with it is told by `through`.
            let _ = state.take(batch);
            visit(number + 1, &state);
        }
    }

    fn take(&mut self, batch: &Batch) -> Vec<String> {
        let mut broken = Vec::new();
        if let Err(rejected) = self.tree.extend(&batch.records) {
            broken.push(rejected.to_string());
        }
        for record in &batch.records {
            broken.extend(self.steps.take(record).err());
            match &record.change {
                // A prompt that is only written has a turn too; one that is sent begins it, under the id of the request.
                Change::Entry(entry) if entry.body.is_prompt() => {
                    let begins = record.operation.as_ref().map(|operation| operation.as_str());
                    if let Some(turn) = entry.turn.as_ref().filter(|turn| Some(turn.as_str()) == begins) {
                        self.running.insert(turn.clone(), entry.id.clone());
                    }
                }
                Change::Marked(mark) => {
                    if let Fact::TurnEnded { turn } = &mark.fact {
                        self.running.remove(turn);
                    }
                }
                Change::Entry(_) | Change::Opened(_) | Change::HeadMoved(_) | Change::Unknown => {}
            }
        }
        broken
    }
}
