//! What can be asked of commands that look, and of those that hand something out.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use clap_complete::Shell;

use super::{ExactArgs, JsonArgs, SessionArg};

#[derive(ClapArgs, Debug)]
pub(crate) struct LsArgs {
    /// List all sessions, not only the last 20
    #[arg(long)]
    pub(crate) all: bool,
    /// Draw sessions below their parents with agent, model and why they branched; with SESSION only it and its descendants
    #[arg(long, value_name = "SESSION", num_args = 0..=1)]
    pub(crate) tree: Option<Option<String>>,
    /// Only sessions about this folder or one inside of it
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions changed since: 2025-03-04, 2025-03-04T14:00:00Z, 90m, 8h, 3d, 2w
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only sessions in which a turn has this label
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only sessions whose last reply is by this model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Look there for sessions of other programs, and not in their usual places
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct SearchArgs {
    /// Words that are all said together, "a phrase", begin*, or re:PATTERN
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Only in sessions of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only in sessions about this folder or one inside of it
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Only what one side said
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) role: Option<RoleName>,
    /// Only what was said since: 2025-03-04, 2025-03-04T14:00:00Z, 90m, 8h, 3d, 2w
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only what was said before: the same ways to say it
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Also in what tools were given and answered
    #[arg(long)]
    pub(crate) tools: bool,
    /// Take the query as one text that may stand anywhere, also inside of a word
    #[arg(long)]
    pub(crate) inside: bool,
    /// Show N hits [default: 20, in a pipe all]
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Look there for sessions of other programs, and not in their usual places
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleName {
    /// You
    User,
    /// The agent
    Assistant,
    /// Tools, as with --tools
    Tool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct SyncArgs {
    /// Stay, and follow what agents write
    #[arg(long)]
    pub(crate) watch: bool,
    /// Finish all indexes now, which otherwise are made little by little
    #[arg(long)]
    pub(crate) finish: bool,
    /// Index also what tools were given and answered, from now on or no more; it takes much room
    #[arg(long, value_enum, value_name = "ON|OFF", hide_possible_values = true)]
    pub(crate) index_tools: Option<OnOff>,
    /// Look there for sessions of other programs, and not in their usual places
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    On,
    Off,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot forget SESSION [--now | --restore]\n       offshoot forget --list",
    after_help = "The copies go to the trash for 30 days. The agent's own file is not touched, and a sync does not keep it again."
)]
pub(crate) struct ForgetArgs {
    /// A session of another agent, by id, title or path
    #[arg(value_name = "SESSION", required_unless_present = "list")]
    pub(crate) session: Option<String>,
    /// Delete the copies immediately, also those in the trash
    #[arg(long, conflicts_with_all = ["restore", "list"])]
    pub(crate) now: bool,
    /// Bring the copies back from the trash, and keep the session again
    #[arg(long, conflicts_with = "list")]
    pub(crate) restore: bool,
    /// List the forgotten sessions
    #[arg(long, conflicts_with = "session")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[group(id = "what", multiple = false, args = ["now", "install", "uninstall", "on", "off"])]
pub(crate) struct KeepArgs {
    /// Look for what is new and keep it now
    #[arg(long)]
    pub(crate) now: bool,
    /// Keep what is new every hour, also while nobody calls Offshoot: by a timer of systemd, else by cron
    #[arg(long)]
    pub(crate) install: bool,
    /// Take that timer away again
    #[arg(long)]
    pub(crate) uninstall: bool,
    /// Keep what is new with every sync, which is what Offshoot does unless told otherwise
    #[arg(long)]
    pub(crate) on: bool,
    /// Keep nothing new; what is kept stays
    #[arg(long)]
    pub(crate) off: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(override_usage = "offshoot versions [SESSION] [POINT] [OPTIONS]")]
pub(crate) struct VersionsArgs {
    /// Session, by file, id or title [default: the one used last in this directory]; and the turn, by number, id, label or
    /// branch name [default: the last one that has several versions]
    #[arg(value_name = "SESSION POINT", num_args = 0..=2, hide_default_value = true)]
    pub(crate) words: Vec<String>,
    /// The session, by file, id or title
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// What to make of it
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Format,
    /// Write there: a file, or a folder to put it in [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Only the branch that runs through this point
    #[arg(long, value_name = "POINT")]
    pub(crate) branch: Option<String>,
    /// Only what leads to this point; a turn comes with its answer
    #[arg(long, value_name = "POINT", conflicts_with = "branch")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) exact: ExactArgs,
    /// Put it where the program keeps its sessions, to go on there
    #[arg(long, conflicts_with = "output")]
    pub(crate) install: bool,
    /// The folder in which it is continued [default: the one the session is about]
    #[arg(long, value_name = "DIR", requires = "install")]
    pub(crate) project: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A copy of the journal, for another Offshoot
    Offshoot,
    /// A session of Claude Code, of one branch
    Claude,
    /// A rollout of Codex, of one branch
    Codex,
    /// A session file of pi, version 3
    Pi,
    /// One file per branch
    Rollouts,
    /// One branch to read
    Markdown,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Money is what the session itself says. Where it says none, tokens are priced by your own table, \
    prices.toml in the home, and then by list prices of November 2026 that are part of this program; `--prices` \
    shows both. A reply whose model has no price counts with its tokens and shows a dash for money."
)]
pub(crate) struct CostArgs {
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Sum up by; project, model and day are about all sessions of all agents, unless one is named
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<CostBy>,
    /// Show what tokens cost, and who says so
    #[arg(long, conflicts_with = "by")]
    pub(crate) prices: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostBy {
    /// What each branch of a session has added
    Branch,
    /// What each turn of a session has used
    Turn,
    /// The folder that sessions are about
    Project,
    Model,
    /// By local time
    Day,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct FsckArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct DoctorArgs {
    /// Put together what helps to find a mistake, without any conversation: into FILE, or `-` to print it
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "json")]
    pub(crate) report: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell that shall complete
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ManArgs {
    /// Write one page per command into this folder
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
