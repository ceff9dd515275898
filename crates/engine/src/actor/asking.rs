//! What agents ask, and what they are answered.

use jiff::Timestamp;
use offshoot_api::event::EventKind;
use offshoot_api::views::AskView;
use offshoot_api::{Response, request};
use offshoot_session::agent::Speaker;
use offshoot_session::asks::{
    Answer, AnswerRefused, Answered, Ask, AskId, Asking, Offer, Reach, Rule, RuleId, Scope, Taken,
};
use offshoot_session::{ToolCallId, TurnId};
use serde_json::{Value, json};

use super::SessionActor;
use super::halt::{Halt, refused};
use crate::feed::About;
use crate::hooks::HookEvent;

impl SessionActor {
    pub(super) fn take_ask(&mut self, ask: Ask) {
        let rules = self.shared.rules.reaching(&self.id, self.project());
        let (id, turn) = (ask.id.clone(), ask.turn.clone());
        let view = AskView::of(&ask, &self.id, &self.tree);
        let sub_agent = match &ask.speaker {
            Speaker::Agent => None,
            Speaker::SubAgent(call) => Some(call.clone()),
        };
        // Whoever follows shall know why it was not asked; said again to an agent that came back it is no news.
        let rule = match &ask.asking {
            Asking::Permission(permission) if self.asks.ask(&id).is_none() => rules.allow(permission),
            Asking::Permission(_) | Asking::Questions(_) => None,
        };
        let allowed = rule.map(|rule| format!("{} is allowed by the rule `{}`", rule.tool, rule.pattern));
        match self.asks.take(ask, &rules) {
            Taken::Waits => {
                if let Some(problem) = self.shared.rules.problem_to_report() {
                    let text = format!("every use of a tool is asked for: {problem}");
                    self.publish(Some(&turn), EventKind::Notice { text });
                }
                self.tell_hooks(HookEvent::PromptWaiting, || json!({ "ask": view.clone() }));
                self.publish_about(About { turn: Some(turn), sub_agent }, EventKind::Asked { ask: view });
            }
            Taken::WaitsAlready => {}
            Taken::Answered(input) => {
                if let Some(running) = self.turns.get_mut(&turn) {
                    running.turn.answered(&id);
                }
                if let Some(text) = allowed {
                    let about = About { turn: Some(turn.clone()), sub_agent };
                    self.publish_about(about, EventKind::Notice { text });
                }
                self.tell_agent(&turn, input);
            }
        }
    }

    /// The answer is said to the agent until it confirms; the same answer again is harmless.
    pub(super) async fn answer(&mut self, request: request::Answer) -> Result<Response, Halt> {
        let id = AskId::named(request.ask);
        let said = request.answer.clone();
        let answer = Answer::from(request.answer);
        let is_first = self.asks.answer_to(&id).is_none();
        let answered = self.asks.answer(&id, answer.clone()).map_err(|why| self.answer_refused(why))?;
        let Answered::Tell(input) = answered else { return Ok(Response::Done { changed: false }) };
        let Some(ask) = self.asks.ask(&id).cloned() else { return Ok(Response::Done { changed: false }) };
        if let (Answer::AllowAlways { scope, reach }, true) = (&answer, is_first) {
            self.make_rule(&ask, *scope, *reach).await;
        }
        if let Some(running) = self.turns.get_mut(&ask.turn) {
            running.turn.answered(&id);
            if let Some((call, input)) = changed_input(&ask, &answer).filter(|_| is_first) {
                running.turn.input_changed(call, input);
            }
        }
        if is_first {
            self.publish(Some(&ask.turn), EventKind::Answered { ask: id.to_string(), answer: Some(said) });
        }
        self.tell_agent(&ask.turn, input);
        Ok(Response::Done { changed: is_first })
    }

    /// What an engine before this one was asked is not asked any more.
    fn answer_refused(&self, why: AnswerRefused) -> Halt {
        match why {
            AnswerRefused::Unknown(ask) => match self.asked_until(&ask) {
                Some(since) => refused(AnswerRefused::Stale { ask, since: Some(since) }),
                None => refused(AnswerRefused::Unknown(ask)),
            },
            why => refused(why),
        }
    }

    /// When the turn ended in which it was asked: with its last entry.
    fn asked_until(&self, id: &AskId) -> Option<Timestamp> {
        let turn = id.as_str().split_once('/').map(|(turn, _)| TurnId::from(turn))?;
        let said = self.tree.entries().filter(|entry| entry.turn.as_ref() == Some(&turn));
        said.map(|entry| entry.written_at).max().filter(|_| self.tree.turn_ended(&turn))
    }

    /// A rule that cannot be kept allows this once all the same, and says so.
    async fn make_rule(&mut self, ask: &Ask, scope: Scope, reach: Reach) {
        let Asking::Permission(permission) = &ask.asking else { return };
        let Some(offer) = Offer::find(permission, scope, reach) else { return };
        let rule = Rule {
            id: RuleId::named(self.stamps.operation_id().as_str()),
            scope,
            session: self.id.clone(),
            project: self.project().map(str::to_owned),
            tool: permission.tool.clone(),
            pattern: offer.pattern,
            made_at: self.stamps.now(),
        };
        let rules = self.shared.rules.clone();
        let kept = tokio::task::spawn_blocking(move || rules.add(rule)).await;
        let problem = match kept {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the list of rules broke down".to_owned(),
        };
        let text = format!("allowed this once; the rule could not be kept: {problem}");
        self.publish(Some(&ask.turn), EventKind::Notice { text });
    }

    pub(super) fn project(&self) -> Option<&str> {
        self.tree.header().and_then(|header| header.project.as_deref())
    }
}

/// What a tool is given in the place of what its agent asked for.
fn changed_input(ask: &Ask, answer: &Answer) -> Option<(ToolCallId, Value)> {
    match (&ask.asking, answer) {
        (Asking::Permission(permission), Answer::Allow { input: Some(input), .. })
            if *input != permission.input =>
        {
            Some((permission.call.clone()?, input.clone()))
        }
        _ => None,
    }
}
