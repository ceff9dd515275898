//! `offshoot answer [SESSION] allow|always|deny|choose`: answers what an agent asks, in whichever process it runs.

use clap::ValueEnum;
use offshoot_api::views::{AnswerView, AskView, AskingView, OfferName, QuestionView, SessionView};
use offshoot_api::{ApiError, ErrorCode, Request, Response};
use offshoot_session::SessionId;

use super::head::said_of;
use crate::Answer;
use crate::args::{AnswerArgs, AnswerName};
use crate::engine::{Reached, running};
use crate::failure::Failure;
use crate::here::Here;
use crate::last_used;
use crate::refusals::explained;
use crate::talk::{choices, open, wait_for};
use crate::which::stored;
use crate::words::{scripts, talking as words};

pub(crate) fn run(args: &AnswerArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [word]) = args.words.split("allow|always|deny|choose")?;
    let name = AnswerName::from_str(word, true).map_err(|_| Failure::usage(words::bad_answer(word)))?;
    let session = stored(here, session)?;
    wait_for(async {
        let reached = running(here).await?.ok_or_else(|| Failure::refused(words::NOTHING_RUNS_HERE))?;
        let answered = answered(&reached, here, &session, name, args).await;
        reached.leave().await;
        let is_first = answered?;
        last_used::record_stored(here, &session);
        Ok(match is_first {
            true => said_of(here, &session, words::ANSWERED),
            false => Answer { text: scripts::ANSWERED_ALREADY.to_owned(), ..Answer::default() },
        })
    })
}

/// `false`: it had this answer already.
async fn answered(
    reached: &Reached,
    here: &Here,
    session: &SessionId,
    name: AnswerName,
    args: &AnswerArgs,
) -> Result<bool, Failure> {
    let view = open(reached, session.as_str(), Some(0)).await;
    let view = view.map_err(|error| explained(here, session, &error))?;
    let ask = meant(&view, args.ask.as_deref())?;
    let answer = answer(name, args, ask)?;
    let id = match (ask, &args.ask) {
        (Some(ask), _) => ask.id.clone(),
        // The engine knows whether it was ever asked.
        (None, Some(named)) => named.clone(),
        (None, None) => return Err(Failure::refused(words::NOTHING_ASKED)),
    };
    let request = offshoot_api::request::Answer { session: session.to_string(), ask: id.clone(), answer };
    match reached.call(Request::Answer(request)).await {
        Ok(Response::Done { changed }) => Ok(changed),
        Ok(_) => Ok(true),
        Err(error) => Err(not_taken(here, session, &id, &error)),
    }
}

/// What is asked first of what waits; where nothing does, what was answered last: to say the same again is harmless.
fn meant<'v>(view: &'v SessionView, named: Option<&str>) -> Result<Option<&'v AskView>, Failure> {
    let Some(named) = named else {
        return Ok(view.asks.iter().min_by_key(|ask| ask.at).or_else(|| view.answered.last()));
    };
    let known = || view.asks.iter().chain(&view.answered);
    if let Some(exact) = known().find(|ask| ask.id == named) {
        return Ok(Some(exact));
    }
    let mut alike = view.asks.iter().filter(|ask| ask.id.starts_with(named));
    match (alike.next(), alike.next()) {
        (Some(_), Some(_)) => Err(Failure::not_found(scripts::several_asks(named)).hint(scripts::ASK_HINT)),
        (one, _) => Ok(one.or_else(|| view.answered.iter().rev().find(|ask| ask.id.starts_with(named)))),
    }
}

fn answer(name: AnswerName, args: &AnswerArgs, ask: Option<&AskView>) -> Result<AnswerView, Failure> {
    let asking = ask.map(|ask| &ask.asking);
    Ok(match (name, asking) {
        (AnswerName::Allow | AnswerName::Always, Some(AskingView::Question { .. })) => {
            return Err(Failure::refused(scripts::QUESTION_IS_ASKED));
        }
        (AnswerName::Choose, Some(AskingView::Permission { .. })) => {
            return Err(Failure::refused(scripts::PERMISSION_IS_ASKED));
        }
        (AnswerName::Allow, _) => {
            let input = args.input.as_deref().map(serde_json::from_str).transpose();
            AnswerView::Allow {
                input: input.map_err(|error| Failure::usage(words::bad_input(&error)))?,
                suggestion: args.suggestion.map(|number| suggestion(number, asking)).transpose()?,
            }
        }
        (AnswerName::Always, asking) => AnswerView::AllowAlways { offer: offer(args, asking)? },
        (AnswerName::Deny, _) => AnswerView::Deny { message: args.message.clone() },
        (AnswerName::Choose, Some(AskingView::Question { questions })) => {
            AnswerView::Choose { chosen: chosen(questions, &args.choices)? }
        }
        (AnswerName::Choose, None) => {
            AnswerView::Choose { chosen: args.choices.iter().map(|choice| vec![choice.clone()]).collect() }
        }
    })
}

/// A change of its own settings that the agent suggests, by its number.
fn suggestion(number: usize, asking: Option<&AskingView>) -> Result<usize, Failure> {
    let count = match asking {
        Some(AskingView::Permission { suggestions, .. }) => suggestions.len(),
        Some(AskingView::Question { .. }) | None => 0,
    };
    let is_offered = (1..=count).contains(&number);
    is_offered.then(|| number - 1).ok_or_else(|| Failure::refused(scripts::no_such_suggestion(number, count)))
}

/// The rule that "always" is to make. A wider one than what was asked exists only where the ask offers it.
fn offer(args: &AnswerArgs, asking: Option<&AskingView>) -> Result<OfferName, Failure> {
    let offer = match (args.wider, args.project) {
        (false, false) => OfferName::Session,
        (false, true) => OfferName::Project,
        (true, false) => OfferName::WiderSession,
        (true, true) => OfferName::WiderProject,
    };
    match asking {
        Some(AskingView::Permission { always, .. }) if !always.iter().any(|known| known.offer == offer) => {
            Err(Failure::refused(scripts::NO_WIDER_RULE))
        }
        _ => Ok(offer),
    }
}

/// For each question what was chosen. Where there is one question, all of it is about that.
fn chosen(questions: &[QuestionView], given: &[String]) -> Result<Vec<Vec<String>>, Failure> {
    let groups: Vec<Vec<&str>> = match questions {
        [_] if !given.is_empty() => vec![given.iter().map(String::as_str).collect()],
        _ if questions.len() == given.len() => given.iter().map(|choice| vec![choice.as_str()]).collect(),
        _ => return Err(Failure::usage(scripts::questions(questions.len()))),
    };
    questions
        .iter()
        .zip(groups)
        .map(|(question, group)| {
            let chosen: Result<Vec<Vec<String>>, String> =
                group.into_iter().map(|given| choices::chosen(question, given)).collect();
            let chosen = chosen.map_err(Failure::refused)?.concat();
            match question.several || chosen.len() == 1 {
                true => Ok(chosen),
                false => Err(Failure::usage(scripts::ONE_CHOICE)),
            }
        })
        .collect()
}

fn not_taken(here: &Here, session: &SessionId, ask: &str, error: &ApiError) -> Failure {
    match error.code {
        ErrorCode::AnsweredOtherwise => Failure::refused(scripts::ANSWERED_OTHERWISE),
        ErrorCode::WrongAnswer => Failure::refused(scripts::WRONG_ANSWER),
        ErrorCode::NotFound => Failure::not_found(scripts::no_such_ask(ask)).hint(scripts::ASK_HINT),
        _ => explained(here, session, error),
    }
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

    fn told(questions: &[QuestionView], given: &[&str]) -> Result<Vec<Vec<String>>, String> {
        let given: Vec<String> = given.iter().map(|given| (*given).to_owned()).collect();
        chosen(questions, &given).map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn one_question_takes_one_choice() {
        let one = [question(&["Left", "Right, then up"], false)];
        assert_eq!(told(&one, &["2"]), Ok(vec![vec!["Right, then up".to_owned()]]));
        assert!(told(&one, &["1", "2"]).is_err(), "only one may be taken");
        assert!(told(&one, &["3"]).is_err(), "there are two");
        assert!(told(&one, &[]).is_err());
    }

    #[test]
    fn several_choices_and_several_questions_are_answered() {
        let several = question(&["A", "B", "C"], true);
        let both = || Ok(vec![vec!["A".to_owned(), "C".to_owned()]]);
        assert_eq!(told(std::slice::from_ref(&several), &["1,3"]), both());
        assert_eq!(told(std::slice::from_ref(&several), &["a", "3"]), both());
        let two = [several, question(&["Yes", "No"], false)];
        assert_eq!(told(&two, &["2", "No"]), Ok(vec![vec!["B".to_owned()], vec!["No".to_owned()]]));
        assert!(told(&two, &["2"]).is_err(), "one is left");
    }
}
