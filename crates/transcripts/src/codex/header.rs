//! The first line of a rollout: whose it is, where it happened, what it continues.

use jiff::Timestamp;
use offshoot_session::{BranchReason, Lineage, SessionHeader, SessionId};
use serde_json::Value;

use super::family::HistoryBase;
use crate::json::{Map, id_text, integer, text, timestamp};
use crate::nested::object;

#[derive(Clone, Debug, Default)]
pub(super) struct Meta {
    pub(super) thread: Option<String>,
    pub(super) opened_at: Option<Timestamp>,
    pub(super) project: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) forked_from: Option<String>,
    /// The thread that set this one to work.
    pub(super) spawned_by: Option<String>,
    pub(super) base: Option<HistoryBase>,
}

pub(super) fn meta_of(map: &Map) -> Meta {
    let id = |key| map.get(key).and_then(id_text);
    Meta {
        thread: id("id").or_else(|| id("session_id")),
        opened_at: map.get("timestamp").and_then(timestamp),
        project: text(map, "cwd").map(str::to_owned),
        provider: text(map, "model_provider").map(str::to_owned),
        forked_from: id("forked_from_id"),
        spawned_by: id("parent_thread_id").or_else(|| spawned_by(map)),
        base: object(map, "history_base").and_then(base_of),
    }
}

fn base_of(base: &Map) -> Option<HistoryBase> {
    Some(HistoryBase {
        rollout: base.get("thread_id").and_then(id_text)?,
        end: u64::try_from(integer(base, "end_ordinal_exclusive")?).ok()?,
    })
}

fn spawned_by(map: &Map) -> Option<String> {
    let spawn = object(object(object(map, "source")?, "subagent")?, "thread_spawn")?;
    spawn.get("parent_thread_id").and_then(id_text)
}

impl Meta {
    pub(super) fn header(&self, id: SessionId, opened_at: Timestamp) -> SessionHeader {
        SessionHeader {
            id,
            opened_at,
            project: self.project.clone(),
            agent: Some("codex".to_owned()),
            model: None,
            lineage: self.lineage(),
            foreign: None,
        }
    }

    fn lineage(&self) -> Option<Lineage> {
        let of_base =
            self.base.as_ref().map(|base| (&base.rollout, BranchReason::Other("revert".to_owned())));
        let forked = self.forked_from.as_ref().map(|parent| (parent, BranchReason::Fork));
        let spawned =
            self.spawned_by.as_ref().map(|parent| (parent, BranchReason::Other("sub-agent".to_owned())));
        let (parent, reason) = forked.or(of_base).or(spawned)?;
        let metadata = self.base.as_ref().map(|base| {
            let mut map = Map::new();
            map.insert("base_rollout".into(), Value::from(base.rollout.clone()));
            map.insert("end_ordinal_exclusive".into(), Value::from(base.end));
            Value::Object(map)
        });
        Some(Lineage {
            parent: parent.clone(),
            at: None,
            message_index: None,
            reason: Some(reason),
            metadata,
        })
    }
}
