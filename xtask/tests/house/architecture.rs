//! ARCHITECTURE.md is read by people, so it must not drift away from what the tests know.

use std::fs;

use crate::arrows::ARROWS;
use crate::metadata::root;
use crate::purity::rust_files;

#[test]
fn the_architecture_shows_the_arrows_that_are_checked() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(architecture.contains(ARROWS), "ARCHITECTURE.md draws other arrows than the test");
}

#[test]
fn every_test_that_the_architecture_names_exists() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut sources = String::new();
    for folder in ["crates", "xtask"] {
        for file in rust_files(&root().join(folder)).unwrap() {
            sources.push_str(&fs::read_to_string(file).unwrap());
        }
    }
    let named = tests_named_in(&architecture);
    assert!(!named.is_empty(), "ARCHITECTURE.md names no tests");
    for test in named {
        let exists = [format!("#[test]\nfn {test}()"), format!("]\nasync fn {test}()")];
        assert!(exists.iter().any(|exists| sources.contains(exists)), "there is no test `{test}`");
    }
}

#[test]
fn a_test_is_named_by_a_sentence() {
    let text = "`session` and `store-postgres`; see `a_head_follows_its_turn`, `web_assets`";
    assert_eq!(tests_named_in(text), ["a_head_follows_its_turn"]);
}

/// Words in backticks that are sentences.
fn tests_named_in(text: &str) -> Vec<&str> {
    let in_backticks = text.split('`').skip(1).step_by(2);
    let is_sentence = |word: &&str| {
        word.matches('_').count() >= 3 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    in_backticks.filter(is_sentence).collect()
}
