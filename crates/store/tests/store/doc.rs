//! The examples in the specification are what is written.

use offshoot_session::format::{NoBlobs, Position, decode, scan};
use offshoot_session::{EntryId, Fact, Record, SessionTree};
use offshoot_store::SessionStore;
use offshoot_testkit::{FixedStamps, draw};

use crate::support::{SimDisk, header, log_of, moved, prompt, reply, store_on};

/// The code blocks of the specification that hold lines.
fn examples() -> Vec<String> {
    let text = include_str!("../../../../docs/format.md");
    text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_line_is_a_line() {
    let examples = examples();
    let line = decode(examples[0].trim_end().as_bytes(), &NoBlobs).unwrap();
    assert_eq!(line.notes, []);
    assert_eq!(line.record.source, None, "nothing in it is unknown");
}

#[test]
fn the_session_is_what_is_written() {
    let (u1, a1) = (EntryId::from("u1"), EntryId::from("a1"));
    let mark = |fact| Record::marked(FixedStamps::start(), fact).in_operation("op1".into());
    let steps = [
        vec![header("example"), prompt("u1", None), reply("a1", Some(&u1)), moved(None, Some(&a1))],
        vec![
            mark(Fact::Operation { name: "edit".into() }),
            prompt("u2", None).in_operation("op1".into()),
            moved(Some(&a1), Some(&"u2".into())).in_operation("op1".into()),
        ],
        vec![Record::marked(FixedStamps::start(), Fact::Undone { operation: "op1".into() })],
    ];
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    store.create(&steps[0]).unwrap();
    for step in &steps[1..] {
        store.append(&"example".into(), &mut |_| Some(step.clone())).unwrap();
    }
    let written = String::from_utf8(disk.read(&store.home().journal(&"example".into()))).unwrap();
    let example = examples().pop().unwrap();
    assert_eq!(example, written);
    let scanned = scan(example.as_bytes(), Position::default(), &NoBlobs).unwrap();
    assert_eq!(scanned.records, log_of(&store, &"example".into()));
    let drawing = draw(&SessionTree::replay(scanned.records).0);
    assert_eq!(drawing, "u1\"what is u1?\" - a1\"a1 is this.\"*\n");
}
