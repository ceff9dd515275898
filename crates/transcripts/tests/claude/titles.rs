//! Titles, lists and the older index.

use offshoot_transcripts::claude::{self, Listing, listing, read_index, retitled_index, title_line};
use serde_json::{Value, json};

use crate::file::{lines, said, tree, tree_of, user, with};

fn named(title: &str) -> Value {
    json!({ "type": "custom-title", "customTitle": title, "sessionId": "s1" })
}

fn named_by_program(title: &str) -> Value {
    json!({ "type": "ai-title", "aiTitle": title, "sessionId": "s1" })
}

fn summary(title: &str, leaf: &str) -> Value {
    json!({ "type": "summary", "summary": title, "leafUuid": leaf })
}

fn title(file: &[Value]) -> (Option<String>, bool) {
    let tree = tree(file);
    let list = listing(lines(file).as_bytes());
    assert_eq!(list.name.as_deref(), tree.title().filter(|_| tree.title_is_by_user()), "list and tree agree");
    (tree.title().map(str::to_owned), tree.title_is_by_user())
}

#[test]
fn the_last_title_of_a_person_counts() {
    let is = |title: &str, by_user| (Some(title.to_owned()), by_user);
    assert_eq!(title(&[said("u1", None)]), (None, false));
    assert_eq!(title(&[said("u1", None), named("One")]), is("One", true));
    assert_eq!(title(&[named("One"), said("u1", None), named(" Two ")]), is("Two", true));
    assert_eq!(title(&[named("One"), said("u1", None), named("")]), (None, false));
    assert_eq!(title(&[said("u1", None), named_by_program("Auto")]), is("Auto", false));
    assert_eq!(title(&[said("u1", None), named("Mine"), named_by_program("Auto")]), is("Mine", true));
    assert_eq!(
        title(&[said("u1", None), named_by_program("Auto"), named("Mine"), named(" ")]),
        is("Auto", false)
    );
}

#[test]
fn a_summary_is_the_title_of_the_session_it_ends_in() {
    assert_eq!(title(&[summary("Ours", "u1"), said("u1", None)]), (Some("Ours".to_owned()), false));
    assert_eq!(title(&[summary("Theirs", "elsewhere"), said("u1", None)]), (None, false));
    assert_eq!(title(&[summary("Alone", "elsewhere")]), (Some("Alone".to_owned()), false));
}

#[test]
fn a_title_is_written_as_the_program_writes_it() {
    let line = title_line("s1", "Say \"hi\"\n");
    assert_eq!(
        String::from_utf8_lossy(&line),
        "{\"type\":\"custom-title\",\"customTitle\":\"Say \\\"hi\\\"\\n\",\"sessionId\":\"s1\"}\n"
    );
    let file = [lines(&[said("u1", None)]).into_bytes(), line].concat();
    assert_eq!(tree_of(&claude::read(None, &file)).title(), Some("Say \"hi\""));
}

#[test]
fn a_list_says_what_it_needs_in_one_pass() {
    let editor = json!([
        { "type": "text", "text": "<ide_opened_file>x.rs</ide_opened_file>" },
        { "type": "text", "text": "fix it" },
    ]);
    let file = [
        user("u1", None, json!("<command-name>/clear</command-name>")),
        with(user("u2", Some("u1"), editor), json!({ "gitBranch": "main", "version": "2.1.0" })),
        with(said("a3", Some("u2")), json!({ "gitBranch": "other", "version": "2.1.1" })),
    ];
    assert_eq!(
        listing(lines(&file).as_bytes()),
        Listing {
            session: Some("s1".into()),
            name: None,
            automatic_title: None,
            first_prompt: Some("fix it".into()),
            is_sidechain: false,
            project: Some("/work".into()),
            git_branch: Some("main".into()),
            version: Some("2.1.1".into()),
            opened_at: "2025-01-01T00:00:01Z".parse().ok(),
            active_at: "2025-01-01T00:00:03Z".parse().ok(),
        }
    );
}

#[test]
fn the_first_prompt_is_not_that_of_a_sub_agent() {
    let aside = with(said("u1", None), json!({ "isSidechain": true }));
    let list = |file: &[Value]| {
        let list = listing(lines(file).as_bytes());
        (list.is_sidechain, list.first_prompt)
    };
    assert_eq!(list(std::slice::from_ref(&aside)), (true, Some("u1".into())));
    assert_eq!(list(&[said("a0", None), aside, said("u2", None)]), (false, Some("u2".into())));
}

/// R-201: the index of sessions of Claude Code is read.
#[test]
fn the_older_index_is_read() {
    let index = json!({ "version": 1, "entries": [
        { "sessionId": "s1", "fullPath": "/p/s1.jsonl", "fileMtime": 1_735_689_600_000_i64, "firstPrompt": "hi",
          "customTitle": "Mine", "messageCount": 4, "created": "2025-01-01T00:00:00.000Z", "gitBranch": "main",
          "projectPath": "/p", "isSidechain": false },
        { "sessionId": "s2", "isSidechain": true, "customTitle": "" },
        { "fullPath": "nobody's" },
        7,
    ] });
    let records = read_index(index.to_string().as_bytes()).expect("an index");
    let [first, second] = &records[..] else { panic!("two records: {records:?}") };
    assert_eq!((first.session.as_str(), first.full_path.as_deref()), ("s1", Some("/p/s1.jsonl")));
    assert_eq!((first.custom_title.as_deref(), first.first_prompt.as_deref()), (Some("Mine"), Some("hi")));
    assert_eq!((first.messages, first.is_sidechain), (Some(4), false));
    assert_eq!(first.modified_at, "2025-01-01T00:00:00Z".parse().ok());
    assert_eq!((second.custom_title.as_deref(), second.is_sidechain), (None, true));
    assert_eq!(
        read_index(b"{}").expect_err("no index").to_string(),
        "this is not a `sessions-index.json`: it has no list of `entries`"
    );
    assert!(read_index(b"\xff{").is_err());
}

/// R-114: the title is mirrored, and no other byte changes.
#[test]
fn a_title_is_mirrored_in_the_older_index_without_touching_the_rest() {
    let index = r#"{
  "version": 1,
  "entries": [
    {
      "sessionId": "s1",
      "messageCount": 4.0
    },
    { "sessionId": "s2", "customTitle": "Old" , "x": [1,2]}
  ]
}
"#;
    let retitled = |index: &str, session: &str, title: &str| {
        retitled_index(index.as_bytes(), session, title).map(|bytes| String::from_utf8(bytes).expect("text"))
    };
    let one = retitled(index, "s1", "Say \"hi\"").expect("a change");
    let added = "\"messageCount\": 4.0,\n      \"customTitle\": \"Say \\\"hi\\\"\"\n";
    assert_eq!(one, index.replace("\"messageCount\": 4.0\n", added));
    assert_eq!(retitled(index, "s2", "New"), Some(index.replace("Old", "New")));
    assert_eq!(retitled(index, "s2", ""), Some(index.replace(", \"customTitle\": \"Old\" ", " ")));
    assert_eq!(
        retitled(r#"[{"sessionId":"s1"}]"#, "s1", "T").as_deref(),
        Some(r#"[{"sessionId":"s1","customTitle":"T"}]"#)
    );
    // nothing to say, or nobody to say it of
    assert_eq!(retitled(index, "s2", "Old"), None);
    assert_eq!(retitled(index, "s1", ""), None);
    assert_eq!(retitled(index, "s3", "T"), None);
    assert_eq!(retitled("{", "s1", "T"), None);
    assert_eq!(retitled_index(b"\xff", "s1", "T"), None);
}
