//! What happens to originals after they were seen: deleted, cut, written anew, replaced. Nothing that was said is lost.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use offshoot_store::archive::Archive;
use offshoot_store::catalog::{Catalog, Keep, Keeping, SessionRow, Sources, Synced, Within};
use serde_json::{Value, json};

use crate::machine::{Machine, claude_line, pi_message, pi_session};

impl Machine {
    fn archive(&self) -> Archive {
        Archive::of(&self.sources().home)
    }

    fn sync_and_keep(&self) -> (Synced, Keeping) {
        self.sync_and_keep_at(Timestamp::now())
    }

    fn sync_and_keep_at(&self, now: Timestamp) -> (Synced, Keeping) {
        keep(&mut self.catalog(), &self.sources(), now)
    }

    /// `pi/a.jsonl` or `kept pi/a.jsonl`, each with its number of prompts.
    fn listed(&self) -> Vec<String> {
        self.listed_in(&self.catalog())
    }

    fn listed_in(&self, catalog: &Catalog) -> Vec<String> {
        let told = |row: &SessionRow| match self.archive().kept_at(&row.path) {
            Some(kept) => format!("kept {} {}", self.name(&kept.original), row.prompts),
            None => format!("{} {}", self.name(&row.path), row.prompts),
        };
        let mut listed: Vec<String> = catalog.sessions().expect("a list").iter().map(told).collect();
        listed.sort();
        listed
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.path("")).expect("a file of this machine").display().to_string()
    }

    /// A catalog that is made anew lists and finds the same.
    fn assert_same_anew(&self, words: &[&str]) {
        // a catalog of its own, over the same archive
        let path = self.path("another.db");
        let mut fresh = Catalog::open(&path).expect("a catalog");
        keep(&mut fresh, &self.sources(), Timestamp::now());
        assert_eq!(self.listed_in(&fresh), self.listed());
        assert_eq!(self.answers_of(&fresh, words).1, self.answers(words).1);
        drop(fresh);
        std::fs::remove_file(path).expect("own file");
    }

    fn cut(&self, name: &str, length: u64) {
        let file = OpenOptions::new().write(true).open(self.path(name)).expect("a file");
        file.set_len(length).expect("own file");
    }

    fn assert_archive_is_whole(&self) {
        let proof = self.archive().prove(&mut |_, _| {});
        assert!(proof.problems.is_empty(), "{:?}", proof.problems);
    }
}

fn keep(catalog: &mut Catalog, sources: &Sources, now: Timestamp) -> (Synced, Keeping) {
    let synced = catalog.sync(sources, now, &mut |_, _| {}).expect("a sync");
    let keeping = catalog.keep(sources, Keep::All, now, &mut |_, _| {}).expect("a catalog");
    (synced, keeping)
}

fn codex_line(second: u32, kind: &str, payload: Value) -> String {
    format!(
        "{}\n",
        json!({"timestamp":format!("2025-03-04T05:00:{second:02}.000Z"),"type":kind,"payload":payload})
    )
}

fn codex_said(second: u32, role: &str, text: &str) -> String {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    codex_line(
        second,
        "response_item",
        json!({"type":"message","role":role,"content":[{"type":kind,"text":text}]}),
    )
}

fn gemini(words: &[&str]) -> String {
    let messages: Vec<Value> = words
        .iter()
        .enumerate()
        .map(|(n, text)| {
            let kind = if n % 2 == 0 { "user" } else { "gemini" };
            json!({"id":format!("m{n}"),"timestamp":format!("2025-03-04T10:00:{n:02}.000Z"),"type":kind,"content":text})
        })
        .collect();
    json!({
        "sessionId": "9e11aa00-0000-4000-8000-000000000001", "projectHash": "abc",
        "startTime": "2025-03-04T10:00:00.000Z", "lastUpdated": "2025-03-04T10:00:09.000Z", "messages": messages,
    })
    .to_string()
}

/// A file of each agent in which `quokka` is asked about and `wombat` answered, and the line it grows by, which says
/// `numbat`. A document has no line to grow by.
fn files() -> Vec<(&'static str, String, Option<String>)> {
    let claude = claude_line("c1", None, 1, "user", json!("A quokka?"))
        + &claude_line("c2", Some("c1"), 2, "assistant", json!([{"type":"text","text":"A wombat."}]));
    let codex = codex_line(
        0,
        "session_meta",
        json!({"id":"01a1e09c-0000-7000-8000-000000000001","timestamp":"2025-03-04T05:00:00.000Z","cwd":"/home/dev/x","originator":"codex_cli_rs","cli_version":"0.160.0"}),
    ) + &codex_said(1, "user", "A quokka?")
        + &codex_said(2, "assistant", "A wombat.");
    let rollout = [
        json!({"type":"session","id":"r1","timestamp":"2025-03-04T14:00:00Z","model":"opus","parent_id":null,"branch_point":null}),
        json!({"type":"message","role":"user","content":"A quokka?","timestamp":"2025-03-04T14:00:01Z"}),
        json!({"type":"message","role":"assistant","content":"A wombat.","timestamp":"2025-03-04T14:00:02Z"}),
    ];
    let rollout: String = rollout.iter().map(|line| format!("{line}\n")).collect();
    let oh_my_pi = oh_my_pi_title("Marsupials") + &pi_session("o", &[("A quokka?", "A wombat.")]);
    let gemini_line = |line: Value| format!("{line}\n");
    let gemini_said = |id: &str, kind: &str, text: &str| {
        gemini_line(
            json!({"id":id,"timestamp":"2025-03-04T10:00:01.000Z","type":kind,"content":[{"text":text}]}),
        )
    };
    let gemini_lines = gemini_line(json!({
        "sessionId": "9e11aa00-0000-4000-8000-000000000002", "projectHash": "abc", "kind": "main",
        "startTime": "2025-03-04T10:00:00.000Z", "lastUpdated": "2025-03-04T10:00:00.000Z",
    })) + &gemini_said("m0", "user", "A quokka?")
        + &gemini_line(json!({"$set":{"lastUpdated":"2025-03-04T10:00:02.000Z"}}))
        + &gemini_said("m1", "gemini", "A wombat.");
    let more_of_rollout = format!(
        "{}\n",
        json!({"type":"message","role":"user","content":"A numbat?","timestamp":"2025-03-04T14:00:03Z"})
    );
    vec![
        (
            "pi/a.jsonl",
            pi_session("a", &[("A quokka?", "A wombat.")]),
            Some(pi_message("u9", Some("a0"), 60, "user", "A numbat?")),
        ),
        (
            "claude/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl",
            claude,
            Some(claude_line("c6", Some("c2"), 6, "user", json!("A numbat?"))),
        ),
        (
            "pi/codex/sessions/2025/03/04/rollout-2025-03-04T05-00-00-01a1e09c-0000-7000-8000-000000000001.jsonl",
            codex,
            Some(codex_said(3, "user", "A numbat?")),
        ),
        ("pi/rollouts/session_r1.jsonl", rollout, Some(more_of_rollout)),
        ("pi/gemini/chats/session-1.json", gemini(&["A quokka?", "A wombat."]), None),
        (
            "pi/omp/agent/sessions/-home-dev-x/2025-03-04T14-00-00-000Z_o.jsonl",
            oh_my_pi,
            Some(pi_message("u9", Some("a0"), 60, "user", "A numbat?")),
        ),
        (
            "pi/gemini/chats/session-2025-03-04T10-00-9e11aa00.jsonl",
            gemini_lines,
            Some(gemini_said("m2", "user", "A numbat?")),
        ),
    ]
}

/// oh-my-pi has a first line of one length, in which it writes another title over the last one.
fn oh_my_pi_title(title: &str) -> String {
    let line = json!({"type":"title","v":1,"title":title,"source":"auto","updatedAt":"2025-03-04T14:00:00.000Z","pad":""})
        .to_string();
    let pad = " ".repeat(255 - line.len());
    format!("{}\n", line.replace(r#""pad":"""#, &format!(r#""pad":"{pad}""#)))
}

fn check_everything_is_there(machine: &Machine, file: &str, why: &str) {
    for words in ["quokka", "wombat"] {
        for within in [Within::Said, Within::SaidInFiles, Within::Everything] {
            let found = machine.search(&machine.catalog(), words, within);
            assert_eq!(found.hits.len(), 1, "{file} {why}: {words} {within:?}");
            let said = found.hits.first().and_then(|hit| hit.text.as_deref()).unwrap_or_default();
            assert!(said.contains(words), "{file} {why}: {words} in {said:?}");
        }
    }
    machine.assert_same_anew(&["quokka", "wombat"]);
    machine.assert_archive_is_whole();
}

#[test]
fn a_deleted_file_is_still_listed_and_searched() {
    for (file, text, _) in files() {
        let machine = Machine::new();
        machine.write(file, &text);
        let (_, keeping) = machine.sync_and_keep();
        assert_eq!((keeping.kept, keeping.problems.len()), (1, 0), "{file}");
        std::fs::remove_file(machine.path(file)).expect("own file");
        let (synced, _) = machine.sync_and_keep();
        assert_eq!((synced.gone, synced.kept), (0, 1), "{file}");
        assert_eq!(machine.listed(), [format!("kept {file} 1")]);
        check_everything_is_there(&machine, file, "deleted");
        let kept = machine.archive().kept(&machine.path(file)).expect("a kept file");
        assert_eq!(kept.bytes().expect("own file"), text.as_bytes());
        // it comes back
        machine.write(file, &text);
        machine.sync_and_keep();
        assert_eq!(machine.listed(), [format!("{file} 1")]);
    }
}

/// They were there when the folder was looked through, and are young, so each is looked at again.
#[test]
fn files_deleted_in_the_middle_of_a_sync_are_still_listed() {
    let machine = Machine::new();
    let files: Vec<String> = (10..90).map(|number| format!("pi/{number}.jsonl")).collect();
    for (number, file) in files.iter().enumerate() {
        machine.write(file, &pi_session(&format!("s{number}"), &[("quokka", "wombat")]));
    }
    machine.sync_and_keep();
    let mut catalog = machine.catalog();
    let mut is_first = true;
    let mut delete_all = |_: usize, _: usize| {
        if std::mem::take(&mut is_first) {
            files.iter().for_each(|file| std::fs::remove_file(machine.path(file)).expect("own file"));
        }
    };
    let synced = catalog.sync(&machine.sources(), Timestamp::now(), &mut delete_all).expect("a sync");
    assert_eq!(synced.gone, 0);
    assert!(synced.kept > 0, "some were not yet looked at");
    machine.sync_and_keep();
    assert_eq!(machine.listed(), files.iter().map(|file| format!("kept {file} 1")).collect::<Vec<_>>());
}

#[test]
fn a_file_cut_in_place_is_shown_as_it_was() {
    for (file, text, _) in files() {
        for length in [0, text.len() / 3, text.len() - 2] {
            let machine = Machine::new();
            machine.write(file, &text);
            machine.sync_and_keep();
            machine.cut(file, length as u64);
            machine.sync_and_keep();
            let why = format!("cut to {length}");
            assert_eq!(machine.listed(), [format!("kept {file} 1")], "{why}");
            check_everything_is_there(&machine, file, &why);
            // and then deleted
            std::fs::remove_file(machine.path(file)).expect("own file");
            machine.sync_and_keep();
            assert_eq!(machine.listed(), [format!("kept {file} 1")], "{why}, then deleted");
            check_everything_is_there(&machine, file, &why);
        }
    }
}

#[test]
fn a_file_written_anew_is_there_as_it_was_and_as_it_is() {
    for (file, text, _) in files() {
        for is_replaced in [false, true] {
            let machine = Machine::new();
            machine.write(file, &text);
            machine.sync_and_keep();
            let other = text.replace("quokka", "bilby").replace("wombat", "potoroo");
            match is_replaced {
                false => drop(machine.write(file, &other)),
                true => {
                    let new = machine.write("new", &other);
                    std::fs::rename(new, machine.path(file)).expect("own file");
                }
            }
            machine.sync_and_keep();
            let mut expected = [format!("{file} 1"), format!("kept {file} 1")];
            expected.sort();
            assert_eq!(machine.listed(), expected);
            check_everything_is_there(&machine, file, "written anew");
            assert_eq!(machine.found("bilby", Within::Said).len(), 1);
            // back and forth: nothing is kept twice
            for text in [&text, &other, &text, &other] {
                machine.write(file, text);
                machine.sync_and_keep();
            }
            assert!(machine.archive().survey().files <= 3, "{:?}", machine.archive().survey());
            for words in ["quokka", "wombat", "bilby", "potoroo"] {
                assert!(!machine.found(words, Within::Said).is_empty(), "{file}: {words}");
            }
            std::fs::remove_file(machine.path(file)).expect("own file");
            machine.sync_and_keep();
            for words in ["quokka", "wombat", "bilby", "potoroo"] {
                assert!(!machine.found(words, Within::Said).is_empty(), "{file} deleted: {words}");
            }
            machine.assert_archive_is_whole();
        }
    }
}

#[test]
fn a_document_that_says_more_takes_the_place_of_what_it_was() {
    let machine = Machine::new();
    let file = "pi/gemini/chats/session-1.json";
    let words = ["A quokka?", "A wombat.", "A numbat?", "A bilby.", "A potoroo?"];
    for length in 1..=words.len() {
        machine.write(file, &gemini(&words[..length]));
        machine.sync_and_keep();
    }
    let survey = machine.archive().survey();
    assert_eq!((survey.files, survey.earlier), (1, 0));
    assert_eq!(machine.listed(), [format!("{file} 3")]);
}

#[test]
fn a_title_written_over_another_one_is_the_one_that_is_kept() {
    let machine = Machine::new();
    let file = "pi/omp/agent/sessions/-home-dev-x/2025-03-04T14-00-00-000Z_o.jsonl";
    let path = machine
        .write(file, &(oh_my_pi_title("Marsupials") + &pi_session("o", &[("A quokka?", "A wombat.")])));
    machine.sync_and_keep();
    for title in ["Small marsupials", "Large marsupials"] {
        let original = OpenOptions::new().write(true).open(&path).expect("a file");
        std::os::unix::fs::FileExt::write_all_at(&original, oh_my_pi_title(title).as_bytes(), 0)
            .expect("own file");
        machine.append(file, &pi_message(title, Some("a0"), 60, "user", "A numbat?"));
        machine.sync_and_keep();
        assert_eq!(
            machine.archive().kept(&path).expect("a kept file").bytes().expect("own file"),
            std::fs::read(&path).expect("own file")
        );
    }
    std::fs::remove_file(&path).expect("own file");
    machine.sync_and_keep();
    assert_eq!(machine.listed(), [format!("kept {file} 3")], "each is told once");
    let rows = machine.catalog().sessions().expect("a list");
    assert_eq!(rows.first().and_then(|row| row.title.as_deref()), Some("Large marsupials"));
    machine.assert_archive_is_whole();
}

/// Gemini goes back by a line that says so; what it went back behind is still in the file.
#[test]
fn a_session_that_was_rewound_is_kept_as_far_as_it_went() {
    let machine = Machine::new();
    let (file, text, _) = files().pop().expect("the lines of Gemini");
    machine.write(file, &text);
    machine.sync_and_keep();
    machine.append(file, &format!("{}\n", json!({"$rewindTo":"m0"})));
    machine.sync_and_keep();
    std::fs::remove_file(machine.path(file)).expect("own file");
    machine.sync_and_keep();
    check_everything_is_there(&machine, file, "rewound and deleted");
}

#[test]
fn what_was_written_after_the_last_look_is_kept_by_its_second_name() {
    for (file, text, more) in files() {
        let Some(more) = more else { continue };
        for is_replaced in [false, true] {
            let machine = Machine::new();
            machine.write(file, &text);
            machine.sync_and_keep();
            machine.append(file, &more);
            std::fs::remove_file(machine.path(file)).expect("own file");
            if is_replaced {
                machine.write(file, "");
            }
            machine.sync_and_keep();
            assert_eq!(machine.found("numbat", Within::Said).len(), 1, "{file}");
            assert_eq!(machine.listed(), [format!("kept {file} 2")]);
            check_everything_is_there(&machine, file, "deleted after it grew");
        }
    }
}

#[test]
fn a_file_that_grows_costs_what_is_new_and_is_packed_when_it_rests() {
    let machine = Machine::new();
    let path = machine.write("pi/a.jsonl", &pi_session("a", &[("begin", "well")]));
    machine.sync_and_keep();
    let place = machine.archive().kept(&path).expect("a kept file").path;
    for n in 0..20 {
        machine.append("pi/a.jsonl", &pi_message(&format!("x{n}"), Some("a0"), 60 + n, "user", "word word"));
        let before = std::fs::metadata(&place).expect("a kept file").len();
        machine.sync_and_keep();
        let grown = std::fs::metadata(&place).expect("a kept file").len() - before;
        assert!(grown < 700, "{grown} bytes for one line");
    }
    let before = std::fs::metadata(&place).expect("a kept file").len();
    let later = Timestamp::now() + jiff::SignedDuration::from_hours(2);
    machine.sync_and_keep_at(later);
    assert!(std::fs::metadata(&place).expect("a kept file").len() < before / 5, "it is one piece now");
    let kept = machine.archive().kept(&path).expect("a kept file");
    assert_eq!(kept.bytes().expect("own file"), std::fs::read(&path).expect("own file"));
}

#[test]
fn nothing_of_it_is_for_others() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    machine.write("pi/deep/er/a.jsonl", &pi_session("a", &[("begin", "well")]));
    machine.write("pi/deep/b.json", &gemini(&["begin"]));
    machine.sync_and_keep();
    let mut open = vec![machine.archive().root().to_owned()];
    while let Some(path) = open.pop() {
        let mode = std::fs::metadata(&path).expect("own file").permissions().mode() & 0o777;
        match std::fs::read_dir(&path) {
            Ok(items) => {
                assert_eq!(mode, 0o700, "{path:?}");
                open.extend(items.map(|item| item.expect("an item").path()));
            }
            // a second name has the rights of the file it names
            Err(_) if path.extension().is_some_and(|end| end == "link") => {}
            Err(_) => assert_eq!(mode, 0o600, "{path:?}"),
        }
    }
}

#[test]
fn an_archive_that_cannot_be_written_is_said_and_stops_nothing() {
    let machine = Machine::new();
    machine.write("pi/a.jsonl", &pi_session("a", &[("alpha", "beta")]));
    std::fs::write(machine.path("home/archive"), "in the way").expect("own file");
    let (synced, keeping) = machine.sync_and_keep();
    assert_eq!((synced.new, keeping.kept, keeping.problems.len()), (1, 0, 1));
    assert_eq!(machine.found("alpha", Within::Said).len(), 1);
    std::fs::remove_file(machine.path("home/archive")).expect("own file");
    let (_, keeping) = machine.sync_and_keep();
    assert_eq!((keeping.kept, keeping.problems.len()), (1, 0), "it is made up for");
}

#[test]
fn a_home_on_another_disk_keeps_copies() {
    use std::os::unix::fs::MetadataExt;
    let shared_memory = PathBuf::from("/dev/shm");
    let machine = Machine::new();
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev());
    let here = device(&machine.path("")).expect("own folder");
    if device(&shared_memory).map_or(true, |there| there == here) {
        println!("skipped: /dev/shm is missing or the same disk");
        return;
    }
    let Ok(home) = tempfile::tempdir_in(&shared_memory) else {
        println!("skipped: /dev/shm cannot be written");
        return;
    };
    let sources = Sources { home: offshoot_store::Home::at(home.path()), ..machine.sources() };
    let path = machine.write("pi/a.jsonl", &pi_session("a", &[("alpha", "beta")]));
    let mut catalog = Catalog::open(&home.path().join("catalog.db")).expect("a catalog");
    let (_, keeping) = keep(&mut catalog, &sources, Timestamp::now());
    assert_eq!((keeping.kept, keeping.problems.len()), (1, 0));
    std::fs::remove_file(&path).expect("own file");
    let (synced, _) = keep(&mut catalog, &sources, Timestamp::now());
    assert_eq!((synced.gone, synced.kept), (0, 1));
    let kept = Archive::of(&sources.home).kept(&path).expect("a kept file");
    assert_eq!(kept.bytes().expect("own file"), pi_session("a", &[("alpha", "beta")]).as_bytes());
}

/// A long file is laid into the archive at once, and packed when it has come to rest and somebody has time.
#[test]
fn a_long_file_is_safe_at_once_and_packed_later() {
    let machine = Machine::new();
    let words: Vec<String> = (0..400).map(|n| format!("{n} {}", "word of it ".repeat(40))).collect();
    let said: Vec<(&str, &str)> = words.iter().map(|words| (words.as_str(), "well")).collect();
    let text = pi_session("a", &said);
    let names = ["pi/a.jsonl", "pi/b.jsonl"];
    let paths = names.map(|name| machine.write(name, &text));
    machine.sync_and_keep();
    let size = |path: &Path| {
        let kept = machine.archive().kept(path).expect("a kept file");
        assert_eq!(kept.bytes().expect("a whole file"), text.as_bytes());
        std::fs::metadata(kept.path).expect("a kept file").len()
    };
    let before = paths.each_ref().map(|path| size(path));
    let pack = |now: Timestamp, times: usize| {
        let mut left = times + 1; // it is asked once before anything is looked at
        let mut has_time = || {
            left = left.saturating_sub(1);
            left > 0
        };
        machine.catalog().pack_loose(&machine.sources(), now, &mut has_time).expect("a catalog");
    };
    pack(Timestamp::now(), 9);
    assert_eq!(paths.each_ref().map(|path| size(path)), before, "they may still be written");
    let later = Timestamp::now() + jiff::SignedDuration::from_hours(2);
    std::fs::remove_file(&paths[0]).expect("own file");
    pack(later, 2);
    let is_packed = |at: usize| size(&paths[at]) < before[at] / 4;
    assert_eq!(
        [is_packed(0), is_packed(1)].iter().filter(|packed| **packed).count(),
        1,
        "one after the other"
    );
    pack(later, 9);
    assert!(is_packed(0) && is_packed(1));
    machine.sync_and_keep_at(later);
    assert_eq!(machine.listed(), ["kept pi/a.jsonl 400", "pi/b.jsonl 400"]);
    machine.assert_archive_is_whole();
}

/// A list of titles belongs to every session of its folder, and two threads keep them.
#[test]
fn what_belongs_to_many_sessions_is_kept_once() {
    for _ in 0..8 {
        let machine = Machine::new();
        let titles: Vec<Value> = (0..3_000)
            .map(|n| json!({"sessionId":format!("s{n}"),"summary":format!("Session {n}")}))
            .collect();
        let list = json!({"version":1,"entries":titles}).to_string();
        let path = machine.write("claude/-home-dev-ledger/sessions-index.json", &list);
        for n in 0..8 {
            let text = claude_line("c1", None, 1, "user", json!("A quokka?"));
            machine.write(
                &format!("claude/-home-dev-ledger/0f5c0000-0000-4000-8000-00000000000{n}.jsonl"),
                &text,
            );
        }
        machine.sync_and_keep();
        let kept = machine.archive().kept(&path).expect("a kept file");
        assert_eq!(kept.bytes().expect("a whole file"), list.as_bytes());
        machine.assert_archive_is_whole();
    }
}

/// The journal of a workflow run is no session and no damage, and is kept with the session it belongs to.
#[test]
fn the_journal_of_a_workflow_run_is_kept_with_its_session() {
    let machine = Machine::new();
    let session = "claude/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001";
    machine.write(&format!("{session}.jsonl"), &claude_line("c1", None, 1, "user", json!("A quokka?")));
    let steps = "{\"type\":\"started\",\"key\":\"a\",\"agentId\":\"x1\"}\n";
    let journal = machine.write(&format!("{session}/subagents/workflows/run-1/journal.jsonl"), steps);
    machine.sync_and_keep();
    assert_eq!(machine.listed(), [format!("{session}.jsonl 1")]);
    let kept = machine.archive().kept(&journal).expect("a kept file");
    assert_eq!(kept.bytes().expect("a whole file"), steps.as_bytes());
    machine.assert_archive_is_whole();
}

/// A second name changes the stat of every original. The next look knows that, and reads nothing again.
#[test]
fn files_that_were_kept_are_not_read_again() {
    let machine = Machine::new();
    for n in 0..20 {
        let path =
            machine.write(&format!("pi/{n}.jsonl"), &pi_session(&format!("s{n}"), &[("alpha", "beta")]));
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
        OpenOptions::new().append(true).open(path).expect("a file").set_modified(long_ago).expect("own file");
    }
    // the disk tells when they were made, and nobody can say otherwise; so the sync comes later
    let later = Timestamp::now() + jiff::SignedDuration::from_secs(10);
    let (synced, keeping) = machine.sync_and_keep_at(later);
    assert_eq!((synced.new, keeping.kept), (20, 20));
    let (synced, keeping) = machine.sync_and_keep_at(later);
    assert_eq!((synced.files, synced.changed, synced.bytes_read, keeping.kept), (20, 0, 0, 0));
    machine.append("pi/7.jsonl", &pi_message("u9", Some("a0"), 60, "user", "gamma"));
    let (synced, _) = machine.sync_and_keep_at(later);
    assert_eq!(synced.changed, 1);
}

#[test]
fn whoever_wants_nothing_kept_still_sees_what_was() {
    let machine = Machine::new();
    machine.write("pi/a.jsonl", &pi_session("a", &[("alpha", "beta")]));
    machine.write("pi/b.jsonl", &pi_session("b", &[("alpha", "beta")]));
    machine.sync_and_keep();
    machine.write("pi/c.jsonl", &pi_session("c", &[("alpha", "beta")]));
    std::fs::remove_file(machine.path("pi/a.jsonl")).expect("own file");
    machine.cut("pi/b.jsonl", 300);
    let look = |catalog: &mut Catalog| {
        catalog.sync(&machine.sources(), Timestamp::now(), &mut |_, _| {}).expect("a sync");
        catalog.keep(&machine.sources(), Keep::NoMore, Timestamp::now(), &mut |_, _| {}).expect("a look");
    };
    look(&mut machine.catalog());
    let expected = ["kept pi/a.jsonl 1", "kept pi/b.jsonl 1", "pi/c.jsonl 1"];
    assert_eq!(machine.listed(), expected);
    std::fs::remove_file(machine.catalog_path()).expect("own file");
    look(&mut machine.catalog());
    assert_eq!(machine.listed(), expected);
    assert_eq!(machine.archive().survey().files, 2);
    machine.sync_and_keep();
    assert_eq!(machine.archive().survey().files, 3, "and then everything is wanted again");
}

#[test]
fn two_that_keep_at_once_do_each_file_once() {
    let machine = Machine::new();
    for n in 0..60 {
        machine.write(&format!("pi/{n}.jsonl"), &pi_session(&format!("s{n}"), &[("alpha", "beta")]));
    }
    machine.catalog();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| machine.sync_and_keep());
        }
    });
    machine.sync_and_keep();
    let survey = machine.archive().survey();
    assert_eq!((survey.files, survey.earlier), (60, 0));
    machine.assert_archive_is_whole();
}
