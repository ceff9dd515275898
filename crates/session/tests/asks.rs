//! What agents ask, and that no answer is lost or counts twice.

#![expect(clippy::panic, reason = "what a helper cannot unwrap fails the test")]

use std::collections::BTreeMap;

use offshoot_session::agent::{AgentInput, Speaker};
use offshoot_session::asks::{
    Answer, AnswerRefused, Answered, Ask, AskId, Asking, Asks, Choice, Matches, Permission, Question, Rule,
    RuleId, Rules, Scope, Taken,
};
use offshoot_testkit::FixedStamps;
use proptest::prelude::*;
use serde_json::{Value, json};

const ALLOW: Answer = Answer::Allow { input: None };
const DENY: Answer = Answer::Deny { message: None };

fn permission(tool: &str, input: Value) -> Permission {
    Permission { tool: tool.into(), input, call: None, reason: None }
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
        matches: Matches::from_permission(permission),
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
    assert_eq!(asks.answer(&id("q"), chosen.clone()), Ok(Answered::Tell(told("q", chosen))));
}

#[test]
fn always_is_a_rule_and_the_agent_only_hears_that_it_may() {
    let mut asks = Asks::default();
    asks.take(asks_to("r", "cargo test -p limiter"), &Rules::default());
    let always = Answer::AllowAlways { scope: Scope::Session };
    assert_eq!(asks.answer(&id("r"), always), Ok(Answered::Tell(told("r", ALLOW))));
    let rules = Rules::new([rule(Scope::Session, &shell("cargo test -p limiter"))]);
    let next = asks.take(asks_to("next", "cargo test --release"), &rules);
    assert_eq!(next, Taken::Answered(told("next", ALLOW)));
}

#[test]
fn a_rule_allows_what_begins_alike_and_nothing_more() {
    let check = |made_from: &str, allowed: &[&str], not_allowed: &[&str]| {
        let rules = Rules::new([rule(Scope::Session, &shell(made_from))]);
        for command in allowed {
            assert!(rules.allow(&shell(command)).is_some(), "`{made_from}` should allow `{command}`");
        }
        for command in not_allowed {
            assert!(rules.allow(&shell(command)).is_none(), "`{made_from}` should not allow `{command}`");
        }
    };
    check(
        "cargo test -p limiter",
        &["cargo test", "cargo  test --all"],
        &[
            "cargo build",
            "cargo testing",
            "cargo test; rm -rf /",
            "cargo test $(rm x)",
            "cargo test\nrm x",
            "cargo",
        ],
    );
    check("rm -rf target", &["rm -rf target"], &["rm -rf /", "rm -rf"]);
    check("ls", &["ls"], &["ls /"]);
    check("cargo test && cargo doc", &["cargo test && cargo doc"], &["cargo test", "cargo test && rm x"]);
    check("RUST_LOG=x cargo test", &["RUST_LOG=x cargo test"], &["RUST_LOG=x cargo run"]);
    assert_eq!(Matches::from_permission(&shell("cargo test -p a")).to_string(), "cargo test *");
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
