//! The database of another program: read as it stands, left as it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use offshoot_session::{Body, Oddity, SessionTree};
use offshoot_store::{DatabaseError, OpencodeDatabase};
use offshoot_testkit::deadline::BoundedCommand;
use offshoot_testkit::draw;
use offshoot_transcripts::Transcript;
use rusqlite::Connection;
use tempfile::TempDir;

const SCHEMA: &str = "
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
        directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text,
        time_created integer NOT NULL, time_updated integer NOT NULL);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);";

const DATABASE: &str = "OFFSHOOT_READ_DATABASE";

/// opencode, as far as its database is concerned.
struct Program {
    folder: TempDir,
    connection: Connection,
}

impl Program {
    fn starts() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("open code#1.db")).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        Self { folder, connection }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("open code#1.db")
    }

    fn opens_session(&self, id: &str, parent: Option<&str>) {
        let sql = "INSERT INTO session VALUES (?1, 'p', ?2, 's', '/lamps', ?3, '1.18.33', NULL, 1000, 1000)";
        self.connection.execute(sql, (id, parent, format!("About {id}"))).unwrap();
    }

    /// A prompt and its answer, with a call of a tool.
    fn has_turn(&self, session: &str, turn: i64) {
        let at = 2000 + turn * 10;
        let (asked, answered) = (format!("{session}-u{turn}"), format!("{session}-a{turn}"));
        self.has_message(session, &asked, at, r#"{"role":"user"}"#);
        self.has_part(session, &asked, "1", &format!(r#"{{"type":"text","text":"question {turn}"}}"#));
        let answer = format!(r#"{{"role":"assistant","parentID":"{asked}","modelID":"m","providerID":"x"}}"#);
        self.has_message(session, &answered, at + 1, &answer);
        self.has_part(session, &answered, "1", r#"{"type":"text","text":"answer"}"#);
        let call = r#"{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"o"}}"#;
        self.has_part(session, &answered, "2", call);
    }

    fn has_message(&self, session: &str, id: &str, at: i64, data: &str) {
        let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
        self.connection.execute(sql, (id, session, at, data)).unwrap();
    }

    fn has_part(&self, session: &str, message: &str, name: &str, data: &str) {
        let sql = "INSERT INTO part VALUES (?1, ?2, ?3, 1, 1, ?4)";
        self.connection.execute(sql, (format!("{message}-{name}"), message, session, data)).unwrap();
    }

    fn ends(self) -> TempDir {
        self.connection.close().unwrap();
        self.folder
    }
}

/// Every file with its length and a sum of its bytes.
fn files_in(folder: &Path) -> BTreeMap<String, (usize, u32)> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| {
        let file = file.unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        (file.file_name().into_string().unwrap(), (bytes.len(), crc32fast::hash(&bytes)))
    });
    files.collect()
}

fn opened(path: &Path) -> OpencodeDatabase {
    OpencodeDatabase::open(path, &std::env::temp_dir()).unwrap()
}

fn drawn(transcript: Transcript) -> (String, Vec<Oddity>) {
    let (tree, oddities) = SessionTree::replay(transcript.records);
    (draw(&tree).trim_end().to_owned(), [transcript.oddities, oddities].concat())
}

fn prompts(database: &mut OpencodeDatabase, id: &str) -> usize {
    let (tree, _) = SessionTree::replay(database.read(id).unwrap().unwrap().records);
    tree.entries().filter(|entry| matches!(entry.body, Body::Prompt(_))).count()
}

#[test]
fn a_database_that_nobody_has_open_is_read_and_left_as_it_is() {
    let program = Program::starts();
    program.opens_session("one", None);
    program.has_turn("one", 1);
    program.opens_session("two", Some("one"));
    let path = program.path();
    let folder = program.ends();
    let before = files_in(folder.path());
    assert_eq!(before.len(), 1, "the log is gone when the program ends");

    let mut database = opened(&path);
    let sessions = database.sessions().unwrap();
    assert_eq!(sessions.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!((sessions[0].messages, sessions[0].title.as_deref()), (2, Some("About one")));
    let one = database.read("one").unwrap().unwrap();
    assert_eq!(
        one.records.iter().filter(|record| record.source.is_some()).count(),
        6,
        "a source for each row"
    );
    let (tree, oddities) = drawn(one);
    assert_eq!((tree.as_str(), oddities), (r#"one-u1"question 1" - one-a1"answer" - one-a1-2*"#, Vec::new()));
    let two = database.read("two").unwrap().unwrap();
    let (tree, _) = SessionTree::replay(two.records);
    assert_eq!(tree.header().unwrap().lineage.as_ref().unwrap().parent, "one");
    assert!(database.read("three").unwrap().is_none());
    drop(database);
    assert_eq!(files_in(folder.path()), before);
}

#[test]
fn a_running_program_is_not_disturbed_and_one_state_is_seen() {
    let program = Program::starts();
    program.opens_session("one", None);
    program.has_turn("one", 1);
    let before = files_in(program.folder.path());
    assert_eq!(before.len(), 3, "the database, its log and its shared memory");

    // In a process of its own: within one, SQLite shares what it has open for writing.
    let reader = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "opencode_database::another_reader", "--ignored", "--nocapture"])
        .env(DATABASE, program.path())
        .bounded_output()
        .unwrap();
    let said = String::from_utf8(reader.stdout).unwrap();
    assert!(said.contains("1 prompts"), "{said}");
    assert_eq!(files_in(program.folder.path()), before);

    let mut database = opened(&program.path());
    assert_eq!(prompts(&mut database, "one"), 1);
    program.has_turn("one", 2);
    assert_eq!(prompts(&mut database, "one"), 1, "what comes later is not seen");
    assert_eq!(prompts(&mut opened(&program.path()), "one"), 2);
    drop(database);
    program.has_turn("one", 3);
    let folder = program.ends();
    assert_eq!(files_in(folder.path()).len(), 1, "the program could put its log away");
}

#[test]
#[ignore = "run by a_running_program_is_not_disturbed_and_one_state_is_seen"]
fn another_reader() {
    let path = PathBuf::from(std::env::var_os(DATABASE).unwrap());
    println!("{} prompts", prompts(&mut opened(&path), "one"));
}

#[test]
fn what_a_program_left_in_its_log_is_read_from_a_copy() {
    let program = Program::starts();
    program.opens_session("one", None);
    program.has_turn("one", 1);
    let left = tempfile::tempdir().unwrap();
    let path = left.path().join("opencode.db");
    for ending in ["", "-wal"] {
        let beside = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
        std::fs::copy(beside(&program.path()), beside(&path)).unwrap();
    }
    let before = files_in(left.path());
    let scratch = tempfile::tempdir().unwrap();
    let mut database = OpencodeDatabase::open(&path, scratch.path()).unwrap();
    assert_eq!(prompts(&mut database, "one"), 1);
    assert_eq!(files_in(left.path()), before);
    drop(database);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "the copy is gone");
}

#[test]
fn a_program_that_begins_while_its_database_is_read_is_noticed() {
    let program = Program::starts();
    program.opens_session("one", None);
    program.has_turn("one", 1);
    let path = program.path();
    let folder = program.ends();
    let mut database = opened(&path);
    assert_eq!(prompts(&mut database, "one"), 1);
    let program = Program { folder, connection: Connection::open(&path).unwrap() };
    program.has_turn("one", 2);
    assert_eq!(prompts(&mut database, "one"), 2, "the files are not what they were: it is read again");
}

#[test]
fn rows_that_nobody_understands_are_kept() {
    let program = Program::starts();
    program.opens_session("one", None);
    program.has_turn("one", 1);
    program.has_message("one", "m", 9000, "no JSON");
    program.has_part("one", "m", "p", r#"{"type":"novel"}"#);
    program.has_part("one", "gone", "p", r#"{"type":"text","text":"of nobody"}"#);
    program.has_message("lost", "x", 9000, r#"{"role":"user"}"#);
    let mut database = opened(&program.path());
    let one = database.read("one").unwrap().unwrap();
    assert_eq!(one.records.iter().filter(|record| record.source.is_some()).count(), 9);
    let unknown: Vec<&str> = one.unknown_types.keys().map(String::as_str).collect();
    assert_eq!(unknown, ["message", "part/novel"]);
    let lost = database.read("lost").unwrap().unwrap();
    assert_eq!(lost.oddities.len(), 1, "there is no row for the session: {:?}", lost.oddities);
}

#[test]
fn databases_of_others_are_refused_and_damage_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE session (id text)").unwrap();
    let scratch = std::env::temp_dir();
    assert!(matches!(OpencodeDatabase::open(&path, &scratch), Err(DatabaseError::NotOpencode { .. })));
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(4096, 7);
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(OpencodeDatabase::open(&path, &scratch), Err(DatabaseError::Sqlite { .. })));
    assert!(matches!(
        OpencodeDatabase::open(&folder.path().join("none.db"), &scratch),
        Err(DatabaseError::File(_))
    ));
}

#[test]
fn a_real_database_says_what_its_export_says() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let folder = shared.join("fixtures/generated/opencode");
    let (Ok(export), true) =
        (std::fs::read(folder.join("export.json")), folder.join("opencode.db").is_file())
    else {
        println!(
            "skipped: a_real_database_says_what_its_export_says (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    };
    let export = offshoot_transcripts::read(Some("export.json"), &export).unwrap();
    let (exported, _) = SessionTree::replay(export.records);
    let id = exported.header().unwrap().id.clone();
    let mut database = opened(&folder.join("opencode.db"));
    let read = database.read(id.as_str()).unwrap().unwrap();
    let (read, oddities) = SessionTree::replay(read.records);
    assert_eq!(oddities, []);
    assert_eq!(draw(&read), draw(&exported));
    assert!(read.entries().eq(exported.entries()), "every entry says the same");
    assert_eq!(read.title(), exported.title());
}

/// D4: an id of a database is foreign text too. In paths a safe name stands for it, and that name finds its rows.
#[test]
fn a_session_is_found_by_the_file_name_that_stands_for_its_id() {
    let program = Program::starts();
    for id in ["ses_1", "../../planted"] {
        program.opens_session(id, None);
        program.has_turn(id, 1);
        let mut database = OpencodeDatabase::open(&program.path(), program.folder.path()).unwrap();
        let name = offshoot_session::file_name::file_name(id);
        let rows = database.rows(&name).unwrap().expect("the session");
        assert_eq!(rows.messages.len(), 2, "{id}");
    }
    let mut database = OpencodeDatabase::open(&program.path(), program.folder.path()).unwrap();
    assert!(database.rows("planted").unwrap().is_none());
}
