//! Which settings hold at a point: choices, headers, replies and injected rules.

use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::in_force::{INJECTED_RULES, InForce};
use offshoot_session::{
    Block, Body, Entry, Foreign, Model, Record, Reply, SessionHeader, SessionTree, Setting,
};
use offshoot_testkit::{FixedStamps, drawn};

fn model(name: &str) -> Model {
    Model { provider: "test".into(), name: name.into() }
}

fn reply_by(name: &str) -> Body {
    let blocks = vec![Block::Text(name.into())];
    Body::Reply(Reply { blocks, model: Some(model(name)), ..Reply::default() })
}

fn injected(rules: &str) -> Body {
    Body::Foreign(Foreign { kind: INJECTED_RULES.to_owned(), text: Some(rules.to_owned()) })
}

/// A drawing in which some entries have another body.
fn tree(header: SessionHeader, drawing: &str, bodies: &[(&str, Body)]) -> SessionTree {
    let records = drawn(drawing).into_iter().skip(1).map(|record| {
        let body = record.as_entry().and_then(|entry| bodies.iter().find(|(id, _)| *id == entry.id.as_str()));
        match (record.as_entry(), body) {
            (Some(entry), Some((_, body))) => Record::entry(Entry { body: body.clone(), ..entry.clone() }),
            _ => record,
        }
    });
    SessionTree::replay([Record::opened(header)].into_iter().chain(records)).0
}

fn header() -> SessionHeader {
    SessionHeader::new("s".into(), FixedStamps::start())
}

fn named(tree: &SessionTree, at: &str) -> Option<String> {
    let in_force = InForce::at(tree, Some(&at.into()));
    let context = context_of(tree, Some(&at.into()), &ContextOptions::default());
    assert_eq!(in_force.model(), context.model.as_ref(), "a context has the model that is in force");
    in_force.model().map(|model| model.name.clone())
}

/// `new --model` is a choice, and a reply of another model does not change it.
#[test]
fn the_model_of_the_header_outlives_a_reply_by_another() {
    let header = SessionHeader { model: Some(model("chosen")), ..header() };
    let tree = tree(header, "u1 - a1 - u2 - m1 - u3", &[("a1", reply_by("fallback"))]);
    assert_eq!(named(&tree, "a1").as_deref(), Some("chosen"));
    assert_eq!(named(&tree, "u2").as_deref(), Some("chosen"));
    assert_eq!(named(&tree, "u3").as_deref(), Some("m1"), "a setting on the path is the later choice");
    let pi = context_of(&tree, Some(&"u2".into()), &ContextOptions::pi());
    assert_eq!(pi.model, Some(model("fallback")), "for pi the latest one counts");
}

/// each branch has its own settings, and a reply names the model only where nobody chose.
#[test]
fn a_reply_names_the_model_only_where_nobody_chose() {
    let tree = tree(
        header(),
        "u1 - a1 - m1 - u2 - a2\n     a1 - u3 - a3",
        &[("a1", reply_by("first")), ("a2", reply_by("fallback")), ("a3", reply_by("third"))],
    );
    assert_eq!(named(&tree, "u1"), None);
    assert_eq!(named(&tree, "a1").as_deref(), Some("first"));
    assert_eq!(named(&tree, "a2").as_deref(), Some("m1"));
    assert_eq!(named(&tree, "a3").as_deref(), Some("third"));
    assert_eq!(InForce::at(&tree, Some(&"a3".into())).chosen(), [], "what a reply names is not a choice");
}

/// the latest mode, and all rules that were injected on the path.
#[test]
fn mode_and_injected_rules_are_those_of_the_path() {
    let mode = |mode: &str| Body::Setting(Setting::Mode { mode: mode.into(), data: None });
    let tree = tree(
        header(),
        "u1 - m1 - a1 - a2 - u2 - m2 - a3\n     m1 - u4",
        &[
            ("m1", mode("plan")),
            ("a1", injected("no-unwrap\nno-panic")),
            ("m2", mode("none")),
            ("a3", injected("no-panic\nshort-lines")),
        ],
    );
    let at = |id: &str| context_of(&tree, Some(&id.into()), &ContextOptions::default());
    assert_eq!((at("u4").mode.as_deref(), at("a3").mode.as_deref()), (Some("plan"), Some("none")));
    assert_eq!(at("u2").injected_rules, ["no-unwrap", "no-panic"]);
    assert_eq!(at("a3").injected_rules, ["no-unwrap", "no-panic", "short-lines"]);
    assert_eq!(at("u4").injected_rules, Vec::<String>::new());
}
