//! `offshoot prev` and `offshoot next [SESSION] [POINT]`: left and right between the versions of a prompt.

use offshoot_api::request::{Step, Version};
use offshoot_api::{ApiError, ErrorCode, Request};
use offshoot_session::SessionId;
use serde_json::json;

use super::head::{self, Told, head_line, prompt_line, session_line, wants_json};
use crate::args::VersionArgs;
use crate::change::{asked, if_running};
use crate::failure::Failure;
use crate::here::Here;
use crate::refusals::explained;
use crate::which::{names_one, stored};
use crate::{Answer, words};

pub(crate) fn run(args: &VersionArgs, step: Step, here: &Here) -> Result<Answer, Failure> {
    let (session, at) = args.words.session_and_point(|word| names_one(here, word))?;
    let id = stored(here, session)?;
    let request = Version {
        session: id.to_string(),
        at: at.map(Into::into),
        step,
        if_running: if_running(args.running.abort_first),
        client_id: Some(here.client_id()),
    };
    let changed = match asked(here, Request::Version(request))? {
        Ok(changed) => changed,
        Err(error) => return no_other(args, step, &id, error, here),
    };
    let version = head::version_of(&changed);
    if wants_json(args.json.json) {
        let prompt = changed.place.as_ref().map(|place| place.entry.clone());
        return Ok(head::as_json(&changed, json!({"id": prompt, "version": head::version_json(version)})));
    }
    let about = words::version_of(version.index, version.total);
    let told = Told {
        first: prompt_line(changed.place.as_ref(), &about, &here.look),
        rest: head_line(&changed, &here.look) + &session_line(here, &changed.session),
        hint: String::new(),
    };
    Ok(told.answer(&here.look))
}

/// Beyond the first and the last version nothing happens, and that is not an error.
fn no_other(
    args: &VersionArgs,
    step: Step,
    id: &SessionId,
    error: ApiError,
    here: &Here,
) -> Result<Answer, Failure> {
    let data = &error.data;
    let (index, total) = match (error.code, data.index, data.total) {
        (ErrorCode::NoSuchVersion, Some(index), Some(total)) => (index, total),
        (ErrorCode::NoSuchVersion, ..) => {
            return Err(Failure::refused(words::NO_VERSIONS).hint(words::NO_VERSIONS_HINT));
        }
        _ => return Err(explained(here, id, &error)),
    };
    if wants_json(args.json.json) {
        let head = data.head.as_ref().and_then(|head| head.at.clone());
        let version = json!({"number": index, "of": total});
        let prompt = data.place.as_ref().map(|place| place.entry.clone());
        let object = json!({
            "session": id.as_str(), "head": head, "head_before": head, "changed": false,
            "id": prompt, "version": version,
        });
        return Ok(Answer { text: super::json::printed_object(object), ..Answer::default() });
    }
    let text = match (step, index) {
        _ if total == 1 => words::ONLY_VERSION.to_owned(),
        (Step::Previous, 1) => words::FIRST_VERSION.to_owned(),
        (Step::Next, last) if last == total => words::LAST_VERSION.to_owned(),
        _ => words::head_is_there(&head::place(data.head.as_ref().and_then(|head| head.place.as_ref()))),
    };
    Ok(Answer { text, ..Answer::default() })
}
