//! Words that were shown and are not safe yet: kept beside the journal, a few at a time.

use std::time::Duration;

use offshoot_api::event::EventKind;
use tokio::time::Instant;

use super::SessionActor;
use crate::failure::not_drafted;
use crate::shelf::Drafted;

#[derive(Debug, Default)]
pub(super) struct Drafting {
    steps: Vec<Drafted>,
    pieces: usize,
    due: Option<Instant>,
    /// The disk has refused, and what is kept may end in the middle. That is complained of once a turn, not with every word.
    has_failed: bool,
}

impl Drafting {
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn add(&mut self, step: Drafted, every: Duration) {
        self.pieces += 1;
        self.due.get_or_insert_with(|| Instant::now() + every);
        match (self.steps.last_mut(), step) {
            (Some(Drafted::Words { entry, text }), Drafted::Words { entry: more_of, text: more })
            | (Some(Drafted::Thinking { entry, text }), Drafted::Thinking { entry: more_of, text: more })
                if *entry == more_of =>
            {
                text.push_str(&more);
            }
            (_, step) => self.steps.push(step),
        }
    }

    /// Nothing is being said any more.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn take(&mut self) -> Vec<Drafted> {
        (self.pieces, self.due) = (0, None);
        std::mem::take(&mut self.steps)
    }
}

impl SessionActor {
    pub(super) async fn flush_full_drafts(&mut self) {
        if self.drafting.pieces >= self.settings.draft_pieces {
            self.flush_drafts().await;
        }
    }

    pub(super) async fn flush_drafts(&mut self) {
        let mut steps = self.drafting.take();
        if steps.is_empty() {
            return;
        }
        let begins_anew = self.drafting.has_failed;
        if begins_anew {
            // More words behind a gap would read as if nothing were missing, so all that is being said is kept again.
            let live = self.turns.values().flat_map(|running| running.turn.being_said());
            steps = live.map(|entry| Drafted::Entry(Box::new(entry))).collect();
        }
        let kept = self.with_book(move |book| {
            if begins_anew {
                book.clear_drafts()?;
            }
            book.draft(&steps)
        });
        let error = match kept.await {
            Ok(Ok(())) => return self.drafting.has_failed = false,
            Ok(Err(error)) => not_drafted(&error),
            Err(error) => error,
        };
        // The words are still shown, and will be written when they are final.
        if !std::mem::replace(&mut self.drafting.has_failed, true) {
            let text = format!("what is being said would not survive a crash: {error}");
            self.publish(None, EventKind::Notice { text });
        }
    }
}
