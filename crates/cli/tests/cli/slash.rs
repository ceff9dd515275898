//! What can be done while talking: every command of `/help`, with what it needs and with what it cannot take.

use std::io::Write;
use std::process::Stdio;

use offshoot_testkit::deadline::BoundedChild;

use crate::support::Folder;

/// What was printed, and the errors beside it.
struct Told {
    printed: String,
    errors: String,
}

fn chat_with(folder: &Folder, words: &[&str], lines: &str) -> Told {
    let (told, code) = chat_ending(folder, words, lines);
    assert_eq!(code, Some(0), "{lines}\n{}{}", told.printed, told.errors);
    told
}

/// And how it ends.
fn chat_ending(folder: &Folder, words: &[&str], lines: &str) -> (Told, Option<i32>) {
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
    let output = child.bounded_output();
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let (printed, errors) = (text(output.stdout), text(output.stderr));
    (Told { printed, errors }, output.status.code())
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

/// `/tree` shows the tree and goes to an entry of the same session.
/// `/tree` and `/branch` are commands.
#[test]
fn tree_and_branch_show_and_go() {
    check("/tree\n", &["● #1", "second", "← head"]);
    check("/edit 1 other\n/branch\n", &["Version 2 of 2.", "#1"]);
    check(
        "/fork 1\nother\n/tree\n",
        &[
            "The head is at #1; your next message goes below it.",
            "You said “other”. This is turn 2",
            "other  ← head  2/2",
            "second  1/2",
        ],
    );
    check_refused("/fork 99", NOT_FOUND_HINT);
    check_refused("/branch no such place", NOT_FOUND_HINT);
}

/// `/edit` takes a turn or the index of a message.
#[test]
fn edit_and_retry_make_versions() {
    check("/edit 2 differently\n", &["Version 2 of 2.", "You said “differently”. This is turn 2"]);
    check("/edit m:2 by its index\n", &["Version 2 of 2.", "You said “by its index”. This is turn 2"]);
    check("/edit #1 anew\n/tree\n", &["anew  ← head  2/2", "first  1/2"]);
    check_refused("/edit 2", "that needs more: `/edit POINT TEXT`");
    check_refused("/edit", "that needs more: `/edit POINT TEXT`");
    check_refused("/edit 2 second", "this is the same text as version 1");
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
        "/model demo/opus\n/model\n",
        &["Model changes here: offshoot/built-in → demo/opus.\n", "Model: demo/opus."],
    );
    check("/model built-in\n", &["Model changes here: offshoot/built-in → built-in.\n"]);
    check("/model demo/opus\n/model demo/opus\n", &["It is so already."]);
    // A16: what the agent does not have is refused instead of ignored.
    check_refused(
        "/model foo/bar",
        "the built-in agent has no model `foo/bar`; it has offshoot/built-in, demo/*",
    );
    check_refused("/tools bash,write", "the built-in agent has no tool `bash`; it has read, write");
    check_refused("/mode yolo", "the built-in agent has no permission mode `yolo`; it has default, plan");
    check_refused("/model anthropic/", "that needs more: `/model PROVIDER/NAME`");
    check_refused("/model two words", "more than one word");
    check("/thinking High\n/thinking\n", &["Thinking changes here: off → high.\n", "Thinking: high."]);
    check_refused(
        "/thinking hard",
        "unknown thinking level `hard`; use off, minimal, low, medium, high, xhigh",
    );
    check("/tools read, write\n/tools\n", &["Tools from here on: read, write.\n", "Tools: read, write."]);
    check_refused("/tools ,", "that needs more: `/tools A,B`");
    check("/mode plan\n/mode\n", &["Permission mode from here on: plan", "Permission mode: plan."]);
    check_refused("/mode a b", "more than one word");
}

#[test]
fn the_conversation_is_named_shortened_and_forgotten() {
    check("/rename A better name\n/tree\n", &["Renamed the session to “A better name”.", "A better name"]);
    check_refused("/rename", "that needs more: `/rename TITLE`");
    check("/label good\n/tree\n", &["good"]);
    check(
        "/label #1 begins here\n/fork begins here\n",
        &["Labelled #1 [begins here].", "The head is at #1;"],
    );
    check_refused("/label 99 nowhere", NOT_FOUND_HINT);
    check_refused("/label", "that needs more: `/label [POINT] TEXT`");
    check_refused("/label #1", "that needs more: `/label [POINT] TEXT`");
    check_refused("/label #99 nowhere", NOT_FOUND_HINT);
    check("/clear\nwhat did I say\n", &["Everything above is forgotten", "Nothing yet"]);
}

#[test]
fn steps_are_taken_back_and_again() {
    check("/label good\n/undo\n", &["Taken back: label #2 [good].\n"]);
    check("/undo\n/tree\n", &["Taken back: send #2.\nThe head is at #1;", "1 prompt"]);
    check("/undo\n/redo\n/tree\n", &["Taken again: send #2.\nThe head is at #2;", "second"]);
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
        "tree",
        "branch",
        "edit",
        "retry",
        "prev",
        "next",
        "label",
        "rename",
        "model",
        "thinking",
        "tools",
        "mode",
        "compact",
        "clear",
        "undo",
        "redo",
        "quit",
        "rewind",
        "beside",
        "queue",
        "answer",
        "agent",
        "thinking",
        "branch POINT",
        "fork POINT",
        "tree POINT --summary",
        "queue change N TEXT, cancel N, send",
    ] {
        assert!(help.contains(&format!("/{name}")), "/{name} is not in {help}");
    }
    check_refused("/dance", "there is no `/dance`; `/help` lists what there is");
    check("/TREE 1 --summary\n", &["The head is before the first turn; your next message begins anew."]);
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
    let lines = "/tree\n/tree 1\n/branch\n/branch 1\n/edit 1 text\n/retry\n/prev\n/label x\n/model\n/compact\n/clear\n/undo\n/redo\n/rewind 1\n/queue\n/answer\n";
    let told = chat_with(&folder, &[], lines);
    assert_eq!(told.errors, "");
    assert_eq!(told.printed.matches("Nothing has been said yet.").count(), 16, "{}", told.printed);
    assert!(folder.journals().is_empty(), "no session is made for that");
}

/// a session is continued by its name or as the last one.
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

#[test]
fn words_come_back_where_one_goes_before_a_message() {
    let back = "The words of that message, to be said differently:\n  second\n";
    check("/tree 2\n/tree\n", &["The head is at #1;", back, "first  ← head"]);
    check("/tree 1\n", &["The head is before the first turn;", "\n  first\n"]);
    check("/rewind 2\n/tree\n", &["Rewound to #2; `/undo` takes it back.\nThe head is at #1;", back]);
    check("/rewind 2\n/undo\n/tree\n", &["Taken back: rewind to #1.\nThe head is at #2;", "second  ← head"]);
    check_refused("/tree 99", NOT_FOUND_HINT);
    check_refused("/rewind 99", NOT_FOUND_HINT);
    check_refused("/tree --summary", "that needs more: `/tree POINT --summary [WORDS]`");
}

#[test]
fn a_summary_of_what_is_left_stands_where_one_goes() {
    let left = "A summary of the branch that was left stands here.";
    check("/tree 2 --summary\nand on\n", &[left, "The head is at #1;", "You said “and on”. This is turn 2"]);
    check("/tree 2 --summary only the dead ends\n", &[left]);
    let told = after_two_turns("/tree 2\n");
    assert!(!told.printed.contains(left), "{}", told.printed);
}

/// `/branch` makes a session that begins before a prompt.
#[test]
fn a_branch_goes_on_in_a_session_of_its_own() {
    let folder = Folder::new();
    let told = chat_with(&folder, &[], "first\nsecond\n/branch 2\nelsewhere\n/tree\n").printed;
    assert!(told.contains("The conversation goes on in a session of its own, "), "{told}");
    assert!(told.contains("to be said differently:\n  second\n"), "{told}");
    assert!(told.contains("You said “elsewhere”. This is turn 2"), "{told}");
    assert!(told.contains("elsewhere  ← head"), "{told}");
    assert_eq!(folder.journals().len(), 2, "the first one is as it was");
    check_refused("/branch 99", NOT_FOUND_HINT);
    check_refused("/fork", "that needs more: `/fork POINT`");
}

#[test]
fn thoughts_are_told_by_their_time_and_by_their_words_where_that_is_wanted() {
    let told = after_two_turns("think about trees\n").printed;
    let thoughts = "I count the letters";
    assert!(told.contains("\nThinking… Thought for ") && !told.contains(thoughts), "{told}");
    let told = after_two_turns("/thinking show\nthink about trees\n").printed;
    assert!(told.contains("\nThinking…\ntrees: I am asked") && told.contains(thoughts), "{told}");
    assert_eq!(told.matches("Thought for").count(), 1, "{told}");
    let told = after_two_turns("/thinking show\n/thinking hide\nthink about trees\n").printed;
    assert!(!told.contains(thoughts), "{told}");
    // Whoever comes later does not know how long it took.
    let folder = Folder::new();
    chat_with(&folder, &[], "think about trees\n");
    let told = chat_with(&folder, &["--continue"], "").printed;
    assert!(told.contains("> think about trees\nThought about it.\nI have thought"), "{told}");
}

#[test]
fn a_message_without_an_answer_is_named_and_asked_for() {
    let folder = Folder::new();
    chat_with(&folder, &[], "first\n");
    folder.run("edit 1 first,_differently");
    let told = chat_with(&folder, &["--continue"], "/answer\n").printed;
    assert!(told.contains("> first, differently\nIt has no answer yet; `/answer` asks for one.\n"), "{told}");
    assert!(told.contains("You said “first, differently”. This is turn 1"), "{told}");
    // And when one comes to it.
    folder.run("edit 1 once_more");
    let told = chat_with(&folder, &["--continue"], "/prev\n/next\n/answer\n").printed;
    assert_eq!(told.matches("It has no answer yet").count(), 2, "{told}");
    assert!(told.contains("You said “once more”."), "{told}");
    check_refused("/answer", "the prompt has been answered");
}

#[test]
fn a_message_without_an_answer_is_answered_by_whom_the_command_line_names() {
    for (words, set) in [(&["--model", "demo/model"][..], "demo/model"), (&["--agent", "built_in"], "")] {
        let folder = Folder::new();
        chat_with(&folder, &[], "first\n");
        folder.run("edit 1 first,_differently");
        let told = chat_with(&folder, &[&["--continue"], words].concat(), "/answer\n/answer\n");
        assert!(told.printed.contains("You said “first, differently”. This is turn 1"), "{}", told.printed);
        assert!(told.printed.contains(set), "{}", told.printed);
        assert!(told.errors.contains("the prompt has been answered"), "{}", told.errors);
        let (provider, _) = set.split_once('/').unwrap_or_default();
        assert!(folder.run("show --json").contains(&format!("\"provider\": \"{provider}")) || set.is_empty());
    }
    // And where it is said while talking, also by whoever comes later.
    let folder = Folder::new();
    chat_with(&folder, &[], "first\n");
    folder.run("edit 1 first,_differently");
    chat_with(&folder, &["--continue"], "/model demo/model\n");
    let told = chat_with(&folder, &["--continue"], "/answer\n").printed;
    assert!(told.contains("It has no answer yet; `/answer` asks for one.\n"), "{told}");
    assert!(told.contains("You said “first, differently”. This is turn 1"), "{told}");
}

#[test]
fn who_answers_can_be_said() {
    check("/agent\n", &["Agent: built_in."]);
    check("/agent built_in\n", &["It is so already."]);
    check_refused("/agent nobody", "unknown agent `nobody`\nhint: available: built_in");
    let folder = Folder::new();
    let told = chat_with(&folder, &["--model", "demo/thing"], "/model\nfirst\n").printed;
    assert!(told.contains("You said “first”"), "{told}");
    let told = chat_with(&folder, &["--continue", "--model", "demo/other"], "/model\n").printed;
    assert!(
        told.contains("Model changes here: demo/thing → demo/other.\n")
            && told.contains("Model: demo/other."),
        "{told}"
    );
    let (told, code) = chat_ending(&folder, &["--continue", "--agent", "nobody"], "second\n");
    assert_eq!((code, told.printed.as_str()), (Some(3), ""), "{}", told.errors);
    let (told, code) = chat_ending(&Folder::new(), &["--agent", "nobody"], "first\n");
    assert_eq!(code, Some(3), "{}", told.errors);
    assert!(told.errors.contains("unknown agent `nobody`"), "{}", told.errors);
}

#[test]
fn a_message_may_have_several_lines() {
    check("one\\\ntwo\n/tree\n", &["You said “one…”. This is turn 3", "one two  ← head"]);
    check("/edit 2 one\\\ntwo\n/tree\n", &["You said “one…”. This is turn 2", "one two  ← head  2/2"]);
    check("a path\\\\\n", &["You said “a path\\”."]);
}

#[test]
fn a_pipe_ends_as_its_last_message_did() {
    let ends = |lines: &str| chat_ending(&Folder::new(), &[], lines).1;
    assert_eq!(ends("fail\n"), Some(1));
    assert_eq!(ends("fail\nhello\n"), Some(0));
    assert_eq!(ends("fail\n/dance\n"), Some(1));
    assert_eq!(ends("hello\n/edit 1 hello\n"), Some(0), "what was said is answered");
}

/// D7, A14: a wider rule is a choice of its own, and a number is a choice.
#[test]
fn a_wider_rule_and_a_choice_are_taken_only_if_they_are_offered() {
    let told = after_two_turns("run cargo check --all\nA\n/quit\n").printed;
    assert!(told.contains("always allow cargo check *:   A: in this session   P: in this project"), "{told}");
    let told = after_two_turns("run rm junk.txt\nA\nn\n");
    assert!(told.errors.contains("there is no wider rule for this"), "{}", told.errors);
    let told = after_two_turns("ask me\n9\n2\n");
    assert!(told.errors.contains("type 1 to 3, or `=9`"), "{}", told.errors);
    assert!(told.printed.contains("You chose"), "{}", told.printed);
}

#[test]
fn labels_and_titles_can_be_taken_away() {
    let told = after_two_turns("/rename Named\n/label good\n/rename -\n/label \"\"\n/tree\n").printed;
    let done = [
        "Renamed the session to “Named”.",
        "Labelled #2 [good].",
        "Removed the title",
        "Removed the label of #2.",
    ];
    assert!(done.iter().all(|done| told.contains(done)), "{told}");
    assert_eq!((told.matches("Named").count(), told.matches("good").count()), (1, 1), "{told}");
}

#[test]
fn a_permission_is_given_with_other_words_and_for_the_project() {
    let told = after_two_turns("run echo one\nc echo two\n").printed;
    assert!(told.contains("c TEXT: allow with TEXT instead") && told.contains("→ two"), "{told}");
    assert!(told.contains("always allow exactly this:   a: in this session   p: in this project"), "{told}");
    assert!(!told.contains("A: in this session"), "nothing wider is offered: {told}");
    let told = after_two_turns("run echo a\\\ntouch b\nn\n").printed;
    assert!(told.contains("May it use shell?\n  │ echo a\n  │ touch b\n"), "every line is seen: {told}");
    let folder = Folder::new();
    chat_with(&folder, &[], "run echo three\np\n");
    let rules = folder.run("permissions");
    assert!(rules.contains("in all sessions about DIR"), "{rules}");
    // In another session about this folder it is not asked for, and anything else is.
    let told = chat_with(&folder, &[], "run echo three four\nn\n").printed;
    assert!(told.contains("May it use"), "{told}");
    let told = chat_with(&folder, &[], "run echo three\n").printed;
    assert!(told.contains("→ three") && !told.contains("May it use"), "{told}");
    assert!(told.contains("Shell is allowed by the rule `echo three`."), "{told}");
}

#[test]
fn a_question_is_answered_by_number_or_in_own_words() {
    check("ask me\n2\n", &["2. Down: on from here (suggested)", "You chose Down."]);
    check("ask me\n=2\n", &["You chose 2."]);
    check("ask me\nstraight on; then left\n", &["You chose straight on; then left."]);
}

/// what a reconstructed context lacks, what it costs and that files stay is said.
#[test]
fn what_an_agent_was_not_told_is_said_at_once_and_to_whoever_comes_back() {
    let folder = Folder::new();
    folder.run("import burst.jsonl");
    let name = "Burst credit lost after reload";
    let (told, code) = chat_ending(&folder, &[name], "hello\n");
    assert!(
        told.errors
            .contains("error: Offshoot cannot run pi yet; it can read its sessions\nhint: `/agent built_in`"),
        "{}",
        told.errors
    );
    assert_eq!(code, Some(1), "{}", told.errors);
    let told = chat_with(&folder, &[name, "--agent", "built_in"], "hello\n").printed;
    assert!(
        told.contains("> hello\nReconstructed context: the built-in agent has not heard all of this branch, so it was given this branch as text, without 2 results of tools, about "),
        "{told}"
    );
    let missing = "Reconstructed context: the built-in agent was given this branch as text, without 2 results of tools.\n";
    let told = chat_with(&folder, &[name], "and\non\nand on\n").printed;
    assert!(told.contains(&format!("> hello\n{missing}")), "{told}");
    // The prompt that says so is not among those that are shown.
    let told = chat_with(&folder, &[name], "").printed;
    let above = "Reconstructed context: the built-in agent was given the beginning of this branch, without 2 results of tools.\n";
    assert!(told.contains(&format!("{name}\n{above}")), "{told}");
}
