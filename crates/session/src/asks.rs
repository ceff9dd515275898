//! What agents ask a person: for permission, and for a choice.
//!
//! [`Asks`] is the ledger. An answer is kept until the agent has confirmed it and is said again after every loss of the
//! connection ([`Asks::unconfirmed`]); the agent takes it once. The same answer twice is one answer, another answer to
//! what was answered is refused, and so is an answer to what is no longer asked.
//!
//! Whoever answers "always" makes a rule ([`Rules`]), and the next ask of its kind is answered by it.

mod command;
mod pattern;
mod rules;

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

pub use pattern::RulePattern;
pub use rules::{Offer, Reach, Rule, RuleId, Rules, Scope};

use crate::agent::{AgentInput, Speaker};
use crate::{EntryId, ToolCallId, TurnId};

/// Answers that are remembered after their turn, so that who answers late is told what happened.
const REMEMBERED: usize = 1024;

/// Names an ask in its session: the turn, and what the agent calls it. So an ask that comes again after a loss of the
/// connection is the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(String);

#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub id: AskId,
    pub turn: TurnId,
    /// The prompt of that turn: it says which branch is asking.
    pub prompt: EntryId,
    pub speaker: Speaker,
    /// The agent's own name for it.
    pub request: String,
    pub asking: Asking,
    pub asked_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Asking {
    Permission(Permission),
    Questions(Vec<Question>),
}

/// May this tool run?
#[derive(Clone, Debug, PartialEq)]
pub struct Permission {
    pub tool: String,
    pub input: Value,
    pub call: Option<ToolCallId>,
    /// Why it asks, in its own words.
    pub reason: Option<String>,
    /// What it would change in settings of its own, so that it need not ask again.
    pub suggestions: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub choices: Vec<Choice>,
    /// More than one choice may be taken.
    pub several: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    pub description: Option<String>,
    pub suggested: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// `input` takes the place of what the tool was to be given. `suggestion` is the number of a suggestion of the ask,
    /// from 0: the agent takes it over into its own settings.
    Allow { input: Option<Value>, suggestion: Option<usize> },
    /// And so from now on: one of the [`Offer`]s becomes a rule.
    AllowAlways { scope: Scope, reach: Reach },
    /// The agent reads the message, if there is one, and goes on.
    Deny { message: Option<String> },
    /// For each question the choices, or words of one's own.
    Choose(Vec<Vec<String>>),
}

/// The open asks of a session, and the latest that were settled.
#[derive(Clone, Debug, Default)]
pub struct Asks {
    open: BTreeMap<AskId, Open>,
    settled: VecDeque<(AskId, Settled)>,
}

#[derive(Clone, Debug)]
struct Open {
    ask: Ask,
    answer: Option<Answer>,
}

#[derive(Clone, Debug)]
struct Settled {
    ask: Ask,
    /// `None`: it was no longer asked.
    answer: Option<Answer>,
    at: Option<Timestamp>,
}

/// What became of an ask that came in.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// A person has to answer.
    Waits,
    /// It is known and waits already.
    WaitsAlready,
    /// It was answered before, or is answered by a rule: tell the agent.
    Answered(AgentInput),
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// Tell the agent, and again until it confirms.
    Tell(AgentInput),
    /// The agent has confirmed this very answer.
    Already,
}

#[derive(Clone, Debug, Error, PartialEq)]
pub enum AnswerRefused {
    #[error("nobody asks `{0}`")]
    Unknown(AskId),
    /// The agent moved on, where that is known at a certain time.
    #[error("`{ask}` is no longer asked")]
    Stale { ask: AskId, since: Option<Timestamp> },
    #[error("`{ask}` has another answer already")]
    Otherwise { ask: AskId, answer: Answer },
    #[error("`{0}` asks for something else")]
    WrongKind(AskId),
}

impl AskId {
    pub fn of(turn: &TurnId, request: &str) -> Self {
        Self(format!("{turn}/{request}"))
    }

    /// As a front end gives it back.
    pub fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for AskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Asks {
    /// Takes an ask of an agent. Coming again it finds the answer it was given.
    pub fn take(&mut self, ask: Ask, rules: &Rules) -> Taken {
        if let Some(open) = self.open.get(&ask.id) {
            return match &open.answer {
                None => Taken::WaitsAlready,
                Some(answer) => Taken::Answered(told(&ask, answer)),
            };
        }
        if let Some(answer) = self.settled(&ask.id).and_then(|settled| settled.answer.clone()) {
            let input = told(&ask, &answer);
            self.open.insert(ask.id.clone(), Open { ask, answer: Some(answer) });
            return Taken::Answered(input);
        }
        let allowed = match &ask.asking {
            Asking::Permission(permission) => rules.allow(permission),
            Asking::Questions(_) => None,
        };
        let answer = allowed.map(|_| Answer::Allow { input: None, suggestion: None });
        let taken = answer.as_ref().map_or(Taken::Waits, |answer| Taken::Answered(told(&ask, answer)));
        self.open.insert(ask.id.clone(), Open { ask, answer });
        taken
    }

    /// Takes the answer of a person.
    pub fn answer(&mut self, id: &AskId, answer: Answer) -> Result<Answered, AnswerRefused> {
        if let Some(open) = self.open.get_mut(id) {
            if !fits(&open.ask.asking, &answer) {
                return Err(AnswerRefused::WrongKind(id.clone()));
            }
            let given = open.answer.get_or_insert_with(|| answer.clone());
            return if *given == answer {
                Ok(Answered::Tell(told(&open.ask, &answer)))
            } else {
                Err(AnswerRefused::Otherwise { ask: id.clone(), answer: given.clone() })
            };
        }
        match self.settled(id) {
            None => Err(AnswerRefused::Unknown(id.clone())),
            Some(Settled { answer: None, at, .. }) => {
                Err(AnswerRefused::Stale { ask: id.clone(), since: *at })
            }
            Some(Settled { answer: Some(given), .. }) if *given == answer => Ok(Answered::Already),
            Some(Settled { answer: Some(given), .. }) => {
                Err(AnswerRefused::Otherwise { ask: id.clone(), answer: given.clone() })
            }
        }
    }

    /// The agent has the answer. `false` where there was none to confirm.
    pub fn confirm(&mut self, id: &AskId) -> bool {
        let answered = self.open.get(id).is_some_and(|open| open.answer.is_some());
        answered && self.settle(id, None)
    }

    /// The agent does not want to know any more. An answer that was on its way does not count.
    pub fn withdraw(&mut self, id: &AskId, at: Timestamp) -> bool {
        if let Some(open) = self.open.get_mut(id) {
            open.answer = None;
        }
        self.settle(id, Some(at))
    }

    /// Nothing of this turn is asked any more; gives what was.
    pub fn end_turn(&mut self, turn: &TurnId, at: Timestamp) -> Vec<AskId> {
        let of_turn = |open: &&Open| open.ask.turn == *turn;
        let ids: Vec<AskId> = self.open.values().filter(of_turn).map(|open| open.ask.id.clone()).collect();
        ids.iter().for_each(|id| {
            self.settle(id, Some(at));
        });
        ids
    }

    /// What a person still has to answer, by turn.
    pub fn waiting(&self) -> impl Iterator<Item = &Ask> {
        self.open.values().filter(|open| open.answer.is_none()).map(|open| &open.ask)
    }

    /// What has an answer, as far as it is remembered; the latest last.
    pub fn answered(&self) -> impl Iterator<Item = &Ask> {
        let settled = self.settled.iter().filter(|(_, settled)| settled.answer.is_some());
        let open = self.open.values().filter(|open| open.answer.is_some());
        settled.map(|(_, settled)| &settled.ask).chain(open.map(|open| &open.ask))
    }

    /// Answers that no agent has confirmed: to be said again when an agent is back.
    pub fn unconfirmed(&self) -> impl Iterator<Item = AgentInput> {
        self.open.values().filter_map(|open| Some(told(&open.ask, open.answer.as_ref()?)))
    }

    pub fn ask(&self, id: &AskId) -> Option<&Ask> {
        let open = self.open.get(id).map(|open| &open.ask);
        open.or_else(|| self.settled(id).map(|settled| &settled.ask))
    }

    /// The answer it was given, also when that is not confirmed yet.
    pub fn answer_to(&self, id: &AskId) -> Option<&Answer> {
        match self.open.get(id) {
            Some(open) => open.answer.as_ref(),
            None => self.settled(id)?.answer.as_ref(),
        }
    }

    fn settled(&self, id: &AskId) -> Option<&Settled> {
        self.settled.iter().rev().find(|(known, _)| known == id).map(|(_, settled)| settled)
    }

    fn settle(&mut self, id: &AskId, at: Option<Timestamp>) -> bool {
        let Some(Open { ask, answer }) = self.open.remove(id) else { return false };
        if self.settled.len() >= REMEMBERED {
            self.settled.pop_front();
        }
        self.settled.push_back((id.clone(), Settled { ask, answer, at }));
        true
    }
}

fn fits(asking: &Asking, answer: &Answer) -> bool {
    match (asking, answer) {
        (Asking::Permission(permission), Answer::Allow { suggestion, .. }) => {
            suggestion.is_none_or(|number| number < permission.suggestions.len())
        }
        (Asking::Permission(_), Answer::Deny { .. }) => true,
        (Asking::Permission(permission), Answer::AllowAlways { scope, reach }) => {
            Offer::find(permission, *scope, *reach).is_some()
        }
        // Who asks a question can be told that there is no answer.
        (Asking::Questions(_), Answer::Deny { .. }) => true,
        (Asking::Questions(questions), Answer::Choose(chosen)) => {
            let fits_one =
                |(question, chosen): (&Question, &Vec<String>)| question.several || chosen.len() <= 1;
            questions.len() == chosen.len() && questions.iter().zip(chosen).all(fits_one)
        }
        (Asking::Permission(_), Answer::Choose(_))
        | (Asking::Questions(_), Answer::Allow { .. } | Answer::AllowAlways { .. }) => false,
    }
}

/// A rule is ours to keep: the agent only hears that it may.
fn told(ask: &Ask, answer: &Answer) -> AgentInput {
    let answer = match answer {
        Answer::AllowAlways { .. } => Answer::Allow { input: None, suggestion: None },
        Answer::Allow { .. } | Answer::Deny { .. } | Answer::Choose(_) => answer.clone(),
    };
    AgentInput::Answer { turn: ask.turn.clone(), request: ask.request.clone(), answer }
}
