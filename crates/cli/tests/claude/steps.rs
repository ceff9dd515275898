//! What a person can do in a conversation with Claude Code beside talking, each step through the program.

use offshoot_testkit::deadline::{BoundedChild, until};
use offshoot_testkit::fake_claude;
use serde_json::{Value, json};

use crate::person::{Person, list};

fn of_role<'e>(entries: &'e [Value], role: &str) -> Vec<&'e Value> {
    entries.iter().filter(|entry| entry["role"] == role).collect()
}

/// Nobody has spoken with Claude yet, so it is asked for its models first.
#[test]
fn a_model_that_claude_does_not_list_is_refused_before_anything_is_written() {
    let person = Person::new();
    let session = person.session.clone();
    let refused = |words: &[&str]| {
        let why = person.refused(words);
        assert!(why.contains("Claude Code has no model `gpt-5`; it has anthropic/claude-opus-5-5"), "{why}");
    };
    refused(&["send", &session, "hello", "--model", "gpt-5"]);
    let chosen = person.types("/model gpt-5");
    assert!(chosen.contains("Claude Code has no model `gpt-5`"), "{chosen}");
    assert_eq!(person.entries(), Vec::<Value>::new());
    person.done(&["send", &session, "hello", "--model", "claude-sonnet-4-5"]);
    let before = person.entries();
    refused(&["send", &session, "hello again", "--edit", "#1", "--model", "gpt-5"]);
    assert_eq!(person.entries(), before);
}

#[test]
fn what_was_put_in_beside_claude_is_sent_before_the_next_prompt() {
    let mut person = Person::new();
    let session = person.session.clone();
    person.send("one");
    let (bound, _) = person.bound();
    person.reads(&["append", &session], "{\"role\":\"user\",\"text\":\"a note for you\"}\n");
    person.send("two");
    assert_eq!(person.bound(), (bound.clone(), "continued".to_owned()));
    assert_eq!(person.difference(), None);
    let known = fake_claude::prompts_of(&person.config(), &bound).expect("its file");
    assert_eq!(known, ["one", "a note for you", "two"]);
    assert_eq!(fake_claude::starts(&person.config()), 1);
    // In the place of the second prompt it is sent to the session that is forked.
    person.edit("#3", "three");
    let (forked, provenance) = person.bound();
    assert_eq!((forked == bound, provenance.as_str()), (false, "forked_at_message"));
    let known = fake_claude::prompts_of(&person.config(), &forked).expect("its file");
    assert_eq!(known, ["one", "a note for you", "three"]);
}

#[test]
fn the_journal_keeps_what_a_tool_was_given_instead() {
    let person = Person::new();
    let session = person.session.clone();
    let prompt = "%call Bash {\"command\": \"echo asked\"}";
    let sending = person.start(&["send", &session, prompt]);
    person.until_waiting();
    person.done(&["answer", &session, "allow", "--input", "{\"command\": \"echo given\"}"]);
    assert!(sending.bounded_output().status.success());
    let entries = person.entries();
    let results = of_role(&entries, "tool_result");
    assert_eq!(results[0]["changed_input"], json!({ "command": "echo given" }), "{results:?}");
    assert_eq!(results[0]["text"], "given");
    let shown = person.done(&["show", &session]);
    assert!(shown.contains("echo asked") && shown.contains("changed by you"), "{shown}");
    assert!(shown.contains("echo given"), "{shown}");
}

#[test]
fn other_tools_are_in_force_after_a_restart() {
    let person = Person::new();
    let session = person.session.clone();
    person.done(&["send", &session, "one"]);
    let starts = fake_claude::starts(&person.config());
    person.types("/tools Read");
    person.done(&["send", &session, "%call Bash {\"command\": \"true\"}"]);
    assert_eq!(fake_claude::starts(&person.config()), starts + 1);
    let (_, provenance) = person.bound();
    assert_eq!(provenance, "continued");
    let entries = person.entries();
    let result = of_role(&entries, "tool_result")[0];
    assert_eq!(result["text"], "No such tool available: Bash");
    person.done(&["send", &session, "two"]);
    assert_eq!(fake_claude::starts(&person.config()), starts + 1, "it goes on with them");
}

/// the process is stopped, another one resumes at the point, and it is told how.
#[test]
fn an_agent_is_stopped_and_resumes_where_the_head_goes() {
    let mut person = Person::new();
    let session = person.session.clone();
    for text in ["one", "two", "three"] {
        person.send(text);
    }
    let (bound, _) = person.bound();
    let starts = fake_claude::starts(&person.config());
    let told = person.json(&["rewind", &session, "#1", "--resume", "--json"]);
    assert_eq!((&told["changed"], &told["turns_left_behind"]), (&json!(true), &json!(2)), "{told}");
    let resumed = &told["resumed"];
    assert_eq!(
        (&resumed["agent"], &resumed["provenance"]),
        (&json!("claude-code"), &json!("forked_at_message"))
    );
    let fork = resumed["agent_session"].as_str().expect("its session").to_owned();
    assert_ne!(fork, bound);
    assert_eq!(fake_claude::starts(&person.config()), starts + 1);
    until("the end of the process that was left", || list(&running(&person)).len() == 1);
    assert!(fake_claude::session_file(&person.config(), &fork).is_none(), "nothing was said in it yet");
    // The process that waits there takes the prompt.
    person.send("four");
    assert_eq!(person.bound(), (fork, "forked_at_message".to_owned()));
    assert_eq!(person.difference(), None);
    assert_eq!(fake_claude::starts(&person.config()), starts + 1);
    let back = person.done(&["rewind", &session, "#1", "--before", "--resume"]);
    assert!(back.contains("begins a session there with the next message"), "{back}");
    person.send("five");
    let known = fake_claude::prompts_of(&person.config(), &person.bound().0).expect("its file");
    assert_eq!(known, ["five"]);
}

/// The status files of the processes of Claude that run.
fn running(person: &Person) -> Value {
    let files = std::fs::read_dir(person.config().join("sessions")).expect("status files");
    files.flatten().map(|file| file.path().to_string_lossy().into_owned()).collect()
}

/// What Claude is asked to make shorter it makes shorter itself: its session stays that of the branch.
#[test]
fn claude_makes_its_own_context_shorter() {
    let mut person = Person::new();
    person.send("one");
    let (bound, _) = person.bound();
    person.types("/compact the numbers");
    let entries = person.entries();
    let compactions = of_role(&entries, "compaction");
    assert_eq!(compactions[0]["tokens_before"], json!(9000), "{compactions:?}");
    person.send("two");
    assert_eq!(person.bound(), (bound.clone(), "continued".to_owned()));
    let known = fake_claude::prompts_of(&person.config(), &bound).expect("its file");
    assert_eq!(known, ["one", "two"]);
}
