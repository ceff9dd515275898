//! Sessions of all agents of a person: listed, searched, shown. The person's home is a temporary folder.

#![expect(clippy::expect_used, reason = "tests fail by panicking")]

mod by_itself;
mod changed;
mod copied;
mod costs;
mod current;
mod damaged_copies;
mod elsewhere;
mod forget;
mod forgotten_together;
mod handed;
mod kept;
mod lineage;
mod named;
mod names;
mod person;
mod trouble;
mod watching;

use offshoot_testkit::deadline::BoundedCommand;
use person::{NOW, Person};

/// transcripts are found where Claude Code keeps them.
#[test]
fn sessions_of_all_agents_are_in_one_list() {
    let person = Person::with_agents();
    let expected = "\
ID      SESSION                              PROJECT    AGENT        PROMPTS   COST  ACTIVE
6f2a91  Burst credit is lost after a reload  gatehouse  pi                 2  $0.01      1h
77be40  ╰ What if burst is per key?          gatehouse  pi                 1             1h
01a1e0  Why is the burst refused?            gatehouse  Codex              1             9h
0f5c00  Port the parser to winnow            ledger     Claude Code        1             5h
4 sessions.
";
    // threads about one folder stand together, at the place of the newest
    assert_eq!(person.run("ls --width 95"), expected);
    let agents: Vec<String> =
        person.json_lines("ls --json=lines").iter().map(|row| row["agent"].to_string()).collect();
    assert_eq!(agents, ["\"pi\"", "\"pi\"", "\"claude-code\"", "\"codex\""], "scripts see the newest first");
    assert_eq!(person.run("ls --width 95 --agent claude").lines().count(), 3);
    assert_eq!(person.run("ls --width 95 --model opus").lines().count(), 3);
    assert_eq!(person.run("ls --width 95 --project /home/dev/gatehouse").lines().count(), 5);
    assert_eq!(person.run("ls --width 95 --label ugly").lines().count(), 3);
}

#[test]
fn what_was_said_is_found_in_all_of_them() {
    let person = Person::with_agents();
    let expected = "\
77be40 #1  you    What if burst is per key?
6f2a91 #1  you    Burst credit is lost after a reload
6f2a91 #1  pi     … is built anew, so the burst starts at zero.
01a1e0 #1  you    Why is the burst refused?
01a1e0 #1  Codex  A burst needs credit.
5 matches in 3 sessions. Open one: offshoot show 01a1e0 --at 1
";
    assert_eq!(person.run("search burst --width 95"), expected);
    assert_eq!(
        person.run("search burst --agent codex --role user"),
        "01a1e09c-0000-7000-8000-000000000001\t01a1e09c-0000-7000-8000-000000000001:2\tyou\tWhy is the burst refused?\t\n"
    );
    assert_eq!(
        person.run("search nowhere --width 95"),
        "Nothing said about “nowhere”. Searched 4 sessions of 3 agents.\n"
    );
    assert_eq!(person.json_lines("search lexer --json=lines").len(), 1);
    assert_eq!(person.json_lines("search lexer --tools --json=lines").len(), 3);
    assert_eq!(person.json_lines("search exe --inside --json=lines").len(), 1);
    assert_eq!(person.json_lines("search re:le[xy]er --json=lines").len(), 1);
    assert_eq!(person.json_lines("search burst --since 2h --json=lines").len(), 1);
    assert_eq!(person.json_lines("search burst --until 2h --json=lines").len(), 4);
    assert_eq!(
        person.json_lines("search burst --since 2025-03-04T06:00:00Z --until 2h --json=lines").len(),
        2
    );
    let of_claude = person
        .command_at(NOW)
        .args(["search", "lexer", "--agent", "Claude Code", "--json=lines"])
        .bounded_output();
    assert_eq!(of_claude.expect("a start").stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert_eq!(
        person.json_lines("search lexer --role tool --json=lines").len(),
        2,
        "tools are looked through"
    );
    assert!(person.run("search --width 95 '*'").contains("there is no word to search for"));
}

#[test]
fn a_hit_can_be_shown_where_it_lies() {
    let person = Person::with_agents();
    assert!(person.run("show 01a1e0 --at 1 --width 80").contains("A burst needs credit."));
    assert!(person.run("tree 0f5c --width 80").starts_with("Port the parser to winnow  0f5c00"));
    assert!(person.run("show 6f2a --at a1 --width 80").contains("built anew"));
    assert!(person.run("tree ffff --width 80").contains("no session `ffff`"));
    assert!(person.run("label ffff 1 mine").contains("no session `ffff`"));
}

/// What a search prints is what `show` takes, whoever said it and however it was found.
#[test]
fn every_hit_can_be_shown() {
    let person = Person::with_agents();
    let asked: [&[&str]; 7] = [
        &["burst"],
        &["\"burst starts\""],
        &["ref*"],
        &["re:le[xy]er"],
        &["exe", "--inside"],
        &["lexer", "--tools"],
        &["burst", "--role", "user"],
    ];
    let mut shown = 0;
    for query in asked {
        let output = person.command_at(NOW).arg("search").args(query).arg("--json=lines").bounded_output();
        let lines = String::from_utf8(output.expect("a start").stdout).expect("text");
        assert!(!lines.is_empty(), "{query:?}");
        for line in lines.lines() {
            let hit: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let [session, entry, text] =
                ["session", "entry", "text"].map(|key| hit[key].as_str().expect("a text"));
            let first = text.split_whitespace().next().expect("a word");
            let told = person.run(&format!("show {session} --at {entry} --json"));
            assert!(told.contains(first), "{query:?}: {session} {entry}: {told}");
            shown += 1;
        }
    }
    assert_eq!(shown, 15);
}

#[test]
fn an_answer_is_as_fresh_as_ten_minutes() {
    let person = Person::with_agents();
    assert_eq!(person.json_lines("search quokka --json=lines").len(), 0);
    person.append_to_pi("And the quokka?");
    assert_eq!(person.json_lines("search quokka --json=lines").len(), 0, "the last look was a moment ago");
    assert_eq!(person.json_lines_at(NOW + 601, "search quokka --json=lines").len(), 1);
    person.append_to_pi("Another quokka?");
    assert!(person.run_at(NOW + 602, "sync").contains("1 changed"));
    assert_eq!(person.json_lines_at(NOW + 603, "search quokka --json=lines").len(), 2);
    person.append_to_pi("A third quokka?");
    assert_eq!(person.json_lines_at(NOW, "search quokka --json=lines").len(), 3, "the clock was put back");
}

#[test]
fn a_sync_tells_what_it_found() {
    let person = Person::with_agents();
    assert_eq!(person.run("sync"), "4 sessions of 3 agents: 4 new\n");
    assert_eq!(person.run("sync"), "4 sessions of 3 agents: nothing new\n");
    person.append_to_pi("more");
    let told: serde_json::Value = serde_json::from_str(&person.run("sync --json")).expect("JSON");
    assert_eq!((&told["changed"], &told["sessions"], &told["files"]), (&1.into(), &4.into(), &4.into()));
    assert_eq!(person.run("sync --source ."), "0 sessions: nothing new\n", "only what is named is listed");
    let told: serde_json::Value = serde_json::from_str(&person.run("sync --json")).expect("JSON");
    assert_eq!((&told["new"], &told["sessions"]), (&0.into(), &4.into()), "and nothing else is forgotten");
}

/// A file and the journal that goes on with it are one session, wherever sessions are counted.
#[test]
fn a_session_that_was_changed_here_is_counted_once() {
    let person = Person::with_agents();
    person.run("sync");
    for session in ["6f2a91", "01a1e0"] {
        person.run(&format!("label {session} 1 mine"));
    }
    assert!(person.run("sync").starts_with("4 sessions of 3 agents: "));
    assert!(person.run("ls --width 95").ends_with("4 sessions.\n"));
    let nothing = person.run("search nowhere --width 95");
    assert_eq!(nothing, "Nothing said about “nowhere”. Searched 4 sessions of 3 agents.\n");
}

/// Places that were named once have a catalog of their own; after a month without use it is given up.
#[test]
fn the_catalog_of_a_named_place_is_not_kept_for_ever() {
    let person = Person::with_agents();
    person.run("sync");
    let catalogs = || {
        let names = std::fs::read_dir(person.home()).expect("a home").flatten().map(|item| item.file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("catalog-")).collect();
        names.sort();
        names
    };
    let written = |name: &str, when: &str| {
        let file = std::fs::File::options().append(true).open(person.home().join(name)).expect("a file");
        file.set_modified(when.parse::<jiff::Timestamp>().expect("a time").into()).expect("own file");
    };
    person.run("ls --source one");
    let one = catalogs();
    assert_eq!(one.len(), 1);
    for name in &one {
        written(name, "2025-02-03T14:10:00Z");
    }
    person.run("ls --source two");
    assert_eq!(catalogs().len(), 2, "a month is not over");
    for name in &one {
        written(name, "2025-02-02T14:09:00Z");
    }
    std::fs::write(person.home().join("catalog-of-mine.db"), "").expect("own file");
    written("catalog-of-mine.db", "2020-01-01T00:00:00Z");
    written("catalog.db", "2020-01-01T00:00:00Z");
    person.run("ls --source two");
    assert!(catalogs().len() == 2 && !catalogs().contains(&one[0]), "{:?}", catalogs());
    assert!(catalogs().contains(&"catalog-of-mine.db".to_owned()), "only what was made here");
    assert!(person.home().join("catalog.db").exists(), "that of the usual places stays");
}

#[test]
fn whoever_has_no_sessions_gets_no_home() {
    let person = Person::alone();
    assert!(person.run("ls --width 80").starts_with("No sessions yet."));
    assert!(person.run("search anything --width 80").starts_with("Nothing said about"));
    assert!(!person.home().exists());
}
