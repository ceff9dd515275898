//! `offshoot new [TITLE]`: an empty session about this folder.

use offshoot_api::{ErrorCode, Request, Response, request};
use offshoot_session::{SessionId, Stamps};
use serde_json::json;

use super::json::printed_object;
use crate::args::NewArgs;
use crate::change::answered;
use crate::failure::Failure;
use crate::here::Here;
use crate::refusals::cannot_answer;
use crate::talk::{refused, unexpected};
use crate::text::harmless_line;
use crate::{Answer, words};

pub(crate) fn run(args: &NewArgs, here: &Here) -> Result<Answer, Failure> {
    let project = args.project.as_deref().unwrap_or(&here.folder);
    if !project.is_dir() {
        return Err(Failure::not_found(words::no_directory(project)));
    }
    let begin = request::Begin {
        project: Some(project.to_string_lossy().into_owned()),
        agent: args.agent.clone(),
        model: args.model.clone(),
        title: args.title.clone(),
        client_id: Some(here.stamps().session_id().to_string()),
    };
    let view = match answered(here, Request::Begin(begin))? {
        Ok(Response::Session(view)) => view,
        Ok(other) => return Err(unexpected(other)),
        Err(error) => {
            let agent = args.agent.as_deref().filter(|_| error.code == ErrorCode::NoAgent);
            return Err(match agent {
                Some(agent) => cannot_answer(agent, words::scripts::GO_ON_WITHOUT),
                None => refused(&error),
            });
        }
    };
    let text = match args.json.json {
        Some(_) => printed_object(json!({"id": view.id})),
        None => {
            let title = args.title.as_deref().map(|title| harmless_line(title, here.look.ascii));
            words::session_begun(&SessionId::from(view.id.as_str()), title.as_deref())
        }
    };
    Ok(Answer { text, ..Answer::default() })
}
