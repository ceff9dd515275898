//! The folder of Claude Code, in a folder of the test.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use offshoot_session::outline::one_line;
use offshoot_session::{Block, Interruption, Prompt, Reply, Stop, ToolResult, ToolUse};
use serde_json::{Value, json};

use super::*;

const S1: &str = "11111111-1111-4111-8111-111111111111";
const S2: &str = "22222222-2222-4222-8222-222222222222";

struct Fixture {
    folder: tempfile::TempDir,
    home: ClaudeHome,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let environment = [("CLAUDE_CONFIG_DIR".into(), folder.path().join("config").into())];
        let home = ClaudeHome::of(&environment.into_iter().collect()).unwrap();
        Self { folder, home }
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.home.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn session(&self) -> PathBuf {
        self.write(&format!("projects/-srv/{S1}.jsonl"), &lines(&two_branches()))
    }
}

fn id(session: &str) -> AgentSessionId {
    session.into()
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn line(uuid: &str, parent: Option<&str>) -> Value {
    let (kind, message) = match uuid.starts_with('a') {
        true => {
            let content = [json!({ "type": "text", "text": uuid })];
            (
                "assistant",
                json!({ "role": "assistant", "id": uuid, "content": content, "stop_reason": "end_turn" }),
            )
        }
        false => ("user", json!({ "role": "user", "content": uuid })),
    };
    json!({
        "parentUuid": parent, "isSidechain": false, "type": kind, "message": message, "uuid": uuid,
        "timestamp": "2025-01-01T00:00:00.000Z", "sessionId": S1, "cwd": "/srv",
    })
}

/// `u1 - a1 - u2 - a2`, and below `a1` `u3 - a3`, which is the active one.
fn two_branches() -> Vec<Value> {
    let parents = [("u1", None), ("a1", Some("u1")), ("u2", Some("a1")), ("a2", Some("u2"))];
    let more = [("u3", Some("a1")), ("a3", Some("u3"))];
    parents.into_iter().chain(more).map(|(uuid, parent)| line(uuid, parent)).collect()
}

#[test]
fn the_folder_comes_from_the_environment() {
    let of = |variables: &[(&str, &str)]| {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        ClaudeHome::of(&variables.collect()).map(|home| home.folder)
    };
    assert_eq!(of(&[("CLAUDE_CONFIG_DIR", "/c"), ("HOME", "/h")]), Some("/c".into()));
    assert_eq!(of(&[("CLAUDE_CONFIG_DIR", ""), ("HOME", "/h")]), Some("/h/.claude".into()));
    assert_eq!(of(&[]), None);
}

#[test]
fn a_transcript_is_found_in_the_folder_of_any_project() {
    let fixture = Fixture::new();
    assert_eq!(fixture.home.transcript(&id(S1)), None);
    let path = fixture.session();
    assert_eq!(fixture.home.transcript(&id(S1)), Some(path));
    assert_eq!(fixture.home.transcript(&id("../-work/x")), None);
    let new = fixture.home.new_transcript(&id(S2), Path::new("/srv/a.b"));
    assert!(new.ends_with(format!("projects/-srv-a-b/{S2}.jsonl")), "{}", new.display());
    let point = |at: &str| fixture.home.point(&id(S1), &at.into());
    assert_eq!((point("a3"), point("a2"), point("x")), (Point::Active, Point::OtherBranch, Point::Missing));
}

/// A FIFO would block, and a link could lead anywhere.
#[test]
fn only_regular_files_in_the_folder_are_read() {
    let fixture = Fixture::new();
    let outside = fixture.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join(format!("{S1}.jsonl")), lines(&two_branches())).unwrap();
    let projects = fixture.home.folder.join("projects");
    fs::create_dir_all(projects.join("-links")).unwrap();
    symlink(&outside, projects.join("-outside")).unwrap();
    symlink(outside.join(format!("{S1}.jsonl")), projects.join(format!("-links/{S1}.jsonl"))).unwrap();
    let fifo = projects.join(format!("-links/{S2}.jsonl"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    assert_eq!(fixture.home.transcript(&id(S1)), None);
    assert_eq!(fixture.home.transcript(&id(S2)), None);
}

#[test]
fn a_branch_is_extracted_with_the_backups_and_nothing_else_changes() {
    let fixture = Fixture::new();
    let path = fixture.session();
    let backup = fixture.write(&format!("file-history/{S1}/0123@v1"), "old");
    let before = fs::read(&path).unwrap();
    let work = Path::new("/srv");
    fixture.home.extract(&id(S1), Some(&"a2".into()), &id(S2), work).unwrap();
    let written = fixture.home.transcript(&id(S2)).unwrap();
    assert_eq!(fs::metadata(&written).unwrap().permissions().mode() & 0o777, 0o600);
    for at in ["u1", "a1", "u2", "a2"] {
        assert_eq!(fixture.home.point(&id(S2), &at.into()), Point::Active, "{at}");
    }
    assert_eq!(fixture.home.point(&id(S2), &"a3".into()), Point::Missing);
    let linked = fixture.home.folder.join(format!("file-history/{S2}/0123@v1"));
    assert_eq!(fs::metadata(linked).unwrap().ino(), fs::metadata(backup).unwrap().ino());
    assert_eq!(fs::read(&path).unwrap(), before);

    let again = fixture.home.extract(&id(S1), None, &id(S2), work);
    assert!(
        matches!(again, Err(NotWritten::File { doing: "write", .. })),
        "never over another file: {again:?}"
    );
    let missing = fixture.home.extract(&id(S1), Some(&"x".into()), &id(S2), work);
    assert!(matches!(missing, Err(NotWritten::NoMessage { .. })), "{missing:?}");
    let gone = fixture.home.extract(&id(S2.replace('2', "3").as_str()), None, &id(S1), work);
    assert!(matches!(gone, Err(NotWritten::NoTranscript { .. })), "{gone:?}");
}

#[test]
fn a_transcript_reaches_as_far_as_it_was_written() {
    let fixture = Fixture::new();
    assert_eq!(fixture.home.reach(&id(S1), &"u1".into()), Reach::Short, "there is none");
    fixture.session();
    let reach = |at: &str| fixture.home.reach(&id(S1), &at.into());
    assert_eq!((reach("a3"), reach("x")), (Reach::There, Reach::Short));
    assert_eq!((reach("a1"), reach("a2")), (Reach::Further, Reach::Further), "above, and on another branch");
}

/// Claude Code was killed before it wrote the last prompt.
#[test]
fn what_a_transcript_lacks_of_a_branch_is_added_behind_its_own_lines() {
    let fixture = Fixture::new();
    let path = fixture.session();
    let before = fs::read(&path).unwrap();
    let says = |text: &str| vec![Block::Text(text.into())];
    let prompt = |text: &str| Body::Prompt(Prompt { blocks: says(text), ..Prompt::default() });
    let reply = |text: &str| Body::Reply(Reply { blocks: says(text), ..Reply::default() });
    let known = [("u1", prompt("u1")), ("a1", reply("a1")), ("u2", prompt("u2")), ("a2", reply("a2"))];
    let lacking =
        [("p", prompt("Begin.")), ("r", reply("One two")), ("i", Body::Interrupted(Interruption::Crash))];
    let branch: Vec<Arc<Entry>> =
        known.into_iter().chain(lacking).map(|(id, body)| entry(id, body)).collect();
    let work = Path::new("/srv");
    assert_eq!(fixture.home.complete(&id(S1), &branch, &id(S2), work).unwrap(), Missing::default());
    let written = fs::read(fixture.home.transcript(&id(S2)).unwrap()).unwrap();
    let of_branch = Branches::read(None, &written);
    let texts: Vec<String> = of_branch.active().iter().map(|entry| one_line(&entry.body)).collect();
    assert_eq!(texts.get(..6).unwrap(), ["u1", "a1", "u2", "a2", "Begin.", "One two"]);
    assert!(matches!(of_branch.active().last().unwrap().body, Body::Interrupted(_)));

    let extracted = extract(None, &before, Some(&"a2".into()), S2).unwrap();
    assert!(written.starts_with(&extracted), "its own lines are copied");
    assert_eq!(fs::read(&path).unwrap(), before);

    let strange = [entry("p", prompt("Begin."))].to_vec();
    let nothing = fixture.home.complete(&id(S1), &strange, &id(S2), work);
    assert!(matches!(nothing, Err(NotWritten::Empty { .. })), "{nothing:?}");
}

fn entry(id: &str, body: Body) -> Arc<Entry> {
    Arc::new(Entry { id: id.into(), parent: None, written_at: Timestamp::UNIX_EPOCH, turn: None, body })
}

#[test]
fn entries_of_any_agent_are_rebuilt_and_what_is_missing_is_counted() {
    let fixture = Fixture::new();
    let call = ToolUse { id: "c".into(), name: "shell".into(), input: json!({ "command": "ls" }) };
    let reply = |blocks| Body::Reply(Reply { blocks, stop: Some(Stop::EndTurn), ..Reply::default() });
    let result = ToolResult {
        call: "c".into(),
        tool: "shell".into(),
        blocks: vec![Block::Text("a.txt".into())],
        failed: false,
        usage: None,
        changed_input: None,
    };
    let path = [
        entry("1", Body::Prompt(Prompt { blocks: vec![Block::Text("list".into())], ..Prompt::default() })),
        entry("2", reply(vec![Block::Thinking("hm".into()), Block::ToolUse(call)])),
        entry("3", Body::ToolResult(result)),
        entry("4", reply(vec![Block::Text("One file.".into())])),
    ];
    let entries: EntryIter<'_> = Box::new(path.iter().cloned());
    let missing = fixture.home.rebuild(entries, &id(S2), Path::new("/srv")).unwrap();
    assert_eq!(missing, Missing { thoughts: 1, ..Missing::default() });
    let written = fs::read_to_string(fixture.home.transcript(&id(S2)).unwrap()).unwrap();
    for part in ["list", "a.txt", "One file."] {
        assert!(written.contains(part), "{written}");
    }
    let nothing = fixture.home.rebuild(Box::new(std::iter::empty()), &id(S1), Path::new("/srv"));
    assert!(matches!(nothing, Err(NotWritten::NothingToWrite { .. })), "{nothing:?}");
}

#[test]
fn a_title_is_one_line_at_the_end_and_in_an_index_that_exists() {
    let fixture = Fixture::new();
    let path = fixture.session();
    let before = fs::read_to_string(&path).unwrap();
    assert!(fixture.home.set_title(&id(S1), "New").unwrap());
    let after = fs::read_to_string(&path).unwrap();
    let title = after.strip_prefix(&before).unwrap();
    let expected = json!({ "type": "custom-title", "customTitle": "New", "sessionId": S1 });
    assert_eq!(serde_json::from_str::<Value>(title).unwrap(), expected);
    assert!(!fixture.home.set_title(&id(S1), "New").unwrap(), "it has this title");
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    assert!(!path.with_file_name(titles::INDEX).exists());

    let index = json!({ "version": 1, "entries": [{ "sessionId": S1, "customTitle": "Old" }] });
    let index = fixture.write(&format!("projects/-srv/{}", titles::INDEX), &index.to_string());
    fs::write(&path, format!("{before}{{\"torn")).unwrap();
    assert!(fixture.home.set_title(&id(S1), "Other").unwrap());
    assert!(fs::read_to_string(&index).unwrap().contains("\"customTitle\":\"Other\""));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&format!("{before}{{\"torn\n{{")), "a line that broke off stays: {text}");
    let names = fs::read_dir(path.parent().unwrap()).unwrap();
    assert_eq!(names.count(), 2, "nothing is left of the writing");
}

#[test]
fn a_process_that_runs_the_session_is_seen_unless_it_is_ours_or_gone() {
    let fixture = Fixture::new();
    let pid = std::process::id();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let status = |session: &str, start: &str| {
        json!({ "pid": pid, "sessionId": session, "procStart": start, "startedAt": 1_000 }).to_string()
    };
    let sees = |is_ours: bool| fixture.home.elsewhere(&id(S1), &|_| is_ours);
    assert_eq!(sees(false), None);
    fixture.write(&format!("sessions/{pid}.json"), &status(S1, "1"));
    assert_eq!(sees(false), None, "another process has had this number");
    fixture.write(&format!("sessions/{pid}.json"), &status(S2, &start));
    assert_eq!(sees(false), None, "it runs another session");
    fixture.write(&format!("sessions/{pid}.json"), &status(S1, &start));
    fixture.write("sessions/1.json", "not JSON");
    let since = Some(Timestamp::from_millisecond(1_000).unwrap());
    assert_eq!(sees(false), Some(Elsewhere { pid, since }));
    assert_eq!(sees(true), None);
}

fn seen(fixture: &Fixture, after: Option<&str>, known: &[&str], transcript: ReadTranscript) -> Seen {
    let after = after.map(EntryId::from);
    let look = Look {
        session: &id(S1),
        workspace: None,
        environment: &Environment::default(),
        after: after.as_ref(),
        is_known: &|id| known.contains(&id.as_str()),
        transcript,
    };
    fixture.home.look(&look, &|_| false)
}

/// A process of ours may have the transcript open: then only what it has not written matters.
#[test]
fn a_transcript_that_ends_with_a_known_message_is_not_read() {
    let fixture = Fixture::new();
    let mut file = two_branches();
    let write = |file: &[Value]| fixture.write(&format!("projects/-srv/{S1}.jsonl"), &lines(file));
    let look = |after: &str, known: &[&str]| {
        let seen = seen(&fixture, Some(after), known, ReadTranscript::UnlessEndIsKnown);
        let ids: Vec<String> = seen.caught_up.entries.iter().map(|entry| entry.id.to_string()).collect();
        (ids.join(" "), seen.has_left)
    };
    file.push(json!({ "type": "last-prompt", "leafUuid": "a3", "sessionId": S1 }));
    write(&file);
    assert_eq!(look("a1", &["a1", "a3"]), (String::new(), false), "its last message is known");
    assert_eq!(look("a1", &["a1"]), ("u3 a3".into(), false));
    assert_eq!(look("a2", &["u1", "a1", "u2", "a2"]), (String::new(), true), "it was continued from `a1`");
    assert_eq!(look("a2", &["u1", "a1", "u2", "a2", "u3"]), (String::new(), false), "by ourselves");
    // Longer than what is read first.
    let snapshot = json!({ "type": "file-history-snapshot", "snapshot": "x".repeat(100_000) });
    file.push(snapshot);
    write(&file);
    assert_eq!(look("a1", &["a1", "a3"]), (String::new(), false));
}

/// Whoever leaves the interface with `/exit` has a command behind the last answer. The session was forked because of it,
/// and did not show there what was said here.
#[test]
fn a_command_behind_the_last_message_does_not_lead_further() {
    let fixture = Fixture::new();
    let mut file = two_branches();
    let command = |uuid: &str, parent: &str, text: &str| {
        let mut line = line(uuid, Some(parent));
        line["message"]["content"] = json!(text);
        line
    };
    file.push(command(
        "u4",
        "a3",
        "<command-name>/exit</command-name>\n<command-message>exit</command-message>",
    ));
    file.push(command("u5", "u4", "<local-command-stdout>Bye!</local-command-stdout>"));
    let path = format!("projects/-srv/{S1}.jsonl");
    fixture.write(&path, &lines(&file));
    assert_eq!(fixture.home.reach(&id(S1), &"a3".into()), Reach::There);
    file.push(line("u6", Some("u5")));
    fixture.write(&path, &lines(&file));
    assert_eq!(fixture.home.reach(&id(S1), &"a3".into()), Reach::Further);
}

#[test]
fn a_look_catches_up_with_what_is_not_known() {
    let fixture = Fixture::new();
    let mut file = two_branches();
    let environment = json!({
        "parentUuid": "u3", "isSidechain": false, "type": "user", "isMeta": true, "uuid": "e3",
        "message": { "role": "user", "content": "It is Monday" }, "timestamp": "2025-01-01T00:00:00.000Z",
    });
    file[5] = line("a3", Some("e3"));
    file.insert(5, environment);
    fixture.write(&format!("projects/-srv/{S1}.jsonl"), &lines(&file));
    let look = |after: Option<&str>, known: &[&str]| {
        let caught_up = seen(&fixture, after, known, ReadTranscript::Whole).caught_up;
        let ids: Vec<String> = caught_up.entries.iter().map(|entry| entry.id.to_string()).collect();
        (ids.join(" "), caught_up.is_complete)
    };
    assert_eq!(look(Some("u3"), &["u1", "a1", "u3"]), ("e3 a3".into(), true));
    assert_eq!(
        look(Some("u3"), &["u3", "a3"]),
        (String::new(), true),
        "hidden context is not appended behind it"
    );
    assert_eq!(look(Some("a1"), &["a1", "e3"]), ("u3 a3".into(), true));
    assert_eq!(look(Some("u2"), &[]), (String::new(), false), "it is on another branch");
}
