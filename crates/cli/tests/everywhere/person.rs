//! A person with a home, in which agents have left sessions.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use offshoot_testkit::deadline::{BoundedCommand, Deadline};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The clock of the program stands at 2025-03-04T14:10:00Z.
pub(crate) const NOW: u64 = 5_407_800;

const PI: &str = ".pi/agent/sessions/--home-dev-gatehouse--/2025-03-04T12-00-00-000Z_6f2a91c0-0000-7000-8000-000000000001.jsonl";

pub(crate) struct Person {
    dir: TempDir,
    /// Where Offshoot keeps what is its own, if not below the folder of the person.
    home: Option<TempDir>,
}

impl Person {
    pub(crate) fn alone() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for folder in ["user", "work"] {
            std::fs::create_dir(dir.path().join(folder)).expect("a folder");
        }
        Self { dir, home: None }
    }

    /// With the agents, and what Offshoot keeps in another place, such as another disk. `None` where that cannot be
    /// written.
    pub(crate) fn with_home_in(folder: &Path) -> Option<Self> {
        let home = tempfile::tempdir_in(folder).ok()?;
        let mut person = Self::with_agents();
        person.home = Some(home);
        Some(person)
    }

    /// pi with a session and a fork of it, Claude Code and Codex with one each.
    pub(crate) fn with_agents() -> Self {
        let person = Self::alone();
        let first = "6f2a91c0-0000-7000-8000-000000000001";
        let reply = json!({"role":"assistant","model":"sonnet","content":[{"type":"text","text":"The bucket is built anew, so the burst starts at zero."}],"usage":{"input":1,"output":1,"cost":{"total":0.012}}});
        let said = |role: &str, text: &str| json!({"role":role,"content":text});
        person.write(PI, &[
            json!({"type":"session","version":3,"id":first,"timestamp":"2025-03-04T12:00:00.000Z","cwd":"/home/dev/gatehouse"}),
            entry("u1", None, "12:00:01", &said("user", "Burst credit is lost after a reload")),
            entry("a1", Some("u1"), "12:00:02", &reply),
            entry("u2", Some("a1"), "13:00:00", &said("user", "Keep the old one")),
            json!({"type":"label","id":"l1","parentId":"u2","timestamp":"2025-03-04T13:00:01.000Z","targetId":"u2","label":"ugly"}),
        ]);
        let fork = PI.replace("6f2a91c0", "77be40c0");
        person.write(&fork, &[
            json!({"type":"session","version":3,"id":"77be40c0-0000-7000-8000-000000000001","timestamp":"2025-03-04T12:30:00.000Z","cwd":"/home/dev/gatehouse","parentSession":format!("/somewhere/2025_{first}.jsonl")}),
            entry("u1", None, "12:30:01", &said("user", "What if burst is per key?")),
        ]);
        let claude = |uuid: &str, parent: Option<&str>, second: u32, kind: &str, content: Value| {
            json!({
                "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": uuid, "cwd": "/home/dev/ledger",
                "sessionId": "0f5c0000-0000-4000-8000-000000000001",
                "timestamp": format!("2025-03-04T09:00:{second:02}.000Z"),
                "message": {"role": kind, "content": content, "id": format!("msg-{uuid}"), "model": "claude-opus-4"},
            })
        };
        person.write(".claude/projects/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl", &[
            claude("c1", None, 1, "user", json!("Port the parser to winnow")),
            claude("c2", Some("c1"), 2, "assistant", json!([{"type":"text","text":"I read the lexer."},{"type":"tool_use","id":"t1","name":"Read","input":{"file":"src/lexer.rs"}}])),
            claude("c3", Some("c2"), 3, "user", json!([{"type":"tool_result","tool_use_id":"t1","content":"mod lexer;"}])),
        ]);
        let codex = |second: u32, kind: &str, payload: Value| json!({"timestamp":format!("2025-03-04T05:00:{second:02}.000Z"),"type":kind,"payload":payload});
        person.write(".codex/sessions/2025/03/04/rollout-2025-03-04T05-00-00-01a1e09c-0000-7000-8000-000000000001.jsonl", &[
            codex(0, "session_meta", json!({"id":"01a1e09c-0000-7000-8000-000000000001","timestamp":"2025-03-04T05:00:00.000Z","cwd":"/home/dev/gatehouse","originator":"codex_cli_rs","cli_version":"0.160.0"})),
            codex(1, "turn_context", json!({"cwd":"/home/dev/gatehouse","model":"gpt-5-codex"})),
            codex(2, "response_item", json!({"type":"message","role":"user","content":[{"type":"input_text","text":"Why is the burst refused?"}]})),
            codex(3, "response_item", json!({"type":"message","role":"assistant","content":[{"type":"output_text","text":"A burst needs credit."}]})),
        ]);
        person
    }

    pub(crate) fn user(&self, name: &str) -> PathBuf {
        self.dir.path().join("user").join(name)
    }

    /// The folder in which commands are given.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work").canonicalize().expect("a folder")
    }

    pub(crate) fn home(&self) -> PathBuf {
        match &self.home {
            Some(home) => home.path().to_owned(),
            None => self.user(".local/share/offshoot"),
        }
    }

    pub(crate) fn write(&self, name: &str, lines: &[Value]) {
        let path = self.user(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(path, text).expect("own file");
    }

    pub(crate) fn append_to_pi(&self, text: &str) {
        let id = text.replace(' ', "-");
        let line = entry(&id, Some("u2"), "13:30:00", &json!({"role":"user","content":text}));
        let mut file = std::fs::OpenOptions::new().append(true).open(self.user(PI)).expect("a file");
        writeln!(file, "{line}").expect("own file");
    }

    pub(crate) fn pi_file(&self) -> PathBuf {
        self.user(PI)
    }

    pub(crate) fn bytes_of_agents(&self) -> Vec<Vec<u8>> {
        let mut open: Vec<PathBuf> = [".pi", ".claude", ".codex"].map(|name| self.user(name)).into();
        open.retain(|folder| folder.exists());
        let mut files = Vec::new();
        while let Some(path) = open.pop() {
            match std::fs::read_dir(&path) {
                Ok(items) => open.extend(items.map(|item| item.expect("an item").path())),
                Err(_) => files.push(path),
            }
        }
        files.sort();
        files.iter().map(|path| std::fs::read(path).expect("a file")).collect()
    }

    pub(crate) fn command_at(&self, now: u64) -> Command {
        self.prepared(Command::new(env!("CARGO_BIN_EXE_offshoot")), now)
    }

    /// Another program in this person's place.
    pub(crate) fn prepared(&self, mut command: Command, now: u64) -> Command {
        command.current_dir(self.dir.path().join("work")).env_clear().env("TZ", "UTC");
        // no test leaves a process behind, but those that wait for it
        command.env("OFFSHOOT_AUTO_SYNC", "false");
        command.env("OFFSHOOT_FIXED_STAMPS", now.to_string()).env("HOME", self.dir.path().join("user"));
        if let Some(home) = &self.home {
            command.env("OFFSHOOT_HOME", home.path());
        }
        command
    }

    pub(crate) fn run(&self, line: &str) -> String {
        self.run_at(NOW, line)
    }

    pub(crate) fn run_at(&self, now: u64, line: &str) -> String {
        told(&mut self.command_at(now), line)
    }

    /// With the rights of an ordinary user, also where the tests run as root: everything is given to that user first.
    pub(crate) fn run_as_ordinary_user(&self, line: &str) -> String {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        use std::os::unix::process::CommandExt;
        let root = self.dir.path();
        let program = root.join("offshoot");
        if !program.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_offshoot"), &program).expect("a copy of the program");
        }
        std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o755)).expect("own folder");
        let mut command = self.prepared(Command::new(program), NOW);
        if std::fs::metadata(root).expect("own folder").uid() == 0 {
            for directory in [self.dir.path().join("user"), self.home()].iter().filter(|one| one.exists()) {
                chown(directory, Some(NOBODY), Some(NOBODY)).expect("root may");
            }
            command.uid(NOBODY).gid(NOBODY);
        }
        let deadline = Deadline::begin("the copy of the program");
        command.args(line.split(' '));
        loop {
            deadline.check();
            match command.bounded_output() {
                // another test has just started a process, which holds the copy open for a moment
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::yield_now()
                }
                output => return text_of(output.expect("the program starts")),
            }
        }
    }

    /// One object; what is said beside it goes to the person.
    pub(crate) fn json(&self, line: &str) -> Value {
        let output = self.command_at(NOW).args(line.split(' ')).stdin(Stdio::null()).bounded_output();
        serde_json::from_slice(&output.expect("the program starts").stdout).expect("JSON")
    }

    pub(crate) fn json_lines(&self, line: &str) -> Vec<Value> {
        self.json_lines_at(NOW, line)
    }

    pub(crate) fn json_lines_at(&self, now: u64, line: &str) -> Vec<Value> {
        let text = self.run_at(now, line);
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

pub(crate) fn entry(id: &str, parent: Option<&str>, time: &str, message: &Value) -> Value {
    json!({"type":"message","id":id,"parentId":parent,"timestamp":format!("2025-03-04T{time}.000Z"),"message":message})
}

fn told(command: &mut Command, line: &str) -> String {
    text_of(command.args(line.split(' ')).stdin(Stdio::null()).bounded_output().expect("the program starts"))
}

fn text_of(output: std::process::Output) -> String {
    let mut text = String::from_utf8(output.stdout).expect("text");
    // That copies are kept is said by the first command, whichever that is.
    let errors = String::from_utf8(output.stderr).expect("text");
    let is_announcement = |line: &&str| line.starts_with("note: Offshoot keeps copies");
    text.extend(errors.split_inclusive('\n').filter(|line| !is_announcement(line)));
    text
}

/// No test leaves an engine behind.
impl Drop for Person {
    fn drop(&mut self) {
        let usual = || self.dir.path().join("user/.local/share/offshoot");
        let home = self.home.as_ref().map_or_else(usual, |home| home.path().to_owned());
        offshoot_testkit::stop_engine(env!("CARGO_BIN_EXE_offshoot"), &home);
    }
}
