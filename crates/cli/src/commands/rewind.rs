//! `offshoot rewind [SESSION] POINT`: the conversation goes back to the end of a turn, or with `--before` above its prompt,
//! whose text comes back to be edited. What is left behind stays in the tree. Files are not rewound yet.

use offshoot_api::request::{Rewind, RewindScope, RewindSource};
use offshoot_api::response::{Changed, RewindPreview};
use offshoot_api::{ErrorCode, Request, Response};
use offshoot_session::SessionId;
use serde_json::json;

use super::head::{self, Told, head_line, session_line, wants_json, with_session, words_back};
use crate::args::RewindArgs;
use crate::change::{answered, if_running};
use crate::failure::Failure;
use crate::here::Here;
use crate::numbers::counted;
use crate::refusals::explained;
use crate::talk::unexpected;
use crate::which::stored;
use crate::{Answer, words};

pub(crate) fn run(args: &RewindArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [at]) = args.words.split("POINT")?;
    let id = stored(here, session)?;
    let changed = rewound(args, here, &id, at)?;
    let number = changed.place.as_ref().map_or(0, |place| place.number);
    let left = changed.turns_left_behind.unwrap_or_default();
    let text = changed.editor_text.as_deref();
    if wants_json(args.json.json) {
        let mut more = json!({ "turn": number, "turns_left_behind": left, "text": text });
        if let (true, Some(more)) = (args.resume, more.as_object_mut()) {
            more.insert("resumed".to_owned(), json!(changed.resumed));
        }
        return Ok(head::as_json(&changed, more));
    }
    let mut rest = head_line(&changed, &here.look) + &session_line(here, &changed.session);
    if left > 0 {
        rest.push_str(&words::scripts::left_behind(&counted(left, "turn", "turns"), left));
    }
    if args.resume && !args.dry_run {
        rest.push_str(&words::scripts::resumed(changed.resumed.as_ref()));
    }
    rest.push_str(&words_back(text, &here.look));
    let told = Told {
        first: words::scripts::rewound(number, args.before, args.dry_run),
        rest,
        hint: match args.dry_run || !changed.changed {
            true => String::new(),
            false => words::take_back(&with_session(here, "undo", session, &id)),
        },
    };
    Ok(told.answer(&here.look))
}

/// A preview says what would be changed, and nothing is.
fn rewound(args: &RewindArgs, here: &Here, id: &SessionId, at: &str) -> Result<Changed, Failure> {
    let request = Rewind {
        session: id.to_string(),
        to: args.exact.point(at),
        before: args.before,
        scope: RewindScope::Conversation,
        source: if args.resume { RewindSource::Agent } else { RewindSource::Offshoot },
        dry_run: args.dry_run,
        if_running: if_running(args.running.abort_first),
        client_id: Some(here.client_id()),
    };
    match answered(here, Request::Rewind(request))? {
        Ok(Response::Changed(changed)) => Ok(*changed),
        Ok(Response::RewindPreview(preview)) => Ok(as_changed(*preview)),
        Ok(other) => Err(unexpected(other)),
        Err(error) if error.code == ErrorCode::NothingToDo => {
            Err(Failure::refused(words::scripts::NO_TURN_THERE))
        }
        Err(error) => Err(explained(here, id, &error)),
    }
}

fn as_changed(preview: RewindPreview) -> Changed {
    let RewindPreview { session, head_before, head, to, editor_text, turns_left_behind, .. } = preview;
    Changed {
        session,
        head_before,
        head,
        place: to,
        editor_text,
        turns_left_behind: Some(turns_left_behind),
        ..Changed::default()
    }
}
