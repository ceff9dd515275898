//! `offshoot agent-exec`: the engine starts agents and the commands of tools through it, so that they end when the engine dies.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use offshoot_engine::process::{Supervisor, become_program, supervise};

use crate::args::{AgentExecArgs, SupervisorArg};
use crate::engine::launcher;

/// As a shell states that a program cannot be run.
const NOT_RUN: u8 = 127;

/// Returns only where the program is supervised or cannot be started.
pub(crate) fn run(args: &AgentExecArgs) -> ExitCode {
    let Some((program, arguments)) = args.command.split_first() else { return ExitCode::from(NOT_RUN) };
    let program = Path::new(program);
    let supervisor = match args.supervise {
        None => None,
        Some(SupervisorArg::Inner) => Some(Supervisor::Inner),
        // Without a second one below it, one ends what it can.
        Some(SupervisorArg::Outer) => {
            Some(launcher().map_or(Supervisor::Inner, |launcher| Supervisor::Outer { launcher }))
        }
    };
    let ran = match supervisor {
        Some(supervisor) => supervise(&supervisor, program, arguments),
        None => Err(become_program(args.parent, program, arguments)),
    };
    let error = match ran {
        Ok(code) => return ExitCode::from(code),
        Err(error) => error,
    };
    let program = program.display();
    // The engine reads it.
    let _ = writeln!(std::io::stderr(), "could not run `{program}`: {error}");
    ExitCode::from(NOT_RUN)
}
