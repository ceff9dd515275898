//! What can be asked of the engine process.

use std::ffi::OsString;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::JsonArgs;

#[derive(ClapArgs, Debug)]
pub(crate) struct EngineArgs {
    /// Without one this process is the engine; commands start it by themselves
    #[command(subcommand)]
    pub(crate) command: Option<EngineCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Say whether an engine runs, and what runs in it
    Status(JsonArgs),
    /// End it; refused while turns run
    Stop(EngineStopArgs),
    /// End it and start another one; refused while turns run
    Restart(EngineStopArgs),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct EngineStopArgs {
    /// Interrupt the turns that run; what has arrived is kept
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct AgentExecArgs {
    /// The process that starts the agent
    #[arg(long, value_name = "PID")]
    pub(crate) parent: u32,
    /// Stay above the program, and end what it leaves
    #[arg(long, value_name = "WHICH")]
    pub(crate) supervise: Option<SupervisorArg>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
}

/// Which of the two processes above a command this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SupervisorArg {
    /// Below the engine
    Outer,
    /// Above the command
    Inner,
}
