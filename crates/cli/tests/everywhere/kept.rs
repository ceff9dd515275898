//! Sessions of agents that have cleaned up after themselves.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, Deadline};
use serde_json::{Value, json};

use crate::person::{NOW, Person};

pub(crate) const CLAUDE: &str =
    ".claude/projects/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl";
const SUB_AGENT: &str =
    ".claude/projects/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001/subagents/agent-a1.jsonl";

pub(crate) fn sub_agent(person: &Person) {
    let line = |uuid: &str, parent: Option<&str>, kind: &str, content: Value| {
        json!({
            "parentUuid": parent, "isSidechain": true, "agentId": "a1", "type": kind, "uuid": uuid,
            "cwd": "/home/dev/ledger", "sessionId": "0f5c0000-0000-4000-8000-000000000001",
            "timestamp": "2025-03-04T09:00:05.000Z", "message": {"role": kind, "content": content},
        })
    };
    person.write(
        SUB_AGENT,
        &[
            line("s1", None, "user", json!("Look for a platypus")),
            line(
                "s2",
                Some("s1"),
                "assistant",
                json!([{"type":"text","text":"The platypus is in the pond."}]),
            ),
        ],
    );
    let meta = SUB_AGENT.replace(".jsonl", ".meta.json");
    person.write(&meta, &[json!({"agentType":"Explore","description":"platypus hunt"})]);
}

/// All that can be asked about the sessions, as it is told.
fn everything(person: &Person) -> Vec<String> {
    let mut told = Vec::new();
    for id in ["6f2a91", "77be40", "0f5c00", "01a1e0"] {
        for line in [
            "show ID",
            "tree ID",
            "show ID --context",
            "cost ID",
            "export ID --to markdown",
            "export ID --to pi",
        ] {
            told.push(person.run(&line.replace("ID", id)));
        }
        let inspected: Value =
            serde_json::from_str(&person.run(&format!("inspect {id} --json"))).expect("JSON");
        told.push(format!("{} {} {}", inspected["dialect"], inspected["entries"], inspected["bytes"]));
    }
    for line in
        ["search burst", "search lexer --tools", "search platypus", "search re:win+ow", "search urs --inside"]
    {
        told.push(person.run(line));
    }
    for row in person.json_lines("ls --json=lines") {
        told.push(format!("{} {} {} {}", row["id"], row["title"], row["prompts"], row["parent"]));
    }
    told
}

fn files_of_agents(person: &Person) -> Vec<PathBuf> {
    let mut open = [".pi", ".claude", ".codex"].map(|name| person.user(name)).to_vec();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(items) => open.extend(items.map(|item| item.expect("an item").path())),
            Err(_) => files.push(path),
        }
    }
    files
}

fn kept_from(person: &Person) -> usize {
    person.json_lines("ls --json=lines").iter().filter(|row| !row["kept_from"].is_null()).count()
}

fn check(what: &str, happens: impl Fn(&Path)) {
    let person = Person::with_agents();
    sub_agent(&person);
    person.run("sync");
    let before = everything(&person);
    assert!(before.iter().any(|told| told.contains("platypus is in the pond")), "{before:?}");
    files_of_agents(&person).iter().for_each(|file| happens(file));
    person.run_at(NOW + 1, "sync");
    assert_eq!(kept_from(&person), 4, "{what}");
    for (before, after) in before.iter().zip(everything(&person)) {
        assert_eq!(*before, after, "{what}");
    }
    std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
    assert_eq!(everything(&person), before, "{what}, with a new catalog");
    assert!(person.run("fsck").contains("kept files: clean"), "{what}");
    assert!(person.run("ls --width 95").contains("(kept) Port the parser"), "{what}");
}

#[test]
fn what_was_deleted_is_told_as_before() {
    check("deleted", |file| std::fs::remove_file(file).expect("own file"));
}

#[test]
fn what_was_cut_is_told_as_before() {
    check("cut", |file| {
        let opened = OpenOptions::new().write(true).open(file).expect("a file");
        opened.set_len(40).expect("own file");
    });
}

#[test]
fn what_was_overwritten_is_told_as_before() {
    check("overwritten", |file| std::fs::write(file, "nothing of it\n").expect("own file"));
    check("replaced", |file| {
        let new = file.with_extension("new");
        std::fs::write(&new, "").expect("own file");
        std::fs::rename(new, file).expect("own file");
    });
}

#[test]
fn a_file_that_was_there_can_be_named_by_its_path() {
    let person = Person::with_agents();
    person.run("sync");
    let path = person.user(CLAUDE);
    let before = person.run(&format!("show {}", path.display()));
    std::fs::remove_file(&path).expect("own file");
    assert_eq!(person.run(&format!("show {}", path.display())), before);
    let rows = person.json_lines_at(NOW + 1, "ls --agent claude --json=lines");
    let kept = rows.first().and_then(|row| row["path"].as_str()).expect("a path").to_owned();
    assert_eq!(rows.first().and_then(|row| row["kept_from"].as_str()), path.to_str());
    assert_eq!(person.run(&format!("show {kept}")), before);
    assert!(person.run(&format!("import {kept}")).contains("Port the parser"), "it can be taken over");
}

#[test]
fn a_session_deleted_from_a_database_is_kept() {
    let person = Person::alone();
    let path = person.user(".local/share/opencode/opencode.db");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let database = rusqlite::Connection::open(&path).expect("a database");
    database
        .execute_batch(
            "CREATE TABLE session(id TEXT PRIMARY KEY, title TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);",
        )
        .expect("tables");
    for (id, said) in [("ses_aaa", "Where is the quokka?"), ("ses_bbb", "Where is the wombat?")] {
        database
            .execute(
                "INSERT INTO session VALUES (?1, ?2, '/home/dev/x', 1741096800000, 1741096800000)",
                [id, "Marsupials"],
            )
            .expect("a row");
        let message = json!({"role":"user","time":{"created":1_741_096_800_000_i64}}).to_string();
        database
            .execute("INSERT INTO message VALUES (?1 || 'm', ?1, 1741096800000, ?2)", [id, &message])
            .expect("a row");
        let part = json!({"type":"text","text":said}).to_string();
        database
            .execute("INSERT INTO part VALUES (?1 || 'p', ?1 || 'm', ?1, ?2)", [id, &part])
            .expect("a row");
    }
    person.run("sync");
    let before = person.run("show ses_aaa");
    assert!(before.contains("Where is the quokka?"), "{before}");
    for table in ["session WHERE id", "message WHERE session_id", "part WHERE session_id"] {
        database.execute(&format!("DELETE FROM {table} = 'ses_aaa'"), []).expect("a row");
    }
    assert!(person.run_at(NOW + 1, "sync").contains("1 kept"));
    assert_eq!(person.run("show ses_aaa"), before);
    assert_eq!(person.json_lines("search quokka --json=lines").len(), 1);
    drop(database);
    std::fs::remove_file(&path).expect("own file");
    assert_eq!(person.run_at(NOW + 2, "sync"), "2 sessions: 1 kept\n");
    assert_eq!(person.json_lines("search wombat --json=lines").len(), 1);
    assert_eq!(person.run("show ses_aaa"), before);
    std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
    assert_eq!(person.run("show ses_aaa"), before);
    assert!(person.run("export ses_bbb --to markdown").contains("Where is the wombat?"));
}

#[test]
fn keeping_can_be_turned_off_and_says_how_it_stands() {
    let person = Person::with_agents();
    assert!(person.run("keep").starts_with("Nothing is kept yet.\n"));
    assert_eq!(person.run("keep --off"), "Nothing new is kept. What is kept stays.\n");
    person.run("sync");
    assert!(person.run("keep").starts_with("Nothing is kept yet.\nNew ones are not kept"));
    assert!(person.run("keep --now").contains("nothing is kept, as was asked for"));
    person.run("keep --on");
    assert_eq!(person.run("keep --now"), "4 files kept.\n");
    assert_eq!(person.run("keep --now"), "Everything is kept already.\n");
    let told: Value = serde_json::from_str(&person.run("keep --json")).expect("JSON");
    assert_eq!((&told["files"], &told["on"], &told["timer"]), (&4.into(), &true.into(), &Value::Null));
    assert!(person.run("doctor").contains("archive     4 files with "));
}

#[test]
fn an_archive_that_cannot_be_written_is_told_beside_the_list() {
    let person = Person::with_agents();
    std::fs::create_dir_all(person.home()).expect("a folder");
    std::fs::write(person.home().join("archive"), "in the way").expect("own file");
    let told = person.run("ls --width 95");
    assert!(told.contains("4 sessions.") && told.contains("Could not keep `"), "{told}");
}

/// A program of this name that writes down what it is told.
fn program(person: &Person, name: &str, script: &str) {
    let path = person.user("bin").join(name);
    std::fs::create_dir_all(person.user("bin")).expect("a folder");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("own file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("own file");
}

fn run_with_programs(person: &Person, line: &str) -> String {
    let mut command = person.command_at(NOW);
    command.env("PATH", format!("{}:/bin:/usr/bin", person.user("bin").display()));
    let output = command
        .args(line.split(' '))
        .stdin(std::process::Stdio::null())
        .bounded_output()
        .expect("the program starts");
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_timer_is_shown_before_it_is_installed_and_can_be_taken_away() {
    let person = Person::with_agents();
    let asked = person.user("asked");
    program(&person, "systemctl", &format!("echo \"$*\" >> {}", asked.display()));
    program(&person, "crontab", "exit 1");
    let units = person.user(".config/systemd/user");
    let shown = run_with_programs(&person, "keep --install");
    assert!(shown.contains("OnCalendar=hourly") && shown.contains("Nothing was written."), "{shown}");
    assert!(!units.exists());
    assert!(run_with_programs(&person, "keep --install --yes").contains("Done."));
    let service = std::fs::read_to_string(units.join("offshoot-keep.service")).expect("a unit");
    let timer = std::fs::read_to_string(units.join("offshoot-keep.timer")).expect("a unit");
    verify(&units, &[&service, &timer]);
    assert!(service.contains(&format!("--home \"{}\" keep --now", person.home().display())), "{service}");
    assert!(
        std::fs::read_to_string(&asked).expect("asked").contains("--user enable --now offshoot-keep.timer")
    );
    assert!(run_with_programs(&person, "keep").contains("Every hour by "));
    assert_eq!(run_with_programs(&person, "keep --uninstall"), "Taken away. What is kept stays.\n");
    assert!(!person.user(".config/systemd").exists(), "nothing is left of it");
    assert_eq!(run_with_programs(&person, "keep --uninstall"), "There was nothing to take away.\n");
}

/// systemd's own judgement, where it is at hand; else each line is what its files are made of.
fn verify(units: &std::path::Path, texts: &[&str]) {
    let files = ["offshoot-keep.service", "offshoot-keep.timer"].map(|name| units.join(name));
    let runtime = tempfile::tempdir().expect("a temporary folder");
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["--user", "verify"]).args(&files).env("XDG_RUNTIME_DIR", runtime.path());
    if let Ok(output) = analyze.bounded_output() {
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !told.contains("offshoot-keep"), "{output:?}");
    }
    for line in texts.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()) {
        let is_section = matches!(line, "[Unit]" | "[Service]" | "[Timer]" | "[Install]");
        let is_setting = line.split_once('=').is_some_and(|(key, value)| {
            key.chars().all(|letter| letter.is_ascii_alphabetic()) && !value.is_empty()
        });
        assert!(is_section || is_setting, "{line}");
    }
}

/// What systemd would run, run: its quoting is undone as its manual says.
#[test]
fn the_command_of_the_timer_keeps() {
    let person = Person::with_agents();
    program(&person, "systemctl", "exit 0");
    let home = person.work().join("a home of 100% \"mine\"");
    let mut command = person.command_at(NOW);
    command
        .env("PATH", format!("{}:/bin:/usr/bin", person.user("bin").display()))
        .env("OFFSHOOT_HOME", &home);
    assert!(command.args(["keep", "--install", "--yes"]).bounded_status().expect("a start").success());
    let service = std::fs::read_to_string(person.user(".config/systemd/user/offshoot-keep.service"));
    let service = service.expect("a unit");
    let line = service.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let line = line.replace("%%", "%").replace("$$", "$");
    // quotes and backslashes are those of a shell; a dollar is not, and there is none
    let mut shell = person.prepared(Command::new("/bin/sh"), NOW);
    assert!(shell.args(["-c", &line]).stdout(Stdio::null()).bounded_status().expect("a shell").success());
    assert!(home.join("catalog.db").is_file() && home.join("archive").is_dir());
}

/// A table that cannot be read is not taken for an empty one and written over.
#[test]
fn lines_of_others_are_never_lost() {
    let person = Person::with_agents();
    let table = person.user("crontab");
    std::fs::write(&table, "5 5 * * * backup").expect("own file");
    program(&person, "systemctl", "exit 1");
    program(&person, "crontab", "echo 'you are not allowed to use this program' >&2; exit 1");
    let told = run_with_programs(&person, "keep --install --yes");
    assert!(told.contains("error: "), "{told}");
    let set = format!("cat > {0}.new; mv {0}.new {0}", table.display());
    let fails_once = format!(
        "if [ \"$1\" != -l ]; then {set}; elif [ -e {0}.asked ]; then echo busy >&2; exit 1; else touch {0}.asked; cat {0}; fi",
        table.display()
    );
    program(&person, "crontab", &fails_once);
    assert!(run_with_programs(&person, "keep --install --yes").contains("busy"));
    assert_eq!(std::fs::read_to_string(&table).expect("a table"), "5 5 * * * backup");
    // a last line without an end stays a line of its own
    program(&person, "crontab", &format!("if [ \"$1\" = -l ]; then cat {}; else {set}; fi", table.display()));
    run_with_programs(&person, "keep --install --yes");
    let lines = std::fs::read_to_string(&table).expect("a table");
    assert!(lines.starts_with("5 5 * * * backup\n17 * * * * '") && lines.lines().count() == 2, "{lines}");
    let (_, line) = lines.split_once("\n17 * * * * ").expect("our line");
    let mut shell = person.prepared(Command::new("/bin/sh"), NOW);
    assert!(shell.args(["-c", &line.replace("\\%", "%")]).bounded_status().expect("a shell").success());
    assert!(person.home().join("archive").is_dir(), "the line keeps");
}

/// Where nothing else was set, nothing is set afterwards.
#[test]
fn a_table_that_was_not_there_is_gone_again() {
    let person = Person::with_agents();
    let table = person.user("crontab");
    program(&person, "systemctl", "exit 1");
    let script = format!(
        "case \"$1\" in -l) cat {0} 2>/dev/null || {{ echo 'no crontab for you' >&2; exit 1; }};; -r) rm {0};; *) cat > {0};; esac",
        table.display()
    );
    program(&person, "crontab", &script);
    run_with_programs(&person, "keep --install --yes");
    assert!(table.is_file());
    assert_eq!(run_with_programs(&person, "keep --uninstall"), "Taken away. What is kept stays.\n");
    assert!(!table.exists());
}

#[test]
fn where_there_is_no_systemd_cron_does_it() {
    let person = Person::with_agents();
    let table = person.user("crontab");
    std::fs::write(&table, "5 5 * * * backup\n").expect("own file");
    let script =
        format!("if [ \"$1\" = -l ]; then cat {0}; else cat > {0}.new; mv {0}.new {0}; fi", table.display());
    program(&person, "crontab", &script);
    program(&person, "systemctl", "exit 1");
    assert!(run_with_programs(&person, "keep --install --yes").contains("keep --now"));
    run_with_programs(&person, "keep --install --yes");
    let lines = std::fs::read_to_string(&table).expect("a table");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(lines.starts_with("5 5 * * * backup\n17 * * * * '"), "{lines}");
    run_with_programs(&person, "keep --uninstall");
    assert_eq!(std::fs::read_to_string(&table).expect("a table"), "5 5 * * * backup\n");
}

/// A session of pi of so many prompts.
fn session(n: usize, prompts: usize) -> Vec<Value> {
    let id = format!("{n:08}-0000-7000-8000-000000000001");
    let mut lines = vec![
        json!({"type":"session","version":3,"id":id,"timestamp":"2025-03-04T12:00:00.000Z","cwd":"/home/dev"}),
    ];
    let words = format!("number{n} {}", "word of it ".repeat(300));
    lines.extend((0..prompts).map(|at| {
        let message = json!({"role":"user","content":format!("{at} {words}")});
        json!({"type":"message","id":format!("u{at}"),"parentId":null,"timestamp":"2025-03-04T12:00:01.000Z","message":message})
    }));
    lines
}

/// Bytes of all that is kept.
fn kept_bytes(person: &Person) -> u64 {
    let mut open = vec![person.home().join("archive")];
    let mut bytes = 0;
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(items) => open.extend(items.flatten().map(|item| item.path())),
            Err(_) if path.extension().is_some_and(|end| end == "zst") => {
                bytes += std::fs::metadata(&path).map_or(0, |file| file.len());
            }
            Err(_) => {}
        }
    }
    bytes
}

/// The process is killed while it keeps, first new files and then what they grew by. The next one goes on, and then the
/// originals can go.
#[test]
fn whoever_is_killed_while_keeping_loses_nothing() {
    const FILES: usize = 40;
    let person = Person::alone();
    let name = |n: usize| format!(".pi/agent/sessions/p/{n}.jsonl");
    let write = |prompts: usize| (0..FILES).for_each(|n| person.write(&name(n), &session(n, prompts)));
    let points: u64 =
        if std::env::var_os("OFFSHOOT_PROOFS").is_some_and(|proofs| proofs == "full") { 100 } else { 8 };
    let mut killed = 0;
    for point in 0..points {
        write(2);
        let mut kill_when_kept = |enough: u64| {
            let mut child =
                person.command_at(NOW).arg("sync").stdout(Stdio::null()).spawn().expect("the program starts");
            let deadline = Deadline::begin("the end of `sync`");
            while child.try_wait().expect("a child").is_none() {
                deadline.check();
                if kept_bytes(&person) >= enough {
                    child.kill().expect("own child");
                    killed += 1;
                    break;
                }
            }
            child.bounded_wait();
        };
        let step = 14_000 / points;
        kill_when_kept(1 + step * point);
        (0..FILES).for_each(|n| {
            let all: String = session(n, 3).iter().map(|line| format!("{line}\n")).collect();
            let grown = all.get(std::fs::metadata(person.user(&name(n))).expect("a file").len() as usize..);
            let mut file = OpenOptions::new().append(true).open(person.user(&name(n))).expect("a file");
            file.write_all(grown.expect("it grew").as_bytes()).expect("own file");
        });
        let before = kept_bytes(&person);
        kill_when_kept(before + step * point);
        person.run("sync");
        (0..FILES).for_each(|n| std::fs::remove_file(person.user(&name(n))).expect("own file"));
        person.run("sync");
        let rows = person.json_lines("ls --json=lines");
        assert_eq!(rows.len(), FILES, "killed at {point}");
        assert!(
            rows.iter().all(|row| row["prompts"] == 3 && !row["kept_from"].is_null()),
            "killed at {point}"
        );
        let proof: Value = serde_json::from_str(&person.run("fsck --json")).expect("JSON");
        assert_eq!(
            (&proof["clean"], &proof["kept"], &proof["unfinished"]),
            (&true.into(), &FILES.into(), &0.into())
        );
        std::fs::remove_dir_all(person.home()).expect("own folder");
    }
    assert!(killed > points as usize, "only {killed} were killed in time");
}

/// Long files are laid into the archive almost as they are, and packed when they rest. Whoever is killed in either leaves
/// every byte to be had.
#[test]
fn whoever_is_killed_while_laying_or_packing_long_files_loses_no_byte() {
    const FILES: usize = 6;
    let person = Person::alone();
    let name = |n: usize| format!(".pi/agent/sessions/p/{n}.jsonl");
    // words that cannot be packed much, so that there are points in between
    let words = |seed: usize| -> String {
        let mut state = seed as u64 + 1;
        let mut text = String::new();
        while text.len() < 90_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(&format!("{:08x} ", state >> 32));
        }
        text
    };
    let rested: jiff::Timestamp = "2025-03-04T08:00:00Z".parse().expect("a time");
    let write = || {
        for n in 0..FILES {
            let mut lines = session(n, 1);
            let message = json!({"role":"user","content":words(n)});
            lines.push(json!({"type":"message","id":"long","parentId":"u0","timestamp":"2025-03-04T12:00:02.000Z","message":message}));
            person.write(&name(n), &lines);
            let file = OpenOptions::new().append(true).open(person.user(&name(n))).expect("own file");
            file.set_modified(rested.into()).expect("own file");
        }
    };
    let points: u64 =
        if std::env::var_os("OFFSHOOT_PROOFS").is_some_and(|proofs| proofs == "full") { 100 } else { 6 };
    let (mut killed_laying, mut killed_packing) = (0, 0);
    for point in 0..points {
        write();
        let originals: Vec<Vec<u8>> =
            (0..FILES).map(|n| std::fs::read(person.user(&name(n))).expect("a file")).collect();
        let killed_when = |words: &str, is_time: &dyn Fn() -> bool| {
            let mut child = person.command_at(NOW).args(words.split(' ')).stdout(Stdio::null()).spawn();
            let child = child.as_mut().expect("the program starts");
            let mut is_killed = false;
            let deadline = Deadline::begin(words);
            while !is_killed && child.try_wait().expect("a child").is_none() {
                deadline.check();
                if is_time() {
                    child.kill().expect("own child");
                    is_killed = true;
                }
            }
            child.bounded_wait();
            usize::from(is_killed)
        };
        let all: u64 = originals.iter().map(|bytes| bytes.len() as u64).sum();
        let enough = 1 + all * point / points;
        killed_laying += killed_when("sync", &|| kept_bytes(&person) >= enough);
        person.run("sync");
        let laid = kept_bytes(&person);
        // what is packed takes the place of what was laid there
        let at_most = laid.saturating_sub(1 + laid * point / points / 3);
        killed_packing += killed_when("keep --now", &|| kept_bytes(&person) <= at_most);
        person.run("keep --now");
        (0..FILES).for_each(|n| std::fs::remove_file(person.user(&name(n))).expect("own file"));
        person.run("sync");
        let rows = person.json_lines("ls --json=lines");
        assert_eq!(rows.len(), FILES, "killed at {point}");
        for row in &rows {
            let [kept, original] = ["path", "kept_from"].map(|key| row[key].as_str().expect("a path"));
            let file = std::fs::File::open(kept).expect("what is kept");
            let bytes = zstd::decode_all(file).expect("what is kept");
            let n =
                (0..FILES).find(|n| person.user(&name(*n)).to_str() == Some(original)).expect("one of ours");
            assert!(bytes == originals[n], "killed at {point}: {original}");
        }
        let proof: Value = serde_json::from_str(&person.run("fsck --json")).expect("JSON");
        assert_eq!((&proof["clean"], &proof["unfinished"]), (&true.into(), &0.into()), "killed at {point}");
        std::fs::remove_dir_all(person.home()).expect("own folder");
    }
    // To pack takes a moment where the machine is idle; the long proof meets it often enough.
    println!("killed while laying: {killed_laying}, while packing: {killed_packing}, of {points} each");
    assert!(killed_laying > 0, "nobody was killed in time");
}

/// Runs a script whose archive lies on a disk of its own, of so many kilobytes. That disk is gone when the script ends.
/// An error where this machine lets nobody do that.
fn with_a_small_disk(person: &Person, kilobytes: u32, script: &str) -> Result<String, String> {
    let archive = person.home().join("archive");
    std::fs::create_dir_all(&archive).expect("a folder");
    let mut command = person.prepared(Command::new("unshare"), NOW);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("archive", archive).env("offshoot", env!("CARGO_BIN_EXE_offshoot"));
    let mount = format!("mount -t tmpfs -o size={kilobytes}k,mode=700 none \"$archive\" || exit 77");
    command.args(["--mount", "--map-root-user", "sh", "-c", &format!("{mount}\n{script}")]);
    let output = command.stdin(Stdio::null()).bounded_output().map_err(|error| error.to_string())?;
    let text =
        String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text");
    if output.status.success() { Ok(text) } else { Err(text) }
}

/// Letters that cannot be packed much.
fn letters(n: usize, length: usize) -> String {
    let mut state = n as u64 + 1;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    (0..length).map(|_| letter()).collect()
}

/// What is full is said. Nothing that was kept before is lost by it, no original is touched, and when there is room
/// again the rest is kept too.
#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    const FILES: usize = 12;
    let person = Person::alone();
    for n in 0..FILES {
        let mut lines = session(n, 1);
        lines.push(json!({"type":"message","id":"long","parentId":"u0","timestamp":"2025-03-04T12:00:02.000Z","message":{"role":"user","content":letters(n, 30_000)}}));
        person.write(&format!(".pi/agent/sessions/p/{n}.jsonl"), &lines);
    }
    let more = json!({"type":"message","id":"more","parentId":"u0","timestamp":"2025-03-04T12:00:03.000Z","message":{"role":"user","content":letters(99, 30_000)}});
    std::fs::write(person.user("more"), format!("{more}\n")).expect("own file");
    let script = r#"
        tell() { echo "= $1"; shift; "$@" 2>&1; echo "[$?]"; }
        cp -r "$HOME/.pi" "$HOME/copy"
        tell full "$offshoot" sync
        tell found "$offshoot" search number11
        tell proof "$offshoot" fsck
        mount -o remount,size=2m "$archive"
        tell room "$offshoot" keep --now
        diff -r "$HOME/.pi" "$HOME/copy" > /dev/null && echo "= untouched"
        dd if=/dev/zero of="$archive/filler" bs=1k count=9999 2> /dev/null
        cat "$HOME/more" >> "$HOME/.pi/agent/sessions/p/3.jsonl"
        tell grown "$offshoot" sync
        rm -r "$HOME/.pi/agent/sessions/p"
        tell gone "$offshoot" sync
        tell shown "$offshoot" show 00000003
        tell proof "$offshoot" fsck
        echo "= listed"
        "$offshoot" ls --json=lines
    "#;
    let told = match with_a_small_disk(&person, 100, script) {
        Ok(told) => told,
        Err(why) => {
            println!("skipped: a_full_disk_is_said_and_loses_nothing (no disk can be mounted here: {why})");
            return;
        }
    };
    let said = |of: &str| {
        let begins = told.split("= ").find(|part| part.starts_with(of));
        begins.unwrap_or_else(|| panic!("nothing of `{of}` in {told}")).to_owned()
    };
    assert!(said("full").contains("12 sessions: 12 new\n") && said("full").contains("[0]"), "{told}");
    assert!(said("full").contains("Could not keep `") && said("full").contains("No space left"), "{told}");
    assert!(said("found").contains("number11"), "{told}");
    assert!(said("proof").contains("[0]"), "{told}");
    let kept: usize = said("room")
        .split(' ')
        .find_map(|word| word.trim_start_matches("room\n").parse().ok())
        .expect("a number");
    assert!((1..FILES).contains(&kept), "some had room before: {told}");
    said("untouched");
    assert!(said("grown").contains("1 changed") && said("grown").contains("No space left"), "{told}");
    assert!(said("gone").contains("12 kept"), "{told}");
    assert!(said("shown").contains(&letters(3, 40)), "{told}");
    assert!(told.rsplit("= proof").next().is_some_and(|proof| proof.contains("[0]")), "{told}");
    let rows: Vec<Value> =
        said("listed").lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), FILES);
    assert!(rows.iter().all(|row| row["prompts"] == 2 && !row["kept_from"].is_null()), "{told}");
}

pub(crate) const STORAGE: &str = ".local/share/opencode/storage";

pub(crate) fn opencode_storage(person: &Person) {
    let time = json!({"created":1_741_096_800_000_i64,"updated":1_741_096_801_000_i64});
    let session = json!({"id":"ses_ccc","projectID":"p","directory":"/home/dev/x","title":"Marsupials","version":"0.5.0","time":time});
    person.write(&format!("{STORAGE}/session/p/ses_ccc.json"), &[session]);
    for (message, role, said) in
        [("msg_1", "user", "Where is the bilby?"), ("msg_2", "assistant", "Under the saltbush.")]
    {
        let line = json!({"id":message,"sessionID":"ses_ccc","role":role,"parentID":"msg_1","time":time,"modelID":"m","providerID":"p"});
        person.write(&format!("{STORAGE}/message/ses_ccc/{message}.json"), &[line]);
        let part = json!({"id":format!("prt_{message}"),"messageID":message,"sessionID":"ses_ccc","type":"text","text":said});
        person.write(&format!("{STORAGE}/part/{message}/prt_{message}.json"), &[part]);
    }
}

#[test]
fn the_older_storage_of_opencode_is_listed_searched_and_kept() {
    for cut in [None, Some(10)] {
        let person = Person::alone();
        opencode_storage(&person);
        assert_eq!(person.run("sync"), "1 session: 1 new\n");
        let told = |person: &Person| {
            let rows = person.json_lines("ls --json=lines");
            let row = rows.first().expect("a session");
            [
                format!("{} {} {} {}", row["id"], row["title"], row["prompts"], row["entries"]),
                person.run("show ses_ccc"),
                person.run("search saltbush"),
                person.run("export ses_ccc --to markdown"),
            ]
        };
        let before = told(&person);
        assert!(before.iter().all(|told| told.contains("ses_cc")), "{before:?}");
        assert!(before[1].contains("bilby") && before[2].contains("saltbush"), "{before:?}");
        match cut {
            None => std::fs::remove_dir_all(person.user(STORAGE)).expect("own folder"),
            Some(length) => {
                let mut open = vec![person.user(STORAGE)];
                while let Some(path) = open.pop() {
                    match std::fs::read_dir(&path) {
                        Ok(items) => open.extend(items.map(|item| item.expect("an item").path())),
                        Err(_) => {
                            let file = OpenOptions::new().write(true).open(&path).expect("a file");
                            file.set_len(length).expect("own file");
                        }
                    }
                }
            }
        }
        person.run_at(NOW + 1, "sync");
        assert_eq!(kept_from(&person), 1);
        assert_eq!(told(&person), before, "cut to {cut:?}");
        std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
        assert_eq!(told(&person), before, "cut to {cut:?}, with a new catalog");
    }
}

fn thread(letter: char) -> String {
    format!("01a1e09{letter}-0000-7000-8000-000000000001")
}

/// A thread `a` of Codex that was reverted, and a fork `c` of it.
pub(crate) fn threads_of_codex(person: &Person) {
    let line = |ordinal: u32, kind: &str, payload: Value| json!({"timestamp":format!("2025-03-04T05:00:{ordinal:02}.000Z"),"ordinal":ordinal,"type":kind,"payload":payload});
    let said = |ordinal: u32, text: &str| {
        line(
            ordinal,
            "response_item",
            json!({"type":"message","role":"user","content":[{"type":"input_text","text":text}]}),
        )
    };
    let meta = |id: char, more: Value| {
        let mut meta = json!({"id":thread(id),"timestamp":"2025-03-04T05:00:00.000Z","cwd":"/home/dev/x","originator":"codex_cli_rs","cli_version":"0.160.0"});
        meta.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        line(0, "session_meta", meta)
    };
    let base = |of: char| json!({"history_base":{"thread_id":thread(of),"end_ordinal_exclusive":2}});
    let folder = ".codex/sessions/2025/03/04/rollout-2025-03-04T05-0";
    person.write(
        &format!("{folder}0-00-{}.jsonl", thread('a')),
        &[meta('a', json!({})), said(1, "A quokka?"), said(2, "A wombat?")],
    );
    person.write(
        &format!("{folder}1-00-{}_{}.jsonl", thread('a'), thread('b')),
        &[meta('a', base('a')), said(2, "A bilby?")],
    );
    let mut fork = base('a');
    fork["forked_from_id"] = thread('a').into();
    person.write(&format!("{folder}2-00-{}.jsonl", thread('c')), &[meta('c', fork), said(2, "A numbat?")]);
}

#[test]
fn forks_and_reverts_of_codex_stand_below_what_they_came_from() {
    let person = Person::alone();
    threads_of_codex(&person);
    let rows = person.json_lines("ls --json=lines");
    let parents: Vec<&Value> = rows.iter().map(|row| &row["parent"]).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(parents.iter().filter(|parent| **parent == &Value::from(thread('a'))).count(), 2, "{rows:?}");
    let drawn = person.run("ls --width 95");
    assert_eq!(drawn.matches('╰').count(), 2, "{drawn}");
}

/// What is not a row of a session is in a backup of the whole database: one a day, the last two stay.
#[test]
fn a_database_is_kept_whole_once_a_day() {
    const A_DAY: u64 = 24 * 60 * 60;
    let person = Person::alone();
    let path = person.user(".local/share/opencode/opencode.db");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let database = rusqlite::Connection::open(&path).expect("a database");
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE session(id TEXT PRIMARY KEY, title TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
             CREATE TABLE todo(session_id TEXT, content TEXT);
             INSERT INTO session VALUES ('ses_a', 'Things', '/w', 1741096800000, 1741096800000);
             INSERT INTO message VALUES ('m1', 'ses_a', 1741096800000, '{\"role\":\"user\"}');
             INSERT INTO part VALUES ('p1', 'm1', 'ses_a', '{\"type\":\"text\",\"text\":\"hello\"}');",
        )
        .expect("tables");
    let backups = || -> Vec<PathBuf> {
        let items = std::fs::read_dir(person.home().join("archive/backups")).expect("a folder");
        let mut items: Vec<PathBuf> = items.map(|item| item.expect("an item").path()).collect();
        items.sort();
        items
    };
    for day in 0..3 {
        database.execute("INSERT INTO todo VALUES ('ses_a', ?1)", [format!("task {day}")]).expect("a row");
        database.execute("UPDATE session SET time_updated = time_updated + 1", []).expect("a row");
        for _ in 0..2 {
            person.run_at(NOW + day * A_DAY, "sync");
        }
        assert_eq!(backups().len(), 1 + usize::from(day > 0), "{:?}", backups());
    }
    assert!(person.run("doctor").contains("2 backups of databases with "), "{}", person.run("doctor"));
    // whoever lost the database has it again, with all tables
    drop(database);
    let last = backups().pop().expect("a backup");
    let restored = person.user("restored.db");
    let bytes = zstd::decode_all(std::fs::File::open(last).expect("a file")).expect("frames");
    std::fs::write(&restored, bytes).expect("own file");
    let restored = rusqlite::Connection::open(restored).expect("a database");
    let tasks: i64 = restored.query_row("SELECT count(*) FROM todo", [], |row| row.get(0)).expect("a table");
    assert_eq!(tasks, 3);
    let proof: Value = serde_json::from_str(&person.run("fsck --json")).expect("JSON");
    assert_eq!((&proof["clean"], &proof["kept"]), (&true.into(), &1.into()));
}

/// Codex takes a session that it deletes out of its list of names too.
#[test]
fn a_name_that_codex_gave_outlives_the_session() {
    let person = Person::with_agents();
    let names = |names: &[(&str, &str)]| {
        let lines: Vec<Value> = names.iter().map(|(id, name)| json!({"id":id,"thread_name":name})).collect();
        person.write(".codex/session_index.jsonl", &lines);
    };
    let (ours, other) = ("01a1e09c-0000-7000-8000-000000000001", "01a1e09d-0000-7000-8000-000000000001");
    names(&[(ours, "Refused bursts"), (other, "Something else")]);
    person.run("sync");
    let title = || person.json(&format!("inspect {ours} --json"))["title"].clone();
    assert_eq!(title(), "Refused bursts");
    std::fs::remove_dir_all(person.user(".codex/sessions")).expect("own folder");
    names(&[(other, "Something else")]);
    person.run_at(NOW + 1, "sync");
    assert_eq!(title(), "Refused bursts");
    // another session is seen, and the list is kept as it is now
    let second =
        ".codex/sessions/2025/03/05/rollout-2025-03-05T05-00-00-01a1e09d-0000-7000-8000-000000000001.jsonl";
    let meta = json!({"id":other,"timestamp":"2025-03-05T05:00:00.000Z","cwd":"/home/dev/gatehouse","originator":"codex_cli_rs","cli_version":"0.160.0"});
    person.write(
        second,
        &[json!({"timestamp":"2025-03-05T05:00:00.000Z","type":"session_meta","payload":meta})],
    );
    person.run_at(NOW + 2, "sync");
    assert_eq!(title(), "Refused bursts");
    std::fs::remove_file(person.user(".codex/session_index.jsonl")).expect("own file");
    assert_eq!(title(), "Refused bursts");
    // the list itself is kept besides the titles
    std::fs::remove_file(person.home().join("archive/titles.jsonl")).expect("own file");
    assert_eq!(title(), "Refused bursts");
}
