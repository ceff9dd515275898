//! What can be asked of the engine process.

use clap::{Args as ClapArgs, Subcommand};

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
