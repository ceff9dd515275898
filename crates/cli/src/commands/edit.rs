//! `offshoot edit [SESSION] POINT TEXT`: the same place, said differently. The old version stays.

use std::path::Path;

use offshoot_api::{Request, Response, request};
use offshoot_session::address::short_id;
use offshoot_session::plan::{EditRefused, Sent, plan_edit, plan_edit_with_files};
use offshoot_session::versions::turn_prompt;
use offshoot_session::{EntryId, HeadName, SessionId, SessionTree, Stamps};
use serde_json::json;

use super::answered::{Chosen, Message, Saying, answered};
use super::head::{self, Told, head_line, turn_number, version_of, wants_json, with_session};
use crate::args::{AttachArgs, EditArgs};
use crate::attached::{Attachments, look_at_all};
use crate::doing::{Done, Step, exactly, if_running, take};
use crate::failure::Failure;
use crate::here::Here;
use crate::opened::point;
use crate::stored::{Changed, read};
use crate::which::stored;
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
            let tree = read(here, &id)?.tree;
            let at = point(&tree, at)?;
            editor::changed(&old_text(&tree, &at)?)?
        }
        Some("-") => {
            stdin::say_that_it_is_read(&here.look);
            stdin::text()?
        }
        Some(text) => text.to_owned(),
    };
    let wording = Wording { text, files };
    if args.send {
        may_be_said(here, &id, at, &wording)?;
        let saying = Saying::Version { at: at.to_owned(), wording, chosen: Chosen::default() };
        let if_running = if_running(args.running.abort_first);
        return answered(Message { session: id, saying, if_running, json: args.json.json }, here);
    }
    let mut written = None;
    let done = take(here, &id, |tree, stamps| {
        let at = point(tree, at)?;
        let sent = wording.planned(tree, &at, stamps);
        let Sent { plan, prompt, .. } = sent.map_err(|refused| explained(tree, &refused))?;
        written = Some(prompt);
        let request = Request::Edit(request::Edit {
            session: id.to_string(),
            at: exactly(&at),
            if_running: if_running(args.running.abort_first),
            only_write: true,
            ..wording.edit()
        });
        Ok(Some(Step { plan, request }))
    })?;
    let Some(prompt) = new_prompt(&done).or(written) else { return Ok(Answer::default()) };
    let changed = done.changed;
    if wants_json(args.json.json) {
        return Ok(new_version_json(&id, &changed, &prompt));
    }
    Ok(told_of_version(here, session, &id, &changed, &prompt))
}

/// What an old prompt is to say instead.
#[derive(Debug)]
pub(super) struct Wording {
    pub(super) text: String,
    /// `None`: those of the old version go along.
    pub(super) files: Option<Attachments>,
}

impl Wording {
    fn planned(
        &self,
        tree: &SessionTree,
        at: &EntryId,
        stamps: &mut dyn Stamps,
    ) -> Result<Sent, EditRefused> {
        let (head, text) = (HeadName::main(), self.text.clone());
        match &self.files {
            None => plan_edit(tree, &head, at, &text, stamps),
            Some(files) => {
                plan_edit_with_files(tree, &head, at, files.clone().with(text).into_prompt(), stamps)
            }
        }
    }

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

/// Refused in words that know the session: whoever sends it would be refused too, in fewer words.
pub(super) fn may_be_said(here: &Here, id: &SessionId, at: &str, wording: &Wording) -> Result<(), Failure> {
    let tree = read(here, id)?.tree;
    let at = point(&tree, at)?;
    let planned = wording.planned(&tree, &at, &mut here.stamps());
    planned.map(|_| ()).map_err(|refused| explained(&tree, &refused))
}

/// The prompt that an engine wrote; alone it is the one that was planned.
pub(super) fn new_prompt(done: &Done) -> Option<EntryId> {
    match &done.answer {
        Some(Response::Sent(sent)) => sent.prompt.as_deref().map(EntryId::from),
        _ => None,
    }
}

/// The new version, where the head went, and how to take it back.
pub(super) fn told_of_version(
    here: &Here,
    session: Option<&str>,
    id: &SessionId,
    changed: &Changed,
    prompt: &EntryId,
) -> Answer {
    let mut told = new_version(changed, prompt, here);
    let answer = words::scripts::answer_with(&with_session(here, "chat", session, id));
    told.hint = format!("{answer}   {}", words::take_back(&with_session(here, "undo", session, id)));
    told.answer(&here.look)
}

/// `Version 4 of #3 is a3f9d8`
fn new_version(changed: &Changed, prompt: &EntryId, here: &Here) -> Told {
    let tree = &changed.after;
    let (version, _) = version_of(tree, prompt).unwrap_or((1, 1));
    let number = turn_number(tree, prompt).unwrap_or(1);
    let first = words::new_version(version, number, &short_id(tree, prompt));
    let rest = format!("{}{}", head_line(changed, &here.look), words::versions_stay(version - 1));
    Told { first, rest, ..Told::default() }
}

pub(super) fn new_version_json(
    id: &offshoot_session::SessionId,
    changed: &Changed,
    prompt: &EntryId,
) -> Answer {
    let (version, of) = version_of(&changed.after, prompt).unwrap_or((1, 1));
    let version = json!({"number": version, "of": of});
    head::as_json(id, changed, json!({"id": prompt.as_str(), "version": version}))
}

fn old_text(tree: &SessionTree, at: &EntryId) -> Result<String, Failure> {
    match tree.entry(at) {
        Some(entry) if entry.body.is_prompt() => Ok(entry.body.text()),
        Some(_) | None => Err(not_a_prompt(tree, at)),
    }
}

fn explained(tree: &SessionTree, refused: &EditRefused) -> Failure {
    match refused {
        EditRefused::SameText { version } => Failure::refused(words::same_text(*version)),
        EditRefused::Blank => Failure::refused(words::BLANK_PROMPT),
        EditRefused::NotAPrompt(at) => not_a_prompt(tree, at),
        EditRefused::NotFound(_) | EditRefused::UnknownHead(_) => Failure::not_found(refused.to_string()),
    }
}

pub(super) fn not_a_prompt(tree: &SessionTree, at: &EntryId) -> Failure {
    let failure = Failure::refused(words::not_a_prompt(&short_id(tree, at)));
    match turn_prompt(tree, at) {
        Some(prompt) => failure.hint(words::prompt_of_turn(&short_id(tree, &prompt.id))),
        None => failure,
    }
}
