//! Sessions whose cost their program has told, where the folder with them is at hand: the table comes to the same sum,
//! and a history that was copied is counted once.

use std::path::{Path, PathBuf};

use offshoot_session::SessionTree;
use offshoot_session::cost::{Charge, CountedOnce, Prices, Tally, charges};
use offshoot_transcripts::claude::{billed_as, read};
use offshoot_transcripts::pi;

/// A folder of recorded files, where it is at hand.
fn shared(folder: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    Some(shared.join(folder)).filter(|folder| folder.is_dir())
}

#[test]
fn costs_are_those_that_the_program_told() {
    let Some(folder) = shared("recordings/claude-code/sessions") else {
        println!(
            "skipped: costs_are_those_that_the_program_told (set OFFSHOOT_SHARED to a folder with `recordings`)"
        );
        return;
    };
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

/// The sums that `get_session_stats` of pi 1.5.0 gives for these files: input, output, millionths of a dollar.
#[test]
fn costs_of_pi_are_those_of_its_own_statistics() {
    let Some(folder) = shared("fixtures/pi-1.5") else {
        println!(
            "skipped: costs_of_pi_are_those_of_its_own_statistics (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    };
    let told = [
        ("2026-11-17T03-00-34-654Z_01a1e772-fadd-75d2-aae8-1edb68aa884f.jsonl", (19_456, 103, 44_709)),
        ("2026-11-17T03-01-28-834Z_my-own.id_1.jsonl", (28_901, 1_359, 107_088)),
        ("2026-11-17T03-02-53-783Z_01a1e775-1a56-76b6-9c30-b2ec937f0039.jsonl", (7_500, 370, 44_000)),
        ("2026-11-17T03-05-42-518Z_01a1e777-ad75-7092-8273-e291f7353936.jsonl", (14_627, 30, 44_331)),
    ];
    for (name, expected) in told {
        let bytes = std::fs::read(folder.join(name)).expect("a fixture");
        let (tree, _) = SessionTree::replay(pi::read(Some(name), &bytes).records);
        let tally = Tally::of(&charges(&tree, &Prices::listed(), |_| None));
        let usage = &tally.usage;
        assert_eq!((usage.input, usage.output, usage.cost_micros), expected, "{name}");
    }
}
