//! A folder, commands, what they print and how they end.

use std::cell::Cell;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, Deadline, until};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A folder with the files of these tests and a home for sessions. Ids and times are fixed, so is the time zone.
pub(crate) struct Folder {
    dir: TempDir,
    /// Each command counts from here, so that no two of them make the same ids.
    stamps: Cell<u64>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        // A name of one length, whatever it is: tables are as wide as what is in them.
        let dir = tempfile::Builder::new().prefix("offshoot-").rand_bytes(8).tempdir();
        let dir = dir.expect("a temporary folder");
        let folder = Self { dir, stamps: Cell::new(0) };
        folder.write("burst.jsonl", BURST.as_bytes());
        folder
    }

    /// The next command counts from here.
    pub(crate) fn count_from(&self, stamps: u64) {
        self.stamps.set(stamps);
    }

    /// A command that takes no ids from those behind it.
    pub(crate) fn uncounted(&self, line: &str) -> String {
        let stamps = self.stamps.get();
        let told = self.run(line);
        self.stamps.set(stamps);
        told
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path().join(name), bytes).expect("a file in a temporary folder");
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// The stored sessions by their journals.
    pub(crate) fn journals(&self) -> Vec<PathBuf> {
        let Ok(names) = std::fs::read_dir(self.home().join("sessions")) else { return Vec::new() };
        let paths = names.map(|name| name.expect("a name in an own folder").path());
        let mut journals: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect();
        journals.sort();
        journals
    }

    pub(crate) fn command(&self) -> Command {
        self.prepared(Command::new(env!("CARGO_BIN_EXE_offshoot")))
    }

    fn prepared(&self, mut command: Command) -> Command {
        self.stamps.set(self.stamps.get() + 100);
        command
            .current_dir(self.path())
            .env_clear()
            .env("TZ", "UTC")
            .env("OFFSHOOT_HOME", self.home())
            // no test leaves a process behind
            .env("OFFSHOOT_AUTO_SYNC", "false")
            .env("OFFSHOOT_FIXED_STAMPS", self.stamps.get().to_string());
        command
    }

    /// The program started by a shell, which may set limits first.
    pub(crate) fn command_in_shell(&self, script: &str) -> Command {
        let mut shell = self.prepared(Command::new("/bin/sh"));
        shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_offshoot")]);
        shell
    }

    /// The engine process of the home.
    pub(crate) fn engine(&self) -> Pid {
        let mut command = self.command();
        let output =
            command.args(["engine", "status", "--json"]).bounded_output().expect("the program starts");
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let process = status["engine"]["process"].as_i64().and_then(|id| i32::try_from(id).ok());
        process.and_then(Pid::from_raw).expect("an engine runs")
    }

    /// Ends the engine by a signal that it does not hear, and waits until it is gone.
    pub(crate) fn kill_engine(&self) {
        let engine = self.engine();
        kill_process(engine, Signal::KILL).expect("it runs");
        // The next one may hold the lock already, so that says nothing.
        until("the end of the engine", || !is_alive(engine));
    }

    /// What is printed, with errors and the exit code below it.
    pub(crate) fn run(&self, line: &str) -> String {
        self.run_with(line, "")
    }

    /// The same with something to read.
    pub(crate) fn run_with(&self, line: &str, input: &str) -> String {
        self.told(self.command(), line, input)
    }

    /// Lines as a person sees them, each above its answer.
    pub(crate) fn story(&self, lines: &[&str]) -> String {
        let told: Vec<String> =
            lines.iter().map(|line| format!("$ offshoot {line}\n{}", self.run(line))).collect();
        told.join("\n")
    }

    /// The same with the rights of an ordinary user, also where the tests run as root. The program is copied into
    /// the folder, because such a user may not be allowed to reach where it was built.
    pub(crate) fn run_as_ordinary_user(&self, line: &str) -> String {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        use std::os::unix::process::CommandExt;
        let program = self.path().join("offshoot");
        std::fs::copy(env!("CARGO_BIN_EXE_offshoot"), &program).expect("a copy of the program");
        std::fs::set_permissions(self.path(), std::fs::Permissions::from_mode(0o755)).expect("own folder");
        let mut command = self.prepared(Command::new(program));
        let runs_as_root = std::fs::metadata(self.path()).expect("own folder").uid() == 0;
        if runs_as_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        self.told(command, line, "")
    }

    /// The directory only; what is in it stays as it is.
    pub(crate) fn give_home_to_ordinary_user(&self) {
        use std::os::unix::fs::{MetadataExt, chown};
        if std::fs::metadata(self.path()).expect("own folder").uid() == 0 {
            chown(self.home(), Some(NOBODY), Some(NOBODY)).expect("root may");
        }
    }

    /// `_` stands for a space within a word, and `''` for an empty word.
    pub(crate) fn told(&self, mut command: Command, line: &str, input: &str) -> String {
        let words =
            line.split(' ').map(|word| if word == "''" { String::new() } else { word.replace('_', " ") });
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = started(&mut command);
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.bounded_output();
        let mut told = String::from_utf8(output.stdout).expect("text");
        let errors = String::from_utf8(output.stderr).expect("text");
        told.push_str(&errors);
        if !output.status.success() {
            told.push_str(&format!("exit {}\n", output.status.code().unwrap_or(-1)));
        }
        let name = self.path().file_name().expect("a name").to_string_lossy().into_owned();
        told.replace(&self.path().display().to_string(), "DIR").replace(&name, "DIR")
    }
}

/// No test leaves an engine behind.
impl Drop for Folder {
    fn drop(&mut self) {
        offshoot_testkit::stop_engine(env!("CARGO_BIN_EXE_offshoot"), &self.home());
    }
}

/// A process that has ended and that nobody has asked for is not alive.
fn is_alive(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// A copy of the program cannot start while a process that another test is just starting still has it open.
fn started(command: &mut Command) -> Child {
    let deadline = Deadline::begin("the copy of the program");
    loop {
        deadline.check();
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            child => return child.expect("the program starts"),
        }
    }
}

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// Two branches, a tool that works and one that fails, a label, a title, an interruption.
pub(crate) const BURST: &str = r#"{"type":"session","version":3,"id":"6f2a91c0-0000-7000-8000-000000000001","timestamp":"2025-03-04T14:00:00.000Z","cwd":"/home/dev/gatehouse"}
{"type":"model_change","id":"00m0de11","parentId":null,"timestamp":"2025-03-04T14:00:01.000Z","provider":"anthropic","modelId":"claude-sonnet-4"}
{"type":"message","id":"0c41aa01","parentId":"00m0de11","timestamp":"2025-03-04T14:00:02.000Z","message":{"role":"user","content":"Burst credit is lost when the config reloads.\nFind out why."}}
{"type":"message","id":"1a2b3c01","parentId":"0c41aa01","timestamp":"2025-03-04T14:00:09.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","stopReason":"toolUse","usage":{"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":940,"cost":{"input":0.01,"output":0.002,"cacheRead":0,"cacheWrite":0,"total":0.012}},"content":[{"type":"text","text":"Let me look."},{"type":"toolCall","id":"call-1","name":"read","arguments":{"path":"/home/dev/gatehouse/src/bucket.rs","offset":1,"limit":80}},{"type":"toolCall","id":"call-2","name":"bash","arguments":{"command":"cargo test -p limiter reload"}}]}}
{"type":"message","id":"2b3c4d01","parentId":"1a2b3c01","timestamp":"2025-03-04T14:00:10.000Z","message":{"role":"toolResult","toolCallId":"call-1","toolName":"read","isError":false,"content":[{"type":"text","text":"struct Bucket {\n  credit: u32,\n}\n"}]}}
{"type":"message","id":"3c4d5e01","parentId":"2b3c4d01","timestamp":"2025-03-04T14:00:13.100Z","message":{"role":"toolResult","toolCallId":"call-2","toolName":"bash","isError":true,"content":[{"type":"text","text":"1 failed"}]}}
{"type":"message","id":"4d5e6f01","parentId":"3c4d5e01","timestamp":"2025-03-04T14:00:40.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","stopReason":"stop","usage":{"input":1000,"output":80,"cacheRead":0,"cacheWrite":0,"totalTokens":1080,"cost":{"input":0.01,"output":0.004,"cacheRead":0,"cacheWrite":0,"total":0.014}},"content":[{"type":"text","text":"The limiter is built anew on every reload, and with it the bucket. Its credit starts at zero, so a burst right after a reload is refused.\n\n    let limiter = Limiter::new(config);"}]}}
{"type":"message","id":"90aa5101","parentId":"4d5e6f01","timestamp":"2025-03-04T14:02:00.000Z","message":{"role":"user","content":"Keep the old bucket alive across reloads"}}
{"type":"message","id":"5e6f7001","parentId":"90aa5101","timestamp":"2025-03-04T14:02:30.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","stopReason":"aborted","content":[{"type":"text","text":"I move the bucket"}]}}
{"type":"label","id":"la000001","parentId":"5e6f7001","timestamp":"2025-03-04T14:03:00.000Z","targetId":"90aa5101","label":"works, ugly"}
{"type":"message","id":"b7720e01","parentId":"4d5e6f01","timestamp":"2025-03-04T14:07:00.000Z","message":{"role":"user","content":"Store the credit as a deadline instead of a counter. 日本語の長い文章もきちんと切り詰められることを確かめます。"}}
{"type":"message","id":"6f708101","parentId":"b7720e01","timestamp":"2025-03-04T14:07:38.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","stopReason":"stop","content":[{"type":"text","text":"The bucket now keeps one instant, full_at."}]}}
{"type":"session_info","id":"51000001","parentId":"6f708101","timestamp":"2025-03-04T14:08:00.000Z","name":"Burst credit lost after reload"}
"#;
