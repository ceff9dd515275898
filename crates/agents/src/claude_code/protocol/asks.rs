//! Requests of the CLI for permission and for choices, and our answers.

use std::collections::BTreeMap;

use offshoot_session::ToolCallId;
use offshoot_session::agent::{AgentTurn, Speaker};
use offshoot_session::asks::{Answer, Asking, Choice, Permission, Question};
use serde_json::{Value, json};

use super::json::{Map, flag, list, text};

/// Asks that the CLI has neither confirmed nor withdrawn.
#[derive(Debug, Default)]
pub(super) struct Pending {
    asks: BTreeMap<String, PendingAsk>,
}

#[derive(Clone, Debug)]
pub(super) struct PendingAsk {
    pub(super) turn: AgentTurn,
    pub(super) speaker: Speaker,
    pub(super) call: Option<ToolCallId>,
    /// As the CLI asked; an answer sends it back.
    input: Value,
    /// The questions, by which the answers are named.
    questions: Vec<String>,
    /// Changes of the CLI's own permissions that it suggests; an answer names one by its number.
    suggestions: Vec<Value>,
    pub(super) is_answered: bool,
}

impl Pending {
    pub(super) fn open(&mut self, request: &str, ask: PendingAsk) {
        self.asks.insert(request.to_owned(), ask);
    }

    /// The response to write, once.
    pub(super) fn answer(&mut self, request: &str, answer: &Answer) -> Option<Value> {
        let ask = self.asks.get_mut(request).filter(|ask| !ask.is_answered)?;
        ask.is_answered = true;
        Some(ask.response(answer))
    }

    pub(super) fn close(&mut self, request: &str) -> Option<PendingAsk> {
        self.asks.remove(request)
    }

    /// The asks about a call that has its result now.
    pub(super) fn of_call(&self, call: &ToolCallId) -> Vec<String> {
        let asks = self.asks.iter().filter(|(_, ask)| ask.call.as_ref() == Some(call));
        asks.map(|(request, _)| request.clone()).collect()
    }

    pub(super) fn of_turn(&self, turn: &AgentTurn) -> Vec<String> {
        let asks = self.asks.iter().filter(|(_, ask)| ask.turn == *turn);
        asks.map(|(request, _)| request.clone()).collect()
    }

    pub(super) fn is_answered(&self, request: &str) -> bool {
        self.asks.get(request).is_some_and(|ask| ask.is_answered)
    }

    /// Whether a person has to answer.
    pub(super) fn is_waiting(&self) -> bool {
        self.asks.values().any(|ask| !ask.is_answered)
    }
}

impl PendingAsk {
    pub(super) fn new(turn: AgentTurn, speaker: Speaker, request: &Map, asking: &Asking) -> Self {
        let questions = match asking {
            Asking::Questions(questions) => questions.iter().map(|question| question.text.clone()).collect(),
            Asking::Permission(_) => Vec::new(),
        };
        let input = request.get("input").cloned().unwrap_or_else(|| json!({}));
        let suggestions = list(request, "permission_suggestions").to_vec();
        Self { turn, speaker, call: call_of(request), input, questions, suggestions, is_answered: false }
    }

    fn response(&self, answer: &Answer) -> Value {
        match answer {
            Answer::Allow { input, suggestion } => {
                let input = input.as_ref().unwrap_or(&self.input);
                let mut response = json!({ "behavior": "allow", "updatedInput": input });
                if let Some(suggestion) = suggestion.and_then(|number| self.suggestions.get(number)) {
                    response["updatedPermissions"] = json!([suggestion]);
                }
                response
            }
            Answer::AllowAlways { .. } => json!({ "behavior": "allow", "updatedInput": self.input }),
            Answer::Deny { message } => {
                let message = message.as_deref().unwrap_or("The user does not want this.");
                json!({ "behavior": "deny", "message": message })
            }
            Answer::Choose(chosen) => {
                let answers = self.questions.iter().zip(chosen);
                let answers: Map = answers
                    .filter(|(_, chosen)| !chosen.is_empty())
                    .map(|(question, chosen)| (question.clone(), Value::String(chosen.join(", "))))
                    .collect();
                let mut input = self.input.clone();
                if let Some(input) = input.as_object_mut() {
                    input.insert("answers".to_owned(), Value::Object(answers));
                }
                json!({ "behavior": "allow", "updatedInput": input })
            }
        }
    }
}

/// `called` is the input of the call, which the request may lack: that of `ExitPlanMode` holds the plan.
pub(super) fn asking(request: &Map, called: Option<&Value>) -> Asking {
    let tool = text(request, "tool_name").unwrap_or_default();
    if tool == "AskUserQuestion"
        && let Some(questions) = questions(request.get("input").and_then(Value::as_object))
    {
        return Asking::Questions(questions);
    }
    let input = request.get("input").filter(|input| input.as_object().is_none_or(|input| !input.is_empty()));
    let input = input.or(called).cloned().unwrap_or_else(|| json!({}));
    let reason = text(request, "decision_reason").or(text(request, "description")).map(str::to_owned);
    let suggestions = list(request, "permission_suggestions").to_vec();
    Asking::Permission(Permission {
        tool: tool.to_owned(),
        input,
        call: call_of(request),
        reason,
        suggestions,
    })
}

fn call_of(request: &Map) -> Option<ToolCallId> {
    text(request, "tool_use_id").map(ToolCallId::from)
}

fn questions(input: Option<&Map>) -> Option<Vec<Question>> {
    let questions: Vec<_> = list(input?, "questions").iter().filter_map(question).collect();
    (!questions.is_empty()).then_some(questions)
}

fn question(question: &Value) -> Option<Question> {
    let question = question.as_object()?;
    let choices = list(question, "options").iter().filter_map(Value::as_object).filter_map(|option| {
        let label = text(option, "label")?.to_owned();
        let description = text(option, "description").map(str::to_owned);
        Some(Choice { label, description, suggested: false })
    });
    Some(Question {
        text: text(question, "question")?.to_owned(),
        choices: choices.collect(),
        several: flag(question, "multiSelect"),
    })
}
