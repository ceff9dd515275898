//! Which of two states of a session says more.
//!
//! A program that writes its file anew mostly says what it said before and something new. Then the newer state stands
//! for the older. One that has lost something does not, whatever it has gained.

use std::collections::HashMap;

use offshoot_session::SessionTree;
use offshoot_transcripts::Transcript;
use offshoot_transcripts::gist::{Role, words_of_tree};

use super::Kept;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// All that the older says, and perhaps more.
    AllOfTheOlder,
    /// Nothing that the older does not say.
    LessThanTheOlder,
    SomethingElse,
}

/// What was said, and how often.
type Words = HashMap<(Role, String), usize>;

pub(super) fn newer_says(kept: &Kept, older: &[u8], newer: &[u8]) -> Says {
    let read = |bytes: &[u8]| kept.read(bytes).ok().map(words);
    let (older, newer) = match (read(older), read(newer)) {
        (None, _) => return other_file_says(older, newer),
        (Some(_), None) => return Says::LessThanTheOlder,
        (Some(older), Some(newer)) => (older, newer),
    };
    if is_within(&older, &newer) {
        Says::AllOfTheOlder
    } else if is_within(&newer, &older) {
        Says::LessThanTheOlder
    } else {
        Says::SomethingElse
    }
}

/// A file that is no session: a newer one takes its place, unless it is broken.
fn other_file_says(older: &[u8], newer: &[u8]) -> Says {
    let is_json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    let is_broken = is_json(older) && !is_json(newer);
    if is_broken || older.starts_with(newer) { Says::LessThanTheOlder } else { Says::AllOfTheOlder }
}

fn words(transcript: Transcript) -> Words {
    let mut words = Words::new();
    for said in words_of_tree(&SessionTree::replay(transcript.records).0) {
        *words.entry((said.role, said.text)).or_default() += 1;
    }
    words
}

fn is_within(part: &Words, whole: &Words) -> bool {
    part.iter().all(|(said, count)| whole.get(said).is_some_and(|whole| whole >= count))
}
