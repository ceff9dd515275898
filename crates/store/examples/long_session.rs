//! One operation on one long session in a process of its own, for `cargo xtask bench`.
//!
//! `long_session OPERATION FORMAT FILE HOME` prints one JSON object with times in milliseconds.

#![expect(clippy::print_stdout, reason = "the output is the result")]

use std::convert::Infallible;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;
use offshoot_session::context::ContextOptions;
use offshoot_session::format::{InBatch, encode};
use offshoot_session::live::{Delta, LiveReplies};
use offshoot_session::{
    Body, Entry, EntryId, Fact, HeadMove, HeadName, OperationId, Record, SessionHeader, SessionId, Stamps,
    TurnId,
};
use offshoot_store::lazy::{Format, UseIndex};
use offshoot_store::{Home, JournalStore, LazySession, Locking};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let begun = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [operation, format, file, home] = arguments.as_slice() else {
        return Err("long_session OPERATION FORMAT FILE HOME".into());
    };
    let format = if format == "pi" { Format::Pi } else { Format::Journal };
    let home = Home::at(home);
    let mut told = match operation.as_str() {
        "append" => append(&home)?,
        _ => run(operation, format, Path::new(file), &home)?,
    };
    told["whole_ms"] = json!(ms(begun));
    told["peak_mb"] = json!(peak_mb());
    println!("{told}");
    Ok(())
}

fn run(operation: &str, format: Format, file: &Path, home: &Home) -> Result<Value, Failure> {
    let index = if operation.ends_with("-indexed") { UseIndex::Yes } else { UseIndex::No };
    let open = Instant::now();
    let session = LazySession::of_file(file, format, Some(home), index)?.ok_or("no such file")?;
    let open_ms = ms(open);
    let mut session = session;
    let begun = Instant::now();
    let told = match operation.trim_end_matches("-indexed") {
        "open" => json!({ "count": session.skeleton().len() }),
        "screen" => {
            let messages = session.last_messages(None, 50)?;
            json!({ "count": messages.len(), "ms": open_ms + ms(begun) })
        }
        "index" => {
            session.save_index()?;
            json!({ "ms": ms(begun) })
        }
        "context" | "context-read" => {
            let reads = operation == "context-read";
            let mut look = || -> Result<(f64, usize), Failure> {
                let begun = Instant::now();
                let count = messages_at(&mut session, None, reads)?;
                Ok((ms(begun), count))
            };
            let (first, count) = look()?;
            let (again, same) = look()?;
            json!({
                "ms": first, "again_ms": again, "end_to_end_ms": open_ms + first,
                "count": count, "same": same,
            })
        }
        "navigate" | "navigate-read" => {
            let reads = operation == "navigate-read";
            let leaves = session.skeleton().leaves();
            let step = (leaves.len() / 20).max(1);
            let targets: Vec<EntryId> = leaves
                .iter()
                .step_by(step)
                .take(20)
                .filter_map(|leaf| session.skeleton().id(*leaf))
                .collect();
            let mut visit_all = || -> Result<(f64, usize), Failure> {
                let begun = Instant::now();
                let mut count = 0;
                for target in &targets {
                    let node = session.node_at(Some(target))?;
                    count += session.skeleton().path_to(node).len();
                    count += messages_at(&mut session, Some(target), reads)?;
                }
                Ok((ms(begun) / targets.len().max(1) as f64, count))
            };
            let (first, count) = visit_all()?;
            let (again, _) = visit_all()?;
            json!({ "ms": first, "again_ms": again, "count": count })
        }
        "outline" => {
            let rows = session.rows();
            json!({ "ms": ms(begun), "count": rows.len() })
        }
        other => return Err(format!("no operation `{other}`").into()),
    };
    let mut told = told;
    told["open_ms"] = json!(open_ms);
    if told.get("ms").is_none() {
        told["ms"] = json!(open_ms);
    }
    Ok(told)
}

/// The context at a place, with every message at hand, or with every message read.
fn messages_at(session: &mut LazySession, at: Option<&EntryId>, reads: bool) -> Result<usize, Failure> {
    Ok(match reads {
        true => session.read_context_at(at, &ContextOptions::pi())?.messages.len(),
        false => session.context_at(at, &ContextOptions::pi())?.len(),
    })
}

/// Durable appends beside a bare write and sync of the same bytes, turn by turn; and deltas that are streamed.
fn append(home: &Home) -> Result<Value, Failure> {
    const ROUNDS: usize = 100;
    let mut clock = Clock(0);
    let store = JournalStore::at(home.clone(), Locking::by("bench"));
    let header = SessionHeader::new(clock.session_id(), clock.now());
    let (mut journal, _) = store.begin(&[Record::opened(header)])?;
    let mut bare = std::fs::OpenOptions::new().append(true).create(true).open(home.root().join("bare"))?;
    let mut times: [Vec<f64>; 5] = Default::default();
    let mut tip = None;
    let text = "and so it went on, ".repeat(60);
    for _ in 0..ROUNDS {
        let record = |tip: &mut Option<EntryId>, clock: &mut Clock| {
            let id = clock.entry_id();
            let parent = tip.replace(id.clone());
            let body = Body::prompt(text.clone());
            Record::entry(Entry { id, parent, written_at: clock.now(), turn: None, body })
        };
        let bytes = encode(&record(&mut None, &mut clock), InBatch::Last)?.line;
        let mut bare = |bytes: &[u8]| -> Result<f64, Failure> {
            let begun = Instant::now();
            bare.write_all(bytes)?;
            bare.sync_data()?;
            Ok(ms(begun))
        };
        // Both write one, one and eight: what the disk does for an append depends on the one before.
        times[0].push(bare(&bytes)?);
        bare(&bytes)?;
        times[4].push(bare(&bytes.repeat(8))? / 8.0);
        let one = record(&mut tip, &mut clock);
        let begun = Instant::now();
        journal.write(|_| Ok::<_, Infallible>(vec![one]))?;
        times[1].push(ms(begun));
        journal.hold()?;
        let one = record(&mut tip, &mut clock);
        let begun = Instant::now();
        journal.write(|_| Ok::<_, Infallible>(vec![one]))?;
        times[2].push(ms(begun));
        let eight: Vec<Record> = (0..8).map(|_| record(&mut tip, &mut clock)).collect();
        let begun = Instant::now();
        journal.write(|_| Ok::<_, Infallible>(eight))?;
        times[3].push(ms(begun) / 8.0);
        journal.release();
    }
    let ratios = |of: usize| -> f64 {
        median(times[of].iter().zip(&times[0]).map(|(ours, bare)| ours / bare).collect())
    };
    let (one, held, eight, bare_eight) = (ratios(1), ratios(2), ratios(3), ratios(4));
    let moved = HeadMove { head: HeadName::main(), moved_at: clock.now(), from: None, to: tip.clone() };
    let edit = [
        Record::entry(Entry {
            id: clock.entry_id(),
            parent: tip,
            written_at: clock.now(),
            turn: Some(clock.turn_id()),
            body: Body::prompt("the same question in other words"),
        }),
        Record::head_moved(moved),
        Record::marked(clock.now(), Fact::Operation { name: "edit".into() }),
    ];
    let edit_bytes = journal.write(|_| Ok::<_, Infallible>(edit.to_vec()))?.bytes;
    Ok(json!({
        "bare_us": median(times[0].clone()) * 1e3, "append_us": median(times[1].clone()) * 1e3,
        "append_ratio": one, "held_ratio": held, "group_of_8_each_ratio": eight,
        "bare_group_of_8_each_ratio": bare_eight,
        "edit_bytes": edit_bytes, "delta_ns": deltas(&store, journal.id(), &mut clock)?,
    }))
}

/// Words that are streamed into memory and, in batches, beside the journal.
fn deltas(store: &JournalStore, session: &SessionId, clock: &mut Clock) -> Result<f64, Failure> {
    const DELTAS: usize = 200_000;
    let mut live = LiveReplies::default();
    let mut drafts = store.drafts(session);
    let (turn, id) = (clock.turn_id(), clock.entry_id());
    live.begin(turn.clone(), id.clone());
    live.append(&turn, Body::reply(""), clock)?;
    let entry = Entry { id, parent: None, written_at: clock.now(), turn: None, body: Body::reply("") };
    let begun = Instant::now();
    drafts.note(&entry)?;
    for _ in 0..DELTAS {
        live.extend(&turn, Delta::Words("word "), clock)?;
        drafts.extend(&entry.id, &Delta::Words("word "))?;
    }
    drafts.flush()?;
    let each = ms(begun) * 1e6 / DELTAS as f64;
    drafts.clear()?;
    Ok(each)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// The most memory this process ever had.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).and_then(|text| text.parse().ok());
    kilobytes.map_or(0.0, |kilobytes: f64| kilobytes / 1024.0)
}

struct Clock(u64);

impl Clock {
    fn id(&mut self) -> String {
        self.0 += 1;
        format!("bench-{}-{}", std::process::id(), self.0)
    }
}

impl Stamps for Clock {
    fn now(&mut self) -> Timestamp {
        Timestamp::now()
    }

    fn entry_id(&mut self) -> EntryId {
        self.id().into()
    }

    fn turn_id(&mut self) -> TurnId {
        self.id().into()
    }

    fn operation_id(&mut self) -> OperationId {
        self.id().into()
    }

    fn session_id(&mut self) -> SessionId {
        self.id().into()
    }

    fn uuid(&mut self) -> String {
        self.id()
    }
}
