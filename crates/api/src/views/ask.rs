//! What agents ask, what they are answered, and what need not be asked again.

use jiff::Timestamp;
use offshoot_session::address::Place;
use offshoot_session::agent::Speaker;
use offshoot_session::asks::{Answer, Ask, Asking, Offer, Permission, Question, Reach, Rule, Scope};
use offshoot_session::{SessionId, SessionTree};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskView {
    /// Gives the answer its address.
    pub id: String,
    #[serde(default)]
    pub session: String,
    pub turn: String,
    /// The prompt of that turn: which branch asks.
    pub prompt: String,
    /// The name of that branch, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Which prompt of its branch it is, from 1.
    #[serde(default)]
    pub number: usize,
    /// The call that started the sub-agent that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
    #[serde(with = "super::time")]
    pub at: Timestamp,
    #[serde(flatten)]
    pub asking: AskingView,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AskingView {
    Permission {
        tool: String,
        input: Value,
        call: Option<String>,
        reason: Option<String>,
        /// The rules that "always" may make: the exact ones first.
        always: Vec<OfferView>,
        /// What the agent would change in settings of its own, in its own form.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        suggestions: Vec<Value>,
    },
    Question {
        questions: Vec<QuestionView>,
    },
}

/// A rule that may be made, to be shown before it is agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferView {
    /// Names it in the answer.
    pub offer: OfferName,
    pub scope: ScopeView,
    /// What it would allow: one command, or `cargo test *`.
    pub rule: String,
    pub exact: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferName {
    Session,
    Project,
    WiderSession,
    WiderProject,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionView {
    pub text: String,
    pub choices: Vec<ChoiceView>,
    pub several: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceView {
    pub label: String,
    pub description: Option<String>,
    pub suggested: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AnswerView {
    Allow {
        /// In the place of what the tool was to be given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// One of the suggestions, from 0: the agent takes it over into its own settings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<usize>,
    },
    AllowAlways {
        offer: OfferName,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// For each question the choices, or words of one's own.
    Choose {
        chosen: Vec<Vec<String>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeView {
    Session,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleView {
    pub id: String,
    pub scope: ScopeView,
    pub session: String,
    pub project: Option<String>,
    pub tool: String,
    /// `*`, `cargo test *`, or one command.
    pub allows: String,
    #[serde(with = "super::time")]
    pub made_at: Timestamp,
}

impl AskView {
    pub fn of(ask: &Ask, session: &SessionId, tree: &SessionTree) -> Self {
        let place = Place::of(tree, &ask.prompt);
        Self {
            id: ask.id.to_string(),
            session: session.to_string(),
            turn: ask.turn.to_string(),
            prompt: ask.prompt.to_string(),
            branch: place.branch.map(str::to_owned),
            number: place.number,
            sub_agent: match &ask.speaker {
                Speaker::Agent => None,
                Speaker::SubAgent(call) => Some(call.to_string()),
            },
            at: ask.asked_at,
            asking: AskingView::from(&ask.asking),
        }
    }
}

impl From<&Asking> for AskingView {
    fn from(asking: &Asking) -> Self {
        match asking {
            Asking::Permission(permission) => Self::Permission {
                tool: permission.tool.clone(),
                input: permission.input.clone(),
                call: permission.call.as_ref().map(ToString::to_string),
                reason: permission.reason.clone(),
                always: OfferView::all(permission),
                suggestions: permission.suggestions.clone(),
            },
            Asking::Questions(questions) => {
                Self::Question { questions: questions.iter().map(QuestionView::from).collect() }
            }
        }
    }
}

impl From<&Question> for QuestionView {
    fn from(question: &Question) -> Self {
        let choices = question.choices.iter().map(|choice| ChoiceView {
            label: choice.label.clone(),
            description: choice.description.clone(),
            suggested: choice.suggested,
        });
        Self { text: question.text.clone(), choices: choices.collect(), several: question.several }
    }
}

impl From<AnswerView> for Answer {
    fn from(answer: AnswerView) -> Self {
        match answer {
            AnswerView::Allow { input, suggestion } => Self::Allow { input, suggestion },
            AnswerView::AllowAlways { offer } => {
                let (scope, reach) = offer.scope_and_reach();
                Self::AllowAlways { scope, reach }
            }
            AnswerView::Deny { message } => Self::Deny { message },
            AnswerView::Choose { chosen } => Self::Choose(chosen),
        }
    }
}

impl OfferView {
    fn all(permission: &Permission) -> Vec<Self> {
        let offers = Offer::all(permission).into_iter().map(|offer| Self {
            offer: OfferName::of(offer.scope, offer.reach),
            scope: offer.scope.into(),
            rule: offer.pattern.to_string(),
            exact: offer.reach == Reach::Exact,
        });
        offers.collect()
    }
}

impl OfferName {
    fn of(scope: Scope, reach: Reach) -> Self {
        match (scope, reach) {
            (Scope::Session, Reach::Exact) => Self::Session,
            (Scope::Project, Reach::Exact) => Self::Project,
            (Scope::Session, Reach::Wider) => Self::WiderSession,
            (Scope::Project, Reach::Wider) => Self::WiderProject,
        }
    }

    fn scope_and_reach(self) -> (Scope, Reach) {
        match self {
            Self::Session => (Scope::Session, Reach::Exact),
            Self::Project => (Scope::Project, Reach::Exact),
            Self::WiderSession => (Scope::Session, Reach::Wider),
            Self::WiderProject => (Scope::Project, Reach::Wider),
        }
    }
}

impl From<Scope> for ScopeView {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Session => Self::Session,
            Scope::Project => Self::Project,
        }
    }
}

impl From<&Rule> for RuleView {
    fn from(rule: &Rule) -> Self {
        Self {
            id: rule.id.as_str().to_owned(),
            scope: rule.scope.into(),
            session: rule.session.to_string(),
            project: rule.project.clone(),
            tool: rule.tool.clone(),
            allows: rule.pattern.to_string(),
            made_at: rule.made_at,
        }
    }
}
