//! `offshoot retry [SESSION] [POINT]`: the same prompt again, for another answer; one from each of several models.

use offshoot_api::views::ModelView;
use offshoot_api::{ErrorCode, Point, Request, request};
use offshoot_session::SessionId;
use offshoot_session::address::Want;
use offshoot_session::versions::turn_prompt;

use super::answered::{Chosen, Message, Saying, answered};
use super::edit::new_version;
use crate::args::RetryArgs;
use crate::change::{asked, if_running};
use crate::failure::Failure;
use crate::here::Here;
use crate::living::seen;
use crate::opened::point;
use crate::refusals::explained;
use crate::talk::note_now;
use crate::text::harmless_line;
use crate::which::{names_one, stored};
use crate::{Answer, words};

pub(crate) fn run(args: &RetryArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, at) = args.words.session_and_point(|word| names_one(here, word))?;
    let id = stored(here, session)?;
    let at = at.unwrap_or("head");
    let again = Again { args, here, session, id: &id };
    if args.model.len() < 2 {
        return again.ask(at.into(), args.model.first());
    }
    // Each answer moves the head, and all of them are versions of one prompt.
    let prompt = again.prompt_at(at)?;
    let mut all = Answer::default();
    for model in &args.model {
        note_now(&harmless_line(&words::asks_model(&model.provider, &model.name), here.look.ascii));
        let one = again.ask(prompt.clone(), Some(model)).unwrap_or_else(Answer::from);
        all.text.push_str(&one.text);
        all.notes.extend(one.notes);
        all.failures.extend(one.failures);
        all.ends = all.ends.or(one.ends);
    }
    Ok(all)
}

struct Again<'a> {
    args: &'a RetryArgs,
    here: &'a Here,
    session: Option<&'a str>,
    id: &'a SessionId,
}

impl Again<'_> {
    fn prompt_at(&self, at: &str) -> Result<Point, Failure> {
        let tree = seen(self.here, self.id)?.tree;
        let at = point(&tree, &at.into(), Want::Turn)?;
        Ok(turn_prompt(&tree, &at).map_or(&at, |prompt| &prompt.id).as_str().into())
    }

    fn ask(&self, at: Point, model: Option<&ModelView>) -> Result<Answer, Failure> {
        let (args, id) = (self.args, self.id);
        let (agent, model) = (args.agent.clone(), model.cloned());
        let if_running = if_running(args.running.abort_first);
        if args.send {
            let saying = Saying::Again { at, chosen: Chosen { agent, model }, to: args.version.to() };
            let json = args.json.json;
            return answered(Message { session: id.clone(), saying, if_running, json }, self.here);
        }
        let request = request::Retry {
            session: id.to_string(),
            at,
            to: args.version.to(),
            agent,
            model,
            if_running,
            only_write: true,
            client_id: Some(self.here.client_id()),
            ..request::Retry::default()
        };
        let changed = asked(self.here, Request::Retry(request))?.map_err(|error| match error.code {
            ErrorCode::NothingToDo => Failure::refused(words::NOTHING_TO_RETRY),
            _ => explained(self.here, id, &error),
        })?;
        Ok(new_version(self.here, self.session, id, &changed, args.json.json))
    }
}
