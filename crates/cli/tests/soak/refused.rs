//! Every refusal has a state in the window of its command in which the rules refuse it.

use std::collections::{BTreeMap, HashMap};

use offshoot_session::{EntryId, Record, SessionId};

use crate::history::{Ran, Refusal, What};
use crate::journal::{Journal, Window};
use crate::state::Walked;

/// A refusal that no state so far explains.
struct Open<'h> {
    ran: &'h Ran,
    refusal: &'h Refusal,
    window: Window,
}

pub(crate) fn problems(journals: &BTreeMap<SessionId, Journal>, history: &[Ran]) -> Vec<String> {
    let gone_on = GoneOn::of(journals);
    let mut problems = Vec::new();
    for journal in journals.values() {
        let own = history.iter().filter(|ran| ran.session == journal.session);
        let mut open: Vec<Open<'_>> = own
            .filter_map(|ran| {
                let refusal = ran.answer.refusal.as_ref()?;
                Some(Open { ran, refusal, window: ran.window(journal) })
            })
            .collect();
        if open.is_empty() {
            continue;
        }
        Walked::each(journal, |number, state| {
            open.retain(|open| !(open.window.has_state(number) && explains(state, open, &gone_on)));
        });
        problems.extend(open.iter().map(|open| {
            let Open { ran, refusal, window: Window { first, last } } = open;
            format!("no state from {first} to {last} explains {refusal:?}: {}", ran.described())
        }));
    }
    problems
}

fn explains(state: &Walked, open: &Open<'_>, gone_on: &GoneOn<'_>) -> bool {
    let Open { ran, refusal, .. } = open;
    match refusal {
        Refusal::Unchanged => is_so_already(state, &ran.what),
        Refusal::NothingToUndo => state.steps.next_undo().is_none(),
        Refusal::NothingToRedo => state.steps.next_redo().is_none(),
        Refusal::Running => is_in_the_way_of_a_turn(state, &ran.what),
        Refusal::SameText => says_the_same(state, &ran.what),
        Refusal::NoSuchPoint => point_of(&ran.what).is_some_and(|at| !state.tree.contains(at)),
        Refusal::TakenBack => state.steps.is_taken_back(),
        Refusal::HasGoneOn { child } => {
            let step = state.steps.next_undo().filter(|_| ran.what == What::Undo);
            let forked = step.and_then(|step| state.steps.forked_to(step));
            forked.is_some_and(|forked| forked.as_str().starts_with(child) && gone_on.during(forked, ran))
        }
    }
}

fn is_so_already(state: &Walked, what: &What) -> bool {
    match what {
        What::Label { at, label } => state.tree.label(at) == Some(label),
        What::Rename { title } => state.tree.title() == Some(title),
        What::Fork { at } => state.tree.main_head() == Some(at),
        What::Append { .. }
        | What::Edit { .. }
        | What::Undo
        | What::Redo
        | What::ForkToNewSession { .. }
        | What::Send { .. } => false,
    }
}

/// Whether the agent is answering on the branch that would change.
fn is_in_the_way_of_a_turn(state: &Walked, what: &What) -> bool {
    let tree = &state.tree;
    let head_is_below =
        |prompt: &EntryId| tree.main_head().is_some_and(|head| tree.is_ancestor(prompt, head));
    state.running.values().any(|prompt| match what {
        What::Edit { at, .. } => tree.is_ancestor(at, prompt) || tree.is_ancestor(prompt, at),
        What::Undo => head_is_below(prompt) || is_hidden_by_undo(state, prompt),
        What::Append { .. } | What::Redo | What::Fork { .. } => head_is_below(prompt),
        What::ForkToNewSession { .. } | What::Label { .. } | What::Rename { .. } | What::Send { .. } => false,
    })
}

/// Whether the next undo would hide this prompt: it, or an entry above it, belongs to that step.
fn is_hidden_by_undo(state: &Walked, prompt: &EntryId) -> bool {
    let Some(step) = state.steps.next_undo() else { return false };
    let own = state.tree.log().filter(|record| record.operation.as_ref() == Some(step));
    own.filter_map(Record::as_entry).any(|entry| state.tree.is_ancestor(&entry.id, prompt))
}

/// Whether the prompt, or another version of it, says this.
fn says_the_same(state: &Walked, what: &What) -> bool {
    let What::Edit { at, text } = what else { return false };
    let Some(entry) = state.tree.entry(at) else { return false };
    let versions = state.tree.children(entry.parent.as_ref());
    versions.iter().any(|version| version.body.is_prompt() && version.body.text() == *text)
}

fn point_of(what: &What) -> Option<&EntryId> {
    match what {
        What::Edit { at, .. } | What::Fork { at } | What::Label { at, .. } => Some(at),
        What::ForkToNewSession { at } => at.as_ref(),
        What::Append { .. } | What::Undo | What::Redo | What::Rename { .. } | What::Send { .. } => None,
    }
}

/// In which states of each journal something stood besides its beginning.
struct GoneOn<'j> {
    journals: &'j BTreeMap<SessionId, Journal>,
    states: HashMap<&'j SessionId, Vec<bool>>,
}

impl<'j> GoneOn<'j> {
    fn of(journals: &'j BTreeMap<SessionId, Journal>) -> Self {
        let states = journals.values().map(|journal| {
            let mut states = Vec::new();
            Walked::each(journal, |_, state| states.push(state.steps.has_gone_on()));
            (&journal.session, states)
        });
        let states = states.collect();
        Self { journals, states }
    }

    fn during(&self, session: &SessionId, ran: &Ran) -> bool {
        let Some(journal) = self.journals.get(session) else { return false };
        let window = ran.window(journal);
        let states = self.states.get(session).map(Vec::as_slice).unwrap_or_default();
        states.iter().enumerate().any(|(number, gone_on)| *gone_on && window.has_state(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{journal_of, journals, ran, refused};

    fn explained(drawing: &str, what: What, refusal: Refusal, states: std::ops::RangeInclusive<u64>) -> bool {
        let child = journal_of("child", "s6 began\n s7 append u9 nine\n s8 undo s7");
        let journals = journals([journal_of("main", drawing), child]);
        problems(&journals, &[ran(what, refused(refusal), states)]).is_empty()
    }

    #[test]
    fn nothing_to_undo_or_redo() {
        let story = "
            s1 append u1 one
            s2 undo s1
            s3 redo s1
        ";
        let undo = |states| explained(story, What::Undo, Refusal::NothingToUndo, states);
        assert!(undo(0..=0) && undo(2..=2) && undo(1..=2));
        assert!(!undo(1..=1) && !undo(3..=3));
        let redo = |states| explained(story, What::Redo, Refusal::NothingToRedo, states);
        assert!(redo(0..=1) && redo(3..=3));
        assert!(!redo(2..=2));
    }

    #[test]
    fn a_turn_that_runs_on_the_branch() {
        let story = "
            s1 append u1 one
            s2 send u2 two
            - reply a2 u2 fine
            - ended u2
            s3 fork u1
            s4 send u3 three
            s5 fork u2
        ";
        let fork = What::Fork { at: "u1".into() };
        let refused = |what: &What, states| explained(story, what.clone(), Refusal::Running, states);
        assert!(refused(&fork, 2..=2) && refused(&fork, 3..=3));
        assert!(!refused(&fork, 1..=1) && !refused(&fork, 4..=5), "nothing runs");
        assert!(refused(&fork, 6..=6));
        assert!(!refused(&fork, 7..=7), "the head has left the branch");
        let edit = |at: &str| What::Edit { at: at.into(), text: "other".into() };
        assert!(refused(&edit("u1"), 7..=7) && refused(&edit("u3"), 7..=7));
        assert!(!refused(&edit("u2"), 7..=7), "another branch");
        let label = What::Label { at: "u1".into(), label: "red".into() };
        assert!(!refused(&label, 2..=3), "a label is never in the way");
    }

    #[test]
    fn an_undo_that_would_hide_a_running_turn_elsewhere() {
        let story = "
            s1 append u1 one
            s2 append u2 two
            s3 send u3 three
            s4 fork u1
        ";
        assert!(!explained(story, What::Undo, Refusal::Running, 4..=4), "only the fork would be undone");
        let story = "
            s1 append u1 one
            s2 aside u2 two
            - reply a2 u2 fine
            - ended u2
        ";
        let undo = |states| explained(story, What::Undo, Refusal::Running, states);
        assert!(undo(2..=2) && undo(3..=3), "the head is elsewhere, and the message would be hidden");
        assert!(!undo(4..=4));
        let redo = |states| explained(story, What::Redo, Refusal::Running, states);
        assert!(!redo(2..=3));
    }

    #[test]
    fn the_same_text_or_name_and_a_point_that_is_undone() {
        let story = "
            s1 append u1 one
            s2 edit u1 u2 two
            s3 label u1 red
            s4 undo s3
            s5 undo s2
        ";
        let edit = |at: &str, text: &str| What::Edit { at: at.into(), text: text.into() };
        assert!(explained(story, edit("u1", "two"), Refusal::SameText, 2..=4));
        assert!(!explained(story, edit("u1", "two"), Refusal::SameText, 5..=5), "the version is undone");
        assert!(explained(story, edit("u2", "new"), Refusal::NoSuchPoint, 5..=5));
        assert!(!explained(story, edit("u2", "new"), Refusal::NoSuchPoint, 2..=4));
        let label = || What::Label { at: "u1".into(), label: "red".into() };
        assert!(explained(story, label(), Refusal::Unchanged, 3..=3));
        assert!(!explained(story, label(), Refusal::Unchanged, 4..=5));
    }

    #[test]
    fn a_child_that_has_gone_on() {
        let story = "
            s6 branch child
            s7 append u1 one
            s8 undo s7
        ";
        let undo = |states| explained(story, What::Undo, Refusal::HasGoneOn { child: "chi".into() }, states);
        assert!(undo(1..=2), "the child had a step at state 2");
        assert!(!undo(3..=3), "it was undone");
        assert!(!undo(2..=2), "the fork was not the last step");
    }

    #[test]
    fn a_session_that_is_taken_back() {
        let story = "
            s1 began
            s2 undo s1
            s3 redo s1
        ";
        let rename = || What::Rename { title: "New".into() };
        assert!(explained(story, rename(), Refusal::TakenBack, 2..=2));
        assert!(!explained(story, rename(), Refusal::TakenBack, 3..=3));
    }
}
