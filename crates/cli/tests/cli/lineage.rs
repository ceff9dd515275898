//! Why a session branched, in every command that shows sessions.

use serde_json::{Value, json};

use crate::support::Folder;
use crate::talking::{Talk, run};

fn told(folder: &Folder, words: &[&str]) -> String {
    let (told, code) = run(folder, words);
    assert_eq!(code, Some(0), "{words:?}: {told}");
    told
}

fn printed(folder: &Folder, words: &[&str]) -> Value {
    serde_json::from_str(&told(folder, words)).expect("JSON")
}

/// A session with a child of each kind.
fn family() -> Folder {
    let folder = Folder::new();
    told(&folder, &["new", "Parser", "--model", "demo/x"]);
    told(&folder, &["send", "Parser", "one"]);
    told(&folder, &["send", "Parser", "two"]);
    told(&folder, &["--set", "config_change_branching=file", "send", "Parser", "three", "--model", "demo/y"]);
    told(&folder, &["edit", "Parser", "1", "uno", "--new-session"]);
    told(&folder, &["retry", "Parser", "2", "--new-session"]);
    told(&folder, &["fork", "Parser", "1", "--new-session", "--title", "Copy"]);
    folder
}

/// why a session branched was shown by no command.
#[test]
fn every_list_says_why_a_session_branched() {
    let folder = family();
    let listed = printed(&folder, &["ls", "--json"]);
    let rows = listed["sessions"].as_array().expect("a list");
    let find = |title: &str| rows.iter().find(|row| row["title"] == title).expect("a session");
    let parent = &find("Parser")["id"];
    assert_eq!(find("Parser")["lineage"], Value::Null);
    let expected = [
        (
            "Parser (y)",
            "config_change",
            3,
            json!({"old_model": "demo/x", "new_model": "demo/y"}),
            "model demo/x → demo/y",
        ),
        (
            "Parser (uno)",
            "message_edit",
            0,
            json!({"turn": 1, "old_text": "one", "new_text": "uno"}),
            "edit of #1",
        ),
        ("Parser (retry)", "retry", 2, json!({"turn": 2}), "retry of #2"),
        ("Copy", "fork", 1, Value::Null, "fork"),
    ];
    let list = told(&folder, &["ls", "--width", "100"]);
    let tree = told(&folder, &["ls", "--tree", "--width", "100"]);
    for (title, reason, point, metadata, words) in expected {
        let lineage = json!({
            "parent": parent, "branch_point": point, "branch_reason": reason, "branch_metadata": metadata,
        });
        let child = find(title);
        assert_eq!(child["lineage"], lineage, "{title}");
        let id = child["id"].as_str().expect("an id");
        assert_eq!(printed(&folder, &["show", id, "--json"])["lineage"], lineage);
        assert_eq!(printed(&folder, &["inspect", id, "--json"])["lineage"], lineage);
        let from = format!("from {}: {words}\n", &parent.as_str().expect("an id")[..6]);
        assert!(told(&folder, &["show", id, "--width", "90"]).contains(&from), "{from}");
        assert!(told(&folder, &["inspect", id, "--width", "90"]).contains(&format!("  reason    {words}\n")));
        let row = |text: &str| {
            let found = text.lines().find(|line| line.contains(&format!("╰ {title}"))).map(str::to_owned);
            found.expect("a row")
        };
        assert!(row(&list).contains(words), "{list}");
        assert!(row(&tree).trim_end().ends_with(words), "{tree}");
    }
}

/// a tree of sessions shows what their headers say, with the agent and the model they begin with.
#[test]
fn a_tree_of_sessions_shows_their_headers() {
    let folder = family();
    let tree = printed(&folder, &["ls", "--tree", "--json"]);
    let roots = tree["sessions"].as_array().expect("a list");
    let [root] = roots.as_slice() else { panic!("one root: {tree}") };
    assert_eq!(root["header"]["parent_id"], Value::Null);
    let children = root["children"].as_array().expect("a list");
    assert_eq!(children.len(), 4);
    let child = children.iter().find(|child| child["session"]["title"] == "Parser (y)").expect("a child");
    let header = &child["header"];
    assert_eq!(
        json!([header["agent"], header["provider"], header["model"], header["branch_reason"]]),
        json!(["built_in", "demo", "y", "config_change"])
    );
    assert_eq!(header["parent_id"], root["header"]["id"]);
    assert_eq!(header["cwd"], root["header"]["cwd"]);
}

/// every session of a family is exported with its own configuration and its reason.
#[test]
fn an_exported_family_has_one_configuration_in_each_file() {
    let folder = family();
    told(&folder, &["export", "Parser (y)", "--to", "rollouts", "-o", "child.jsonl"]);
    let file = std::fs::read_to_string(folder.path().join("child.jsonl")).expect("a file");
    let lines: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (header, messages) = lines.split_first().expect("a header");
    assert_eq!(
        json!([header["provider"], header["model"], header["branch_reason"]]),
        json!(["demo", "y", "config_change"])
    );
    assert_eq!(header["branch_metadata"], json!({"old_model": "demo/x", "new_model": "demo/y"}));
    assert!(messages.iter().all(|line| line["type"] == "message"), "{file}");
    assert_eq!(messages.len(), 6, "complete in itself");
}

/// a session that is begun without `--agent` and `--model`, by `new` or in a chat, has the ones of the settings in its header.
#[test]
fn a_header_carries_the_agent_and_model_of_the_settings() {
    let folder = Folder::new();
    told(&folder, &["--set", "model=demo/x", "new", "Begun"]);
    let mut chat = Talk::begin(&folder, &["--set", "model=demo/x", "chat"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    assert_eq!(chat.end(), Some(0));
    told(&folder, &["new", "Bare"]);
    let tree = printed(&folder, &["ls", "--tree", "--json"]);
    let header = |name: &str| {
        let mut items = tree["sessions"].as_array().expect("a list").iter();
        let is_it =
            |item: &&Value| item["session"]["title"] == name || item["session"]["first_prompt"] == name;
        let header = &items.find(is_it).expect("a session")["header"];
        json!([header["agent"], header["provider"], header["model"]])
    };
    assert_eq!(header("Begun"), json!(["built_in", "demo", "x"]));
    assert_eq!(header("hello"), json!(["built_in", "demo", "x"]));
    assert_eq!(header("Bare"), json!(["built_in", null, null]), "no model is known");
}

/// a reply was refused with "is not a prompt". It is edited by `m:n`, by its id and in the chat, and every command
/// shows the edited reply as another answer to the same prompt.
#[test]
fn a_reply_is_edited_as_another_answer() {
    let folder = Folder::new();
    told(&folder, &["new", "Parser"]);
    told(&folder, &["send", "Parser", "one"]);
    told(&folder, &["send", "Parser", "two"]);
    let edited = printed(&folder, &["edit", "Parser", "m:1", "No.", "--json"]);
    assert_eq!((&edited["version"], &edited["head"]), (&Value::Null, &edited["id"]));
    assert_eq!(
        printed(&folder, &["versions", "Parser", "1", "--json"])["versions"].as_array().map(Vec::len),
        Some(1)
    );
    let entries = printed(&folder, &["show", "Parser", "--json"])["entries"].clone();
    let texts: Vec<&str> = entries
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|entry| entry["text"].as_str().filter(|_| entry["role"] != "setting"))
        .collect();
    assert_eq!(texts, ["one", "No."]);
    let tree = told(&folder, &["tree", "Parser", "--width", "90"]);
    assert!(tree.contains("assistant: You said “one”"), "the old answer is a branch: {tree}");
    std::fs::create_dir(folder.path().join("files")).expect("a directory");
    told(&folder, &["export", "Parser", "--to", "rollouts", "-o", "files"]);
    let reasons = std::fs::read_dir(folder.path().join("files")).expect("a directory").map(|file| {
        let file = std::fs::read_to_string(file.expect("a file").path()).expect("text");
        let header: Value = serde_json::from_str(file.lines().next().unwrap_or_default()).expect("JSON");
        header["branch_reason"].as_str().unwrap_or("root").to_owned()
    });
    let mut reasons: Vec<String> = reasons.collect();
    reasons.sort();
    assert_eq!(reasons, ["message_edit", "root"]);

    let (refused, code) = run(&folder, &["edit", "Parser", "m:1", "No?", "--send"]);
    assert_eq!(code, Some(4));
    assert!(refused.contains("is not a prompt, so no agent can answer it"), "{refused}");
    let mut chat = Talk::begin(&folder, &["chat", "Parser"]);
    chat.say("/edit m:1 Perhaps.");
    chat.say("three");
    chat.until("You said “three”.");
    assert_eq!(chat.end(), Some(0));
    let shown = told(&folder, &["show", "Parser", "--width", "90"]);
    assert!(shown.contains("Perhaps.") && shown.contains("three") && !shown.contains("two"), "{shown}");

    let child = printed(&folder, &["edit", "Parser", "m:1", "Never.", "--new-session", "--json"]);
    let child = child["new_session"].as_str().expect("an id").to_owned();
    let lineage = printed(&folder, &["show", &child, "--json"])["lineage"].clone();
    assert_eq!(
        json!([lineage["branch_reason"], lineage["branch_point"], lineage["branch_metadata"]["role"]]),
        json!(["message_edit", 1, "assistant"])
    );
    assert!(told(&folder, &["show", &child, "--width", "90"]).contains("edited reply of #1"));
}
