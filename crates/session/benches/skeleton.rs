//! The shape of a long session: folded, asked for a path, walked.
//!
//! `cargo bench -p offshoot-session --bench skeleton`

use divan::Bencher;
use divan::counter::ItemsCount;
use offshoot_session::skeleton::{Fields, Kind, Log, Moment, Names, Skeleton, Told};

const ENTRIES: usize = 200_000;

fn main() {
    divan::main();
}

fn id(number: usize) -> String {
    format!("{:08x}", (number as u32).wrapping_mul(0x9e37_79b1))
}

/// A long line with a branch off it at every hundredth entry.
fn log() -> Log {
    let mut log = Log::default();
    for number in 0..ENTRIES {
        let parent = match number {
            0 => None,
            _ if number % 100 == 99 => Some(id(number - 50)),
            _ if number % 100 == 0 => Some(id(number - 2)),
            _ => Some(id(number - 1)),
        };
        let at = Moment { seconds: number as i64, nanoseconds: 0 };
        let (id, kind) = (id(number), if number % 1000 == 999 { Kind::Compaction } else { Kind::Reply });
        let fields = Fields { id: &id, parent: parent.as_deref(), at, turn: None, operation: None, kind };
        let _ = log.push_entry(&fields, number as u64 * 4_000, 4_000);
    }
    log
}

#[divan::bench]
fn number_ids(bencher: Bencher) {
    let ids: Vec<String> = (0..ENTRIES).map(id).collect();
    bencher.counter(ItemsCount::new(ENTRIES)).with_inputs(Names::default).bench_local_values(|mut names| {
        ids.iter().filter_map(|id| names.number(id)).for_each(|name| assert!(name.0 < ENTRIES as u32));
        names
    });
}

#[divan::bench]
fn fold(bencher: Bencher) {
    let log = log();
    bencher
        .counter(ItemsCount::new(ENTRIES))
        .with_inputs(|| log.clone())
        .bench_local_values(|log| Skeleton::fold(log, Told::default()));
}

#[divan::bench]
fn path_to_the_last(bencher: Bencher) {
    let Ok(skeleton) = Skeleton::fold(log(), Told::default()) else { return };
    bencher.bench_local(|| skeleton.path_to(Some(ENTRIES as u32 - 1)));
}

#[divan::bench]
fn walk(bencher: Bencher) {
    let Ok(skeleton) = Skeleton::fold(log(), Told::default()) else { return };
    bencher.counter(ItemsCount::new(ENTRIES)).bench_local(|| skeleton.walk());
}
