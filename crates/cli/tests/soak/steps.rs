//! The rule of undo and redo, written down a second time.
//!
//! Undo takes back the last step that is not undone. Redo brings back the step that was undone last, unless another step was
//! taken since. A fork to a new session is one step of two sessions: undoing it in one of them undoes it in the other, and the
//! mark that this leaves in the other belongs to no request there.

use offshoot_session::{Change, Fact, OperationId, Record, SessionId};

#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    taken: Vec<Step>,
    /// Steps undone since the last one was taken, in that order.
    undone: Vec<OperationId>,
}

#[derive(Clone, Debug)]
struct Step {
    id: OperationId,
    is_undone: bool,
    shared: Option<Shared>,
}

/// A step that another session has too.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shared {
    /// This session began with it.
    Beginning,
    ForkedTo(SessionId),
}

impl Steps {
    pub(crate) fn next_undo(&self) -> Option<&OperationId> {
        self.taken.iter().rfind(|step| !step.is_undone).map(|step| &step.id)
    }

    pub(crate) fn next_redo(&self) -> Option<&OperationId> {
        self.undone.last()
    }

    /// Whether the session itself is undone.
    pub(crate) fn is_taken_back(&self) -> bool {
        self.taken.iter().any(|step| step.shared == Some(Shared::Beginning) && step.is_undone)
    }

    /// Whether something stands besides the beginning.
    pub(crate) fn has_gone_on(&self) -> bool {
        self.taken.iter().any(|step| step.shared != Some(Shared::Beginning) && !step.is_undone)
    }

    /// The session that this step began, where it is a fork.
    pub(crate) fn forked_to(&self, id: &OperationId) -> Option<&SessionId> {
        match &self.step(id)?.shared {
            Some(Shared::ForkedTo(session)) => Some(session),
            Some(Shared::Beginning) | None => None,
        }
    }

    pub(crate) fn forks(&self) -> impl Iterator<Item = (&OperationId, &SessionId)> {
        self.taken.iter().filter_map(|step| match &step.shared {
            Some(Shared::ForkedTo(session)) => Some((&step.id, session)),
            Some(Shared::Beginning) | None => None,
        })
    }

    /// `None`: there is no such step.
    pub(crate) fn is_undone(&self, id: &OperationId) -> Option<bool> {
        self.step(id).map(|step| step.is_undone)
    }

    /// Takes the next record, or says which rule it breaks.
    pub(crate) fn take(&mut self, record: &Record) -> Result<(), String> {
        let Change::Marked(mark) = &record.change else { return Ok(()) };
        match &mark.fact {
            Fact::Operation { .. } => self.begin(record, None),
            Fact::Began { .. } => self.begin(record, Some(Shared::Beginning)),
            Fact::Forked { session } => {
                let step = self.taken.last_mut().filter(|step| Some(&step.id) == record.operation.as_ref());
                let step = step.ok_or_else(|| format!("the fork to `{session}` is no step"))?;
                step.shared = Some(Shared::ForkedTo(session.clone()));
                Ok(())
            }
            Fact::Undone { operation } => self.undo(operation, By::of(record)),
            Fact::Redone { operation } => self.redo(operation, By::of(record)),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, record: &Record, shared: Option<Shared>) -> Result<(), String> {
        let id = record.operation.clone().ok_or("a step has no id")?;
        if self.step(&id).is_some() {
            return Err(format!("step `{id}` is there twice"));
        }
        self.taken.push(Step { id, is_undone: false, shared });
        self.undone.clear();
        Ok(())
    }

    fn undo(&mut self, id: &OperationId, by: By) -> Result<(), String> {
        let next = self.next_undo().cloned();
        let step = self.taken.iter_mut().find(|step| step.id == *id);
        let step = step.ok_or_else(|| format!("`{id}` was undone and is no step"))?;
        let is_next = next.as_ref() == Some(id);
        match (by, &step.shared) {
            _ if step.is_undone => return Err(format!("`{id}` was undone twice")),
            (By::Request, _) | (By::OtherSession, Some(Shared::Beginning)) if !is_next => {
                return Err(format!("`{id}` was undone, and the last step was {next:?}"));
            }
            (By::OtherSession, None) => return Err(format!("no request has undone `{id}`")),
            (By::Request | By::OtherSession, _) => {}
        }
        step.is_undone = true;
        self.undone.push(id.clone());
        Ok(())
    }

    fn redo(&mut self, id: &OperationId, by: By) -> Result<(), String> {
        let next = self.next_redo().cloned();
        let step = self.taken.iter_mut().find(|step| step.id == *id);
        let step = step.ok_or_else(|| format!("`{id}` was redone and is no step"))?;
        match (by, &step.shared) {
            _ if !step.is_undone => return Err(format!("`{id}` was redone and was not undone")),
            (By::Request, _) if next.as_ref() != Some(id) => {
                return Err(format!("`{id}` was redone, and the step undone last was {next:?}"));
            }
            (By::OtherSession, None) => return Err(format!("no request has redone `{id}`")),
            (By::Request | By::OtherSession, _) => {}
        }
        step.is_undone = false;
        self.undone.retain(|undone| undone != id);
        Ok(())
    }

    fn step(&self, id: &OperationId) -> Option<&Step> {
        self.taken.iter().find(|step| step.id == *id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Request,
    OtherSession,
}

impl By {
    /// The mark of a request carries its id.
    fn of(record: &Record) -> Self {
        if record.operation.is_some() { Self::Request } else { Self::OtherSession }
    }
}

#[cfg(test)]
mod tests {
    use crate::drawing::journal_of;
    use crate::state::Walked;

    fn broken(drawing: &str) -> String {
        Walked::through(&journal_of("main", drawing)).0.join("; ")
    }

    #[test]
    fn undo_takes_the_last_step_and_redo_the_one_undone_last() {
        let story = "
            s1 append u1 one
            s2 append u2 two
            s3 undo s2
            s4 undo s1
            s5 redo s1
            s6 redo s2
        ";
        assert_eq!(broken(story), "");
    }

    #[test]
    fn an_undo_of_another_step_is_found() {
        let story = "
            s1 append u1 one
            s2 append u2 two
            s3 undo s1
        ";
        assert!(broken(story).contains("`s1` was undone, and the last step was"), "{}", broken(story));
    }

    #[test]
    fn a_redo_of_another_step_is_found() {
        let story = "
            s1 append u1 one
            s2 append u2 two
            s3 undo s2
            s4 undo s1
            s5 redo s2
        ";
        assert!(broken(story).contains("the step undone last was Some"), "{}", broken(story));
    }

    #[test]
    fn a_redo_behind_a_new_step_is_found() {
        let story = "
            s1 append u1 one
            s2 undo s1
            s3 append u2 two
            s4 redo s1
        ";
        assert!(broken(story).contains("the step undone last was None"), "{}", broken(story));
    }

    #[test]
    fn only_forks_are_undone_by_another_session() {
        let fork = "
            s1 branch child
            s2 append u1 one
            - undo s1
            - redo s1
        ";
        assert_eq!(broken(fork), "");
        let append = "
            s1 append u1 one
            - undo s1
        ";
        assert_eq!(broken(append), "main: batch 1: no request has undone `s1`");
    }
}
