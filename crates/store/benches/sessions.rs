//! A session on a real disk: opened, looked at, appended to.
//!
//! `cargo bench -p offshoot-store`; for long sessions beside other programs see `cargo xtask bench`.

use std::convert::Infallible;

use divan::Bencher;
use offshoot_session::context::ContextOptions;
use offshoot_session::{
    Block, Body, Entry, EntryId, HeadMove, HeadName, Record, Reply, SessionHeader, SessionId, Stamps,
};
use offshoot_store::lazy::UseIndex;
use offshoot_store::{Home, Journal, JournalStore, LazySession, Locking};
use offshoot_testkit::FixedStamps;
use tempfile::TempDir;

const ENTRIES: usize = 2_000;

fn main() {
    divan::main();
}

/// A journal of about eight megabytes in a folder of its own.
struct Long {
    _folder: TempDir,
    store: JournalStore,
    id: SessionId,
    tip: EntryId,
    stamps: FixedStamps,
}

impl Long {
    fn new() -> Option<Self> {
        let folder = TempDir::new().ok()?;
        let store = JournalStore::at(Home::at(folder.path()), Locking::by("bench"));
        let mut stamps = FixedStamps::default();
        let id = stamps.session_id();
        let mut records = vec![Record::opened(SessionHeader::new(id.clone(), stamps.now()))];
        let mut tip = None;
        for _ in 0..ENTRIES {
            let entry = entry(&mut stamps, tip.take());
            tip = Some(entry.id.clone());
            records.push(Record::entry(entry));
        }
        let moved_at = stamps.now();
        let to = tip.clone();
        records.push(Record::head_moved(HeadMove { head: HeadName::main(), moved_at, from: None, to }));
        store.begin(&records).ok()?;
        Some(Self { _folder: folder, store, id, tip: tip?, stamps })
    }

    fn lazy(&self, index: UseIndex) -> Option<LazySession> {
        self.store.lazy(&self.id, index).ok()?
    }

    fn journal(&self) -> Option<Journal> {
        self.store.journal(&self.id).ok()?
    }
}

fn entry(stamps: &mut FixedStamps, parent: Option<EntryId>) -> Entry {
    let words = "src/engine/scan.rs:120: let found = next(\"word\");\n".repeat(75);
    let body = Body::Reply(Reply { blocks: vec![Block::Text(words)], ..Reply::default() });
    Entry { id: stamps.entry_id(), parent, written_at: stamps.now(), turn: None, body }
}

#[divan::bench]
fn open_whole(bencher: Bencher) {
    let Some(long) = Long::new() else { return };
    bencher.bench_local(|| long.journal().is_some());
}

#[divan::bench]
fn open_shape(bencher: Bencher) {
    let Some(long) = Long::new() else { return };
    bencher.bench_local(|| long.lazy(UseIndex::No).is_some());
}

#[divan::bench]
fn open_with_index(bencher: Bencher) {
    let Some(long) = Long::new() else { return };
    long.lazy(UseIndex::No).map(|lazy| lazy.save_index());
    bencher.bench_local(|| long.lazy(UseIndex::Yes).is_some());
}

#[divan::bench]
fn first_context_read(bencher: Bencher) {
    let Some(long) = Long::new() else { return };
    bencher.with_inputs(|| long.lazy(UseIndex::No)).bench_local_refs(|lazy| {
        lazy.as_mut().map(|lazy| lazy.read_context_at(None, &ContextOptions::default()).is_ok())
    });
}

#[divan::bench]
fn first_context_at_hand(bencher: Bencher) {
    let Some(long) = Long::new() else { return };
    bencher.with_inputs(|| long.lazy(UseIndex::No)).bench_local_refs(|lazy| {
        lazy.as_mut().map(|lazy| lazy.context_at(None, &ContextOptions::pi()).is_ok())
    });
}

#[divan::bench]
fn context_again(bencher: Bencher) {
    let Some(mut lazy) = Long::new().and_then(|long| long.lazy(UseIndex::No)) else { return };
    bencher.bench_local(|| lazy.read_context_at(None, &ContextOptions::default()).is_ok());
}

/// One sync each: what the disk takes is most of it.
#[divan::bench(args = [1, 8])]
fn append(bencher: Bencher, records: usize) {
    let Some(Long { store, id, tip, mut stamps, _folder }) = Long::new() else { return };
    let Ok(Some(mut journal)) = store.journal(&id) else { return };
    bencher
        .with_inputs(|| {
            let entries = (0..records).map(|_| Record::entry(entry(&mut stamps, Some(tip.clone()))));
            entries.collect::<Vec<Record>>()
        })
        .bench_local_values(|records| journal.write(|_| Ok::<_, Infallible>(records)).is_ok());
}
