//! docs/api.md is read by people who write front ends, so it must not forget anything.

use offshoot_api::{ErrorCode, Request};

const PAGE: &str = include_str!("../../../docs/api.md");

#[test]
fn every_request_is_told() {
    for name in Request::NAMES {
        assert!(PAGE.contains(&format!("`{name}`")), "`{name}` is not in docs/api.md");
    }
}

#[test]
fn every_code_that_is_told_exists() {
    let (_, table) = PAGE.split_once("| `code` | |").unwrap();
    let codes: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.split('|').next())
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(codes.len() > 20, "the table was not read: {codes:?}");
    for code in codes {
        let read: Result<ErrorCode, _> = serde_json::from_value(code.into());
        assert!(read.is_ok(), "there is no code `{code}`");
    }
}
