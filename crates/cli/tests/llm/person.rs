//! A home, a workspace and a server of models. When a test ends, no file that the program wrote may have a key in it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use offshoot_testkit::deadline::BoundedCommand;
use offshoot_testkit::model::{End, ModelServer, Request, Script};
use offshoot_testkit::stop_engine;
use serde_json::Value;
use tempfile::TempDir;

use crate::under_test::program;

/// The keys of the two providers. They look like no keys, so that only what knows them can hide them.
pub(crate) const KEYS: [&str; 2] = ["correct horse battery staple 4711", "wrong pony with no battery 0815"];

/// So much of each file is searched for keys.
const LONGEST_SEARCHED: u64 = 64 * 1024 * 1024;

/// A secret of something else.
pub(crate) const TOKEN: &str = "the hub_token that nobody knows";

pub(crate) struct Person {
    dir: TempDir,
    pub(crate) server: ModelServer,
    pub(crate) session: String,
}

/// What a command printed, and how it ended.
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) error: String,
    pub(crate) code: Option<i32>,
}

impl Person {
    pub(crate) fn new(script: Script) -> Self {
        Self::with_settings(script, "attempts = 3\n")
    }

    /// Where models write titles, as they do by default.
    pub(crate) fn with_titles(script: Script) -> Self {
        let person = Self::new(script);
        person.write_settings("");
        person
    }

    /// `limits` are settings of both providers.
    pub(crate) fn with_settings(script: Script, limits: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let server = ModelServer::start(script).expect("a server");
        let mut person = Self { dir, server, session: String::new() };
        for folder in [person.home(), person.workspace()] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let providers = ["anthropic", "openai"].map(|name| format!("[providers.{name}]\n{limits}"));
        // Tests count requests.
        person.write_settings(&format!("summary.titles = false\n{}", providers.concat()));
        let begun = person.json(&["new", "--agent", "llm", "--json"]);
        person.session = begun["id"].as_str().expect("an id").to_owned();
        person
    }

    /// The engine logs everything, too, so that its log is searched for keys.
    pub(crate) fn write_settings(&self, text: &str) {
        let text = format!("log = \"trace\"\n{text}");
        std::fs::write(self.home().join("settings.toml"), text).expect("a file");
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(words).current_dir(self.workspace()).env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("OFFSHOOT_HOME", self.home())
            .env("OFFSHOOT_AUTO_SYNC", "false")
            .env("OFFSHOOT_LOG", "trace")
            .env("ANTHROPIC_API_KEY", KEYS[0])
            .env("OPENAI_API_KEY", KEYS[1])
            .env("GITHUB_TOKEN", TOKEN)
            .env("PGPASSWORD", TOKEN)
            .env("ANTHROPIC_BASE_URL", self.server.url())
            .env("OPENAI_BASE_URL", format!("{}/v1", self.server.url()));
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Said {
        Said::of(&self.command(words).bounded_output().expect("the program starts"))
    }

    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let said = self.run(words);
        serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{words:?}: {}{}", said.out, said.error))
    }

    pub(crate) fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// One prompt to a model, with more words of the command line.
    pub(crate) fn send(&self, model: &str, text: &str, more: &[&str]) -> Said {
        let words = ["send", &self.session, text, "--agent", "llm", "--model", model];
        self.run(&[&words, more].concat())
    }

    /// The entries of the head's branch.
    pub(crate) fn entries(&self) -> Vec<Value> {
        let shown = self.json(&["show", &self.session, "--json"]);
        shown["entries"].as_array().cloned().unwrap_or_default()
    }

    /// The texts of answers on the head's branch.
    pub(crate) fn answers(&self) -> Vec<String> {
        let entries = self.entries();
        let answers = entries.iter().filter(|entry| entry["role"] == "assistant");
        answers.map(|entry| entry["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(crate) fn journal(&self) -> String {
        let file = self.home().join("sessions").join(format!("{}.jsonl", self.session));
        std::fs::read_to_string(file).expect("a journal")
    }

    /// Requests for answers, in the order they came.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let requests = self.server.requests().into_iter();
        requests.filter(|request| request.protocol.is_some()).collect()
    }
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            assert!(!has_key(text.as_bytes()), "a key was printed: {text}");
            text
        };
        Self { out: text(&output.stdout), error: text(&output.stderr), code: output.status.code() }
    }

    /// Answers, notices and errors, as a person sees them.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}", self.out, self.error)
    }

    /// A sentence may begin with a capital letter.
    pub(crate) fn says(&self, words: &str) -> bool {
        self.shown().to_lowercase().contains(&words.to_lowercase())
    }

    #[track_caller]
    pub(crate) fn went_well(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.error);
        self
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        stop_engine(program(), &self.home());
        if !std::thread::panicking() {
            if self.home().join("run/epoch").exists() {
                let log = std::fs::read_to_string(self.home().join("log/offshoot.log")).unwrap_or_default();
                assert!(log.contains("engine process begins"), "the engine has logged: {log}");
            }
            let ends = self.server.requests().into_iter().filter_map(|request| request.end);
            let refused: Vec<End> = ends.filter(|end| matches!(end, End::Refused(_))).collect();
            assert!(refused.is_empty(), "the real server would refuse {refused:?}");
            let with_key = files_with_key(self.dir.path());
            assert!(with_key.is_empty(), "the key is in {with_key:?}");
        }
    }
}

fn has_key(bytes: &[u8]) -> bool {
    let has = |key: &[u8]| bytes.windows(key.len()).any(|window| window == key);
    KEYS.iter().chain([&TOKEN]).any(|key| has(key.as_bytes()))
}

fn files_with_key(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
        let path = entry.path();
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            found.extend(files_with_key(&path));
        } else if kind.is_file() {
            let mut bytes = Vec::new();
            // A test may make a file without end; the program does not.
            let file = std::fs::File::open(&path).expect("a file");
            file.take(LONGEST_SEARCHED).read_to_end(&mut bytes).expect("a file");
            if has_key(&bytes) {
                found.push(path);
            }
        }
    }
    found
}
