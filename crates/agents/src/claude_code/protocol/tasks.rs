//! Sub-agents and other work in the background.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_session::agent::{AgentTurnEnd, BackgroundKind, BackgroundTask};
use offshoot_session::{TaskId, ToolCallId};
use serde_json::Value;

use super::json::{Map, list, text};

#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// The call that started each task.
    calls: BTreeMap<TaskId, ToolCallId>,
    /// Sub-agents, by the call that started them.
    running: BTreeSet<ToolCallId>,
    ended: BTreeSet<ToolCallId>,
    background: Vec<BackgroundTask>,
}

/// A task that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskEnd {
    pub(super) task: TaskId,
    pub(super) summary: String,
    /// The sub-agent that it was.
    pub(super) sub_agent: Option<(ToolCallId, AgentTurnEnd)>,
}

impl Tasks {
    /// The first that is heard of a sub-agent. Lines of one that has ended are late and do not count.
    pub(super) fn begins(&mut self, call: &ToolCallId) -> bool {
        !self.ended.contains(call) && self.running.insert(call.clone())
    }

    pub(super) fn has_ended(&self, call: &ToolCallId) -> bool {
        self.ended.contains(call)
    }

    /// `task_started`: gives the call of a sub-agent.
    pub(super) fn started(&mut self, line: &Map) -> Option<ToolCallId> {
        let (task, call) = (text(line, "task_id")?, text(line, "tool_use_id")?);
        let call = ToolCallId::from(call);
        self.calls.insert(task.into(), call.clone());
        is_agent(line).then_some(call)
    }

    /// `task_notification`
    pub(super) fn ended(&mut self, line: &Map) -> Option<TaskEnd> {
        let task = TaskId::from(text(line, "task_id")?);
        let call = text(line, "tool_use_id").map(ToolCallId::from).or_else(|| self.calls.get(&task).cloned());
        let end = match text(line, "status") {
            Some("stopped" | "killed") => AgentTurnEnd::Interrupted,
            Some(_) | None => AgentTurnEnd::Done,
        };
        let sub_agent = call.filter(|call| self.running.remove(call));
        if let Some(call) = &sub_agent {
            self.ended.insert(call.clone());
        }
        self.calls.remove(&task);
        let summary = text(line, "summary").unwrap_or_default().to_owned();
        Some(TaskEnd { task, summary, sub_agent: sub_agent.map(|call| (call, end)) })
    }

    /// Sub-agents that have not ended: they end with the connection.
    pub(super) fn end_all(&mut self) -> Vec<ToolCallId> {
        let running = std::mem::take(&mut self.running);
        self.ended.extend(running.iter().cloned());
        running.into_iter().collect()
    }

    /// `background_tasks_changed`, if the list differs from the last one.
    pub(super) fn background(&mut self, line: &Map) -> Option<Vec<BackgroundTask>> {
        let tasks = list(line, "tasks").iter().filter_map(Value::as_object);
        let tasks: Vec<_> = tasks.filter_map(|task| self.background_task(task)).collect();
        if tasks == self.background {
            return None;
        }
        self.background.clone_from(&tasks);
        Some(tasks)
    }

    fn background_task(&self, task: &Map) -> Option<BackgroundTask> {
        let id = TaskId::from(text(task, "task_id")?);
        let kind = match text(task, "task_type") {
            Some("local_bash") => BackgroundKind::Shell,
            Some(_) if is_agent(task) => BackgroundKind::SubAgent,
            Some(_) | None => BackgroundKind::Other,
        };
        let description = text(task, "description").unwrap_or_default().to_owned();
        let call = text(task, "tool_use_id").map(ToolCallId::from).or_else(|| self.calls.get(&id).cloned());
        Some(BackgroundTask { id, kind, description, call })
    }

    /// The call of the sub-agent with this id; ids of agents and of their tasks are the same.
    pub(super) fn call_of(&self, agent: &str) -> Option<ToolCallId> {
        self.calls.get(&TaskId::from(agent)).cloned()
    }
}

fn is_agent(task: &Map) -> bool {
    text(task, "task_type").is_some_and(|kind| kind.ends_with("_agent"))
        || text(task, "subagent_type").is_some()
}
