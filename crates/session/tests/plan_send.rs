//! Saying something, saying it differently, asking again.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::plan::{
    EditRefused, RetryRefused, SendRefused, Sent, plan_edit, plan_edit_with_files, plan_retry, plan_send,
};
use offshoot_session::{
    Block, Body, Entry, EntryId, HeadName, ImageData, Prompt, Record, SessionTree, Stamps,
};
use offshoot_testkit::{FixedStamps, draw, tree_of};

const THREE_VERSIONS: &str = r#"
    u1 - a1 - u2"two" - a2
         a1 - u3"three" - a3*
         a1 - u4"four" - a4
"#;

fn words(text: &str) -> Prompt {
    Prompt { blocks: vec![Block::Text(text.to_owned())], ..Prompt::default() }
}

fn image() -> Block {
    Block::Image { media_type: "image/png".into(), data: ImageData::Inline("AAAA".into()) }
}

fn after(tree: &SessionTree, sent: &Sent) -> SessionTree {
    tree.extended(&sent.plan.records).unwrap()
}

fn send(tree: &SessionTree, prompt: Prompt) -> Result<Sent, SendRefused> {
    plan_send(tree, &HeadName::main(), prompt, &mut FixedStamps::after(100))
}

fn edit(tree: &SessionTree, at: &str, text: &str) -> Result<Sent, EditRefused> {
    plan_edit(tree, &HeadName::main(), &at.into(), text, &mut FixedStamps::after(100))
}

fn retry(tree: &SessionTree, at: &str) -> Result<Sent, RetryRefused> {
    plan_retry(tree, &HeadName::main(), &at.into(), &mut FixedStamps::after(100))
}

#[track_caller]
fn check(tree: &SessionTree, sent: &Sent, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let drawing = draw(&after(tree, sent));
    let drawing: Vec<&str> = drawing.lines().map(str::trim).collect();
    assert_eq!(drawing, expected);
}

#[test]
fn a_prompt_goes_below_the_head_and_takes_the_head_along() {
    let tree = tree_of("u1 - a1* - u2");
    let sent = send(&tree, words("hello")).unwrap();
    check(&tree, &sent, "u1 - a1 - u2\n a1 - new3\"hello\"*");
    assert_eq!(sent.prompt, "new3".into());
}

/// R-040: the first prompt begins the tree.
#[test]
fn the_first_prompt_begins_the_tree() {
    let tree = tree_of("");
    check(&tree, &send(&tree, words("hello")).unwrap(), "new3\"hello\"*");
}

#[test]
fn the_head_follows_the_turn_of_the_prompt() {
    let tree = tree_of("u1 - a1*");
    let sent = send(&tree, words("hello")).unwrap();
    let answer = Record::entry(Entry {
        id: "a2".into(),
        parent: Some(sent.prompt.clone()),
        written_at: FixedStamps::after(200).now(),
        turn: Some(sent.turn.clone()),
        body: Body::reply("a2"),
    });
    let tree = after(&tree, &sent).extended([&answer]).unwrap();
    assert_eq!(draw(&tree), "u1 - a1 - new3\"hello\" - a2*\n");
}

#[test]
fn a_blank_prompt_is_refused_unless_something_travels_with_it() {
    let tree = tree_of("u1 - a1*");
    assert_eq!(send(&tree, words(" \n\t")), Err(SendRefused::Blank));
    assert_eq!(send(&tree, Prompt::default()), Err(SendRefused::Blank));
    assert!(send(&tree, Prompt { blocks: vec![image()], ..Prompt::default() }).is_ok());
    assert!(
        send(&tree, Prompt { blocks: Vec::new(), attachments: vec!["notes.md".into()], ..Prompt::default() })
            .is_ok()
    );
}

#[test]
fn a_head_nobody_has_placed_cannot_speak() {
    let tree = tree_of("u1 - a1*");
    let stamps = &mut FixedStamps::after(100);
    let head: HeadName = "worker".into();
    assert_eq!(plan_send(&tree, &head, words("x"), stamps), Err(SendRefused::UnknownHead(head.clone())));
    assert_eq!(
        plan_edit(&tree, &head, &"u1".into(), "x", stamps),
        Err(EditRefused::UnknownHead(head.clone()))
    );
    assert_eq!(plan_retry(&tree, &head, &"u1".into(), stamps), Err(RetryRefused::UnknownHead(head)));
}

#[test]
fn an_edit_stands_beside_the_old_prompt() {
    let tree = tree_of("u1 - a1 - u2 - a2 - u3 - a3*");
    check(
        &tree,
        &edit(&tree, "u2", "better").unwrap(),
        r#"
        u1 - a1 - u2 - a2 - u3 - a3
        a1 - new3"better"*
        "#,
    );
    check(
        &tree,
        &edit(&tree, "u1", "other start").unwrap(),
        "u1 - a1 - u2 - a2 - u3 - a3\n new3\"other start\"*",
    );
}

/// R-105: an edit takes the files of the old version along.
#[test]
fn an_edit_carries_images_and_attachments_over() {
    let mut tree = tree_of("u1 - a1*");
    let blocks = vec![image(), Block::Text("look".into()), image(), Block::Text("here".into())];
    let original = Prompt { blocks, attachments: vec!["notes.md".into()], ..Prompt::default() };
    let sent = send(&tree, original).unwrap();
    tree = after(&tree, &sent);

    let mut stamps = FixedStamps::after(200);
    stamps.entry_id(); // ids of its own, apart from those of the first prompt
    stamps.entry_id();
    stamps.entry_id();
    let edited = plan_edit(&tree, &HeadName::main(), &sent.prompt, "see", &mut stamps).unwrap();
    let tree = after(&tree, &edited);
    let Body::Prompt(prompt) = &tree.entry(&edited.prompt).unwrap().body else { panic!("not a prompt") };
    assert_eq!(prompt.blocks, vec![image(), Block::Text("see".into()), image()]);
    assert_eq!(prompt.attachments, vec!["notes.md".to_owned()]);
}

#[test]
fn the_same_words_with_other_files_are_another_version() {
    let tree = tree_of(THREE_VERSIONS);
    let with_files = |text: &str, attachments: &[&str]| {
        let attachments = attachments.iter().map(ToString::to_string).collect();
        let prompt = Prompt { blocks: vec![Block::Text(text.into())], attachments, ..Prompt::default() };
        plan_edit_with_files(&tree, &HeadName::main(), &"u2".into(), prompt, &mut FixedStamps::after(100))
    };
    let sent = with_files("two", &["notes.md"]).unwrap();
    let tree_after = after(&tree, &sent);
    let Body::Prompt(prompt) = &tree_after.entry(&sent.prompt).unwrap().body else { panic!("not a prompt") };
    assert_eq!(prompt.attachments, ["notes.md"]);
    assert_eq!(with_files("two", &[]), Err(EditRefused::SameText { version: 1 }));
    assert_eq!(with_files(" ", &["notes.md"]), Err(EditRefused::Blank));
}

/// R-091: an edit with the text of the version shown changes nothing.
#[test]
fn an_edit_that_changes_nothing_names_the_version_that_says_the_same() {
    let tree = tree_of(THREE_VERSIONS);
    assert_eq!(edit(&tree, "u2", "two"), Err(EditRefused::SameText { version: 1 }));
    assert_eq!(edit(&tree, "u2", "three"), Err(EditRefused::SameText { version: 2 }), "the one shown");
    assert!(edit(&tree, "u2", "four").is_ok(), "neither edited nor shown");
    assert_eq!(
        edit(&tree, "u3", "three").unwrap_err().to_string(),
        "this is the same text as version 2",
        "counted as a person counts"
    );
}

#[test]
fn an_edit_of_something_else_is_refused() {
    let tree = tree_of(THREE_VERSIONS);
    assert_eq!(edit(&tree, "u9", "x").unwrap_err().to_string(), "entry `u9` does not exist");
    assert_eq!(
        edit(&tree, "a1", "x").unwrap_err().to_string(),
        "entry `a1` is not a prompt, so no agent can answer it"
    );
    assert_eq!(edit(&tree, "u2", "  "), Err(EditRefused::Blank));
}

#[test]
fn an_orphan_is_edited_where_it_stands() {
    let orphan = Record::entry(Entry {
        id: "u1".into(),
        parent: Some(EntryId::from("gone")),
        written_at: FixedStamps::start(),
        turn: None,
        body: Body::prompt("u1"),
    });
    let (tree, _) = SessionTree::replay([orphan]);
    check(&tree, &edit(&tree, "u1", "better").unwrap(), "u1\nnew3\"better\"*");
}

#[test]
fn a_retry_asks_the_same_again_from_anywhere_in_the_turn() {
    let tree = tree_of(r#"u1 - a1 - u2"why?" - c1 - t1 - a2*"#);
    for at in ["u2", "c1", "t1", "a2"] {
        check(
            &tree,
            &retry(&tree, at).unwrap(),
            r#"
            u1 - a1 - u2"why?" - c1 - t1 - a2
            a1 - new3"why?"*
            "#,
        );
    }
}

#[test]
fn a_retry_needs_a_prompt() {
    let tree = tree_of("m1 - a1 - u1*");
    assert_eq!(retry(&tree, "a9"), Err(RetryRefused::NotFound("a9".into())));
    assert_eq!(retry(&tree, "a1").unwrap_err().to_string(), "there is no prompt above entry `a1`");
}
