//! Sub-agents and the branches that show them.

use offshoot_session::sub_agents::{SubAgent, sub_agents_on};
use offshoot_session::{Body, Entry, Note, Record, SessionTree};
use offshoot_testkit::drawn;
use serde_json::{Value, json};

fn note(data: Option<Value>) -> Body {
    Body::Note(Note { kind: Note::SUB_AGENT.into(), data })
}

fn started(call: &str, entry: &str, task: &str) -> Body {
    note(Some(json!({ "call": call, "entry": entry, "description": task })))
}

/// Their tasks, each with the entry that started it.
fn shown(tree: &SessionTree, at: &str) -> String {
    let name = |one: SubAgent<'_>| {
        let entry = one.entry.map_or_else(|| "any".to_owned(), |entry| entry.to_string());
        format!("{}@{entry}", one.task.unwrap_or_default())
    };
    let path = tree.path_to(Some(&at.into()));
    sub_agents_on(tree, &path).into_iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Two branches, each with a sub-agent, two tasks that no call is known for, and one whose call is hidden.
fn tree() -> SessionTree {
    let drawing = "
         u1 - c1 - t1 - u2 - c2 - t2
                   t1 - u3 - a3*
         n1 - u11 - a11
         n2 - u12 - a12
         n3 - u13 - a13
         n4 - u14
         n5 - u15";
    let notes = [
        ("n1", started("t1", "c1", "shared")),
        ("n2", started("t2", "c2", "left")),
        ("n3", note(None)),
        ("n4", note(Some(json!({ "description": "old" })))),
        ("n5", started("t9", "gone", "undone")),
    ];
    let records = drawn(drawing).into_iter().map(|record| {
        let Some(entry) = record.as_entry() else { return record };
        let note = notes.iter().find(|(id, _)| *id == entry.id.as_str());
        note.map_or(record.clone(), |(_, body)| Record::entry(Entry { body: body.clone(), ..entry.clone() }))
    });
    SessionTree::replay(records).0
}

/// tasks of the branch, and on every branch those of old files.
/// tasks of other branches are not shown.
#[test]
fn a_task_without_a_call_is_shown_on_every_branch() {
    let tree = tree();
    assert_eq!(shown(&tree, "t2"), "shared@c1 left@c2 u13@any old@any");
    assert_eq!(shown(&tree, "a3"), "shared@c1 u13@any old@any");
}

/// session, tool, start and end.
#[test]
fn a_task_tells_its_session_its_tool_and_when_it_ran() {
    let tree = tree();
    let all = sub_agents_on(&tree, &tree.path_to(Some(&"t2".into())));
    let [shared, _, legacy, ..] = &all[..] else { panic!("{all:?}") };
    let written_at = |id: &str| tree.entry(&id.into()).map(|entry| entry.written_at);
    assert_eq!(shared.tool.as_deref(), Some("read"));
    assert_eq!(shared.session.as_deref(), tree.header().map(|header| header.id.as_str()));
    assert_eq!((Some(shared.root.written_at), shared.ended_at), (written_at("n1"), written_at("t1")));
    assert_eq!((legacy.session.as_deref(), legacy.call.as_ref(), legacy.running), (None, None, false));
    assert_eq!((Some(legacy.root.written_at), legacy.ended_at), (written_at("n3"), written_at("a13")));
}
