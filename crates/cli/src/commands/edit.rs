//! `offshoot edit [SESSION] POINT TEXT`: a new version of a prompt, or another text for a reply or a tool result. What was
//! edited stays.

use std::path::Path;

use offshoot_api::response::Changed;
use offshoot_api::{Request, request};
use offshoot_session::address::{Want, short_id};
use offshoot_session::edited::text_to_edit;
use offshoot_session::{EntryId, SessionId, SessionTree};
use serde_json::json;

use super::answered::{Chosen, Message, Saying, answered};
use super::head::{self, Told, head_line, session_line, short_of, wants_json, with_session};
use crate::args::{AttachArgs, EditArgs, JsonShape};
use crate::attached::{Attachments, look_at_all};
use crate::change::{change, if_running};
use crate::failure::Failure;
use crate::here::Here;
use crate::living::seen;
use crate::opened::point;
use crate::stored::read;
use crate::which::{short, stored};
use crate::{Answer, editor, stdin, words};

pub(crate) fn run(args: &EditArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, at, text) = match args.editor {
        true => {
            let (session, [at]) = args.words.split("POINT --editor")?;
            (session, at, None)
        }
        false => {
            let (session, [at, text]) = args.words.split("POINT TEXT")?;
            (session, at, Some(text))
        }
    };
    let id = stored(here, session)?;
    let files = attachments(&args.files, here, &id)?;
    // Nobody else has to wait while the person thinks, so the session is read once more when it is written.
    let text = match text {
        None => {
            let tree = seen(here, &id)?.tree;
            let at = point(&tree, &at.into(), Want::Selection)?;
            editor::changed(&text_to_edit(&tree, &at).ok_or_else(|| no_text(&tree, &at))?)?
        }
        Some("-") => {
            stdin::say_that_it_is_read(&here.look);
            stdin::text()?
        }
        Some(text) => text.to_owned(),
    };
    let wording = Wording { text, files };
    if args.send {
        let (chosen, to) = (Chosen::of(&args.chosen), args.version.to());
        let saying = Saying::Version { at: at.into(), wording, chosen, to };
        let if_running = if_running(args.running.abort_first);
        return answered(Message { session: id, saying, if_running, json: args.json.json }, here);
    }
    let request = request::Edit {
        session: id.to_string(),
        at: at.into(),
        to: args.version.to(),
        agent: args.chosen.agent.clone(),
        model: args.chosen.model.clone(),
        if_running: if_running(args.running.abort_first),
        only_write: true,
        client_id: Some(here.client_id()),
        ..wording.edit()
    };
    let changed = change(here, &id, Request::Edit(request))?;
    Ok(new_version(here, session, &id, &changed, args.json.json))
}

/// What an old prompt is to say instead.
#[derive(Debug)]
pub(super) struct Wording {
    pub(super) text: String,
    /// `None`: those of the old version go along.
    pub(super) files: Option<Attachments>,
}

impl Wording {
    /// As it is asked of the engine.
    pub(super) fn edit(&self) -> request::Edit {
        let (attachments, images) = match self.files.clone() {
            Some(Attachments { files, images }) => (Some(files), Some(images)),
            None => (None, None),
        };
        request::Edit { text: self.text.clone(), attachments, images, ..request::Edit::default() }
    }
}

/// What was named to go with a message, looked at before anything is said. `None`: nothing was said about it.
pub(super) fn attachments(
    args: &AttachArgs,
    here: &Here,
    session: &SessionId,
) -> Result<Option<Attachments>, Failure> {
    if args.attach.is_empty() {
        return Ok(args.no_attachments.then(Attachments::default));
    }
    let attached = look_at_all(&args.attach)?;
    let tree = read(here, session)?.tree;
    let project = tree.header().and_then(|header| header.project.as_deref()).map(Path::new);
    Ok(Some(Attachments::of(&attached, project.unwrap_or(&here.folder))))
}

/// `Version 4 of #3 is a3f9d8`: the new version, where the head went, and how to take it back.
pub(super) fn new_version(
    here: &Here,
    session: Option<&str>,
    id: &SessionId,
    changed: &Changed,
    json: Option<JsonShape>,
) -> Answer {
    if let Some(child) = &changed.new_session {
        return version_in_child(here, id, &child.id.as_str().into(), changed, json);
    }
    if changed.prompt.is_none() {
        return edited_message(here, session, id, changed, json);
    }
    let version = head::version_of(changed);
    if wants_json(json) {
        let more = json!({"id": changed.prompt, "version": head::version_json(version)});
        return head::as_json(changed, more);
    }
    let place = changed.place.as_ref();
    let number = place.map_or(1, |place| place.number);
    let first = words::new_version(version.index, number, &short_of(place, &here.look));
    let moved = head_line(changed, &here.look) + &session_line(here, &changed.session);
    let rest = moved + &words::versions_stay(version.index - 1);
    let answer = words::scripts::answer_with(&with_session(here, "chat", session, id));
    let hint = format!("{answer}   {}", words::take_back(&with_session(here, "undo", session, id)));
    Told { first, rest, hint }.answer(&here.look)
}

/// `The edited message of #3 is a3f9d8`: no prompt, so no version of one.
fn edited_message(
    here: &Here,
    session: Option<&str>,
    id: &SessionId,
    changed: &Changed,
    json: Option<JsonShape>,
) -> Answer {
    if wants_json(json) {
        return head::as_json(changed, json!({"id": changed.entries.last(), "version": null}));
    }
    let place = changed.place.as_ref();
    let number = place.map_or(0, |place| place.number);
    let first = words::edited_message(number, &short_of(place, &here.look));
    let moved = head_line(changed, &here.look) + &session_line(here, &changed.session);
    let hint = words::take_back(&with_session(here, "undo", session, id));
    Told { first, rest: moved + words::OLD_MESSAGE_STAYS, hint }.answer(&here.look)
}

/// `Session 4c1b77 begins before #3 of a3f9d8, with another version`: the same where the version began a session.
fn version_in_child(
    here: &Here,
    origin: &SessionId,
    child: &SessionId,
    changed: &Changed,
    json: Option<JsonShape>,
) -> Answer {
    if wants_json(json) {
        let parent = origin.as_str();
        return head::as_json(
            changed,
            json!({ "id": changed.entries.last(), "new_session": child.as_str(), "parent": parent }),
        );
    }
    let number = changed.place.as_ref().map_or(1, |place| place.number.max(1));
    let (child_short, origin) = (short(here, child), short(here, origin));
    let undo = words::take_back(&with_session(here, "undo", None, child));
    let back = words::session_of_folder(&origin);
    let (first, hint) = match &changed.prompt {
        Some(_) => {
            let answer = words::scripts::answer_with(&with_session(here, "chat", None, child));
            let first = words::scripts::version_begins_session(&child_short, number, &origin);
            (first, format!("{back}\n{answer}   {undo}"))
        }
        None => {
            let first = words::scripts::edited_message_begins_session(&child_short, number, &origin);
            (first, format!("{back}\n{undo}"))
        }
    };
    Told { first, rest: String::new(), hint }.answer(&here.look)
}

fn no_text(tree: &SessionTree, at: &EntryId) -> Failure {
    Failure::refused(words::no_text(&short_id(tree, at))).hint(words::NO_TEXT_HINT)
}
