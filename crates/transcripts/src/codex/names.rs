//! Names of rollouts and of threads.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::json::{text, timestamp};
use crate::lines::{Content, lines};

/// `rollout-<local time>-<thread>[_<rollout>].jsonl`: the id after `_`, or that of the thread.
pub fn rollout_id_from_file_name(file_name: &str) -> Option<&str> {
    const LOCAL_TIME: usize = "2026-01-31T23-59-59".len();
    let name = file_name.rsplit(['/', '\\']).next()?;
    let (_, behind) = name.split_once("rollout-")?;
    let ids = behind.get(LOCAL_TIME..)?.strip_prefix('-')?;
    let ids = ids.split_once('.').map_or(ids, |(ids, _)| ids);
    let id = ids.rsplit_once('_').map_or(ids, |(_, rollout)| rollout);
    Some(id).filter(|id| !id.is_empty())
}

/// What a person called a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadName {
    pub name: String,
    pub updated_at: Option<Timestamp>,
}

/// The names in `session_index.jsonl`, by thread. The last line about a thread counts; lines that say nothing
/// are passed over, because the file is an index and not a conversation.
pub fn thread_names(bytes: &[u8]) -> BTreeMap<String, ThreadName> {
    let mut names = BTreeMap::new();
    for line in lines(bytes) {
        let Content::Object(map) = line.content else { continue };
        if let (Some(id), Some(name)) = (text(&map, "id"), text(&map, "thread_name")) {
            let updated_at = map.get("updated_at").and_then(timestamp);
            names.insert(id.to_owned(), ThreadName { name: name.to_owned(), updated_at });
        }
    }
    names
}
