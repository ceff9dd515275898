//! `offshoot rename [SESSION] TITLE`: another title. An empty one takes it away.

use offshoot_session::TitleSource;
use offshoot_session::plan::plan_rename;

use crate::args::RenameArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::stored::change;
use crate::text::harmless_line;
use crate::which::{short, stored};
use crate::{Answer, words};

pub(crate) fn run(args: &RenameArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [title]) = args.words.split("TITLE")?;
    let id = stored(here, session)?;
    let changed =
        change(here, &id, |tree, stamps| Ok(plan_rename(tree, Some(title), TitleSource::User, stamps)))?;
    let name = short(here, &id);
    let text = match (changed.is_change(), changed.after.title()) {
        (false, _) => words::nothing_to_change(),
        (true, Some(title)) => words::renamed(&name, &harmless_line(title, here.look.ascii)),
        (true, None) => words::title_gone(&name),
    };
    Ok(Answer { text, ..Answer::default() })
}
