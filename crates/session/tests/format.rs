//! Lines of a journal: what is written is what is read, and what is wrong is told.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "format/arbitrary.rs"]
mod arbitrary;

use std::collections::HashMap;

use offshoot_session::format::{
    Blob, BlobName, BlobTrouble, Blobs, Damage, Flaw, InBatch, NewerFormat, NoBlobs, Note, Position, Scanned,
    TornBy, Undecodable, Unwritable, decode, encode, encode_batch, scan,
};
use offshoot_session::{
    Block, Body, Change, Entry, Fact, HeadMove, HeadName, RawLine, Record, Reply, SessionHeader, SessionTree,
    ToolUse,
};
use offshoot_testkit::{FixedStamps, draw, drawn};
use proptest::prelude::*;

#[derive(Default)]
struct Kept(HashMap<BlobName, Vec<u8>>);

impl Kept {
    fn keep(&mut self, blobs: Vec<Blob>) {
        self.0.extend(blobs.into_iter().map(|blob| (blob.name, blob.bytes)));
    }
}

impl Blobs for Kept {
    fn blob(&self, name: &BlobName) -> Result<Vec<u8>, BlobTrouble> {
        self.0.get(name).cloned().ok_or(BlobTrouble::Missing)
    }
}

/// The line of a record, without its newline.
fn line(record: &Record) -> String {
    let encoded = encode(record, InBatch::Last).unwrap();
    String::from_utf8(encoded.line).unwrap().trim_end().to_owned()
}

/// A line with other content and a right checksum.
fn resealed(line: &str) -> String {
    let covered = &line[..line.len() - 18];
    format!(r#"{covered},"sum":"{:08x}"}}"#, crc32fast::hash(covered.as_bytes()))
}

fn read(line: &str) -> Record {
    decode(line.as_bytes(), &NoBlobs).unwrap().record
}

fn entry(id: &str, body: Body) -> Record {
    Record::entry(Entry { id: id.into(), parent: None, written_at: FixedStamps::start(), turn: None, body })
}

fn journal(batches: &[&[Record]]) -> Vec<u8> {
    batches.iter().flat_map(|batch| encode_batch(batch).unwrap().bytes).collect()
}

fn scanned(bytes: &[u8]) -> Scanned {
    scan(bytes, Position::default(), &NoBlobs).unwrap()
}

fn drawing(scanned: &Scanned) -> String {
    draw(&SessionTree::replay(scanned.records.clone()).0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_what_is_read(record in arbitrary::record(), more: bool) {
        let in_batch = if more { InBatch::MoreFollow } else { InBatch::Last };
        let encoded = encode(&record, in_batch).unwrap();
        prop_assert_eq!(encoded.line.iter().filter(|byte| **byte == b'\n').count(), 1);
        prop_assert!(encoded.line.ends_with(b"\n"));
        let mut kept = Kept::default();
        kept.keep(encoded.blobs);
        let decoded = decode(&encoded.line[..encoded.line.len() - 1], &kept).unwrap();
        prop_assert_eq!(decoded.record, record);
        prop_assert_eq!(decoded.in_batch, in_batch);
        prop_assert_eq!(decoded.notes, vec![]);
    }

    #[test]
    fn a_journal_is_read_in_any_two_steps(records in proptest::collection::vec(arbitrary::record(), 1..6), at: prop::sample::Index) {
        let mut kept = Kept::default();
        let mut bytes = Vec::new();
        for batch in records.chunks(2) {
            let encoded = encode_batch(batch).unwrap();
            bytes.extend(encoded.bytes);
            kept.keep(encoded.blobs);
        }
        let cut = at.index(bytes.len() + 1);
        let first = scan(&bytes[..cut], Position::default(), &kept).unwrap();
        let second = scan(&bytes[first.end.offset as usize..], first.end, &kept).unwrap();
        let read: Vec<Record> = first.records.into_iter().chain(second.records).collect();
        prop_assert_eq!(read, records);
        prop_assert_eq!(second.end.offset, bytes.len() as u64);
        prop_assert_eq!(second.tail, None);
        prop_assert_eq!(second.found, vec![]);
    }

    /// Whatever happened to a file: reading it never fails, and every byte is read, set aside or torn.
    #[test]
    fn any_bytes_are_accounted_for(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 0..6),
    ) {
        let mut bytes = journal(&[&drawn("u1 - a1 - u2*"), &drawn("u1 - a1")[1..], &drawn("u9")[1..]]);
        for (from, to, byte, how) in cuts {
            let (from, to) = (from.index(bytes.len() + 1), to.index(bytes.len() + 1));
            let range = from.min(to)..from.max(to);
            match how {
                0 => bytes[range].fill(byte),
                1 => bytes.truncate(from.max(to)),
                2 => bytes.insert(from, byte),
                _ => {
                    let copy = bytes[range].to_vec();
                    bytes.splice(from..from, copy);
                }
            }
        }
        match scan(&bytes, Position::default(), &NoBlobs) {
            Ok(read) => {
                let torn = read.tail.map_or(0, |tail| tail.bytes);
                prop_assert_eq!(read.end.offset + torn, bytes.len() as u64);
                prop_assert!(read.tail.is_none_or(|tail| tail.bytes > 0));
            }
            Err(newer) => prop_assert!(newer.version > 1),
        }
    }
}

/// R-013: every entry has an id and a parent; a root has none.
#[test]
fn lines_look_like_this() {
    let at = FixedStamps::start();
    let header = Record::opened(SessionHeader::new("s1".into(), at));
    assert_eq!(line(&header), r#"{"k":"open","v":1,"id":"s1","at":"2025-01-01T00:00:00Z","sum":"23d152d3"}"#);
    let prompt = entry("u1", Body::prompt("hi")).in_operation("op1".into());
    assert_eq!(
        line(&prompt),
        r#"{"k":"entry","id":"u1","parent":null,"at":"2025-01-01T00:00:00Z","op":"op1","body":{"prompt":{"blocks":[{"text":"hi"}]}},"sum":"cd25b033"}"#
    );
    let head_move = HeadMove { head: HeadName::main(), moved_at: at, from: None, to: Some("u1".into()) };
    assert_eq!(
        line(&Record::head_moved(head_move)),
        r#"{"k":"head","at":"2025-01-01T00:00:00Z","head":"main","from":null,"to":"u1","sum":"8c977161"}"#
    );
    let label = Record::marked(at, Fact::Label { target: "u1".into(), label: Some("start".into()) });
    assert_eq!(
        line(&label),
        r#"{"k":"mark","at":"2025-01-01T00:00:00Z","fact":{"label":{"target":"u1","label":"start"}},"sum":"f2fc5e90"}"#
    );
    let kept = Record::unknown(RawLine::new(*b"{\"type\":\"odd\"}\n"));
    assert_eq!(line(&kept), r#"{"k":"line","source":"{\"type\":\"odd\"}\n","sum":"2c2a6174"}"#);
    let first = encode(&prompt, InBatch::MoreFollow).unwrap().line;
    assert!(first.starts_with(br#"{"k":"entry","more":1,"id":"u1","#));
}

/// Every other record of the same kind is written as before; this one comes back as it was.
#[test]
fn fields_of_a_later_version_survive() {
    let written = line(&entry("u1", Body::prompt("hi")));
    for (place, with) in [
        (r#","body""#, r#","mood":"good","body""#),
        (r#""blocks""#, r#""colour":{"deep":[1]},"blocks""#),
        (r#"{"text":"hi"}"#, r#"{"text":"hi"},{"video":{"frames":3}}"#),
    ] {
        let later = resealed(&written.replace(place, with));
        let record = read(&later);
        assert_eq!(record.as_entry().unwrap().body.text(), "hi", "{later}");
        assert_eq!(line(&record), later);
        let in_batch = encode(&record, InBatch::MoreFollow).unwrap().line;
        let decoded = decode(in_batch.trim_ascii_end(), &NoBlobs).unwrap();
        assert_eq!((decoded.record, decoded.in_batch), (record, InBatch::MoreFollow));
    }
}

#[test]
fn kinds_of_a_later_version_survive() {
    let vote = resealed(r#"{"k":"vote","at":"2031-01-01T00:00:00Z","op":"op9","for":"u1","sum":"00000000"}"#);
    let decoded = decode(vote.as_bytes(), &NoBlobs).unwrap();
    assert_eq!(decoded.notes, [Note::UnknownKind("vote".into())]);
    assert_eq!(decoded.record.change, Change::Unknown);
    assert_eq!(decoded.record.operation, Some("op9".into()));
    assert_eq!(line(&decoded.record), vote);

    let mark = line(&Record::marked(FixedStamps::start(), Fact::TurnEnded { turn: "t".into() }));
    let later = resealed(&mark.replace("turn_ended", "turn_rated"));
    assert_eq!(read(&later).change, Change::Unknown);
    assert_eq!(line(&read(&later)), later);
}

#[test]
fn an_entry_of_a_later_version_keeps_its_place() {
    let written = line(&entry("u1", Body::prompt("hi")));
    for (place, with) in
        [("prompt", "poem"), (r#"[{"text":"hi"}]"#, "7"), (r#"{"text":"hi"}"#, r#"{"text":7}"#)]
    {
        let later = resealed(&written.replace(place, with));
        let record = read(&later);
        let entry = record.as_entry().unwrap();
        assert_eq!(entry.id, "u1".into());
        assert!(matches!(entry.body, Body::Foreign(_)), "{later}");
        assert_eq!(line(&record), later);
    }
}

/// A record that is no longer what its line says must not be written as that line.
#[test]
fn a_changed_record_is_written_anew_and_keeps_its_line() {
    let later =
        resealed(&line(&entry("u1", Body::prompt("hi"))).replace(r#","body""#, r#","mood":1,"body""#));
    let moved = read(&later).in_operation("op2".into());
    let again = read(&line(&moved));
    assert_eq!(again, moved);
    assert_eq!(again.source.unwrap().content(), later.as_bytes());
}

#[test]
fn a_newer_format_is_refused() {
    let header = line(&Record::opened(SessionHeader::new("s1".into(), FixedStamps::start())));
    let newer = resealed(&header.replace(r#""v":1"#, r#""v":3"#));
    assert_eq!(decode(newer.as_bytes(), &NoBlobs), Err(Undecodable::Newer(3)));
    let refused = scan(format!("{newer}\n").as_bytes(), Position::default(), &NoBlobs).unwrap_err();
    assert_eq!(refused, NewerFormat { version: 3 });
    assert_eq!(refused.to_string(), "format 3 is newer than this program knows (2)");
}

#[test]
fn long_strings_lie_in_blobs() {
    let long = "x".repeat(65_537);
    let encoded = encode(&entry("u1", Body::prompt(long.clone())), InBatch::Last).unwrap();
    assert!(encoded.line.len() < 300);
    let [blob] = &encoded.blobs[..] else { panic!("one blob") };
    assert_eq!(blob.bytes, long.as_bytes());
    let exact = encode(&entry("u1", Body::prompt("x".repeat(65_536))), InBatch::Last).unwrap();
    assert!(exact.blobs.is_empty());
}

#[test]
fn a_missing_blob_leaves_the_rest_of_the_record() {
    let body = Body::Reply(Reply {
        blocks: vec![Block::Text("short".into()), Block::Thinking("x".repeat(70_000))],
        ..Reply::default()
    });
    let encoded = encode(&entry("a1", body), InBatch::Last).unwrap();
    let decoded = decode(encoded.line.trim_ascii_end(), &NoBlobs).unwrap();
    let name = encoded.blobs[0].name.clone();
    assert_eq!(decoded.notes, [Note::Blob { name: name.clone(), trouble: BlobTrouble::Missing }]);
    let [Block::Text(short), Block::Thinking(gone)] = decoded.record.as_entry().unwrap().body.blocks() else {
        panic!("two blocks")
    };
    assert_eq!(short, "short");
    assert_eq!(*gone, format!("[70000 bytes are missing: blob {name}]"));
    assert_eq!(encode(&decoded.record, InBatch::Last).unwrap().line, encoded.line, "the reference survives");
}

#[test]
fn values_too_deep_to_be_read_again_are_refused() {
    let with = |depth| {
        let input = arbitrary::nested(1.into(), depth);
        entry(
            "c1",
            Body::Reply(Reply {
                blocks: vec![Block::ToolUse(ToolUse { id: "t".into(), name: "n".into(), input })],
                ..Reply::default()
            }),
        )
    };
    assert_eq!(read(&line(&with(119))), with(119));
    assert!(matches!(encode(&with(1_000), InBatch::Last), Err(Unwritable::TooDeep(1_001))));
}

#[test]
fn a_batch_cut_off_anywhere_does_not_count() {
    let records = drawn("u1 - a1 - u2 - a2*");
    let (first, last) = records.split_at(2);
    let whole = journal(&[first, last]);
    let kept = journal(&[first]).len();
    for cut in kept..whole.len() {
        let read = scanned(&whole[..cut]);
        if cut == whole.len() - 1 {
            assert_eq!(read.records, records, "only the newline is lost");
            assert!(read.end.owes_newline);
            assert_eq!(read.tail, None);
            assert!(matches!(read.found[..], [ref found] if found.flaw == Flaw::LostNewline));
            continue;
        }
        assert_eq!(read.records, first, "cut at {cut}");
        assert_eq!(read.end.offset, kept as u64);
        assert_eq!(read.tail.map(|tail| tail.bytes), (cut > kept).then_some((cut - kept) as u64));
    }
}

#[test]
fn a_tail_says_what_it_is() {
    let whole = journal(&[&drawn("u1 - a1")]);
    let last_line = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    assert_eq!(scanned(&whole[..last_line]).tail.unwrap().torn_by, TornBy::UnfinishedBatch);
    assert_eq!(scanned(&whole[..last_line + 9]).tail.unwrap().torn_by, TornBy::UnfinishedLine);
}

#[test]
fn a_damaged_line_is_set_aside_and_the_rest_is_read() {
    let records = drawn("u1 - a1 - u2*");
    let mut bytes = journal(&[&records[..2], &records[2..3], &records[3..]]);
    let at = String::from_utf8_lossy(&bytes).find(r#""id":"a1""#).unwrap() + 6;
    bytes[at] ^= 1;
    let read = scanned(&bytes);
    assert_eq!(drawing(&read), "u1\nu2*\n");
    assert_eq!(read.tail, None);
    let [found] = &read.found[..] else { panic!("one flaw: {:?}", read.found) };
    assert_eq!(found.line, 3);
    assert!(matches!(found.flaw, Flaw::Damaged { damage: Damage::WrongChecksum, .. }));
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    assert_eq!(found.offset, start as u64);
    let kept = read.records[2].source.as_ref().unwrap();
    assert!(bytes[start..].starts_with(kept.bytes()));
}

/// The last line of a journal may be the one that is damaged: it was acknowledged, so it is not a torn tail.
#[test]
fn damage_at_the_end_is_not_a_torn_tail() {
    let records = drawn("u1 - a1");
    let mut bytes = journal(&[&records]);
    let at = bytes.len() - 30;
    bytes[at] ^= 4;
    let read = scanned(&bytes);
    assert_eq!(read.tail, None);
    assert_eq!(drawing(&read), "u1\n");
}

#[test]
fn a_lost_newline_costs_nothing() {
    let records = drawn("u1 - a1*");
    let whole = journal(&[&records[..1], &records[1..2], &records[2..]]);
    for at in (0..whole.len()).filter(|at| whole[*at] == b'\n') {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let read = scanned(&bytes);
        assert_eq!(read.records, records);
        assert_eq!(read.tail, None);
        assert_eq!(read.found.len(), 1, "{:?}", read.found);
        bytes.remove(at);
        assert_eq!(scanned(&bytes).records, records, "nothing between the lines");
    }
}

/// Disks write pages in any order: after a power cut the last batch may have holes.
#[test]
fn a_last_batch_with_a_hole_does_not_count() {
    let records = drawn("u1 - a1 - u2 - a2*");
    let whole = journal(&[&records[..2], &records[2..]]);
    let start = journal(&[&records[..2]]).len();
    let newlines = whole.iter().filter(|byte| **byte == b'\n').count();
    for (from, to) in
        [(start, start + 1), (start, start + 200), (start + 60, start + 68), (start + 60, whole.len() - 9)]
    {
        let mut bytes = whole.clone();
        bytes[from..to].fill(0);
        let read = scanned(&bytes);
        assert_eq!(read.records, &records[..2], "{from}..{to}");
        assert_eq!(read.found, []);
        assert_eq!(read.tail.unwrap().torn_by, TornBy::Hole);
        assert_eq!(read.end.offset, start as u64);
    }
    assert_eq!(newlines, records.len());
}

/// Further up nothing was under way: zeros there are damage, and what follows was acknowledged.
#[test]
fn a_hole_further_up_is_damage() {
    let records = drawn("u1 - a1 - u2*");
    let mut bytes = journal(&[&records[..1], &records[1..2], &records[2..3], &records[3..]]);
    let at = journal(&[&records[..1]]).len();
    bytes[at..at + 20].fill(0);
    let read = scanned(&bytes);
    assert_eq!(read.tail, None);
    assert_eq!(read.records.len(), records.len());
    assert_eq!(read.records[2..], records[2..]);
    assert!(matches!(&read.found[..], [found] if found.line == 2));
}
