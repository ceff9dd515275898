//! `offshoot import --flat FILE…`: a JSON list of messages becomes a session with one branch.

use std::path::Path;

use offshoot_session::flat::{import_flat, read_flat};
use offshoot_session::{Record, SessionHeader, SessionTree, Stamps};

use super::Imported;
use crate::args::ImportArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::session_file::bytes_of;
use crate::{stdin, words};

/// Stands for the format where others have the name of a program.
const DIALECT: &str = "flat";

/// Reads a list: the records of its session, and what is told about them. Nothing is written.
pub(super) fn read(path: &Path, args: &ImportArgs, here: &Here) -> Result<(Vec<Record>, Imported), Failure> {
    let file = path.to_string_lossy().into_owned();
    let bytes = match file.as_str() {
        "-" => {
            stdin::say_that_it_is_read(&here.look);
            stdin::text()?.into_bytes()
        }
        _ => {
            std::fs::metadata(path).map_err(|error| Failure::failed(words::cannot_read(path, &error)))?;
            bytes_of(path)?
        }
    };
    let mut messages =
        read_flat(&bytes).map_err(|why| Failure::failed(words::not_a_flat_list(&file, &why)))?;
    let left_out = messages.iter().take_while(|message| !message.body.is_prompt()).count();
    if left_out == messages.len() {
        return Err(Failure::failed(words::no_prompt_in_list(&file)));
    }
    if let (Some(first), Some(session)) = (messages.get_mut(left_out), &args.agent_session) {
        first.agent_session.get_or_insert_with(|| session.as_str().into());
    }
    let mut stamps = here.stamps();
    let mut header = SessionHeader::new(stamps.session_id(), stamps.now());
    header.project = Some(here.folder.to_string_lossy().into_owned());
    header.agent = args.agent.clone();
    let id = header.id.clone();
    let mut records = vec![Record::opened(header)];
    records.extend(import_flat(messages, &mut stamps));
    let tree = SessionTree::replay(records.iter().cloned()).0;
    let dialect = DIALECT.to_owned();
    Ok((records, Imported { id, file, other_id: None, dialect, oddities: 0, left_out, tree }))
}
