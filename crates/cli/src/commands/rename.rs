//! `offshoot rename [SESSION] TITLE`: another title. An empty one takes it away. With `--write-back` Claude Code is told
//! too, and SESSION may be a file of it.

use std::path::{Path, PathBuf};

use offshoot_api::{Request, request};
use offshoot_session::SessionId;

use crate::args::RenameArgs;
use crate::change::change;
use crate::failure::Failure;
use crate::here::Here;
use crate::stored::read;
use crate::text::harmless_line;
use crate::which::{Which, short, stored, which};
use crate::write_back::{file_of, files_of_bindings, tell};
use crate::{Answer, words};

pub(crate) fn run(args: &RenameArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [title]) = args.words.split("TITLE")?;
    if !args.write_back {
        let text = rename(&stored(here, session)?, title, here)?;
        return Ok(Answer { text, ..Answer::default() });
    }
    let text = match which(here, session)? {
        Which::File(file) => told(&file, title, here)?,
        Which::Stored(id) => match here.store()?.reference(&id) {
            Some(source) => in_both(&id, Path::new(&source.path), title, here)?,
            None => {
                let files = files_of(&id, here)?;
                let mut text = rename(&id, title, here)?;
                for file in files {
                    text.push_str(&told(&file, title, here)?);
                }
                text
            }
        },
    };
    Ok(Answer { text, ..Answer::default() })
}

/// The file of the session itself, else those of the sessions of Claude Code that its branches are bound to.
fn files_of(id: &SessionId, here: &Here) -> Result<Vec<PathBuf>, Failure> {
    match file_of(id) {
        Ok(file) => Ok(vec![file]),
        Err(failure) => {
            let bound = files_of_bindings(&read(here, id)?.tree);
            if bound.is_empty() { Err(failure) } else { Ok(bound) }
        }
    }
}

/// A title that was given here stands above the one in the file, so it has to change too.
fn in_both(id: &SessionId, file: &Path, title: &str, here: &Here) -> Result<String, Failure> {
    let told = told(file, title, here)?;
    let tree = read(here, id)?.tree;
    let is_known = tree.title().unwrap_or_default() == title.trim();
    Ok(if is_known { told } else { rename(id, title, here)? + &told })
}

fn rename(id: &SessionId, title: &str, here: &Here) -> Result<String, Failure> {
    let request = request::Rename {
        session: id.to_string(),
        title: Some(title.to_owned()),
        client_id: Some(here.client_id()),
    };
    let changed = change(here, id, Request::Rename(request))?;
    let name = short(here, id);
    Ok(match (changed.changed, changed.session.title) {
        (false, _) => words::nothing_to_change(),
        (true, Some(title)) => words::renamed(&name, &harmless_line(&title, here.look.ascii)),
        (true, None) => words::title_gone(&name),
    })
}

fn told(file: &Path, title: &str, here: &Here) -> Result<String, Failure> {
    Ok(match tell(file, title.trim())? {
        true => words::told_claude(file, &harmless_line(title.trim(), here.look.ascii), here.look.ascii),
        false => words::nothing_to_change(),
    })
}
