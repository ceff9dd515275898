//! What can be asked for.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use offshoot_session::outline::Filter;

/// Version control for conversations with coding agents
#[derive(Debug, Parser)]
#[command(name = "offshoot", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct LookArgs {
    /// Print without colour; the same as NO_COLOR=1
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) no_color: bool,
    /// Draw with ASCII characters only
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) ascii: bool,
    /// Leave out titles and hints
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Fit the output into N columns, also in a pipe
    #[arg(long, global = true, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u16).range(20..))]
    pub(crate) width: Option<u16>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what session files hold and what is odd about them
    Inspect(InspectArgs),
    /// Draw the tree of a session, one row per turn
    Tree(TreeArgs),
    /// Print a branch turn by turn, or one turn
    Show(ShowArgs),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct InspectArgs {
    /// Session files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// List all oddities, not only the first ten
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct TreeArgs {
    /// Session file
    #[arg(value_name = "FILE")]
    pub(crate) session: PathBuf,
    /// Draw one row per entry, of these entries
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) filter: Option<FilterName>,
    /// Draw one row per entry that has all of these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ShowArgs {
    /// Session file
    #[arg(value_name = "FILE")]
    pub(crate) session: PathBuf,
    /// Show only the turn of this point: a turn number, id, label or branch name
    #[arg(long, value_name = "POINT")]
    pub(crate) at: Option<String>,
    /// Show what the model reads there
    #[arg(long)]
    pub(crate) context: bool,
    /// Show only the last N turns, or messages of a context
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<usize>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct JsonArgs {
    /// Print JSON: one object, or with `=lines` one per line
    #[arg(long, value_enum, value_name = "SHAPE", num_args = 0..=1, require_equals = true, default_missing_value = "object")]
    pub(crate) json: Option<JsonShape>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum JsonShape {
    Object,
    Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilterName {
    /// The conversation, without settings and notes
    Default,
    /// The same without results of tools
    NoTools,
    /// Prompts
    UserOnly,
    /// Entries with a label
    LabeledOnly,
    /// Everything
    All,
}

impl From<FilterName> for Filter {
    fn from(name: FilterName) -> Self {
        match name {
            FilterName::Default => Self::Default,
            FilterName::NoTools => Self::NoTools,
            FilterName::UserOnly => Self::UserOnly,
            FilterName::LabeledOnly => Self::LabeledOnly,
            FilterName::All => Self::All,
        }
    }
}
