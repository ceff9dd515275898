//! Files that grow, are replaced, are cut, and go.

use offshoot_session::{Body, Entry, EntryId, Fact, Record, SessionHeader, SessionId, TitleSource};
use offshoot_store::catalog::Within;
use offshoot_store::{Home, JournalStore, Locking, SessionStore};
use serde_json::json;

use crate::machine::{Machine, claude_line, pi_message, pi_session};

const CLAUDE: &str = "claude/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl";

fn claude_session() -> String {
    [
        claude_line("c1", None, 1, "user", json!("Port the parser to winnow")),
        claude_line("c2", Some("c1"), 2, "assistant", json!([{"type":"text","text":"I look at the lexer."},{"type":"tool_use","id":"t1","name":"Read","input":{"file":"lexer.rs"}}])),
        claude_line("c3", Some("c2"), 3, "user", json!([{"type":"tool_result","tool_use_id":"t1","content":"fn lexer() {}"}])),
        claude_line("c4", Some("c3"), 4, "assistant", json!([{"type":"text","text":"Done with the lexer."}])),
    ]
    .concat()
}

const CODEX: &str = "pi/rollout-2025-03-05T05-00-00-01a1e09c-0000-7000-8000-000000000001.jsonl";
const ROLLOUT: &str = "pi/session_r1.jsonl";

fn codex_line(second: u32, kind: &str, payload: serde_json::Value) -> String {
    format!(
        "{}\n",
        json!({"timestamp":format!("2025-03-05T05:00:{second:02}.000Z"),"type":kind,"payload":payload})
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

fn codex_session(answer: &str) -> String {
    let event = |second, payload| codex_line(second, "event_msg", payload);
    [
        codex_line(0, "session_meta", json!({"id":"01a1e09c-0000-7000-8000-000000000001","timestamp":"2025-03-05T05:00:00.000Z","cwd":"/home/dev/gatehouse","model_provider":"openai"})),
        event(1, json!({"type":"task_started","turn_id":"t1"})),
        codex_line(1, "turn_context", json!({"cwd":"/home/dev/gatehouse","model":"gpt-5-codex","turn_id":"t1"})),
        codex_said(2, "user", "Why is the fish refused?"),
        event(2, json!({"type":"user_message","message":"Why is the fish refused?"})),
        codex_said(3, "assistant", answer),
        event(3, json!({"type":"agent_message","message":answer})),
        event(4, json!({"type":"task_complete","turn_id":"t1"})),
    ]
    .concat()
}

fn rollout_said(second: u32, role: &str, text: &str) -> String {
    format!(
        "{}\n",
        json!({"type":"message","role":role,"content":text,"timestamp":format!("2025-03-05T06:00:{second:02}.000Z")})
    )
}

fn rollout_session(answer: &str) -> String {
    let header = json!({"type":"session","id":"r1","timestamp":"2025-03-05T06:00:00.000Z","cwd":"/home/dev","model":"m","provider":"p"});
    format!("{header}\n") + &rollout_said(1, "user", "A fish?") + &rollout_said(2, "assistant", answer)
}

#[test]
fn a_session_of_ours_that_grew_costs_what_is_new() {
    let machine = Machine::new();
    let store = JournalStore::at(Home::at(machine.path("home")), Locking::by("test"));
    let at: jiff::Timestamp = "2025-03-06T10:00:00Z".parse().expect("a time");
    let entry = |id: &str, parent: Option<&str>, words: &str| {
        let parent = parent.map(EntryId::from);
        Record::entry(Entry { id: id.into(), parent, written_at: at, turn: None, body: Body::prompt(words) })
    };
    let id = SessionId::from("own-1");
    let opened = Record::opened(SessionHeader::new(id.clone(), at));
    let long = "word ".repeat(10_000);
    drop(store.create(&[opened, entry("e1", None, &long)]).expect("a session"));
    machine.sync();
    let append = |records: &[Record]| {
        store.append(&id, &mut |_| Some(records.to_vec())).expect("room").expect("a step");
    };
    append(&[entry("e2", Some("e1"), "And the quokkas?")]);
    let synced = machine.sync();
    assert!(synced.changed == 1 && synced.bytes_read < 3_000, "{synced:?}");
    let title = Fact::Title { title: Some("Quokkas".to_owned()), source: TitleSource::User };
    append(&[entry("e3", Some("e2"), "More quokkas"), Record::marked(at, title)]);
    let synced = machine.sync();
    assert!(synced.changed == 1 && synced.bytes_read < 3_000, "{synced:?}");
    assert_eq!(machine.found("quokkas", Within::Said).len(), 3);
    assert_eq!(machine.answers(&["quokkas", "word"]), machine.fresh_answers(&["quokkas", "word"]));
    let name = Fact::BranchName { at: "e2".into(), name: Some("zoo".to_owned()) };
    append(&[Record::marked(at, name)]);
    assert!(machine.sync().bytes_read > 50_000, "a name changes what was said before it");
    assert_eq!(machine.answers(&["quokkas", "word"]), machine.fresh_answers(&["quokkas", "word"]));
}

#[test]
fn a_session_that_grew_by_one_line_costs_that_line() {
    let machine = Machine::new();
    let long = "word ".repeat(40_000);
    machine.write(CODEX, &codex_session(&long));
    machine.write(ROLLOUT, &rollout_session(&long));
    machine.write("pi/a.jsonl", &pi_session("a", &[("begin", &long)]));
    machine.write(CLAUDE, &(claude_session() + &claude_line("c5", Some("c4"), 5, "user", json!(long))));
    machine.sync();
    let lines = [
        ("pi/a.jsonl", pi_message("u9", Some("a0"), 60, "user", "What about quokkas?")),
        (CLAUDE, claude_line("c6", Some("c5"), 6, "user", json!("And the quokkas?"))),
        (CODEX, codex_said(9, "assistant", "The quokkas of Codex.")),
        (ROLLOUT, rollout_said(9, "user", "Quokkas rolled out?")),
    ];
    for (file, line) in lines {
        machine.append(file, &line);
        let synced = machine.sync();
        assert_eq!((synced.new, synced.changed), (0, 1));
        let line = line.len() as u64;
        // both ends are looked at before and after, and once those of the other files, which were written just now
        let ends = 5 * (512 + 128);
        assert!((line..=line + ends).contains(&synced.bytes_read), "{} bytes for {line}", synced.bytes_read);
    }
    let found = machine.found("quokkas", Within::Said);
    assert_eq!(
        found,
        [
            format!("{CLAUDE} c6 #3 And the quokkas?"),
            format!("{ROLLOUT} 1d319be7 #2 Quokkas rolled out?"),
            format!("{CODEX} 01a1e09c-0000-7000-8000-000000000001:8 #1 The quokkas of Codex."),
            "pi/a.jsonl u9 #2 What about quokkas?".to_owned(),
        ]
    );
    assert_eq!(machine.answers(&["quokkas", "word"]), machine.fresh_answers(&["quokkas", "word"]));
}

#[test]
fn a_file_read_in_pieces_is_the_same_as_read_at_once() {
    let session = pi_session("a", &[("one fish", "two fish"), ("red fish", "blue fish")])
        + &pi_message("u7", Some("a0"), 50, "user", "another fish")
        + "{\"type\":\"label\",\"id\":\"l1\",\"parentId\":\"u7\",\"timestamp\":\"2025-03-04T14:01:00.000Z\",\"targetId\":\"u7\",\"label\":\"kept\"}\n"
        + "{\"type\":\"session_info\",\"id\":\"s1\",\"parentId\":\"l1\",\"timestamp\":\"2025-03-04T14:02:00.000Z\",\"name\":\"Fish\"}\n";
    let files = [
        ("pi/a.jsonl", session),
        (CLAUDE, claude_session()),
        (
            CODEX,
            codex_session("A fish needs credit.")
                + &codex_line(8, "event_msg", json!({"type":"task_started","turn_id":"t2"}))
                + &codex_said(9, "user", "And this fish?")
                + &codex_line(9, "event_msg", json!({"type":"user_message","message":"And this fish?"})),
        ),
        (ROLLOUT, rollout_session("No fish.") + &rollout_said(9, "user", "And this fish?")),
    ];
    for (file, whole) in files {
        let machine = Machine::new();
        // each line in two pieces: a line that is not whole yet counts when it is
        machine.write(file, "");
        for line in whole.split_inclusive('\n') {
            let (one, other) = line.split_at(line.len() / 2);
            for piece in [one, other] {
                machine.append(file, piece);
                machine.sync();
                assert_eq!(machine.answers(&["fish"]), machine.fresh_answers(&["fish"]), "after {piece:?}");
            }
        }
        let row = machine.answers(&[]).0.pop().expect("a session");
        match file {
            CLAUDE => assert_eq!(
                (row.entries, row.prompts, row.branches, row.model.as_deref()),
                (4, 1, 1, Some("opus"))
            ),
            CODEX => {
                assert_eq!((row.prompts, row.branches, row.model.as_deref()), (2, 1, Some("gpt-5-codex")))
            }
            ROLLOUT => assert_eq!((row.entries, row.prompts, row.branches), (3, 2, 1)),
            _ => {
                assert_eq!((row.entries, row.prompts, row.branches), (5, 3, 2));
                assert_eq!(
                    (row.title.as_deref(), row.labels.as_slice()),
                    (Some("Fish"), &["kept".to_owned()][..])
                );
                assert_eq!(row.spent.map(|spent| spent.understood().told), Some(2_000));
            }
        }
    }
}

#[test]
fn the_quick_reading_tells_what_the_whole_reading_tells() {
    let machine = Machine::new();
    let files = [
        (
            "pi/a.jsonl",
            pi_session("a", &[("one", "two"), ("three", "four")])
                + &pi_message("u7", Some("a0"), 50, "user", "else"),
        ),
        (CLAUDE, claude_session()),
        (CODEX, codex_session("A fish needs credit.")),
        (ROLLOUT, rollout_session("No fish.")),
    ];
    for (file, text) in &files {
        machine.write(file, text);
    }
    machine.sync();
    for row in machine.answers(&[]).0 {
        let bytes = std::fs::read(&row.path).expect("own file");
        let transcript =
            offshoot_transcripts::read(Some(&row.path.to_string_lossy()), &bytes).expect("a session");
        let (tree, _) = offshoot_session::SessionTree::replay(transcript.records);
        let (whole, _) = offshoot_transcripts::gist::of_tree(&tree);
        assert_eq!(Some(&row.id), whole.id.as_ref());
        assert_eq!(
            (row.entries, row.prompts, row.branches),
            (whole.entries, whole.prompts, whole.branches),
            "{}",
            row.id
        );
        assert_eq!((row.opened_at, Some(row.updated_at)), (whole.opened_at, whole.updated_at));
        assert_eq!((&row.project, &row.agent, &row.model), (&whole.project, &whole.agent, &whole.model));
        assert_eq!(
            (&row.first_prompt, &row.parent, row.beginning.map(i64::cast_unsigned)),
            (&whole.first_prompt, &whole.parent, whole.beginning)
        );
    }
}

#[test]
fn replaced_truncated_and_vanished_files_are_followed() {
    let machine = Machine::new();
    machine.write("pi/a.jsonl", &pi_session("a", &[("alpha", "beta"), ("gamma", "delta")]));
    machine.write("pi/b.jsonl", &pi_session("b", &[("alpha", "omega")]));
    machine.sync();
    assert_eq!(machine.found("alpha", Within::Said).len(), 2);

    let replaced = machine.write("pi/new", &pi_session("a", &[("alpha", "quokka")]));
    std::fs::rename(replaced, machine.path("pi/a.jsonl")).expect("own file");
    assert_eq!(machine.sync().changed, 1);
    assert_eq!(
        (machine.found("gamma", Within::Said).len(), machine.found("quokka", Within::Said).len()),
        (0, 1)
    );

    let text = pi_session("a", &[("alpha", "quokka")]);
    let cut = text.lines().next().expect("a header").len() + 1;
    let file = std::fs::OpenOptions::new().write(true).open(machine.path("pi/a.jsonl")).expect("a file");
    file.set_len(cut as u64).expect("own file");
    assert_eq!(machine.sync().changed, 1);
    assert_eq!(machine.found("quokka", Within::Said).len(), 0);

    std::fs::remove_file(machine.path("pi/b.jsonl")).expect("own file");
    assert_eq!(machine.sync().gone, 1);
    assert_eq!(machine.found("alpha", Within::Said).len(), 0);
    assert_eq!(machine.answers(&["alpha"]), machine.fresh_answers(&["alpha"]));
}

#[test]
fn a_file_rewritten_in_place_is_noticed_whatever_its_clock_says() {
    let machine = Machine::new();
    let write = |answer: &str, seconds: i64| {
        let path = machine.write("pi/a.jsonl", &pi_session("a", &[("ask", answer)]));
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        let file = std::fs::OpenOptions::new().append(true).open(path).expect("a file");
        file.set_modified(at.into()).expect("own file");
    };
    // the same length each time; the clock goes to tomorrow, to last year, and back
    for (answer, seconds) in [("aaaaa", 0), ("bbbbb", 86_400), ("ccccc", -31_536_000), ("ddddd", 5)] {
        write(answer, seconds);
        machine.sync();
        assert_eq!(machine.found(answer, Within::Said).len(), 1, "{answer}");
        assert_eq!(machine.answers(&["ask"]), machine.fresh_answers(&["ask"]));
    }
}

/// Whoever changes a file can put its time and its length back; the disk's own time tells.
#[test]
fn a_file_whose_time_was_put_back_is_read_again() {
    let machine = Machine::new();
    let path = machine.write("pi/a.jsonl", &pi_session("a", &[("ask", &("word ".repeat(400) + "aaaaa"))]));
    let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    let set = || {
        let file = std::fs::OpenOptions::new().append(true).open(&path).expect("a file");
        file.set_modified(hour).expect("own file");
    };
    set();
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(60);
    let sync = || machine.catalog().sync(&machine.sources(), later, &mut |_, _| {}).expect("a sync");
    sync();
    assert_eq!(sync().bytes_read, 0, "settled");
    machine.write("pi/a.jsonl", &pi_session("a", &[("ask", &("word ".repeat(400) + "bbbbb"))]));
    set();
    assert_eq!(sync().changed, 1);
    assert_eq!(machine.found("bbbbb", Within::Said).len(), 1);
    std::fs::hard_link(&path, machine.path("another name")).expect("own file");
    let linked = sync();
    assert_eq!((linked.changed, linked.bytes_read), (0, 640), "only its ends are looked at");
    assert_eq!(sync().bytes_read, 0);
}

#[test]
fn nothing_is_read_where_nothing_has_changed() {
    let machine = Machine::new();
    machine.write("pi/a.jsonl", &pi_session("a", &[("alpha", "beta")]));
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(60);
    let sync = || machine.catalog().sync(&machine.sources(), later, &mut |_, _| {}).expect("a sync");
    sync();
    let again = sync();
    assert_eq!((again.files, again.new, again.changed, again.bytes_read), (1, 0, 0, 0));
}

#[test]
fn what_was_used_is_known_without_the_files_and_grows_with_them() {
    let count = |second: u32, last: i64, total: i64| {
        let of = |tokens: i64| json!({"input_tokens":tokens,"output_tokens":1,"total_tokens":tokens + 1});
        codex_line(
            second,
            "event_msg",
            json!({"type":"token_count","info":{"last_token_usage":of(last),"total_token_usage":of(total)}}),
        )
    };
    let claude_reply = |uuid: &str, parent: &str, input: i64| {
        let message = json!({"id":"msg-1","role":"assistant","model":"claude-opus-4","content":[{"type":"text","text":uuid}],"usage":{"input_tokens":input,"output_tokens":1}});
        format!(
            "{}\n",
            json!({"type":"assistant","uuid":uuid,"parentUuid":parent,"isSidechain":false,"sessionId":"0f5c0000-0000-4000-8000-000000000001","timestamp":"2025-03-05T09:00:09.000Z","requestId":"r1","message":message})
        )
    };
    let machine = Machine::new();
    machine.write(CODEX, &(codex_session("A fish needs credit.") + &count(5, 100, 100)));
    machine.write(CLAUDE, &(claude_session() + &claude_reply("c5", "c4", 10)));
    machine.sync();
    // a count that is said again, a reply whose count comes in the next piece, a message that goes on
    machine.append(CODEX, &(count(6, 100, 100) + &codex_said(7, "assistant", "And patience.")));
    machine.sync();
    machine.append(CODEX, &count(8, 200, 300));
    machine.append(CLAUDE, &claude_reply("c6", "c5", 30));
    // what a sub-agent answers in the same file is nobody's turn and used all the same
    let by_sub_agent = claude_reply("s1", "c6", 7).replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    machine.append(CLAUDE, &by_sub_agent.replace("msg-1", "msg-2"));
    machine.sync();
    let used = |catalog: &offshoot_store::catalog::Catalog| {
        let charges = catalog.charges().expect("charges").into_iter().flat_map(|session| session.charges);
        let mut used: Vec<_> = charges.map(|charge| (charge.usage.input, charge.at, charge.names)).collect();
        used.sort();
        used
    };
    let grown = used(&machine.catalog());
    assert_eq!(grown.iter().map(|charge| charge.0).collect::<Vec<_>>(), [7, 30, 100, 200]);
    let mut fresh = offshoot_store::catalog::Catalog::in_memory().expect("a catalog");
    machine.sync_into(&mut fresh);
    assert_eq!(used(&fresh), grown);
    assert_eq!(machine.fresh_answers(&[]), machine.answers(&[]));
    for file in [CODEX, CLAUDE] {
        std::fs::remove_file(machine.path(file)).expect("own file");
    }
    assert_eq!(used(&machine.catalog()), grown, "nobody reads a file for it");
    machine.sync();
    assert!(used(&machine.catalog()).is_empty(), "and it goes with them");
}

fn session_files() -> [(&'static str, String); 4] {
    [
        ("pi/a.jsonl", pi_session("a", &[("one fish", "two fish"), ("red fish", "blue fish")])),
        (CLAUDE, claude_session()),
        (CODEX, codex_session("A fish needs credit.")),
        (ROLLOUT, rollout_session("No fish.") + &rollout_said(9, "user", "And this fish?")),
    ]
}

/// D12: a program lost the newline between two lines. The catalog that had read the first of them knew both; a new catalog
/// knew neither.
#[test]
fn a_lost_newline_hides_nothing_however_the_file_is_read() {
    for (file, whole) in session_files() {
        let sound = Machine::new();
        sound.write(file, &whole);
        sound.sync();
        let expected = sound.answers(&["fish", "lexer"]);
        let lines: Vec<&str> = whole.lines().collect();
        for lost in 1..lines.len() - 1 {
            let machine = Machine::new();
            machine.write(file, "");
            for (at, line) in lines.iter().enumerate() {
                machine.append(file, line);
                machine.sync();
                if at != lost {
                    machine.append(file, "\n");
                }
            }
            machine.sync();
            let answers = machine.answers(&["fish", "lexer"]);
            assert_eq!(answers, machine.fresh_answers(&["fish", "lexer"]), "{file}, line {lost}");
            assert_eq!(answers.1, expected.1, "{file}, line {lost}: every hit is there");
            let counted = |rows: &[offshoot_store::catalog::SessionRow]| {
                rows.iter().map(|row| (row.entries, row.prompts, row.branches)).collect::<Vec<_>>()
            };
            assert_eq!(counted(&answers.0), counted(&expected.0), "{file}, line {lost}");
        }
    }
}

/// D14: one line of gigabytes used to be held in memory by every command that reads the list of sessions.
#[test]
fn a_line_that_is_too_long_is_skipped_and_all_others_are_read() {
    for (file, whole) in session_files() {
        let machine = Machine::new();
        let last = whole.trim_end().rfind('\n').expect("several lines") + 1;
        let (before, behind) = whole.split_at(last);
        machine.write(file, before);
        machine.sync();
        machine.append(file, &"x".repeat(offshoot_session::long_lines::LONGEST_LINE + 1));
        machine.sync();
        machine.append(file, &format!("\n{behind}"));
        machine.sync();
        let answers = machine.answers(&["fish", "lexer"]);
        assert_eq!(answers, machine.fresh_answers(&["fish", "lexer"]), "{file}");
        assert_eq!(answers.0.len(), 1, "{file}");
        let bytes = offshoot_store::private::read_foreign(&machine.path(file)).expect("own file");
        assert!(bytes.len() < 1 << 20, "{file}");
        let name = machine.path(file);
        let read = offshoot_transcripts::read(Some(&name.to_string_lossy()), &bytes).expect("a session");
        let told: Vec<String> = read.oddities.iter().map(ToString::to_string).collect();
        let line = before.lines().count() + 1;
        let expected = format!("line {line}: not readable: longer than 64 MiB (67108865 bytes); skipped");
        assert_eq!(told.iter().filter(|told| **told == expected).count(), 1, "{file}: {told:?}");
    }
}
