//! The settings in force, told alike by every command.

use serde_json::Value;

use crate::support::Folder;
use crate::talking::{Talk, run};

fn json(folder: &Folder, words: &[&str]) -> Value {
    let (told, code) = run(folder, words);
    assert_eq!(code, Some(0), "{told}");
    serde_json::from_str(&told).expect("JSON")
}

/// R-177: the replies name the model of the built-in agent; `/model` and `show --context` told the model that answered, not
/// the one that was chosen, and did not agree.
#[test]
fn a_chosen_model_is_told_alike_in_a_chat_and_in_the_context() {
    let folder = Folder::new();
    let (told, code) = run(&folder, &["new", "Chosen", "--model", "demo/first"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(run(&folder, &["send", "one"]).1, Some(0));
    assert_eq!(json(&folder, &["show", "--context", "--json"])["model"], "demo/first");
    let mut chat = Talk::begin(&folder, &["chat", "--continue"]);
    chat.say("/model");
    chat.until("Model: demo/first.");
    chat.say("/model demo/second");
    chat.until("demo/second");
    chat.say("two");
    chat.until("You said “two”.");
    chat.say("/model");
    chat.until("Model: demo/second.");
    assert_eq!(chat.end(), Some(0));
    assert_eq!(json(&folder, &["show", "--context", "--json"])["model"], "demo/second");
    let first = json(&folder, &["show", "--context", "--at", "1", "--json"]);
    assert_eq!(first["model"], "demo/first", "the first turn was answered with the first");
}

/// R-177: the mode and the rules that oh-my-pi has injected are part of the context.
#[test]
fn the_context_tells_the_mode_and_injected_rules() {
    let folder = Folder::new();
    folder.write("modes.jsonl", MODES.as_bytes());
    let context = json(&folder, &["show", "modes.jsonl", "--context", "--json"]);
    assert_eq!(context["mode"], "plan");
    assert_eq!(context["mode_data"]["planFile"], "plan.md");
    assert_eq!(context["injected_rules"], serde_json::json!(["no-unwrap", "no-panic"]));
    let before = json(&folder, &["show", "modes.jsonl", "--context", "--at", "1", "--json"]);
    assert_eq!(
        (&before["mode"], &before["injected_rules"]),
        (&Value::Null, &serde_json::json!(["no-unwrap"]))
    );
    let (told, _) = run(&folder, &["show", "modes.jsonl", "--context"]);
    let about = told.lines().next().expect("a line");
    assert!(about.ends_with("mode plan, injected rules no-unwrap no-panic"), "{about}");
}

const MODES: &str = r#"{"type":"session","version":3,"id":"modes","timestamp":"2026-01-02T00:00:00.000Z","cwd":"/work"}
{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-02T00:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"ttsr_injection","id":"t1","parentId":"u1","timestamp":"2026-01-02T00:00:02.000Z","injectedRules":["no-unwrap"]}
{"type":"message","id":"a1","parentId":"t1","timestamp":"2026-01-02T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"first"}],"provider":"p","model":"m"}}
{"type":"mode_change","id":"c1","parentId":"a1","timestamp":"2026-01-02T00:00:04.000Z","mode":"plan","data":{"planFile":"plan.md"}}
{"type":"message","id":"u2","parentId":"c1","timestamp":"2026-01-02T00:00:05.000Z","message":{"role":"user","content":"two"}}
{"type":"ttsr_injection","id":"t2","parentId":"u2","timestamp":"2026-01-02T00:00:06.000Z","injectedRules":["no-unwrap","no-panic"]}
{"type":"message","id":"a2","parentId":"t2","timestamp":"2026-01-02T00:00:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"second"}],"provider":"p","model":"m"}}
"#;
