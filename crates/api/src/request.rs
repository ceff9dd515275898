//! What can be asked for. One request is one step: it happens as a whole, or it is refused and leaves no trace.

use serde::{Deserialize, Serialize};

use crate::CallerContext;
use crate::Point;
use crate::views::{AnswerView, BlockView, ModelView, PromptView};

/// `session` is an id. A point (`at`, `to`) is a [`Point`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Who is there, and which version. The owner hands over what belongs to its connection.
    Hello(Hello),
    /// The engine process itself: what it does, or that it stops.
    Engine(Engine),
    /// The sessions of this machine.
    List(List),
    /// Which agents could be used, and what they can do.
    Agents,
    /// What runs and what waits, in all sessions that are open.
    Status,
    /// A new session.
    Begin(Begin),
    /// A session that another program keeps, so that it can be spoken of by its id. Nothing is written.
    Introduce(Introduce),
    /// A session with its branch in view. It stays open until the engine closes it.
    Open(Open),
    /// The branch to a point, wherever the head is.
    Show(Show),
    /// The shape of the whole tree.
    Tree(Session),

    /// Say something below the head.
    Send(Send),
    /// Say it differently: a version next to an old prompt. With `only_write` also another text for a reply or a tool
    /// result, as another answer to the same prompt.
    Edit(Edit),
    /// Ask the same again.
    Retry(Retry),
    /// Answer a prompt that nobody has answered.
    Resume(Resume),
    /// Write down what was said elsewhere; nobody is asked to answer it.
    Append(Append),
    /// The version before or after.
    Version(Version),
    /// Move the head to the end of a turn, or exactly to an entry.
    Switch(Switch),
    /// Go to an entry, if wished with a summary of what is left.
    Navigate(Navigate),
    /// Call off what this caller has asked for and a hook is asked about or a summary is written for; nothing has moved.
    CancelSummary(Session),
    Rewind(Rewind),
    /// Change agent, model, thinking, tools or permissions from the next prompt on.
    Configure(Configure),
    /// Begin a branch, in this session or in a new one.
    Fork(Fork),
    Compact(Compact),
    Rename(Rename),
    Label(Label),
    NameBranch(NameBranch),
    /// Put a branch out of sight, or bring it back.
    Archive(Archive),
    /// The agents forget the conversation; it stays, and so do model and permissions.
    Clear(Clear),
    Undo(History),
    Redo(History),

    Interrupt(Interrupt),
    /// Answer what an agent asks.
    Answer(Answer),

    /// What waits to be said.
    Queue(Session),
    ChangeQueued(ChangeQueued),
    CancelQueued(CancelQueued),
    /// Say what waits for a turn that did not come to its end.
    SayQueued(SayQueued),

    /// Rules that were made by answering "always".
    Permissions(Permissions),
    RevokePermission(RevokePermission),

    /// Over a connection: events of a session from now on. In a process this is [`crate::Service::follow`].
    Follow(Follow),
    Unfollow(Session),
    /// Answered when hooks have been told all that has happened so far, and no compaction is under way that nobody has
    /// asked for: for a command that does not want to leave before that.
    Settle(Session),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// Which version of this interface the client speaks: [`crate::PROTOCOL`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    #[serde(flatten)]
    pub context: CallerContext,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    pub name: String,
    pub version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    #[serde(default)]
    pub action: EngineAction,
    /// With `abort_first` turns that run are interrupted; else they are a reason not to stop.
    #[serde(default)]
    pub if_running: IfRunning,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineAction {
    #[default]
    Status,
    /// The process closes all sessions and exits. The next command that needs an engine starts another one.
    Stop,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub session: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// Only those about this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduce {
    /// The id its journal has here, or will have.
    pub session: String,
    /// Where it lies.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    pub session: String,
    /// How many of the last turns are wanted; all where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<usize>,
    /// Only this turn, wherever the head is, in place of the branch of the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The settings that are in force there, in place of those at the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Show {
    pub session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<usize>,
}

/// What to do where a turn runs on the path that would be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfRunning {
    /// Sends wait in the queue, everything else is refused.
    #[default]
    Wait,
    /// Interrupt it, wait for its end, act.
    AbortFirst,
    /// A second turn, on a branch of its own.
    Beside,
}

/// What becomes of the files when an old place is taken up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Files {
    #[default]
    Keep,
    AsOfThen,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Send {
    pub session: String,
    #[serde(flatten)]
    pub prompt: PromptView,
    /// Below this point instead of the head. If a turn is being answered there, the message is queued behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
    /// From this prompt on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// From this prompt on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelView>,
    /// Where the agent or the model changes: instead of what the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branching: Option<ConfigBranching>,
    #[serde(default)]
    pub if_running: IfRunning,
    /// Chosen by the caller for this request and no other: 8 to 64 of `A–Z a–z 0–9 _ -`. It becomes the id of the step, and
    /// of the turn or session that begins. Sent again under the same id, to this engine or the next, the request changes
    /// nothing and answers with what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    pub session: String,
    pub at: Point,
    pub text: String,
    /// Left out: those of the old version come along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<String>>,
    /// Left out: those of the old version come along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<BlockView>>,
    /// From this prompt on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelView>,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branching: Option<ConfigBranching>,
    #[serde(default)]
    pub to: VersionTo,
    #[serde(default)]
    pub files: Files,
    #[serde(default)]
    pub if_running: IfRunning,
    /// Only write it. `resume` has a prompt answered later; other messages are never answered, so they need this.
    #[serde(default)]
    pub only_write: bool,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    pub session: String,
    pub at: Point,
    /// As in [`Edit`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelView>,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branching: Option<ConfigBranching>,
    #[serde(default)]
    pub to: VersionTo,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Edit`].
    #[serde(default)]
    pub only_write: bool,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

/// Where an edit or a retry goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionTo {
    /// Beside the old prompt.
    #[default]
    Version,
    /// Into a session that begins with what is above the prompt. The old one stays as it is.
    NewSession,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    pub session: String,
    /// The prompt; the head where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
    /// As in [`Send`], where the prompt has to be said again; else its turn has an id already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Append {
    pub session: String,
    /// Each an object in the words of `show --json`: `role` and what belongs to it, with `id`, `parent` and `written_at`
    /// where they shall not be chosen by the engine. One without a `parent` goes below the head, which is the one before it.
    pub entries: Vec<serde_json::Value>,
    /// Each is a step of its own for `undo`, and not all of them one. They are written all or none either way.
    #[serde(default)]
    pub each: bool,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    #[default]
    Previous,
    Next,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub session: String,
    /// Left out: the last prompt on the way to the head that has several versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
    pub step: Step,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    pub session: String,
    /// The end of the turn; `null` is before the first entry.
    pub to: Option<Point>,
    /// Of what is left, written there.
    #[serde(default, skip_serializing_if = "Summary::is_none")]
    pub summary: Summary,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Summary {
    #[default]
    None,
    Default,
    /// With words of one's own about what matters.
    With {
        instructions: String,
    },
}

impl Summary {
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Navigate {
    pub session: String,
    pub to: Point,
    #[serde(default)]
    pub summary: Summary,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindScope {
    #[default]
    Conversation,
    Files,
    Both,
}

/// Who goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindSource {
    /// The head. The agent follows with the next prompt.
    #[default]
    Offshoot,
    /// The agent too, at once: its process is stopped, and another one resumes at the point.
    Agent,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewind {
    pub session: String,
    /// The end of the turn.
    pub to: Point,
    /// Above the prompt of the turn, whose text comes back.
    #[serde(default)]
    pub before: bool,
    #[serde(default)]
    pub scope: RewindScope,
    #[serde(default)]
    pub source: RewindSource,
    /// Only say what would happen.
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

/// Where a change of settings goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigBranching {
    Entry,
    File,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Configure {
    pub session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Instead of what the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branching: Option<ConfigBranching>,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForkTo {
    #[default]
    Here,
    /// A session that begins with everything up to the point.
    NewSession,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    pub session: String,
    /// The end of the turn; the head where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
    #[serde(default)]
    pub to: ForkTo,
    /// Above the prompt of the turn at the point, whose text comes back.
    #[serde(default)]
    pub before: bool,
    /// Of a new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compact {
    pub session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    pub session: String,
    /// `null` takes the title away.
    pub title: Option<String>,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub session: String,
    pub at: Point,
    /// `null` takes the label away.
    pub label: Option<String>,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameBranch {
    pub session: String,
    pub at: Point,
    /// `null` takes the name away.
    pub name: Option<String>,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    pub session: String,
    pub at: Point,
    /// `false` brings it back.
    pub archived: bool,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

/// A step back, or forth again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    pub session: String,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clear {
    pub session: String,
    #[serde(default)]
    pub if_running: IfRunning,
    /// As in [`Send`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    pub session: String,
    /// Left out: the only one that runs; of several the one on the head's branch. Where that has none it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub session: String,
    /// As the ask names itself. To say the same answer again is harmless.
    pub ask: String,
    pub answer: AnswerView,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeQueued {
    pub session: String,
    pub queued: String,
    #[serde(flatten)]
    pub prompt: PromptView,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelQueued {
    pub session: String,
    pub queued: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SayQueued {
    pub session: String,
    /// Left out: the first that is held, on the branch of the head before others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// Only rules that reach this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevokePermission {
    pub rule: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    pub session: String,
    /// Events behind this one; what a view or an event said last.
    #[serde(default)]
    pub after_seq: u64,
}

impl Request {
    /// Every name that the wire knows, for an answer to one that it does not.
    pub const NAMES: &'static [&'static str] = &[
        "hello",
        "engine",
        "list",
        "agents",
        "status",
        "begin",
        "introduce",
        "open",
        "show",
        "tree",
        "send",
        "edit",
        "retry",
        "resume",
        "append",
        "version",
        "switch",
        "navigate",
        "cancel_summary",
        "rewind",
        "configure",
        "fork",
        "compact",
        "rename",
        "label",
        "name_branch",
        "archive",
        "clear",
        "undo",
        "redo",
        "interrupt",
        "answer",
        "queue",
        "change_queued",
        "cancel_queued",
        "say_queued",
        "permissions",
        "revoke_permission",
        "follow",
        "unfollow",
        "settle",
    ];

    /// Whether only the owner of the home may ask for it.
    pub fn is_for_owner(&self) -> bool {
        matches!(self, Self::Engine(engine) if engine.action != EngineAction::Status)
    }

    /// Whether a reader may ask for it.
    pub fn only_looks(&self) -> bool {
        match self {
            Self::Engine(engine) => engine.action == EngineAction::Status,
            Self::Hello(_)
            | Self::List(_)
            | Self::Agents
            | Self::Status
            | Self::Open(_)
            | Self::Show(_)
            | Self::Tree(_)
            | Self::Queue(_)
            | Self::Permissions(_)
            | Self::Follow(_)
            | Self::Unfollow(_)
            | Self::Settle(_) => true,
            Self::Begin(_)
            | Self::Introduce(_)
            | Self::Send(_)
            | Self::Edit(_)
            | Self::Retry(_)
            | Self::Resume(_)
            | Self::Append(_)
            | Self::Version(_)
            | Self::Switch(_)
            | Self::Navigate(_)
            | Self::CancelSummary(_)
            | Self::Rewind(_)
            | Self::Configure(_)
            | Self::Fork(_)
            | Self::Compact(_)
            | Self::Rename(_)
            | Self::Label(_)
            | Self::NameBranch(_)
            | Self::Archive(_)
            | Self::Clear(_)
            | Self::Undo(_)
            | Self::Redo(_)
            | Self::Interrupt(_)
            | Self::Answer(_)
            | Self::ChangeQueued(_)
            | Self::CancelQueued(_)
            | Self::SayQueued(_)
            | Self::RevokePermission(_) => false,
        }
    }

    /// The agent that it names.
    pub fn agent_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Begin(Begin { agent, .. })
            | Self::Send(Send { agent, .. })
            | Self::Edit(Edit { agent, .. })
            | Self::Retry(Retry { agent, .. })
            | Self::Configure(Configure { agent, .. }) => agent.as_mut(),
            _ => None,
        }
    }

    /// Whether an agent has to run for it, so that only an engine process can answer it.
    pub fn needs_agent(&self) -> bool {
        match self {
            Self::Send(_)
            | Self::Resume(_)
            | Self::Compact(_)
            | Self::Interrupt(_)
            | Self::Answer(_)
            | Self::SayQueued(_) => true,
            Self::Edit(edit) => !edit.only_write,
            Self::Retry(retry) => !retry.only_write,
            Self::Rewind(rewind) => rewind.source == RewindSource::Agent && !rewind.dry_run,
            Self::Switch(switch) => !switch.summary.is_none(),
            Self::Navigate(navigate) => !navigate.summary.is_none(),
            Self::Hello(_)
            | Self::Engine(_)
            | Self::Settle(_)
            | Self::List(_)
            | Self::Agents
            | Self::Status
            | Self::Begin(_)
            | Self::Introduce(_)
            | Self::Open(_)
            | Self::Show(_)
            | Self::Tree(_)
            | Self::Append(_)
            | Self::Version(_)
            | Self::CancelSummary(_)
            | Self::Configure(_)
            | Self::Fork(_)
            | Self::Rename(_)
            | Self::Label(_)
            | Self::NameBranch(_)
            | Self::Archive(_)
            | Self::Clear(_)
            | Self::Undo(_)
            | Self::Redo(_)
            | Self::Queue(_)
            | Self::ChangeQueued(_)
            | Self::CancelQueued(_)
            | Self::Permissions(_)
            | Self::RevokePermission(_)
            | Self::Follow(_)
            | Self::Unfollow(_) => false,
        }
    }

    /// Under which id the caller sends it, where it says one.
    pub fn client_id(&self) -> Option<&str> {
        let client_id = match self {
            Self::Begin(it) => &it.client_id,
            Self::Send(it) => &it.client_id,
            Self::Edit(it) => &it.client_id,
            Self::Retry(it) => &it.client_id,
            Self::Resume(it) => &it.client_id,
            Self::Append(it) => &it.client_id,
            Self::Version(it) => &it.client_id,
            Self::Switch(it) => &it.client_id,
            Self::Navigate(it) => &it.client_id,
            Self::Rewind(it) => &it.client_id,
            Self::Configure(it) => &it.client_id,
            Self::Fork(it) => &it.client_id,
            Self::Compact(it) => &it.client_id,
            Self::Rename(it) => &it.client_id,
            Self::Label(it) => &it.client_id,
            Self::NameBranch(it) => &it.client_id,
            Self::Archive(it) => &it.client_id,
            Self::Clear(it) => &it.client_id,
            Self::Undo(it) | Self::Redo(it) => &it.client_id,
            Self::Hello(_)
            | Self::Engine(_)
            | Self::Settle(_)
            | Self::List(_)
            | Self::Agents
            | Self::Status
            | Self::Introduce(_)
            | Self::Open(_)
            | Self::Show(_)
            | Self::Tree(_)
            | Self::CancelSummary(_)
            | Self::Interrupt(_)
            | Self::Answer(_)
            | Self::Queue(_)
            | Self::ChangeQueued(_)
            | Self::CancelQueued(_)
            | Self::SayQueued(_)
            | Self::Permissions(_)
            | Self::RevokePermission(_)
            | Self::Follow(_)
            | Self::Unfollow(_) => return None,
        };
        client_id.as_deref()
    }

    /// The session it is about, where it is about one.
    pub fn session(&self) -> Option<&str> {
        Some(match self {
            Self::Hello(_)
            | Self::Engine(_)
            | Self::List(_)
            | Self::Agents
            | Self::Status
            | Self::Begin(_)
            | Self::RevokePermission(_) => {
                return None;
            }
            Self::Permissions(permissions) => return permissions.session.as_deref(),
            Self::Tree(it) | Self::CancelSummary(it) | Self::Queue(it) => &it.session,
            Self::Unfollow(it) | Self::Settle(it) => &it.session,
            Self::Undo(it) | Self::Redo(it) => &it.session,
            Self::Introduce(it) => &it.session,
            Self::Open(it) => &it.session,
            Self::Show(it) => &it.session,
            Self::Send(it) => &it.session,
            Self::Edit(it) => &it.session,
            Self::Retry(it) => &it.session,
            Self::Resume(it) => &it.session,
            Self::Append(it) => &it.session,
            Self::Version(it) => &it.session,
            Self::Switch(it) => &it.session,
            Self::Navigate(it) => &it.session,
            Self::Rewind(it) => &it.session,
            Self::Configure(it) => &it.session,
            Self::Fork(it) => &it.session,
            Self::Compact(it) => &it.session,
            Self::Rename(it) => &it.session,
            Self::Label(it) => &it.session,
            Self::NameBranch(it) => &it.session,
            Self::Archive(it) => &it.session,
            Self::Clear(it) => &it.session,
            Self::Interrupt(it) => &it.session,
            Self::Answer(it) => &it.session,
            Self::ChangeQueued(it) => &it.session,
            Self::CancelQueued(it) => &it.session,
            Self::SayQueued(it) => &it.session,
            Self::Follow(it) => &it.session,
        })
    }
}
