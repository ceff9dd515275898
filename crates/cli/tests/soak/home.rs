//! A private home, whose engine ends with it.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use offshoot_session::SessionId;
use offshoot_testkit::deadline::{BoundedChild, until};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_offshoot");

/// The length in bytes of each journal.
pub(crate) type Lengths = HashMap<SessionId, u64>;

pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("offshoot-").tempdir().expect("a temporary directory");
        Self { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.path().join("sessions")
    }

    pub(crate) fn new_session(&self, title: &str) -> SessionId {
        let new: serde_json::Value =
            serde_json::from_str(&self.done(&["new", title, "--json"])).expect("JSON");
        new["id"].as_str().expect("an id").into()
    }

    /// Runs a command to its end; `input` is its standard input.
    pub(crate) fn output(&self, words: &[&str], input: Option<&Path>) -> Output {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.dir.path()).env_clear().env("TZ", "UTC").env("PATH", "/usr/bin:/bin");
        command.env("OFFSHOOT_HOME", self.path()).env("OFFSHOOT_AUTO_SYNC", "false").args(words);
        let input = input.map(|path| File::open(path).expect("own file"));
        command.stdin(input.map_or_else(Stdio::null, Stdio::from));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        child.bounded_output()
    }

    /// What a command prints that has to succeed.
    pub(crate) fn done(&self, words: &[&str]) -> String {
        let output = self.output(words, None);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// A file for one worker.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn lengths(&self) -> Lengths {
        let names = std::fs::read_dir(self.sessions()).expect("own directory").map_while(Result::ok);
        let journals = names.filter(|name| name.path().extension() == Some("jsonl".as_ref()));
        // A journal that could not be begun is removed again.
        let lengths = journals.filter_map(|name| {
            let length = name.metadata().ok()?.len();
            Some((name.path().file_stem()?.to_str()?.into(), length))
        });
        lengths.collect()
    }

    /// The processes that run as the engine of this home.
    pub(crate) fn engines(&self) -> Vec<u32> {
        let home = self.path();
        let is_engine = |process: &u32| {
            let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            words.get(1) == Some(&b"engine".as_slice())
                && words.contains(&home.as_os_str().as_encoded_bytes())
        };
        let names = std::fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
        names.filter_map(|name| name.file_name().to_str()?.parse().ok()).filter(is_engine).collect()
    }

    /// Ends the engine, and fails where one is left. It has stopped when its locks are free, and its process ends soon after.
    pub(crate) fn stop(self) {
        offshoot_testkit::stop_engine(PROGRAM, &self.path());
        until("the end of the engine", || self.engines().is_empty());
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        offshoot_testkit::stop_engine(PROGRAM, &self.path());
    }
}
