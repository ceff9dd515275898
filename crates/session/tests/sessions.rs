//! Sessions among each other: graph, union, list, search.

use offshoot_session::about::{about, spoken_text};
use offshoot_session::find::{Candidate, NameFilter, Order, find};
use offshoot_session::graph::SessionGraph;
use offshoot_session::titles::humanize;
use offshoot_session::union::{Difference, union};
use offshoot_session::{Fact, Record, SessionTree, TitleSource};
use offshoot_testkit::{FixedStamps, draw, drawn, tree_of};

fn graph(text: &str) -> SessionGraph {
    SessionGraph::new(text.split_whitespace().map(|session| match session.split_once('<') {
        Some((child, parent)) => (child.into(), Some(parent.into())),
        None => (session.into(), None),
    }))
}

fn rows(graph: &SessionGraph) -> String {
    graph.forest().iter().map(|row| format!("{}{} ", "-".repeat(row.depth), row.session)).collect()
}

/// the children of a session are those that name it as their parent.
/// sessions are listed as a tree.
#[test]
fn forks_stand_below_the_session_they_came_from() {
    let graph = graph("root haiku<root tools<haiku opus<root");
    assert_eq!(rows(&graph), "root -haiku --tools -opus ");
    assert_eq!(graph.children(&"root".into()), ["haiku".into(), "opus".into()]);
    assert_eq!(graph.root(&"tools".into()).as_str(), "root");
    assert_eq!(graph.tree(&"haiku".into()).len(), 2);
}

/// the root of a session is found by its parents; a deleted parent ends the search.
#[test]
fn a_deleted_parent_makes_a_root() {
    let graph = graph("b<deleted c<b");
    assert_eq!(rows(&graph), "b -c ");
    assert_eq!(graph.root(&"c".into()).as_str(), "b");
}

#[test]
fn sessions_in_a_circle_are_listed_once() {
    let graph = graph("a<b b<a c<c");
    assert_eq!(rows(&graph), "a -b c ");
    graph.root(&"a".into());
}

fn joined(into: &str, from: &str) -> (String, offshoot_session::union::Union) {
    let union = union(&drawn(into), &drawn(from));
    let (tree, _) = SessionTree::replay(union.records.clone());
    (draw(&tree), union)
}

#[test]
fn branches_of_both_copies_are_in_the_union() {
    let (tree, union) = joined("u1 - a1 - u2 - a2*", "u1 - a1 - u3 - a3\n u9 - a9");
    assert_eq!(tree, "u1 - a1 - u3 - a3\n     a1 - u2 - a2*\nu9 - a9\n");
    assert_eq!((union.added, union.skipped), (4, 0));
    let order: Vec<&str> =
        union.records.iter().filter_map(|record| Some(record.as_entry()?.id.as_str())).collect();
    assert_eq!(order.join(" "), "u9 a9 u1 a1 u3 a3 u2 a2", "what was last stays last");
}

#[test]
fn the_copy_at_hand_wins_and_says_so() {
    let (tree, union) = joined("u1 - a1 - u2*", "u1 - a1\"other\"\n u1 - u2");
    assert_eq!(tree, "u1 - a1 - u2*\n");
    let about: Vec<_> =
        union.conflicts.iter().map(|conflict| (conflict.id.as_str(), conflict.about)).collect();
    assert_eq!(about, [("a1", Difference::Payload), ("u2", Difference::Parent)]);
}

#[test]
fn what_hangs_on_nothing_is_counted_not_lost_in_silence() {
    let mut from = drawn("u1 - a1 - u2");
    from.remove(2);
    let union = union(&drawn("u8*"), &from[2..]);
    assert_eq!((union.added, union.skipped), (0, 1));
}

#[test]
fn a_list_says_who_spoke_last_and_what_was_asked_first() {
    let mut tree = tree_of("u1\"first question\" - a1\"answer\" - c1 - t1*");
    let fact = Fact::Title { title: Some("Mine".into()), source: TitleSource::User };
    tree.apply(&Record::marked(FixedStamps::start(), fact)).unwrap();
    let about = about(&tree);
    assert_eq!(about.title.as_deref(), Some("Mine"));
    assert_eq!(about.first_prompt.as_deref(), Some("first question"));
    assert_eq!((about.messages, about.prompts), (4, 1));
    assert_eq!(about.active_at.unwrap().to_string(), "2025-01-01T00:00:02Z");
    assert_eq!(spoken_text(&tree), "first question answer");
}

fn found(query: &str, order: Order, filter: NameFilter) -> String {
    let session = |id: &str, name: Option<&str>, text: &str| Candidate {
        id: id.into(),
        name: name.map(Into::into),
        project: "/home/dev/gate".into(),
        text: text.into(),
        active_at: FixedStamps::start(),
    };
    let sessions = [
        session("s1", None, "the limiter is\n\n  slow"),
        session("s2", Some("Limits"), "something else"),
        session("s3", Some(" "), "slow limiter"),
    ];
    let ids: Vec<&str> =
        find(&sessions, query, order, filter).iter().map(|found| found.id.as_str()).collect();
    ids.join(" ")
}

#[test]
fn sessions_are_found_by_words_phrases_and_patterns() {
    let recent = |query| found(query, Order::Recent, NameFilter::All);
    assert_eq!(recent(""), "s1 s2 s3");
    assert_eq!(recent("limiter slow"), "s1 s3");
    assert_eq!(recent("\"is slow\""), "s1");
    assert_eq!(recent("lmtr"), "s1 s3");
    assert_eq!(recent("re:\\bslow l"), "s3");
    assert_eq!(recent("re:("), "");
    assert_eq!(recent("say \"unclosed"), "");
    assert_eq!(found("\"slow\"", Order::Relevance, NameFilter::All), "s3 s1");
    assert_eq!(found("", Order::Recent, NameFilter::Named), "s2");
}

#[test]
fn names_for_programs_become_titles() {
    assert_eq!(humanize("fix_session--naming").as_deref(), Some("Fix session naming"));
    assert_eq!(humanize("RefactorRouter").as_deref(), Some("RefactorRouter"));
    assert_eq!(humanize(" -_ "), None);
}

/// What an agent asked another agent is neither the person's question nor a title.
#[test]
fn tasks_of_sub_agents_are_not_prompts_of_the_person() {
    let mut records = vec![Record::entry(offshoot_session::Entry {
        id: "task".into(),
        parent: None,
        written_at: FixedStamps::start(),
        turn: None,
        body: offshoot_session::Body::Note(offshoot_session::Note {
            kind: offshoot_session::Note::SUB_AGENT.into(),
            data: None,
        }),
    })];
    records.extend(drawn("u1\"look around\" - a1\nu2\"first question\" - a2*"));
    let below_task = |record: &mut Record| {
        if let offshoot_session::Change::Entry(entry) = &mut record.change
            && entry.id.as_str() == "u1"
        {
            std::sync::Arc::make_mut(entry).parent = Some("task".into());
        }
    };
    records.iter_mut().for_each(below_task);
    let branches = |records: &[Record]| {
        let outline = offshoot_session::outline::TurnOutline::of(&SessionTree::replay(records.to_vec()).0);
        (outline.branches, outline.rows.len())
    };
    assert_eq!(branches(&records), (1, 2), "two trees, and one branch");
    assert_eq!(branches(records.get(..3).unwrap_or_default()), (1, 1), "a sub-agent alone has a way too");
    let about = about(&SessionTree::replay(records).0);
    assert_eq!((about.first_prompt.as_deref(), about.prompts), (Some("first question"), 1));
}
