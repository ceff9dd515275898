//! What a person types as the answer to a question: the number of a choice, its text, or an answer of their own.

use offshoot_api::views::QuestionView;

use crate::words::talking as words;

/// `2`, `Left`, `1, 3` if the question takes several, `=2` for the text "2". A number that stands for no choice is most
/// likely a slip, so it is refused; the message says what to type.
pub(crate) fn chosen(question: &QuestionView, typed: &str) -> Result<Vec<String>, String> {
    let typed = typed.trim();
    if let Some(own) = typed.strip_prefix('=').map(str::trim).filter(|own| !own.is_empty()) {
        return Ok(vec![own.to_owned()]);
    }
    // The text of a choice may contain a comma.
    if question.several && labelled(question, typed).is_none() {
        return typed.split(',').map(|part| one(question, part.trim())).collect();
    }
    Ok(vec![one(question, typed)?])
}

fn one(question: &QuestionView, typed: &str) -> Result<String, String> {
    if let Some(label) = labelled(question, typed) {
        return Ok(label);
    }
    let is_number = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
    match question.choices.len() {
        0 => Ok(typed.to_owned()),
        _ if !is_number => Ok(typed.to_owned()),
        choices => {
            let at = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let choice = at.and_then(|at| question.choices.get(at));
            choice.map(|choice| choice.label.clone()).ok_or_else(|| words::no_such_choice(typed, choices))
        }
    }
}

fn labelled(question: &QuestionView, typed: &str) -> Option<String> {
    let choice = question.choices.iter().find(|choice| choice.label.eq_ignore_ascii_case(typed));
    choice.map(|choice| choice.label.clone())
}

#[cfg(test)]
mod tests {
    use offshoot_api::views::ChoiceView;

    use super::*;

    fn question(labels: &[&str], several: bool) -> QuestionView {
        let choice =
            |label: &&str| ChoiceView { label: (*label).into(), description: None, suggested: false };
        QuestionView { text: "Which?".into(), choices: labels.iter().map(choice).collect(), several }
    }

    fn check(question: &QuestionView, typed: &str, expected: &[&str]) {
        let expected = expected.iter().map(ToString::to_string).collect();
        assert_eq!(chosen(question, typed), Ok(expected), "{typed}");
    }

    #[test]
    fn a_choice_is_named_by_its_number_or_its_text() {
        let one = question(&["Left", "Right, then up"], false);
        check(&one, "2", &["Right, then up"]);
        check(&one, " left ", &["Left"]);
        check(&one, "Right, then up", &["Right, then up"]);
        check(&one, "neither", &["neither"]);
        check(&one, "1,2", &["1,2"]);
        check(&one, "=2", &["2"]);
        check(&question(&[], false), "9", &["9"]);
    }

    #[test]
    fn several_choices_are_separated_by_commas() {
        let several = question(&["A", "B, then C", "D"], true);
        check(&several, "1,3", &["A", "D"]);
        check(&several, "b, then c", &["B, then C"]);
        check(&several, "1, home", &["A", "home"]);
        check(&several, "= up, then home", &["up, then home"]);
    }

    /// A14: `9` of three choices was told to the agent as the text "9".
    #[test]
    fn a_number_without_a_choice_is_refused() {
        for (several, typed) in
            [(false, "9"), (false, "0"), (false, "99999999999999999999999"), (true, "1, 4"), (true, "4")]
        {
            let refused = chosen(&question(&["A", "B", "C"], several), typed).unwrap_err();
            assert!(refused.contains("1 to 3"), "{typed}: {refused}");
        }
    }
}
