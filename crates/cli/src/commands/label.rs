//! `offshoot label [SESSION] POINT TEXT`: a note on a point. Empty text or `-` removes it, as in the chat.

use offshoot_api::{Request, request};

use super::head::{Told, session_line, short_of};
use crate::args::LabelArgs;
use crate::change::change;
use crate::failure::Failure;
use crate::here::Here;
use crate::text::harmless_line;
use crate::which::stored;
use crate::{Answer, words};

pub(crate) fn run(args: &LabelArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [at, label]) = args.words.split("POINT TEXT")?;
    let label = if label == "-" { "" } else { label };
    let id = stored(here, session)?;
    let request = request::Label {
        session: id.to_string(),
        at: at.into(),
        label: Some(label.to_owned()),
        client_id: Some(here.client_id()),
    };
    let changed = change(here, &id, Request::Label(request))?;
    let labelled = short_of(changed.place.as_ref(), &here.look);
    let first = match (changed.changed, label.trim()) {
        (false, _) => return Ok(Answer { text: words::nothing_to_change(), ..Answer::default() }),
        (true, "") => words::label_gone(&labelled),
        (true, label) => words::labelled(&labelled, &harmless_line(label, here.look.ascii)),
    };
    let rest = session_line(here, &changed.session);
    Ok(Told { first, rest, ..Told::default() }.answer(&here.look))
}
