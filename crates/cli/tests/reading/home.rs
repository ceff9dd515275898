//! A home in a temporary folder, and the program run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jiff::Timestamp;
use offshoot_session::{
    BranchReason, Fact, HeadMove, HeadName, Lineage, Record, SessionHeader, SessionId, TitleSource,
};
use offshoot_store::{Home, JournalStore, Locking, SessionStore};
use offshoot_testkit::deadline::{BoundedCommand, Deadline};
use offshoot_testkit::drawn;
use tempfile::TempDir;

/// The clock of the program stands at 2025-03-04T14:10:00Z.
const NOW: &str = "5407800";

pub(crate) const BURST_ID: &str = "6f2a91c0-0000-7000-8000-000000000001";

/// Two versions of the second turn, a tool that works and one that fails, a label, a title, an interruption.
pub(crate) const BURST: &str = include_str!("burst.jsonl");

pub(crate) struct TestHome {
    dir: TempDir,
}

impl TestHome {
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("work")).expect("a folder");
        Self { dir }
    }

    /// The session of [`BURST`], two that came from it, and an old one.
    pub(crate) fn filled() -> Self {
        let home = Self::empty();
        home.put(&burst());
        home.put(&session(
            "b81c0700-fork",
            "2025-03-04T14:07:30Z",
            Some("/home/dev/gatehouse"),
            Some("Try it in a worktree: GCRA"),
            Some(BURST_ID),
            "u1\"Rewrite the limiter as GCRA\" - a1*",
        ));
        home.put(&session(
            "3e90d400-fork",
            "2025-03-04T13:00:00Z",
            Some("/home/dev/gatehouse"),
            None,
            Some("/home/dev/.pi/2025-03-04T14-00-00-000Z_6f2a91c0-0000-7000-8000-000000000001.jsonl"),
            "u1\"What if burst is per key?\" - a1 - u2 - a2*",
        ));
        home.put(&session(
            "c70a1f00-old",
            "2024-11-02T09:00:00Z",
            Some("/home/dev/ledger"),
            Some("Port the parser to winnow and keep every error message as it was before"),
            None,
            "u1\"Port it\" - a1[done]*",
        ));
        home
    }

    pub(crate) fn put(&self, records: &[Record]) {
        let store = JournalStore::at(Home::at(self.root()), Locking::by("test"));
        store.create(records).expect("a session is created");
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn journal(&self, id: &str) -> PathBuf {
        Home::at(self.root()).journal(&SessionId::from(id))
    }

    pub(crate) fn change_journal(&self, id: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let path = self.journal(id);
        let bytes = std::fs::read(&path).expect("a journal");
        std::fs::write(&path, change(bytes)).expect("a journal");
        let file = std::fs::File::options().append(true).open(path).expect("a journal");
        let noon: Timestamp = "2025-03-04T12:00:00Z".parse().expect("a time");
        file.set_modified(noon.into()).expect("own file");
    }

    pub(crate) fn command(&self) -> Command {
        self.prepared(Command::new(env!("CARGO_BIN_EXE_offshoot")))
    }

    fn prepared(&self, mut command: Command) -> Command {
        command.current_dir(self.folder()).env_clear().env("TZ", "UTC");
        command.env("OFFSHOOT_FIXED_STAMPS", NOW).env("OFFSHOOT_HOME", self.root());
        command.env("OFFSHOOT_AUTO_SYNC", "false");
        command
    }

    pub(crate) fn output(&self, line: &str) -> Output {
        output_of(&mut self.command(), line)
    }

    /// What is printed, with errors and the exit code below it. Places are made the same everywhere.
    pub(crate) fn run(&self, line: &str) -> String {
        self.told(self.output(line))
    }

    /// The same with the rights of an ordinary user, also where the tests run as root. The program is copied, because
    /// such a user may not be allowed to reach where it was built.
    pub(crate) fn run_as_ordinary_user(&self, line: &str) -> String {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        use std::os::unix::process::CommandExt;
        let program = self.dir.path().join("offshoot");
        if !program.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_offshoot"), &program).expect("a copy of the program");
        }
        std::fs::set_permissions(self.dir.path(), std::fs::Permissions::from_mode(0o755))
            .expect("own folder");
        let mut command = self.prepared(Command::new(program));
        if std::fs::metadata(self.dir.path()).expect("own folder").uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        self.told(output_of(&mut command, line))
    }

    fn told(&self, output: Output) -> String {
        let mut told = String::from_utf8(output.stdout).expect("text");
        told.push_str(&String::from_utf8(output.stderr).expect("text"));
        if !output.status.success() {
            told.push_str(&format!("exit {}\n", output.status.code().unwrap_or(-1)));
        }
        told.replace(&*self.dir.path().to_string_lossy(), "/tmp/t")
    }
}

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

fn output_of(command: &mut Command, line: &str) -> Output {
    command.args(line.split(' ').map(|word| word.replace('_', " ")));
    let deadline = Deadline::begin("the copy of the program");
    loop {
        deadline.check();
        match command.bounded_output() {
            // Another test has just started a process, which holds the copy open for a moment.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => return output.expect("the program starts"),
        }
    }
}

pub(crate) fn burst() -> Vec<Record> {
    records_of(BURST.as_bytes())
}

pub(crate) fn records_of(bytes: &[u8]) -> Vec<Record> {
    offshoot_transcripts::read(None, bytes).expect("a session file").records
}

/// A session with a drawn tree.
pub(crate) fn session(
    id: &str,
    opened_at: &str,
    project: Option<&str>,
    title: Option<&str>,
    parent: Option<&str>,
    drawing: &str,
) -> Vec<Record> {
    let opened_at: Timestamp = opened_at.parse().expect("a time");
    let mut header = SessionHeader::new(id.into(), opened_at);
    header.project = project.map(str::to_owned);
    header.agent = Some("Claude Code".to_owned());
    header.lineage = parent.map(|parent| Lineage {
        parent: parent.to_owned(),
        at: None,
        message_index: None,
        reason: Some(BranchReason::Fork),
        metadata: None,
    });
    let mut records = vec![Record::opened(header)];
    records.extend(drawn(drawing).into_iter().filter_map(|record| at_time(record, opened_at)));
    if let Some(title) = title {
        let fact = Fact::Title { title: Some(title.to_owned()), source: TitleSource::User };
        records.push(Record::marked(opened_at, fact));
    }
    records
}

/// Drawings have times of their own; here a session has one.
fn at_time(record: Record, at: Timestamp) -> Option<Record> {
    use offshoot_session::Change;
    Some(match record.change {
        Change::Opened(_) => return None,
        Change::Entry(entry) => {
            let mut entry = (*entry).clone();
            entry.written_at = at;
            Record::entry(entry)
        }
        Change::HeadMoved(head_move) => Record::head_moved(HeadMove {
            head: HeadName::main(),
            moved_at: at,
            from: head_move.from,
            to: head_move.to,
        }),
        Change::Marked(mark) => Record::marked(at, mark.fact),
        Change::Unknown => return None,
    })
}

/// Flips one bit in a line of a journal; lines count from 1.
pub(crate) fn flipped(bytes: Vec<u8>, line: usize) -> Vec<u8> {
    let mut at = 1;
    let mut flipped = Vec::with_capacity(bytes.len());
    let mut in_line = 0;
    for byte in bytes {
        in_line += 1;
        flipped.push(if at == line && in_line == 40 { byte ^ 1 } else { byte });
        if byte == b'\n' {
            at += 1;
            in_line = 0;
        }
    }
    flipped
}

/// The first line as a newer program would write it.
pub(crate) fn of_tomorrow(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let (first, rest) = text.split_once('\n').expect("a line");
    let (object, _) = first.rsplit_once(",\"sum\":").expect("a checksum");
    let object = object.replace("\"v\":1", "\"v\":3");
    let sum = crc32fast::hash(object.as_bytes());
    format!("{object},\"sum\":\"{sum:08x}\"}}\n{rest}").into_bytes()
}

pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

/// No test leaves an engine behind.
impl Drop for TestHome {
    fn drop(&mut self) {
        offshoot_testkit::stop_engine(env!("CARGO_BIN_EXE_offshoot"), &self.root());
    }
}
