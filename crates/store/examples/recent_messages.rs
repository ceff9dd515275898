//! The last messages of one file of Claude Code in a process of its own, for `cargo xtask bench`.
//!
//! `recent_messages FILE COUNT [shape]` prints one JSON object with the time in milliseconds; with `shape` the whole
//! tree is made first.

#![expect(clippy::print_stdout, reason = "the output is the result")]

use std::path::Path;
use std::time::Instant;

use offshoot_store::LightSession;
use offshoot_store::recent::recent_messages;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, count, rest @ ..] = arguments.as_slice() else {
        return Err("recent_messages FILE COUNT [shape]".into());
    };
    let (path, count) = (Path::new(file), count.parse()?);
    let (messages, way) = if rest.is_empty() {
        let recent = recent_messages(path, count)?;
        (recent.messages, format!("{:?}", recent.way))
    } else {
        (LightSession::open(path)?.last_messages(None, count)?, "Shape".to_owned())
    };
    let ids: Vec<&str> = messages.iter().map(|message| message.entry.id.as_str()).collect();
    println!(
        "{}",
        json!({
            "ms": begun.elapsed().as_secs_f64() * 1000.0,
            "count": ids.len(),
            "ids": ids,
            "way": way,
            "peak_mb": peak_mb(),
        })
    );
    Ok(())
}

/// The most memory this process ever had, where the system tells.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
