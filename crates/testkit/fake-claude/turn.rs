//! A prompt from its line on standard input to the state `idle`.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::claude::{Claude, Stop};
use super::input;
use super::message::Speaker;
use super::result::End;
use super::script::{Step, steps};
use super::transcript::{INTERRUPTED, SUMMARY, texts};
use super::wire::kill_self;

/// Between the pieces of a text, so that a test can interrupt it.
const PACE: Duration = Duration::from_millis(2);

impl Claude {
    pub(super) fn take(&mut self, prompt: &Value) -> Result<(), Stop> {
        let uuid = prompt["uuid"].as_str().map_or_else(|| self.ids.uuid(), str::to_owned);
        let content = prompt["message"]["content"].clone();
        let text = texts(&content).join("\n");
        self.tell_state("running")?;
        self.tell_lifecycle(&uuid, "queued")?;
        self.tell_lifecycle(&uuid, "started")?;
        if let Some(command) = text.strip_prefix('/') {
            let done = self.perform_command(&uuid, command);
            return self.end_turn(&uuid, &text, done);
        }
        self.tell_init()?;
        self.tell(json!({"type": "system", "subtype": "status", "status": "requesting", "user_message_uuids": [uuid]}))?;
        let is_first = self.transcript.tip.is_none();
        self.write_node(
            &uuid,
            json!({
                "type": "user", "message": {"role": "user", "content": content}, "permissionMode": self.mode,
                "promptSource": "sdk", "turnOrigin": "sdk",
            }),
        )?;
        if is_first {
            self.attach(&json!({"type": "environment", "snapshot": {"workingDirectory": self.workspace}}))?;
        }
        self.replay(&uuid, &content)?;
        let done = if prompt["shouldQuery"] == false { Ok(String::new()) } else { self.perform(&text) };
        self.end_turn(&uuid, &text, done)
    }

    fn end_turn(&mut self, prompt: &str, text: &str, done: Result<String, Stop>) -> Result<(), Stop> {
        let failed = self.failed.take();
        let ended = match (done, failed) {
            (Ok(_), Some((status, problem))) => {
                self.tell_result(&End::failed(status, &problem), Some(prompt)).map(|()| "completed")
            }
            (Ok(said), None) => {
                if !self.config.is_old() {
                    self.attach(&json!({"type": "prompt_snapshot"}))?;
                }
                self.remember_tip(text)?;
                self.tell_result(&End::completed(&said), Some(prompt)).map(|()| "completed")
            }
            (Err(Stop::Interrupted), _) => self.tell_interrupt(prompt).map(|()| "cancelled"),
            (Err(stop), _) => return Err(stop),
        };
        self.tell_lifecycle(prompt, ended?)?;
        match self.await_agents() {
            Ok(()) | Err(Stop::Interrupted) => {}
            Err(stop) => return Err(stop),
        }
        self.tell_state("idle")?;
        Ok(())
    }

    fn tell_interrupt(&mut self, prompt: &str) -> io::Result<()> {
        self.abort_message()?;
        let call = self.open_call.take();
        let in_tool = call.is_some() || std::mem::take(&mut self.was_in_tool);
        if let Some(call) = call {
            self.tell_rejection(&call)?;
        }
        let uuid = self.ids.uuid();
        let text = format!("{INTERRUPTED}{}]", if in_tool { " for tool use" } else { "" });
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        self.write_node(&uuid, json!({"type": "user", "message": message}))?;
        self.tell(json!({"type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid}))?;
        self.tell_result(&End::aborted(in_tool), Some(prompt))
    }

    pub(super) fn tell_result(&mut self, end: &End<'_>, prompt: Option<&str>) -> io::Result<()> {
        let line = self.spent.result(end, prompt, self.config.is_old());
        self.tell(line)
    }

    fn tell_lifecycle(&mut self, prompt: &str, state: &str) -> io::Result<()> {
        if self.config.is_old() {
            return Ok(());
        }
        self.tell(json!({"type": "command_lifecycle", "command_uuid": prompt, "state": state}))
    }

    pub(super) fn tell_init(&mut self) -> io::Result<()> {
        let usual = || ["Task", "Bash", "Read", "Write", "Edit"].map(str::to_owned).into();
        let tools: Vec<String> = self.options.tools.clone().unwrap_or_else(usual);
        self.tell(json!({
            "type": "system", "subtype": "init", "cwd": self.workspace, "tools": tools,
            "mcp_servers": [], "model": self.model, "permissionMode": self.mode, "slash_commands": ["compact", "clear"],
            "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": self.config.version, "agents": ["general-purpose"],
        }))
    }

    fn replay(&mut self, uuid: &str, content: &Value) -> io::Result<()> {
        if !self.options.replay_prompts {
            return Ok(());
        }
        let message = json!({"role": "user", "content": content});
        self.tell(json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid, "isReplay": true,
            "timestamp": self.transcript.time(),
        }))
    }

    fn attach(&mut self, attachment: &Value) -> io::Result<()> {
        let uuid = self.ids.uuid();
        self.write_node(&uuid, json!({"type": "attachment", "attachment": attachment}))
    }

    fn remember_tip(&mut self, prompt: &str) -> io::Result<()> {
        let (session, leaf) = (self.transcript.session.clone(), self.transcript.tip.clone());
        self.write(
            json!({"type": "last-prompt", "lastPrompt": prompt, "leafUuid": leaf, "sessionId": session}),
        )
    }

    /// Performs the script of a prompt. Without one the answer is the list of all prompts that the model sees.
    fn perform(&mut self, prompt: &str) -> Result<String, Stop> {
        let mut steps = steps(prompt);
        let is_spoken = |step: &Step| matches!(step, Step::Say(_) | Step::Big(_) | Step::Flood(_));
        if steps.is_empty() || matches!(steps.last(), Some(Step::Call { .. } | Step::Agent(_))) {
            let known = self.transcript.prompts();
            steps.push(Step::Say(json!(known).to_string()));
        }
        let mut said = String::new();
        for (at, step) in steps.iter().enumerate() {
            let goes_on = steps.get(at + 1..).is_some_and(|rest| rest.iter().any(is_spoken));
            self.step(step, &mut said)?;
            if self.failed.is_some() {
                break;
            }
            let ends_message = match steps.get(at + 1) {
                Some(next) => !is_part(next) || (is_call(step) && !is_call(next)),
                None => true,
            };
            if ends_message {
                self.finish_message(goes_on)?;
            }
        }
        Ok(said)
    }

    fn step(&mut self, step: &Step, said: &mut String) -> Result<(), Stop> {
        if is_part(step) && self.message.is_none() {
            self.begin_message()?;
        }
        match step {
            Step::Say(text) => {
                self.speak("text", text, PACE)?;
                said.clone_from(text);
            }
            Step::Time => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let text = now.unwrap_or_default().as_micros().to_string();
                self.speak_in_one_piece(&text)?;
            }
            Step::Think(text) => self.speak("thinking", text, PACE)?,
            Step::Call { name, input } => {
                let id = self.ids.short("toolu_01");
                self.speak_call(&id, name, input)?;
                self.calls.push((id, name.clone(), input.clone()));
            }
            Step::Agent(input) => {
                let id = self.ids.short("toolu_01");
                let mut input = input.clone();
                input["subagent_type"] = json!("general-purpose");
                self.speak_call(&id, "Agent", &input)?;
                self.calls.push((id, "Agent".to_owned(), input));
            }
            Step::Wait(time) => self.pause(*time)?,
            Step::Silence => loop {
                self.pause(Duration::from_secs(3600))?;
            },
            Step::Deaf => self.turn_deaf()?,
            Step::Void(text) => {
                self.stream_text("text", text, PACE)?;
                self.void_message();
            }
            Step::Retry => self.tell_retry(1, 500, "server_error")?,
            Step::Fail(status) => self.fail(*status)?,
            Step::Compact => self.compact("auto")?,
            Step::Garbage(text) => self.wire.raw(format!("{text}\n").as_bytes())?,
            Step::Big(bytes) => self.speak_at_once("x".repeat(*bytes))?,
            Step::Flood(lines) => {
                let text = "0123456789ab".repeat(*lines);
                self.speak("text", &text, Duration::ZERO)?;
            }
            Step::Unknown => self.tell_unknown()?,
            Step::Twice => self.wire.twice = true,
            Step::CloseStdin => input::close()?,
            Step::Exit(code) => return Err(Stop::End(*code)),
            Step::Kill => kill_self(),
            Step::KillAfter(lines) => self.wire.lines_left = Some(*lines),
        }
        Ok(())
    }

    /// Ends the open message and runs the calls in it.
    fn finish_message(&mut self, goes_on: bool) -> Result<(), Stop> {
        let calls = std::mem::take(&mut self.calls);
        self.end_message(if calls.is_empty() { "end_turn" } else { "tool_use" })?;
        for (id, name, input) in &calls {
            self.open_call = Some(id.clone());
            if name == "Agent" {
                self.start_agent(id, input)?;
            } else {
                self.run_call(id, name, input, &Speaker::default())?;
            }
            self.open_call = None;
        }
        if goes_on && !calls.is_empty() {
            self.tell(json!({"type": "system", "subtype": "status", "status": "requesting"}))?;
        }
        Ok(())
    }

    fn tell_unknown(&mut self) -> io::Result<()> {
        self.tell(json!({"type": "keep_alive"}))?;
        self.tell(json!({"type": "system", "subtype": "weather", "sky": "blue"}))?;
        self.wire
            .send(&json!({"type": "control_request", "request_id": "u1", "request": {"subtype": "sing"}}))?;
        self.wire.send(&json!([1, 2]))?;
        self.wire.send(&json!({"kind": "no type at all"}))
    }

    fn tell_retry(&mut self, attempt: u32, status: u16, cause: &str) -> io::Result<()> {
        self.tell(json!({
            "type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10, "retry_delay_ms": 10,
            "error_status": status, "error": cause,
        }))
    }

    /// 400 fails at once; 401 is retried until an interrupt, others a few times.
    fn fail(&mut self, status: u16) -> Result<(), Stop> {
        let (cause, attempts) = match status {
            401 => ("authentication_failed", u32::MAX),
            400..500 => ("invalid_request", 0),
            529 => ("overloaded", 2),
            _ => ("server_error", 3),
        };
        for attempt in 1..=attempts {
            self.tell_retry(attempt, status, cause)?;
            self.pause(Duration::from_millis(10 * u64::from(attempt.min(10))))?;
        }
        let problem = format!("API Error: {status} {cause}");
        let uuid = self.ids.uuid();
        let block = json!({"type": "text", "text": problem});
        let mut message = self.message_of(&uuid, &block, Some("stop_sequence"));
        message["model"] = json!("<synthetic>");
        self.write_node(
            &uuid,
            json!({"type": "assistant", "message": message, "isApiErrorMessage": true, "error": cause}),
        )?;
        self.tell(json!({"type": "assistant", "message": message, "parent_tool_use_id": null, "uuid": uuid, "error": cause}))?;
        self.failed = Some((status, problem));
        Ok(())
    }

    fn perform_command(&mut self, uuid: &str, command: &str) -> Result<String, Stop> {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        match name {
            "compact" => self.compact("manual")?,
            "rename" => {
                let session = self.transcript.session.clone();
                self.write(json!({"type": "custom-title", "customTitle": rest, "sessionId": session}))?;
                self.tell(json!({"type": "system", "subtype": "session_title_changed", "title": rest}))?;
            }
            "clear" => {
                let conversation = self.ids.uuid();
                self.tell(json!({
                    "type": "conversation_reset", "new_conversation_id": conversation, "trigger": "clear",
                    "user_message_uuid": uuid,
                }))?;
                let (session, config) = (self.ids.uuid(), self.config.folder.clone());
                self.move_to(&session, &config);
                self.spent.forget();
            }
            _ => {}
        }
        let content =
            json!(format!("<command-name>/{name}</command-name>\n<command-args>{rest}</command-args>"));
        if name == "compact" {
            let message = json!({"role": "user", "content": content});
            self.write_node(uuid, json!({"type": "user", "message": message}))?;
        }
        self.replay(uuid, &content)?;
        Ok(String::new())
    }

    fn compact(&mut self, trigger: &str) -> Result<(), Stop> {
        self.tell(json!({"type": "system", "subtype": "status", "status": "compacting"}))?;
        let summary = format!("{SUMMARY}\n{}", json!(self.transcript.prompts()));
        let (boundary, uuid, last) = (self.ids.uuid(), self.ids.uuid(), self.transcript.tip.clone());
        self.write_node(
            &boundary,
            json!({
                "parentUuid": null, "logicalParentUuid": last, "type": "system", "subtype": "compact_boundary",
                "content": "Conversation compacted", "level": "info",
                "compactMetadata": {"trigger": trigger, "preTokens": 9000, "postTokens": 900},
            }),
        )?;
        let message = json!({"role": "user", "content": summary});
        self.write_node(
            &uuid,
            json!({"type": "user", "message": message, "isCompactSummary": true, "isVisibleInTranscriptOnly": true}),
        )?;
        self.tell(
            json!({"type": "system", "subtype": "status", "status": null, "compact_result": "success"}),
        )?;
        self.tell(json!({
            "type": "system", "subtype": "compact_boundary", "uuid": boundary, "logical_parent_uuid": last,
            "compact_metadata": {"trigger": trigger, "pre_tokens": 9000, "post_tokens": 900},
        }))?;
        self.tell(json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid, "isReplay": false,
            "isSynthetic": true,
        }))?;
        Ok(())
    }
}

/// Steps that belong to a message of the model.
fn is_part(step: &Step) -> bool {
    matches!(
        step,
        Step::Say(_)
            | Step::Time
            | Step::Think(_)
            | Step::Call { .. }
            | Step::Agent(_)
            | Step::Void(_)
            | Step::Big(_)
            | Step::Flood(_)
    )
}

fn is_call(step: &Step) -> bool {
    matches!(step, Step::Call { .. } | Step::Agent(_))
}
