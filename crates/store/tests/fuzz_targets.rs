//! What cargo-fuzz runs for hours, on a few hundred files each: no panic, no byte lost, and two ways of reading that
//! say the same. `cargo xtask fuzz` runs them for as long as one likes.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and tells its seed"
)]

#[path = "../../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "it is a crate of its own for cargo-fuzz")]
mod fuzz;

use fuzz::mutate::{Chance, file};
use fuzz::{TARGETS, Target};

const FILES: u64 = 250;

fn run(name: &str) {
    let target: &Target = TARGETS.iter().find(|target| target.name == name).expect("a target of this name");
    for sample in target.samples {
        (target.run)(sample.as_bytes());
    }
    for seed in 0..FILES {
        let bytes = file(target.samples, &mut Chance::seeded(seed));
        // The seed is in the output of a test that fails.
        println!("seed {seed}");
        (target.run)(&bytes);
    }
}

/// Found by cargo-fuzz: the name of such a rollout was made of a first line whose long words had been left out.
#[test]
fn a_rollout_may_begin_with_a_line_that_looks_like_another_programs() {
    let words = "x".repeat(300);
    let first = format!("{{\"parentUuid\":null,\"message\":{{\"role\":\"user\",\"content\":\"{words}\"}}}}");
    let output = r#"{"timestamp":"2026-01-01T00:00:09Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"x"}}"#;
    fuzz::targets::light(format!("{first}\n{output}\n").as_bytes());
}

/// Found by chance: what the first prompt of the end hangs below is no entry, but leads to one.
#[test]
fn the_end_of_a_file_of_claude_may_begin_below_a_line_that_is_passed_by() {
    let lines = [
        r#"{"type":"novelty","uuid":"n1","parentUuid":"u1","sessionId":"s"}"#,
        r#"{"parentUuid":"a2","type":"progress","data":{},"uuid":"p1","timestamp":"2026-01-01T00:00:02.500Z"}"#,
        r#"{"parentUuid":"p1","isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":"and"},"uuid":"t1","timestamp":"2026-01-01T00:00:04.000Z"}"#,
    ];
    fuzz::targets::recent(lines.map(|line| format!("{line}\n")).concat().as_bytes());
}

/// Found by chance: the beginning of such a line names one entry, and the last of its keys another.
#[test]
fn two_lines_of_pi_may_have_run_into_each_other() {
    let samples =
        TARGETS.iter().find(|target| target.name == "pi_scan").map_or(&[][..], |target| target.samples);
    let joined = samples.iter().filter_map(|sample| {
        let (before, rest) = sample.split_once("\"tokensBefore")?;
        let (_, behind) = rest.split_once("{\"t")?;
        Some(format!("{before}\"tokensB{behind}"))
    });
    let joined: Vec<String> = joined.collect();
    assert!(!joined.is_empty(), "a sample has a compaction with another line behind it");
    joined.iter().for_each(|file| fuzz::targets::pi_scan(file.as_bytes()));
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_target_is_run_here_and_by_cargo_fuzz() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
            let files = std::fs::read_dir(folder).expect("the folder of the targets");
            let mut files: Vec<String> = files.map(|file| file.expect("a file").path()).filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
            files.sort();
            assert_eq!(files, names);
        }
    };
}

targets!(
    any,
    classify,
    claude,
    claude_beside,
    claude_lines,
    codex,
    ending,
    file_names,
    follow,
    gemini,
    journal,
    light,
    lines,
    llm_anthropic,
    llm_openai,
    oh_my_pi,
    opencode_json,
    opencode_rows,
    pi,
    pi_scan,
    recent,
    resume,
    rollouts,
    rules,
    side_files,
    side_index,
);
