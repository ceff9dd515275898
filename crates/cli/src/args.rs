//! What can be asked for.

mod changes;
mod config;
mod engine;
mod reading;
mod shorthand;
mod talking;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use offshoot_api::views::ModelView;
use offshoot_session::outline::Filter;

use crate::failure::Failure;
use crate::log::LogLevel;
use crate::settings::reader::Flag;
pub(crate) use reading::{
    CompletionsArgs, CostArgs, CostBy, DoctorArgs, ExportArgs, ForgetArgs, Format, FsckArgs, KeepArgs,
    LsArgs, ManArgs, OnOff, RoleName, SearchArgs, SyncArgs, VersionsArgs,
};

pub(crate) use changes::{
    AppendArgs, ArchiveArgs, AttachArgs, BranchArgs, BranchCommand, BranchNameArgs, ChosenArgs, EditArgs,
    ExactArgs, ForkArgs, ImportArgs, OpsArgs, RenameArgs, RetryArgs, RewindArgs, SwitchArgs, UndoArgs,
    VersionArgs,
};

pub(crate) use config::{
    ConfigArgs, ConfigCommand, ConfigSetArgs, ConfigShowArgs, ConfigUnsetArgs, WhoseFile,
};

pub(crate) use shorthand::expanded;

pub(crate) use engine::{AgentExecArgs, EngineArgs, EngineCommand, EngineStopArgs, SupervisorArg};

pub(crate) use talking::{
    AbortArgs, AgentsArgs, AnswerArgs, AnswerName, ChatArgs, PermissionsArgs, PermissionsCommand, QueueArgs,
    QueueCommand, SendArgs, StatusArgs, WantedSession,
};

/// Version control for conversations with coding agents
#[derive(Debug, Parser)]
#[command(
    name = "offshoot",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "`offshoot --continue [SESSION]` and `offshoot --resume SESSION` are `offshoot chat` with these options."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    // The variable is not read by clap, which would print the flag in every usage line as if it were required.
    /// Where the sessions are kept [env: OFFSHOOT_HOME] [default: the folder `offshoot` of your data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Set something for this command only; `offshoot config show` lists what there is
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = crate::settings::flag)]
    pub(crate) set: Vec<Flag>,
    /// How much the log of the home tells: off, error, warn, info, debug or trace [default: info]
    #[arg(long, global = true, value_enum, value_name = "LEVEL", hide_possible_values = true)]
    pub(crate) log: Option<LogLevel>,
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
    /// Talk with an agent
    Chat(ChatArgs),
    /// Say one thing and print the answer, for scripts
    Send(SendArgs),
    /// Answer what an agent asks
    Answer(AnswerArgs),
    /// Interrupt the turn that runs
    Abort(AbortArgs),
    /// List what waits to be said, change it, take it out or send it
    Queue(QueueArgs),
    /// Say what runs and what waits for you
    Status(StatusArgs),
    /// List or revoke standing permissions
    Permissions(PermissionsArgs),
    /// List the agents that can answer, and those that are on this machine
    Agents(AgentsArgs),
    /// Say what the engine process of the home does, stop or restart it
    #[command(hide = true)]
    Engine(EngineArgs),
    /// Become the program of an agent, which is interrupted when the engine dies
    #[command(hide = true)]
    AgentExec(AgentExecArgs),
    /// Begin a session about this folder
    New(NewArgs),
    /// List the sessions, forks below what they came from
    #[command(alias = "list", long_flag = "list-sessions", override_usage = "offshoot ls [OPTIONS]")]
    Ls(LsArgs),
    /// Find what was said, in all sessions of all agents
    Search(SearchArgs),
    /// Look for sessions of all agents and bring the list up to date
    Sync(SyncArgs),
    /// Keep the sessions of all agents for ever, and say what is kept
    Keep(KeepArgs),
    /// Remove the kept copy of another agent's session, and do not keep it again
    Forget(ForgetArgs),
    /// Draw the tree of a session, one row per turn
    Tree(TreeArgs),
    /// Print a branch turn by turn, or one turn
    Show(ShowArgs),
    /// List the versions of a turn
    Versions(VersionsArgs),
    /// Put a note on a point, or take it away
    Label(LabelArgs),
    /// Edit a prompt, keeping the old version
    Edit(EditArgs),
    /// Ask the same again: a new version with the same text
    Retry(RetryArgs),
    /// Start another branch, here or in a session of its own
    Fork(ForkArgs),
    /// Move the head to another point or branch
    Switch(SwitchArgs),
    /// Go back to before a turn, to say it otherwise
    Rewind(RewindArgs),
    /// Go to the version before this one
    #[command(override_usage = "offshoot prev [SESSION] [POINT]")]
    Prev(VersionArgs),
    /// Go to the version after this one
    #[command(override_usage = "offshoot next [SESSION] [POINT]")]
    Next(VersionArgs),
    /// Give a session another title
    Rename(RenameArgs),
    /// List the branches of a session, or name one
    Branch(BranchArgs),
    /// Put a branch out of sight; it is kept
    #[command(override_usage = "offshoot archive [SESSION] POINT")]
    Archive(ArchiveArgs),
    /// Bring an archived branch back
    #[command(override_usage = "offshoot unarchive [SESSION] POINT")]
    Unarchive(ArchiveArgs),
    /// Undo the last change
    #[command(override_usage = "offshoot undo [SESSION]")]
    Undo(UndoArgs),
    /// Redo the last undone change
    #[command(override_usage = "offshoot redo [SESSION]")]
    Redo(UndoArgs),
    /// List the steps taken on a session
    Ops(OpsArgs),
    /// Add entries from standard input, for scripts
    Append(AppendArgs),
    /// Take over session files of other programs
    Import(ImportArgs),
    /// Say what session files hold and what is odd about them
    Inspect(InspectArgs),
    /// Write a session or one of its branches in another format
    Export(ExportArgs),
    /// Say what sessions have used: tokens and money
    Cost(CostArgs),
    /// Show or change settings
    Config(ConfigArgs),
    /// Verify stored sessions
    Fsck(FsckArgs),
    /// Check the data folder for problems
    Doctor(DoctorArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page, or write one page per command
    Man(ManArgs),
}

impl Command {
    /// A chat in memory leaves no file in the home, not even a line of the log.
    pub(crate) fn writes_no_file(&self) -> bool {
        matches!(self, Self::Chat(ChatArgs { memory: true, .. }))
    }
}

#[derive(ClapArgs, Debug)]
pub(crate) struct NewArgs {
    /// Title of the session
    pub(crate) title: Option<String>,
    /// The folder it is about, if not this one
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Who answers in it
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// With which model
    #[arg(long, value_name = "PROVIDER/MODEL", value_parser = talking::model)]
    pub(crate) model: Option<ModelView>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(override_usage = "offshoot label [SESSION] POINT TEXT")]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) words: Words,
}

/// A session to look at: by its place or by `--session`.
#[derive(ClapArgs, Debug)]
pub(crate) struct SessionArg {
    /// Session file, or a session of any agent by id or title [default: the one used last in this directory]
    #[arg(value_name = "SESSION")]
    place: Option<String>,
    #[arg(long = "session", value_name = "SESSION", hide = true, conflicts_with = "place")]
    option: Option<String>,
}

impl SessionArg {
    pub(crate) fn of(session: &str) -> Self {
        Self { place: Some(session.to_owned()), option: None }
    }

    pub(crate) fn named(&self) -> Option<&str> {
        self.place.as_deref().or(self.option.as_deref())
    }
}

/// What follows a command that changes a session: the session, if it is named, then what the command needs.
#[derive(ClapArgs, Debug)]
pub(crate) struct Words {
    /// The session, if it is named, and what is asked for
    #[arg(value_name = "WORDS", hide = true)]
    words: Vec<String>,
    /// The session, by id or title [default: the one used last in this directory]
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
}

impl Words {
    /// Only a session.
    pub(crate) fn about(session: &str) -> Self {
        Self { words: Vec::new(), session: Some(session.to_owned()) }
    }

    /// Nothing but a session, which may be left out.
    pub(crate) fn only_session(&self) -> Result<Option<&str>, Failure> {
        match (self.all().as_slice(), self.session.as_deref()) {
            ([], session) => Ok(session),
            ([session], None) => Ok(Some(*session)),
            _ => Err(Failure::usage(crate::words::too_many_words(""))),
        }
    }

    /// The last `N` words, and the session before them. `needed` names them for whoever gave too few or too many.
    pub(crate) fn split<const N: usize>(&self, needed: &str) -> Result<(Option<&str>, [&str; N]), Failure> {
        let words = self.all();
        let (before, last) = words.split_at(words.len().saturating_sub(N));
        let session = match (before, self.session.as_deref()) {
            ([], session) => session,
            ([session], None) => Some(*session),
            _ => return Err(Failure::usage(crate::words::too_many_words(needed))),
        };
        let last = last.try_into().map_err(|_| Failure::usage(crate::words::words_missing(needed)))?;
        Ok((session, last))
    }

    /// A session and a point, both of which may be left out. A single word that could be either is a point when it
    /// is a number, else a session when `names_one` knows it.
    pub(crate) fn session_and_point(
        &self,
        names_one: impl FnOnce(&str) -> Result<bool, Failure>,
    ) -> Result<(Option<&str>, Option<&str>), Failure> {
        let words = self.all();
        match (words.as_slice(), self.session.as_deref()) {
            ([], session) => Ok((session, None)),
            ([point], Some(session)) => Ok((Some(session), Some(*point))),
            ([word], None) if !is_number(word) && names_one(word)? => Ok((Some(*word), None)),
            ([point], None) => Ok((None, Some(*point))),
            ([session, point], None) => Ok((Some(*session), Some(*point))),
            _ => Err(Failure::usage(crate::words::too_many_words("[POINT]"))),
        }
    }

    fn all(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('#').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[derive(ClapArgs, Debug)]
pub(crate) struct InspectArgs {
    /// Session files, or stored sessions by id or title
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
    #[command(flatten)]
    pub(crate) session: SessionArg,
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
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Show only the turn of this point: a turn number, id, label or branch name
    #[arg(long, value_name = "POINT")]
    pub(crate) at: Option<String>,
    /// Show what the model reads there
    #[arg(long)]
    pub(crate) context: bool,
    /// Show only the last N turns; with --json entries, with --context messages
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Whoever adds a command says whether it changes sessions.
    #[test]
    fn every_command_is_listed_with_what_it_does_to_sessions() {
        let mut found = Vec::new();
        collect(&Args::command(), "", &mut found);
        found.sort();
        let listed = include_str!("../tests/cli/commands.txt").lines().filter(|line| !line.starts_with('#'));
        let mut listed: Vec<String> =
            listed.filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name.to_owned()).collect();
        listed.sort();
        assert_eq!(found, listed);
    }

    fn collect(command: &clap::Command, above: &str, found: &mut Vec<String>) {
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = format!("{above}{}", command.get_name());
            found.push(name.clone());
            collect(command, &format!("{name} "), found);
        }
    }
}
