//! The program's life: it takes a prompt when it is idle, and ends when its input does.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::config::Config;
use super::control::{self, Asked};
use super::ids::Ids;
use super::input::{self, Input};
use super::message::Message;
use super::opening;
use super::options::Options;
use super::result::Spent;
use super::status::{StatusFile, entrypoint};
use super::task::Task;
use super::tool::RunningTool;
use super::transcript::Transcript;
use super::wire::Wire;

/// Why a turn does not go on.
pub(super) enum Stop {
    Interrupted,
    End(u8),
}

impl From<io::Error> for Stop {
    /// Without its output the program has no purpose.
    fn from(_: io::Error) -> Self {
        Self::End(1)
    }
}

pub(super) struct Claude {
    pub(super) options: Options,
    pub(super) config: Config,
    pub(super) workspace: PathBuf,
    pub(super) wire: Wire,
    pub(super) ids: Ids,
    pub(super) transcript: Transcript,
    pub(super) model: String,
    pub(super) mode: String,
    pub(super) waiting: VecDeque<Value>,
    /// Answers to permission requests that have come.
    pub(super) answers: HashMap<String, Value>,
    pub(super) message: Option<Message>,
    /// Calls of the open message, to be run at its end: id, name, input.
    pub(super) calls: Vec<(String, String, Value)>,
    /// The call that has no result yet.
    pub(super) open_call: Option<String>,
    /// A denial has interrupted the turn.
    pub(super) was_in_tool: bool,
    /// The status and text of an API error that ended the turn.
    pub(super) failed: Option<(u16, String)>,
    pub(super) tasks: Vec<Task>,
    pub(super) tool: Option<RunningTool>,
    pub(super) spent: Spent,
    pub(super) is_busy: bool,
    pub(super) is_closed: bool,
    is_deaf: bool,
    input: Receiver<Input>,
    status: StatusFile,
    tells_state: bool,
}

impl Claude {
    pub(super) fn open(options: Options, mut config: Config) -> Result<Self, String> {
        let text = |error: io::Error| error.to_string();
        config.count_start().map_err(text)?;
        if let Some(problem) = config.fault("refuses_to_start").and_then(Value::as_str) {
            return Err(problem.to_owned());
        }
        let refused = config.fault("refuses").and_then(|texts| texts[config.start.to_string()].as_str());
        if let Some(problem) = refused {
            return Err(problem.to_owned());
        }
        let workspace = std::env::current_dir().map_err(text)?;
        let transcript = opening::transcript(&options, &config, &workspace)?;
        let status = StatusFile::new(&config, workspace.display().to_string()).map_err(text)?;
        status.write(&transcript.session, "idle").map_err(text)?;
        let saved = |kind: &str, field: &str| {
            transcript.last_of(kind).and_then(|line| line[field].as_str()).map(str::to_owned)
        };
        let mode = options.mode.clone().or_else(|| saved("permission-mode", "permissionMode"));
        let spent = Spent::saved(&transcript);
        let wire = Wire { lines_left: config.fault("kill_after").and_then(Value::as_u64), ..Wire::default() };
        Ok(Self {
            ids: Ids::new(&transcript.session, config.start),
            model: options.model.clone().unwrap_or_else(|| "claude-opus-5-5".to_owned()),
            mode: mode.unwrap_or_else(|| "default".to_owned()),
            tells_state: std::env::var_os("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS")
                .is_some_and(|on| on == "1"),
            is_deaf: config.fault("is_silent").is_some(),
            input: input::listen(),
            options,
            config,
            workspace,
            wire,
            transcript,
            waiting: VecDeque::new(),
            answers: HashMap::new(),
            message: None,
            calls: Vec::new(),
            open_call: None,
            was_in_tool: false,
            failed: None,
            tasks: Vec::new(),
            tool: None,
            spent,
            is_busy: false,
            is_closed: false,
            status,
        })
    }

    pub(super) fn run(&mut self) -> ExitCode {
        let code = self.live();
        self.end_tools();
        self.status.remove();
        ExitCode::from(code)
    }

    fn live(&mut self) -> u8 {
        loop {
            let done = match self.waiting.pop_front() {
                Some(prompt) => self.take(&prompt),
                None => self.idle(),
            };
            match done {
                Ok(()) => {}
                // An interrupt outside a turn does nothing.
                Err(Stop::Interrupted) => {}
                Err(Stop::End(code)) => return code,
            }
        }
    }

    fn idle(&mut self) -> Result<(), Stop> {
        self.end_finished_task()?;
        if self.is_closed && self.tasks.is_empty() {
            self.save_state()?;
            return Err(Stop::End(0));
        }
        let patience = if self.tasks.is_empty() { Duration::from_secs(3600) } else { LOOK };
        if self.waiting.is_empty() { self.listen(patience) } else { Ok(()) }
    }

    /// Handles the next input that comes in this time.
    pub(super) fn listen(&mut self, patience: Duration) -> Result<(), Stop> {
        if self.is_closed {
            std::thread::sleep(patience.min(LOOK));
            return Ok(());
        }
        match self.input.recv_timeout(patience) {
            Ok(Input::Line(line)) if !self.is_deaf => self.hear(line),
            Ok(Input::Line(_)) | Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(Input::NotJson) => Err(Stop::End(1)),
            Ok(Input::Closed) | Err(RecvTimeoutError::Disconnected) => {
                self.is_closed = true;
                Ok(())
            }
        }
    }

    pub(super) fn pause(&mut self, time: Duration) -> Result<(), Stop> {
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            self.listen(left)?;
        }
        Ok(())
    }

    /// Hears nothing any more, not even an interrupt.
    pub(super) fn turn_deaf(&mut self) -> Result<(), Stop> {
        self.is_deaf = true;
        loop {
            self.pause(Duration::from_secs(3600))?;
        }
    }

    fn hear(&mut self, line: Value) -> Result<(), Stop> {
        match line["type"].as_str() {
            Some("user") => self.waiting.push_back(line),
            Some("control_request") => match control::answer(self, &line)? {
                Asked::Answered => {}
                Asked::Interrupt => {
                    let body = if self.config.is_old() { json!({}) } else { json!({"still_queued": []}) };
                    let was_busy = self.is_busy || !self.tasks.is_empty();
                    self.stop_agents()?;
                    self.respond(&line, &body)?;
                    if was_busy {
                        return Err(Stop::Interrupted);
                    }
                }
                Asked::End => {
                    self.save_state()?;
                    self.respond(&line, &json!({}))?;
                    return Err(Stop::End(u8::from(self.is_busy)));
                }
            },
            Some("control_response") => {
                if let Some(request) = line["response"]["request_id"].as_str() {
                    self.answers.insert(request.to_owned(), line["response"]["response"].clone());
                }
                if self.options.replay_prompts {
                    self.wire.send(&line)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn respond(&mut self, request: &Value, body: &Value) -> io::Result<()> {
        let response = json!({"subtype": "success", "request_id": request["request_id"], "response": body});
        self.wire.send(&json!({"type": "control_response", "response": response}))
    }

    /// A line of standard output, with the keys that all have.
    pub(super) fn tell(&mut self, mut line: Value) -> io::Result<()> {
        let uuid = self.ids.uuid();
        if let Some(fields) = line.as_object_mut() {
            fields.entry("session_id").or_insert(json!(self.transcript.session));
            fields.entry("uuid").or_insert(json!(uuid));
        }
        self.wire.send(&line)
    }

    pub(super) fn tell_state(&mut self, state: &str) -> io::Result<()> {
        let status = match state {
            "running" => "busy",
            "requires_action" => "waiting",
            other => other,
        };
        self.is_busy = state != "idle";
        self.status.write(&self.transcript.session, status)?;
        if self.tells_state {
            let line = json!({"type": "system", "subtype": "session_state_changed", "state": state});
            self.tell(line)?;
        }
        Ok(())
    }

    /// Appends a line to the session file and tells the host of it.
    pub(super) fn write(&mut self, line: Value) -> io::Result<()> {
        self.transcript.append(line.clone())?;
        if self.options.mirror {
            let file = self.transcript.path.display().to_string();
            self.wire.send(&json!({"type": "transcript_mirror", "filePath": file, "entries": [line]}))?;
        }
        Ok(())
    }

    /// A line of the conversation below the tip.
    pub(super) fn write_node(&mut self, uuid: &str, fields: Value) -> io::Result<()> {
        let mut line = json!({"parentUuid": self.transcript.tip, "isSidechain": false});
        let around = json!({
            "uuid": uuid, "timestamp": self.transcript.time(), "userType": "external",
            "entrypoint": entrypoint(), "cwd": self.workspace, "sessionId": self.transcript.session,
            "version": self.config.version, "gitBranch": "HEAD",
        });
        for part in [fields, around] {
            if let (Some(all), Value::Object(part)) = (line.as_object_mut(), part) {
                all.extend(part);
            }
        }
        self.write(line)
    }

    /// A clean end saves what the next start of the session needs.
    fn save_state(&mut self) -> io::Result<()> {
        if self.transcript.tip.is_none() || !self.transcript.path.exists() {
            return Ok(());
        }
        let session = self.transcript.session.clone();
        let cost = self.spent.line(&session);
        self.write(cost)?;
        self.write(json!({"type": "permission-mode", "permissionMode": self.mode, "sessionId": session}))
    }

    pub(super) fn move_to(&mut self, session: &str, config: &Path) {
        let path =
            super::transcript::project_folder(config, &self.workspace).join(format!("{session}.jsonl"));
        self.transcript = Transcript::new(session, path);
    }
}

/// How often the end of a child process is looked for.
pub(super) const LOOK: Duration = Duration::from_millis(10);
