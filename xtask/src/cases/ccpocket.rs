//! Titles of Claude Code's sessions, as a bridge reads and writes them.

use anyhow::Result;
use offshoot_transcripts::claude;
use serde_json::{Value, json};

use super::{Case, Kind, as_recorded, list};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind {
        product: "ccpocket",
        kind: "titles",
        calls: "transcripts::claude::listing",
        run: titles,
        adjust: as_recorded,
    }]
}

fn titles(case: &Case) -> Result<Value> {
    let lines: Vec<String> = list(&case.input, "lines")
        .iter()
        .map(|line| line.as_str().map_or_else(|| line.to_string(), str::to_owned))
        .collect();
    let listing = claude::listing(lines.join("\n").as_bytes());
    Ok(json!({
        "name": listing.name,
        "first_prompt": listing.first_prompt,
        "is_sidechain": listing.is_sidechain,
    }))
}
