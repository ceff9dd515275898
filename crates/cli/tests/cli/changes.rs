//! Commands that change a session, and the way back from each.

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::Value;

use crate::support::{BURST, Folder};

/// A session with three turns and a tool call.
const TALK: &str = r#"{"role":"user","text":"Burst credit is lost when the config reloads. Find out why."}
{"role":"assistant","text":"Let me look.","model":"anthropic/claude-sonnet-4","tool_calls":[{"id":"call-1","name":"read","input":{"path":"src/bucket.rs"}}],"stop":"tool_use"}
{"role":"tool_result","call":"call-1","tool":"read","text":"struct Bucket"}
{"role":"assistant","text":"The bucket is built anew on every reload.","usage":{"input":900,"output":40}}
{"role":"user","text":"Write a failing test first."}
{"role":"assistant","text":"It fails as expected."}
{"role":"user","text":"Store the credit as a deadline instead of a counter."}
{"role":"assistant","text":"The bucket now keeps one instant."}
"#;

impl Folder {
    /// With the session of these tests, stored under the title `Burst`.
    pub(crate) fn with_talk() -> Self {
        let folder = Self::new();
        folder.run("new Burst");
        let ids = folder.run_with("append", TALK);
        assert_eq!(ids.lines().count(), TALK.lines().count(), "{ids}");
        folder
    }

    /// Everything that can be seen of the session.
    fn view(&self) -> String {
        let lines = [
            "tree --json",
            "show --json",
            "versions 1 --json",
            "branch --json --all",
            "tree --width 100",
            "show --context --json",
        ];
        self.story(&lines)
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(line)).expect("JSON")
    }
}

#[track_caller]
fn check(name: &str, lines: &[&str]) {
    insta::assert_snapshot!(name, Folder::with_talk().story(lines));
}

#[test]
fn an_edit_makes_a_version_beside_the_old_one() {
    check(
        "edit",
        &[
            "edit 2 Write_a_test_that_fails. --width 90",
            "edit Burst 2 Write_two_tests.",
            "edit --session Burst 1 Why_is_burst_credit_lost? --quiet",
            "edit 1 In_ASCII --ascii --width 60",
            "tree --width 90",
            "edit 1 For_scripts --json",
        ],
    );
}

#[test]
fn an_edit_that_says_nothing_new_is_refused() {
    check(
        "edit-refused",
        &[
            "edit 2 Write_a_failing_test_first.",
            "edit 2 _",
            "edit 2 ''",
            "edit 9 Nothing_there",
            "edit nobody Nothing_there",
            "edit head Not_a_prompt --model a/b",
            "edit Nowhere 2 No_such_session",
            "edit 2",
            "edit",
            "edit Burst 2 one word more",
            "edit --session Burst Burst 2 twice",
            "ops",
        ],
    );
}

#[test]
fn a_text_comes_from_standard_input_or_an_editor() {
    let folder = Folder::with_talk();
    folder.run_with("edit 2 -", "Two lines,\n- with a list\n");
    let shown = folder.json("show --json --at head");
    let last = shown["entries"].as_array().and_then(|entries| entries.last()).expect("an entry");
    assert_eq!(last["text"], "Two lines,\n- with a list");

    let edited = |editor: &str| {
        let mut command = folder.command();
        command.env("PATH", "/usr/bin:/bin").env("EDITOR", editor);
        folder.told(command, "edit 1 --editor", "")
    };
    folder.write("shorter", b"#!/bin/sh\nsed -i 's/ Find out why.//' \"$2\"\n");
    assert!(edited("sh ./shorter -w").starts_with("Version 2 of #1 is "));
    let shown = folder.run("show --at 1 --quiet");
    assert!(shown.contains("Burst credit is lost when the config reloads.\n"), "{shown}");
    assert_eq!(edited("true"), "error: this is the same text as version 2\nexit 4\n");
    assert_eq!(edited("false"), "error: `false` ended with code 1; nothing was changed\nexit 1\n");
    assert_eq!(edited("truncate -s 0"), "error: a prompt needs some text\nexit 4\n");
    insta::assert_snapshot!("no-editor", folder.run("edit 1 --editor"));
}

/// R-053: before the first entry is a place of its own, with an option of its own.
#[test]
fn going_somewhere_moves_the_head() {
    check(
        "switch",
        &[
            "switch 1 --width 90",
            "switch 1",
            "switch --before-first --width 90",
            "tree --width 90 --quiet",
            "switch 1",
            "undo",
            "undo",
            "label 2 tested",
            "switch 1",
            "switch tested",
            "branch name tested deadline",
            "switch 1",
            "switch deadline --width 90",
            "switch head",
            "switch Burst 1 --json",
            "switch 3",
        ],
    );
}

#[test]
fn an_id_is_exactly_that_entry_where_it_is_wanted_so() {
    let folder = Folder::with_talk();
    let tree = folder.json("tree --json");
    let prompt = tree["nodes"][4]["id"].as_str().expect("an id");
    assert!(
        folder.run(&format!("switch {prompt}")).starts_with("Switched to #2"),
        "C21: a turn, as in `tree`"
    );
    assert_ne!(folder.json("tree --json")["head"], prompt);
    folder.run("undo");
    let told = folder.run(&format!("switch {prompt} --exact"));
    assert!(told.ends_with("  head   #3 → #2, before its answer\n  in     6be306  Burst\n"), "{told}");
    assert_eq!(folder.json("tree --json")["head"], prompt);
    let answer = tree["nodes"][5]["id"].as_str().expect("an id");
    folder.run("switch 2");
    assert_eq!(folder.json("tree --json")["head"], answer, "A4: a head on the prompt takes no answer away");
    folder.run(&format!("switch {answer}"));
    assert_eq!(folder.json("tree --json")["head"], answer);
}

#[test]
fn versions_are_left_and_right_of_each_other() {
    check(
        "prev-next",
        &[
            "prev",
            "edit 2 Write_a_test_that_fails.",
            "edit 2 Write_no_test.",
            "prev --width 90",
            "prev",
            "prev",
            "next 2 --width 90",
            "next Burst",
            "next Burst 2",
            "prev 1",
            "prev head --json",
            "prev nobody",
        ],
    );
}

/// R-113: a fork begins at any point.
#[test]
fn a_fork_starts_a_branch_or_a_session() {
    check(
        "fork",
        &[
            "fork --width 100",
            "fork --at 2 --width 90",
            "fork --at 2",
            "fork --at 7",
            "fork --title lonely",
            "fork --new-session --width 90",
            "fork Burst --at 1 --new-session --title Only_the_question",
            "ls --width 100",
            "tree --width 90",
        ],
    );
    let folder = Folder::with_talk();
    let forked = folder.json("fork Burst --at 2 --new-session --title Another --json");
    let (id, parent) = (forked["id"].as_str().expect("an id"), forked["parent"].as_str().expect("an id"));
    let child = folder.json(&format!("tree {id} --json"));
    assert_eq!(child["head"], forked["head"]);
    assert_eq!(child["title"], "Another");
    assert_ne!(id, parent);
    let whole = folder.json(&format!("tree {parent} --json"));
    assert_eq!(whole["nodes"].as_array().map(Vec::len), Some(8), "the origin stays as it is");
    assert_eq!(child["nodes"].as_array().map(Vec::len), Some(6));
    assert_eq!(child["nodes"][5]["id"], whole["nodes"][5]["id"], "ids stay");
}

#[test]
fn asking_again_makes_a_version_with_the_same_text() {
    check(
        "retry",
        &["retry --width 90", "retry 1", "tree --width 90", "retry nobody", "retry Burst 1 --json"],
    );
    let folder = Folder::new();
    folder.run("new");
    assert_eq!(
        folder.run("retry --quiet"),
        "error: the head is before the first entry\nexit 3\n",
        "nothing was asked yet"
    );
}

#[test]
fn names_are_given_and_taken_away() {
    check(
        "names",
        &[
            "rename Burst_credit",
            "rename Burst_credit",
            "rename --session Burst_credit Credit",
            "rename Credit Burst",
            "rename ''",
            "label 2 works,_ugly",
            "label 2 works,_ugly",
            "label 2 ''",
            "branch name 3 deadline",
            "branch name 2 deadline",
            "branch name 2 7",
            "branch name 9 gcra",
            "branch name 3 ''",
            "branch name 3",
        ],
    );
}

#[test]
fn branches_are_listed_by_their_ends() {
    let folder = Folder::with_talk();
    folder.run("branch name 3 deadline");
    folder.run("edit 3 Rewrite_the_limiter");
    folder.run("branch name 3 gcra");
    folder.run("edit 2 Skip_the_test");
    let lines = [
        "branch --width 100",
        "branch --width 50 --ascii",
        "branch",
        "branch Burst --json",
        "branch --json=lines",
        "archive gcra",
        "branch --width 80",
        "branch --width 80 --all",
    ];
    insta::assert_snapshot!("branch", folder.story(&lines));
}

#[test]
fn a_branch_out_of_sight_comes_back() {
    let folder = Folder::with_talk();
    folder.run("edit 3 Rewrite_the_limiter");
    folder.run_with("append", "{\"role\":\"assistant\",\"text\":\"Rewritten.\"}");
    folder.run("branch name 3 gcra");
    folder.run("prev");
    let lines = [
        "archive gcra --width 80",
        "archive gcra",
        "tree --width 80",
        "unarchive gcra",
        "unarchive gcra",
        "archive 1",
        "archive nobody",
    ];
    insta::assert_snapshot!("archive", folder.story(&lines));
}

#[test]
fn steps_are_listed_undone_and_taken_again() {
    check(
        "undo",
        &[
            "edit 2 Write_a_test_that_fails.",
            "label 2 tested",
            "rename ''",
            "undo --width 90",
            "undo --width 90",
            "undo Burst --width 90",
            "redo --width 90",
            "ops --width 90",
            "ops",
            "redo --json",
            "rename Other",
            "redo",
            "ops --json=lines",
        ],
    );
    let folder = Folder::new();
    folder.run("new");
    insta::assert_snapshot!("nothing-to-undo", folder.story(&["undo", "redo", "ops", "ops --width 80"]));
}

/// After an undo everything looks as before, after a redo as before the undo.
#[test]
fn every_step_has_a_way_back_and_forth() {
    let steps = [
        "edit 2 Another_text",
        "edit 1 Another_beginning",
        "retry",
        "retry 1",
        "switch 1",
        "switch --before-first",
        "fork --at 2",
        "prev 3",
        "label 2 works",
        "rename Other_title",
        "rename ''",
        "branch name 2 deadline",
        "branch name tried ''",
        "archive tried",
        "append",
        "append --batch",
    ];
    let folder = Folder::with_talk();
    // A second version, so that there is something to go to, to archive and to rename.
    folder.run("edit 3 Rewrite_the_limiter");
    folder.run_with("append", "{\"role\":\"assistant\",\"text\":\"Rewritten.\"}");
    folder.run("branch name 3 tried");
    folder.run("label 3 odd");
    folder.run("prev 3");
    folder.run("next 3");
    let two = "{\"role\":\"user\",\"text\":\"one\"}\n{\"role\":\"assistant\",\"text\":\"two\"}\n";
    for step in steps {
        if step == "archive tried" {
            folder.run("prev 3");
        }
        let before = folder.view();
        let told = match step {
            "append" => folder.run_with(step, two.lines().next().expect("a line")),
            _ => folder.run_with(step, two),
        };
        assert!(!told.contains("error:"), "{step}: {told}");
        let after = folder.view();
        assert_ne!(after, before, "{step}: {told}");
        let told = folder.run("undo");
        assert_eq!(folder.view(), before, "{step}, undone: {told}");
        let told = folder.run("redo");
        assert_eq!(folder.view(), after, "{step}, taken again: {told}");
        folder.run("undo");
        assert_eq!(folder.view(), before, "{step}, undone again");
    }
    insta::assert_snapshot!("nothing-is-odd", folder.run("fsck"));
}

/// The list without the moments at which the sessions changed last.
fn listed(folder: &Folder) -> Value {
    let mut list = folder.json("ls --json");
    for session in list["sessions"].as_array_mut().expect("a list") {
        session["updated_at"].take();
    }
    list
}

#[test]
fn to_begin_a_session_is_a_step() {
    for step in ["new Third", "import burst.jsonl", "fork --new-session --at 2"] {
        let folder = Folder::with_talk();
        let (list, view) = (listed(&folder), folder.view());
        let id = folder.json(&format!("{step} --json"));
        let id = id["id"].as_str().or(id["sessions"][0]["id"].as_str()).expect("an id").to_owned();
        let after = listed(&folder);
        assert_ne!(after, list, "{step}");

        let told = folder.run(&format!("undo {id}"));
        assert_eq!(listed(&folder), list, "{step}, undone: {told}");
        assert_eq!(folder.view(), view, "{step}, undone: {told}");
        let told = folder.run(&format!("show {id}"));
        assert!(told.contains("was taken back") && told.ends_with("exit 3\n"), "{told}");
        let told = folder.run(&format!("label {id} 1 x"));
        assert!(told.contains("was taken back") && told.ends_with("exit 3\n"), "{told}");
        assert!(folder.run(&format!("undo {id}")).contains("there is no step to undo"), "{step}");

        let told = folder.run(&format!("redo {id}"));
        assert_eq!(listed(&folder), after, "{step}, taken again: {told}");
        assert!(folder.run("fsck").ends_with("clean\n"), "{step}");
    }
}

#[test]
fn a_new_session_is_taken_back_from_both_sides() {
    let folder = Folder::with_talk();
    let before = listed(&folder);
    let lines = [
        "fork --new-session --title Child",
        "undo",
        "redo",
        "undo Burst",
        "show Child",
        "redo Burst",
        "label Child 1 mine",
        "undo Burst",
        "undo Child",
        "undo Burst",
        "ops Burst --json=lines",
    ];
    insta::assert_snapshot!("two-sides", folder.story(&lines));
    assert_eq!(listed(&folder), before);
}

#[test]
fn what_was_imported_and_taken_back_can_be_imported_again() {
    let folder = Folder::new();
    let printed = folder.run("import burst.jsonl");
    let id = "6f2a91c0-0000-7000-8000-000000000001";
    let list = listed(&folder);
    folder.run(&format!("undo {id}"));
    assert_eq!(folder.run("import burst.jsonl"), printed);
    assert_eq!(listed(&folder), list);

    folder.run(&format!("undo {id}"));
    let grown = BURST.replace("Burst credit lost after reload", "Another title");
    folder.write("burst.jsonl", grown.as_bytes());
    let told = folder.run("import burst.jsonl");
    assert!(told.contains("was imported as `6f2a91` and taken back") && told.ends_with("exit 4\n"), "{told}");
    assert!(folder.run("import burst.jsonl --again").contains("Another title"));
}

#[test]
fn a_script_appends_entries() {
    let folder = Folder::with_talk();
    let three = "{\"role\":\"user\",\"text\":\"below the head\"}\n\n{\"role\":\"assistant\",\"text\":\"yes\",\"id\":\"mine\"}\n{\"role\":\"user\",\"text\":\"below a turn\",\"parent\":1}\n";
    let told = folder.run_with("append Burst --json", three);
    insta::assert_snapshot!("append", format!("{told}\n{}", folder.run("tree --width 90")));
    folder.run("undo");
    assert_eq!(folder.json("tree --json")["head"], "mine", "each line is a step");

    let told = folder.run_with("append --batch", three);
    assert!(
        told.ends_with("error: line 3: id `mine` is taken\nhint: nothing was written\nexit 1\n"),
        "{told}"
    );
    let told = folder.run_with("append --batch", &three.replace("mine", "yours"));
    assert_eq!(told.lines().count(), 3, "{told}");
    folder.run("undo");
    assert_eq!(folder.json("tree --json")["head"], "mine", "all lines are one step");
    assert_eq!(folder.run_with("append", ""), "");
}

/// What `show` prints for scripts can be appended elsewhere: the same entries with the same ids.
#[test]
fn what_show_prints_append_reads() {
    let folder = Folder::with_talk();
    let printed = folder.run("show --json=lines");
    folder.run("new Copy");
    folder.run_with("append Copy", &printed);
    assert_eq!(folder.run("show Copy --json=lines"), printed);
}

#[test]
fn a_line_that_is_wrong_is_named() {
    let folder = Folder::with_talk();
    let lines = [
        "not json",
        "[1]",
        r#"{"text":"no role"}"#,
        r#"{"role":"usr","text":"hi"}"#,
        r#"{"role":"user","text":"  "}"#,
        r#"{"role":"user","text":3}"#,
        r#"{"role":"user","text":"hi","parnet":"x"}"#,
        r#"{"role":"user","text":"hi","parent":"nobody"}"#,
        r#"{"role":"user","text":"hi","parent":99}"#,
        r#"{"role":"tool_result","text":"hi"}"#,
        r#"{"role":"assistant","tool_calls":[{"name":"read"}]}"#,
        r#"{"role":"assistant","usage":{"input":"many"}}"#,
        r#"{"role":"user","text":"hi","written_at":"yesterday"}"#,
    ];
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            let good = r#"{"role":"user","text":"good"}"#;
            let told = folder.run_with("append", &format!("{good}\n{line}\n{good}\n"));
            let (_, told) = told.split_once('\n').expect("the id of the first line");
            format!("{line}\n{told}")
        })
        .collect();
    insta::assert_snapshot!("append-wrong", told.join("\n"));
}

#[test]
fn session_files_are_imported_with_every_line() {
    let folder = Folder::new();
    folder.write(
        "odd.jsonl",
        format!("{}not json\n", crate::support::BURST.replace("6f2a91c0", "0dd0dd00")).as_bytes(),
    );
    folder.write("strange.jsonl", crate::support::BURST.replace("6f2a91c0-", "../6f2a91c0/").as_bytes());
    let lines = [
        "import burst.jsonl",
        "import burst.jsonl",
        "import burst.jsonl --again",
        "import odd.jsonl gone.jsonl --width 80",
        "import strange.jsonl",
        "import gone.jsonl --json",
        "import odd.jsonl --again --json",
        "ls --all --width 100",
    ];
    insta::assert_snapshot!("import", folder.story(&lines));
    for (session, file) in [("6f2a91c0", "burst.jsonl"), ("0dd0dd00", "odd.jsonl")] {
        let exported =
            folder.command().args(["export", session, "--to", "pi"]).bounded_output().expect("it starts");
        let file = std::fs::read(folder.path().join(file)).expect("a file of these tests");
        assert_eq!(String::from_utf8_lossy(&exported.stdout), String::from_utf8_lossy(&file));
    }
}

/// R-049, R-050: a flat list becomes one branch with the head at its end, and every turn keeps the agent's session.
#[test]
fn a_flat_list_of_messages_is_imported_as_one_branch() {
    let folder = Folder::new();
    let list = r#"[{"role":"assistant","content":"Hello, how can I help?"},
        {"role":"user","content":"Why is the last row lost?"},
        {"role":"assistant","content":[{"type":"text","text":"The loop ends too early."}]},
        {"role":"user","text":"Fix it."},
        {"role":"assistant","text":"Done."}]"#;
    folder.write("list.json", list.as_bytes());
    folder.write("empty.json", b"[]");
    folder.write("object.json", b"{}");
    folder.write("wrong.json", br#"[{"role":"user","text":"hi"},{"role":"nobody","text":"hi"}]"#);
    insta::assert_snapshot!(
        "import-flat",
        folder.story(&[
            "import --flat list.json --agent claude --agent-session 0c9e",
            "tree",
            "show --context",
            "import --flat list.json --json",
            "import --flat empty.json",
            "import --flat object.json",
            "import --flat wrong.json",
            "import --flat gone.json",
            "import --flat list.json --again",
            "import list.json --agent claude",
        ])
    );
    // A device was read until the memory was full.
    let told = folder.run("import --flat /dev/zero");
    assert!(told.starts_with("error: `/dev/zero` is a device") && told.ends_with("exit 1\n"), "{told}");
    // From a pipe, without what is left out.
    let list = r#"[{"role":"user","text":"one"},{"role":"assistant","text":"1"},
        {"role":"user","text":"two"},{"role":"assistant","text":"2"}]"#;
    let told = folder.run_with("import --flat - --agent-session 0c9e --json", list);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let session = told["sessions"][0]["id"].as_str().expect("an id");
    let shown = folder.run(&format!("show {session} --json"));
    assert_eq!(shown.matches(r#""agent_session": "0c9e""#).count(), 2, "{shown}");
}
