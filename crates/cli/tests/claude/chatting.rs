//! `offshoot chat` with the scripted Claude, line by line.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use offshoot_testkit::deadline::{BoundedChild, until};

use crate::person::Person;

/// A chat on a pipe, which stays open until the test closes it.
struct Chat {
    child: Child,
    out: PathBuf,
}

impl Chat {
    fn begin(person: &Person) -> Self {
        let out = person.folder().join("chat");
        let file = std::fs::File::create(&out).expect("own folder");
        let mut command = person.chat();
        let child = command.stdin(Stdio::piped()).stdout(file).stderr(Stdio::null()).spawn();
        Self { child: child.expect("the program starts"), out }
    }

    fn say(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("the input is open");
        writeln!(stdin, "{line}").expect("the program listens");
    }

    fn until(&self, words: &str) {
        until(words, || std::fs::read_to_string(&self.out).is_ok_and(|told| told.contains(words)));
    }

    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        assert_eq!(self.child.bounded_wait().code(), Some(0));
        std::fs::read_to_string(&self.out).expect("own file")
    }
}

#[test]
fn a_suggestion_is_chosen_and_a_turn_that_claude_begins_by_itself_is_shown() {
    let person = Person::new();
    let mut chat = Chat::begin(&person);
    let shell = r#"{"command": "sleep 0.3", "description": "Server", "run_in_background": true}"#;
    chat.say(&format!("serve\\\n%call Bash {shell}\\\n%say It runs."));
    chat.until("    s1: allow Bash(*) (this project, only you)\n");
    chat.say("s2");
    chat.say("s1");
    chat.until("[background] Server\n");
    chat.until("The task `Server` has ended.\n");
    chat.say("next");
    let told = chat.end();
    assert!(told.contains("  → Command running in background with ID: "), "{told}");
    assert!(!told.contains("on another branch"), "{told}");
    assert!(told.trim_end().ends_with("\"next\"]"), "{told}");
}

#[test]
fn questions_plans_and_sub_agents_are_shown_with_what_they_are_about() {
    let person = Person::new();
    let mut chat = Chat::begin(&person);
    let question =
        r#"{"questions": [{"question": "Which way?", "options": [{"label": "Left"}, {"label": "Right"}]}]}"#;
    chat.say(&format!("ask\\\n%think Hm.\\\n%call AskUserQuestion {question}\\\n%say Then right."));
    chat.until("  2. Right\n");
    chat.say("2");
    chat.until("→ Your questions have been answered: \"Which way?\"=\"Right\"\n");
    chat.say(r#"plan\"#);
    chat.say(r##"%call ExitPlanMode {"plan": "1. Read\n2. Write"}\"##);
    chat.say("%say Done.");
    chat.until("The plan is ready. May it carry it out?\n");
    chat.say("n Not yet");
    chat.until("✕ Not yet\n");
    chat.say(r#"help\"#);
    chat.say(r#"%agent {"description": "Count", "prompt": "x", "report": "Three.", "wait": 10}\"#);
    chat.say("%say Sent.");
    chat.until("│ Three.\n");
    let told = chat.end();
    for line in ["[AskUserQuestion] Which way?", "[ExitPlanMode]", "  1. Read", "[Agent] Count", "Thought"] {
        assert!(told.contains(line), "{line}: {told}");
    }
}
