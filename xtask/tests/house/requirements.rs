//! docs/requirements.md names a test for every requirement, so it must not drift away from the tests.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what a helper cannot read fails the test")]

use std::collections::HashMap;
use std::fs;

use crate::metadata::root;

const TOTAL: usize = 208;

/// The only reasons for which a requirement, or a part of it, may be open.
const REASONS: &[&str] = &["page", "terminal UI", "server", "files", "terminals", "agent"];

/// A row of the table.
struct Row<'p> {
    number: usize,
    asks: &'p str,
    /// `path::name`.
    test: Option<&'p str>,
    /// Why it, or a part of it, is open.
    later: Option<&'p str>,
}

#[test]
fn every_requirement_has_a_row() {
    let page = page();
    let numbers: Vec<usize> = rows(&page).iter().map(|row| row.number).collect();
    assert_eq!(numbers, (1..=TOTAL).collect::<Vec<_>>());
}

#[test]
fn every_requirement_has_a_test_or_a_reason_to_come_later() {
    let page = page();
    for Row { number, asks, test, later } in rows(&page) {
        assert!(!asks.is_empty(), "R-{number:03} says nothing");
        assert!(test.is_some() || later.is_some(), "R-{number:03} has neither a test nor a reason");
        let has_reason = |later: &str| REASONS.iter().any(|reason| later.contains(reason));
        assert!(later.is_none_or(has_reason), "R-{number:03} is open for no known reason");
    }
}

#[test]
fn every_test_of_a_requirement_exists_and_carries_its_number() {
    let page = page();
    let mut sources: HashMap<&str, String> = HashMap::new();
    for row in rows(&page) {
        let Some((path, name)) = row.test.and_then(|test| test.rsplit_once("::")) else { continue };
        let source = sources.entry(path).or_insert_with(|| fs::read_to_string(root().join(path)).unwrap());
        let test = test_called(source, name).unwrap_or_else(|| panic!("there is no test `{path}::{name}`"));
        let number = format!("R-{:03}", row.number);
        assert!(test.contains(&number), "`{path}::{name}` does not carry {number}");
    }
}

#[test]
fn a_test_is_found_with_its_comments_and_its_body() {
    let source = "/// R-001: a.\nfn other() {}\n\n/// R-002: b.\n#[test]\nfn one() {\n    // R-003\n}\n\nfn helper() {}\n";
    let test = test_called(source, "one").expect("it is there");
    assert!(test.contains("R-002") && test.contains("R-003") && !test.contains("R-001"));
    assert_eq!(test_called(source, "helper"), None, "no test");
    assert_eq!(test_called(source, "on"), None, "the whole name");
}

fn page() -> String {
    fs::read_to_string(root().join("docs/requirements.md")).unwrap()
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("| R-"));
    lines
        .map(|line| {
            let mut cells = line.trim_end_matches('|').split(" | ").map(str::trim);
            let number = cells.next().and_then(|number| number.parse().ok());
            let number = number.unwrap_or_else(|| panic!("no number: {line}"));
            let asks = cells.next().unwrap_or_default();
            let shows = cells.next().unwrap_or_default();
            assert_eq!(cells.next(), None, "R-{number:03} has too many columns");
            let test = shows.strip_prefix('`').and_then(|shows| shows.split('`').next());
            let later = shows.split_once("*later*: ").map(|(_, why)| why);
            Row { number, asks, test, later }
        })
        .collect()
}

/// A test as it is written: its comments, its attributes and its body.
fn test_called<'s>(source: &'s str, name: &str) -> Option<&'s str> {
    let at = source.find(&format!("fn {name}("))?;
    let is_part = |line: &str| {
        let line = line.trim_start();
        line.starts_with("///") || line.starts_with("#[")
    };
    let line_start = source.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let mut begins = line_start;
    for line in source.get(..line_start)?.lines().rev().take_while(|line| is_part(line)) {
        begins -= line.len() + 1;
    }
    let indent = source.get(line_start..)?.chars().take_while(|c| *c == ' ').count();
    let end = format!("\n{}}}", " ".repeat(indent));
    let ends = source.get(at..)?.find(&end).map_or(source.len(), |end| at + end);
    let test = source.get(begins..ends)?;
    let attributes = source.get(begins..at)?;
    (attributes.contains("#[test]") || attributes.contains("#[tokio::test")).then_some(test)
}
