//! What can be asked for by commands that speak with the engine.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::{JsonArgs, Words};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Without SESSION a new one about this folder begins with your first message. `/help` lists what can be \
                  done while talking. Ctrl-C interrupts the answer, twice leaves. Lines may also come from a pipe: each is \
                  said when the answer to the one before is complete."
)]
pub(crate) struct ChatArgs {
    /// Go on with this session: by id or title
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Go on with the last session of this folder
    #[arg(long = "continue", short = 'c', conflicts_with_all = ["session", "resume"])]
    pub(crate) go_on: bool,
    /// The same as SESSION
    #[arg(long, value_name = "SESSION", conflicts_with = "session")]
    pub(crate) resume: Option<String>,
    /// Who answers, in a session that begins
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot send [SESSION] TEXT\n       offshoot send [SESSION] TEXT --edit POINT\n       offshoot \
                      send [SESSION] TEXT --at POINT",
    after_help = "TEXT is `-` to read it from standard input. The answer is printed as it comes; `--json` prints one \
                  object when it is complete, `--json=lines` every event. Ends with 0 when the agent is done, 1 when it \
                  failed, 130 when it was interrupted."
)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// As a new version of this prompt
    #[arg(long, value_name = "POINT", conflicts_with = "at")]
    pub(crate) edit: Option<String>,
    /// Below this point instead of the head
    #[arg(long, value_name = "POINT")]
    pub(crate) at: Option<String>,
    /// Who answers from here on
    #[arg(long, value_name = "AGENT", conflicts_with = "edit")]
    pub(crate) agent: Option<String>,
    /// Where a turn runs on this branch: interrupt it, wait for its end, then act
    #[arg(long)]
    pub(crate) abort_first: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot answer [SESSION] allow|always|deny\n       offshoot answer [SESSION] choose --choice TEXT",
    after_help = "Answers what is asked first; `--ask` names another. An answer counts once, however often it is given."
)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// With `deny`: what the agent is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// With `allow`: what the tool is given instead
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// With `always`: in all sessions about this folder
    #[arg(long)]
    pub(crate) project: bool,
    /// With `choose`: the answer, once for each question
    #[arg(long = "choice", value_name = "TEXT")]
    pub(crate) choices: Vec<String>,
    /// Which ask, as `offshoot status` names it
    #[arg(long, value_name = "ASK")]
    pub(crate) ask: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerName {
    Allow,
    Always,
    Deny,
    Choose,
}

#[derive(ClapArgs, Debug)]
#[command(override_usage = "offshoot abort [SESSION]")]
pub(crate) struct AbortArgs {
    #[command(flatten)]
    pub(crate) words: Words,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PermissionsCommand>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Ask again from now on
    Revoke {
        /// The rule, by its id
        rule: String,
    },
}

#[derive(ClapArgs, Debug)]
pub(crate) struct AgentsArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
