//! What can be asked for by commands that change a session.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use offshoot_api::Point;
use offshoot_api::request::VersionTo;
use offshoot_api::views::ModelView;

use super::talking::model;
use super::{JsonArgs, Words};

/// What to do where a turn runs on the branch that would be changed.
#[derive(ClapArgs, Debug, Default)]
pub(crate) struct RunningArgs {
    /// Where a turn runs on this branch: interrupt it, wait for its end, then act
    #[arg(long)]
    pub(crate) abort_first: bool,
}

/// Who answers, where that is to change.
#[derive(ClapArgs, Clone, Debug, Default)]
pub(crate) struct ChosenArgs {
    /// Who answers from here on
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// With which model from here on
    #[arg(long, value_name = "PROVIDER/MODEL", value_parser = model)]
    pub(crate) model: Option<ModelView>,
}

/// Where another version goes.
#[derive(ClapArgs, Clone, Copy, Debug, Default)]
pub(crate) struct NewSessionArgs {
    /// As a session of its own, which begins with what is above POINT; this one stays as it is
    #[arg(long)]
    pub(crate) new_session: bool,
}

impl NewSessionArgs {
    pub(crate) fn to(self) -> VersionTo {
        if self.new_session { VersionTo::NewSession } else { VersionTo::Version }
    }
}

/// How a point is read.
#[derive(ClapArgs, Clone, Copy, Debug, Default)]
pub(crate) struct ExactArgs {
    /// Exactly the entry that POINT names, even if it is the prompt of a turn
    #[arg(long)]
    pub(crate) exact: bool,
}

impl ExactArgs {
    pub(crate) fn point(self, text: &str) -> Point {
        match self.exact {
            true => Point::exactly(text),
            false => text.into(),
        }
    }
}

/// What goes with a message.
#[derive(ClapArgs, Debug, Default)]
pub(crate) struct AttachArgs {
    /// A file that goes with it, once for each: an image as it is, any other file by its name
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// As a new version: without the files of the old one, which go along otherwise
    #[arg(long, conflicts_with = "attach")]
    pub(crate) no_attachments: bool,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot edit [SESSION] POINT TEXT\n       offshoot edit [SESSION] POINT --editor",
    after_help = "POINT is a turn number, an id, a label or a branch name. TEXT is `-` to read it from standard \
                  input. All versions stay; `offshoot prev` and `offshoot next` go between them.\n\n\
                  `m:N`, or the id of a reply or a tool result, edits that message instead of a prompt: the new text is \
                  another answer to the same prompt, and no agent is asked."
)]
pub(crate) struct EditArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Change the old text in your editor: $VISUAL or $EDITOR
    #[arg(long)]
    pub(crate) editor: bool,
    /// Send it and print the answer, as `offshoot send --edit` does
    #[arg(long)]
    pub(crate) send: bool,
    #[command(flatten)]
    pub(crate) version: NewSessionArgs,
    #[command(flatten)]
    pub(crate) files: AttachArgs,
    #[command(flatten)]
    pub(crate) chosen: ChosenArgs,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot retry [SESSION] [POINT]",
    after_help = "Without POINT the last turn is asked again. The old answer stays as a version."
)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Send it and print the answer
    #[arg(long)]
    pub(crate) send: bool,
    #[command(flatten)]
    pub(crate) version: NewSessionArgs,
    /// Who answers from here on
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// With which model from here on; several make a version each
    #[arg(long, value_name = "PROVIDER/MODEL", value_parser = model, value_delimiter = ',')]
    pub(crate) model: Vec<ModelView>,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot fork [SESSION] [POINT] [--new-session] [--before]",
    after_help = "A turn number, a label, a branch name or the id of a prompt means the end of that turn's answer, any \
                  other id exactly that entry. With --before it means the place above the prompt, whose text is printed."
)]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Where the branch starts [default: the head]; the same as POINT
    #[arg(long, value_name = "POINT")]
    pub(crate) at: Option<String>,
    /// Copy the way to that point into a session of its own; this one stays as it is
    #[arg(long)]
    pub(crate) new_session: bool,
    /// Above the prompt of POINT, to say it differently there
    #[arg(long, conflicts_with = "exact")]
    pub(crate) before: bool,
    #[command(flatten)]
    pub(crate) exact: ExactArgs,
    /// Title of the new session
    #[arg(long, requires = "new_session")]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot switch [SESSION] POINT [--summary[=WORDS]]\n       offshoot switch [SESSION] --before-first",
    after_help = "A turn number, a label, a branch name or the id of a prompt means the end of that turn's answer, any \
                  other id exactly that entry."
)]
pub(crate) struct SwitchArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Go before the first turn, so that the next message begins anew
    #[arg(long)]
    pub(crate) before_first: bool,
    /// Have what is left behind summed up at the new place, if wished with your words on what matters; Ctrl-C calls it
    /// off and nothing moves
    #[arg(long, value_name = "WORDS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with = "before_first")]
    pub(crate) summary: Option<String>,
    #[command(flatten)]
    pub(crate) exact: ExactArgs,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot rewind [SESSION] POINT [--before] [--dry-run]",
    after_help = "The head goes to the end of the turn, or with --before above its prompt, whose text is printed. What is \
                  left behind stays in the tree. Files stay as they are."
)]
pub(crate) struct RewindArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Above the prompt of the turn, to say it differently
    #[arg(long, conflicts_with = "exact")]
    pub(crate) before: bool,
    /// Stop the agent and let it resume there now, not with the next message
    #[arg(long)]
    pub(crate) resume: bool,
    /// Only say what would happen
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) exact: ExactArgs,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(after_help = "Without POINT it is the last turn on the branch that has several versions.")]
pub(crate) struct VersionArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(override_usage = "offshoot rename [SESSION] TITLE", after_help = "An empty TITLE takes it away.")]
pub(crate) struct RenameArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Tell Claude Code too, by a line at the end of its own file; SESSION may be that file
    #[arg(long)]
    pub(crate) write_back: bool,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot branch [SESSION]\n       offshoot branch name [SESSION] POINT NAME",
    args_conflicts_with_subcommands = true
)]
pub(crate) struct BranchArgs {
    #[command(subcommand)]
    pub(crate) command: Option<BranchCommand>,
    #[command(flatten)]
    pub(crate) words: Words,
    /// List archived branches too
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BranchCommand {
    /// Name the branch that runs through a point, or take the name away
    Name(BranchNameArgs),
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot branch name [SESSION] POINT NAME",
    after_help = "An empty NAME takes it away."
)]
pub(crate) struct BranchNameArgs {
    #[command(flatten)]
    pub(crate) words: Words,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ArchiveArgs {
    #[command(flatten)]
    pub(crate) words: Words,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(override_usage = "offshoot ops [SESSION]")]
pub(crate) struct OpsArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    override_usage = "offshoot append [SESSION] < LINES",
    after_help = "\
Each line is one JSON object, for example
  {\"role\":\"user\",\"text\":\"Write a failing test first.\"}
  {\"role\":\"assistant\",\"text\":\"Done.\",\"model\":\"anthropic/claude-sonnet-4\",\"tool_calls\":[]}
  {\"role\":\"tool_result\",\"call\":\"call-1\",\"tool\":\"read\",\"text\":\"...\",\"failed\":false}

Roles: user, assistant, tool_result, system, shell, custom, note, interrupted.
Fields are those of `show --json`; `parent` (a point) and `id` may be given. An
entry goes below the head, or below `parent`, and the head to it. Its id is
printed when it is safe on the disk."
)]
pub(crate) struct AppendArgs {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Write all lines as one step, or none of them
    #[arg(long)]
    pub(crate) batch: bool,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    /// Print ids as JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ImportArgs {
    /// Session files of other programs
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Import a session that is stored already once more, as a copy with an id of its own
    #[arg(long, conflicts_with = "flat")]
    pub(crate) again: bool,
    /// Each FILE is a JSON list of messages, `-` for standard input
    #[arg(long)]
    pub(crate) flat: bool,
    /// Who answers in it
    #[arg(long, value_name = "AGENT", requires = "flat")]
    pub(crate) agent: Option<String>,
    /// The agent's own session that the messages were said in
    #[arg(long, value_name = "ID", requires = "flat")]
    pub(crate) agent_session: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
