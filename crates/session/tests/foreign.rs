//! A session of another program with ours on top, drawn.

use offshoot_session::foreign::{by_itself, joined, journal_id, referring_header, with_what_is_missing};
use offshoot_session::{
    Body, Entry, EntryId, Fact, ForeignSource, HeadMove, HeadName, Record, SessionHeader, SessionTree,
};
use offshoot_testkit::{FixedStamps, draw, drawn, tree_of};

fn source() -> ForeignSource {
    ForeignSource::of("pi", "theirs", "/a/theirs.jsonl", b"what was seen")
}

fn header() -> Record {
    let theirs = SessionHeader::new("theirs".into(), FixedStamps::start());
    Record::opened(referring_header(journal_id("pi", "theirs", 0), &theirs, source()))
}

fn said(id: &str, below: &str) -> Record {
    let (id, parent) = (EntryId::from(id), Some(EntryId::from(below)));
    let body = Body::prompt(id.as_str());
    Record::entry(Entry { id, parent, written_at: FixedStamps::start(), turn: None, body })
}

fn head_to(to: &str) -> Record {
    let (head, moved_at) = (HeadName::main(), FixedStamps::start());
    Record::head_moved(HeadMove { head, moved_at, from: None, to: Some(to.into()) })
}

/// The shape of both, without what was said.
fn check(theirs: &str, ours: Vec<Record>, expected: &str) {
    let ours = std::iter::once(header()).chain(ours).collect();
    let (tree, oddities) = SessionTree::replay(joined(drawn(theirs), ours));
    assert_eq!(oddities, []);
    let expected = tree_of(expected);
    let shape = |tree: &SessionTree| -> Vec<(EntryId, Option<EntryId>)> {
        let mut shape: Vec<_> = tree
            .entries()
            .map(|entry| (entry.id.clone(), tree.parent(&entry.id).map(|parent| parent.id.clone())))
            .collect();
        shape.sort();
        shape
    };
    assert_eq!(shape(&tree), shape(&expected), "{}", draw(&tree));
    assert_eq!(tree.main_head(), expected.main_head(), "{}", draw(&tree));
}

#[test]
fn a_head_that_nobody_moved_goes_along() {
    let label = Fact::Label { target: "u1".into(), label: Some("mine".into()) };
    let label = || vec![Record::marked(FixedStamps::start(), label.clone())];
    check("u1 - a1*", label(), "u1 - a1*");
    check("u1 - a1 - u2*", label(), "u1 - a1 - u2*");
}

#[test]
fn a_head_stays_where_the_person_put_it() {
    let ours = || vec![said("u9", "a1"), head_to("u9")];
    check("u1 - a1*", ours(), "u1 - a1 - u9*");
    check("u1 - a1 - u2*", ours(), "u1 - a1 - u2\na1 - u9*");
}

#[test]
fn the_header_is_ours_and_theirs_is_back_in_a_copy() {
    let (tree, _) = SessionTree::replay(joined(drawn("u1 - a1*"), vec![header()]));
    assert_eq!(tree.header().unwrap().id.as_str(), "theirs.pi");
    let copy = by_itself(tree);
    assert_eq!((copy.header().unwrap().id.as_str(), &copy.header().unwrap().foreign), ("theirs", &None));
    assert_eq!(copy.len(), 2);
}

#[test]
fn what_a_file_has_lost_comes_back_below_its_parent() {
    let whole = with_what_is_missing(drawn("u1*"), &drawn("u1 - a1 - u2*"));
    let (tree, oddities) = SessionTree::replay(whole);
    assert_eq!((oddities, tree.path_to(Some(&"u2".into())).len()), (Vec::new(), 3));
}

#[test]
fn a_file_that_has_only_grown_begins_with_what_was_seen() {
    assert!(source().begins(b"what was seen"));
    assert!(source().begins(b"what was seen and more"));
    assert!(!source().begins(b"what was"));
    assert!(!source().begins(b"what was SEEN and more"));
}

#[test]
fn the_id_of_a_journal_begins_with_theirs() {
    assert_eq!(journal_id("claude-code", "0f5c", 0).as_str(), "0f5c.claude-code");
    assert_eq!(journal_id("oh-my-pi", "0f5c", 1).as_str(), "0f5c.pi.2");
    let strange = journal_id("gemini", "../a b", 0);
    assert!(strange.as_str().ends_with(".gemini") && !strange.as_str().contains(['/', ' ']), "{strange}");
}
