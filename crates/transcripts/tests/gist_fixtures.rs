//! Files of real programs, followed line by line and kept in between: at every line the gist is that of the whole reading.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and say what they skip"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use offshoot_session::cost::{Charge, ChargeName};
use offshoot_session::{Model, SessionTree, Usage};
use offshoot_transcripts::gist::{Follow, Gist, Lines, Said, charges_of_tree, lines_of, of_tree};

/// Reading a file whole at every line of it takes the square of its length.
const PREFIXES: usize = 20;

fn files(test: &str) -> Vec<PathBuf> {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let folder = Some(shared.join("fixtures")).filter(|folder| folder.is_dir());
    let Some(folder) = folder else {
        println!("skipped: {test} (set OFFSHOOT_SHARED to a folder with `fixtures`)");
        return Vec::new();
    };
    let (mut open, mut files) = (vec![folder], Vec::new());
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(items) => open.extend(items.map(|item| item.expect("an item").path())),
            Err(_) if path.extension().is_some_and(|end| end == "jsonl") => files.push(path),
            Err(_) => {}
        }
    }
    files.sort();
    files
}

fn whole(name: &str, bytes: &[u8]) -> Option<(Gist, Vec<Said>)> {
    let transcript = offshoot_transcripts::read(Some(name), bytes).ok()?;
    Some(of_tree(&SessionTree::replay(transcript.records).0))
}

/// The gist, and for each text its entry, its words and its turn.
type Told = (Gist, Vec<(String, String, Option<u32>)>);

fn charges_in(name: &str, bytes: &[u8]) -> Vec<Charge> {
    let transcript = offshoot_transcripts::read(Some(name), bytes).expect("a session");
    charges_of_tree(&SessionTree::replay(transcript.records).0)
}

/// The names of a reply, what was used for it, the model, and whether it is a sum.
type Used = (Vec<ChargeName>, Usage, Option<Model>, bool);

/// What was used for each reply, as it was told last. Nothing is nothing, told or not.
fn used(charges: &[Charge]) -> BTreeMap<Option<ChargeName>, Used> {
    let mut used = BTreeMap::new();
    for Charge { names, model, usage, is_sum, .. } in charges {
        if usage.context_tokens() > 0 || usage.cost_micros != 0 {
            used.insert(names.first().copied(), (names.clone(), *usage, model.clone(), *is_sum));
        }
    }
    used
}

/// What a list and a search tell; who is a sub-agent is told by the quick reading only.
fn told(gist: &Gist, said: &[Said]) -> Told {
    // whether a session without a turn has a branch is nobody's question
    let gist = Gist { is_side: false, branches: gist.branches.max(1), ..gist.clone() };
    let title = gist.title().map(str::to_owned);
    let said = said.iter().map(|said| (said.entry.clone(), said.text.clone(), said.turn)).collect();
    (Gist { user_title: title, auto_title: None, ..gist }, said)
}

#[test]
fn a_file_that_grows_is_told_of_as_if_it_were_read_whole() {
    let mut counts: BTreeMap<String, (u32, u32, u32)> = BTreeMap::new();
    for path in files("a_file_that_grows_is_told_of_as_if_it_were_read_whole") {
        let bytes = std::fs::read(&path).expect("a fixture");
        let name = path.to_string_lossy();
        let Some(lines) = lines_of(Some(&name), &bytes) else { continue };
        let count = counts.entry(format!("{lines:?}")).or_default();
        let all: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let step = all.len().div_ceil(PREFIXES).max(1);
        let (mut follow, mut said, mut at) = (Follow::begin(lines, Some(&name)), Vec::new(), 0);
        let (mut is_followed, mut sees_all_ways) = (true, true);
        let mut charges = Vec::new();
        for (n, line) in all.iter().enumerate() {
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            if content.len() == line.len()
                && serde_json::from_slice::<serde_json::Map<_, _>>(content).is_err()
            {
                break; // not whole yet
            }
            if follow.take(content, at as u64, &mut said).is_err() {
                is_followed = false;
                break;
            }
            at += line.len();
            if n % step != 0 && n + 1 != all.len() {
                continue;
            }
            charges.extend(follow.take_charges());
            follow = Follow::resume(&follow.keep()).expect("what was kept");
            let (Ok(gist), Some((expected, words))) = (follow.gist(Some(&name)), whole(&name, &bytes[..at]))
            else {
                continue;
            };
            if gist.is_side {
                break; // what a sub-agent was asked is no turn in a list, and one where the file is opened by itself
            }
            let (mut now, mut expected) = (told(&gist, &said), told(&expected, &words));
            let place = format!("{name} at line {}", n + 1);
            assert_eq!(used(&charges), used(&charges_in(&name, &bytes[..at])), "{place}");
            if matches!(lines, Lines::Pi | Lines::Claude) {
                // where only answers part, it sees one way
                assert!(now.0.branches <= expected.0.branches, "{place}: {} ways", now.0.branches);
                sees_all_ways = now.0.branches == expected.0.branches;
                now.0.branches = expected.0.branches;
            }
            if now.0.entries == 0 {
                // a header has to say when a session began, also where no line does
                (expected.0.opened_at, expected.0.updated_at) = (now.0.opened_at, now.0.updated_at);
            }
            assert_eq!(now, expected, "{place}");
        }
        match is_followed {
            true if sees_all_ways => count.0 += 1,
            true => count.1 += 1,
            false => count.2 += 1,
        }
    }
    for (lines, (all, some, not)) in &counts {
        println!("{lines}: {all} followed, {some} with fewer ways, {not} for the whole reading");
        assert!(all > some, "{lines}: most files have all their ways");
    }
}
