//! Calls of tools: the request for permission, and a command that runs in a session of its own as in the real program.

use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::claude::{Claude, LOOK, Stop};
use super::message::Speaker;

pub(super) struct RunningTool {
    child: Child,
    output: Receiver<String>,
}

/// What a call came to.
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) is_error: bool,
    pub(super) details: Value,
}

impl Outcome {
    fn done(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { details: json!({"stdout": text, "stderr": "", "interrupted": false}), text, is_error: false }
    }

    fn failed(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { details: json!(format!("Error: {text}")), text, is_error: true }
    }
}

enum Permission {
    Allowed(Value),
    Denied { message: String, interrupts: bool },
}

const READING: [&str; 5] = ["Read", "Glob", "Grep", "LS", "Agent"];
const EDITING: [&str; 3] = ["Write", "Edit", "NotebookEdit"];

impl RunningTool {
    pub(super) fn start(command: &str) -> io::Result<Self> {
        let mut child = Command::new("setsid")
            .args(["sh", "-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let (send, output) = channel();
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // A tool that is killed has said what it has said.
            let _ = stdout.map(|mut stdout| stdout.read_to_end(&mut bytes));
            let _ = send.send(String::from_utf8_lossy(&bytes).trim_end().to_owned());
        });
        Ok(Self { child, output })
    }

    /// What it has printed, once it has ended.
    pub(super) fn ended(&mut self) -> io::Result<Option<(String, bool)>> {
        let text = match self.output.try_recv() {
            Ok(text) => text,
            Err(TryRecvError::Empty) => return Ok(None),
            Err(TryRecvError::Disconnected) => String::new(),
        };
        Ok(Some((text, self.child.wait()?.success())))
    }

    pub(super) fn kill(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // One that has ended meanwhile needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Claude {
    /// Asks where it must, runs the tool, and tells the result.
    pub(super) fn run_call(
        &mut self,
        call: &str,
        name: &str,
        input: &Value,
        by: &Speaker,
    ) -> Result<(), Stop> {
        if self.options.tools.as_ref().is_some_and(|tools| !tools.iter().any(|tool| tool == name)) {
            let outcome = Outcome::failed(format!("No such tool available: {name}"));
            return Ok(self.tell_outcome(call, &outcome, by)?);
        }
        let outcome = match self.permission(call, name, input, by)? {
            Permission::Allowed(input) => self.run_tool(name, &input)?,
            Permission::Denied { message, interrupts } => {
                let outcome = Outcome::failed(message);
                if interrupts {
                    self.tell_outcome(call, &outcome, by)?;
                    self.open_call = None;
                    self.was_in_tool = true;
                    return Err(Stop::Interrupted);
                }
                outcome
            }
        };
        self.tell_outcome(call, &outcome, by)?;
        Ok(())
    }

    fn permission(
        &mut self,
        call: &str,
        name: &str,
        input: &Value,
        by: &Speaker,
    ) -> Result<Permission, Stop> {
        let is_question = name == "AskUserQuestion" || name == "ExitPlanMode";
        let is_free = READING.contains(&name)
            || self.mode == "bypassPermissions"
            || (self.mode == "acceptEdits" && EDITING.contains(&name));
        if is_free && !is_question {
            return Ok(Permission::Allowed(input.clone()));
        }
        if !self.options.asks || self.mode == "dontAsk" {
            let message =
                format!("Claude requested permissions to use {name}, but you haven't granted it yet.");
            return Ok(Permission::Denied { message, interrupts: false });
        }
        let request = self.ids.uuid();
        let mut ask = json!({
            "subtype": "can_use_tool", "tool_name": name, "display_name": name, "input": input, "tool_use_id": call,
        });
        if is_question {
            ask["requires_user_interaction"] = json!(true);
        } else {
            let rule = json!({"toolName": name, "ruleContent": "*"});
            ask["permission_suggestions"] = json!([
                {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"},
            ]);
        }
        if let Some((_, agent)) = &by.agent {
            ask["agent_id"] = json!(agent);
        }
        self.tell_state("requires_action")?;
        self.wire.send(&json!({"type": "control_request", "request_id": request, "request": ask}))?;
        let answer = loop {
            if let Some(answer) = self.answers.remove(&request) {
                break answer;
            }
            if self.is_closed {
                break json!({"behavior": "deny", "message": "AbortError"});
            }
            if let Err(stop) = self.listen(Duration::from_secs(3600)) {
                self.wire.send(&json!({"type": "control_cancel_request", "request_id": request}))?;
                self.tell_state("running")?;
                return Err(stop);
            }
        };
        self.tell_state("running")?;
        if answer["behavior"] == "allow" {
            let changed = answer.get("updatedInput").filter(|input| input.is_object());
            return Ok(Permission::Allowed(changed.unwrap_or(input).clone()));
        }
        let message = answer["message"].as_str().unwrap_or("denied").to_owned();
        Ok(Permission::Denied { message, interrupts: answer["interrupt"] == true })
    }

    fn run_tool(&mut self, name: &str, input: &Value) -> Result<Outcome, Stop> {
        let text = |field: &str| input[field].as_str().unwrap_or_default();
        let path = self.workspace.join(text("file_path"));
        let tried = match name {
            "Bash" if input["run_in_background"] == true => {
                return Ok(Outcome::done(self.start_shell(input)?));
            }
            "Bash" => return self.run_command(text("command")),
            "Write" => {
                std::fs::write(&path, text("content")).map(|()| "File created successfully".to_owned())
            }
            "Edit" => std::fs::read_to_string(&path).and_then(|old| {
                std::fs::write(&path, old.replacen(text("old_string"), text("new_string"), 1))?;
                Ok("The file has been updated successfully.".to_owned())
            }),
            "Read" => std::fs::read_to_string(&path),
            "AskUserQuestion" => Ok(answered(input)),
            "ExitPlanMode" => {
                self.mode = "default".to_owned();
                self.tell(json!({"type": "system", "subtype": "status", "status": null, "permissionMode": "default"}))?;
                Ok("User has approved your plan.".to_owned())
            }
            _ => Ok("done".to_owned()),
        };
        Ok(tried.map_or_else(|error| Outcome::failed(error.to_string()), Outcome::done))
    }

    fn run_command(&mut self, command: &str) -> Result<Outcome, Stop> {
        self.tool = Some(RunningTool::start(command)?);
        let (text, is_success) = loop {
            if let Some(ended) = self.tool.as_mut().map_or(Ok(None), RunningTool::ended)? {
                break ended;
            }
            if let Err(stop) = self.listen(LOOK) {
                if let Some(mut tool) = self.tool.take() {
                    tool.kill();
                }
                return Err(stop);
            }
        };
        self.tool = None;
        Ok(if is_success { Outcome::done(text) } else { Outcome::failed(text) })
    }

    pub(super) fn tell_outcome(&mut self, call: &str, outcome: &Outcome, by: &Speaker) -> io::Result<()> {
        let uuid = self.ids.uuid();
        let block = json!({
            "tool_use_id": call, "type": "tool_result", "content": outcome.text, "is_error": outcome.is_error,
        });
        let message = json!({"role": "user", "content": [block]});
        let mut line = json!({
            "type": "user", "message": message, "session_id": self.transcript.session, "uuid": uuid,
            "timestamp": self.transcript.time(), "tool_use_result": outcome.details,
        });
        by.mark(&mut line);
        if by.agent.is_none() {
            let source = self.transcript.tip.clone();
            self.write_node(
                &uuid,
                json!({"type": "user", "message": message, "toolUseResult": outcome.details, "sourceToolAssistantUUID": source}),
            )?;
        }
        self.wire.send(&line)
    }

    pub(super) fn tell_rejection(&mut self, call: &str) -> io::Result<()> {
        let outcome = Outcome::failed(
            "The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are doing \
             and wait for the user to tell you how to proceed.",
        );
        self.tell_outcome(call, &outcome, &Speaker::default())
    }

    /// A clean end leaves no tool behind.
    pub(super) fn end_tools(&mut self) {
        if let Some(mut tool) = self.tool.take() {
            tool.kill();
        }
        for mut task in self.tasks.drain(..) {
            task.kill();
        }
    }
}

fn answered(input: &Value) -> String {
    match input["answers"].as_object() {
        Some(answers) => {
            let pairs: Vec<String> =
                answers.iter().map(|(question, answer)| format!("\"{question}\"={answer}")).collect();
            format!("Your questions have been answered: {}", pairs.join(", "))
        }
        None => "The user did not answer the questions.".to_owned(),
    }
}
