//! What is known of an answer when it is over: how long it took, what it cost, how full the window of the model is, and
//! what the agent still runs in the background.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use offshoot_api::Event;
use offshoot_api::views::{ContextView, SessionView, SpentView};

use super::session::Chat;
use crate::failure::Failure;
use crate::look::Ink;
use crate::numbers::{lasted, money, thousands};
use crate::talk::sign_in::SignInOutput;
use crate::words::chatting as words;

/// What the engine said last.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// When each turn that runs began.
    began: HashMap<String, Timestamp>,
    context: Option<ContextView>,
    /// Tasks of the agents.
    background: u32,
    sign_in: SignInOutput,
}

impl Measured {
    pub(super) fn begins(&mut self, turn: &str, at: Timestamp) {
        self.began.insert(turn.to_owned(), at);
        // It is measured again at the end, where the head is there then.
        self.context = None;
    }

    /// What is known from a view takes the place of what was heard.
    pub(super) fn see(&mut self, view: &SessionView) {
        self.began = view.turns.iter().map(|row| (row.turn.clone(), row.since)).collect();
        self.background = view.status.background;
    }

    pub(super) fn context_is(&mut self, context: ContextView) {
        self.context = Some(context);
    }
}

impl Chat<'_> {
    /// Numbers for a person; scripts find them elsewhere.
    pub(super) fn tell_measured(&mut self, event: &Event, cost: Option<&SpentView>) -> Result<(), Failure> {
        let began = event.turn.as_ref().and_then(|turn| self.measured.began.remove(turn));
        if !self.is_terminal || self.here.look.quiet {
            return Ok(());
        }
        let duration = began.map(|began| event.at.duration_since(began));
        let Some(told) = summary(duration, cost, self.measured.context, self.measured.background) else {
            return Ok(());
        };
        self.interrupt_invitation()?;
        self.tell(Ink::Faint, &told)
    }

    /// While an answer is written its end tells it.
    pub(super) fn background_is(&mut self, now: u32) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.measured.background, now);
        if before == now || self.turns.any_here() {
            return Ok(());
        }
        self.interrupt_invitation()?;
        let told = background_told(now).unwrap_or_else(|| words::NOTHING_IN_BACKGROUND.to_owned());
        self.tell(Ink::Faint, &told)
    }

    pub(super) fn tell_sign_in(&mut self, lines: &[String], is_done: bool) -> Result<(), Failure> {
        let new = self.measured.sign_in.new_lines(lines, is_done);
        self.interrupt_invitation()?;
        for line in new {
            self.tell(Ink::Plain, line)?;
        }
        if is_done { self.tell(Ink::Faint, words::SIGN_IN_DONE) } else { Ok(()) }
    }
}

/// How long it took is told beside what it took, not alone.
fn summary(
    duration: Option<SignedDuration>,
    cost: Option<&SpentView>,
    context: Option<ContextView>,
    background: u32,
) -> Option<String> {
    let cost = cost.and_then(|cost| money(cost.cost_micros?));
    let context = context.and_then(context_told);
    let duration = duration.and_then(lasted).filter(|_| cost.is_some() || context.is_some());
    let told: Vec<String> =
        [duration, cost, context, background_told(background)].into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join("  "))
}

/// `context 31k of 200k (15 %)`, from the first percent on; without its window where that is not known.
fn context_told(context: ContextView) -> Option<String> {
    let ContextView { tokens, window } = context;
    let used = thousands(tokens);
    match window.filter(|window| *window > 0) {
        Some(window) => {
            let percent = tokens.saturating_mul(100) / window;
            (percent > 0).then(|| words::context_used(&used, &thousands(window), percent))
        }
        None => (tokens > 0).then(|| words::context_of_unknown_window(&used)),
    }
}

fn background_told(tasks: u32) -> Option<String> {
    (tasks > 0).then(|| words::in_background(usize::try_from(tasks).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_summed_up_in_one_line() {
        let cost = SpentView { cost_micros: Some(380_000), ..SpentView::default() };
        let context = Some(ContextView { tokens: 31_000, window: Some(200_000) });
        let took = Some(SignedDuration::from_secs(38));
        assert_eq!(
            summary(took, Some(&cost), context, 1).as_deref(),
            Some("38s  $0.38  context 31k of 200k (15 %)  1 task in the background")
        );
        let unpriced = SpentView { cost_micros: None, ..cost };
        assert_eq!(summary(None, Some(&unpriced), context, 0).as_deref(), Some("context 31k of 200k (15 %)"));
        assert_eq!(summary(took, None, None, 2).as_deref(), Some("2 tasks in the background"));
        assert_eq!(summary(took, None, None, 0), None);
    }

    #[test]
    fn the_use_of_the_window_is_told_as_far_as_it_is_known() {
        let told = |tokens, window| context_told(ContextView { tokens, window }).unwrap_or_default();
        assert_eq!(told(31_200, Some(200_000)), "context 31k of 200k (15 %)");
        assert_eq!(told(120, Some(1_000_000)), "");
        assert_eq!(told(31_200, None), "context 31k tokens");
        assert_eq!(told(0, Some(200_000)), "");
    }

    #[test]
    fn tasks_in_the_background_are_counted() {
        assert_eq!(background_told(0), None);
        assert_eq!(background_told(1).as_deref(), Some("1 task in the background"));
        assert_eq!(background_told(2).as_deref(), Some("2 tasks in the background"));
    }
}
