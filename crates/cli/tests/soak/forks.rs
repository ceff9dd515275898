//! A session forked from another one is a copy of a branch as it was at that step, and both have the step or neither has.

use std::collections::BTreeMap;

use jiff::Timestamp;
use offshoot_session::{Change, EntryId, Fact, Lineage, OperationId, SessionId, SessionTree};

use crate::history::Ran;
use crate::journal::Journal;
use crate::state::Walked;

pub(crate) fn problems(journals: &BTreeMap<SessionId, Journal>, history: &[Ran]) -> Vec<String> {
    let mut problems = Vec::new();
    for origin in journals.values().filter(|journal| !forks_of(journal).is_empty()) {
        let forks = forks_of(origin);
        Walked::each(origin, |number, state| {
            let taken_next = forks.iter().filter(|fork| fork.batch == number);
            problems.extend(
                taken_next.filter_map(|fork| wrong_copy(origin, state, fork, journals.get(&fork.child))),
            );
        });
        let (_, last) = Walked::through(origin);
        problems.extend(last.steps.forks().filter_map(|(step, child)| {
            let child = journals.get(child)?;
            let (here, there) = (last.steps.is_undone(step), Walked::through(child).1.steps.is_undone(step));
            (here != there).then(|| disagreement(step, origin, child))
        }));
    }
    problems.extend(history.iter().filter_map(|ran| {
        let new = ran.answer.new_session.as_ref()?;
        let head = journals.get(&new.id).and_then(first_head);
        (head != new.head).then(|| format!("the new session begins at {head:?}: {}", ran.described()))
    }));
    problems
}

/// What each side did with the step, and the other steps of the fork, in the order of the clock.
fn disagreement(step: &OperationId, origin: &Journal, child: &Journal) -> String {
    let mut marks: Vec<(Timestamp, String)> = Vec::new();
    for (side, journal) in [("origin", origin), ("fork", child)] {
        for record in journal.batches.iter().flat_map(|batch| &batch.records) {
            let Change::Marked(mark) = &record.change else { continue };
            let by = record.operation.as_ref().map_or("the other session", |_| "a request");
            let did = match &mark.fact {
                Fact::Undone { operation } if operation == step => "undone",
                Fact::Redone { operation } if operation == step => "redone",
                Fact::Operation { name } if side == "fork" => name,
                _ => continue,
            };
            marks.push((mark.marked_at, format!("  {} {side}: {did} by {by}", mark.marked_at)));
        }
    }
    marks.sort();
    let marks: Vec<String> = marks.into_iter().map(|(_, mark)| mark).collect();
    let (origin, child) = (&origin.session, &child.session);
    format!("`{step}` is undone in one of `{origin}` and its fork `{child}`:\n{}", marks.join("\n"))
}

/// A step that began another session.
struct Fork {
    batch: usize,
    step: Option<OperationId>,
    child: SessionId,
}

fn forks_of(journal: &Journal) -> Vec<Fork> {
    let mut forks = Vec::new();
    for (number, batch) in journal.batches.iter().enumerate() {
        for record in &batch.records {
            if let Change::Marked(mark) = &record.change
                && let Fact::Forked { session } = &mark.fact
            {
                let (step, child) = (record.operation.clone(), session.clone());
                forks.push(Fork { batch: number, step, child });
            }
        }
    }
    forks
}

/// What is wrong with the copy of a branch of this state.
fn wrong_copy(origin: &Journal, state: &Walked, fork: &Fork, child: Option<&Journal>) -> Option<String> {
    let name = &fork.child;
    let Some(child) = child else { return Some(format!("`{name}` was forked and is not there")) };
    let copy = first_state(child);
    let lineage = copy.header().and_then(|header| header.lineage.clone());
    let Some(Lineage { parent, at, .. }) = lineage else { return Some(format!("`{name}` has no origin")) };
    if parent != origin.session.as_str() || copy.began() != fork.step.as_ref() {
        return Some(format!("`{name}` does not name the step of `{}` that began it", origin.session));
    }
    let ids = |tree: &SessionTree, at: Option<&EntryId>| -> Vec<EntryId> {
        tree.path_to(at).iter().map(|entry| entry.id.clone()).collect()
    };
    let (branch, copied) = (ids(&state.tree, at.as_ref()), ids(&copy, copy.main_head()));
    (branch != copied || copied.len() != copy.len())
        .then(|| format!("`{name}` is not the branch of `{}` before batch {}", origin.session, fork.batch))
}

fn first_state(journal: &Journal) -> SessionTree {
    let records = journal.batches.first().map(|batch| batch.records.as_slice()).unwrap_or_default();
    SessionTree::replay_to_look(records).0
}

fn first_head(journal: &Journal) -> Option<EntryId> {
    first_state(journal).main_head().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{journal_of, journals};

    const ORIGIN: &str = "
        s1 append u1 one
        s2 branch child
        s3 append u2 two
    ";

    /// The child with this lineage, beginning with one entry.
    fn child(entry: &str, more: &str) -> Journal {
        let mut child = journal_of("child", &format!("s2 began\n{more}"));
        let copied = journal_of("copied", &format!("s9 append {entry} one"));
        let first = child.batches.first_mut().expect("a batch");
        if let Some(Change::Opened(header)) = first.records.first_mut().map(|record| &mut record.change) {
            let (parent, at) = ("main".to_owned(), Some("u1".into()));
            header.lineage = Some(Lineage { parent, at, message_index: None, reason: None, metadata: None });
        }
        let entries = copied.batches.into_iter().flat_map(|batch| batch.records);
        let is_copied = |change: &Change| matches!(change, Change::Entry(_) | Change::HeadMoved(_));
        first.records.extend(
            entries
                .filter(|record| is_copied(&record.change))
                .map(|record| offshoot_session::Record { operation: None, ..record }),
        );
        child
    }

    fn checked(origin: &str, child: Journal) -> String {
        problems(&journals([journal_of("main", origin), child]), &[]).join("; ")
    }

    #[test]
    fn a_fork_is_a_copy_of_its_branch() {
        assert_eq!(checked(ORIGIN, child("u1", "")), "");
        assert_eq!(checked(ORIGIN, child("u7", "")), "`child` is not the branch of `main` before batch 1");
        let missing = problems(&journals([journal_of("main", ORIGIN)]), &[]).join("; ");
        assert_eq!(missing, "`child` was forked and is not there");
    }

    #[test]
    fn a_fork_that_is_undone_on_one_side_only_is_found() {
        let undone = format!("{ORIGIN}\n - undo s2");
        let found = checked(&undone, child("u1", ""));
        assert!(found.starts_with("`s2` is undone in one of `main` and its fork `child`"), "{found}");
        assert!(found.ends_with("origin: undone by the other session"), "{found}");
        assert_eq!(checked(&undone, child("u1", "\n s8 undo s2")), "");
    }
}
