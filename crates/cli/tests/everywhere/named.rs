//! Titles that programs keep beside their sessions.

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::{Value, json};

use super::person::{NOW, Person};

const CODEX: &str = "01a1e09c-0000-7000-8000-000000000001";
const CLAUDE: &str = "0f5c0000-0000-4000-8000-000000000001";
const INDEX_OF_CODEX: &str = ".codex/session_index.jsonl";
const INDEX_OF_CLAUDE: &str = ".claude/projects/-home-dev-ledger/sessions-index.json";

fn with_titles() -> Person {
    let person = Person::with_agents();
    person.write(INDEX_OF_CODEX, &[json!({"id": CODEX, "thread_name": "Refused bursts"})]);
    person.write(
        INDEX_OF_CLAUDE,
        &[json!({"version": 1, "entries": [{"sessionId": CLAUDE, "summary": "Winnow for the parser"}]})],
    );
    person
}

/// The titles in the list, of Claude Code and of Codex.
fn listed(person: &Person, now: u64) -> [Value; 2] {
    let rows = person.json_lines_at(now, "ls --json=lines");
    [CLAUDE, CODEX]
        .map(|id| rows.iter().find(|row| row["id"] == id).map_or(Value::Null, |row| row["title"].clone()))
}

fn check(person: &Person, now: u64, codex: &str) {
    assert_eq!(listed(person, now), ["Winnow for the parser", codex]);
    assert!(person.run_at(now, &format!("tree {CODEX}")).starts_with(codex), "{codex}");
    assert_eq!(
        person.json_lines_at(now, "search winnow --json=lines").len(),
        2,
        "the title and what was said"
    );
    let by_title = |title: &str| {
        let output =
            person.command_at(now).args(["show", title]).bounded_output().expect("the program starts");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(by_title(codex).contains("Why is the burst refused?"), "{codex}");
    assert!(by_title("winnow for the parser").contains("Port the parser"));
}

#[test]
fn titles_that_stand_beside_sessions_are_listed_and_found() {
    let person = with_titles();
    check(&person, NOW, "Refused bursts");
    // another name, and a list that comes before its session
    person.write(
        INDEX_OF_CODEX,
        &[
            json!({"id": CODEX, "thread_name": "Refused bursts"}),
            json!({"id": CODEX, "thread_name": "Credit"}),
        ],
    );
    check(&person, NOW + 1, "Credit");
    assert!(person.json_lines_at(NOW + 1, "search refused --json=lines").len() == 1, "only what was said");
    std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
    check(&person, NOW + 2, "Credit");
}

#[test]
fn titles_beside_stay_when_the_session_is_changed_and_when_they_are_deleted() {
    let person = with_titles();
    assert!(person.run(&format!("label {CODEX} 1 important")).contains("important"));
    check(&person, NOW, "Refused bursts");
    let rollout =
        ".codex/sessions/2025/03/04/rollout-2025-03-04T05-00-00-01a1e09c-0000-7000-8000-000000000001.jsonl";
    for file in [INDEX_OF_CODEX, INDEX_OF_CLAUDE, rollout] {
        std::fs::remove_file(person.user(file)).expect("own file");
    }
    check(&person, NOW + 1, "Refused bursts");
    std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
    check(&person, NOW + 2, "Refused bursts");
    assert!(!person.run_at(NOW + 2, "doctor").contains("titles.jsonl"));
}

#[test]
fn what_a_session_says_of_itself_counts_more() {
    let person = with_titles();
    let path = person.user(".claude/projects/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl");
    let own = json!({"type": "custom-title", "customTitle": "Parsers", "sessionId": CLAUDE});
    let text = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(&path, format!("{text}{own}\n")).expect("own file");
    assert_eq!(listed(&person, NOW), ["Parsers", "Refused bursts"]);
    person.write(
        INDEX_OF_CLAUDE,
        &[json!({"version": 1, "entries": [{"sessionId": CLAUDE, "customTitle": "Others"}]})],
    );
    assert_eq!(listed(&person, NOW + 1), ["Parsers", "Refused bursts"]);
}
