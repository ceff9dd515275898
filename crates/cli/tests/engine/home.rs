//! A private home, whose engine ends with it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use offshoot_testkit::deadline::{BoundedChild, BoundedReader};
pub(crate) use offshoot_testkit::deadline::{PATIENCE, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_offshoot");

pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("offshoot-").tempdir().expect("a temporary directory");
        Self { dir }
    }

    /// With a session of this title.
    pub(crate) fn with_session(title: &str) -> Self {
        let home = Self::new();
        home.done(&["new", title]);
        home
    }

    pub(crate) fn directory(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn run_path(&self, name: &str) -> PathBuf {
        self.path().join("run").join(name)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.dir.path()).env_clear().env("TZ", "UTC").env("PATH", "/usr/bin:/bin");
        command.env("OFFSHOOT_HOME", self.path()).env("OFFSHOOT_AUTO_SYNC", "false").args(words);
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn output(&self, words: &[&str]) -> Output {
        ended(self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"))
    }

    /// What it prints; it has to go well.
    pub(crate) fn done(&self, words: &[&str]) -> String {
        let output = self.output(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The error it ends with, and its exit code.
    pub(crate) fn refused(&self, words: &[&str]) -> (String, Option<i32>) {
        let output = self.output(words);
        (String::from_utf8(output.stderr).expect("text"), output.status.code())
    }

    pub(crate) fn engine(&self) -> Option<Pid> {
        let status: Value = serde_json::from_str(&self.done(&["engine", "status", "--json"])).expect("JSON");
        status["engine"]["process"].as_i64().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
    }

    pub(crate) fn epoch(&self) -> u64 {
        let text = std::fs::read_to_string(self.run_path("epoch")).unwrap_or_default();
        text.trim().parse().unwrap_or_default()
    }

    /// The processes that run as the engine of this home.
    pub(crate) fn engines(&self) -> Vec<u32> {
        let home = self.path();
        let is_ours = |process: &u32| {
            let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            words.contains(&b"engine".as_slice())
                && words.contains(&home.as_os_str().as_encoded_bytes())
                && !words.contains(&b"stop".as_slice())
        };
        let names = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
        let processes = names.filter_map(|name| name.file_name().to_str()?.parse().ok());
        processes.filter(is_ours).collect()
    }

    /// How many of them have the lock of the home open: an engine that has left releases it before its process ends.
    pub(crate) fn lock_holders(&self) -> usize {
        let lock = self.path().join("engine.lock");
        let has_it_open = |process: &u32| {
            let files = std::fs::read_dir(format!("/proc/{process}/fd"));
            let mut files = files.into_iter().flatten().filter_map(Result::ok);
            files.any(|file| std::fs::read_link(file.path()).is_ok_and(|path| path == lock))
        };
        self.engines().iter().filter(|process| has_it_open(process)).count()
    }

    /// Whatever was killed or has left has ended, and one engine is there at most.
    pub(crate) fn until_one_engine(&self) {
        until("one engine", || self.engines().len() <= 1);
    }

    /// Starts its engine as a child of the test, which sees how it exits.
    pub(crate) fn begin_engine(&self, environment: &[(&str, &str)]) -> Child {
        let home = self.path();
        let mut command = self.command(&["engine", "--home", home.to_str().expect("text")]);
        command.envs(environment.iter().copied()).stdout(Stdio::piped());
        let mut engine = command.spawn().expect("it starts");
        let mut line = String::new();
        let stdout = BoundedReader(engine.stdout.take().expect("a pipe"));
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        engine
    }

    /// Makes the directory of the engine's files, as the first engine would.
    pub(crate) fn prepare_run(&self) {
        std::fs::DirBuilder::new().mode(0o700).create(self.path().join("run")).expect("own directory");
    }

    pub(crate) fn lock(&self, path: PathBuf) -> File {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).expect("own file");
        file.try_lock().expect("nobody holds it");
        file
    }
}

/// No test leaves an engine behind.
impl Drop for Home {
    fn drop(&mut self) {
        offshoot_testkit::stop_engine(PROGRAM, &self.path());
    }
}

/// The output of a process that has to exit before the deadline.
pub(crate) fn ended(child: Child) -> Output {
    child.bounded_output()
}

/// A command that is talked with, whose lines come through a thread so that none is waited for without a deadline.
pub(crate) struct Talk {
    pub(crate) child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Talk {
    pub(crate) fn begin(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let stdout = BufReader::new(BoundedReader(child.stdout.take().expect("a pipe")));
        let (tell, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, lines }
    }

    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("the input is open");
        writeln!(stdin, "{line}").expect("it listens");
    }

    pub(crate) fn until(&self, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("`{words}` did not come"));
            if line.contains(words) {
                return;
            }
        }
    }

    pub(crate) fn quit(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        ended(self.child).status.code()
    }

    pub(crate) fn signal(self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
        ended(self.child);
    }
}

/// A client that speaks the wire itself.
pub(crate) struct Wire {
    stream: BufReader<UnixStream>,
    calls: u64,
}

impl Wire {
    pub(crate) fn over(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("own socket");
        Self { stream: BufReader::new(stream), calls: 0 }
    }

    pub(crate) fn call(&mut self, request: &Value) -> Value {
        self.calls += 1;
        let call = json!({ "id": self.calls, "caller": "test", "request": request });
        writeln!(self.stream.get_mut(), "{call}").expect("the engine listens");
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).expect("text") > 0, "the engine is gone");
            let reply: Value = serde_json::from_str(&line).expect("JSON");
            if reply["id"] == self.calls {
                return reply;
            }
        }
    }

    /// Whether the other end has closed it.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.stream.read(&mut [0]).is_ok_and(|count| count == 0)
    }
}

/// How often something is tried: a few times, or as often as the variable says.
pub(crate) fn rounds(few: u64) -> u64 {
    std::env::var("OFFSHOOT_TEST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// A time between 0 and 80 ms that differs from round to round and is the same in every run.
pub(crate) fn delay(round: u64) -> Duration {
    Duration::from_micros(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 80_000)
}
