//! One line at a time: written, read, and only its beginning read.
//!
//! `cargo bench -p offshoot-session --bench lines`

use std::hint::black_box;

use divan::Bencher;
use divan::counter::BytesCount;
use offshoot_session::format::skim::Skim;
use offshoot_session::format::{InBatch, NoBlobs, decode, encode};
use offshoot_session::live::{Delta, LiveReplies};
use offshoot_session::{Block, Body, Entry, Record, Stamps, ToolResult};
use offshoot_testkit::FixedStamps;

fn main() {
    divan::main();
}

/// A result of a tool as it usually is: lines of a few words, some in colour.
fn record() -> Record {
    let mut stamps = FixedStamps::default();
    let words =
        "src/engine/scan.rs:120: let found = next(\"word\");\n\u{1b}[32m   ok\u{1b}[0m naïve — 8 µs\n";
    let result = ToolResult {
        call: "call_1".into(),
        tool: "grep".into(),
        blocks: vec![Block::Text(words.repeat(50))],
        failed: false,
        usage: None,
        changed_input: None,
    };
    let body = Body::ToolResult(result);
    let (id, parent) = (stamps.entry_id(), Some(stamps.entry_id()));
    Record::entry(Entry { id, parent, written_at: stamps.now(), turn: Some(stamps.turn_id()), body })
}

fn line() -> Vec<u8> {
    encode(&record(), InBatch::Last).map(|encoded| encoded.line).unwrap_or_default()
}

fn without_newline(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

#[divan::bench]
fn write(bencher: Bencher) {
    let record = record();
    let bytes = BytesCount::new(line().len());
    bencher
        .counter(bytes)
        .bench_local(|| encode(black_box(&record), InBatch::Last).map(|line| line.line.len()));
}

#[divan::bench]
fn read(bencher: Bencher) {
    let line = line();
    let bytes = BytesCount::new(line.len());
    bencher.counter(bytes).bench_local(|| decode(black_box(without_newline(&line)), &NoBlobs));
}

#[divan::bench]
fn skim(bencher: Bencher) {
    let line = line();
    bencher
        .with_inputs(Skim::default)
        .bench_local_refs(|skim| skim.take(black_box(without_newline(&line)), 0, true).is_ok());
}

/// What a word costs that is streamed, however long the reply is already.
#[divan::bench(args = [0, 1_000_000])]
fn streamed_word(bencher: Bencher, words_before: usize) {
    let mut stamps = FixedStamps::default();
    let mut live = LiveReplies::default();
    let turn = stamps.turn_id();
    live.begin(turn.clone(), stamps.entry_id());
    for _ in 0..words_before {
        let _ = live.extend(&turn, Delta::Words("word "), &mut stamps);
    }
    bencher.bench_local(|| live.extend(&turn, Delta::Words("word "), &mut stamps).is_ok());
}
