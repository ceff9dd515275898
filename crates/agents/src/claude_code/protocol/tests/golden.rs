//! Recordings of the real CLI, played into the machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use offshoot_session::agent::{
    AgentEventKind, AgentInput, AgentTurn, ConnectionEvent, ExitStatus, FromAgent, Speaker,
};
use offshoot_session::asks::{Answer, Asking};
use offshoot_session::{Block, Body, Setting, TurnId};
use offshoot_testkit::{NO_REAL_FILES, real_files};
use serde_json::{Value, json};

use super::super::laws::{Laws, opening, prompt};
use super::super::{Act, Line, Protocol, Timer};
use crate::claude_code::launch::Version;

fn recordings() -> Vec<PathBuf> {
    let named = std::env::var_os("OFFSHOOT_SHARED");
    let files = real_files(named, env!("CARGO_MANIFEST_DIR"), &["recordings/claude-code/stdio"], ".jsonl");
    files.into_iter().filter(|file| !file.ends_with("01-oneshot.jsonl")).collect()
}

/// One recording in the hands of a host that is our machine.
struct Play {
    protocol: Protocol,
    laws: Laws,
    acts: Vec<Act>,
    /// What was asked for under an id of the recording.
    recorded: BTreeMap<String, String>,
    /// Our ids of requests without an answer, by subtype.
    ours: BTreeMap<String, Vec<String>>,
    prompts: usize,
}

impl Play {
    fn of(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).expect("recording");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("line")).collect();
        let is_old =
            lines.iter().any(|line| line["dir"] == "argv" && !line["line"].to_string().contains("npm325"));
        let session =
            lines.iter().find_map(|line| line["line"]["session_id"].as_str().filter(|id| !id.is_empty()));
        let version = Version { major: 2, minor: 1, patch: if is_old { 197 } else { 325 } };
        let mut play = Self {
            protocol: Protocol::new(opening(session.unwrap_or("s"), version)),
            laws: Laws::default(),
            acts: Vec::new(),
            recorded: BTreeMap::new(),
            ours: BTreeMap::new(),
            prompts: 0,
        };
        let started = play.protocol.start();
        play.take(started);
        if !text.contains(r#""subtype": "initialize""#) {
            play.output(json!({
                "type": "control_response",
                "response": { "subtype": "success", "request_id": "offshoot-1", "response": {} },
            }));
        }
        let has_replays = text.contains(r#""isReplay": true"#) && text.contains("--replay-user-messages");
        let mut status = ExitStatus::Unknown;
        for line in lines {
            match line["dir"].as_str() {
                Some("in") => play.input(&line["line"]),
                Some("out") => {
                    play.output(line["line"].clone());
                    if !has_replays {
                        play.replay(&line["line"]);
                    }
                }
                Some("exit") => {
                    let code = line["line"].as_i64().or(line["code"].as_i64()).unwrap_or(0);
                    status = if code < 0 {
                        ExitStatus::Signal(-code as i32)
                    } else {
                        ExitStatus::Code(code as i32)
                    };
                }
                _ => {}
            }
        }
        let acts = play.protocol.exited(status, "");
        play.take(acts);
        play.laws.exited();
        play
    }

    fn take(&mut self, acts: Vec<Act>) {
        self.laws.watch(&acts);
        for act in &acts {
            let Act::Write(line) = act else { continue };
            let line: Value = serde_json::from_slice(line).expect("JSON");
            if let (Some(id), Some(kind)) = (line["request_id"].as_str(), line["request"]["subtype"].as_str())
            {
                self.ours.entry(kind.to_owned()).or_default().push(id.to_owned());
            }
        }
        self.acts.extend(acts);
    }

    fn output(&mut self, mut line: Value) {
        if line["type"] == "control_response"
            && let Some(kind) =
                line["response"]["request_id"].as_str().and_then(|id| self.recorded.remove(id))
            && let Some(ours) = self.ours.get_mut(&kind).filter(|ours| !ours.is_empty())
        {
            line["response"]["request_id"] = Value::String(ours.remove(0));
        }
        let acts = self.protocol.line(&Line::of(line.to_string().as_bytes()));
        self.take(acts);
    }

    /// Some recordings were made without replays, which we always ask for: `init` names the prompt that is taken.
    fn replay(&mut self, line: &Value) {
        for uuid in line["user_message_uuids"].as_array().into_iter().flatten() {
            if line["subtype"] == "init" {
                let message = json!({ "role": "user", "content": "" });
                self.output(json!({ "type": "user", "uuid": uuid, "isReplay": true, "message": message }));
            }
        }
    }

    fn input(&mut self, line: &Value) {
        let input = match line["type"].as_str() {
            Some("user") => {
                self.prompts += 1;
                let turn = TurnId::from(format!("t{}", self.prompts));
                let text = line["message"]["content"].as_str().unwrap_or("blocks");
                Some(prompt(turn, line["uuid"].as_str().unwrap_or_default(), text))
            }
            Some("control_request") => {
                let request = &line["request"];
                let kind = request["subtype"].as_str().unwrap_or_default();
                self.recorded
                    .insert(line["request_id"].as_str().unwrap_or_default().to_owned(), kind.to_owned());
                match kind {
                    "interrupt" => self.laws.current.clone().map(|turn| AgentInput::Interrupt { turn }),
                    "set_permission_mode" => {
                        let mode = request["mode"].as_str().unwrap_or_default().to_owned();
                        Some(AgentInput::Configure(vec![Setting::PermissionMode(mode)]))
                    }
                    "set_model" => {
                        let name = request["model"].as_str().unwrap_or_default().to_owned();
                        let model = offshoot_session::Model { provider: "anthropic".to_owned(), name };
                        Some(AgentInput::Configure(vec![Setting::Model { role: None, model }]))
                    }
                    "rename_session" => {
                        Some(AgentInput::Rename(request["title"].as_str().unwrap_or_default().to_owned()))
                    }
                    _ => None,
                }
            }
            Some("control_response") => {
                let request = line["response"]["request_id"].as_str().unwrap_or_default().to_owned();
                let response = &line["response"]["response"];
                let answer = match response["behavior"].as_str() {
                    Some("allow") => {
                        Some(Answer::Allow { input: response.get("updatedInput").cloned(), suggestion: None })
                    }
                    Some("deny") => Some(Answer::Deny { message: None }),
                    _ => None,
                };
                answer.map(|answer| AgentInput::Answer { turn: TurnId::from("any"), request, answer })
            }
            _ => None,
        };
        if let Some(input) = input {
            let acts = self.protocol.input(input);
            self.take(acts);
        }
    }
}

/// Kinds, short names for ids, and the first letters of texts.
#[derive(Default)]
struct Rendering {
    names: BTreeMap<String, String>,
    lines: Vec<String>,
    deltas: usize,
}

impl Rendering {
    fn name(&mut self, kind: char, id: &str) -> String {
        let next = self.names.values().filter(|name| name.starts_with(kind)).count() + 1;
        self.names.entry(format!("{kind}{id}")).or_insert_with(|| format!("{kind}{next}")).clone()
    }

    fn push(&mut self, line: String) {
        match self.lines.last_mut() {
            Some(last) if last.split(" ×").next() == Some(&line) => {
                self.deltas += 1;
                *last = format!("{line} ×{}", self.deltas);
            }
            Some(_) | None => {
                self.deltas = 1;
                self.lines.push(line);
            }
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Write(line) => {
                let line: Value = serde_json::from_slice(line).expect("JSON");
                let what =
                    line["request"]["subtype"].as_str().or(line["response"]["response"]["behavior"].as_str());
                let what =
                    what.or(line["response"]["subtype"].as_str()).or(line["message"]["content"].as_str());
                let text =
                    format!("write {} {}", line["type"].as_str().unwrap_or("?"), short(what.unwrap_or("")));
                self.push(text);
            }
            Act::Report(FromAgent::Turn(event)) => {
                let turn = match &event.turn {
                    AgentTurn::Prompted(turn) => turn.to_string(),
                    AgentTurn::SelfStarted(nth) => format!("self{nth}"),
                };
                let who = match &event.speaker {
                    Speaker::Agent => turn,
                    Speaker::SubAgent(call) => format!("{turn}/{}", self.name('c', call.as_str())),
                };
                let what = self.kind(&event.kind);
                self.push(format!("{who}: {what}"));
            }
            Act::Report(FromAgent::Connection(event)) => {
                let text = match event {
                    ConnectionEvent::Opened(info) => format!(
                        "opened {} {} {} models {}",
                        info.version.as_deref().unwrap_or("-"),
                        info.model.as_ref().map_or("-", |model| &model.name),
                        info.permission_mode.as_deref().unwrap_or("-"),
                        info.models.len(),
                    ),
                    ConnectionEvent::SessionChanged { cause, .. } => format!("session changed: {cause:?}"),
                    ConnectionEvent::SettingChanged(setting) => format!("{setting:?}"),
                    ConnectionEvent::TitleChanged(title) => format!("title {}", short(title)),
                    ConnectionEvent::Background(tasks) => {
                        let kinds: Vec<_> = tasks.iter().map(|task| task.kind).collect();
                        format!("background {kinds:?}")
                    }
                    ConnectionEvent::SignIn { .. } => "sign in".to_owned(),
                    ConnectionEvent::Notice(notice) => format!("notice {}", short(&notice.text)),
                    ConnectionEvent::Exited { status, .. } => format!("exited {status:?}"),
                };
                self.push(text);
            }
            Act::Arm(Timer::Silence, _) | Act::Disarm(Timer::Silence) => {}
            Act::Arm(timer, _) => self.push(format!("arm {timer:?}")),
            Act::Disarm(timer) => self.push(format!("disarm {timer:?}")),
            Act::End => self.push("end".to_owned()),
        }
    }

    fn kind(&mut self, kind: &AgentEventKind) -> String {
        match kind {
            AgentEventKind::Started { cause } => format!("started {}", short(&format!("{cause:?}"))),
            AgentEventKind::Delta { message, part, field, .. } => {
                format!("delta {} {part} {field:?}", self.name('m', message.as_str()))
            }
            AgentEventKind::Entry { id, message, body } => {
                let id = id.as_ref().map_or("-".to_owned(), |id| self.name('e', id.as_str()));
                let message = message.as_ref().map_or("-".to_owned(), |id| self.name('m', id.as_str()));
                format!("entry {id} {message} {}", rendered(body))
            }
            AgentEventKind::MessageEnded { message, stop, usage } => {
                let usage = usage.map(|usage| (usage.input, usage.output));
                format!("message ended {} {stop:?} {usage:?}", self.name('m', message.as_str()))
            }
            AgentEventKind::Discarded { message } => {
                format!("discarded {}", self.name('m', message.as_str()))
            }
            AgentEventKind::Ask { request, ask } => {
                let what = match ask {
                    Asking::Permission(permission) => {
                        let keys: Vec<_> =
                            permission.input.as_object().into_iter().flat_map(|input| input.keys()).collect();
                        format!("{} {keys:?}", permission.tool)
                    }
                    Asking::Questions(questions) => format!("{} questions", questions.len()),
                };
                format!("ask {} {what}", self.name('k', request))
            }
            AgentEventKind::AskConfirmed { request } => format!("ask confirmed {}", self.name('k', request)),
            AgentEventKind::AskWithdrawn { request } => format!("ask withdrawn {}", self.name('k', request)),
            AgentEventKind::Retrying { attempt, of, cause, .. } => {
                format!("retrying {attempt}/{of} {:?}", cause.kind)
            }
            AgentEventKind::Compacting => "compacting".to_owned(),
            AgentEventKind::Compacted { tokens_before, .. } => format!("compacted {tokens_before}"),
            AgentEventKind::Spent(sums) => {
                let mut text = "spent".to_owned();
                for sum in sums {
                    let name = sum.model.as_ref().map_or("-", |model| &model.name);
                    let usage = sum.usage;
                    write!(text, " {name} {}/{} {}µ$", usage.input, usage.output, usage.cost_micros)
                        .expect("text");
                }
                text
            }
            AgentEventKind::Ended(end) => format!("ended {end:?}"),
            AgentEventKind::Failed(failure) => format!("failed {:?} {}", failure.kind, short(&failure.text)),
        }
    }
}

fn rendered(body: &Body) -> String {
    match body {
        Body::Reply(reply) => {
            let blocks = reply.blocks.iter().map(|block| match block {
                Block::Text(text) => short(text),
                Block::Thinking(_) => "thinking".to_owned(),
                Block::ToolUse(call) => format!("call {}", call.name),
                Block::Image { .. } | Block::Other { .. } => "other".to_owned(),
            });
            let blocks = blocks.collect::<Vec<_>>().join("+");
            format!(
                "reply {blocks} {:?} {:?}",
                reply.stop,
                reply.usage.map(|usage| (usage.input, usage.output))
            )
        }
        Body::ToolResult(result) => format!("result of {} failed={}", result.tool, result.failed),
        Body::CustomMessage(message) => format!("custom {} display={}", message.kind, message.display),
        _ => "other".to_owned(),
    }
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    format!("`{}`", line.chars().take(24).collect::<String>())
}

#[test]
fn all_recordings_keep_the_laws() {
    let files = recordings();
    if files.is_empty() {
        eprintln!("skipped: all_recordings_keep_the_laws ({NO_REAL_FILES})");
        return;
    }
    for file in files {
        let play = Play::of(&file);
        assert_eq!(play.laws.broken, Vec::<String>::new(), "{}", file.display());
    }
}

#[test]
fn recordings_as_events() {
    let shown = [
        "02-plain-partial",
        "03-tools-permission",
        "04-interrupt",
        "05-subagent-hooks",
        "11-errors",
        "12a-subagent-runinbg-false",
        "14a-session-mirror",
        "14b-compact",
        "14d-slash",
        "16a-pending-perm-interrupt",
        "17-plan-mode",
        "18b-subagent-permission",
        "20a-v197-base",
        "21e-interrupt-bg",
        "21f-v197-int-deny",
    ];
    let files = recordings();
    if files.is_empty() {
        eprintln!("skipped: recordings_as_events ({NO_REAL_FILES})");
        return;
    }
    for file in files {
        let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if !shown.contains(&name.as_str()) {
            continue;
        }
        let mut rendering = Rendering::default();
        Play::of(&file).acts.iter().for_each(|act| rendering.act(act));
        insta::assert_snapshot!(name, rendering.lines.join("\n"));
    }
}
