//! Changing how the agent runs.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::plan::{
    Child, ConfigRefused, Difference, NewChild, plan_child, plan_config_change, plan_config_session,
    splits_configuration,
};
use offshoot_session::{
    Body, BranchReason, Fact, HeadName, Model, Record, SessionHeader, SessionTree, Setting, Stamps,
    TitleSource,
};
use offshoot_testkit::{FixedStamps, draw, tree_of};
use serde_json::json;

fn model(name: &str) -> Setting {
    Setting::Model { role: None, model: Model { provider: "test".into(), name: name.into() } }
}

fn thinking(level: &str) -> Setting {
    Setting::Thinking(Some(level.into()))
}

fn changed(tree: &SessionTree, settings: Vec<Setting>) -> Option<SessionTree> {
    let mut stamps = FixedStamps::after(100);
    for _ in tree.log() {
        stamps.entry_id(); // as many as the tree may have used
    }
    let plan = plan_config_change(tree, &HeadName::main(), settings, &mut stamps).unwrap();
    plan.map(|plan| tree.extended(&plan.records).unwrap())
}

fn settings_of(tree: &SessionTree) -> Vec<Setting> {
    let path = tree.path_to(tree.main_head());
    path.into_iter()
        .filter_map(|entry| if let Body::Setting(s) = &entry.body { Some(s.clone()) } else { None })
        .collect()
}

#[test]
fn settings_are_entries_below_the_head() {
    let tree = changed(&tree_of("u1 - a1* - u2"), vec![model("big"), thinking("high")]).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - u2\n     a1 - new7 - new8*\n");
    assert_eq!(settings_of(&tree), [model("big"), thinking("high")]);
}

#[test]
fn what_is_in_force_is_dropped() {
    let tree = tree_of(r#"u1 - m1"small" - a1 - m2"big" - a2*"#);
    assert!(changed(&tree, vec![model("big")]).is_none());
    assert!(changed(&tree, Vec::new()).is_none());
    let tree = changed(&tree, vec![model("big"), thinking("high")]).unwrap();
    assert_eq!(settings_of(&tree).last(), Some(&thinking("high")));
    assert!(changed(&tree, vec![thinking("high")]).is_none());
    assert_eq!(settings_of(&changed(&tree, vec![model("small")]).unwrap()).len(), 4, "back to an older one");
}

#[test]
fn only_the_path_counts() {
    let tree = tree_of(
        r#"u1 - a1 - m1"big" - a2
                          a1 - u3*"#,
    );
    assert!(changed(&tree, vec![model("big")]).is_some());
}

#[test]
fn of_two_settings_of_a_kind_the_last_counts() {
    let tree = tree_of(r#"u1 - m1"big" - a1*"#);
    assert!(changed(&tree, vec![model("small"), model("big")]).is_none());
    let tree = changed(&tree, vec![model("tiny"), model("small")]).unwrap();
    assert_eq!(settings_of(&tree).last(), Some(&model("small")));
    let planner = Model { provider: "test".into(), name: "small".into() };
    let for_plans = Setting::Model { role: Some("plan".into()), model: planner };
    assert!(changed(&tree, vec![for_plans]).is_some(), "a second model is a kind of its own");
}

#[test]
fn the_header_says_what_is_in_force_at_the_start() {
    let mut header = SessionHeader::new("s".into(), FixedStamps::start());
    header.model = Some(Model { provider: "test".into(), name: "big".into() });
    header.agent = Some("built-in".into());
    let tree = SessionTree::default().extended(&[Record::opened(header)]).unwrap();
    assert!(changed(&tree, vec![model("big"), Setting::Agent("built-in".into())]).is_none());
    assert!(changed(&tree, vec![model("small")]).is_some());
}

#[test]
fn an_unknown_head_has_no_settings() {
    let refused = Err(ConfigRefused::UnknownHead("worker".into()));
    let tree = tree_of("u1*");
    assert_eq!(
        plan_config_change(&tree, &"worker".into(), vec![model("x")], &mut FixedStamps::default()),
        refused
    );
}

/// R-061: a change of configuration makes a child session at the last message.
#[test]
fn a_change_can_make_a_session_of_its_own() {
    let tree = tree_of(
        r#"u1 - m1"small" - a1*
                          u1 - a9"#,
    );
    let mut stamps = FixedStamps::after(100);
    let settings = vec![model("big")];
    let session = plan_config_session(&tree, &HeadName::main(), settings, &mut stamps).unwrap().unwrap();
    let child = SessionTree::default().extended(&session.records).unwrap();
    assert_eq!(draw(&child), "u1 - m1 - a1 - new2*\n");
    assert_eq!(settings_of(&child).last(), Some(&model("big")));
    assert_eq!(child.main_head(), session.head.as_ref());

    let lineage = child.header().unwrap().lineage.clone().unwrap();
    assert_eq!(lineage.parent, "drawn");
    assert_eq!(lineage.at, Some("a1".into()));
    assert_eq!(lineage.message_index, Some(1));
    assert_eq!(lineage.reason, Some(BranchReason::ConfigChange));
    assert_eq!(lineage.metadata, Some(json!({ "old_model": "test/small", "new_model": "test/big" })));

    let same = plan_config_session(&tree, &HeadName::main(), vec![model("small")], &mut stamps);
    assert_eq!(same, Ok(None));
}

#[test]
fn what_is_said_this_once_counts_more_than_what_was_chosen_for_all() {
    use offshoot_session::plan::{ConfigChangeBranching, ConfigChangeWay};
    let chosen = |word: &str| ConfigChangeBranching::named(word).map(|chosen| chosen.way(None));
    assert_eq!(chosen("entry"), Some(Some(ConfigChangeWay::Entry)));
    assert_eq!(chosen("file"), Some(Some(ConfigChangeWay::File)));
    assert_eq!(chosen("ask"), Some(None), "the person is asked");
    assert_eq!(chosen("sometimes"), None);
    let file = Some(ConfigChangeWay::File);
    assert_eq!(ConfigChangeBranching::default().way(file), file);
}

/// R-025: the header of the child said the model of the parent.
#[test]
fn the_header_of_a_child_carries_the_configuration_it_starts_with() {
    let mut header = SessionHeader::new("s".into(), FixedStamps::start());
    header.model = Some(Model { provider: "test".into(), name: "small".into() });
    header.agent = Some("built-in".into());
    let records = offshoot_testkit::drawn("u1 - a1*").into_iter().skip(1);
    let (tree, _) = SessionTree::replay([Record::opened(header)].into_iter().chain(records));
    let settings = vec![model("big"), Setting::Agent("claude".into())];
    let mut stamps = FixedStamps::after(100);
    let session = plan_config_session(&tree, &HeadName::main(), settings, &mut stamps).unwrap().unwrap();
    let child = SessionTree::default().extended(&session.records).unwrap();
    let header = child.header().unwrap();
    assert_eq!(header.model.as_ref().map(|model| model.name.as_str()), Some("big"));
    assert_eq!(header.agent.as_deref(), Some("claude"));
    assert_eq!(
        header.lineage.as_ref().unwrap().metadata,
        Some(json!({
            "old_model": "test/small", "new_model": "test/big", "old_agent": "built-in", "new_agent": "claude",
        }))
    );
}

/// R-024, R-026: an edit and a retry as sessions, with reason, branch point and what differs.
#[test]
fn an_edit_or_a_retry_makes_a_session_that_says_what_differs() {
    let tree = tree_of(r#"u1 - a1 - u2"Why?" - a2*"#);
    let edited = "u2".into();
    let plan = |difference, settings: Vec<Setting>, text: &str| {
        let (above, message) = (Some(&"a1".into()), Some(Body::prompt(text)));
        let child = Child { difference, above, settings, message };
        let NewChild { session, message, turn } = plan_child(&tree, child, &mut FixedStamps::after(100));
        let child = SessionTree::default().extended(&session.records).unwrap();
        let (prompt, turn) = (message.unwrap(), turn.unwrap());
        assert_eq!(child.main_head(), Some(&prompt));
        assert_eq!(child.entry(&prompt).unwrap().turn.as_ref(), Some(&turn));
        (draw(&child), child.header().unwrap().lineage.clone().unwrap())
    };
    let (drawing, lineage) = plan(Difference::Edit { of: &edited }, Vec::new(), "How?\nSlowly.");
    assert_eq!(drawing, "u1 - a1 - new3\"How?\\nSlowly.\"*\n");
    assert_eq!((lineage.reason, lineage.at), (Some(BranchReason::MessageEdit), Some("a1".into())));
    assert_eq!(lineage.message_index, Some(2), "it branches at the message that was edited");
    assert_eq!(lineage.metadata, Some(json!({ "turn": 2, "old_text": "Why?", "new_text": "How?…" })));

    let (drawing, lineage) = plan(Difference::Retry { of: &edited }, vec![model("big")], "Why?");
    assert_eq!(drawing, "u1 - a1 - new2 - new4\"Why?\"*\n");
    assert_eq!((lineage.reason, lineage.message_index), (Some(BranchReason::Retry), Some(2)));
    assert_eq!(lineage.metadata, Some(json!({ "turn": 2, "old_model": null, "new_model": "test/big" })));
}

/// Sessions of one name could not be told apart in a list, nor named in a command.
#[test]
fn a_child_is_named_after_what_differs() {
    let titled = |tree: &SessionTree, title: &str| {
        let fact = Fact::Title { title: Some(title.to_owned()), source: TitleSource::User };
        tree.extended(&[Record::marked(FixedStamps::start(), fact)]).unwrap()
    };
    let mut stamps = FixedStamps::after(100);
    let mut child_of = |tree: &SessionTree, settings: Vec<Setting>| {
        let child = plan_config_session(tree, &HeadName::main(), settings, &mut stamps).unwrap().unwrap();
        SessionTree::default().extended(&child.records).unwrap()
    };
    let tree = titled(&tree_of("u1 - a1*"), "Parser (draft)");
    let child = child_of(&tree, vec![model("big"), thinking("high")]);
    assert_eq!(child.title(), Some("Parser (draft) (big, thinking high)"));
    assert_eq!(child_of(&child, vec![model("small")]).title(), Some("Parser (draft) (small)"));
    assert_eq!(child_of(&tree_of("u1 - a1*"), vec![model("big")]).title(), None);
}

/// R-028: what is chosen before anything was said divides nothing.
#[test]
fn a_first_choice_divides_a_conversation_only_behind_a_message() {
    let empty = tree_of("m1\"small\"*");
    let splits =
        |tree: &SessionTree, setting: Setting| splits_configuration(tree, tree.main_head(), &[setting]);
    assert!(!splits(&empty, model("small")), "it is so already");
    assert!(splits(&empty, model("big")), "another one was chosen");
    assert!(!splits(&empty, thinking("high")), "nobody had chosen, and nothing was said");
    assert!(splits(&tree_of("m1\"small\" - u1 - a1*"), thinking("high")));
}
