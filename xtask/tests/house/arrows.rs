//! Which of our crates may know which. The drawing below is the rule, and ARCHITECTURE.md shows the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::metadata::{packages, text};
use serde_json::Value;

/// Folders, not packages. To the product `testkit` is never more than a dev-dependency.
pub(crate) const ARROWS: &str = "\
cli             → tui · server · mcp · engine · api · store · transcripts · session
tui             → api
mcp             → api
server          → api · web-assets
engine          → api · agents · checkpoints · store · transcripts · session
agents          → transcripts · session
store           → transcripts · session
store-postgres  → store · session
api             → session
transcripts     → session
session         →
checkpoints     →
web-assets      →
testkit         → session
xtask           → api · agents · testkit · store · transcripts · session
";

type Arrows = BTreeMap<String, BTreeSet<String>>;

#[test]
fn crates_know_only_whom_they_may() {
    let found = arrows_of(&packages(&["--offline", "--no-deps"]).unwrap());
    assert!(found["transcripts"].contains("session"), "no arrows were read: {found:?}");
    assert_eq!(forbidden(&found, &drawn(ARROWS)), Vec::<String>::new());
}

#[test]
fn every_package_is_named_after_its_folder() {
    for package in packages(&["--offline", "--no-deps"]).unwrap() {
        let folder = folder_of(text(&package, "manifest_path"));
        let expected = match folder {
            "cli" => "offshoot".to_owned(),
            "xtask" => "xtask".to_owned(),
            folder => format!("offshoot-{folder}"),
        };
        assert_eq!(text(&package, "name"), expected);
    }
}

#[test]
fn a_forbidden_arrow_is_named() {
    let rule = drawn("cli → session\nsession →");
    let check = |found: &str| forbidden(&drawn(found), &rule);
    assert!(check("cli → session\nsession →").is_empty());
    assert!(check("cli →").is_empty(), "an arrow that is allowed need not exist");
    assert_eq!(check("session → cli"), ["session → cli"]);
    assert_eq!(check("utils → session"), ["utils is not in the drawing"]);
}

#[test]
fn dev_dependencies_are_no_arrows() {
    let package = serde_json::json!({
        "manifest_path": "/w/crates/store/Cargo.toml",
        "dependencies": [
            { "name": "offshoot-session", "kind": null, "path": "/w/crates/session" },
            { "name": "offshoot-api", "kind": "build", "path": "/w/crates/api" },
            { "name": "offshoot-testkit", "kind": "dev", "path": "/w/crates/testkit" },
            { "name": "serde_json", "kind": null },
        ],
    });
    assert_eq!(arrows_of(&[package]), drawn("store → api · session"));
}

fn drawn(drawing: &str) -> Arrows {
    let lines = drawing.lines().filter_map(|line| line.split_once('→'));
    lines
        .map(|(from, to)| {
            let to = to.split('·').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
            (from.trim().to_owned(), to.collect())
        })
        .collect()
}

/// The arrows that the packages have: dependencies on folders of ours, except those only tests need.
fn arrows_of(packages: &[Value]) -> Arrows {
    let arrow = |dependency: &Value| {
        let ours = dependency.get("path").and_then(Value::as_str)?;
        (text(dependency, "kind") != "dev")
            .then(|| Path::new(ours).file_name().unwrap_or_default().to_string_lossy().into_owned())
    };
    let dependencies =
        |package: &Value| package.get("dependencies").and_then(Value::as_array).cloned().unwrap_or_default();
    packages
        .iter()
        .map(|package| {
            let from = folder_of(text(package, "manifest_path")).to_owned();
            (from, dependencies(package).iter().filter_map(arrow).collect())
        })
        .collect()
}

fn forbidden(found: &Arrows, allowed: &Arrows) -> Vec<String> {
    let mut forbidden = Vec::new();
    for (from, to) in found {
        match allowed.get(from) {
            None => forbidden.push(format!("{from} is not in the drawing")),
            Some(allowed) => {
                forbidden.extend(to.difference(allowed).map(|to| format!("{from} → {to}")));
            }
        }
    }
    forbidden
}

fn folder_of(manifest: &str) -> &str {
    manifest.trim_end_matches("/Cargo.toml").rsplit('/').next().unwrap_or_default()
}
