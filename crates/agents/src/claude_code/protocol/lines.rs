//! What each kind of line means.

use offshoot_session::agent::{
    AgentEventKind, AgentNotice, AgentTurnEnd, ConnectionEvent, DeltaField, SessionChange, Speaker, TurnCause,
};
use offshoot_session::{AgentSessionId, Body, MessageKey, Setting, Stop, ToolCallId, text_of};
use serde_json::Value;

use super::asks::{self, PendingAsk};
use super::entries::{entries, is_synthetic_reply};
use super::failure::{self, Told};
use super::json::{Map, flag, list, number, object, text};
use super::requests::{Purpose, refuse};
use super::usage::{model, of_message, window_of};
use super::{NAMES_PROMPTS, Protocol};

impl Protocol {
    pub(super) fn take(&mut self, line: &Map) {
        let Some(kind) = text(line, "type") else {
            self.count("(no type)");
            return;
        };
        self.note_session(kind, line);
        match kind {
            "stream_event" => self.stream(line),
            "assistant" => self.assistant(line),
            "user" => self.user(line),
            "system" => self.system(line),
            "result" => self.result(line),
            "control_request" => self.requested(line),
            "control_response" => self.responded(line),
            "control_cancel_request" => self.cancelled(line),
            "conversation_reset" => self.is_reset = true,
            "command_lifecycle" => self.lifecycle(line),
            "auth_status" => self.signs_in(line),
            _ => self.count(kind),
        }
    }

    /// Every line names the session. The reset itself still names the old one.
    fn note_session(&mut self, kind: &str, line: &Map) {
        let session = text(line, "session_id").filter(|session| !session.is_empty());
        let Some(session) = session.filter(|_| kind != "conversation_reset") else { return };
        if self.session.as_str() == session {
            return;
        }
        let to = AgentSessionId::from(session);
        self.session = to.clone();
        self.info.session = Some(to.clone());
        let cause =
            if std::mem::take(&mut self.is_reset) { SessionChange::Cleared } else { SessionChange::Moved };
        self.report(ConnectionEvent::SessionChanged { to, cause });
    }

    fn stream(&mut self, line: &Map) {
        let Some(event) = object(line, "event") else { return };
        let speaker = speaker_of(line);
        let kind = text(event, "type").unwrap_or_default();
        if kind == "message_start" {
            let id = object(event, "message").and_then(|message| text(message, "id"));
            let Some(id) = id.or(text(line, "api_message_id")) else { return };
            let events = self.writing(&speaker).begin(MessageKey::from(id));
            return self.say(&speaker, events);
        }
        if !self.writing(&speaker).is_about(text(line, "api_message_id")) {
            return;
        }
        let events = match kind {
            "content_block_start" => self.writing(&speaker).next_block(),
            "content_block_delta" => {
                let part = number(event, "index").and_then(|index| u32::try_from(index).ok()).unwrap_or(0);
                match object(event, "delta").and_then(delta) {
                    Some((field, text)) => self.writing(&speaker).delta(part, field, text),
                    None => return,
                }
            }
            "message_delta" => {
                let stop = object(event, "delta").and_then(|delta| text(delta, "stop_reason")).map(stop_of);
                let usage = object(event, "usage").map(of_message);
                self.writing(&speaker).finished(stop, usage)
            }
            "message_stop" => self.writing(&speaker).stopped(),
            _ => return,
        };
        self.say(&speaker, events);
    }

    fn assistant(&mut self, line: &Map) {
        let read = entries(self.session.as_str(), line);
        let Some((read, (id, Body::Reply(reply)))) =
            read.and_then(|mut read| read.entries.pop().map(|entry| (read, entry)))
        else {
            return self.count("assistant");
        };
        let speaker = speaker_of(line);
        if is_synthetic_reply(line) {
            if speaker == Speaker::Agent && self.current_turn().is_some() {
                let told = Told::of(line, text_of(&reply.blocks));
                if let Some(open) = &mut self.turns.open {
                    open.told = Some(told);
                }
            }
            return;
        }
        for call in reply.tool_uses() {
            self.calls.insert(call.id.clone(), (call.name.clone(), call.input.clone()));
        }
        let key = read.message.map_or_else(|| MessageKey::from(id.as_str()), MessageKey::from);
        let events = self.writing(&speaker).block(key, id, reply);
        self.say(&speaker, events);
    }

    fn user(&mut self, line: &Map) {
        if flag(line, "isReplay") {
            return self.replayed(line);
        }
        let Some(read) = entries(self.session.as_str(), line) else { return self.count("user") };
        let speaker = speaker_of(line);
        for (id, body) in read.entries {
            match body {
                Body::ToolResult(mut result) => {
                    let mut events = self.writing(&speaker).result();
                    let call = result.call.clone();
                    if let Some((name, _)) = self.calls.remove(&call) {
                        result.tool = name;
                    }
                    let body = Body::ToolResult(result);
                    events.push(AgentEventKind::Entry { id: Some(id), message: None, body });
                    self.say(&speaker, events);
                    self.settle_asks_of(&call);
                }
                Body::CustomMessage(message) if speaker == Speaker::Agent => {
                    if flag(line, "isSynthetic")
                        && let Some(tokens_before) = self.compacted.take()
                    {
                        let summary = text_of(&message.blocks);
                        self.say(
                            &speaker,
                            vec![AgentEventKind::Compacted { summary, tokens_before, first_kept: None }],
                        );
                        continue;
                    }
                    let mut events = self.writing(&speaker).abandon();
                    let body = Body::CustomMessage(message);
                    events.push(AgentEventKind::Entry { id: Some(id), message: None, body });
                    self.say(&speaker, events);
                }
                // The task of a sub-agent is known from its call; `[Request interrupted…]` and the words of others
                // are no entries.
                _ => self.count("user"),
            }
        }
    }

    /// Our line was taken. A turn that the agent began by itself in the same moment ends here.
    fn replayed(&mut self, line: &Map) {
        let Some(uuid) = text(line, "uuid") else { return };
        if self.turns.is_written(uuid) {
            self.take_written();
        } else if !self.turns.is_open(uuid) {
            self.count("user (echo)");
        }
    }

    fn lifecycle(&mut self, line: &Map) {
        let is_command = self.turns.written.as_ref().is_some_and(|written| written.is_command);
        let uuid = text(line, "command_uuid").unwrap_or_default();
        if is_command && text(line, "state") == Some("started") && self.turns.is_written(uuid) {
            self.take_written();
        }
    }

    fn system(&mut self, line: &Map) {
        let subtype = text(line, "subtype").unwrap_or_default();
        match subtype {
            "session_state_changed" => match text(line, "state") {
                Some("idle") => self.idle(),
                Some(_) => self.turns.set_busy(true),
                None => {}
            },
            "init" => self.init(line),
            "status" => self.status(line),
            "api_retry" => self.retrying(line),
            "compact_boundary" => {
                let tokens = object(line, "compact_metadata").and_then(|told| number(told, "pre_tokens"));
                self.compacted = Some(tokens.unwrap_or(0));
            }
            "session_title_changed" => {
                let title = text(line, "title").map(str::to_owned);
                if let Some(title) = title.filter(|title| self.title.as_ref() != Some(title)) {
                    self.title = Some(title.clone());
                    self.report(ConnectionEvent::TitleChanged(title));
                }
            }
            "task_started" => {
                if let Some(call) = self.tasks.started(line) {
                    self.say(&Speaker::SubAgent(call), Vec::new());
                }
            }
            "task_notification" => {
                let Some(end) = self.tasks.ended(line) else { return };
                if let Some((call, end)) = end.sub_agent.clone() {
                    self.end_sub_agent(call, end);
                }
                self.turns.woken(end);
            }
            "background_tasks_changed" => {
                if let Some(tasks) = self.tasks.background(line) {
                    self.report(ConnectionEvent::Background(tasks));
                }
            }
            "task_progress" | "task_updated" | "thinking_tokens" => {}
            _ => self.count(subtype),
        }
    }

    fn init(&mut self, line: &Map) {
        let model = text(line, "model").and_then(model);
        let mode = text(line, "permissionMode").map(str::to_owned);
        let version = text(line, "claude_code_version").map(str::to_owned);
        if std::mem::replace(&mut self.has_init, true) {
            if let Some(model) = model.filter(|model| self.info.model.as_ref() != Some(model)) {
                self.info.model = Some(model.clone());
                self.info.context_window = None;
                self.report(ConnectionEvent::SettingChanged(Setting::Model { role: None, model }));
            }
            return self.mode_is(mode);
        }
        let before = self.info.clone();
        self.info.model = model.or(self.info.model.take());
        self.info.permission_mode = mode.or(self.info.permission_mode.take());
        self.info.version = version.or(self.info.version.take());
        if self.info != before {
            self.report(ConnectionEvent::Opened(self.info.clone()));
        }
    }

    fn mode_is(&mut self, mode: Option<String>) {
        if let Some(mode) = mode.filter(|mode| self.info.permission_mode.as_ref() != Some(mode)) {
            self.info.permission_mode = Some(mode.clone());
            self.report(ConnectionEvent::SettingChanged(Setting::PermissionMode(mode)));
        }
    }

    fn status(&mut self, line: &Map) {
        self.mode_is(text(line, "permissionMode").map(str::to_owned));
        match text(line, "status") {
            Some("compacting") => self.say(&Speaker::Agent, vec![AgentEventKind::Compacting]),
            // The model is asked. Versions that name the prompts tell so that it is not for ours.
            Some("requesting") => {
                let named = list(line, "user_message_uuids");
                let is_old = self.version < NAMES_PROMPTS;
                let mut named_ids = named.iter().filter_map(Value::as_str);
                let has_written = self.turns.written.is_some();
                if self.turns.open.is_some() {
                    return;
                }
                if has_written && (is_old || named_ids.any(|uuid| self.turns.is_written(uuid))) {
                    // The replay may come later than the first words of the answer.
                    self.take_written();
                } else if !has_written || named.is_empty() {
                    self.current_turn();
                }
            }
            Some(_) | None => {}
        }
    }

    fn retrying(&mut self, line: &Map) {
        // The replay of a prompt comes with the first words of its answer, so a retry may come before it.
        if self.turns.open.is_none() && self.turns.written.is_some() {
            self.take_written();
        }
        let retry = failure::retry_of(line);
        let mut events = self.writing(&Speaker::Agent).abandon();
        events.push(AgentEventKind::Retrying {
            attempt: retry.attempt,
            of: retry.of,
            wait: retry.wait,
            cause: retry.cause,
        });
        self.say(&Speaker::Agent, events);
        if text(line, "error") == Some("authentication_failed")
            && let Some(open) = self.turns.open.as_mut().filter(|open| open.failure.is_none())
        {
            // The CLI would retry for minutes, and no retry helps.
            open.failure = Some(failure::key_refused());
            self.interrupt();
        }
    }

    fn result(&mut self, line: &Map) {
        if self.turns.open.is_none() && self.turns.written.as_ref().is_some_and(|written| written.is_command)
        {
            self.take_written();
        }
        if self.turns.open.is_none() {
            return self.count("result");
        }
        let events = self.writing(&Speaker::Agent).abandon();
        self.say(&Speaker::Agent, events);
        let spent = self.totals.take(line, self.info.model.as_ref());
        if !spent.is_empty() {
            self.say(&Speaker::Agent, vec![AgentEventKind::Spent(spent)]);
        }
        self.turns.result(line);
        self.window_is(line);
        let words = text(line, "result").filter(|words| !words.trim().is_empty());
        if let (Some(_), Some(words)) = (text(line, "local_command"), words) {
            self.report(ConnectionEvent::Notice(AgentNotice::new(words)));
        }
        if !self.turns.has_states() {
            self.close_turn();
        }
    }

    fn window_is(&mut self, result: &Map) {
        let window = self.info.model.as_ref().and_then(|model| window_of(result, model));
        if window.is_some() && self.info.context_window != window {
            self.info.context_window = window;
            self.report(ConnectionEvent::Opened(self.info.clone()));
        }
    }

    /// What a program prints that signs in for the CLI. Each line has all of it.
    fn signs_in(&mut self, line: &Map) {
        let lines = list(line, "output").iter().filter_map(Value::as_str).chain(text(line, "error"));
        let lines = lines.map(str::to_owned).collect();
        self.report(ConnectionEvent::SignIn { lines, done: !flag(line, "isAuthenticating") });
    }

    fn requested(&mut self, line: &Map) {
        let (Some(id), Some(request)) = (text(line, "request_id"), object(line, "request")) else {
            return self.count("control_request");
        };
        let subtype = text(request, "subtype").unwrap_or_default();
        if subtype != "can_use_tool" {
            self.acts.push(refuse(id, subtype));
            return self.count(subtype);
        }
        let agent = text(request, "agent_id").and_then(|agent| self.tasks.call_of(agent));
        let speaker = agent.map_or(Speaker::Agent, Speaker::SubAgent);
        let turn = match &speaker {
            Speaker::Agent => self.current_turn(),
            Speaker::SubAgent(_) => self.turn_of_sub_agents(),
        };
        let Some(turn) = turn else {
            self.acts.push(refuse(id, subtype));
            return;
        };
        let called = text(request, "tool_use_id").and_then(|call| self.calls.get(&ToolCallId::from(call)));
        let ask = asks::asking(request, called.map(|(_, input)| input));
        self.asks.open(id, PendingAsk::new(turn, speaker.clone(), request, &ask));
        self.say(&speaker, vec![AgentEventKind::Ask { request: id.to_owned(), ask }]);
    }

    fn cancelled(&mut self, line: &Map) {
        if let Some(id) = text(line, "request_id") {
            self.withdraw(id);
        }
    }

    /// An answer to a request of ours, or the echo of an answer of ours.
    fn responded(&mut self, line: &Map) {
        let Some(response) = object(line, "response") else { return self.count("control_response") };
        let Some(id) = text(response, "request_id") else { return };
        let error = (text(response, "subtype") == Some("error"))
            .then(|| text(response, "error").unwrap_or("no reason given").to_owned());
        let answer = object(response, "response");
        match self.requests.answered(id) {
            None => self.confirm(id),
            Some(Purpose::Initialize) => self.initialized(answer, error),
            Some(Purpose::Interrupt) => self.interrupted(answer),
            Some(Purpose::Set { what, value }) => {
                if let Some(error) = error {
                    let text = format!("Claude Code did not change its {what} to `{value}`: {error}");
                    self.report(ConnectionEvent::Notice(AgentNotice::new(text)));
                }
                self.deliver();
            }
            Some(Purpose::StopTask | Purpose::Rename) => {
                if let Some(error) = error {
                    self.report(ConnectionEvent::Notice(AgentNotice::new(format!("Claude Code: {error}"))));
                }
            }
        }
    }

    fn end_sub_agent(&mut self, call: ToolCallId, end: AgentTurnEnd) {
        let speaker = Speaker::SubAgent(call);
        let mut events = self.writing(&speaker).abandon();
        self.writing.remove(&speaker);
        events.push(AgentEventKind::Ended(end));
        self.say_of_sub_agent(&speaker, events);
    }

    /// Events of one speaker in the turn that runs. A sub-agent begins with the first that is heard of it.
    pub(super) fn say(&mut self, speaker: &Speaker, events: Vec<AgentEventKind>) {
        match speaker {
            Speaker::Agent => {
                if events.is_empty() {
                    return;
                }
                match self.current_turn() {
                    Some(turn) => self.report_turn(&turn, speaker, events),
                    None => self.count("(outside a turn)"),
                }
            }
            Speaker::SubAgent(call) => {
                if self.tasks.has_ended(call) {
                    self.writing.remove(speaker);
                    return;
                }
                if self.tasks.begins(call) {
                    let started = AgentEventKind::Started { cause: TurnCause::Prompt };
                    self.say_of_sub_agent(speaker, vec![started]);
                }
                self.say_of_sub_agent(speaker, events);
            }
        }
    }

    fn say_of_sub_agent(&mut self, speaker: &Speaker, events: Vec<AgentEventKind>) {
        if let Some(turn) = self.turn_of_sub_agents() {
            self.report_turn(&turn, speaker, events);
        }
    }
}

fn speaker_of(line: &Map) -> Speaker {
    match text(line, "parent_tool_use_id") {
        Some(call) => Speaker::SubAgent(ToolCallId::from(call)),
        None => Speaker::Agent,
    }
}

fn delta(delta: &Map) -> Option<(DeltaField, &str)> {
    let (field, key) = match text(delta, "type")? {
        "text_delta" => (DeltaField::Text, "text"),
        "thinking_delta" => (DeltaField::Thinking, "thinking"),
        "input_json_delta" => (DeltaField::ToolInput, "partial_json"),
        _ => return None,
    };
    delta.get(key).and_then(Value::as_str).map(|text| (field, text))
}

fn stop_of(reason: &str) -> Stop {
    match reason {
        "end_turn" => Stop::EndTurn,
        "tool_use" => Stop::ToolUse,
        "max_tokens" => Stop::Length,
        other => Stop::Other(other.to_owned()),
    }
}
