//! A flat list of messages as a session.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::flat::{import_flat, read_flat};
use offshoot_session::{Body, Interruption, SessionTree};
use offshoot_testkit::FixedStamps;

fn imported(messages: &[Body]) -> SessionTree {
    let records = import_flat(messages.iter().cloned(), &mut FixedStamps::default());
    SessionTree::default().extended(&records).unwrap()
}

/// The path to the head, one word for each entry.
fn path(tree: &SessionTree) -> String {
    let word = |body: &Body| match body {
        Body::Interrupted(_) => "interrupted".to_owned(),
        body => body.text(),
    };
    tree.path_to(tree.main_head()).iter().map(|entry| word(&entry.body)).collect::<Vec<_>>().join(" ")
}

/// R-049, R-050: prompts are chained by parent and child, never roots next to each other; a message before the first
/// prompt is dropped, and the head is at the leaf.
#[test]
fn a_flat_list_becomes_one_branch() {
    let reply = Body::reply;
    let tree = imported(&[
        reply("unasked"),
        Body::prompt("one"),
        reply("1"),
        Body::Interrupted(Interruption::Wanted),
        Body::prompt("two"),
        Body::prompt("three"),
        reply("3"),
    ]);
    assert_eq!(path(&tree), "one 1 interrupted two three 3");
    assert_eq!((tree.roots().len(), tree.leaves().len()), (1, 1));
    assert_eq!(tree.main_head(), tree.leaves().first().map(|leaf| &leaf.id));
}

/// R-049: each prompt begins a turn, and its responses belong to it.
#[test]
fn responses_belong_to_the_prompt_before_them() {
    let tree = imported(&[Body::prompt("one"), Body::reply("1"), Body::reply("1b"), Body::prompt("two")]);
    let turns: Vec<_> =
        tree.path_to(tree.main_head()).iter().map(|entry| entry.turn.clone().unwrap()).collect();
    assert_eq!((&turns[0], &turns[0]), (&turns[1], &turns[2]));
    assert_ne!(turns[0], turns[3]);
}

/// R-049: a list without a prompt is an empty tree.
#[test]
fn a_list_without_a_prompt_is_empty() {
    for messages in [&[][..], &[Body::reply("unasked")]] {
        assert!(import_flat(messages.iter().cloned(), &mut FixedStamps::default()).is_empty());
    }
}

/// R-050: the agent's session is kept on every turn; a turn that names none goes on in that of the turn before.
#[test]
fn every_turn_keeps_the_session_of_its_agent() {
    let json = br#"[
        {"role": "user", "text": "one", "agent_session": "s1"}, {"role": "assistant", "text": "1"},
        {"role": "user", "text": "two"}, {"role": "assistant", "text": "2"},
        {"role": "user", "text": "three"}, {"role": "assistant", "text": "3", "agent_session": "s2"},
        {"role": "user", "text": "unanswered"}
    ]"#;
    let records = import_flat(read_flat(json).unwrap(), &mut FixedStamps::default());
    let tree = SessionTree::default().extended(&records).unwrap();
    let told = |(at, binding): (&_, &offshoot_session::Binding)| {
        format!("{} {}", tree.entry(at).unwrap().body.text(), binding.agent_session.as_ref().unwrap())
    };
    let mut bound: Vec<String> = tree.bindings().map(told).collect();
    bound.sort();
    assert_eq!(bound, ["one s1", "three s2", "two s1"]);
    let ended = tree.entries().filter(|entry| tree.turn_ended(entry.turn.as_ref().unwrap())).count();
    assert_eq!(ended, 6, "what nobody has answered has not ended");
}

/// Messages are read as `append` takes them and as the APIs of models have them.
#[test]
fn words_are_read_from_text_and_from_content() {
    let json = br#"[
        {"role": "user", "content": "plain", "id": "m1", "parent": "elsewhere"},
        {"role": "assistant", "content": [{"type": "text", "text": "two"}, {"type": "output_text", "text": "blocks"}]},
        {"role": "user", "text": "own", "written_at": "2025-01-01T00:00:00Z"}
    ]"#;
    let messages = read_flat(json).unwrap();
    let texts: Vec<String> = messages.iter().map(|message| message.body.text()).collect();
    assert_eq!(texts, ["plain", "two\nblocks", "own"]);
    assert_eq!(messages[0].id, Some("m1".into()));
    assert!(messages[2].written_at.is_some());
}

#[test]
fn what_is_wrong_with_a_list_is_named() {
    for (json, why) in [
        ("{}", "not a JSON list of messages"),
        ("[", "not JSON: EOF while parsing a list at line 1 column 1"),
        (r#"[{"role": "user", "text": "a"}, 3]"#, "message 2: not a JSON object"),
        (r#"[{"text": "a"}]"#, "message 1: `role` is missing"),
        (
            r#"[{"role": "user", "text": "a", "id": "x"}, {"role": "user", "text": "b", "id": "x"}]"#,
            "message 2: the id `x` is used twice",
        ),
        (
            r#"[{"role": "user", "content": [{"type": "image"}]}]"#,
            "message 1: `content` holds a block of the type `image`; only text is understood",
        ),
        (r#"[{"role": "user", "content": "a", "text": "b"}]"#, "message 1: it has both `text` and `content`"),
        (r#"[{"role": "user", "text": "a", "agent_session": 3}]"#, "message 1: `agent_session` is not an id"),
    ] {
        assert_eq!(read_flat(json.as_bytes()).unwrap_err().to_string(), why);
    }
}
