//! What a line means as an answer to what an agent asks.

use offshoot_api::views::{AnswerView, AskingView, OfferName, OfferView, QuestionView};
use serde_json::Value;

use super::typed::first_word;
use crate::talk::choices;
use crate::talk::given::TELLING_FIELDS;
use crate::words::chatting as words;

/// The message says what is wrong with it.
pub(super) fn answer(line: &str, asking: &AskingView) -> Result<AnswerView, String> {
    match asking {
        AskingView::Permission { input, always, suggestions, .. } => {
            match suggestion(line.trim(), suggestions.len()) {
                Some(chosen) => Ok(AnswerView::Allow { input: None, suggestion: Some(chosen?) }),
                None => permission(line.trim(), input, always),
            }
        }
        AskingView::Question { questions } => {
            Ok(AnswerView::Choose { chosen: chosen(line.trim(), questions)? })
        }
    }
}

fn permission(line: &str, input: &Value, always: &[OfferView]) -> Result<AnswerView, String> {
    let (word, rest) = first_word(line);
    let said = (!rest.is_empty()).then(|| rest.to_owned());
    let wider = match (word, &said) {
        ("A", None) => Some(OfferName::WiderSession),
        ("P", None) => Some(OfferName::WiderProject),
        _ => None,
    };
    if let Some(offer) = wider {
        let is_offered = always.iter().any(|known| known.offer == offer);
        return match is_offered {
            true => Ok(AnswerView::AllowAlways { offer }),
            false => Err(words::NO_WIDER_RULE.to_owned()),
        };
    }
    match (word.to_lowercase().as_str(), said) {
        ("y" | "yes" | "allow", None) => Ok(AnswerView::Allow { input: None, suggestion: None }),
        ("a" | "always", None) => Ok(AnswerView::AllowAlways { offer: OfferName::Session }),
        ("p" | "project", None) => Ok(AnswerView::AllowAlways { offer: OfferName::Project }),
        ("n" | "no" | "deny", message) => Ok(AnswerView::Deny { message }),
        ("c" | "change", Some(said)) => {
            Ok(AnswerView::Allow { input: Some(changed(&said, input)?), suggestion: None })
        }
        ("c" | "change", None) => Err(words::needs("c TEXT")),
        _ => Err(words::not_a_choice(word)),
    }
}

/// `s2`: the second suggestion. `s` alone is enough where there is one. `None`: it is another answer.
fn suggestion(line: &str, count: usize) -> Option<Result<usize, String>> {
    let number = line.strip_prefix(['s', 'S'])?.trim();
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = match number {
        "" if count == 1 => Some(1),
        number => number.parse::<usize>().ok().filter(|number| (1..=count).contains(number)),
    };
    Some(number.map(|number| number - 1).ok_or_else(|| words::no_such_suggestion(line, count)))
}

/// JSON takes the place of all that the tool is given; any other text that of what was shown of it.
fn changed(said: &str, input: &Value) -> Result<Value, String> {
    if let Ok(Value::Object(whole)) = serde_json::from_str(said) {
        return Ok(Value::Object(whole));
    }
    let shown = TELLING_FIELDS.into_iter().find(|name| input.get(name).is_some_and(Value::is_string));
    let Some(field) = shown else { return Err(words::CHANGE_IS_NO_JSON.to_owned()) };
    let mut changed = input.clone();
    if let Some(place) = changed.get_mut(field) {
        *place = Value::from(said);
    }
    Ok(changed)
}

/// Several questions are answered in one line, with `;` between.
fn chosen(line: &str, questions: &[QuestionView]) -> Result<Vec<Vec<String>>, String> {
    let mut parts = match questions {
        [_] => vec![line],
        _ => line.split(';').map(str::trim).collect(),
    }
    .into_iter();
    let one = |question: &QuestionView| match parts.next() {
        None | Some("") => Ok(Vec::new()),
        Some(said) => choices::chosen(question, said),
    };
    questions.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use offshoot_api::views::{ChoiceView, ScopeView};
    use serde_json::json;

    use super::*;

    fn asks(input: Value) -> AskingView {
        let offer = |offer, exact| OfferView {
            offer,
            scope: ScopeView::Session,
            rule: "cargo test *".to_owned(),
            exact,
        };
        let always = vec![offer(OfferName::Session, true), offer(OfferName::WiderSession, false)];
        AskingView::Permission {
            tool: "shell".to_owned(),
            input,
            call: None,
            reason: None,
            always,
            suggestions: Vec::new(),
        }
    }

    fn question(several: bool) -> QuestionView {
        let choices = ["Up", "Down"];
        let choices =
            choices.map(|label| ChoiceView { label: label.into(), description: None, suggested: false });
        QuestionView { text: "Where?".into(), choices: choices.to_vec(), several }
    }

    fn check_chosen(line: &str, questions: &[QuestionView], expected: &[&[&str]]) {
        let asking = AskingView::Question { questions: questions.to_vec() };
        let expected = expected.iter().map(|one| one.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(answer(line, &asking), Ok(AnswerView::Choose { chosen: expected }), "{line}");
    }

    #[test]
    fn a_suggestion_is_chosen_by_its_number() {
        let suggesting = |count: usize| match asks(json!({ "command": "ls" })) {
            AskingView::Permission { tool, input, call, reason, always, .. } => {
                let suggestions = vec![json!({ "type": "setMode" }); count];
                AskingView::Permission { tool, input, call, reason, always, suggestions }
            }
            question @ AskingView::Question { .. } => question,
        };
        let chosen = |number| Ok(AnswerView::Allow { input: None, suggestion: Some(number) });
        assert_eq!(answer("s", &suggesting(1)), chosen(0));
        assert_eq!(answer("s 2", &suggesting(2)), chosen(1));
        assert_eq!(answer("S1", &suggesting(2)), chosen(0));
        for (line, count) in [("s", 2), ("s0", 2), ("s3", 2), ("s1", 0), ("session", 1)] {
            assert!(answer(line, &suggesting(count)).is_err(), "{line}");
        }
    }

    #[test]
    fn a_permission_is_given_once_always_changed_or_not_at_all() {
        let asking = asks(json!({ "command": "echo a", "timeout": 3 }));
        let always = |offer| Ok(AnswerView::AllowAlways { offer });
        assert_eq!(answer(" Y ", &asking), Ok(AnswerView::Allow { input: None, suggestion: None }));
        assert_eq!(answer("a", &asking), always(OfferName::Session));
        assert_eq!(answer("p", &asking), always(OfferName::Project));
        assert_eq!(answer("A", &asking), always(OfferName::WiderSession));
        assert!(answer("P", &asking).is_err(), "it is not offered");
        assert_eq!(answer("n", &asking), Ok(AnswerView::Deny { message: None }));
        assert_eq!(answer("n not now", &asking), Ok(AnswerView::Deny { message: Some("not now".into()) }));
        let changed = |input| Ok(AnswerView::Allow { input: Some(input), suggestion: None });
        assert_eq!(answer("c echo b c", &asking), changed(json!({ "command": "echo b c", "timeout": 3 })));
        assert_eq!(answer(r#"c {"command": "ls"}"#, &asking), changed(json!({ "command": "ls" })));
        assert!(answer("s1", &asking).is_err(), "nothing is suggested");
        // "yes, but" is not yes.
        for line in ["perhaps", "y but only once", "c", "always allow this"] {
            assert!(answer(line, &asking).is_err(), "{line}");
        }
        assert!(answer("c text", &asks(json!({ "other": "text" }))).is_err());
    }

    #[test]
    fn a_question_is_answered_by_number_or_in_own_words() {
        check_chosen("2", &[question(false)], &[&["Down"]]);
        check_chosen("=2", &[question(false)], &[&["2"]]);
        check_chosen("first this; then that", &[question(false)], &[&["first this; then that"]]);
        check_chosen("1, home", &[question(true)], &[&["Up", "home"]]);
        check_chosen("= up, then home", &[question(true)], &[&["up, then home"]]);
        check_chosen("2; 1, home", &[question(false), question(true)], &[&["Down"], &["Up", "home"]]);
        check_chosen("home", &[question(false), question(true)], &[&["home"], &[]]);
        let asking = AskingView::Question { questions: vec![question(false), question(true)] };
        assert!(answer("0", &asking).is_err(), "no choice has this number");
    }
}
