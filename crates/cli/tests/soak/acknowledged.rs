//! Every acknowledged step is in the journal exactly once, inside the window of its command; and no step is there that no
//! command was told of.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_session::{Change, EntryId, Fact, OperationId, Record, SessionId};

use crate::FIRST_MESSAGE;
use crate::history::{Acknowledged, Ran, StepKey};
use crate::journal::{Journal, Window};
use crate::state::Walked;

/// A step of a journal.
struct Written {
    batch: usize,
    /// Whether a request of this session wrote it, or one of the session that has the same step.
    by: By,
    is_claimed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Request,
    OtherSession,
}

/// A command that was told of a step.
struct Claim<'h> {
    window: Window,
    acknowledged: &'h Acknowledged,
    ran: &'h Ran,
}

pub(crate) fn problems(journals: &BTreeMap<SessionId, Journal>, history: &[Ran]) -> Vec<String> {
    let mut problems = Vec::new();
    let is_known = |ran: &&Ran| !journals.contains_key(&ran.session);
    problems.extend(history.iter().filter(is_known).map(|ran| format!("no journal: {}", ran.described())));
    for journal in journals.values() {
        let mut heads = Vec::new();
        Walked::each(journal, |_, state| heads.push(state.tree.main_head().cloned()));
        let mut written = written(journal);
        for (step, claims) in claims(journal, history) {
            let steps = written.get_mut(&step).map(Vec::as_mut_slice).unwrap_or_default();
            problems.extend(matched(steps, &claims, &heads));
        }
        problems.extend(unclaimed(journal, &written));
    }
    problems
}

fn claims<'h>(journal: &Journal, history: &'h [Ran]) -> BTreeMap<StepKey, Vec<Claim<'h>>> {
    let mut claims: BTreeMap<StepKey, Vec<Claim<'h>>> = BTreeMap::new();
    for ran in history.iter().filter(|ran| ran.session == journal.session) {
        let window = ran.window(journal);
        for acknowledged in &ran.answer.steps {
            let claim = Claim { window, acknowledged, ran };
            claims.entry(acknowledged.step.clone()).or_default().push(claim);
        }
    }
    claims
}

/// Gives each command a step that was written in its window, and each step to one command. Steps that a request has written
/// come first: an undo that the other session was quicker with leaves no mark of its own.
fn matched(steps: &mut [Written], claims: &[Claim<'_>], heads: &[Option<EntryId>]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut given = Matching::new(steps.len(), claims.len());
    let fits = |step: usize, claim: usize| claims[claim].window.has_batch(steps[step].batch);
    for step in (0..steps.len()).filter(|step| steps[*step].by == By::Request) {
        given.find_claim(step, &fits);
    }
    for claim in 0..claims.len() {
        given.find_step(claim, &fits);
    }
    for (step, claim) in steps.iter_mut().zip(&given.claim_of) {
        let Some(claim) = claim.map(|claim| &claims[claim]) else { continue };
        step.is_claimed = true;
        let found = [heads.get(step.batch), heads.get(step.batch + 1)].map(|head| head.cloned().flatten());
        let told = claim.acknowledged.heads.as_ref().filter(|_| step.by == By::Request);
        if told.is_some_and(|told| *told != found) {
            let batch = step.batch;
            problems.push(format!(
                "told of the heads {told:?}, at batch {batch} they are {found:?}: {}",
                claim.ran.described()
            ));
        }
    }
    let without = claims.iter().zip(&given.step_of).filter(|(_, step)| step.is_none());
    problems.extend(without.map(|(claim, _)| {
        let Claim { window: Window { first, last }, acknowledged, ran } = claim;
        let step = &acknowledged.step;
        format!("acknowledged and not written between {first} and {last}: {step:?}: {}", ran.described())
    }));
    problems
}

/// Pairs of steps and commands. Who has a partner keeps one, though it may become another.
struct Matching {
    claim_of: Vec<Option<usize>>,
    step_of: Vec<Option<usize>>,
}

impl Matching {
    fn new(steps: usize, claims: usize) -> Self {
        Self { claim_of: vec![None; steps], step_of: vec![None; claims] }
    }

    fn find_claim(&mut self, step: usize, fits: &impl Fn(usize, usize) -> bool) {
        pair(step, &mut self.claim_of, &mut self.step_of, fits);
    }

    fn find_step(&mut self, claim: usize, fits: &impl Fn(usize, usize) -> bool) {
        if self.step_of[claim].is_none() {
            pair(claim, &mut self.step_of, &mut self.claim_of, &|claim, step| fits(step, claim));
        }
    }
}

/// Finds a partner for `one`, if others have to take another one for that (an augmenting path).
fn pair(
    one: usize,
    partners: &mut [Option<usize>],
    others: &mut [Option<usize>],
    fits: &dyn Fn(usize, usize) -> bool,
) {
    // By which of ours each of the others was reached.
    let mut reached_by: Vec<Option<usize>> = vec![None; others.len()];
    let mut open = vec![one];
    while let Some(from) = open.pop() {
        for other in 0..others.len() {
            if reached_by[other].is_some() || !fits(from, other) {
                continue;
            }
            reached_by[other] = Some(from);
            match others[other] {
                Some(taken) => open.push(taken),
                None => return change_along(other, &reached_by, partners, others),
            }
        }
    }
}

fn change_along(
    free: usize,
    reached_by: &[Option<usize>],
    partners: &mut [Option<usize>],
    others: &mut [Option<usize>],
) {
    let mut next = Some(free);
    while let Some(other) = next {
        let Some(from) = reached_by[other] else { return };
        next = partners[from].replace(other);
        others[other] = Some(from);
    }
}

/// Steps that no command was told of. What a session begins with was there before the commands.
fn unclaimed(journal: &Journal, written: &BTreeMap<StepKey, Vec<Written>>) -> Vec<String> {
    let mut problems = Vec::new();
    for (step, written) in written {
        let unclaimed = written.iter().filter(|written| !written.is_claimed && written.by == By::Request);
        problems.extend(unclaimed.map(|written| {
            format!("{}: batch {}: no command was told of {step:?}", journal.session, written.batch)
        }));
    }
    problems
}

/// The steps of a journal by what they did. No worker sent the first message, which starts the engine, and compaction is a
/// step of the engine itself.
fn written(journal: &Journal) -> BTreeMap<StepKey, Vec<Written>> {
    let mut written: BTreeMap<StepKey, Vec<Written>> = BTreeMap::new();
    let restored = restored(journal);
    for (number, batch) in journal.batches.iter().enumerate() {
        for (key, by) in steps_of(&batch.records, &restored) {
            let is_claimed = match &key {
                StepKey::Send(_, text) => text == FIRST_MESSAGE,
                key => *key == StepKey::Compact,
            };
            let step = Written { batch: number, by, is_claimed };
            written.entry(key).or_default().push(step);
        }
    }
    written
}

/// The requests for which another session has undone or redone a step here and restored it again: several marks have their id.
fn restored(journal: &Journal) -> BTreeSet<OperationId> {
    let (mut marked, mut restored) = (BTreeSet::new(), BTreeSet::new());
    for record in journal.batches.iter().flat_map(|batch| &batch.records) {
        if let (Change::Marked(mark), Some(id)) = (&record.change, &record.operation)
            && matches!(mark.fact, Fact::Undone { .. } | Fact::Redone { .. })
            && !marked.insert(id.clone())
        {
            restored.insert(id.clone());
        }
    }
    restored
}

fn steps_of(records: &[Record], restored: &BTreeSet<OperationId>) -> Vec<(StepKey, By)> {
    let mut steps = Vec::new();
    for (at, record) in records.iter().enumerate() {
        let Change::Marked(mark) = &record.change else { continue };
        let is_request = record.operation.as_ref().is_some_and(|id| !restored.contains(id));
        let by = if is_request { By::Request } else { By::OtherSession };
        match (&mark.fact, &record.operation) {
            (Fact::Operation { name }, Some(operation)) => {
                let rest = records.get(at + 1..).unwrap_or_default();
                steps.push((step_named(name, operation, rest), by));
            }
            (Fact::Undone { operation }, _) => steps.push((StepKey::Undo(operation.clone()), by)),
            (Fact::Redone { operation }, _) => steps.push((StepKey::Redo(operation.clone()), by)),
            _ => {}
        }
    }
    steps
}

fn step_named(name: &str, operation: &OperationId, records: &[Record]) -> StepKey {
    let own = || records.iter().filter(|record| record.operation.as_ref() == Some(operation));
    let entries: Vec<(EntryId, String)> =
        own().filter_map(Record::as_entry).map(|entry| (entry.id.clone(), entry.body.text())).collect();
    let fact = own().find_map(|record| match &record.change {
        Change::Marked(mark) => Some(&mark.fact),
        _ => None,
    });
    let moved = own().find_map(|record| match &record.change {
        Change::HeadMoved(head) => Some(head),
        _ => None,
    });
    let last_entry = || entries.last().cloned().unwrap_or_else(|| ("".into(), String::new()));
    match (name, fact, moved) {
        ("append", _, _) => StepKey::Append(entries),
        ("edit", _, _) => {
            let (id, text) = last_entry();
            StepKey::Edit(id, text)
        }
        ("send", _, _) => {
            let (id, text) = last_entry();
            StepKey::Send(id, text)
        }
        (_, Some(Fact::Label { target, label }), _) => {
            StepKey::Label(target.clone(), label.clone().unwrap_or_default())
        }
        (_, Some(Fact::Title { title, .. }), _) => StepKey::Rename(title.clone().unwrap_or_default()),
        (_, Some(Fact::Forked { session }), _) => StepKey::ForkToNewSession(session.clone()),
        ("fork", _, Some(moved)) => StepKey::Fork { from: moved.from.clone(), to: moved.to.clone() },
        ("compact", _, _) => StepKey::Compact,
        (name, _, _) => StepKey::Other(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{acknowledged, journal_of, journals, ran};
    use crate::history::{AppendSteps, What};

    const STORY: &str = "
        s1 append u1 one
        s2 append u2 two
        s3 undo s2
        s4 redo s2
        s5 undo s2
    ";

    fn append(id: &str, text: &str, states: std::ops::RangeInclusive<u64>) -> Ran {
        let what = What::Append { texts: vec![text.to_owned()], steps: AppendSteps::Each };
        let step = StepKey::Append(vec![(id.into(), text.to_owned())]);
        ran(what, acknowledged(step), states)
    }

    fn undo(step: &str, states: std::ops::RangeInclusive<u64>) -> Ran {
        ran(What::Undo, acknowledged(StepKey::Undo(step.into())), states)
    }

    fn redo(step: &str, states: std::ops::RangeInclusive<u64>) -> Ran {
        ran(What::Redo, acknowledged(StepKey::Redo(step.into())), states)
    }

    fn checked(history: &[Ran]) -> String {
        problems(&journals([journal_of("main", STORY)]), history).join("; ")
    }

    #[test]
    fn each_command_finds_its_step() {
        let both = [append("u1", "one", 0..=2), append("u2", "two", 0..=2)];
        // The window of the first undo ends last, and still each has one.
        let turned = [undo("s2", 2..=5), undo("s2", 0..=3), redo("s2", 3..=4)];
        assert_eq!(checked(&[both.to_vec(), turned.to_vec()].concat()), "");
    }

    #[test]
    fn a_mark_of_the_other_session_answers_one_command() {
        let story = "
            s6 branch child
            - undo s6
            - redo s6
            s7 undo s6
        ";
        let branch = ran(
            What::ForkToNewSession { at: None },
            acknowledged(StepKey::ForkToNewSession("child".into())),
            0..=1,
        );
        let checked = |undos: &[Ran]| {
            let history = [std::slice::from_ref(&branch), undos].concat();
            problems(&journals([journal_of("main", story)]), &history).join("; ")
        };
        assert_eq!(checked(&[undo("s6", 1..=4)]), "", "the own mark comes first");
        assert_eq!(checked(&[undo("s6", 1..=4), undo("s6", 1..=2)]), "");
        assert_eq!(checked(&[undo("s6", 3..=4), undo("s6", 1..=4)]), "");
        let found = checked(&[undo("s6", 1..=2), undo("s6", 1..=2), undo("s6", 3..=4)]);
        assert!(found.starts_with("acknowledged and not written between 1 and 2"), "{found}");
        let found = checked(&[undo("s6", 1..=2)]);
        assert!(found.contains("batch 3: no command was told of Undo"), "{found}");
    }

    #[test]
    fn a_step_outside_of_its_window_is_found() {
        let history = [
            append("u1", "one", 0..=1),
            append("u2", "two", 2..=5),
            undo("s2", 2..=3),
            redo("s2", 3..=4),
            undo("s2", 4..=5),
        ];
        let found = checked(&history);
        assert!(found.contains("acknowledged and not written between 2 and 5"), "{found}");
    }

    #[test]
    fn a_step_that_is_acknowledged_twice_and_written_once_is_found() {
        let history = [
            append("u1", "one", 0..=1),
            append("u1", "one", 0..=1),
            append("u2", "two", 1..=2),
            undo("s2", 2..=3),
            redo("s2", 3..=4),
            undo("s2", 4..=5),
        ];
        let found = checked(&history);
        assert!(found.starts_with("acknowledged and not written between 0 and 1"), "{found}");
    }

    #[test]
    fn a_step_that_no_command_was_told_of_is_found() {
        let history = [append("u1", "one", 0..=1), append("u2", "two", 1..=2), undo("s2", 2..=3)];
        let found = checked(&history);
        assert!(found.contains("batch 3: no command was told of Redo"), "{found}");
        assert!(found.contains("batch 4: no command was told of Undo"), "{found}");
    }

    #[test]
    fn another_text_and_another_head_are_found() {
        let mut history = vec![append("u1", "one", 0..=1), append("u2", "other", 1..=2)];
        assert!(checked(&history).contains("not written between 1 and 2: Append"));
        let mut told = undo("s2", 2..=3);
        told.answer.steps[0].heads = Some([Some("u2".into()), Some("u2".into())]);
        history.push(told);
        let found = checked(&history);
        assert!(found.contains("told of the heads"), "{found}");
    }
}
