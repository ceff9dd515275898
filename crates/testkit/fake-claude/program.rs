//! The fake Claude Code. `offshoot_testkit::fake_claude` describes it.

#[path = "claude.rs"]
mod claude;
#[path = "config.rs"]
mod config;
#[path = "control.rs"]
mod control;
#[path = "ids.rs"]
mod ids;
#[path = "input.rs"]
mod input;
#[path = "message.rs"]
mod message;
#[path = "opening.rs"]
mod opening;
#[path = "options.rs"]
mod options;
#[path = "result.rs"]
mod result;
#[path = "script.rs"]
mod script;
#[path = "status.rs"]
mod status;
#[path = "task.rs"]
mod task;
#[path = "tool.rs"]
mod tool;
#[path = "transcript.rs"]
mod transcript;
#[path = "turn.rs"]
mod turn;
#[path = "wire.rs"]
mod wire;

use std::io::Write as _;
use std::process::ExitCode;

use claude::Claude;
use config::Config;

pub(super) fn run(arguments: &[String]) -> ExitCode {
    let config = match Config::read() {
        Ok(config) => config,
        Err(error) => return refuse(&error.to_string()),
    };
    if arguments.iter().any(|word| word == "--version" || word == "-v") {
        let _ = writeln!(std::io::stdout(), "{} (Claude Code)", config.version);
        return ExitCode::SUCCESS;
    }
    let options = match options::parse(arguments, &config) {
        Ok(options) if options.speaks_json => options,
        Ok(_) => return refuse("Error: this program only speaks stream-json"),
        Err(problem) => return refuse(&problem),
    };
    match Claude::open(options, config) {
        Ok(mut claude) => claude.run(),
        Err(problem) => refuse(&problem),
    }
}

fn refuse(problem: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{problem}");
    ExitCode::FAILURE
}
