//! `offshoot agent-exec`: the engine starts agents through it, so that they end when the engine dies.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use offshoot_engine::process::become_program;

use crate::args::AgentExecArgs;

/// As a shell states that a program cannot be run.
const NOT_RUN: u8 = 127;

/// Returns only where the program cannot be started.
pub(crate) fn run(args: &AgentExecArgs) -> ExitCode {
    let Some((program, arguments)) = args.command.split_first() else { return ExitCode::from(NOT_RUN) };
    let error = become_program(args.parent, Path::new(program), arguments);
    let program = program.to_string_lossy();
    // The engine reads it.
    let _ = writeln!(std::io::stderr(), "could not run `{program}`: {error}");
    ExitCode::from(NOT_RUN)
}
