//! What can be asked for by commands that speak with the engine.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use offshoot_api::views::ModelView;

use super::{AttachArgs, ChosenArgs, ExactArgs, JsonArgs, Words};

/// `PROVIDER/MODEL`; a name alone leaves the provider to the agent.
pub(crate) fn model(text: &str) -> Result<ModelView, String> {
    let (provider, name) = text.split_once('/').unwrap_or(("", text));
    match name.trim().is_empty() {
        true => Err("a model has a name: PROVIDER/MODEL".to_owned()),
        false => Ok(ModelView { provider: provider.trim().to_owned(), name: name.trim().to_owned() }),
    }
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Without SESSION a new one about this folder begins with your first message. `/help` lists what can be \
                  done while talking. Ctrl-C interrupts the answer, twice leaves. Lines may also come from a pipe: each is \
                  said when the answer to the one before is complete. Then it ends with 1 when the last message failed, 130 when \
                  its answer was interrupted."
)]
pub(crate) struct ChatArgs {
    /// Go on with this session: by id or title
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Go on with this session, or with the one used last in this directory
    #[arg(long = "continue", short = 'c', value_name = "SESSION", num_args = 0..=1, conflicts_with_all = ["session", "resume"])]
    pub(crate) go_on: Option<Option<String>>,
    /// The same as SESSION
    #[arg(long, value_name = "SESSION", conflicts_with = "session")]
    pub(crate) resume: Option<String>,
    /// Who answers from here on
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// With which model from here on: NAME or PROVIDER/NAME
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Keep a new session in memory: no file is written, and the session is gone when the chat ends
    #[arg(long, conflicts_with_all = ["session", "go_on", "resume"])]
    pub(crate) memory: bool,
}

/// Which session a chat is about.
pub(crate) enum WantedSession<'a> {
    /// It begins with the first message.
    New,
    /// The one used last in this directory.
    Current,
    Named(&'a str),
}

impl ChatArgs {
    pub(crate) fn wanted_session(&self) -> WantedSession<'_> {
        let continued = self.go_on.as_ref().and_then(Option::as_deref);
        match self.session.as_deref().or(self.resume.as_deref()).or(continued) {
            Some(name) => WantedSession::Named(name),
            None if self.go_on.is_some() => WantedSession::Current,
            None => WantedSession::New,
        }
    }
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot send [SESSION] TEXT\n       offshoot send [SESSION] TEXT --edit POINT\n       offshoot \
                      send [SESSION] TEXT --at POINT\n       offshoot send [SESSION] --unanswered",
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
    /// Below this point instead of the head; a turn comes with its answer
    #[arg(long, value_name = "POINT")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) exact: ExactArgs,
    /// Nothing new: the prompt at the head, which nobody has answered yet
    #[arg(long, conflicts_with_all = ["edit", "at", "attach", "agent", "model", "abort_first", "beside"])]
    pub(crate) unanswered: bool,
    #[command(flatten)]
    pub(crate) files: AttachArgs,
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
    /// Where a turn runs on this branch: interrupt it, wait for its end, then act
    #[arg(long)]
    pub(crate) abort_first: bool,
    /// Where a turn runs on this branch: a second one beside it, on a branch of its own
    #[arg(long, conflicts_with = "abort_first")]
    pub(crate) beside: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot answer [SESSION] allow|always|deny\n       offshoot answer [SESSION] choose --choice N",
    after_help = "Answers what is asked first; `--ask` names another. An answer counts once, however often it is given. A \
                  choice is named by its number or its words; several go together with commas where the question takes \
                  several. `--choice =WORDS` are words of your own, whatever they look like."
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
    /// With `allow`: which of the changes of its own settings the agent makes that it suggests, from 1
    #[arg(long, value_name = "N", conflicts_with = "input")]
    pub(crate) suggestion: Option<usize>,
    /// With `always`: in all sessions about this folder
    #[arg(long)]
    pub(crate) project: bool,
    /// With `always`: the wider rule that the request offers, such as `cargo test *`
    #[arg(long)]
    pub(crate) wider: bool,
    /// With `choose`: the answer, once for each question
    #[arg(long = "choice", value_name = "N|WORDS")]
    pub(crate) choices: Vec<String>,
    /// Which ask, by its id or the beginning of it, as `offshoot status` names it
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
#[command(override_usage = "offshoot abort [SESSION] [--at POINT]")]
pub(crate) struct AbortArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// The turn at this point; else the one that runs, of several that of the head's branch
    #[arg(long, value_name = "POINT")]
    pub(crate) at: Option<String>,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot queue [SESSION]\n       offshoot queue change [SESSION] N TEXT\n       offshoot queue \
                      cancel [SESSION] N\n       offshoot queue send [SESSION] [N]",
    after_help = "What is sent while a turn runs waits for its end. Where that turn did not come to its end, what waits is \
                  held, until it is sent or taken out.",
    args_conflicts_with_subcommands = true
)]
pub(crate) struct QueueArgs {
    #[command(subcommand)]
    pub(crate) command: Option<QueueCommand>,
    #[command(flatten)]
    pub(crate) words: Words,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Say something else instead
    #[command(override_usage = "offshoot queue change [SESSION] N TEXT")]
    Change(QueueWords),
    /// Do not say it
    #[command(override_usage = "offshoot queue cancel [SESSION] N")]
    Cancel(QueueWords),
    /// Say now what is held, and print the answer
    #[command(override_usage = "offshoot queue send [SESSION] [N]")]
    Send(QueueWords),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct QueueWords {
    #[command(flatten)]
    pub(crate) words: Words,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
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
