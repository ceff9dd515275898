//! The fake Claude Code. `offshoot_testkit::fake_claude` describes it.

#![expect(clippy::print_stdout, reason = "the protocol of the program is its standard output")]

use std::io::BufRead;
use std::process::ExitCode;

use serde_json::{Value, json};

pub(super) fn run(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|word| word == "--version") {
        println!("2.1.325 (Claude Code)");
        return ExitCode::SUCCESS;
    }
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(line) = serde_json::from_str::<Value>(&line) else { return ExitCode::FAILURE };
        if line["request"]["subtype"] == "initialize" {
            let answer =
                json!({"commands": [], "agents": [], "models": [], "account": {}, "pid": std::process::id()});
            println!(
                "{}",
                json!({"type": "control_response", "response": {"subtype": "success", "request_id": line["request_id"], "response": answer}})
            );
        }
    }
    ExitCode::SUCCESS
}
