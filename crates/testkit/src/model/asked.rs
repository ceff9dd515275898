//! What a request asks, whatever protocol it speaks.

use serde_json::Value;

/// A conversation as far as a script has to know it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Turn {
    Person(String),
    Model,
    /// Results of calls, and what programs put between the words of a person.
    Between,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) is_streamed: bool,
    pub(super) turns: Vec<Turn>,
    pub(super) offers_tools: bool,
    /// The schema that the answer must have.
    pub(super) schema: Option<Value>,
    pub(super) wants_usage: bool,
}

impl Asked {
    pub(super) fn prompt(&self) -> &str {
        let said = self.turns.iter().rev().find_map(|turn| match turn {
            Turn::Person(text) => Some(text.as_str()),
            Turn::Model | Turn::Between => None,
        });
        said.unwrap_or_default()
    }

    /// How many replies the prompt has had: a reply is all that the model said without a break.
    pub(super) fn step(&self) -> usize {
        let last = self.turns.iter().rposition(|turn| matches!(turn, Turn::Person(_)));
        let behind = self.turns.get(last.map_or(0, |last| last + 1)..).unwrap_or_default();
        behind.chunk_by(|one, other| one == other).filter(|run| run.first() == Some(&Turn::Model)).count()
    }
}

/// What Claude Code writes behind a prompt that was interrupted. It sends that prompt and the next one as one message.
const INTERRUPTED: &str = "[Request interrupted by user";

/// What a user message says. Programs write reminders and circumstances as tags into the mouth of the person.
pub(super) fn person_or_between<'t>(texts: impl Iterator<Item = &'t str>) -> Turn {
    let mut own: Vec<&str> = Vec::new();
    for text in texts {
        if text.starts_with(INTERRUPTED) {
            own.clear();
        } else if !is_put_in(text) {
            own.push(text);
        }
    }
    if own.is_empty() { Turn::Between } else { Turn::Person(own.join("\n")) }
}

fn is_put_in(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || text.starts_with('<') || text.starts_with("# AGENTS.md")
}

/// The texts of a content that is a string or a list of blocks of certain types.
pub(super) fn texts<'v>(content: &'v Value, types: &'v [&str]) -> Vec<&'v str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => {
            let of_type = |block: &&Value| {
                let kind = block.get("type").and_then(Value::as_str);
                kind.is_some_and(|kind| types.contains(&kind))
            };
            blocks.iter().filter(of_type).filter_map(|block| block.get("text")?.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn list<'v>(body: &'v Value, key: &str) -> &'v [Value] {
    body.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text<'v>(body: &'v Value, key: &str) -> &'v str {
    body.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(body: &Value, key: &str) -> bool {
    body.get(key).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_counts_replies_behind_the_last_prompt() {
        let step = |turns: &[Turn]| {
            let turns = turns.to_vec();
            let asked = Asked {
                model: String::new(),
                is_streamed: true,
                turns,
                offers_tools: true,
                schema: None,
                wants_usage: false,
            };
            asked.step()
        };
        let person = || Turn::Person("hi".to_owned());
        assert_eq!(step(&[]), 0);
        assert_eq!(step(&[person(), Turn::Model, person()]), 0);
        assert_eq!(step(&[person(), Turn::Model, Turn::Model, Turn::Between, Turn::Between]), 1);
        assert_eq!(step(&[person(), Turn::Model, Turn::Between, Turn::Model]), 2);
    }

    #[test]
    fn what_programs_put_in_is_not_the_person() {
        let turn = |texts: &[&str]| person_or_between(texts.iter().copied());
        assert_eq!(turn(&["<system-reminder>x</system-reminder>", "hi"]), Turn::Person("hi".to_owned()));
        assert_eq!(turn(&["<environment_context>", " "]), Turn::Between);
        assert_eq!(
            turn(&["before", "[Request interrupted by user]", "next"]),
            Turn::Person("next".to_owned())
        );
    }
}
