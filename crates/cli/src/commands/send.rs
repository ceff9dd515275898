//! `offshoot send [SESSION] TEXT`: one message and its answer.

use offshoot_api::request::{IfRunning, VersionTo};

use super::answered::{Chosen, Message, Saying, answered};
use super::edit::{self, Wording};
use crate::args::SendArgs;
use crate::attached::Attachments;
use crate::failure::Failure;
use crate::here::Here;
use crate::which::stored;
use crate::words::scripts;
use crate::{Answer, stdin, words};

pub(crate) fn run(args: &SendArgs, here: &Here) -> Result<Answer, Failure> {
    let chosen = Chosen::of(&args.chosen);
    let (session, saying) = match args.unanswered {
        true => (stored(here, args.words.only_session()?)?, Saying::Unanswered),
        false => {
            let (session, [text]) = args.words.split("TEXT")?;
            let session = stored(here, session)?;
            let files = edit::attachments(&args.files, here, &session)?;
            let text = text_of(text, here)?;
            let saying = saying(args, text, files, chosen)?;
            (session, saying)
        }
    };
    let message = Message { session, saying, if_running: if_running(args), json: args.json.json };
    let said = answered(message, here);
    // Below another point it does not wait for a turn of another branch.
    match args.at.is_some() && !args.beside {
        true => said.map_err(|failure| failure.and_where_hinted(scripts::ABORTS, scripts::BESIDE_HINT)),
        false => said,
    }
}

fn text_of(text: &str, here: &Here) -> Result<String, Failure> {
    if text == "-" {
        stdin::say_that_it_is_read(&here.look);
        stdin::text()
    } else {
        Ok(text.to_owned())
    }
}

/// Who sends only a file says something too; another version of something needs words.
fn saying(
    args: &SendArgs,
    text: String,
    files: Option<Attachments>,
    chosen: Chosen,
) -> Result<Saying, Failure> {
    let is_blank = text.trim().is_empty();
    match &args.edit {
        _ if is_blank && files.as_ref().is_none_or(Attachments::is_nothing) => {
            Err(Failure::refused(words::BLANK_PROMPT))
        }
        Some(_) if is_blank => Err(Failure::refused(words::BLANK_PROMPT)),
        Some(at) => {
            let (at, wording, to) = (at.as_str().into(), Wording { text, files }, VersionTo::Version);
            Ok(Saying::Version { at, wording, chosen, to })
        }
        None => {
            let prompt = files.unwrap_or_default().with(text);
            let at = args.at.as_deref().map(|at| args.exact.point(at));
            Ok(Saying::New { prompt, at, chosen })
        }
    }
}

fn if_running(args: &SendArgs) -> IfRunning {
    match (args.abort_first, args.beside) {
        (true, _) => IfRunning::AbortFirst,
        (false, true) => IfRunning::Beside,
        (false, false) => IfRunning::Wait,
    }
}
