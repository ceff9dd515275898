//! A home with an engine and the scripted Claude Code, and a conversation in it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, until};
use offshoot_testkit::fake_claude::Message;
use offshoot_testkit::{fake_claude, stop_engine};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::PATIENCE;
use crate::under_test::program;

/// What a command printed.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

pub(crate) struct Person {
    dir: TempDir,
    /// The configuration folder of Claude.
    config: PathBuf,
    pub(crate) session: String,
    /// Ids of prompts that were seen.
    prompts: Vec<String>,
    /// How often the two sides were compared.
    pub(crate) compared: usize,
    /// The last turn was answered.
    is_answered: bool,
    /// Prompts that were sent to meet an accident.
    prompts_sent: usize,
    /// Variables of all commands from here on.
    variables: Vec<(&'static str, &'static str)>,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Reply,
    Ask,
    Tool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accident {
    Abort,
    KillClaude,
    KillEngine,
    KillBoth,
}

impl Accident {
    fn ends_engine(self) -> bool {
        match self {
            Self::Abort | Self::KillClaude => false,
            Self::KillEngine | Self::KillBoth => true,
        }
    }
}

impl Person {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let config = dir.path().join("claude");
        Self::with_config(dir, config)
    }

    /// With a home of their own, and the same Claude.
    pub(crate) fn beside(other: &Self) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        Self::with_config(dir, other.config())
    }

    fn with_config(dir: TempDir, config: PathBuf) -> Self {
        let mut person = Self {
            dir,
            config,
            session: String::new(),
            prompts: Vec::new(),
            compared: 0,
            is_answered: false,
            prompts_sent: 0,
            variables: Vec::new(),
        };
        let begun = person.json(&["new", "--agent", "claude-code", "--json"]);
        person.session = begun["id"].as_str().expect("an id").to_owned();
        person
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("offshoot")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.config.clone()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn sets(&mut self, variable: &'static str, value: &'static str) {
        self.variables.push((variable, value));
    }

    pub(crate) fn unsets(&mut self, variable: &str) {
        self.variables.retain(|(name, _)| *name != variable);
    }

    /// The runs of agents of which there is a file.
    pub(crate) fn runs(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.home().join("run/agents")).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.path().file_stem()?.to_str().map(str::to_owned));
        names.collect()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(words).current_dir(self.dir.path()).env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("OFFSHOOT_HOME", self.home())
            .env("OFFSHOOT_AUTO_SYNC", "false")
            .env("OFFSHOOT_AGENTS_CLAUDE_CODE_PATH", fake_claude::program())
            .env("CLAUDE_CONFIG_DIR", &self.config)
            .envs(self.variables.iter().copied());
        command
    }

    /// A chat in the session.
    pub(crate) fn chat(&self) -> Command {
        self.command(&["chat", &self.session])
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).bounded_output().expect("the program starts")
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words:?}: {error}"))
    }

    /// Starts a command that prints everything into a file.
    pub(crate) fn start_into(&self, file: &Path, words: &[&str]) -> Child {
        let out = std::fs::File::create(file).expect("own folder");
        let err = out.try_clone().expect("the same file");
        let mut command = self.command(words);
        command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().expect("the program starts")
    }

    pub(crate) fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// Runs a command that has to end well; what it prints.
    pub(crate) fn done(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The same for a command that reads these lines; also what it says beside it.
    pub(crate) fn reads(&self, words: &[&str], lines: &str) -> String {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("its input");
        stdin.write_all(lines.as_bytes()).expect("it reads");
        drop(stdin);
        let output = child.bounded_output();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "{words:?}: {said}");
        said
    }

    /// Types a line into a chat.
    pub(crate) fn types(&self, line: &str) -> String {
        self.reads(&["chat", &self.session], &format!("{line}\n"))
    }

    /// Runs a command that has to be refused; why.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(!output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// The entries of the head's branch.
    pub(crate) fn entries(&self) -> Vec<Value> {
        list(&self.json(&["show", &self.session, "--json"])["entries"]).to_vec()
    }

    /// The session of Claude Code in which the last prompt of the branch was answered, and how it came to it.
    pub(crate) fn bound(&self) -> (String, String) {
        let entries = self.entries();
        let prompt = entries.iter().rfind(|entry| entry["role"] == "user").expect("a prompt");
        let told = |field: &str| prompt["context"][field].as_str().unwrap_or_default().to_owned();
        (told("agent_session"), told("provenance"))
    }

    pub(crate) fn until_waiting(&self) {
        until("an ask", || self.state() == "waiting");
    }

    /// A prompt that has to be answered.
    pub(crate) fn send(&mut self, text: &str) {
        let said = self.said(text);
        assert_eq!(said.code, Some(0), "`{text}`: {said:?}");
    }

    /// A prompt at the head, and what is printed of it.
    pub(crate) fn said(&mut self, text: &str) -> Said {
        let output = self.run(&["send", &self.session, text]);
        self.is_answered = output.status.success();
        Said::of(&output)
    }

    /// The same with an answer to what is asked.
    pub(crate) fn said_when_answered(&mut self, text: &str, answer: &str) -> Said {
        let sending = self.start(&["send", &self.session, text]);
        self.answer(answer);
        let output = sending.bounded_output();
        self.is_answered = output.status.success();
        Said::of(&output)
    }

    /// A prompt whose tool is allowed to run.
    pub(crate) fn start_allowed(&mut self, text: &str) -> Child {
        let sending = self.start(&["send", &self.session, text]);
        self.answer("allow");
        self.is_answered = false;
        sending
    }

    fn answer(&self, answer: &str) {
        until("an ask", || self.state() == "waiting");
        let answered = self.run(&["answer", &self.session, answer]);
        assert!(answered.status.success(), "{}", String::from_utf8_lossy(&answered.stderr));
    }

    pub(crate) fn edit(&mut self, old: &str, text: &str) {
        let output = self.run(&["send", &self.session, "--edit", old, text]);
        self.is_answered = output.status.success();
        assert!(self.is_answered, "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn switch(&mut self, to: &str) {
        let output = self.run(&["switch", &self.session, to]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.is_answered = false;
    }

    pub(crate) fn send_and_answer(&mut self, text: &str, answer: &str) {
        let sending = self.start(&["send", &self.session, text]);
        self.answer(answer);
        self.is_answered = sending.bounded_output().status.success();
        assert!(self.is_answered, "a turn with an answered request ends well");
    }

    /// Sends a prompt that is not answered, because of what happens when it has come so far.
    pub(crate) fn send_until(&mut self, text: &str, moment: Moment, accident: Accident) -> Said {
        let begun = self.dir.path().join(format!("begun-{}", self.prompts_sent));
        self.prompts_sent += 1;
        let command = format!("touch '{}'; sleep 1000", begun.display());
        let call = format!("%call Bash {}", serde_json::json!({ "command": command }));
        let text = match moment {
            Moment::Reply => format!("{text}\n%say Begun.\n%silence"),
            Moment::Ask | Moment::Tool => format!("{text}\n%say Begun.\n{call}"),
        };
        let sending = self.start(&["send", &self.session, &text]);
        match moment {
            Moment::Reply => self.await_reply(&text),
            Moment::Ask => self.until_waiting(),
            Moment::Tool => {
                self.answer("allow");
                until("the tool", || begun.exists());
            }
        }
        self.meets(accident);
        let said = Said::of(&sending.bounded_output());
        // What was said may be all there was to say when the transcript is read.
        let may_be_done = moment == Moment::Reply && accident.ends_engine();
        self.is_answered = may_be_done && said.code == Some(0);
        // Also where an engine was killed behind it, and the next one has read it from the transcript.
        assert_eq!(said.out.matches("Begun.").count(), 1, "{moment:?}, {accident:?}: {said:?}");
        assert!(self.is_answered || said.code != Some(0), "{moment:?}, {accident:?}: {said:?}");
        said
    }

    pub(crate) fn meets(&self, accident: Accident) {
        match accident {
            Accident::Abort => {
                self.done(&["abort", &self.session]);
            }
            Accident::KillClaude => self.kill_claude(),
            Accident::KillEngine => self.kill_engine(),
            Accident::KillBoth => {
                self.kill_claude();
                self.kill_engine();
            }
        }
    }

    fn kill_claude(&self) {
        let fake = std::fs::canonicalize(fake_claude::program()).expect("the program");
        for id in self.agents() {
            let is_it = std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe == fake);
            let process = i32::try_from(id).ok().and_then(Pid::from_raw);
            if let Some(process) = process.filter(|_| is_it) {
                // It may end by itself.
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }

    /// Processes of agents that were started for this home, and their tools.
    pub(crate) fn agents(&self) -> Vec<u32> {
        let home = format!("HOME={}", self.dir.path().display());
        let is_of_agent = |process: &u32| {
            let variables = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            let mut variables = variables.split(|byte| *byte == 0);
            let (mut is_at_home, mut has_run) = (false, false);
            for variable in &mut variables {
                is_at_home |= variable == home.as_bytes();
                has_run |= variable.starts_with(b"OFFSHOOT_AGENT_RUN=");
            }
            is_at_home && has_run
        };
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
        ids.filter(is_of_agent).collect()
    }

    pub(crate) fn has_engine(&self) -> bool {
        self.engine_of(&self.home()).is_some()
    }

    pub(crate) fn kill_engine(&self) {
        let process = self.engine_of(&self.home()).and_then(|id| i32::try_from(id).ok());
        let process = process.and_then(Pid::from_raw).expect("an engine runs");
        kill_process(process, Signal::KILL).expect("it runs");
    }

    /// The process of the engine of a home.
    pub(crate) fn engine_of(&self, home: &Path) -> Option<u32> {
        let mut command = self.command(&["engine", "status", "--json"]);
        let output = command.env("OFFSHOOT_HOME", home).bounded_output().expect("the program starts");
        let status: Value = serde_json::from_slice(&output.stdout).ok()?;
        status["engine"]["process"].as_u64().and_then(|id| u32::try_from(id).ok())
    }

    /// The texts of the entries with a role behind the first prompt and its answer.
    pub(crate) fn texts(&self, role: &str) -> Vec<String> {
        let shown = self.json(&["show", &self.session, "--json"]);
        let entries = list(&shown["entries"]).iter().skip(2).filter(|entry| entry["role"] == role);
        entries.filter_map(|entry| entry["text"].as_str()).map(str::to_owned).collect()
    }

    /// Claude's own session of the branch of the head.
    pub(crate) fn agent_session(&self) -> String {
        let shown = self.json(&["show", &self.session, "--json"]);
        let mut prompts = list(&shown["entries"]).iter().filter(|entry| entry["role"] == "user");
        let session = prompts.next_back().and_then(|prompt| prompt["context"]["agent_session"].as_str());
        session.expect("a session").to_owned()
    }

    /// Waits until the answer to this prompt has begun.
    pub(crate) fn await_reply(&self, prompt: &str) {
        let started = Instant::now();
        until("the beginning of the answer", || {
            assert!(started.elapsed() < PATIENCE, "no answer began");
            let shown = self.json(&["show", &self.session, "--json", "--last", "2"]);
            let [asked, reply] = list(&shown["entries"]) else { return false };
            asked["text"] == prompt && reply["role"] == "assistant" && reply["text"] == "Begun."
        });
    }

    fn state(&self) -> String {
        let status = self.json(&["status", "--json"]);
        let state = list(&status["rows"]).first().map(|row| row.to_string()).unwrap_or_default();
        if state.contains("\"waiting\"") { "waiting".to_owned() } else { state }
    }

    /// The ids of all prompts that have been on the head's branch.
    pub(crate) fn all_prompts(&mut self) -> Vec<String> {
        let shown = self.json(&["show", &self.session, "--json"]);
        let prompts = list(&shown["entries"]).iter().filter(|entry| entry["role"] == "user");
        for id in prompts.filter_map(|entry| entry["id"].as_str()) {
            if !self.prompts.iter().any(|known| known == id) {
                self.prompts.push(id.to_owned());
            }
        }
        self.prompts.clone()
    }

    /// Compares the messages of the branch with those in the file of its agent session, after a turn that was answered.
    pub(crate) fn difference(&mut self) -> Option<String> {
        if !self.is_answered {
            return None;
        }
        let entries = self.entries();
        let branch = without_open_calls(entries.iter().flat_map(messages).collect());
        let prompt = entries.iter().rfind(|entry| entry["role"] == "user")?;
        let session = prompt["context"]["agent_session"].as_str().unwrap_or_default().to_owned();
        let known = fake_claude::messages_of(&self.config(), &session).map(without_open_calls);
        self.compared += 1;
        match known {
            Ok(known) if known == branch => None,
            other => Some(format!("the branch has {branch:#?}\nsession {session} has {other:#?}")),
        }
    }
}

/// A call that was cut off has no result. Agents that go on behind it leave it out, and a fork ends above it.
fn without_open_calls(messages: Vec<Message>) -> Vec<Message> {
    let results = messages.iter().filter_map(|message| match message {
        Message::Result { call, .. } => Some(call.clone()),
        Message::Prompt(_) | Message::Reply(_) | Message::Call { .. } => None,
    });
    let results: BTreeSet<String> = results.collect();
    let is_open = |message: &Message| matches!(message, Message::Call { id, .. } if !results.contains(id));
    messages.into_iter().filter(|message| !is_open(message)).collect()
}

/// What an agent has to know of an entry.
fn messages(entry: &Value) -> Vec<Message> {
    let text = || entry["text"].as_str().unwrap_or_default().to_owned();
    match entry["role"].as_str().unwrap_or_default() {
        "user" => vec![Message::Prompt(text())],
        "assistant" => {
            let said = Some(text()).filter(|text| !text.is_empty()).map(Message::Reply);
            let calls = list(&entry["tool_calls"]).iter().map(|call| Message::Call {
                id: call["id"].as_str().unwrap_or_default().to_owned(),
                name: call["name"].as_str().unwrap_or_default().to_owned(),
                input: call["input"].clone(),
            });
            said.into_iter().chain(calls).collect()
        }
        "tool_result" => {
            let call = entry["call"].as_str().unwrap_or_default().to_owned();
            vec![Message::Result { call, text: text(), failed: entry["failed"] == true }]
        }
        "interrupted" | "setting" | "custom" | "note" => Vec::new(),
        other => panic!("an entry of a kind that no step makes: {other}"),
    }
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

impl Drop for Person {
    fn drop(&mut self) {
        stop_engine(program(), &self.home());
    }
}
