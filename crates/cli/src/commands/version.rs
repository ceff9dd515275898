//! `offshoot prev` and `offshoot next [SESSION] [POINT]`: left and right between the versions of a prompt.

use offshoot_api::Request;
use offshoot_api::request::{Step, Version};
use offshoot_session::plan::{VersionStep, plan_version};
use offshoot_session::versions::{last_with_versions, turn_prompt, versions_of};
use offshoot_session::{EntryId, HeadName, SessionTree};
use serde_json::json;

use super::head::{self, Told, head_line, place, prompt_line, version_of, wants_json};
use crate::args::VersionArgs;
use crate::doing::{self, Done, exactly, if_running, take};
use crate::failure::Failure;
use crate::here::Here;
use crate::opened::point;
use crate::which::{names_one, stored};
use crate::{Answer, words};

pub(crate) fn run(args: &VersionArgs, step: Step, here: &Here) -> Result<Answer, Failure> {
    let (session, at) = args.words.session_and_point(|word| names_one(here, word))?;
    let id = stored(here, session)?;
    let mut shown = None;
    let Done { changed, .. } = take(here, &id, |tree, stamps| {
        let prompt = match at {
            Some(at) => prompt_of(tree, &point(tree, at)?)?,
            None => last_with_versions(tree)
                .ok_or_else(|| Failure::refused(words::NO_VERSIONS).hint(words::NO_VERSIONS_HINT))?,
        };
        let plan = plan_version(tree, &HeadName::main(), &prompt, as_planned(step), stamps)
            .map_err(|refused| Failure::not_found(refused.to_string()))?;
        let (session, at) = (id.to_string(), Some(exactly(&prompt)));
        let if_running = if_running(args.running.abort_first);
        shown = Some(prompt);
        Ok(doing::Step::of(plan, Request::Version(Version { session, at, step, if_running })))
    })?;
    let Some(from) = shown else { return Ok(Answer::default()) };
    let tree = &changed.after;
    let prompt = shown_version(tree, &from).unwrap_or(from);
    let (version, of) = version_of(tree, &prompt).unwrap_or((1, 1));
    if wants_json(args.json.json) {
        let version = json!({"number": version, "of": of});
        return Ok(head::as_json(&id, &changed, json!({"id": prompt.as_str(), "version": version})));
    }
    if !changed.is_change {
        let text = match (step, version) {
            _ if of == 1 => words::ONLY_VERSION.to_owned(),
            (Step::Previous, 1) => words::FIRST_VERSION.to_owned(),
            (Step::Next, last) if last == of => words::LAST_VERSION.to_owned(),
            _ => words::head_is_there(&place(tree)),
        };
        return Ok(Answer { text, ..Answer::default() });
    }
    let told = Told {
        first: prompt_line(tree, &prompt, &words::version_of(version, of), &here.look),
        rest: head_line(&changed, &here.look),
        hint: String::new(),
    };
    Ok(told.answer(&here.look))
}

fn as_planned(step: Step) -> VersionStep {
    match step {
        Step::Previous => VersionStep::Previous,
        Step::Next => VersionStep::Next,
    }
}

fn prompt_of(tree: &SessionTree, at: &EntryId) -> Result<EntryId, Failure> {
    let prompt = turn_prompt(tree, at).ok_or_else(|| Failure::refused(words::NO_VERSIONS))?;
    Ok(prompt.id.clone())
}

/// The version of this prompt that the head stands below.
fn shown_version(tree: &SessionTree, prompt: &EntryId) -> Option<EntryId> {
    let head = tree.main_head()?;
    let versions = versions_of(tree, prompt);
    versions.into_iter().find(|version| tree.is_ancestor(&version.id, head)).map(|version| version.id.clone())
}
