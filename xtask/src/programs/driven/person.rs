//! Somebody at a shell: a home, a project, `offshoot` with Claude Code behind it, and a model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use offshoot_testkit::model::{ModelServer, Request, Script};
use serde_json::Value;

use super::super::claude_code::keep_quiet;
use super::super::isolated::{self, await_some, isolate};
pub(super) use super::super::isolated::{Running, Said};
use super::processes;

/// The key of the environment; Claude's own interface is told that it is approved.
pub(super) const KEY: &str = "sk-ant-dummy-0123456789abcdefghij";

pub(crate) struct Person {
    offshoot: PathBuf,
    pub(super) claude: PathBuf,
    root: PathBuf,
    pub(super) home: PathBuf,
    pub(super) config: PathBuf,
    pub(super) project: PathBuf,
    pub(super) server: ModelServer,
    pub(crate) session: String,
}

impl Person {
    /// With an empty session of Claude Code.
    pub(crate) fn new(offshoot: &Path, claude: &Path) -> Result<Self> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("offshoot-driven-{}-{number}", std::process::id()));
        let (home, project) = isolated::folders(&root)?;
        let server = ModelServer::start(Script::new()).context("cannot start the model")?;
        let mut person = Self {
            offshoot: offshoot.to_owned(),
            claude: claude.to_owned(),
            config: home.join(".claude"),
            root,
            home,
            project,
            server,
            session: String::new(),
        };
        let begun = person.run(&["new", "--agent", "claude-code", "--json"])?;
        let begun: Value =
            serde_json::from_str(&begun.out).with_context(|| format!("`new` printed {}", begun.err))?;
        person.session = begun["id"].as_str().context("a session without an id")?.to_owned();
        Ok(person)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.offshoot);
        command.args(words);
        self.prepare(&mut command);
        command
    }

    /// The only server is the model.
    pub(super) fn prepare(&self, command: &mut Command) {
        isolate(command, &self.root);
        keep_quiet(command);
        command.env("TERM", "xterm-256color");
        command.env("OFFSHOOT_HOME", self.root.join("offshoot")).env("OFFSHOOT_AUTO_SYNC", "false");
        command.env("OFFSHOOT_AGENTS_CLAUDE_CODE_PATH", &self.claude).env("OFFSHOOT_LOG", "debug");
        command.env("CLAUDE_CONFIG_DIR", &self.config);
        command.env("ANTHROPIC_BASE_URL", self.server.url()).env("ANTHROPIC_API_KEY", KEY);
    }

    pub(super) fn start(&self, words: &[&str]) -> Result<Running> {
        self.start_with(words, "")
    }

    pub(super) fn start_with(&self, words: &[&str], input: &str) -> Result<Running> {
        Running::start(&mut self.command(words), &self.root, input)
    }

    pub(super) fn run(&self, words: &[&str]) -> Result<Said> {
        self.start(words)?.end().with_context(|| format!("`offshoot {}`", words.join(" ")))
    }

    /// Claude itself answers one prompt.
    pub(super) fn claude(&self, words: &[&str]) -> Result<()> {
        let mut claude = Command::new(&self.claude);
        self.prepare(&mut claude);
        claude
            .args(["-p", "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5"])
            .args(words);
        let said = Running::start(&mut claude, &self.root, "")?.end()?;
        match said.code {
            Some(0) => Ok(()),
            code => bail!("Claude ended with {code:?}: {}{}", said.out, said.err),
        }
    }

    /// A prompt at the head; what was answered.
    pub(crate) fn send(&self, text: &str) -> Result<String> {
        self.answered(&["send", &self.session, text])
    }

    /// A command that must be answered.
    pub(super) fn answered(&self, words: &[&str]) -> Result<String> {
        let said = self.run(words)?;
        match said.code {
            Some(0) => Ok(said.out.trim().to_owned()),
            code => bail!("`offshoot {}` ended with {code:?}: {}{}", words.join(" "), said.out, said.err),
        }
    }

    pub(super) fn show(&self) -> Result<Value> {
        self.json(&["show", &self.session, "--json"])
    }

    pub(super) fn json(&self, words: &[&str]) -> Result<Value> {
        let said = self.run(words)?;
        serde_json::from_str(&said.out)
            .with_context(|| format!("`offshoot {}`: {}{}", words.join(" "), said.out, said.err))
    }

    /// The texts of the entries with a role on the branch of the head.
    pub(super) fn texts(&self, role: &str) -> Result<Vec<String>> {
        let shown = self.show()?;
        let entries = shown["entries"].as_array().into_iter().flatten();
        let texts = entries.filter(|entry| entry["role"] == role).filter_map(|entry| entry["text"].as_str());
        Ok(texts.map(str::to_owned).collect())
    }

    /// The id of the prompt with this text, on the branch of the head.
    pub(super) fn prompt_id(&self, text: &str) -> Result<String> {
        let shown = self.show()?;
        let mut entries = shown["entries"].as_array().into_iter().flatten();
        let prompt = entries.find(|entry| entry["role"] == "user" && entry["text"] == text);
        let id = prompt.and_then(|prompt| prompt["id"].as_str());
        Ok(id.with_context(|| format!("no prompt `{text}` in {shown}"))?.to_owned())
    }

    /// Waits until the agent asks for something.
    pub(super) fn await_ask(&self) -> Result<()> {
        self.await_some("an ask", || Ok(self.asks()?.then_some(())))
    }

    /// Waits until the agent asks for something (`true`) or the command has ended.
    pub(super) fn await_ask_or_end(&self, command: &mut Running) -> Result<bool> {
        await_some("an ask or an end", || match command.has_ended()? {
            true => Ok(Some(false)),
            false => Ok(self.asks()?.then_some(true)),
        })
    }

    fn asks(&self) -> Result<bool> {
        Ok(self.json(&["status", "--json"])?.to_string().contains("\"waiting\""))
    }

    /// The last request that the model got for this prompt, token counts and titles aside.
    pub(super) fn request(&self, prompt: &str) -> Result<Request> {
        let mut requests = self.server.requests().into_iter().rev();
        requests
            .find(|request| {
                request.prompt.contains(prompt)
                    && !request.path.contains("count_tokens")
                    && !list(&request.body["tools"]).is_empty()
            })
            .with_context(|| format!("the model was never asked `{prompt}`"))
    }

    pub(super) fn await_some<T>(&self, what: &str, look: impl Fn() -> Result<Option<T>>) -> Result<T> {
        await_some(what, look)
    }

    pub(crate) fn engine(&self) -> Result<u32> {
        let status = self.json(&["engine", "status", "--json"])?;
        let process = status["engine"]["process"].as_u64().and_then(|process| u32::try_from(process).ok());
        process.with_context(|| format!("no engine runs: {status}"))
    }

    /// Processes of agents that were started for this home, and their tools.
    pub(super) fn agents(&self) -> Vec<u32> {
        processes::with_variables(&[
            format!("HOME={}", self.home.display()),
            "OFFSHOOT_AGENT_RUN=".to_owned(),
        ])
    }

    /// The Claude process itself.
    pub(crate) fn claude_process(&self) -> Result<u32> {
        let program = fs::canonicalize(&self.claude)?;
        let mut own = self.agents().into_iter();
        let found =
            own.find(|process| fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe == program));
        found.context("Claude does not run")
    }

    /// The end of the engine's log, for a flow that failed.
    pub(super) fn tell_log(&self) {
        let mut open = vec![self.root.join("offshoot")];
        while let Some(folder) = open.pop() {
            for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path()) {
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|ending| ending == "log") {
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    let lines: Vec<&str> = text.lines().collect();
                    let last = lines.get(lines.len().saturating_sub(25)..).unwrap_or_default();
                    println!("      {}:", path.display());
                    last.iter()
                        .for_each(|line| println!("        {}", line.chars().take(300).collect::<String>()));
                }
            }
        }
    }
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

impl Drop for Person {
    fn drop(&mut self) {
        // The folder goes in any case, and an engine without a home ends by itself.
        let _ = self.run(&["engine", "stop", "--force"]);
        for process in self.agents() {
            processes::kill(process);
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}
