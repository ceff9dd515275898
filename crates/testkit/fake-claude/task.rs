//! Work in the background: sub-agents hold the turn open, shells do not. The end of either starts a turn.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::claude::{Claude, LOOK, Stop};
use super::message::Speaker;
use super::result::Tokens;
use super::tool::RunningTool;

pub(super) struct Task {
    id: String,
    call: String,
    description: String,
    work: Work,
}

enum Work {
    Agent { ends: Instant, asks: Option<Value>, report: String },
    Shell(RunningTool),
}

impl Task {
    fn is_agent(&self) -> bool {
        matches!(self.work, Work::Agent { .. })
    }

    fn has_ended(&mut self) -> io::Result<bool> {
        match &mut self.work {
            Work::Agent { ends, .. } => Ok(Instant::now() >= *ends),
            Work::Shell(tool) => Ok(tool.ended()?.is_some()),
        }
    }

    pub(super) fn kill(&mut self) {
        if let Work::Shell(tool) = &mut self.work {
            tool.kill();
        }
    }

    fn kind(&self) -> &'static str {
        if self.is_agent() { "local_agent" } else { "local_bash" }
    }
}

impl Claude {
    /// Starts a sub-agent: `{"prompt", "report", "wait": ms, "asks": {a call of Bash}}`.
    pub(super) fn start_agent(&mut self, call: &str, input: &Value) -> io::Result<()> {
        let wait = input["wait"].as_u64().unwrap_or_default();
        let asks = input.get("asks").filter(|asks| asks.is_object()).cloned();
        let report = input["report"].as_str().unwrap_or("The sub-agent is done.").to_owned();
        let ends = Instant::now() + Duration::from_millis(wait);
        self.begin_task(call, input, Work::Agent { ends, asks, report }, "agent")?;
        let agent = self.tasks.last().map(|task| task.id.clone()).unwrap_or_default();
        let text = format!("Async agent launched successfully.\nagentId: {agent}");
        let outcome = super::tool::Outcome {
            details: json!({"isAsync": true, "status": "async_launched", "agentId": agent}),
            text,
            is_error: false,
        };
        self.tell_outcome(call, &outcome, &Speaker::default())
    }

    pub(super) fn start_shell(&mut self, input: &Value) -> io::Result<String> {
        let tool = RunningTool::start(input["command"].as_str().unwrap_or_default())?;
        let call = self.open_call.clone().unwrap_or_default();
        self.begin_task(&call, input, Work::Shell(tool), "bash")?;
        let id = self.tasks.last().map(|task| task.id.as_str()).unwrap_or_default();
        Ok(format!("Command running in background with ID: {id}"))
    }

    fn begin_task(&mut self, call: &str, input: &Value, work: Work, prefix: &str) -> io::Result<()> {
        let id = self.ids.short(prefix);
        let description = input["description"].as_str().unwrap_or("background").to_owned();
        let task = Task { id: id.clone(), call: call.to_owned(), description: description.clone(), work };
        let kind = task.kind();
        self.tasks.push(task);
        self.tell_tasks()?;
        self.tell(json!({
            "type": "system", "subtype": "task_started", "task_id": id, "tool_use_id": call, "description": description,
            "subagent_type": "general-purpose", "is_backgrounded": true, "spawn_depth": 1, "task_type": kind,
            "prompt": input["prompt"],
        }))
    }

    fn tell_tasks(&mut self) -> io::Result<()> {
        let tasks: Vec<Value> = self
            .tasks
            .iter()
            .map(
                |task| json!({"task_id": task.id, "task_type": task.kind(), "description": task.description}),
            )
            .collect();
        self.tell(json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks}))
    }

    /// Waits for the sub-agents of the turn; the end of each starts a turn of its own.
    pub(super) fn await_agents(&mut self) -> Result<(), Stop> {
        while self.tasks.iter().any(Task::is_agent) {
            if !self.end_finished_task()? {
                self.listen(LOOK)?;
            }
        }
        Ok(())
    }

    pub(super) fn end_finished_task(&mut self) -> Result<bool, Stop> {
        let mut ended = None;
        for (at, task) in self.tasks.iter_mut().enumerate() {
            if task.has_ended()? {
                ended = Some(at);
                break;
            }
        }
        let Some(at) = ended else { return Ok(false) };
        let was_busy = self.is_busy;
        let (call, agent) =
            self.tasks.get(at).map(|task| (task.call.clone(), task.id.clone())).unwrap_or_default();
        let work = self.tasks.get_mut(at).map(|task| match &mut task.work {
            Work::Agent { asks, report, .. } => (asks.take(), Some(report.clone())),
            Work::Shell(_) => (None, None),
        });
        let (asks, report) = work.unwrap_or_default();
        if let Some(report) = &report {
            self.report_of_agent(&call, &agent, asks, report)?;
        }
        let task = self.tasks.remove(at);
        self.tell_end(&task, "completed", "completed", report.as_deref())?;
        if !was_busy {
            self.tell_state("running")?;
        }
        self.tell_follow_up(&task)?;
        if !was_busy {
            self.tell_state("idle")?;
        }
        Ok(true)
    }

    fn report_of_agent(
        &mut self,
        call: &str,
        agent: &str,
        asks: Option<Value>,
        report: &str,
    ) -> Result<(), Stop> {
        let speaker = Speaker { agent: Some((call.to_owned(), agent.to_owned())) };
        if let Some(asks) = asks {
            let own = self.ids.short("toolu_01");
            let block = json!({"type": "tool_use", "id": own, "name": "Bash", "input": asks});
            self.tell_of_agent(&speaker, &block)?;
            self.run_call(&own, "Bash", &asks, &speaker)?;
        }
        self.tell_of_agent(&speaker, &json!({"type": "text", "text": report}))?;
        let model = self.model.clone();
        self.spent.add(&model, Tokens { input: 500, output: 20 }, false);
        Ok(())
    }

    fn tell_of_agent(&mut self, speaker: &Speaker, block: &Value) -> io::Result<()> {
        let (id, uuid) = (self.ids.short("msg_01"), self.ids.uuid());
        let mut line = json!({
            "type": "assistant", "message": self.message_of(&id, block, None), "session_id": self.transcript.session,
            "uuid": uuid, "timestamp": self.transcript.time(),
        });
        speaker.mark(&mut line);
        self.wire.send(&line)
    }

    fn tell_end(
        &mut self,
        task: &Task,
        status: &str,
        notified: &str,
        summary: Option<&str>,
    ) -> io::Result<()> {
        self.tell(json!({
            "type": "system", "subtype": "task_updated", "task_id": task.id, "patch": {"status": status},
        }))?;
        self.tell(json!({
            "type": "system", "subtype": "task_notification", "task_id": task.id, "tool_use_id": task.call,
            "status": notified, "summary": summary.unwrap_or(&task.description),
        }))?;
        self.tell_tasks()
    }

    /// The turn that the program starts by itself. Its prompt is only in the file.
    fn tell_follow_up(&mut self, task: &Task) -> Result<(), Stop> {
        let uuid = self.ids.uuid();
        let text = format!(
            "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{}</tool-use-id>\n<status>completed</status>\n\
             </task-notification>",
            task.id, task.call
        );
        let message = json!({"role": "user", "content": text});
        self.write_node(
            &uuid,
            json!({"type": "user", "message": message, "turnOrigin": "task-notification"}),
        )?;
        self.tell_init()?;
        self.tell(json!({"type": "system", "subtype": "status", "status": "requesting"}))?;
        self.begin_message()?;
        let text = format!("The task `{}` has ended.", task.description);
        self.speak("text", &text, Duration::ZERO)?;
        self.end_message("end_turn")?;
        self.tell_result(&super::result::End::completed(&text), None)?;
        Ok(())
    }

    /// An interrupt ends sub-agents, not shells.
    pub(super) fn stop_agents(&mut self) -> io::Result<()> {
        while let Some(at) = self.tasks.iter().position(Task::is_agent) {
            let task = self.tasks.remove(at);
            self.tell_end(&task, "killed", "stopped", None)?;
        }
        Ok(())
    }

    pub(super) fn stop_task(&mut self, id: &str) -> io::Result<()> {
        if let Some(at) = self.tasks.iter().position(|task| task.id == id) {
            let mut task = self.tasks.remove(at);
            task.kill();
            self.tell_end(&task, "killed", "stopped", None)?;
        }
        Ok(())
    }
}
