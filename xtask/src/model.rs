//! `cargo xtask model [PORT [LOG]]`: the scripted model for people, who drive it with their prompts.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use offshoot_testkit::model::{ModelServer, Request, Script};
use serde_json::json;

/// Runs until it is interrupted. A log gets the bodies of the requests, one line each.
pub(crate) fn run(port: u16, log: Option<&Path>) -> Result<ExitCode> {
    let server = ModelServer::start_at(Script::new(), port).context("cannot listen")?;
    let url = server.url();
    println!("{url}");
    println!("  ANTHROPIC_BASE_URL={url}  GOOGLE_GEMINI_BASE_URL={url}  OpenAI: {url}/v1");
    println!(
        "  a prompt may say: %say WORDS, %think WORDS, %call NAME JSON, %wait MS, %then, %fail 429 (500, 529,"
    );
    println!("  error, drop, silence, json); without them it is echoed");
    let mut told = 0;
    loop {
        server.wait_until(|requests| requests.len() > told);
        let requests = server.requests();
        for request in requests.iter().skip(told) {
            println!("{}", line(request));
            if let Some(log) = log {
                write(log, request).with_context(|| format!("cannot write `{}`", log.display()))?;
            }
        }
        told = requests.len();
    }
}

fn line(request: &Request) -> String {
    let prompt = request.prompt.lines().next().unwrap_or_default();
    format!("{} {}  {prompt}", request.method, request.path)
}

/// Without headers: they hold keys.
fn write(log: &Path, request: &Request) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(log)?;
    let told = json!({"method": request.method, "path": request.path, "body": request.body});
    writeln!(file, "{told}")
}
