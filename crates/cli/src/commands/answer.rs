//! `offshoot answer [SESSION] allow|always|deny|choose`: answers what an agent asks, in whichever process it runs.

use clap::ValueEnum;
use offshoot_api::Request;
use offshoot_api::views::{AnswerView, ScopeView};

use crate::Answer;
use crate::args::{AnswerArgs, AnswerName};
use crate::engine::running;
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::{open, refused, wait_for};
use crate::which::stored_here;
use crate::words::talking as words;

pub(crate) fn run(args: &AnswerArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [word]) = args.words.split("allow|always|deny|choose")?;
    let answer = answer(word, args)?;
    let session = stored_here(here, session)?.to_string();
    wait_for(async {
        let reached = running(here).await?.ok_or_else(|| Failure::refused(words::NOTHING_RUNS_HERE))?;
        let ask = match &args.ask {
            Some(ask) => ask.clone(),
            None => {
                let view = open(&reached, &session, Some(0)).await.map_err(|error| refused(&error))?;
                let first = view.asks.into_iter().next();
                first.ok_or_else(|| Failure::refused(words::NOTHING_ASKED))?.id
            }
        };
        let answer = offshoot_api::request::Answer { session, ask, answer };
        reached.call(Request::Answer(answer)).await.map_err(|error| refused(&error))?;
        reached.leave().await;
        Ok(Answer { text: words::ANSWERED.to_owned(), ..Answer::default() })
    })
}

fn answer(word: &str, args: &AnswerArgs) -> Result<AnswerView, Failure> {
    let name = AnswerName::from_str(word, true).map_err(|_| Failure::usage(words::bad_answer(word)))?;
    Ok(match name {
        AnswerName::Allow => {
            let input = args.input.as_deref().map(serde_json::from_str).transpose();
            AnswerView::Allow { input: input.map_err(|error| Failure::usage(words::bad_input(&error)))? }
        }
        AnswerName::Always => AnswerView::AllowAlways {
            scope: if args.project { ScopeView::Project } else { ScopeView::Session },
        },
        AnswerName::Deny => AnswerView::Deny { message: args.message.clone() },
        AnswerName::Choose => {
            AnswerView::Choose { chosen: args.choices.iter().map(|choice| vec![choice.clone()]).collect() }
        }
    })
}
