//! Sessions whose cost their program has told, where the folder with them is at hand: the table comes to the same sum,
//! and a history that was copied is counted once.

use std::path::{Path, PathBuf};

use offshoot_session::SessionTree;
use offshoot_session::cost::{Charge, CountedOnce, Prices, Tally, charges};
use offshoot_transcripts::claude::{billed_as, read};

#[test]
fn costs_are_those_that_the_program_told() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let folder = shared.join("recordings/claude-code/sessions");
    if !folder.is_dir() {
        println!(
            "skipped: costs_are_those_that_the_program_told (set OFFSHOOT_SHARED to a folder with `recordings`)"
        );
        return;
    }
    let of = |name: &str| -> Vec<Charge> {
        let bytes = std::fs::read(folder.join(name)).expect("a recording");
        let (tree, _) = SessionTree::replay(read(Some(name), &bytes).records);
        charges(&tree, &Prices::listed(), |record| record.source.as_ref().and_then(billed_as))
    };
    let base = of("base-5turns-write-edit-bash.jsonl");
    let tally = Tally::of(&base);
    assert_eq!((tally.usage.input, tally.usage.output), (116_892, 96));
    assert_eq!(tally.usage.cost_micros, 469_488);
    // copies under the same ids, and under new ones
    for fork in ["cli-fork-at-assistant.jsonl", "sdk-forkSession.jsonl"] {
        let mut once = CountedOnce::default();
        once.new_among(base.clone());
        let fork = of(fork);
        let new = once.new_among(fork.clone()).len();
        assert!(new < fork.len(), "{new} of {} replies are new", fork.len());
    }
}
