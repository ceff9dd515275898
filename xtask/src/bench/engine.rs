//! What the engine costs: words on their way, and sessions in which nothing happens. Each bench knows its own limits and fails
//! where they are missed.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) told: Value,
    pub(super) missed: Vec<String>,
}

pub(super) fn measure() -> Result<Figures> {
    let (mut told, mut missed) = (Map::new(), Vec::new());
    for bench in ["streaming", "idle"] {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["bench", "--quiet", "-p", "offshoot-engine", "--bench", bench]);
        let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figures = text.lines().rev().find(|line| line.starts_with('{'));
        if let Some(Value::Object(figures)) = figures.and_then(|line| serde_json::from_str(line).ok()) {
            told.extend(figures);
        }
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            missed.push(format!("engine, {bench}: {}", why.lines().nth(1).unwrap_or_default().trim()));
        }
    }
    Ok(Figures { told: Value::Object(told), missed })
}
