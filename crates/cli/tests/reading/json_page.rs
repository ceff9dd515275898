//! `docs/json.md` against the program: every table has just the fields that are printed.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::home::{BURST_ID, TestHome, flipped, session};

const PAGE: &str = include_str!("../../../../docs/json.md");

#[test]
fn the_page_about_json_tells_what_is_printed() {
    let home = TestHome::filled();
    let project = home.folder().to_string_lossy().into_owned();
    let drawing = "u1\"Why?\" - a1\n a1 - u2\"So\" - a2\n a1 - u3\"Else\" - a3*";
    home.put(&session("d0c00000", "2025-03-04T13:00:00Z", Some(&project), None, None, drawing));
    home.run("label d0c0 1 noted");
    home.change_journal(BURST_ID, |bytes| flipped(bytes, 9));
    let tables = tables(PAGE);
    let documented: Vec<&str> = tables.keys().map(String::as_str).collect();
    assert_eq!(
        documented,
        [
            "agents",
            "branch",
            "config show",
            "cost",
            "doctor",
            "fsck",
            "ls",
            "ops",
            "search",
            "show",
            "tree",
            "versions"
        ]
    );
    for (command, fields) in &tables {
        let session = match command.as_str() {
            "agents" | "ls" | "fsck" | "doctor" | "config show" => "",
            "search" => " why",
            _ => " --session d0c0",
        };
        let output = home.output(&format!("{command}{session} --json=lines"));
        let printed = String::from_utf8(output.stdout).expect("text");
        let first: Value = serde_json::from_str(printed.lines().next().expect("an item")).expect("JSON");
        let printed: Vec<&String> = first.as_object().expect("an object").keys().collect();
        assert_eq!(sorted(printed), sorted(fields.iter().collect()), "{command}");
    }
}

fn sorted(mut fields: Vec<&String>) -> Vec<&String> {
    fields.sort();
    fields
}

/// The fields below each heading that names a command.
fn tables(page: &str) -> BTreeMap<String, Vec<String>> {
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut command = None;
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            command = heading.strip_prefix('`').and_then(|heading| heading.strip_suffix('`'));
        } else if let (Some(command), Some(row)) = (command, line.strip_prefix("| `")) {
            let field = row.split('`').next().unwrap_or_default();
            tables.entry(command.to_owned()).or_default().push(field.to_owned());
        }
    }
    tables
}
