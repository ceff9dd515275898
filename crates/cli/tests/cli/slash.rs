//! What can be done while talking: every command of `/help`, with what it needs and with what it cannot take.

use std::io::Write;
use std::process::Stdio;

use crate::support::Folder;

/// What was printed, and the errors beside it.
struct Told {
    printed: String,
    errors: String,
}

fn chat_with(folder: &Folder, words: &[&str], lines: &str) -> Told {
    let mut child = folder
        .command()
        .arg("chat")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("the program listens");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (printed, errors) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(0), "{lines}\n{printed}{errors}");
    Told { printed, errors }
}

/// Two turns, then these lines.
fn after_two_turns(lines: &str) -> Told {
    chat_with(&Folder::new(), &[], &format!("first\nsecond\n{lines}"))
}

/// It goes well and says so.
fn check(lines: &str, printed: &[&str]) {
    let told = after_two_turns(lines);
    assert_eq!(told.errors, "", "{lines}");
    for words in printed {
        assert!(told.printed.contains(words), "`{lines}` does not say `{words}` but\n{}", told.printed);
    }
}

/// It is refused, and the conversation goes on.
fn check_refused(line: &str, why: &str) {
    let told = after_two_turns(&format!("{line}\nstill there\n"));
    assert!(told.errors.contains(why), "`{line}` does not say `{why}` but\n{}", told.errors);
    assert_eq!(told.errors.matches("error:").count(), 1, "{}", told.errors);
    assert!(told.printed.contains("You said “still there”. This is turn 3"), "{line}\n{}", told.printed);
}

const NOT_FOUND_HINT: &str = "hint: `/tree` shows every turn";

#[test]
fn tree_and_branch_show_and_go() {
    check("/tree\n", &["● #1", "second", "← head"]);
    check("/edit 1 other\n/branch\n", &["Version 2 of 2.", "#1"]);
    check(
        "/branch 1\nother\n/tree\n",
        &["The head has moved", "You said “other”. This is turn 2", "other  ← head  2/2", "second  1/2"],
    );
    check_refused("/branch 99", NOT_FOUND_HINT);
    check_refused("/branch no such place", NOT_FOUND_HINT);
}

#[test]
fn edit_and_retry_make_versions() {
    check("/edit 2 differently\n", &["Version 2 of 2.", "You said “differently”. This is turn 2"]);
    check("/edit #1 anew\n/tree\n", &["anew  ← head  2/2", "first  1/2"]);
    check_refused("/edit 2", "that needs more: `/edit POINT TEXT`");
    check_refused("/edit", "that needs more: `/edit POINT TEXT`");
    check_refused("/edit 2 second", "the text is the same");
    check_refused("/edit 99 text", NOT_FOUND_HINT);
    check("/retry\n/tree\n", &["Version 2 of 2.", "second  1/2", "second  ← head  2/2"]);
    check("/retry 1\n", &["Version 2 of 2.", "You said “first”. This is turn 1"]);
    check_refused("/retry 99", NOT_FOUND_HINT);
}

#[test]
fn versions_are_gone_through() {
    check("/edit 2 differently\n/prev\n/next\n", &["Version 1 of 2.", "Version 2 of 2."]);
    // The head goes where one last stood, which may be turns below.
    check("/edit 1 differently\n/prev\n/next\n", &["Version 1 of 2.", "Version 2 of 2."]);
    check_refused("/prev", "no turn on this branch has another version");
    check_refused("/next 99", NOT_FOUND_HINT);
}

#[test]
fn settings_are_in_force_from_the_next_message() {
    check(
        "/model anthropic/opus\n/model\n",
        &["Model from here on: anthropic/opus", "Model: anthropic/opus."],
    );
    check("/model opus\n", &["Model from here on: opus\n"]);
    check("/model opus\n/model opus\n", &["It is so already."]);
    check_refused("/model anthropic/", "that needs more: `/model PROVIDER/NAME`");
    check_refused("/model two words", "more than one word");
    check("/thinking High\n/thinking\n", &["Thinking from here on: high", "Thinking: high."]);
    check_refused("/thinking hard", "no level of thinking: off, minimal, low, medium, high, xhigh");
    check("/tools read, write\n", &["Tools from here on: read, write"]);
    check_refused("/tools ,", "that needs more: `/tools A,B`");
    check("/mode plan\n/mode\n", &["Permission mode from here on: plan", "Permission mode: plan."]);
    check_refused("/mode a b", "more than one word");
}

#[test]
fn the_conversation_is_named_shortened_and_forgotten() {
    check("/rename A better name\n/tree\n", &["Done.", "A better name"]);
    check_refused("/rename", "that needs more: `/rename TITLE`");
    check("/label good\n/tree\n", &["good"]);
    check("/label #1 begins here\n/branch begins here\n", &["Done.", "The head has moved"]);
    check_refused("/label", "that needs more: `/label [#N] TEXT`");
    check_refused("/label #1", "that needs more: `/label [#N] TEXT`");
    check_refused("/label #99 nowhere", NOT_FOUND_HINT);
    check("/clear\nwhat did I say\n", &["Everything above is forgotten", "Nothing yet"]);
}

#[test]
fn steps_are_taken_back_and_again() {
    check("/label good\n/undo\n", &["Taken back.\n"]);
    check("/undo\n/tree\n", &["Taken back. The head has moved", "1 prompt"]);
    check("/undo\n/redo\n/tree\n", &["Taken again. The head has moved", "second"]);
    check_refused("/redo", "there is no step to redo");
    // Once the beginning is taken back, what is said next is in a session that can be found.
    let folder = Folder::new();
    let told = chat_with(&folder, &[], "first\n/undo\n/undo\nhello\n/tree\n");
    assert!(told.printed.contains("so this begins another one"), "{}", told.printed);
    assert!(told.printed.contains("hello  ← head"), "{}", told.printed);
}

#[test]
fn help_names_every_command_and_unknown_ones_are_refused() {
    let help = after_two_turns("/help\n").printed;
    for name in [
        "tree", "branch", "edit", "retry", "prev", "next", "label", "rename", "model", "thinking", "tools",
        "mode", "compact", "clear", "undo", "redo", "quit",
    ] {
        assert!(help.contains(&format!("/{name}")), "/{name} is not in {help}");
    }
    check_refused("/dance", "there is no `/dance`; `/help` lists what there is");
    check("//slash\n/?\n", &["You said “/slash”", "/tree "]);
}

#[test]
fn compacting_is_told_and_can_be_taken_back() {
    let told = after_two_turns("/compact\nwhat did I say\n");
    let is_told = told.printed.contains("Compacted") || told.errors.contains("error:");
    assert!(is_told, "{}{}", told.printed, told.errors);
}

#[test]
fn nothing_begins_before_something_is_said() {
    let folder = Folder::new();
    let lines = "/tree\n/branch\n/branch 1\n/edit 1 text\n/retry\n/prev\n/label x\n/model\n/compact\n/clear\n/undo\n/redo\n";
    let told = chat_with(&folder, &[], lines);
    assert_eq!(told.errors, "");
    assert_eq!(told.printed.matches("Nothing has been said yet.").count(), 12, "{}", told.printed);
    assert!(folder.journals().is_empty(), "no session is made for that");
}

#[test]
fn a_conversation_goes_on_by_name_or_as_the_last_one() {
    let folder = Folder::new();
    chat_with(&folder, &[], "first\n/rename The one\n");
    chat_with(&folder, &[], "elsewhere\n/rename Another\n");
    let told = chat_with(&folder, &["--continue"], "more\n").printed;
    assert!(told.contains("Another") && told.contains("You said “more”. This is turn 2"), "{told}");
    let told = chat_with(&folder, &["--resume", "The one"], "more\n").printed;
    assert!(told.contains("> first") && told.contains("You said “more”. This is turn 2"), "{told}");
    let told = chat_with(&folder, &["The one"], "").printed;
    assert!(told.contains("> more") && !told.contains("Nothing has been said"), "{told}");
    let nobody = folder.run("chat --resume nobody");
    assert!(nobody.contains("error: ") && nobody.ends_with("exit 3\n"), "{nobody}");
    let elsewhere = Folder::new().run("chat --continue");
    assert!(elsewhere.contains("error: ") && elsewhere.ends_with("exit 3\n"), "{elsewhere}");
    let both = folder.run("chat --continue --resume Another");
    assert!(both.ends_with("exit 2\n"), "{both}");
}
