//! What agents ask, and that no answer is lost or counts twice.

#![expect(clippy::panic, reason = "what a helper cannot unwrap fails the test")]

use std::collections::BTreeMap;

use offshoot_session::agent::{AgentInput, Speaker};
use offshoot_session::asks::{
    Answer, AnswerRefused, Answered, Ask, AskId, Asking, Asks, Choice, Permission, Question, Reach, Rule,
    RuleId, RulePattern, Rules, Scope, Taken,
};
use offshoot_testkit::FixedStamps;
use proptest::prelude::*;
use serde_json::{Value, json};

const ALLOW: Answer = Answer::Allow { input: None, suggestion: None };
const DENY: Answer = Answer::Deny { message: None };

fn permission(tool: &str, input: Value) -> Permission {
    Permission { tool: tool.into(), input, call: None, reason: None, suggestions: Vec::new() }
}

fn shell(command: &str) -> Permission {
    permission("shell", json!({ "command": command }))
}

fn ask(request: &str, asking: Asking) -> Ask {
    Ask {
        id: AskId::of(&"t".into(), request),
        turn: "t".into(),
        prompt: "u".into(),
        speaker: Speaker::Agent,
        request: request.into(),
        asking,
        asked_at: FixedStamps::start(),
    }
}

fn asks_to(request: &str, command: &str) -> Ask {
    ask(request, Asking::Permission(shell(command)))
}

fn id(request: &str) -> AskId {
    AskId::of(&"t".into(), request)
}

fn told(request: &str, answer: Answer) -> AgentInput {
    AgentInput::Answer { turn: "t".into(), request: request.into(), answer }
}

fn rule(scope: Scope, permission: &Permission) -> Rule {
    Rule {
        id: RuleId::named("r1"),
        scope,
        session: "s".into(),
        project: Some("/p".into()),
        tool: permission.tool.clone(),
        pattern: RulePattern::exact(permission),
        made_at: FixedStamps::start(),
    }
}

#[test]
fn an_answer_is_said_until_the_agent_confirms_it() {
    let mut asks = Asks::default();
    assert_eq!(asks.take(asks_to("r", "ls"), &Rules::default()), Taken::Waits);
    assert_eq!(asks.waiting().count(), 1);
    assert_eq!(asks.answer(&id("r"), ALLOW), Ok(Answered::Tell(told("r", ALLOW))));
    assert_eq!(asks.waiting().count(), 0);
    assert_eq!(asks.unconfirmed().collect::<Vec<_>>(), [told("r", ALLOW)]);
    assert_eq!(asks.answer(&id("r"), ALLOW), Ok(Answered::Tell(told("r", ALLOW))), "the same again");
    assert!(asks.confirm(&id("r")));
    assert_eq!(asks.unconfirmed().count(), 0);
    assert_eq!(asks.answer(&id("r"), ALLOW), Ok(Answered::Already));
    assert!(!asks.confirm(&id("r")));
}

#[test]
fn the_first_answer_counts() {
    let mut asks = Asks::default();
    asks.take(asks_to("r", "ls"), &Rules::default());
    asks.answer(&id("r"), DENY).unwrap();
    let otherwise = Err(AnswerRefused::Otherwise { ask: id("r"), answer: DENY });
    assert_eq!(asks.answer(&id("r"), ALLOW), otherwise);
    asks.confirm(&id("r"));
    assert_eq!(asks.answer(&id("r"), ALLOW), otherwise);
}

#[test]
fn what_is_no_longer_asked_cannot_be_answered() {
    let mut asks = Asks::default();
    asks.take(asks_to("r1", "ls"), &Rules::default());
    asks.take(asks_to("r2", "ls"), &Rules::default());
    let since = Some(FixedStamps::start());
    let stale = |ask| Err(AnswerRefused::Stale { ask: id(ask), since });
    asks.withdraw(&id("r1"), FixedStamps::start());
    assert_eq!(asks.end_turn(&"t".into(), FixedStamps::start()), [id("r2")]);
    assert_eq!(asks.answer(&id("r1"), ALLOW), stale("r1"));
    assert_eq!(asks.answer(&id("r2"), ALLOW), stale("r2"));
    assert_eq!(asks.answer(&id("r3"), ALLOW), Err(AnswerRefused::Unknown(id("r3"))));
}

#[test]
fn an_ask_that_comes_again_finds_its_answer() {
    let mut asks = Asks::default();
    asks.take(asks_to("r", "ls"), &Rules::default());
    assert_eq!(asks.take(asks_to("r", "ls"), &Rules::default()), Taken::WaitsAlready);
    asks.answer(&id("r"), ALLOW).unwrap();
    assert_eq!(asks.take(asks_to("r", "ls"), &Rules::default()), Taken::Answered(told("r", ALLOW)));
    asks.confirm(&id("r"));
    assert_eq!(asks.take(asks_to("r", "ls"), &Rules::default()), Taken::Answered(told("r", ALLOW)));
}

#[test]
fn an_answer_must_fit_what_was_asked() {
    let choice = Choice { label: "red".into(), description: None, suggested: true };
    let question = Question { text: "Which?".into(), choices: vec![choice], several: false };
    let mut asks = Asks::default();
    asks.take(ask("q", Asking::Questions(vec![question])), &Rules::default());
    asks.take(asks_to("p", "ls"), &Rules::default());
    let chosen = Answer::Choose(vec![vec!["red".into()]]);
    assert_eq!(asks.answer(&id("q"), ALLOW), Err(AnswerRefused::WrongKind(id("q"))));
    assert_eq!(asks.answer(&id("q"), Answer::Choose(vec![])), Err(AnswerRefused::WrongKind(id("q"))));
    assert_eq!(asks.answer(&id("p"), chosen.clone()), Err(AnswerRefused::WrongKind(id("p"))));
    let both = Answer::Choose(vec![vec!["red".into(), "blue".into()]]);
    assert_eq!(
        asks.answer(&id("q"), both),
        Err(AnswerRefused::WrongKind(id("q"))),
        "A14: only one may be taken"
    );
    assert_eq!(asks.answer(&id("q"), chosen.clone()), Ok(Answered::Tell(told("q", chosen))));
}

#[test]
fn always_is_a_rule_and_the_agent_only_hears_that_it_may() {
    let mut asks = Asks::default();
    asks.take(asks_to("r", "cargo test -p limiter"), &Rules::default());
    let always = Answer::AllowAlways { scope: Scope::Session, reach: Reach::Exact };
    assert_eq!(asks.answer(&id("r"), always), Ok(Answered::Tell(told("r", ALLOW))));
    let rules = Rules::new([rule(Scope::Session, &shell("cargo test -p limiter"))]);
    let next = asks.take(asks_to("next", "cargo test -p limiter"), &rules);
    assert_eq!(next, Taken::Answered(told("next", ALLOW)));
}

fn rules_of(permission: &Permission, pattern: RulePattern) -> Rules {
    Rules::new([Rule { pattern, ..rule(Scope::Session, permission) }])
}

/// D7: `rm junk.txt` allowed `rm junk.txt -rf ../victim`.
#[test]
fn always_means_the_exact_command() {
    for command in ["cargo test -p a", "rm junk.txt", "ls", "a; b", "find .", "RUST_LOG=x cargo test"] {
        let rules = rules_of(&shell(command), RulePattern::exact(&shell(command)));
        assert!(rules.allow(&shell(command)).is_some(), "{command}");
        for more in [" ", " -rf ../victim", "; rm x", "\n", " && ls"] {
            assert!(rules.allow(&shell(&format!("{command}{more}"))).is_none(), "{command}{more}");
        }
        let other = json!({ "command": command, "cmd": "rm x" });
        assert!(rules.allow(&permission("shell", other)).is_none(), "{command} beside another one");
    }
}

#[test]
fn a_wider_rule_allows_what_begins_with_the_same_words_and_nothing_else() {
    let wider = RulePattern::wider(&shell("cargo test -p limiter")).unwrap();
    assert_eq!(wider.to_string(), "cargo test *");
    let rules = rules_of(&shell(""), wider);
    for command in ["cargo test", "cargo  test --all", "cargo test 'a b' -- \"it's\"", "cargo\ttest"] {
        assert!(rules.allow(&shell(command)).is_some(), "{command}");
    }
    for command in [
        "cargo build",
        "cargo testing",
        "cargo",
        "cargo test; rm -rf /",
        "cargo test && rm x",
        "cargo test $(rm x)",
        "cargo test `rm x`",
        "cargo test > /etc/passwd",
        "cargo test\nrm x",
        "cargo test \\\nrm x",
        "cargo test --config build.rustc-wrapper=evil",
        "cargo test --config=build.rustc-wrapper=evil",
        "cargo test \"open",
        "cargo\u{a0}test",
        "cargo\u{2028}test x",
        "cargo\u{b}test",
        "'cargo test' x",
        "cargo test --manifest-path /elsewhere/Cargo.toml",
        "cargo test --target-dir=out",
        "cargo test --logfile x",
        "cargo test /etc/shadow",
        "cargo test ../elsewhere",
        "cargo test a/../../b",
        "cargo test --test=/elsewhere",
        "cargo test x\ty\u{3000}z",
        "cargo test {a,b}",
        "cargo test a*",
        "cargo test ^a",
        "cargo test & rm x",
        "cargo test | rm x",
        "cargo test 2>x",
        "cargo test <(rm x)",
        "X=1 cargo test",
        "env cargo test",
        "/tmp/cargo test",
        "./cargo test",
        "cargo test \r rm",
    ] {
        assert!(rules.allow(&shell(command)).is_none(), "{command:?}");
    }
}

#[test]
fn no_wider_rule_is_offered_for_what_deletes_runs_others_or_takes_scripts() {
    for command in [
        "rm junk.txt",
        "/bin/rm junk",
        "find .",
        "find . -delete",
        "xargs rm",
        "env X",
        "sudo ls",
        "sh build",
        "bash x",
        "python setup",
        "python3 manage",
        "node index",
        "perl x",
        "awk x",
        "cat notes",
        "ls",
        "git clean",
        "git push origin",
        "git -c x=y log",
        "cargo run",
        "npm run build",
        "make all",
        "X=1 cargo test",
        "git log --output=x",
        "cargo test | tee x",
        "",
        " ",
    ] {
        assert_eq!(RulePattern::wider(&shell(command)), None, "{command}");
    }
    // Nor does a list that says so allow it, whoever wrote that.
    let written = RulePattern::Prefix(vec!["rm".to_owned(), "junk".to_owned()]);
    assert!(rules_of(&shell(""), written).allow(&shell("rm junk -rf ..")).is_none());
    let written = RulePattern::Prefix(vec!["cargo".to_owned()]);
    assert!(rules_of(&shell(""), written).allow(&shell("cargo test")).is_none());
}

/// Git takes the beginning of an option, compares files outside of the repository, and Go takes two dashes.
#[test]
fn a_wider_rule_matches_no_option_that_writes_or_runs_something() {
    for (program, command, rest) in [
        ("git", "diff", "--outp=x"),
        ("git", "diff", "--ext"),
        ("git", "diff", "--no-index a b"),
        ("git", "diff", "a /etc/shadow"),
        ("git", "log", "--textc"),
        ("go", "build", "--o x"),
        ("go", "test", "--exec evil"),
        ("go", "vet", "-vettool=evil"),
        ("go", "build", "-ldflags=-extld=evil"),
        ("npm", "ls", "--prefix x"),
    ] {
        let rules = rules_of(&shell(""), RulePattern::Prefix(vec![program.into(), command.into()]));
        assert!(rules.allow(&shell(&format!("{program} {command}"))).is_some(), "{program} {command}");
        let reaching = format!("{program} {command} {rest}");
        assert!(rules.allow(&shell(&reaching)).is_none(), "{reaching}");
        assert_eq!(RulePattern::wider(&shell(&reaching)), None, "{reaching}");
    }
}

/// `rm -r out` in another directory, or with another environment, is another command. Text editors name what they do in
/// `command` and where in `path`.
#[test]
fn always_means_the_whole_input_if_a_field_is_not_known() {
    let same = |one: serde_json::Value, other: serde_json::Value| {
        let asked = permission("shell", one);
        rules_of(&asked, RulePattern::exact(&asked)).allow(&permission("shell", other)).is_some()
    };
    let told = |text: &str| json!({ "command": "rm -r out", "description": text, "timeout": 5 });
    assert!(same(told("Clean"), told("Remove what was built")));
    let plain = json!({ "command": "rm -r out" });
    for other in [
        json!({ "command": "rm -r out", "cwd": "/elsewhere" }),
        json!({ "command": "rm -r out", "env": { "PATH": "/elsewhere" } }),
        json!({ "command": "rm -r out", "sandbox": false }),
        json!({ "command": "rm -r out", "description": { "cwd": "/elsewhere" } }),
        json!({ "command": ["rm", "-r", "out"] }),
    ] {
        assert!(!same(plain.clone(), other.clone()), "{other}");
        assert!(!same(other.clone(), plain.clone()), "{other}");
    }
    let in_there = |directory: &str| json!({ "command": "rm -r out", "cwd": directory });
    assert!(same(in_there("/a"), in_there("/a")));
    assert!(!same(in_there("/a"), in_there("/b")));
    let create = |path: &str| json!({ "command": "create", "path": path, "file_text": "x" });
    assert!(!same(create("a"), create("b")));
    let to = |other: &str| json!({ "path": "a", "destination": other });
    assert!(!same(to("b"), to("/etc/passwd")));
    let edits = |field: &str| json!({ "path": "a", "edits": [{ "old_string": "x", field: "y" }] });
    assert!(same(edits("new_string"), edits("new_str")));
    assert!(!same(edits("new_string"), edits("file_path")));
}

/// D7: an input without a text `command` became "whatever the tool is given".
#[test]
fn an_input_that_is_not_understood_is_allowed_only_as_it_is() {
    let known = permission("t", json!({ "path": "a" }));
    let any_file = RulePattern::wider(&known).unwrap();
    for input in [
        json!({ "command": ["rm", "x"] }),
        json!({ "cmd": "rm x" }),
        json!({ "command": "ls", "args": ["x"] }),
        json!({ "path": ["a"] }),
        json!({ "path": "a", "file_path": "b" }),
        json!({ "path": "a", "script": "rm x" }),
        json!(["a"]),
        json!(null),
        json!({}),
    ] {
        let asked = permission("t", input.clone());
        assert_eq!(RulePattern::wider(&asked), None, "{input}");
        let rules = rules_of(&asked, RulePattern::exact(&asked));
        assert!(rules.allow(&asked).is_some(), "{input}");
        assert!(rules.allow(&permission("t", json!({ "other": input.clone() }))).is_none(), "{input}");
        assert!(rules_of(&known, any_file.clone()).allow(&asked).is_none(), "{input}");
    }
}

#[test]
fn a_file_is_allowed_by_its_name_or_all_of_them_by_choice() {
    let (one, other) = (json!({ "path": "a", "content": "1" }), json!({ "path": "b" }));
    let asked = permission("write", one);
    let rules = rules_of(&asked, RulePattern::exact(&asked));
    assert!(rules.allow(&permission("write", json!({ "path": "a", "content": "2" }))).is_some());
    assert!(rules.allow(&permission("write", other.clone())).is_none());
    let rules = rules_of(&asked, RulePattern::wider(&asked).unwrap());
    assert!(rules.allow(&permission("write", other.clone())).is_some());
    assert_eq!(RulePattern::wider(&permission("delete_file", other)), None);
}

#[test]
fn what_is_not_offered_cannot_be_chosen() {
    let mut asks = Asks::default();
    asks.take(asks_to("r", "rm junk.txt"), &Rules::default());
    let wider = Answer::AllowAlways { scope: Scope::Project, reach: Reach::Wider };
    assert_eq!(asks.answer(&id("r"), wider), Err(AnswerRefused::WrongKind(id("r"))));
    assert_eq!(asks.waiting().count(), 1);
}

#[test]
fn a_rule_reaches_its_session_or_its_project_until_it_is_revoked() {
    let edit = permission("edit", json!({ "path": "a" }));
    let mut rules = Rules::new([rule(Scope::Session, &edit)]);
    assert!(!rules.add(rule(Scope::Session, &edit)), "it is there already");
    assert!(rules.reaching(&"s".into(), None).allow(&edit).is_some());
    assert!(rules.reaching(&"other".into(), Some("/p")).allow(&edit).is_none());
    let rules_of_project = Rules::new([rule(Scope::Project, &edit)]);
    assert!(rules_of_project.reaching(&"other".into(), Some("/p")).allow(&edit).is_some());
    assert!(rules_of_project.reaching(&"s".into(), None).allow(&edit).is_none());
    assert!(rules.allow(&permission("write", json!({}))).is_none());
    rules.revoke(&RuleId::named("r1")).unwrap();
    assert!(rules.allow(&edit).is_none());
}

/// An agent that may lose what it is told, may lose its word of having heard it, and may start anew and ask again.
#[derive(Default)]
struct FlakyAgent {
    applied: BTreeMap<String, Vec<Answer>>,
}

impl FlakyAgent {
    /// The agent's part of the bargain: the first answer to a request counts.
    fn hear(&mut self, input: &AgentInput) -> AskId {
        let AgentInput::Answer { request, answer, .. } = input else { panic!("not an answer") };
        let applied = self.applied.entry(request.clone()).or_default();
        if applied.is_empty() {
            applied.push(answer.clone());
        }
        id(request)
    }
}

proptest! {
    #[test]
    fn no_answer_is_lost_or_counts_twice(losses in prop::collection::vec(0..4u8, 1..200)) {
        let mut asks = Asks::default();
        let mut agent = FlakyAgent::default();
        for (number, loss) in losses.iter().enumerate() {
            let request = number.to_string();
            asks.take(asks_to(&request, "ls"), &Rules::default());
            let answer = if number % 2 == 0 { ALLOW } else { DENY };
            let Ok(Answered::Tell(input)) = asks.answer(&id(&request), answer) else { panic!("refused") };
            match loss {
                0 => { asks.confirm(&agent.hear(&input)); }
                1 => { agent.hear(&input); } // its confirmation is lost
                2 => {}                      // the answer is lost
                _ => { asks.take(asks_to(&request, "ls"), &Rules::default()); }
            }
        }
        let again: Vec<AgentInput> = asks.unconfirmed().collect();
        for input in &again {
            asks.confirm(&agent.hear(input));
        }
        for (number, _) in losses.iter().enumerate() {
            let expected = if number % 2 == 0 { ALLOW } else { DENY };
            prop_assert_eq!(agent.applied.get(&number.to_string()), Some(&vec![expected]));
        }
    }
}
