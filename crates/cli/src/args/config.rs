//! What can be asked about settings.

use clap::{Args as ClapArgs, Subcommand};

use super::JsonArgs;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "What counts more comes later: defaults, your `settings.toml` in the home, `.offshoot/settings.toml` of the \
                  project, variables (`OFFSHOOT_` and the key in capitals, `_` for a dot), flags (`--set KEY=VALUE`). A project \
                  may say how its conversations are held, and nothing that runs programs or sends what was said to others. \
                  docs/settings.md tells every key."
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List the settings as they count here, or print one
    Show(ConfigShowArgs),
    /// Set something from now on
    Set(ConfigSetArgs),
    /// Leave it as it is by default
    Unset(ConfigUnsetArgs),
    /// Print where your file is, or that of the project
    Path(WhoseFile),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ConfigShowArgs {
    /// Print only this one
    pub(crate) key: Option<String>,
    /// Say where each comes from
    #[arg(long)]
    pub(crate) origin: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ConfigSetArgs {
    /// What to set; `offshoot config show` lists all
    pub(crate) key: String,
    /// A list with commas between; hooks as a file would have them behind the `=`
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) whose: WhoseFile,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ConfigUnsetArgs {
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) whose: WhoseFile,
}

#[derive(ClapArgs, Clone, Copy, Debug)]
pub(crate) struct WhoseFile {
    /// The file of the project of this folder, not your own
    #[arg(long)]
    pub(crate) project: bool,
}
