//! A session as it is seen: in a list, with a branch in view, and as a tree.

use jiff::Timestamp;
use offshoot_session::agent::Abilities;
use offshoot_session::cost::Tally;
use offshoot_session::queue::Queued;
use offshoot_session::status::{State, Status};
use offshoot_session::sub_agents::SubAgent;
use offshoot_session::{Binding, HeadName, Missing, Provenance, SessionTree, Usage};
use serde::{Deserialize, Serialize};

use super::ability::{AbilitiesView, AgentModelView};
use super::{AskView, EntryView, ModelView, PlaceView, PromptView, VersionBrief};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    pub id: String,
    pub title: Option<String>,
    pub project: Option<String>,
    pub agent: Option<String>,
    pub prompts: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(with = "super::time")]
    pub active_at: Timestamp,
    pub status: StatusView,
}

/// A session and the branch of its head. `seq` is the event that this view already knows of: follow from there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    pub id: String,
    pub seq: u64,
    pub title: Option<String>,
    pub project: Option<String>,
    pub heads: Vec<HeadView>,
    pub branch: BranchView,
    pub agent: Option<String>,
    pub model: Option<ModelView>,
    pub thinking: String,
    /// The tools that may be used; `null` where that is left to the agent.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    pub permission_mode: Option<String>,
    /// The mode of the agent, such as `plan`; `null` where none was set.
    #[serde(default)]
    pub mode: Option<String>,
    /// How much the next prompt brings along.
    #[serde(default)]
    pub context: ContextView,
    /// What all branches have used so far.
    #[serde(default)]
    pub spent: SpentView,
    pub status: StatusView,
    /// The turns that run in it, on any branch.
    #[serde(default)]
    pub turns: Vec<StatusRow>,
    pub asks: Vec<AskView>,
    /// The last few that have an answer, the latest last: the same answer may be given again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<AskView>,
    pub queue: Vec<QueuedView>,
}

/// How full the window of the model is, on the branch of the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextView {
    /// As the model counted them up to its last reply, and estimated behind it.
    pub tokens: i64,
    /// What it can read at once; `null` where that is not known.
    pub window: Option<i64>,
}

/// Tokens and money, each reply once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpentView {
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    pub cache_write: i64,
    /// In millionths of a dollar: what agents say, else what the tokens cost by the table of prices. `null` where nobody
    /// knows any of the prices.
    pub cost_micros: Option<i64>,
    /// Replies that are not in it, because nobody knows what their tokens cost.
    pub unpriced: u64,
}

/// The way to a point, what is being said included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BranchView {
    pub tip: Option<String>,
    /// Root first.
    pub entries: Vec<EntryView>,
    /// The tip is a prompt, and its answer follows it elsewhere in the tree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before_answer: bool,
    /// Entries above the first one that were left out.
    pub above: usize,
    /// Prompts of which there is more than one version.
    pub versions: Vec<VersionView>,
    /// The agent's own session for this branch; `null` until the first prompt was sent on it.
    pub agent_session: Option<String>,
    /// How the agent came to know the branch.
    pub provenance: Option<ProvenanceView>,
    /// What the agent of the branch was not told when its session began, on this turn or an earlier one; absent where
    /// it was told everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingView>,
    /// Agents that were started by what is in view or by no known call, in the order in which they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_agents: Vec<SubAgentView>,
}

/// An agent that the agent has started. What it says is a tree of its own: the branch to its tip shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgentView {
    /// The call of a tool that started it; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The entry in view that holds that call. A task without one, as in files of older agents, is listed on every
    /// branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The agent session of the branch that started it; absent for a task without an entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its first entry.
    pub begins: String,
    /// Its last one so far.
    pub tip: String,
    pub task: Option<String>,
    /// The tool that started it, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Which of the agents that the agent knows it is, where it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub running: bool,
    /// When it began.
    #[serde(with = "super::time")]
    pub at: Timestamp,
    #[serde(default, with = "super::time::maybe", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionView {
    pub prompt: String,
    /// What all versions have in common: the id of the oldest.
    #[serde(default)]
    pub edit_group: String,
    /// From 1.
    pub number: usize,
    pub of: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadView {
    pub name: String,
    /// `null` is before the first entry.
    pub at: Option<String>,
    /// The same for people, in answers to changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceView>,
}

/// A session, as an answer about another thing names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionBrief {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// One prompt of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRow {
    pub id: String,
    /// The prompt above it.
    pub parent: Option<String>,
    pub number: usize,
    pub text: String,
    pub label: Option<String>,
    pub branch_name: Option<String>,
    pub on_path: bool,
    pub is_head: bool,
    /// Absent for the only one at its place.
    pub version: Option<VersionBrief>,
    /// An agent was asked this by another one: it is no branch of the person's.
    #[serde(default)]
    pub is_task: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusView {
    pub state: String,
    /// What is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub confidence: String,
    pub source: String,
    /// Tasks that agents of the session run in the background.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub background: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRow {
    pub session: String,
    pub turn: String,
    pub prompt: String,
    /// The name of the branch, where it has one.
    pub branch: Option<String>,
    /// Which prompt of its branch it is, from 1.
    #[serde(default)]
    pub number: usize,
    /// Who answers.
    #[serde(default)]
    pub agent: String,
    pub status: StatusView,
    /// `accepted`, `hook`, `connecting`, `running`, `compacting` or `interrupted`. In the first two the prompt is not
    /// written yet: `prompt` is empty, and `number` is the one that it will have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// When the turn began.
    #[serde(with = "super::time")]
    pub since: Timestamp,
    /// What it waits for, to be answered; the oldest where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    #[serde(default, with = "super::time::maybe", skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// All of what is asked, line ends included; else the beginning of the prompt.
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProvenanceView {
    Continued,
    ForkedAtMessage,
    RebuiltTranscript,
    /// The agent was given the branch as text; every front end says so.
    ReplayedContext,
}

/// How the agent that answered a prompt came to know what stands above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundView {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub agent_session: Option<String>,
    pub provenance: ProvenanceView,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingView>,
}

/// What an agent was not told of a branch, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MissingView {
    pub tool_results: usize,
    pub thoughts: usize,
    pub images: usize,
    /// Turns that a compaction or clearing took out of the context.
    pub forgotten: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedView {
    pub id: String,
    /// The turn it waits for.
    pub behind: String,
    /// That turn did not come to its end: it waits for somebody to go on there.
    #[serde(default)]
    pub held: bool,
    #[serde(flatten)]
    pub prompt: PromptView,
    #[serde(with = "super::time")]
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    pub name: String,
    /// As people call it.
    pub title: String,
    pub version: Option<String>,
    pub installed: bool,
    /// How to get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<String>,
    /// The words of what it can do.
    pub can: Vec<String>,
    /// Whether it can be asked from here. Of one that cannot only the sessions are read.
    #[serde(default)]
    pub answers: bool,
    /// What it can do with the model that it uses unless told otherwise. Empty for one that cannot be asked.
    #[serde(default)]
    pub abilities: AbilitiesView,
    /// The models that can be selected, where it says.
    #[serde(default)]
    pub models: Vec<AgentModelView>,
    /// The servers of models that it asks, for agents that ask several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<ProviderView>,
    /// Where it was found, where it is a program of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A server of models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderView {
    /// As models name it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Why it cannot be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChangeView {
    pub path: String,
    /// `M` changes, `A` comes back, `D` goes away.
    pub change: char,
    pub insertions: usize,
    pub deletions: usize,
    /// Why it is not part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

impl From<Status> for StatusView {
    fn from(status: Status) -> Self {
        Self {
            state: status.state.word().to_owned(),
            kind: match status.state {
                State::Waiting(kind) => Some(kind.word().to_owned()),
                _ => None,
            },
            confidence: status.confidence.word().to_owned(),
            source: status.source.word().to_owned(),
            background: 0,
        }
    }
}

impl From<Provenance> for ProvenanceView {
    fn from(provenance: Provenance) -> Self {
        match provenance {
            Provenance::Continued => Self::Continued,
            Provenance::ForkedAtMessage => Self::ForkedAtMessage,
            Provenance::RebuiltTranscript => Self::RebuiltTranscript,
            Provenance::ReplayedContext => Self::ReplayedContext,
        }
    }
}

impl From<&Tally> for SpentView {
    fn from(tally: &Tally) -> Self {
        let Usage { input, output, cache_read, cache_write, total: _, cost_micros: _ } = tally.usage;
        let cost_micros = tally.money();
        Self { input, output, cache_read, cache_write, cost_micros, unpriced: tally.unpriced }
    }
}

impl From<&Binding> for BoundView {
    fn from(binding: &Binding) -> Self {
        Self {
            agent: binding.agent.clone(),
            agent_session: binding.agent_session.as_ref().map(ToString::to_string),
            provenance: binding.provenance.into(),
            missing: MissingView::of(binding.missing),
        }
    }
}

impl MissingView {
    /// `None` where nothing is missing.
    pub fn of(missing: Missing) -> Option<Self> {
        let Missing { tool_results, thoughts, images, forgotten } = missing;
        (!missing.is_nothing()).then_some(Self { tool_results, thoughts, images, forgotten })
    }
}

impl From<&Queued> for QueuedView {
    fn from(queued: &Queued) -> Self {
        Self {
            id: queued.id.to_string(),
            behind: queued.behind.to_string(),
            held: false,
            prompt: PromptView::from(&queued.prompt),
            at: queued.queued_at,
        }
    }
}

impl From<&SubAgent<'_>> for SubAgentView {
    fn from(one: &SubAgent<'_>) -> Self {
        Self {
            call: one.call.as_ref().map(ToString::to_string),
            entry: one.entry.as_ref().map(ToString::to_string),
            session: one.session.clone(),
            begins: one.root.id.to_string(),
            tip: one.tip.id.to_string(),
            task: one.task.clone(),
            tool: one.tool.clone(),
            agent: one.kind.clone(),
            running: one.running,
            at: one.root.written_at,
            ended_at: one.ended_at,
        }
    }
}

impl HeadView {
    pub fn of(tree: &SessionTree, head: &HeadName) -> Self {
        Self { name: head.to_string(), at: tree.head(head).map(ToString::to_string), place: None }
    }
}

/// The words of what an agent can do, in a fixed order.
pub fn abilities(can: &Abilities) -> Vec<String> {
    super::ability::words(can).into_iter().filter(|(_, can)| *can).map(|(word, _)| word.to_owned()).collect()
}
