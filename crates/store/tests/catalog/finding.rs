//! What is found, and where sessions are looked for.

use jiff::Timestamp;
use offshoot_session::{Body, Entry, Fact, Missing, Provenance, Record, SessionHeader};
use offshoot_store::catalog::query::Bounds;
use offshoot_store::catalog::{Filter, Query, Within};
use offshoot_store::{Home, JournalStore, Locking, SessionStore};
use offshoot_transcripts::gist::Role;
use serde_json::json;

use crate::machine::{Machine, claude_line, pi_message, pi_session};

fn filled() -> Machine {
    let machine = Machine::new();
    machine.write(
        "pi/a.jsonl",
        &(pi_session(
            "a",
            &[
                ("Burst credit is lost when the config reloads.", "The Burst-credit starts at zéro."),
                ("Keep it", "日本語の文章もきちんと"),
            ],
        ) + &pi_message("t1", Some("a1"), 40, "toolResult", "error: burst of 17 credits at limiter.rs")),
    );
    machine.write(
        "claude/0f5c0000-0000-4000-8000-000000000001.jsonl",
        &claude_line("c1", None, 1, "user", json!("Is the credit right?")),
    );
    let at: Timestamp = "2025-03-06T10:00:00Z".parse().expect("a time");
    let entry = |id: &str, body| {
        Record::entry(Entry { id: id.into(), parent: None, written_at: at, turn: None, body })
    };
    let store = JournalStore::at(Home::at(machine.path("home")), Locking::by("test"));
    let records =
        [Record::opened(SessionHeader::new("own-1".into(), at)), entry("e1", Body::prompt("Our own credit"))];
    store.create(&records).expect("a session");
    machine
}

#[test]
fn words_phrases_beginnings_patterns_and_other_scripts() {
    let machine = filled();
    assert_eq!(machine.sync().new, 3);
    let count = |words: &str| machine.found(words, Within::Said).len();
    assert_eq!(
        [
            "credit",
            "burst credit",
            "\"burst credit\"",
            "\"credit burst\"",
            "cred*",
            "credi",
            "zero",
            "本語",
            "re:cr.dit",
            "limiter"
        ]
        .map(count),
        [4, 2, 2, 0, 4, 0, 1, 1, 4, 0]
    );
    assert_eq!(
        machine.found("credit", Within::Said),
        [
            "home/sessions/own-1.jsonl e1 #1 Our own credit",
            "claude/0f5c0000-0000-4000-8000-000000000001.jsonl c1 #1 Is the credit right?",
            "pi/a.jsonl u0 #1 Burst credit is lost when the config reloads.",
            "pi/a.jsonl a0 #1 The Burst-credit starts at zéro.",
        ]
    );
}

#[test]
fn looking_through_the_files_finds_what_the_index_finds() {
    let machine = filled();
    machine.sync();
    for words in ["credit", "\"burst credit\"", "cred*", "本語", "nothing"] {
        assert_eq!(machine.found(words, Within::Said), machine.found(words, Within::SaidInFiles), "{words}");
    }
    let tools = machine.found("limiter", Within::Everything);
    assert_eq!(tools, ["pi/a.jsonl t1 #2 error: burst of 17 credits at limiter.rs"]);
    let inside = Query::read("redit", Bounds::Anywhere).expect("a query");
    let found =
        machine.catalog().search(&inside, Within::SaidInFiles, &Filter::default(), 1, &machine.sources());
    let found = found.expect("an answer");
    assert_eq!((found.matches, found.sessions, found.hits.len(), found.searched), (4, 3, 1, 3));
}

#[test]
fn a_search_can_be_narrowed() {
    let machine = filled();
    machine.sync();
    let query = Query::read("credit", Bounds::Words).expect("a query");
    let count = |filter: Filter| {
        [Within::Said, Within::SaidInFiles].map(|within| {
            machine
                .catalog()
                .search(&query, within, &filter, 9, &machine.sources())
                .expect("an answer")
                .matches
        })
    };
    let at = |text: &str| text.parse::<Timestamp>().expect("a time").as_microsecond();
    assert_eq!(
        count(Filter { agent: Some(vec!["no one".into(), "claude".into()]), ..Filter::default() }),
        [1, 1]
    );
    assert_eq!(count(Filter { project: Some("/home/dev".into()), ..Filter::default() }), [3, 3]);
    assert_eq!(count(Filter { project: Some("/home/de".into()), ..Filter::default() }), [0, 0]);
    assert_eq!(count(Filter { role: Some(Role::Assistant), ..Filter::default() }), [1, 1]);
    assert_eq!(count(Filter { since: Some(at("2025-03-05T00:00:00Z")), ..Filter::default() }), [2, 2]);
    assert_eq!(count(Filter { until: Some(at("2025-03-05T00:00:00Z")), ..Filter::default() }), [2, 2]);
}

#[test]
fn links_are_followed_and_loops_end() {
    let machine = Machine::new();
    machine.write("pi/deep/a.jsonl", &pi_session("a", &[("alpha", "beta")]));
    machine.write("elsewhere/b.jsonl", &pi_session("b", &[("alpha", "beta")]));
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(machine.path(to), machine.path(name)).expect("a link")
    };
    link("pi", "pi/deep/loop");
    link("pi/self", "pi/self");
    link("elsewhere", "pi/elsewhere");
    link("pi/nowhere.jsonl", "pi/dangling.jsonl");
    let synced = machine.sync();
    assert_eq!((synced.new, synced.files), (2, 2), "{synced:?}");
    assert_eq!(machine.found("alpha", Within::Said).len(), 2);
}

#[test]
fn what_is_no_session_is_read_once_and_not_listed() {
    let machine = Machine::new();
    machine.write("pi/notes.json", "{\"just\": \"notes\"}");
    machine.write("pi/binary.jsonl", "\u{0}\u{1}\u{2}");
    machine.write("pi/empty.jsonl", "");
    machine.write("claude/sessions-index.json", "{}");
    let later = Timestamp::now() + jiff::SignedDuration::from_secs(60);
    let sync = || machine.catalog().sync(&machine.sources(), later, &mut |_, _| {}).expect("a sync");
    let first = sync();
    assert_eq!((first.new, first.problems.len(), first.files), (0, 0, 3));
    assert!(machine.answers(&[]).0.is_empty());
    assert_eq!(sync().bytes_read, 0);
}

/// A conversation that is held here with another program is in the files of both.
#[test]
fn a_session_that_belongs_to_one_of_ours_is_not_listed_beside_it() {
    let machine = filled();
    let theirs = "0f5c0000-0000-4000-8000-000000000001";
    machine.sync();
    let listed = |id: &str| machine.answers(&[]).0.iter().any(|row| row.id == id);
    assert!(listed(theirs));
    let counted = || machine.catalog().count().expect("a count").0;
    let before = counted();
    let at: Timestamp = "2025-03-06T10:00:00Z".parse().expect("a time");
    let store = JournalStore::at(Home::at(machine.path("home")), Locking::by("test"));
    let append = |fact: Fact| {
        let records = [Record::marked(at, fact)];
        store.append(&"own-1".into(), &mut |_| Some(records.to_vec())).expect("room").expect("a step");
        machine.sync();
    };
    append(Fact::Bound {
        at: "e1".into(),
        agent_session: Some(theirs.into()),
        provenance: Provenance::Continued,
        last_message: None,
        agent: Some("claude-code".into()),
        missing: Missing::default(),
        inherited: false,
        model: None,
    });
    assert!(!listed(theirs) && listed("own-1"));
    assert_eq!(machine.found("right", Within::Said), Vec::<String>::new());
    let named = machine.catalog().beginning_with("0f5c").expect("an answer");
    assert_eq!(named.len(), 1, "its id still names it");
    let shown = machine.catalog().listed_like(&["0f5c".to_owned()]).expect("an answer");
    assert_eq!((shown.len(), counted()), (0, before - 1));
    // A name of a branch is for the whole reading.
    append(Fact::BranchName { at: "e1".into(), name: Some("zoo".to_owned()) });
    assert!(!listed(theirs));
    assert_eq!(machine.answers(&["credit"]), machine.fresh_answers(&["credit"]));
    std::fs::remove_file(Home::at(machine.path("home")).journal(&"own-1".into())).expect("own file");
    machine.sync();
    assert!(listed(theirs));
}
