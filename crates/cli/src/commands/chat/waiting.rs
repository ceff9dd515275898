//! What waits to be said: listed, changed, taken out, let go.

use offshoot_api::request::{CancelQueued, ChangeQueued, SayQueued, Session};
use offshoot_api::views::{PromptView, QueuedView};
use offshoot_api::{Request, Response};

use super::session::Chat;
use super::typed::Queue;
use crate::failure::Failure;
use crate::look::Ink;
use crate::words::chatting as words;

/// One thing that has happened to what waits.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change<'q> {
    Added(&'q str),
    Changed(&'q str),
    /// Without having been said.
    Gone(&'q str),
    Held,
}

impl Chat<'_> {
    pub(super) async fn about_queue(&mut self, queue: Queue) -> Result<(), Failure> {
        let session = self.session.clone().unwrap_or_default();
        let waiting = match self.call(Request::Queue(Session { session: session.clone() })).await {
            Ok(Response::Queue { queue }) => queue,
            Ok(_) => return Ok(()),
            Err(error) => {
                self.is_refused(&error);
                return Ok(());
            }
        };
        let of = |number: usize| waiting.get(number.wrapping_sub(1)).cloned();
        match queue {
            Queue::List => self.list(&waiting),
            Queue::Send => self.let_go(session, &waiting).await,
            Queue::Change { number, text } => match of(number) {
                Some(QueuedView { id: queued, prompt, .. }) => {
                    // What went with it still does.
                    let prompt = PromptView { text, ..prompt };
                    self.do_this(Request::ChangeQueued(ChangeQueued { session, queued, prompt })).await
                }
                None => self.does_not_wait(number),
            },
            Queue::Cancel { number } => match of(number) {
                Some(QueuedView { id: queued, .. }) => {
                    self.do_this(Request::CancelQueued(CancelQueued { session, queued })).await
                }
                None => self.does_not_wait(number),
            },
        }
    }

    fn list(&mut self, waiting: &[QueuedView]) -> Result<(), Failure> {
        if waiting.is_empty() {
            return self.tell(Ink::Faint, words::NOTHING_WAITS);
        }
        for (at, queued) in waiting.iter().enumerate() {
            let text = self.mentioned(&queued.prompt.text);
            self.tell(Ink::Plain, &words::waiting_line(at + 1, &text, queued.held))?;
        }
        Ok(())
    }

    async fn let_go(&mut self, session: String, waiting: &[QueuedView]) -> Result<(), Failure> {
        let Some(held) = waiting.iter().find(|queued| queued.held) else {
            let text = if waiting.is_empty() { words::NOTHING_WAITS } else { words::NOTHING_HELD };
            return self.tell(Ink::Faint, text);
        };
        let queued = Some(held.id.clone());
        self.do_this(Request::SayQueued(SayQueued { session, queued })).await
    }

    fn does_not_wait(&mut self, number: usize) -> Result<(), Failure> {
        self.complain(&Failure::not_found(words::not_waiting(number)));
        Ok(())
    }

    /// What was said is told as a prompt; of the rest one line.
    pub(super) fn queue_changed(&mut self, now: &[QueuedView]) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.queue, now.to_vec());
        for change in changes(&before, now) {
            let line = match change {
                // Whoever sent it was told so.
                Change::Added(id) if self.turns.is_known_as_own(id) => continue,
                // Its prompt is told.
                Change::Gone(id) if self.turns.knows(id) => continue,
                Change::Added(id) => words::waits(&self.waiting_words(now, id)),
                Change::Changed(id) => words::waits_changed(&self.waiting_words(now, id)),
                Change::Gone(id) => words::waits_no_more(&self.waiting_words(&before, id)),
                Change::Held => words::HELD.to_owned(),
            };
            self.interrupt_invitation()?;
            self.tell(Ink::Faint, &line)?;
        }
        Ok(())
    }

    fn waiting_words(&self, queue: &[QueuedView], id: &str) -> String {
        let found = queue.iter().find(|queued| queued.id == id);
        self.mentioned(found.map(|queued| queued.prompt.text.as_str()).unwrap_or_default())
    }
}

fn changes<'q>(before: &'q [QueuedView], now: &'q [QueuedView]) -> Vec<Change<'q>> {
    let find = |queue: &'q [QueuedView], id: &str| queue.iter().find(|queued| queued.id == id);
    let mut changes = Vec::new();
    for queued in now {
        match find(before, &queued.id) {
            None => changes.push(Change::Added(&queued.id)),
            Some(old) if old.prompt != queued.prompt => changes.push(Change::Changed(&queued.id)),
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|queued| find(now, &queued.id).is_none());
    changes.extend(gone.map(|queued| Change::Gone(&queued.id)));
    let is_held = |queue: &[QueuedView]| queue.iter().any(|queued| queued.held);
    if is_held(now) && !is_held(before) {
        changes.push(Change::Held);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(id: &str, text: &str, held: bool) -> QueuedView {
        let at = jiff::Timestamp::UNIX_EPOCH;
        QueuedView { id: id.into(), behind: "t".into(), held, prompt: PromptView::text(text), at }
    }

    #[test]
    fn what_has_happened_to_the_queue_is_told_once() {
        let none: [QueuedView; 0] = [];
        let one = [waits("1", "one", false)];
        let both = [waits("1", "one", false), waits("2", "two", false)];
        let two = [waits("2", "two", false)];
        let held = [waits("1", "one", true)];
        assert_eq!(changes(&none, &one), [Change::Added("1")]);
        assert_eq!(changes(&one, &both), [Change::Added("2")]);
        assert_eq!(changes(&one, &[waits("1", "other", false)]), [Change::Changed("1")]);
        assert_eq!(changes(&both, &two), [Change::Gone("1")]);
        assert_eq!(changes(&one, &held), [Change::Held]);
        assert_eq!(changes(&held, &held), []);
    }
}
