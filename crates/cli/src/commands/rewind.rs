//! `offshoot rewind [SESSION] POINT`: the conversation goes back to before a turn, and its words come back to be said
//! otherwise. What is left behind stays in the tree. Files are not rewound yet.

use offshoot_api::{Request, request};
use offshoot_session::plan::plan_rewind_conversation;
use offshoot_session::versions::turn_prompt;
use offshoot_session::{EntryId, HeadName, SessionTree};
use serde_json::json;

use super::head::{self, Told, head_line, turn_number, wants_json, with_session, words_back};
use crate::args::RewindArgs;
use crate::doing::{Done, Step, exactly, if_running, take};
use crate::failure::Failure;
use crate::here::Here;
use crate::numbers::counted;
use crate::opened::point;
use crate::stored::{Changed, read};
use crate::which::stored;
use crate::{Answer, words};

/// The turn that is gone back to.
struct Target {
    prompt: EntryId,
    /// Where the head goes; `None` is before the first entry.
    above: Option<EntryId>,
    number: usize,
    text: String,
    /// Turns on the way to the head that are left behind.
    left: usize,
}

pub(crate) fn run(args: &RewindArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [at]) = args.words.split("POINT")?;
    let id = stored(here, session)?;
    let target = Target::of(&read(here, &id)?.tree, at)?;
    let changed = match args.dry_run {
        true => would_be(read(here, &id)?.tree, &target)?,
        false => {
            let Done { changed, .. } = take(here, &id, |tree, stamps| {
                let plan = plan_rewind_conversation(tree, &HeadName::main(), target.above.as_ref(), stamps)
                    .map_err(|refused| Failure::not_found(refused.to_string()))?;
                let rewind = request::Rewind {
                    session: id.to_string(),
                    to: exactly(&target.prompt),
                    scope: request::RewindScope::Conversation,
                    dry_run: false,
                    if_running: if_running(args.running.abort_first),
                };
                Ok(Step::of(plan, Request::Rewind(rewind)))
            })?;
            changed
        }
    };
    if wants_json(args.json.json) {
        let more = json!({ "turn": target.number, "turns_left_behind": target.left, "text": target.text });
        let is_change = changed.is_change && !args.dry_run;
        return Ok(head::as_json(&id, &Changed { is_change, ..changed }, more));
    }
    let mut rest = head_line(&changed, &here.look);
    if target.left > 0 {
        rest.push_str(&words::scripts::left_behind(&counted(target.left, "turn", "turns"), target.left));
    }
    rest.push_str(&words_back(Some(&target.text), &here.look));
    let told = Told {
        first: words::scripts::rewound(target.number, args.dry_run),
        rest,
        hint: match args.dry_run || !changed.is_change {
            true => String::new(),
            false => words::take_back(&with_session(here, "undo", session, &id)),
        },
    };
    Ok(told.answer(&here.look))
}

impl Target {
    fn of(tree: &SessionTree, at: &str) -> Result<Self, Failure> {
        let at = point(tree, at)?;
        let prompt = turn_prompt(tree, &at).ok_or_else(|| Failure::refused(words::scripts::NO_TURN_THERE))?;
        let above = tree.parent(&prompt.id).map(|above| above.id.clone());
        let path = tree.path_to(tree.main_head());
        let stays = tree.path_to(above.as_ref());
        let shared = path.iter().zip(&stays).take_while(|(one, other)| one.id == other.id).count();
        let left = path.iter().skip(shared).filter(|entry| entry.body.is_prompt()).count();
        let number = turn_number(tree, &prompt.id).unwrap_or_default();
        Ok(Self { prompt: prompt.id.clone(), above, number, text: prompt.body.text(), left })
    }
}

/// As it would be afterwards.
fn would_be(before: SessionTree, target: &Target) -> Result<Changed, Failure> {
    let stamps = &mut crate::stamps::SystemStamps::new();
    let plan = plan_rewind_conversation(&before, &HeadName::main(), target.above.as_ref(), stamps)
        .map_err(|refused| Failure::not_found(refused.to_string()))?;
    let records = plan.map(|plan| plan.records).unwrap_or_default();
    let after = before.extended(&records).map_err(|rejected| Failure::failed(words::rejected(&rejected)))?;
    Ok(Changed { before, after, is_change: !records.is_empty() })
}
